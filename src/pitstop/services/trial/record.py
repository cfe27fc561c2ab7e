"""The trial document, folded from what lies in the trial's folder: promise, journal, runs, proof.

The same fold serves a finished trial, one that is running, and one whose process was killed.
"""

from __future__ import annotations

import contextlib
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from pitstop.core.config.quality import Quality
from pitstop.core.documents import ArmRecord, Notice, ProductionRecord, RunDocument, TrialDocument, encode
from pitstop.core.durable import write_durably
from pitstop.decisions.memory_curve import memory_curve
from pitstop.decisions.trial import Action, Boot, Do, Ending, How, State
from pitstop.ledger.records import Transition
from pitstop.services.trial.journal import Entry, entries
from pitstop.services.trial.primary import primary_of
from pitstop.services.trial.promise import Arm, Promise

PROOF = "proof.json"
MEMORY = "memory.csv"  # the guard's readings over the whole trial


class Proof(msgspec.Struct, frozen=True):
    """What showed that production is back."""

    fingerprint: str
    token: str
    at: str

    def __str__(self) -> str:
        return f"generated {self.token!r} at {self.at}"


def run_file(folder: Path, boot: Boot, promise: Promise) -> Path:
    """Where the run document of one boot lies."""
    return folder / "runs" / f"{boot.block}-{boot.arm}-{promise.arms[boot.arm].name}.json"


def keep_run(path: Path, run: RunDocument) -> None:
    """Put a run on disk; OSError when that cannot be done."""
    path.parent.mkdir(exist_ok=True)
    write_durably(path, encode(run))


def document(folder: Path, promise: Promise, state: State) -> TrialDocument:
    """The document of a trial in `state`, without its verdicts."""
    told = list(entries(folder))
    return TrialDocument(
        id=promise.id,
        name=promise.name,
        state=state.ending.value,
        started_at=promise.started_at,
        finished_at=told[-1].at if told and state.ending is not Ending.RUNNING else None,
        production=_production(folder, promise, state, told),
        plan=_plan(promise),
        arms=[_arm(folder, promise, index, told) for index in range(len(promise.arms))],
        log=[line for line in map(_log_line, told) if line],
    )


def read_runs(folder: Path, promise: Promise, arm: int) -> dict[int, RunDocument]:
    """The runs of one arm by block; one that is missing or torn is left out."""
    runs: dict[int, RunDocument] = {}
    for boot in promise.boots:
        if boot.arm == arm:
            run = read_run(run_file(folder, boot, promise))
            if run is not None:
                runs[boot.block] = run
    return runs


def read_run(path: Path) -> RunDocument | None:
    """The run at `path`; None when it is missing or torn."""
    with contextlib.suppress(OSError, msgspec.MsgspecError):
        return msgspec.json.decode(path.read_bytes(), type=RunDocument)
    return None


def read_proof(folder: Path) -> Proof | None:
    with contextlib.suppress(OSError, msgspec.MsgspecError):
        return msgspec.json.decode((folder / PROOF).read_bytes(), type=Proof)
    return None


def arms_that_changed(trial: TrialDocument) -> list[Notice]:
    """Arms whose boots were not all of one image and version: a tag was moved, or a package updated, meanwhile."""
    notices = []
    for arm in trial.arms:
        seen = dict.fromkeys((run.engine.image_digest, run.engine.version) for run in arm.runs)
        if len(seen) > 1:
            told = "; ".join(
                f"image {image or 'not known'}, version {version or 'not known'}" for image, version in seen
            )
            notices.append(Notice(code="arm-changed", text=f"the boots of {arm.name} were not one engine: {told}"))
    return notices


def transitions(folder: Path, trial_id: str, ending: Ending) -> list[Transition]:
    """The steps of a trial as the ledger keeps them: from which step to which, and how the earlier one went."""
    found: list[Transition] = []
    at_step, went = "drawn-up", ""
    for entry in entries(folder):
        if entry.kind == "ended" and entry.outcome:
            went = f"{entry.outcome.how.value}: {entry.outcome.reason}" if entry.outcome.reason else entry.outcome.how
        elif entry.kind == "begun" and entry.action:
            step = entry.action.do.value
            found.append(Transition(trial_id=trial_id, at=entry.at, from_state=at_step, to_state=step, detail=went))
            at_step, went = step, "no outcome: the process ended in the middle of this step"
    if found:
        last = list(entries(folder))[-1].at
        found.append(Transition(trial_id=trial_id, at=last, from_state=at_step, to_state=ending.value, detail=went))
    return found


