"""The live view where it is not alive: lines for a log file."""

import io

from rich.console import Console

from pitstop.cli.live import LiveView
from pitstop.decisions.trial import Action, Boot, Do, How, Outcome, State, schedule


def view(available=24 * 2**30):
    times = iter(range(0, 100_000, 7))
    console = Console(file=io.StringIO(), force_terminal=False)
    return LiveView(["production", "k2"], console, lambda: float(next(times)), lambda: available)


def state(position):
    return State(schedule(2, 2), position=position)


def test_a_line_says_step_arm_time_left_and_memory(capsys):
    live = view()
    with live.shown(4):
        for position, boot in enumerate(schedule(2, 2)[:2]):
            live.action_begun(Action(Do.BOOT, boot), state(position))
            live.action_ended(Action(Do.BOOT, boot), Outcome(How.DONE))
    first, second = capsys.readouterr().err.splitlines()
    assert first.endswith("boot 1 of 4: booting production; 24.0 GiB available")
    assert "boot 2 of 4: booting k2, about" in second
    assert "of measuring left; 24.0 GiB available" in second


def test_what_is_waited_for_is_said_now_and_then_and_a_failure_at_once(capsys):
    live = view(available=None)
    with live.shown(4):
        for _ in range(6):
            live.say("waiting for 5 min without a request; now: 1 running and 0 waiting request(s)")
        live.progress("decode prose/en", 3, 10)
        live.action_ended(Action(Do.BOOT, Boot(0, 1)), Outcome(How.FAILED, "engine smol died"))
    said = capsys.readouterr().err.splitlines()
    assert 1 <= sum("1 running" in line for line in said) < 6
    assert said[-1].endswith("boot: failed: engine smol died")
    assert "available" not in "".join(said)
