"""How long each list takes in a ledger of a million samples: `python -m benchmarks.ledger_lists [samples]`.

Each list is asked twenty times; the reference in the same run is a bare SELECT of fifty rows by primary key.
"""

from __future__ import annotations

import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pitstop.core.documents import (
    ArmRecord,
    EngineIdentity,
    Figure,
    ProductionRecord,
    RunDocument,
    Status,
    TrialDocument,
)
from pitstop.ledger.records import BootFigure, Configuration, IncidentRecord, PinRecord, Spell, Transition
from pitstop.ledger.store import Ledger

FIGURES, SAMPLES, REPEATS = 10, 100, 20


def main() -> None:
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "ledger.sqlite3"
        with Ledger.open(place) as ledger:
            runs = max(2, wanted // (FIGURES * SAMPLES))
            started = time.perf_counter()
            fill(ledger, runs)
            size = place.stat().st_size / 2**20
            print(f"{runs} runs, {runs * FIGURES * SAMPLES:,} samples, {size:.0f} MiB, "
                  f"{(time.perf_counter() - started) / runs * 1000:.1f} ms per run written")  # fmt: skip
            reference = bare_select(place)
            print(f"{'bare select of 50 rows':34} {reference * 1000:8.2f} ms")
            for name, ask in questions(ledger).items():
                report(name, ask, reference)


def fill(ledger: Ledger, runs: int) -> None:
    for number in range(0, runs, 2):
        trial_id = f"{number:06d}"
        pair = [a_run(f"{trial_id}-{which}", number + which) for which in range(2)]
        arms = [ArmRecord(name="k2", overrides={"MTP_K": "2"}, fingerprint="f", runs=pair)]
        production = ProductionRecord(engine="qwen", fingerprint_before="f")
        ledger.record_trial(
            TrialDocument(
                id=trial_id, name="nightly", state="done", started_at=at(number), production=production, arms=arms
            )
        )
        ledger.record_transition(Transition(trial_id=trial_id, at=at(number), from_state="", to_state="done"))
        beside(ledger, number)


def beside(ledger: Ledger, number: int) -> None:
    configuration = Configuration(image_digest=f"sha256:{number % 7}")
    ledger.add_incident(
        IncidentRecord(id=f"i{number}", recorded_at=at(number), signature=f"s{number % 9}", summary="x", engine="qwen")
    )
    ledger.add_exposure(
        Spell(spell=f"s{number}", engine="qwen", configuration=configuration, started_at=at(number),
              ended_at=at(number + 1), hours_up=1.0, requests=9)
    )  # fmt: skip
    ledger.record_pin(PinRecord(engine="qwen", at=at(number), image="x", digest=f"sha256:{number}"))
    ledger.record_noise(
        [BootFigure(boot=f"b{number}", at=at(number), engine_kind="vllm", configuration=f"f{number % 7}",
                    ruler="decode", case="case0", metric="decode_tok_s", value=80.0 + number % 5)]
    )  # fmt: skip


def a_run(run_id: str, number: int) -> RunDocument:
    figures = [
        Figure(ruler="decode", case=f"case{i}", metric="decode_tok_s", unit="tok/s", value=80.0, status=Status.OK,
               source="usage", n=SAMPLES, samples=tuple(80.0 + k / 10 for k in range(SAMPLES)))
        for i in range(FIGURES)
    ]  # fmt: skip
    return RunDocument(
        id=run_id, started_at=at(number), engine=EngineIdentity(kind="vllm", model=f"m{number % 3}"), figures=figures
    )


def at(number: int) -> str:
    return (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=number)).isoformat()


def questions(ledger: Ledger) -> dict[str, Callable[[], object]]:
    run_id = ledger.runs(limit=1)[0].id
    trial_id = ledger.list_trials(limit=1)[0].id
    return {
        "list_trials": ledger.list_trials,
        "trial by prefix": lambda: ledger.trial(trial_id),
        "transitions of a trial": lambda: ledger.transitions(trial_id),
        "runs": ledger.runs,
        "runs of a model": lambda: ledger.runs(model="m1"),
        "runs of a trial": lambda: ledger.runs(trial_id=trial_id),
        "run by id": lambda: ledger.run(run_id),
        "history of a figure": lambda: ledger.history("decode", "case3", "decode_tok_s"),
        "samples of a figure": lambda: ledger.samples(run_id, "decode", "case3", "decode_tok_s"),
        "incidents": ledger.incidents,
        "incidents of a signature": lambda: ledger.incidents(signature="s3"),
        "exposure, all added up": ledger.exposure,
        "exposure of a configuration": lambda: ledger.exposure(configuration=Configuration(image_digest="sha256:3")),
        "spells": ledger.spells,
        "pins of an engine": lambda: ledger.pins("qwen"),
        "noise_prior": lambda: ledger.noise_prior("vllm", "decode", "case0", "decode_tok_s"),
    }


def report(name: str, ask: Callable[[], object], reference: float) -> None:
    times = sorted(timed(ask) for _ in range(REPEATS))
    median = statistics.median(times)
    print(
        f"{name:34} {median * 1000:8.2f} ms  (worst {times[-1] * 1000:.2f}, {median / reference:.1f} x the reference)"
    )


def timed(ask: Callable[[], object]) -> float:
    started = time.perf_counter()
    ask()
    return time.perf_counter() - started


def bare_select(place: Path) -> float:
    connection = sqlite3.connect(place)
    query = "SELECT id, started_at, model FROM run ORDER BY id DESC LIMIT 50"
    times = [timed(lambda: connection.execute(query).fetchall()) for _ in range(REPEATS)]
    connection.close()
    return statistics.median(times)


if __name__ == "__main__":
    main()
