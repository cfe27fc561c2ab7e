import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.core.units import format_duration, format_size, parse_bandwidth, parse_duration, parse_share, parse_size


def test_twelve_thousand_mib_twelve_gib_and_twelve_gb_are_three_numbers():
    assert len({parse_size("12000MiB"), parse_size("12 GiB"), parse_size("12 GB")}) == 3
    assert parse_size("12 GiB") == 12 * 2**30
    assert parse_size("12 GB") == 12 * 10**9


@pytest.mark.parametrize("text", ["12", "GiB", "12 gib", "-1 GiB", "1e3 MiB", "12 GiB or so", "", "١٢ GiB"])
def test_a_size_without_a_proper_unit_is_refused(text):
    with pytest.raises(ValueError, match="size"):
        parse_size(text)


@given(st.integers(0, 10**6), st.sampled_from(["B", "kB", "MB", "GB", "KiB", "MiB", "GiB"]), st.sampled_from(["", " "]))
def test_every_whole_size_is_read_exactly(number, unit, space):
    factor = parse_size(f"1{unit}")
    assert parse_size(f"{number}{space}{unit}") == number * factor


def test_a_share_needs_its_percent_sign():
    assert parse_share("3 %") == pytest.approx(0.03)
    with pytest.raises(ValueError, match="share"):
        parse_share("0.03")


@pytest.mark.parametrize(
    ("text", "seconds"), [("90min", 5400), ("5 min", 300), ("1s", 1), ("250ms", 0.25), ("4 h", 14400)]
)
def test_durations_are_seconds(text, seconds):
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("seconds", "text"), [(4.21, "4.2 s"), (127, "2 min 07 s"), (3900, "1 h 05 min"), (260000, "3 d 0 h")]
)
def test_durations_are_told_in_two_units(seconds, text):
    assert format_duration(seconds) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [(16 * 2**10, "16 KiB"), (8000 * 2**20, "8000 MiB"), (12 * 2**30, "12.0 GiB"), (-3 * 2**20, "-3 MiB")],
)
def test_sizes_are_told_in_the_unit_that_fits(size, text):
    assert format_size(size) == text


def test_a_bandwidth_is_read_with_its_unit():
    assert parse_bandwidth("273 GB/s") == 273e9


@pytest.mark.parametrize("text", ["273", "273 GB", "273 GB/min", "fast/s", "", "/s"])
def test_a_bandwidth_without_its_unit_is_refused(text):
    with pytest.raises(ValueError, match="unit"):
        parse_bandwidth(text)


@pytest.mark.parametrize("read", [parse_size, parse_duration])
def test_more_than_a_number_can_hold_is_refused(read):
    with pytest.raises(ValueError, match="more than"):
        read("9" * 400 + {parse_size: " GiB", parse_duration: " h"}[read])
