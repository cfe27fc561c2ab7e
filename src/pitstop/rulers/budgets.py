"""A thinking budget as a request field, and whether this server takes it at all."""

from __future__ import annotations

from typing import Any

from pitstop.client.refusal import Failure
from pitstop.rulers.asking import Asker, Wish

FIELD = "thinking_token_budget"  # vLLM; needs --reasoning-config at the server
_REFUSALS = frozenset({Failure.REJECTED, Failure.FIELDS, Failure.SERVER, Failure.STREAM_ERROR})


def budget_extra(budget_tok: int | None) -> dict[str, Any]:
    """The request field for a budget; none for no budget."""
    return {} if budget_tok is None else {FIELD: budget_tok}


async def why_no_budget(asker: Asker) -> str:
    """Why this server takes no budget, in its own words, or "" where it takes one. Asked once a run.

    Taking is not enforcing: many servers ignore fields that they do not know. The thinking ruler finds that out.
    """
    learnt = asker.bench.learnt
    if learnt.budget_refusal is None:
        reply = await asker.ask("budget-probe", Wish("Hi.", max_tokens=1, extra=budget_extra(64)))
        refused = reply.refusal is not None and reply.refusal.failure in _REFUSALS
        if reply.ok or refused:
            learnt.budget_refusal = reply.record.error if refused else ""
        return reply.record.error
    return learnt.budget_refusal
