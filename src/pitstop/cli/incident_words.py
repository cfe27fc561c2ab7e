"""What a verdict on incidents says: as a document, in sentences, and as an exit code."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from pitstop.cli.shell import Shell

if TYPE_CHECKING:
    from pitstop.core.errors import ExitCode
    from pitstop.services.incidents.counts import Halves
    from pitstop.stats.rates import FixAssessment, FixState, Window


def tell(shell: Shell, found: Halves, now: datetime, signature: str | None, confidence: float) -> None:
    from pitstop.stats.rates import assess

    result = assess(found.before, found.after, confidence=confidence)
    kinds: dict[str, int] = {}
    for one in found.events_after:
        kinds[one.signature] = kinds.get(one.signature, 0) + 1
    document = {
        "schema": "pitstop.incident-verdict", "version": 1,
        "signature": signature,
        "state": str(result.state),
        "changed_at": found.changed_at.isoformat(),
        "now": now.isoformat(),
        "before": window_record(found.before, confidence),
        "after": window_record(found.after, confidence),
        "exposure_from": found.exposure_from,
        "chance": result.chance,
        "chance_if_rate_known": result.chance_if_rate_known,
        "confidence": confidence,
        "clean_days_needed": result.needed,
        "more_clean_days_needed": result.more_needed,
        "supported_at": date_after(now, result.more_needed),
        "rule_days": result.rule,
        "more_days_for_rule": result.more_for_rule,
        "rule_at": date_after(now, result.more_for_rule),
        "after_by_signature": kinds,
    }  # fmt: skip
    shell.document(document)
    for line in sentences(found, result, document, confidence):
        shell.say(line)
    shell.finish(_exit_code(result.state))


def sentences(found: Halves, result: FixAssessment, document: dict[str, Any], confidence: float) -> list[str]:
    lines = [f"{result.state}: before {said(found.before)}, since {found.changed_at:%Y-%m-%d} {said(found.after)}."]
    lines += [f"  {number} x {name}" for name, number in document["after_by_signature"].items()]
    if found.exposure_from == "calendar":
        lines.append("The ledger does not know how long the engine was up, so days of the calendar are counted.")
    low, high = result.rate_before
    if math.isfinite(high):
        lines.append(f"Rate before: {low * 30:.2f} to {high * 30:.2f} in 30 days ({confidence:.0%} bounds).")
    if result.chance is None:
        lines.append("Nothing happened before, so quiet proves nothing.")
        return lines
    lines.append(
        f"Chance of so few if nothing had changed: {_percent(result.chance)} "
        f"({_percent(result.chance_if_rate_known)} if the old rate were known exactly)."
    )
    if result.needed is not None and result.rule is not None and result.more_needed is not None:
        lines.append(f"For {confidence:.0%}: {_clean(result.needed, result.more_needed, document['supported_at'])}.")
        rule = _clean(result.rule, result.more_for_rule or 0.0, document["rule_at"])
        lines.append(f"By the rule of twice the earlier interval: {rule}.")
    return lines


def _clean(days: float, more: float, date: str | None) -> str:
    wanted = f"{math.ceil(round(days, 6))} clean days in all"
    return f"{wanted}, reached" if not more else f"{wanted}, {math.ceil(round(more, 6))} more ({date or 'never'})"


def _percent(share: float | None) -> str:
    """Two significant digits, so that a small chance is not shown as none."""
    return "unknown" if share is None else f"{share * 100:.2g} %" if share < 0.995 else f"{share * 100:.0f} %"


def date_after(now: datetime, days: float | None) -> str | None:
    """The day on which that many more days are full; None when it never comes, or not within a calendar's reach."""
    if days is None or days > 300_000:
        return None
    return (now + timedelta(days=math.ceil(days * 1e6) / 1e6)).date().isoformat()


def window_record(window: Window, confidence: float) -> dict[str, Any]:
    from pitstop.stats.rates import rate_bounds

    low, high = rate_bounds(window, confidence=confidence)
    return {
        "events": window.events,
        "days": window.exposure,
        "mean_interval_days": window.mean_interval,
        "rate_per_day": [low, None if math.isinf(high) else high],
    }


def said(window: Window) -> str:
    events = "nothing" if not window.events else f"{window.events} event{'s' * (window.events != 1)}"
    return f"{events} in {window.exposure:.1f} days"


def _exit_code(state: FixState) -> ExitCode:
    from pitstop.core.errors import ExitCode

    return {"reopened": ExitCode.WORSE, "open": ExitCode.INCONCLUSIVE}.get(str(state), ExitCode.DONE)
