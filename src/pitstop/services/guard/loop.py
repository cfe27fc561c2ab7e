"""The guard's loop: read, decide, and only then write; kill, look whether memory came back, and tell.

Runs in the guard's own lean process. Nothing here imports more than the standard library's small modules.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict

from pitstop.decisions.guard import Decision, GuardState, Reading, both_units, decide, sleep_s
from pitstop.services.guard.account import Account, stamp
from pitstop.services.guard.control import Control
from pitstop.services.guard.execution import Execution, write_evidence
from pitstop.services.guard.finding import Finder
from pitstop.services.guard.memory import MemoryReader
from pitstop.services.guard.order import GuardOrder, GuardReport, GuardVerdict
from pitstop.services.guard.owned import Owned

_REFRESH_S = 10.0  # between scans for new children; one costs some ms on a box with hundreds of processes
_REFRESH_NEAR_S = 1.0
_STRIKE_AGAIN_S = 5.0  # where nothing is held, and the container engine had nothing to kill either

Say = Callable[[str], None]


class GuardLoop:
    """One guard's life. `run` returns its report; `interrupt` may be called from a signal handler."""

    def __init__(self, order: GuardOrder, say: Say, control: Control) -> None:
        self.order, self.say, self._control = order, say, control
        self.report = GuardReport(engine=order.engine, csv=order.csv, started_at=stamp(), policy=asdict(order.policy))
        self._owned = Owned()
        self._finder = Finder(order.binary, order.container, self._owned)
        self._reader = MemoryReader(order.procfs)
        self._account = Account(order.csv, self.report, say)
        self._state = GuardState()
        self._verdict: GuardVerdict | None = None
        self._refresh_due_s = self._strike_due_s = 0.0
        self._began_s = time.monotonic()
        self._said = ""

    def interrupt(self) -> None:
        self._conclude(GuardVerdict.INTERRUPTED, "stopped by a signal")

    def run(self, on_watching: Callable[[], None]) -> GuardReport:
        """Guard until there is a verdict; `on_watching` is called once, when a kill could be done from here on."""
        if refusal := self._take_hold() or self._first_look():
            self._conclude(GuardVerdict.REFUSED, refusal)
        else:
            on_watching()
        while self._verdict is None:
            self._step()
        return self._end(self._verdict)

    # The start

    def _take_hold(self) -> str:
        """Own what is there already, and walk the kill path once without its effect; returns why that fails."""
        if self.order.pid is None:
            return ""
        if problem := self._own_process(self.order.pid):
            return problem
        if self._owned.denied:
            pid = min(self._owned.denied)
            return f"this user may not signal process {pid}: run the guard as root or as the engine's user"
        return ""

    def _own_process(self, pid: int) -> str:
        if problem := self._owned.own_process(pid):
            return problem
        self.report.target = {"pid": pid, "name": self._owned.names.get(pid, "")}
        self._owned.signal_all(0)
        return ""

    def _first_look(self) -> str:
        reading, policy = self._reader.read(), self.order.policy
        if reading.available_bytes is None:
            return f"{self.order.procfs}/meminfo has no readable MemAvailable line, so there is nothing to guard by"
        self._state, decision = decide(GuardState(), reading, policy, time.monotonic())  # swap grows from here
        if decision.kill and not self.order.kill_when_low:
            return f"{decision.reason} before anything was started or measured: the engine would be killed at once"
        margin_bytes = reading.available_bytes - policy.min_available_bytes
        if margin_bytes < policy.min_available_bytes // 10:
            self._account.warn(f"only {both_units(margin_bytes)} lie between MemAvailable and the floor")
        return ""

    # One step

    def _step(self) -> None:
        now_s = time.monotonic()
        reading, before, event = self._reader.read(), self._state, ""
        self._state, decision = decide(before, reading, self.order.policy, now_s)
        if decision.kill:
            # Look again before you touch: one more reading, judged from the same past.
            reading = self._reader.read()
            self._state, decision = decide(before, reading, self.order.policy, time.monotonic())
            event = "spared by the second look"
            if decision.kill:
                event = "nothing to kill"
                if self._kill(decision, reading, now_s):
                    return
        self._account.take(reading, self._state, now_s, len(self._owned.names), event)
        wait_s = sleep_s(self._state, reading, self.order.policy)
        self._look_for_children(now_s, near=wait_s < self.order.policy.interval_s)
        self._wait(now_s + wait_s)
        self._see_whether_it_is_over()

    def _look_for_children(self, now_s: float, *, near: bool) -> None:
        period_s = _REFRESH_NEAR_S if near else _REFRESH_S
        self._refresh_due_s = min(self._refresh_due_s, now_s + period_s)
        if self._owned.up and now_s >= self._refresh_due_s:
            self._owned.refresh()
            self._refresh_due_s = now_s + period_s

    def _wait(self, until_s: float) -> None:
        """Sleep until the next reading is due; words on the control line are heard at once but read no memory."""
        while self._verdict is None and (left_s := until_s - time.monotonic()) > 0:
            for words in self._control.wait(min(left_s, 0.05) if self._finder.pending else left_s):
                self._obey(words)
            self._say_once(self._finder.step(time.monotonic()))

    def _obey(self, words: list[str]) -> None:
        match words:
            case ["stop"]:
                self._conclude(GuardVerdict.CLEAN, "told to stop")
            case ["pid", number] if number.isdigit():
                self._say_once(self._own_process(int(number)) or f"owns process {number}")
            case ["container", reference]:
                self._finder.look_for(reference)
            case _:
                self._account.warn(f"did not understand the control line {' '.join(words)!r}")

    def _see_whether_it_is_over(self) -> None:
        if self.order.for_s is not None and time.monotonic() - self._began_s >= self.order.for_s:
            self._conclude(GuardVerdict.CLEAN, "its time was up")
        elif not self._control.open and not self.order.container and not self._owned.up:
            self._conclude(GuardVerdict.GONE, "what it owned ended by itself")

    # The kill

    def _kill(self, decision: Decision, reading: Reading, read_at_s: float) -> bool:
        """Kill what is owned; False when there was nothing to kill, and the guard goes on."""
        if not self._owned.up and read_at_s < self._strike_due_s:
            return False  # asking a container engine to kill what is not up takes time that readings need
        execution = Execution(self.order, self._owned, self._finder.reference, self._reader)
        try:
            return self._strike(execution, decision, reading, read_at_s)
        finally:
            execution.close()

    def _strike(self, execution: Execution, decision: Decision, reading: Reading, read_at_s: float) -> bool:
        if not execution.strike():
            self._strike_due_s = time.monotonic() + _STRIKE_AGAIN_S
            self._say_once(f"{decision.reason}, and nothing of its own is there to kill: it goes on watching")
            return False
        report = self.report
        report.reading_to_signal_ms = (execution.struck_at_s - read_at_s) * 1000
        report.since_previous_reading_ms = self._account.since_previous_ms(read_at_s)
        report.cause, report.killed = str(decision.cause), execution.hit
        self._conclude(GuardVerdict.TRIPPED, decision.reason)
        self._account.take(reading, self._state, read_at_s, len(report.killed), f"killed: {decision.cause}")
        report.ring = self._account.ring()
        write_evidence(self.order.evidence, report)
        self.say(f"KILLED {self.order.engine}: {decision.reason}")
        execution.follow_up(self._state, report, self._account_after)
        return True

    def _account_after(self, reading: Reading) -> None:
        self._account.take(reading, self._state, time.monotonic(), len(self._owned.names), "after the kill")

    # The end

    def _conclude(self, verdict: GuardVerdict, reason: str) -> None:
        if self._verdict is None:
            self._verdict, self.report.verdict, self.report.reason = verdict, verdict, reason

    def _end(self, verdict: GuardVerdict) -> GuardReport:
        self.report.finished_at = stamp()
        self._account.close()
        if verdict is GuardVerdict.TRIPPED:
            write_evidence(self.order.evidence, self.report)
        self._reader.close()
        self._owned.close()
        return self.report

    def _say_once(self, text: str) -> None:
        if text and text != self._said:
            self._said = text
            self.say(text)
