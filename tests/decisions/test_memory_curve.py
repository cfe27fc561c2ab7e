"""The memory around a boot, cut out of the guard's rows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.decisions.memory_curve import MIB, MOST_SAMPLES, memory_curve

_HEADER = "time,mem_available_mib,mem_free_mib,swap_used_mib,swap_growth_mib,event\n"


def _rows(*cells: str) -> list[str]:
    return [_HEADER, *(f"{line}\n" for line in cells)]


def _curve(rows: list[str], since: str = "2026-10-19T03:00:00Z", until: str = "2026-10-19T03:59:59Z") -> object:
    return memory_curve(rows, since, until, 8_000_000_000)


def test_only_the_rows_of_the_boot_are_taken_and_counted_from_its_beginning() -> None:
    rows = _rows(
        "2026-10-19T02:59:59.000Z,90000,1,0,0,",
        "2026-10-19T03:00:01.500Z,60000,1,100,0,",
        "2026-10-19T03:00:02.500Z,7000,1,,0,kill",
        "2026-10-19T04:10:00.000Z,90000,1,0,0,",
    )
    assert _curve(rows) == {
        "floor_bytes": 8_000_000_000,
        "samples": [[1.5, 60000 * MIB, 100 * MIB], [2.5, 7000 * MIB, None]],
    }


def test_times_with_different_offsets_are_the_same_times() -> None:
    rows = _rows("2026-10-19T05:00:01+02:00,1,1,1,1,")
    assert _curve(rows) == {"floor_bytes": 8_000_000_000, "samples": [[1.0, MIB, MIB]]}


@pytest.mark.parametrize("rows", [[], [_HEADER], _rows("garbage"), _rows("2026-10-19T0"), ["no,header\n", "1,2\n"]])
def test_no_usable_row_is_no_curve(rows: list[str]) -> None:
    assert _curve(rows) is None


def test_a_torn_row_does_not_spoil_the_others() -> None:
    rows = _rows("2026-10-19T03:00:01Z,500,1,1,1,", "2026-10-19T03:00:02Z,4\0", "\0\0\0")
    assert _curve(rows) == {"floor_bytes": 8_000_000_000, "samples": [[1.0, 500 * MIB, MIB], [2.0, None, None]]}


def test_a_day_of_rows_is_thinned_and_keeps_the_dip_and_the_end() -> None:
    cells = [f"2026-10-19T03:{s // 60:02d}:{s % 60:02d}Z,{7 if s == 1777 else 900},1,1,1," for s in range(3600)]
    curve = memory_curve(_rows(*cells), "2026-10-19T03:00:00Z", "2026-10-19T03:59:59Z", None)
    assert curve is not None
    samples = curve["samples"]
    assert isinstance(samples, list)
    assert len(samples) <= MOST_SAMPLES + 1
    assert [1777.0, 7 * MIB, MIB] in samples
    assert samples[-1][0] == 3599.0


@pytest.mark.parametrize("time", ["", "yesterday", "2026-13-01"])
def test_a_boot_without_a_known_time_has_no_curve(time: str) -> None:
    rows = _rows("2026-10-19T03:00:01Z,1,1,1,1,")
    assert _curve(rows, since=time) is None
    assert _curve(rows, until=time) is None


@given(st.lists(st.text(max_size=40), max_size=6))
def test_any_file_gives_a_curve_or_none(lines: list[str]) -> None:
    curve = _curve([_HEADER, *lines])
    assert curve is None or isinstance(curve, dict)
