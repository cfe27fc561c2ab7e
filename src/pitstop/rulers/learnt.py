"""What a run has found out about a server so far, so that no ruler asks twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pitstop.client.negotiate import Agreement
from pitstop.core.documents import Notice
from pitstop.rulers.sizes import Point


@dataclass(frozen=True)
class ThinkingState:
    """One way of asking: `name` is `off` or `on`, `extra` the request fields that ask for it."""

    name: str
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Switch:
    """How thinking is switched here. `states` holds one entry only where there is nothing to switch."""

    kind: str  # chat_template | reasoning_effort | none
    states: tuple[ThinkingState, ...]
    notices: tuple[Notice, ...] = ()
    known: bool = True  # False: no probe was answered, so the next ruler asks again

    def chosen(self, wanted: Sequence[str]) -> tuple[ThinkingState, ...]:
        """The wanted states that exist; where none of them does, what the model does anyway."""
        return tuple(state for state in self.states if state.name in wanted) or self.states[:1]

    def first(self, wanted: Sequence[str]) -> ThinkingState:
        """For a ruler that measures in one state: the first wanted that exists, or what the model does anyway."""
        by_name = {state.name: state for state in self.states}
        return next((by_name[name] for name in wanted if name in by_name), self.states[0])


@dataclass
class Learnt:
    """Filled in by the first ruler that needs it; one per run."""

    nonce_in_user_message: bool | None = None  # None: no request was answered yet
    agreement: Agreement | None = None  # the stream options that the server takes
    switch: Switch | None = None
    budget_refusal: str | None = None  # why the server takes no thinking budget; "" when it takes one; None: not asked
    sizes: list[Point] = field(default_factory=list)
