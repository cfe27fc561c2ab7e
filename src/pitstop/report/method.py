"""How the figures were made, a paragraph per ruler: printed with every report, so that a number keeps its meaning."""

from __future__ import annotations

from collections.abc import Iterable

DEFINITIONS = {
    "decode": (
        "Single stream. Tokens after the first event that carries tokens, divided by the time from that event to "
        "the last one that carries tokens. Tokens are the server's own count. With speculative decoding the first "
        "event may carry several tokens: where per-event counts are known they are subtracted, where not, the "
        "interval says how much that leaves open. The seeds' form is (tokens − 1) / (last event − first event)."
    ),
    "prefill": (
        "Prompt tokens as the server counted them, over the time to the first token of a request for one token. "
        "Every prompt opens with its own nonce; a figure is verified only when the server's counters prove that "
        "no prefix was cached."
    ),
    "concurrency": (
        "Several streams at once: all generated tokens over the whole time, prefill included. First-token times "
        "are median and 95th percentile over the streams. The knee is where more streams stop paying."
    ),
    "long-input": (
        "A natural text of that many tokens, a summary in three sentences asked for: time to the first token, and "
        "decode at that depth of context. The text does not repeat itself, since speculation guesses repeated "
        "text almost free."
    ),
    "mutual-load": (
        "Each model measured alone, and while the other one is kept busy with as many streams. Retention is the "
        "share of its own throughput that a model keeps."
    ),
    "thinking": (
        "The same prompts under several thinking budgets: answers that ended by themselves, were cut off, or "
        "stayed empty, the language of the answer, and the time. A budget that the server does not enforce is not "
        "recommended."
    ),
    "quality": (
        "Tasks with computed answers, hidden tests, or expected tool calls. Scores carry Wilson intervals, pairs "
        "an exact McNemar test; answers that were cut off are counted apart from wrong ones."
    ),
}
VERDICTS = (
    "The boot is the random unit: requests within one boot share its memory layout, clocks and caches, so each "
    "boot gives one value per figure, the median. Arms are compared block by block on the logarithm of the ratio; "
    "the interval is a 95 % t interval whose variance is moderated by what is known of this machine's boot-to- "
    "boot noise. Equivalent: the interval lies within the minimum effect. Better or worse: it excludes no change "
    "and does not lie within. Undecided: anything else. The minimum effect was set before the run."
)
STATUSES = (
    "ok: measured and proved. Unverified: measured, but a part that would prove it is missing or disagrees. "
    "Invalid: measured on the wrong thing; the number must not be quoted. Unavailable: could not be measured "
    "here. A dash means not known, which is not zero."
)


def method_notes(rulers: Iterable[str], *, verdicts: bool = False) -> list[tuple[str, str]]:
    """Name and paragraph for each ruler that has a definition here, then what verdicts and statuses mean."""
    notes = [(name, DEFINITIONS[name]) for name in dict.fromkeys(rulers) if name in DEFINITIONS]
    return [*notes, *([("verdicts", VERDICTS)] if verdicts else []), ("status", STATUSES)]
