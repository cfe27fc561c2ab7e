"""Realistic documents to render: numbers of the kind that the two reports give, and traps that documents hold."""

from __future__ import annotations

import random
from typing import Any

from pitstop.core.documents import (
    ArmRecord,
    EngineIdentity,
    Figure,
    Notice,
    ProductionRecord,
    RequestRecord,
    RunDocument,
    Status,
    TrialDocument,
    Verdict,
    VerdictRecord,
)

DIGEST = "sha256:" + "4f2a" * 16
_DECODE = {"prose/en/think-off": 94.6, "prose/de/think-on": 92.8, "code/en/think-off": 134.9, "code/en/think-on": 131.2}
_PREFILL = {"pp8000": 6612.0, "pp30000": 6390.0}
_THROUGHPUT = {1: 78.6, 2: 139.0, 4: 214.0, 8: 262.0, 16: 291.0, 32: 296.0}
_TTFT = {1: 0.061, 2: 0.085, 4: 0.129, 8: 0.212, 16: 0.455, 32: 1.9}


def engine(**changes: Any) -> EngineIdentity:
    facts = {
        "kind": "vllm",
        "model": "qwen3.6-35b",
        "version": "0.32.0",
        "version_source": "exec: vllm --version",
        "image_digest": DIGEST,
        "container_id": "9b1c5f0e77aa",
        "started_at": "2026-10-19T01:12:44Z",
        "fingerprint": "3fa9c1d2e4b5",
    }
    return EngineIdentity(**{**facts, **changes})


