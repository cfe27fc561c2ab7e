"""The header of a GGUF file: what each tensor takes, and the numbers of the model's metadata. No weight is read.

Format: ggml's docs/gguf.md, versions 2 and 3, little endian. A file is hostile until read: every length is held against
what is left of it.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

MAX_HEADER_BYTES = 256 * 2**20  # vocabularies of 250,000 entries with their merges come to about 20 MiB
_DEFAULT_ALIGNMENT = 32
_MOST_DIMENSIONS = 8
_PART = re.compile(r"-(\d{5})-of-(\d{5})\.gguf\Z")
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _ARRAY = 8, 9


@dataclass(frozen=True)
class GgufHeader:
    """Bytes of each tensor, padding included, and the scalar metadata; texts and arrays are left out."""

    sizes: dict[str, int]
    numbers: dict[str, float | int | bool]

    def number(self, suffix: str) -> int | None:
        """The whole number whose key ends with `suffix`, as in `.expert_count`, whatever the architecture's name."""
        found = (value for key, value in self.numbers.items() if key.endswith(suffix))
        return next((v for v in found if isinstance(v, int) and not isinstance(v, bool) and v > 0), None)


def read_gguf(file: Path) -> GgufHeader:
    """Of a file and of all its parts, when it is one of several. ValueError or OSError where that cannot be read."""
    sizes: dict[str, int] = {}
    numbers: dict[str, float | int | bool] = {}
    for part in _parts(file):
        header = _read_one(part)
        sizes |= header.sizes
        numbers = header.numbers | numbers
    return GgufHeader(sizes, numbers)


def _parts(file: Path) -> list[Path]:
    numbered = _PART.search(file.name)
    if numbered is None:
        return [file]
    stem, parts = file.name[: numbered.start()], numbered[2]
    return [file.with_name(f"{stem}-{number:05}-of-{parts}.gguf") for number in range(1, int(parts) + 1)]


def _read_one(file: Path) -> GgufHeader:
    with file.open("rb") as opened:
        reader = _Reader(opened, file.stat().st_size)
        if reader.take(4) != b"GGUF" or reader.scalar("I") not in (2, 3):
            raise ValueError(f"{file.name} is no GGUF file of version 2 or 3")
        tensors, pairs = reader.count(24), reader.count(13)
        metadata = dict(reader.pair() for _ in range(pairs))
        begins = dict(reader.tensor() for _ in range(tensors))
        alignment = metadata.get("general.alignment", _DEFAULT_ALIGNMENT)
        if not isinstance(alignment, int) or alignment < 1:
            raise ValueError(f"an alignment of {alignment}")
        data_bytes = reader.file_bytes - -(-reader.at // alignment) * alignment
    numbers = {key: value for key, value in metadata.items() if value is not None}
    return GgufHeader(_extents(begins, data_bytes), numbers)


def _extents(begins: dict[str, int], data_bytes: int) -> dict[str, int]:
    """From where each tensor begins to where the next one does: no table of quantisations is needed."""
    ordered = sorted(begins.items(), key=lambda entry: entry[1])
    ends = [begin for _, begin in ordered[1:]] + [data_bytes]
    extents = {name: end - begin for (name, begin), end in zip(ordered, ends, strict=True)}
    if any(size < 0 for size in extents.values()):
        raise ValueError("the file is shorter than its tensors")
    return extents


class _Reader:
    """Reads on in a header; ValueError where it ends too early or a length is beyond it."""

    def __init__(self, opened: BinaryIO, file_bytes: int) -> None:
        self._opened, self.file_bytes, self.at = opened, file_bytes, 0

    def take(self, wanted: int) -> bytes:
        if not 0 <= wanted <= min(self.file_bytes, MAX_HEADER_BYTES) - self.at:
            raise ValueError("the header is cut off, or longer than any header is")
        self.at += wanted
        taken = self._opened.read(wanted)
        if len(taken) < wanted:
            raise ValueError("the file became shorter while it was read")
        return taken

    def scalar(self, code: str) -> Any:
        return struct.unpack(f"<{code}", self.take(struct.calcsize(f"<{code}")))[0]

    def count(self, least_bytes_each: int) -> int:
        """A number of things that follow; each takes so many bytes at least, so a mad number is found out here."""
        number = int(self.scalar("Q"))
        if number * least_bytes_each > self.file_bytes - self.at:
            raise ValueError(f"the header claims {number} entries, which the file cannot hold")
        return number

    def text(self) -> bytes:
        return self.take(self.scalar("Q"))

    def pair(self) -> tuple[str, Any]:
        return self.text().decode("utf-8", "replace"), self._value(self.scalar("I"))

    def tensor(self) -> tuple[str, int]:
        """Name and where it begins in the data."""
        name, dimensions = self.text().decode("utf-8", "replace"), self.scalar("I")
        if dimensions > _MOST_DIMENSIONS:
            raise ValueError(f"a tensor of {dimensions} dimensions")
        self.take(8 * dimensions + 4)  # the dimensions and the type
        return name, int(self.scalar("Q"))

    def _value(self, kind: int) -> Any:
        if kind in _SCALARS:
            return self.scalar(_SCALARS[kind])
        if kind == _TEXT:
            self.text()
        elif kind == _ARRAY:
            self._skip_array(self.scalar("I"))
        else:
            raise ValueError(f"metadata of the unknown type {kind}")
        return None

    def _skip_array(self, kind: int) -> None:
        if kind in _SCALARS:
            each = struct.calcsize(f"<{_SCALARS[kind]}")
            self.take(each * self.count(each))
        elif kind == _TEXT:
            self._repeat(self.text)
        else:
            raise ValueError(f"an array of the type {kind}")  # of arrays: no writer makes one

    def _repeat(self, skip: Callable[[], Any]) -> None:
        for _ in range(self.count(8)):
            skip()
