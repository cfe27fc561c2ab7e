"""`incidents scan`: from files to findings, and from findings to records of the ledger."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

import msgspec

from pitstop.core.errors import UsageError
from pitstop.decisions.incidents.conclude import Seen, conclude
from pitstop.decisions.incidents.ending import EndState, parse_state
from pitstop.decisions.incidents.guard_log import GuardLog, read_guard_log
from pitstop.decisions.incidents.incident import Findings, Incident
from pitstop.decisions.incidents.kernel import KernelLine, read_kernel
from pitstop.decisions.incidents.lines import Until
from pitstop.decisions.incidents.reader import last_errors, read_events
from pitstop.decisions.incidents.signatures import Catalogue
from pitstop.decisions.incidents.story import tell
from pitstop.ledger.records import Configuration, IncidentRecord
from pitstop.services.evidence import blotted

_SMALL_BYTES = 64 * 2**20  # of what is read whole: an inspect, a kernel's or guard's log
_COMPRESSED = {b"\x1f\x8b": "zcat", b"\x28\xb5": "zstdcat", b"BZ": "bzcat", b"\xfd7": "xzcat"}


@dataclass(frozen=True)
class ScanInput:
    """The files to read; each kind may be given several times."""

    logs: Sequence[Path] = ()
    inspects: Sequence[Path] = ()
    kernels: Sequence[Path] = ()
    guard_logs: Sequence[Path] = ()


def scan(given: ScanInput, catalogue: Catalogue) -> Findings:
    """Read everything and conclude; UsageError names a file that cannot be read."""
    states = [parse_state(_whole(path).decode("utf-8", "replace"), str(path)) for path in given.inspects]
    until = _until(states)
    with ExitStack() as stack:
        texts = [stack.enter_context(_opened(path)) for path in given.logs]
        stories = [
            story
            for text in texts
            for story in tell(text.name, read_events(text, catalogue, until or text.until), last_errors(text))
        ]
    seen = Seen(stories, states, _kernel(given.kernels, until), _guards(given.guard_logs, until))
    found = conclude(seen)
    return msgspec.structs.replace(found, incidents=tuple(_without_secrets(one) for one in found.incidents))


def record_of(
    incident: Incident, now: datetime, *, engine: str | None = None, configuration: Configuration | None = None
) -> IncidentRecord:
    """An incident as the ledger keeps it; the same failure scanned again replaces itself."""
    return IncidentRecord(
        id=f"scan-{incident.key}",
        recorded_at=now.astimezone(UTC).isoformat(timespec="seconds"),
        signature=incident.signature,
        summary=incident.summary,
        first_at=incident.first_at,
        last_at=incident.last_at,
        engine=engine,
        configuration=configuration,
        evidence=incident.evidence,
        consequences=incident.consequences,
        advice=incident.advice,
        upstream=incident.upstream,
        detail={**incident.detail, "severity": incident.severity, "explained": incident.explained},
    )


def _without_secrets(one: Incident) -> Incident:
    return msgspec.structs.replace(
        one, summary=blotted(one.summary, None), evidence=tuple(blotted(line, None) for line in one.evidence)
    )


class FileText:
    """A log on disk, read at any place without being held in memory."""

    def __init__(self, name: str, stream: IO[bytes]) -> None:
        self.name, self._descriptor = name, stream.fileno()
        status = os.fstat(self._descriptor)
        self.size = status.st_size
        written = datetime.fromtimestamp(status.st_mtime, UTC)
        self.until: Until = (written.year, written.month)

    def read(self, start: int, end: int) -> bytes:
        start = max(0, start)
        return os.pread(self._descriptor, max(0, min(end, self.size) - start), start)


@contextmanager
def _opened(path: Path) -> Iterator[FileText]:
    try:
        with path.open("rb") as stream:
            text = FileText(str(path), stream)
            _refuse_unreadable(path, text)
            yield text
    except OSError as error:
        raise _unreadable(path, error) from error


def _refuse_unreadable(path: Path, text: FileText) -> None:
    if not path.is_file():
        raise UsageError(f"{path} is no file that can be read at any place.", hint="Write it to a file first.")
    if program := _COMPRESSED.get(text.read(0, 2)):
        raise UsageError(f"{path} is compressed.", hint=f"Unpack it first: {program} {path} > FILE.")


def _whole(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(_SMALL_BYTES)
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> UsageError:
    return UsageError(f"{path} cannot be read: {error.strerror or error}.", hint="Give the path of a file.")


def _until(states: Iterable[EndState]) -> Until | None:
    """The month in which a container ended: the year of its log's lines."""
    for state in states:
        text = state.finished_at or state.started_at
        if text and text[:4].isdigit() and text[5:7].isdigit():
            return int(text[:4]), int(text[5:7])
    return None


def _kernel(paths: Sequence[Path], until: Until | None) -> list[KernelLine]:
    return [line for path in paths for line in read_kernel(_whole(path).splitlines(), until or _written(path))]


def _guards(paths: Sequence[Path], until: Until | None) -> list[GuardLog]:
    return [read_guard_log(_whole(path).splitlines(), until or _written(path)) for path in paths]


def _written(path: Path) -> Until:
    written = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    return written.year, written.month
