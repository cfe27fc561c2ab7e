"""The live view of a trial: bars on a terminal, plain lines with the time in a log file.

Both say the step, the arm, what is waited for or measured, how long it will still take, and what memory is left.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from datetime import datetime

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from pitstop.core.units import format_duration, format_size
from pitstop.decisions.trial import Action, Do, How, Outcome, State

_WORDS = {
    Do.WAIT_IDLE: "waiting until production is idle",
    Do.TAKE_DOWN: "taking production down",
    Do.BOOT: "booting {arm}",
    Do.MEASURE: "measuring {arm}",
    Do.STOP: "stopping {arm}",
    Do.LOOK: "looking whether it is decided already",
    Do.RESTORE: "putting production back",
    Do.PROVE: "proving that production is back",
}
_LINE_EVERY_S = 10.0  # a log file is for reading


class LiveView:
    """Watches a trial: `say` takes what is waited for, `progress` the steps of a ruler."""

    def __init__(
        self,
        arms: list[str],
        console: Console,
        clock: Callable[[], float] = time.monotonic,
        available: Callable[[], int | None] = lambda: None,
    ) -> None:
        self._arms, self._console, self._clock, self._available = arms, console, clock, available
        self._began = clock()
        self._boots_began: float | None = None
        self._last_line = 0.0
        self._bars: Progress | None = None
        self._whole: TaskID | None = None
        self._part: TaskID | None = None

    @contextlib.contextmanager
    def shown(self, boots: int) -> Iterator[LiveView]:
        """Show the bars, where there is a terminal to show them on."""
        if not self._console.is_terminal:
            yield self
            return
        columns = (TextColumn("{task.description}"), BarColumn(bar_width=30), TimeElapsedColumn())
        with Progress(*columns, console=self._console, transient=True) as self._bars:
            self._whole = self._bars.add_task("trial", total=boots)
            self._part = self._bars.add_task("", total=None)
            yield self

    def action_begun(self, action: Action, state: State) -> None:
        words = _WORDS.get(action.do, action.do.value).format(arm=self._arm(action))
        if action.do is Do.BOOT and self._boots_began is None:
            self._boots_began = self._clock()
        where = f"boot {state.position + 1} of {len(state.boots)}: " if action.boot else ""
        again = f" (attempt {action.attempt})" if action.attempt > 1 else ""
        remaining = self._remaining(state)
        self._line(f"{where}{words}{again}{remaining if action.do is Do.BOOT else ''}{self._memory()}")
        if self._bars and self._whole is not None and self._part is not None:
            self._bars.update(self._whole, completed=state.position, description=f"trial{remaining}")
            self._bars.reset(self._part, total=None, description=words)

    def action_ended(self, action: Action, outcome: Outcome) -> None:
        if outcome.how is not How.DONE:
            self._line(f"  {action.do.value}: {outcome.how.value}: {outcome.reason}")
        elif action.do is Do.PROVE:
            self._line(f"  production is back: {outcome.reason}")

    def say(self, text: str) -> None:
        """What is being waited for right now."""
        if self._bars and self._part is not None:
            self._bars.update(self._part, description=f"{text}{self._memory()}")
        else:
            self._seldom(text)

    def progress(self, what: str, done: int, total: int) -> None:
        """Steps of the ruler that runs."""
        if self._bars and self._part is not None:
            self._bars.update(self._part, description=f"{what}{self._memory()}", completed=done, total=total)
        else:
            self._seldom(f"{what}: {done} of {total}")

    def _arm(self, action: Action) -> str:
        return self._arms[action.boot.arm] if action.boot else "the engine"

    def _remaining(self, state: State) -> str:
        if not state.position or self._boots_began is None:
            return ""
        per_boot = (self._clock() - self._boots_began) / state.position
        return f", about {format_duration(per_boot * (len(state.boots) - state.position))} of measuring left"

    def _seldom(self, text: str) -> None:
        if self._clock() - self._last_line >= _LINE_EVERY_S:
            self._line(f"  {text}{self._memory()}")

    def _memory(self) -> str:
        available = self._available()
        return f"; {format_size(available)} available" if available is not None else ""

    def _line(self, text: str) -> None:
        self._last_line = self._clock()
        stamp = datetime.now().astimezone().strftime("%H:%M:%S")
        if self._bars:
            self._bars.console.print(f"{stamp} {text}", markup=False, highlight=False)
        else:
            sys.stderr.write(f"{stamp} {text}\n")
            sys.stderr.flush()
