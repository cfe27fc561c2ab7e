import pytest

from pitstop.decisions.arm_fit import does_not_fit
from pitstop.decisions.plan import GIB, Footprint

FLOOR = 8 * GIB


def engine(budget_gib=None, *, learnt_gib=None, start_extra_gib=None):
    return Footprint(
        "qwen",
        budget_bytes=None if budget_gib is None else int(budget_gib * GIB),
        learnt_steady_bytes=None if learnt_gib is None else int(learnt_gib * GIB),
        learnt_start_bytes=None if learnt_gib is None else int(learnt_gib * GIB),
        start_extra_bytes=None if start_extra_gib is None else int(start_extra_gib * GIB),
    )


def test_a_variant_that_takes_as_much_as_production_fits_where_production_does():
    assert does_not_fit(engine(66.9), engine(66.9), FLOOR, FLOOR) == ""


def test_a_larger_share_is_refused_with_the_numbers_when_the_other_engine_leaves_no_room():
    """The field case: 0.55 of 121.7 GiB beside an engine with 0.35; 0.75 would take 24.3 GiB more."""
    why = does_not_fit(engine(0.55 * 121.69), engine(0.75 * 121.69), 20 * GIB, FLOOR)
    assert "-4.3 GiB would be left" in why
    assert "8.0 GiB" in why
    assert does_not_fit(engine(0.55 * 121.69), engine(0.75 * 121.69), 33 * GIB, FLOOR) == ""


def test_the_peak_of_its_start_counts():
    assert does_not_fit(engine(50), engine(50, start_extra_gib=30), 20 * GIB, FLOOR)


def test_a_learnt_number_is_never_held_against_a_calculated_one():
    """vLLM on a CPU ignores its fraction: beside 4 learnt GiB of production 22 calculated ones would look like more."""
    assert does_not_fit(engine(21, learnt_gib=4), engine(21), 10 * GIB, FLOOR) == ""
    assert does_not_fit(engine(21, learnt_gib=4), engine(21, learnt_gib=9), 10 * GIB, FLOOR)


@pytest.mark.parametrize(("production", "arm"), [(engine(), engine(50)), (engine(50), engine()), (engine(), engine())])
def test_what_is_not_known_refuses_nothing(production, arm):
    assert does_not_fit(production, arm, 0, FLOOR) == ""
