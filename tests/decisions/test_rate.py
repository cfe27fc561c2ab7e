import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.decisions.rate import Rate, full, parse_rate, take


@pytest.mark.parametrize(
    ("text", "rate"), [("60/min", Rate(60, 60)), (" 5 / s ", Rate(5, 1)), ("1000/d", Rate(1000, 86400))]
)
def test_rates_are_read_as_people_write_them(text, rate):
    assert parse_rate(text) == rate


@pytest.mark.parametrize("text", ["", "60", "0/s", "-1/s", "1/w", "1.5/s", "9999999999/s", "١/s"])
def test_what_is_no_rate_gets_a_sentence(text):
    with pytest.raises(ValueError, match="is not a rate"):
        parse_rate(text)


@given(st.integers(1, 50), st.sampled_from([1.0, 60.0]), st.lists(st.floats(0, 100), max_size=200))
def test_never_more_than_the_bucket_and_what_flowed_in(permits, period_s, pauses):
    rate, now_s, granted = Rate(permits, period_s), 1000.0, 0
    bucket = full(rate, now_s)
    for pause in pauses:
        now_s += pause
        bucket, wait_s = take(bucket, rate, now_s)
        granted += wait_s is None
        if wait_s is not None:
            assert wait_s > 0
    assert granted <= permits + (now_s - 1000.0) * permits / period_s + 1e-6


@given(st.integers(1, 50), st.floats(0.01, 1e6))
def test_who_waits_as_long_as_told_gets_a_permit(permits, now_s):
    rate = Rate(permits, 60.0)
    bucket = full(rate, now_s)
    for _ in range(permits):
        bucket, wait_s = take(bucket, rate, now_s)
        assert wait_s is None
    bucket, wait_s = take(bucket, rate, now_s)
    assert wait_s is not None
    assert take(bucket, rate, now_s + wait_s * 1.0001 + 1e-6)[1] is None


def test_a_clock_that_goes_back_grants_nothing():
    rate = Rate(1, 60)
    bucket, _ = take(full(rate, 100), rate, 100)
    assert take(bucket, rate, 50)[1] is not None
    assert take(take(bucket, rate, 50)[0], rate, 100)[1] is not None
