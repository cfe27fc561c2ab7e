"""What the evidence of a restart says: the root of a failure that the watchdog only saw from outside."""

from __future__ import annotations

from pathlib import Path

import msgspec

from pitstop.core.errors import PitstopError
from pitstop.decisions.incidents.incident import Incident
from pitstop.decisions.incidents.signatures import Catalogue
from pitstop.ledger.records import IncidentRecord
from pitstop.services.incidents.scan import ScanInput, scan

_PARTS = {"logs": "log.txt", "inspects": "inspect.json", "kernels": "kernel.log"}


def rooted(record: IncidentRecord, catalogue: Catalogue) -> IncidentRecord:
    """The record under the signature that its evidence folder tells, as far as it tells one; never raises."""
    folder = Path(record.evidence[0]) if record.evidence else None
    if folder is None or not folder.is_dir():
        return record
    try:
        found = _last(folder, catalogue)
    except (PitstopError, OSError):
        return record
    if found is None:
        return record
    return msgspec.structs.replace(
        record,
        signature=found.signature,
        summary=f"{record.summary}; {found.summary}",
        evidence=(*record.evidence, *found.evidence),
        consequences=(*record.consequences, *found.consequences),
        advice=found.advice,
        upstream=found.upstream,
        detail={**record.detail, **found.detail, "seen_as": record.signature, "explained": found.explained},
    )


def _last(folder: Path, catalogue: Catalogue) -> Incident | None:
    """The latest failure that the folder's log, container and kernel tell of."""
    given: dict[str, list[Path]] = {}
    for kind, name in _PARTS.items():
        path = folder / name
        # A part that could not be had holds the reason in its place: no JSON then.
        if path.is_file() and (kind != "inspects" or path.read_bytes()[:1] in (b"{", b"[")):
            given[kind] = [path]
    found = scan(ScanInput(**given), catalogue).incidents
    return found[-1] if found else None
