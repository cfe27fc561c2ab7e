import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.decisions.guard import Reading
from pitstop.services.guard.memory import MemoryReader

KIB = 1024


def reader_of(folder, meminfo: bytes, **others: bytes):
    (folder / "pressure").mkdir(exist_ok=True)
    (folder / "meminfo").write_bytes(meminfo)
    for name, content in others.items():
        (folder / name.replace("_", "/")).write_bytes(content)
    return MemoryReader(str(folder))


def test_every_field_is_read_with_its_unit(tmp_path):
    reading = reader_of(
        tmp_path,
        b"MemTotal:       127000000 kB\nMemFree:  100 kB\nMemAvailable:    6162432 kB\nSwapCached: 3 kB\n"
        b"SwapTotal:      16777212 kB\nSwapFree:       16000000 kB\n",
        vmstat=b"pswpin 1\npswpout 22\npgmajfault 333\n",
        pressure_memory=b"some avg10=1.50 avg60=0.00 avg300=0.00 total=5\nfull avg10=0.25 avg60=0.00 total=2\n",
    ).read()
    assert reading == Reading(6162432 * KIB, 100 * KIB, 16777212 * KIB, 16000000 * KIB, 1.5, 0.25, 22, 333)
    assert reading.swap_used_bytes == 777212 * KIB


@pytest.mark.parametrize(
    ("meminfo", "available_kib"),
    [
        pytest.param(b"MemAvailable: 5 kB", 5, id="no final newline"),
        pytest.param(b"A: 1 kB\r\nMemAvailable: 5 kB\r\n", 5, id="CRLF"),
        pytest.param(b"MemAvailable: 61", None, id="torn in the number"),
        pytest.param(b"MemAvailable: 61 k", None, id="torn in the unit"),
        pytest.param(b"XMemAvailable: 5 kB\n", None, id="another key"),
        pytest.param(b"MemAvailable: -5 kB\n", None, id="negative"),
        pytest.param(b"MemAvailable: 5 MB\n", None, id="another unit"),
        pytest.param(b"MemAvailable: " + b"9" * 5000 + b" kB\n", None, id="absurd"),
        pytest.param(b"", None, id="empty"),
        pytest.param(b"\xff\x00\xfe", None, id="not text"),
    ],
)
def test_what_is_not_there_is_not_known_and_never_zero(tmp_path, meminfo, available_kib):
    assert reader_of(tmp_path, meminfo).read().available_bytes == (available_kib and available_kib * KIB)


def test_a_recorder_may_replace_remove_and_rename_its_files(tmp_path):
    reader = reader_of(tmp_path, b"MemAvailable: 5 kB\n")
    (tmp_path / "next").write_bytes(b"MemAvailable: 4 kB\n")
    (tmp_path / "next").replace(tmp_path / "meminfo")
    assert reader.read().available_bytes == 4 * KIB
    (tmp_path / "meminfo").unlink()
    assert reader.read() == Reading()
    os.mkfifo(tmp_path / "meminfo")
    assert reader.read() == Reading()


def test_this_machine_is_read():
    reader = MemoryReader()
    first, second = reader.read(), reader.read()
    assert first.available_bytes
    assert second.swap_total_bytes is not None
    reader.close()


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_not_known(content):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        available = reader_of(Path(folder), content).read().available_bytes
        assert available is None or available >= 0
