"""Documents to put into a ledger."""

from __future__ import annotations

from typing import Any

from pitstop.core.documents import (
    ArmRecord,
    EngineIdentity,
    Figure,
    ProductionRecord,
    RequestRecord,
    RunDocument,
    Status,
    TrialDocument,
)


def a_figure(case: str = "prose/en/think-off", value: float = 80.0, samples: int = 3) -> Figure:
    taken = tuple(value + 0.1 * (i % 7) for i in range(samples))
    return Figure(
        ruler="decode",
        case=case,
        metric="decode_tok_s",
        unit="tok/s",
        value=value,
        status=Status.OK,
        source="usage",
        n=samples,
        samples=taken,
        interval=(value - 1, value + 1),
    )


def a_run(run_id: str, *, minute: int = 0, samples: int = 3, figures: int = 2, **engine: Any) -> RunDocument:
    return RunDocument(
        id=run_id,
        started_at=f"2026-10-19T{minute // 60:02d}:{minute % 60:02d}:00Z",
        engine=EngineIdentity(**({"kind": "vllm", "model": "qwen3.6-35b", "version": "0.32.0"} | engine)),
        figures=[a_figure(f"case{number}", samples=samples) for number in range(figures)],
        requests=[RequestRecord(ruler="decode", case="case0", ok=True, completion_tokens=512)],
    )


def a_trial(trial_id: str, *, state: str = "planned", minute: int = 0, runs: int = 2) -> TrialDocument:
    return TrialDocument(
        id=trial_id,
        name="nightly",
        state=state,
        started_at=f"2026-10-19T{minute // 60:02d}:{minute % 60:02d}:00Z",
        production=ProductionRecord(engine="qwen", fingerprint_before="sha256:1"),
        arms=[
            ArmRecord(
                name="k2",
                overrides={"MTP_K": "2"},
                fingerprint="sha256:2",
                runs=[a_run(f"{trial_id}-{number}", minute=minute) for number in range(runs)],
            )
        ],
    )
