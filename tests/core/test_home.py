import errno
import os
import stat
import threading
from pathlib import Path

import pytest

from pitstop.core.durable import write_durably, write_durably_without_room
from pitstop.core.errors import UsageError
from pitstop.core.home import Home


def fails_with(number):
    def write(*_args, **_kwargs):
        raise OSError(number, "no")

    return write


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_keeps_nobody_from_looking_or_restoring(tmp_path, monkeypatch, number):
    monkeypatch.setattr(Path, "write_bytes", fails_with(number))
    assert Home(tmp_path).prepared().trials.is_dir()


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS])
def test_a_folder_that_is_not_ours_is_refused_with_its_name(tmp_path, monkeypatch, number):
    monkeypatch.setattr(Path, "write_bytes", fails_with(number))
    with pytest.raises(UsageError, match=str(tmp_path)):
        Home(tmp_path).prepared()


def test_the_probe_leaves_nothing_behind(tmp_path):
    home = Home(tmp_path).prepared()
    assert sorted(path.name for path in home.root.iterdir()) == ["engines", "evidence", "logs", "runs", "trials"]


def test_on_a_full_disk_a_file_that_is_there_is_written_over_in_place(tmp_path, monkeypatch):
    file = tmp_path / "lease.json"
    file.write_bytes(b"old and longer")
    monkeypatch.setattr("pitstop.core.durable.write_durably", fails_with(errno.ENOSPC))
    write_durably_without_room(file, b"new")
    assert file.read_bytes() == b"new"
    with pytest.raises(OSError, match="no"):
        write_durably_without_room(tmp_path / "another", b"new")


def test_only_a_full_disk_is_written_over(tmp_path, monkeypatch):
    file = tmp_path / "lease.json"
    file.write_bytes(b"old")
    monkeypatch.setattr("pitstop.core.durable.write_durably", fails_with(errno.EIO))
    with pytest.raises(OSError, match="no"):
        write_durably_without_room(file, b"new")
    assert file.read_bytes() == b"old"


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe, got = tmp_path / "out", []
    os.mkfifo(pipe)
    reading = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reading.start()
    write_durably(pipe, b"document")
    reading.join(10)
    assert got == [b"document"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_what_a_link_points_to_is_replaced_and_the_link_stays(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real/file").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "real/file")
    write_durably(tmp_path / "link", b"new")
    assert ((tmp_path / "link").is_symlink(), (tmp_path / "real/file").read_bytes()) == (True, b"new")
    assert [path.name for path in (tmp_path / "real").iterdir()] == ["file"]
