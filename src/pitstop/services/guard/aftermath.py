"""What is done about a kill once memory is there again: the kernel's lines, an incident, a notification."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from pitstop.core.config.host import Host
from pitstop.core.durable import write_durably
from pitstop.core.errors import PitstopError
from pitstop.core.home import Home
from pitstop.core.units import format_size
from pitstop.ledger.records import IncidentRecord
from pitstop.ledger.store import Ledger
from pitstop.services.evidence import kernel_lines
from pitstop.services.guard.order import GuardReport
from pitstop.services.notify import notify

SIGNATURE = "guard-kill"
_ADVICE = "Give the engine less memory (see `pitstop plan`), or free what else the box holds; then start it again."


async def tell(evidence: Path, home: Home, host: Host, environ: Mapping[str, str]) -> list[str]:
    """File and notify what the report in `evidence` says; returns what did not work."""
    report = GuardReport.from_json(evidence.read_text("utf-8"))  # noqa: ASYNC240 - nothing else runs in this process
    kernel = await kernel_lines()
    problems = [_keep_kernel(evidence.parent, kernel), _file(report, evidence, home, host, environ)]
    back = "Memory is back" if report.memory_back else "MEMORY IS NOT BACK, please look"
    available = (
        "" if report.available_after_bytes is None else f": {format_size(report.available_after_bytes)} available"
    )
    body = f"{report.reason}. {back}{available}. Evidence: {evidence}"
    problems.append(await notify(host.notify, environ, f"pitstop guard killed {report.engine}", body))
    return [problem for problem in problems if problem]


def incident_of(report: GuardReport, evidence: Path) -> IncidentRecord:
    """A kill as the ledger keeps it; the same kill has the same id, however often it is filed."""
    key = hashlib.sha256(f"{report.engine}|{report.started_at}|{report.reason}".encode()).hexdigest()[:12]
    still = [f"still there: {one['name']} ({one['pid']})" for one in report.still_there]
    return IncidentRecord(
        id=f"guard-{key}",
        recorded_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        signature=SIGNATURE,
        summary=f"the memory guard killed {report.engine}: {report.reason}",
        first_at=report.finished_at or report.lowest_at or report.started_at,
        engine=report.engine,
        evidence=(str(evidence), *still),
        consequences=() if report.memory_back else ("memory did not come back",),
        advice=_ADVICE,
        detail={
            "cause": report.cause,
            "lowest_available_bytes": report.lowest_available_bytes,
            "available_after_bytes": report.available_after_bytes,
            "killed": report.killed,
        },
    )


def _keep_kernel(folder: Path, lines: list[str]) -> str:
    if not lines:
        return "the kernel's lines are not readable for this user"
    try:
        write_durably(folder / "kernel.log", ("\n".join(lines) + "\n").encode())
    except OSError as error:
        return f"the kernel's lines could not be kept: {error.strerror}"
    return ""


def _file(report: GuardReport, evidence: Path, home: Home, host: Host, environ: Mapping[str, str]) -> str:
    try:
        with Ledger.open(environ.get(host.ledger_url_env) or home.ledger) as ledger:
            ledger.add_incident(incident_of(report, evidence))
    except (PitstopError, OSError) as error:
        return f"the incident could not be filed: {error}"
    return ""
