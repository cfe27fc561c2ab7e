from pitstop.decisions.guard import GuardState, Reading
from pitstop.services.guard.rows import HEADER, RowWriter, row

LINE = row("2026-01-01T00:00:00.000Z", Reading(available_bytes=3 * 2**20), GuardState(), 2, "")


def test_a_row_has_as_many_cells_as_the_header_and_leaves_the_unknown_empty():
    assert LINE.count(",") == HEADER.count(",")
    assert LINE.startswith("2026-01-01T00:00:00.000Z,3,,,,")


def test_rows_are_appended_under_one_header(tmp_path):
    for _ in range(2):
        rows = RowWriter(str(tmp_path / "a.csv"))
        rows.write(LINE)
        rows.close()
    assert (tmp_path / "a.csv").read_text() == HEADER + LINE + LINE


def test_a_full_disk_costs_rows_and_nothing_else():
    rows = RowWriter("/dev/full")
    rows.write(LINE)
    rows.write(LINE)
    rows.close()
    assert rows.lost >= 2
    assert "No space" in rows.last_error


def test_a_folder_that_is_gone_costs_rows_and_nothing_else(tmp_path):
    rows = RowWriter(str(tmp_path / "gone/a.csv"))
    rows.write(LINE)
    rows.close()
    assert rows.lost == 1


def test_a_disk_that_hangs_does_not_hold_the_guard(tmp_path):
    import os

    os.mkfifo(tmp_path / "hangs")  # opening it blocks the thread for as long as nobody reads
    rows = RowWriter(str(tmp_path / "hangs"))
    for _ in range(5000):
        rows.write(LINE)
    assert rows.lost > 0
    rows.close(timeout_s=0.05)
    os.close(os.open(tmp_path / "hangs", os.O_RDONLY | os.O_NONBLOCK))
