import pytest

from pitstop.core.process_id import ProcessId
from pitstop.decisions.lease import Claimant, Lease, Phase, Standing, may_take, standing, watchdog_stands_down


def lease(**changes) -> Lease:
    values = {
        "token": "t", "purpose": "trial nightly", "holder": ProcessId(7, 1, "b"), "engines": ("qwen",),
        "acquired_at_s": 100.0, "expires_at_s": 160.0, "trial": "T1",
    }  # fmt: skip
    return Lease(**values | changes)


@pytest.mark.parametrize(
    ("held", "alive", "owes", "now", "expected"),
    [
        (None, False, False, 0, Standing.FREE),
        (lease(), True, True, 159, Standing.HELD),
        (lease(), True, False, 160, Standing.STALLED),
        (lease(), False, True, 101, Standing.ABANDONED),
        (lease(), False, True, 9999, Standing.ABANDONED),
        (lease(), False, False, 101, Standing.LEFT_OVER),
        (lease(trial=""), False, False, 101, Standing.LEFT_OVER),
    ],
)
def test_a_lease_is_worth_what_its_holder_is(held, alive, owes, now, expected):
    assert standing(held, holder_alive=alive, owes_restore=owes, now_s=now) is expected


@pytest.mark.parametrize(
    ("state", "work", "recovery"),
    [
        (Standing.FREE, True, True),
        (Standing.LEFT_OVER, True, True),
        (Standing.HELD, False, False),
        (Standing.STALLED, False, True),
        (Standing.ABANDONED, False, True),
    ],
)
def test_only_recovery_takes_what_owes_a_restore(state, work, recovery):
    assert may_take(state, Claimant.WORK) is work
    assert may_take(state, Claimant.RECOVERY) is recovery


@pytest.mark.parametrize(
    ("held", "state", "engine", "expected"),
    [
        (lease(), Standing.HELD, "qwen", True),
        (lease(), Standing.ABANDONED, "qwen", True),
        (lease(), Standing.HELD, "nemotron", False),
        (lease(phase=Phase.WAITING), Standing.HELD, "qwen", False),
        (None, Standing.FREE, "qwen", False),
        (lease(trial=""), Standing.LEFT_OVER, "qwen", False),
    ],
)
def test_the_watchdog_stands_down_for_engines_that_a_trial_has_in_hand(held, state, engine, expected):
    assert watchdog_stands_down(held, state, engine) is expected
