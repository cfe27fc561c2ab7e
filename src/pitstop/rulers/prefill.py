"""prefill: server-counted prompt tokens, over the time to the first token of a reply that is limited to one token.

Nonce first, one warm-up and three runs a size, sizes within 2 % by the server's own count, coldness proved: see
docs/rulers/prefill.md. Cases are named as llama-bench names them: `pp8000`.
"""

from __future__ import annotations

from dataclasses import dataclass

from pitstop.client.chat import Reply
from pitstop.core.documents import Figure, RequestRecord, Status
from pitstop.engines.since import since
from pitstop.rulers.asking import Asker, Wish
from pitstop.rulers.calibrate import Calibrated, Unfit, calibrate
from pitstop.rulers.coldness import Coldness, judge, worst
from pitstop.rulers.figures import Bounds, Measured, failure_reason, partial_failure
from pitstop.rulers.integrity import doubts_of_prompt
from pitstop.rulers.lateness import first_token_lateness
from pitstop.rulers.ruler import Bench, RulerResult
from pitstop.rulers.text import NaturalText, load_text


@dataclass(frozen=True)
class Run:
    """One measured request, whether its prompt was really computed, and whether its tokens can be so many."""

    reply: Reply
    coldness: Coldness
    doubts: tuple[str, ...] = ()  # of its prompt tokens

    @property
    def record(self) -> RequestRecord:
        return self.reply.record

    @property
    def first_token_s(self) -> float:
        """A role-only event is no token; a token without text arrived with its finish reason (the client's account)."""
        return self.record.ttft_s or 0.0


class Prefill:
    name = "prefill"
    primary: tuple[str, ...] = ("prefill/*/prefill_tok_s",)

    async def measure(self, bench: Bench) -> RulerResult:
        """`runs` requests a size, after the one that calibrated it. Figures: prefill_tok_s, ttft_s."""
        text = load_text(bench.settings.text)
        async with Asker(bench, self.name) as asker:
            for done, size in enumerate(bench.settings.pp):
                asker.result.figures.extend(await _measure(asker, text, size, done))
            return asker.result


async def _measure(asker: Asker, text: NaturalText, size_tok: int, sizes_done: int) -> list[Figure]:
    case, settings = f"pp{size_tok}", asker.bench.settings
    in_all = len(settings.pp) * (settings.runs + 1)
    done = sizes_done * (settings.runs + 1)
    asker.bench.progress(f"prefill {case}, warm-up", done, in_all)
    size = await calibrate(asker, text, size_tok, case=case)
    if isinstance(size, Unfit):
        measured = Measured(asker.ruler, case, "none")
        return [measured.unavailable(metric, size.reason) for metric in ("prefill_tok_s", "ttft_s")]
    runs = []
    for run in range(settings.runs):
        asker.bench.progress(f"prefill {case}", done + 1 + run, in_all)
        runs.append(await _run(asker, case, size))
    asker.tell_failures(case, [run.reply for run in runs])
    return _figures(asker, case, size, text, runs)


async def _run(asker: Asker, case: str, size: Calibrated) -> Run:
    before = await asker.counters()
    reply = await asker.ask(case, Wish(size.text, max_tokens=1))
    delta, sent_bytes = since(before, await asker.counters()), len(size.text.encode())
    doubts = doubts_of_prompt(reply.record, delta, sent_bytes)
    if doubts:  # engines publish what they counted some time after the reply
        delta = since(before, await asker.settled_counters())
        doubts = doubts_of_prompt(reply.record, delta, sent_bytes)
    return Run(reply, judge(reply.record, delta, asker.bench.capabilities.cache_block_tok), doubts)


def _figures(asker: Asker, case: str, size: Calibrated, text: NaturalText, runs: list[Run]) -> list[Figure]:
    good = [run for run in runs if run.record.ok and run.record.prompt_tokens and run.record.ttft_s]
    records = [run.record for run in runs]
    detail = {"prompt_tokens": size.prompt_tokens, "text": text.name, "text_sha256": text.sha256[:16]}
    measured = Measured(asker.ruler, case, "usage.prompt_tokens, client clock", partial_failure(records), detail)
    if not good:
        reason = failure_reason(records)
        return [measured.unavailable(metric, reason) for metric in ("prefill_tok_s", "ttft_s")]
    cold = worst([run.coldness for run in good])
    counts = dict.fromkeys(doubt for run in good for doubt in run.doubts)
    doubts = (*counts, *first_token_lateness([run.reply for run in good]))
    if cold.status is Status.UNVERIFIED:
        doubts = (*doubts, cold.reason)
    invalid = cold.reason if cold.status is Status.INVALID else ""
    proof = {"cached_tokens": [run.coldness.cached_tok for run in good], "coldness_from": cold.evidence or "nothing"}
    return [
        measured.figure(
            "prefill_tok_s",
            [_rate(run) for run in good],
            bounds=[_bounds(run) for run in good],
            doubts=doubts,
            invalid=invalid,
            detail=proof,
        ),
        measured.figure("ttft_s", [run.first_token_s for run in good], doubts=doubts, invalid=invalid),
    ]


def _rate(run: Run) -> float:
    return (run.record.prompt_tokens or 0) / run.first_token_s


def _bounds(run: Run) -> Bounds:
    """Cached tokens were not computed, so the true rate may be that much lower."""
    computed = (run.record.prompt_tokens or 0) - min(run.coldness.cached_tok or 0, run.record.prompt_tokens or 0)
    return computed / run.first_token_s, _rate(run)
