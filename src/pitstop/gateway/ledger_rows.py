"""Accounts as rows of the ledger. Opened by the accounting thread at its first batch, so that a start stays quick."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pitstop.gateway.account import Account

if TYPE_CHECKING:
    from pitstop.ledger.requests import RequestRow
    from pitstop.ledger.store import Ledger


_FORGET_EVERY_S = 3600.0


class LedgerRows:
    """A sink; UsageError or Unreachable when the ledger takes no rows, and the next batch tries anew."""

    def __init__(self, place: str | Path, keep_s: float) -> None:
        self._place = place
        self._keep_s = keep_s
        self._ledger: Ledger | None = None
        self._forget_at_s = 0.0

    def __call__(self, batch: Sequence[Account]) -> None:
        if self._ledger is None:
            from pitstop.ledger.store import Ledger  # noqa: PLC0415 - half a second of imports

            self._ledger = Ledger.open(self._place)
        self._ledger.record_requests([_row(account) for account in batch])
        newest_s = batch[-1].at_s
        if newest_s >= self._forget_at_s:
            self._forget_at_s = newest_s + _FORGET_EVERY_S
            self._ledger.forget_requests(datetime.fromtimestamp(newest_s - self._keep_s, UTC).isoformat())

    def close(self) -> None:
        """Let go of the ledger; the next batch would open it anew."""
        if self._ledger is not None:
            self._ledger.close()
            self._ledger = None


def _row(account: Account) -> RequestRow:
    from pitstop.ledger.requests import RequestRow  # noqa: PLC0415 - see above

    return RequestRow(
        request_id=account.request_id,
        at_s=account.at_s,
        key=account.key,
        route=account.route,
        answered_by=account.answered_by,
        engine=account.engine,
        api=account.api,
        stream=account.stream,
        status=account.status,
        outcome=account.outcome.value,
        reason=account.reason,
        failures="; ".join(account.failures),
        prompt_tokens=account.usage.prompt_tokens,
        completion_tokens=account.usage.completion_tokens,
        reasoning_tokens=account.usage.reasoning_tokens,
        cached_tokens=account.usage.cached_tokens,
        ttft_s=account.ttft_s,
        e2e_s=account.e2e_s,
        held_s=account.held_s,
        thinking_budget=account.budget,
        budget_kept=None if account.budget_kept is None else account.budget_kept.value,
    )
