import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.decisions.plan import GIB, Footprint, plan

TOTAL = round(121.69 * GIB)


def engine(name, fraction, **more):
    return Footprint(name, fraction=fraction, budget_bytes=round(fraction * TOTAL), **more)


def test_the_second_reports_box_fits_and_has_what_they_measured():
    """0.45 + 0.28: 89.7 GiB on the GPU, 17.1 GiB available, 12 GiB floor."""
    made = plan([engine("qwen", 0.45), engine("nemotron", 0.28)], total_bytes=TOTAL, floor_bytes=12 * GIB)
    assert made.fits
    assert made.available_bytes / GIB == pytest.approx(17.1, abs=0.1)
    on_the_gpu = sum(one.budget_bytes + one.context_bytes for one in made.engines)
    assert on_the_gpu / GIB == pytest.approx(89.7, abs=0.1)


def test_fractions_that_add_up_to_more_than_there_is_are_refused_with_the_sum():
    made = plan([engine("prod", 0.75), engine("aux", 0.35)], total_bytes=TOTAL, floor_bytes=12 * GIB)
    assert made.fits is False
    assert "91.3 GiB + 42.6 GiB = 133.9 GiB" in made.reasons[0]
    assert "of 121.7 GiB" in made.reasons[0]


def test_a_smaller_fraction_frees_its_share():
    before = plan([engine("prod", 0.75)], total_bytes=TOTAL, floor_bytes=0)
    after = plan([engine("prod", 0.55)], total_bytes=TOTAL, floor_bytes=0)
    assert (after.available_bytes - before.available_bytes) / GIB == pytest.approx(24.3, abs=0.05)


def test_a_peak_that_the_guard_would_kill_is_refused_before_it_is_started():
    """0.70 of 119 GiB is a budget of 83; profiling took it to about 112, and the host was gone."""
    total = 119 * GIB
    one = Footprint("x", 0.70, round(0.70 * total), host_bytes=0, context_bytes=0, start_extra_bytes=29 * GIB)
    assert plan([Footprint("x", 0.70, one.budget_bytes, host_bytes=0)], total_bytes=total, floor_bytes=8 * GIB).fits
    made = plan([one], total_bytes=total, floor_bytes=8 * GIB)
    assert made.fits is False
    assert "before it serves" in made.reasons[0]
    assert made.start_bytes / GIB == pytest.approx(112.3, abs=0.1)


def test_heads_outside_the_budget_are_what_made_the_box_swap():
    """The second report's first try of MTP: about 15 GB that no fraction covers."""
    engines = [engine("qwen", 0.45, draft_bytes=15 * 10**9), engine("nemotron", 0.28)]
    made = plan(engines, total_bytes=TOTAL, floor_bytes=12 * GIB)
    assert made.fits is False
    assert "below the guard's floor" in made.reasons[0]


def test_a_steady_state_below_the_floor_is_refused_with_the_difference():
    made = plan([engine("atlas", 0.88)], total_bytes=TOTAL, floor_bytes=12 * GIB)
    assert made.fits is False
    assert made.margin_bytes < 0


def test_what_boots_of_this_box_took_counts_before_any_formula():
    one = engine("x", 0.45, learnt_steady_bytes=60 * GIB, learnt_start_bytes=80 * GIB)
    made = plan([one], total_bytes=TOTAL, floor_bytes=12 * GIB)
    assert (made.steady_bytes, made.start_bytes) == (60 * GIB, 80 * GIB)
    assert not any("not known" in text for text in made.warnings)


def test_too_little_known_is_no_yes():
    made = plan([Footprint("x")], total_bytes=TOTAL, floor_bytes=12 * GIB)
    assert made.fits is None
    assert made.reasons == ("too little is known of x",)


def test_heads_of_unknown_size_are_no_yes_but_may_be_a_no():
    one = engine("qwen", 0.45, draft_bytes=None)
    assert plan([one], total_bytes=TOTAL, floor_bytes=12 * GIB).fits is None
    made = plan([one, engine("nemotron", 0.45)], total_bytes=TOTAL, floor_bytes=12 * GIB)
    assert made.fits is False
    assert "below the guard's floor" in made.reasons[0]


def test_it_warns_of_starts_at_once_of_unknown_peaks_and_of_the_page_cache():
    engines = [engine("a", 0.40, start_extra_bytes=8 * GIB), engine("b", 0.35, start_extra_bytes=8 * GIB)]
    made = plan(engines, total_bytes=TOTAL, floor_bytes=0, free_bytes=43 * GIB)
    assert made.fits
    assert any("one after the other" in text for text in made.warnings)
    assert any("MemFree is 43.0 GiB" in text and text.startswith("a:") for text in made.warnings)
    vague = plan([engine("a", 0.40)], total_bytes=TOTAL, floor_bytes=0)
    assert any("peak of the start of a is not known" in text for text in vague.warnings)


sizes = st.none() | st.integers(0, 2**38)
footprints = st.builds(
    Footprint, st.just("x"), st.none(), sizes, sizes, sizes, st.integers(0, 2**33), sizes,
    st.integers(0, 2**34), sizes, sizes, sizes, sizes,
)  # fmt: skip


@given(st.lists(footprints, max_size=4), st.integers(1, 2**38), st.integers(0, 2**35))
def test_what_fits_leaves_the_floor_at_every_known_moment(engines, total, floor):
    made = plan(engines, total_bytes=total, floor_bytes=floor)
    if made.fits:
        assert made.available_bytes >= floor
        assert made.available_at_start_bytes >= floor
        assert made.start_bytes >= made.steady_bytes
    else:
        assert made.reasons