def _production(folder: Path, promise: Promise, state: State, told: list[Entry]) -> ProductionRecord:
    proof = read_proof(folder) if state.restored else None
    return ProductionRecord(
        engine=promise.engine_name,
        fingerprint_before=promise.production.fingerprint,
        fingerprint_after=proof.fingerprint if proof else None,
        restored=state.restored or not state.touched,
        proved_by=str(proof) if proof else ("" if state.touched else "was never touched"),
        downtime_s=_downtime_s(told),
    )


def _downtime_s(told: list[Entry]) -> float | None:
    """From the beginning of the take-down to the proof; None while it is down."""
    down = up = None
    current: Action | None = None
    for entry in told:
        if entry.kind == "begun":
            current = entry.action
            if current and current.do is Do.TAKE_DOWN:
                down = entry.at
        elif entry.kind == "ended" and current and current.do is Do.PROVE and entry.outcome:
            up = entry.at if entry.outcome.how is How.DONE else None
    if down is None or up is None:
        return None
    return (datetime.fromisoformat(up) - datetime.fromisoformat(down)).total_seconds()


def _plan(promise: Promise) -> dict[str, Any]:
    trial = promise.trial
    scored = {"minimum_score_effect": float(trial.minimum_score_effect), "quality": _asked(trial.quality or Quality())}
    return {
        "rulers": list(trial.rulers),
        "boots": [[boot.block, promise.arms[boot.arm].name] for boot in promise.boots],
        "minimum_effect": float(trial.minimum_effect),
        "primary": list(primary_of(trial)),
        "runs": trial.runs,
        "max_tokens": trial.max_tokens,
        "pp": list(trial.pp),
        "seed": trial.seed,
        "guard_min_available_bytes": int(trial.guard.min_available),
        **(scored if "quality" in trial.rulers else {}),
    }


def _asked(quality: Quality) -> dict[str, Any]:
    """How the tasks are asked; the sandbox changes nothing about that."""
    return {name: value for name, value in msgspec.structs.asdict(quality).items() if name != "sandbox"}


def _arm(folder: Path, promise: Promise, index: int, told: list[Entry]) -> ArmRecord:
    arm: Arm = promise.arms[index]
    return ArmRecord(
        name=arm.name,
        overrides=arm.overrides,
        fingerprint=arm.spec.fingerprint,
        runs=list(read_runs(folder, promise, index).values()),
        incidents=_incidents(folder, promise, told, index),
    )


def _incidents(folder: Path, promise: Promise, told: list[Entry], arm: int) -> list[dict[str, Any]]:
    """Boots that failed, crashes and guard stops: results of the arm, not missing data; with the memory meanwhile."""
    found: list[dict[str, Any]] = []
    current: Action | None = None
    booted_at = ""
    for entry in told:
        if entry.kind == "begun":
            current = entry.action
            booted_at = entry.at if current and current.do is Do.BOOT else booted_at
        elif current and _failed(entry, current, arm):
            assert current.boot
            assert entry.outcome
            block, reason = current.boot.block, entry.outcome.reason
            curve = _memory(folder, promise, booted_at, entry.at)
            found.append({"at": entry.at, "block": block, "step": current.do.value, "reason": reason, **curve})
    return found


def _memory(folder: Path, promise: Promise, since: str, until: str) -> dict[str, Any]:
    """The guard's readings of one boot; nothing where there are none."""
    try:
        rows = (folder / MEMORY).read_text("utf-8", "replace").split("\n")
    except OSError:
        return {}
    curve = memory_curve(rows, since, until, int(promise.trial.guard.min_available))
    return {"memory_curve": curve} if curve else {}


def _failed(entry: Entry, action: Action, arm: int) -> bool:
    failed = entry.kind == "ended" and entry.outcome is not None and entry.outcome.how is How.FAILED
    return failed and action.boot is not None and action.boot.arm == arm


def _log_line(entry: Entry) -> dict[str, Any]:
    if entry.kind == "begun" and entry.action:
        boot = entry.action.boot
        where = {"block": boot.block, "arm": boot.arm} if boot else {}
        return {"at": entry.at, "step": entry.action.do.value, "attempt": entry.action.attempt, **where}
    if entry.kind == "ended" and entry.outcome:
        return {"at": entry.at, "outcome": entry.outcome.how.value, "reason": entry.outcome.reason}
    return {"at": entry.at, "note": entry.text} if entry.text else {}