def figure(ruler: str, case: str, metric: str, unit: str, samples: tuple[float, ...], **changes: Any) -> Figure:
    facts: dict[str, Any] = {
        "value": sorted(samples)[len(samples) // 2] if samples else None,
        "status": Status.OK,
        "source": "usage, continuous usage",
        "n": len(samples),
    }
    return Figure(ruler=ruler, case=case, metric=metric, unit=unit, samples=samples, **{**facts, **changes})


def figures(speed: float = 1.0, runs: int = 5, seed: int = 1) -> list[Figure]:
    """Decode, prefill and concurrency, `speed` times as fast as the reports' box."""
    rng = random.Random(seed)

    def around(value: float, spread: float = 0.01) -> tuple[float, ...]:
        return tuple(round(value * rng.gauss(1, spread), 4) for _ in range(runs))

    result = []
    for case, value in _DECODE.items():
        result.append(figure("decode", case, "decode_tok_s", "tok/s", around(value * speed)))
        result.append(figure("decode", case, "decode_tok_s_seed", "tok/s", around(value * speed * 1.004)))
        result.append(figure("decode", case, "ttft_s", "s", around(0.062 / speed, 0.04)))
    result += [figure("prefill", case, "prefill_tok_s", "tok/s", around(v * speed)) for case, v in _PREFILL.items()]
    for level, value in _THROUGHPUT.items():
        result.append(figure("concurrency", f"c{level}", "throughput_tok_s", "tok/s", around(value * speed, 0.02)))
        result.append(figure("concurrency", f"c{level}", "ttft_s", "s", around(_TTFT[level] / speed, 0.05)))
    result.append(figure("concurrency", "sweep", "knee_streams", "streams", (8.0,)))
    return result


_BUDGETS = {
    "no-budget": (3, 7, 0, 31.0),
    "budget512": (9, 1, 0, 11.8),
    "budget768": (7, 3, 0, 15.2),
    "budget1536": (1, 9, 0, 25.7),
}


def thinking_figures() -> list[Figure]:
    """A budget sweep as the second report had it, 768 recommended."""
    result = []
    for case, (finished, cut_off, empty, time_s) in _BUDGETS.items():
        for metric, count in (("finished_share", finished), ("cut_off_share", cut_off), ("empty_share", empty)):
            detail = {"count": count, "of": 10}
            result.append(figure("thinking", case, metric, "fraction", (count / 10,), detail=detail))
        times = tuple(time_s * (0.9 + 0.02 * step) for step in range(10))
        result.append(figure("thinking", case, "e2e_s", "s", times))
        result.append(figure("thinking", case, "completion_tok", "tok", (1480.0,)))
    advice = {"why": "7 of 10 answers finished in the language of the question", "send_a_budget": True}
    result.append(figure("thinking", "budgets", "recommended_budget_tok", "tok", (768.0,), detail=advice))
    return result


def mutual_figures() -> list[Figure]:
    """Two models, alone and beside each other, as the second report measured them."""
    rates = {"qwen": (262.6, 107.7), "nemotron": (293.3, 149.6)}
    result = []
    for model, (alone, shared) in rates.items():
        for condition, rate, wait in (("alone", alone, 0.212), ("shared", shared, 0.419)):
            case = f"{model}/c8/{condition}"
            result.append(figure("mutual-load", case, "throughput_tok_s", "tok/s", (rate * 0.99, rate, rate * 1.02)))
            result.append(figure("mutual-load", case, "ttft_s", "s", (wait,)))
        result.append(figure("mutual-load", f"{model}/c8", "retention", "fraction", (shared / alone,)))
    result.append(figure("mutual-load", "all/c8", "throughput_tok_s", "tok/s", (257.3,)))
    return result


def requests(failed: bool = True) -> list[RequestRecord]:
    good = RequestRecord(
        ruler="decode",
        case="prose/en/think-off",
        ok=True,
        prompt_tokens=48,
        completion_tokens=512,
        events=171,
        tokens_source="usage+continuous",
        ttfr_s=0.012,
        ttft_s=0.062,
        ttfa_s=0.062,
        e2e_s=5.46,
        decode_tok_s=94.6,
        finish_reason="length",
    )
    bad = RequestRecord(ruler="decode", case="code/en/think-on", ok=False, error="the stream ended before [DONE]")
    return [good] * 5 + [bad] * (2 if failed else 0)


def run(**changes: Any) -> RunDocument:
    facts: dict[str, Any] = {
        "id": "20261019-011530-vllm-a1b2",
        "started_at": "2026-10-19T01:15:30Z",
        "engine": engine(),
        "host": {"name": "spark-3", "cpus": 20, "memory_bytes": 130_674_098_176, "kernel": "6.11.0-1016-nvidia"},
        "conditions": {
            "before": {"available_bytes": 18_361_745_408, "swap_used_bytes": 4_831_838_208, "gpu": {"clock_mhz": 2411}},
            "after": {"available_bytes": 18_120_000_000, "swap_used_bytes": 4_831_838_208, "gpu": {"clock_mhz": 2398}},
            "foreign_requests": 0,
            "kcompactd_cpu_s": 0.02,
        },
        "settings": {"rulers": ["decode", "prefill", "concurrency"], "runs": 5, "max_tokens": 512, "pp": [8000, 30000]},
        "figures": figures(),
        "requests": requests(),
        "warnings": [Notice(code="clock", text="The GPU clock fell from 2411 to 2398 MHz during the run.")],
    }
    return RunDocument(**{**facts, **changes})


def awkward_figures() -> list[Figure]:
    """A figure of every status, with and without value, interval and reason."""
    return [
        figure("decode", "prose/de/think-on", "decode_tok_s", "tok/s", (60.1, 59.7), status=Status.UNVERIFIED,
               interval=(58.2, 61.9), reason="the first event carried an unknown number of tokens"),
        figure("prefill", "pp8000", "prefill_tok_s", "tok/s", (782114.0,), status=Status.INVALID,
               reason="7,936 of 8,000 tokens came from the cache"),
        figure("decode", "code/en/think-off", "decode_tok_s", "tok/s", (), status=Status.UNAVAILABLE,
               reason="the server sent no usage", source=""),
    ]  # fmt: skip


def verdict(**changes: Any) -> VerdictRecord:
    facts: dict[str, Any] = {
        "arm": "k2",
        "ruler": "decode",
        "case": "code/en/think-off",
        "metric": "decode_tok_s",
        "verdict": Verdict.WORSE,
        "primary": True,
        "ratio": 0.934,
        "interval": (0.915, 0.953),
        "minimum_effect": 0.03,
        "noise_floor": 0.011,
        "blocks": 4,
        "reason": "the whole interval lies below the minimum effect of 3 %",
        "p_value": 0.0008,
    }
    return VerdictRecord(**{**facts, **changes})


def verdicts() -> list[VerdictRecord]:
    return [
        verdict(),
        verdict(case="prose/en/think-off", verdict=Verdict.EQUIVALENT, ratio=0.997, interval=(0.981, 1.013),
                reason="the interval lies within 3 % of production"),
        verdict(ruler="prefill", case="pp30000", metric="prefill_tok_s", verdict=Verdict.BETTER, ratio=1.236,
                interval=(1.19, 1.284), reason="the whole interval lies above production"),
        verdict(arm="k4", verdict=Verdict.UNDECIDED, ratio=1.02, interval=(0.96, 1.084), blocks=2, blocks_to_decide=5,
                reason="the interval holds both no change and more than 3 %; 5 more blocks would decide"),
        verdict(arm="k4", ruler="concurrency", case="c8", metric="throughput_tok_s", verdict=Verdict.UNDECIDED,
                ratio=None, interval=None, noise_floor=None, blocks=1, primary=False,
                reason="one block, and no noise known of this box"),
        verdict(arm="k2", case="prose/en/think-off", metric="ttft_s", verdict=Verdict.BETTER, ratio=0.88,
                interval=(0.82, 0.945), primary=False, reason="the whole interval lies below production"),
    ]  # fmt: skip


def arm(name: str, speed: float, boots: int, /, **changes: Any) -> ArmRecord:
    overrides = {} if name == "production" else {"MTP_K": name.removeprefix("k")}
    runs = [
        run(
            id=f"{name}-{boot}",
            figures=figures(speed * (1 + 0.004 * boot), seed=len(name) * 7 + ord(name[-1]) + boot),
            requests=[],
        )
        for boot in range(boots)
    ]
    return ArmRecord(
        **{"name": name, "overrides": overrides, "fingerprint": f"{name[:2]}a9c1d2e4b5", "runs": runs, **changes}
    )


def memory_curve() -> dict[str, Any]:
    samples = [[float(t), 62e9 - 0.917e9 * t + 3e8 * ((59 - t) % 5), 4.8e9 + 4e7 * t] for t in range(60)]
    return {"floor_bytes": 8_000_000_000, "samples": samples}


def trial(**changes: Any) -> TrialDocument:
    guard_stop = {
        "at": "2026-10-19T03:02:11Z",
        "kind": "guard-stop",
        "text": "stopped with 7,531 MiB available, under the floor of 8 GB",
        "memory_curve": memory_curve(),
    }
    facts: dict[str, Any] = {
        "id": "20261019-010000-nightly",
        "name": "nightly",
        "state": "finished",
        "started_at": "2026-10-19T01:00:00Z",
        "finished_at": "2026-10-19T04:07:31Z",
        "production": ProductionRecord(
            engine="qwen",
            fingerprint_before="3fa9c1d2e4b5",
            fingerprint_after="3fa9c1d2e4b5",
            restored=True,
            proved_by="generated 'Hallo' at 2026-10-19T04:07:29Z",
            downtime_s=10_871.0,
        ),
        "plan": {"engine": "qwen", "rulers": ["decode", "prefill"], "order": "ABBA", "boots": 4, "minimum_effect": 0.03,
                 "max_tokens": 512, "seed": 1},
        "arms": [
            arm("production", 1.0, 4),
            arm("k2", 0.934, 4),
            arm("k4", 1.02, 2, incidents=[guard_stop]),
        ],
        "verdicts": verdicts(),
        "log": [
            {"at": "2026-10-19T01:00:00Z", "event": "wait-idle", "text": "no request for 5 min 00 s"},
            {"at": "2026-10-19T01:05:02Z", "event": "take-down", "text": "production stopped"},
            {"at": "2026-10-19T03:02:11Z", "event": "boot", "how": "failed", "text": "k4: guard stop"},
            {"at": "2026-10-19T04:07:29Z", "event": "prove", "text": "one token generated"},
        ],
    }  # fmt: skip
    return TrialDocument(**{**facts, **changes})
