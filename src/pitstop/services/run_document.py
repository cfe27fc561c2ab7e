"""The run document as it is opened: which engine, what was asked for; or one that was interrupted and goes on."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from pitstop.core.documents import RunDocument
from pitstop.core.errors import UsageError
from pitstop.decisions.resume import differences, measured_rulers
from pitstop.engines.adapter import Capabilities
from pitstop.rulers.prompts import prompts_hash
from pitstop.rulers.quality.task_set import own_set
from pitstop.rulers.text import load_text
from pitstop.services.assignment import Assignment
from pitstop.services.site import Site


async def opened(
    site: Site, assignment: Assignment, capabilities: Capabilities, now: datetime, interrupted: RunDocument | None
) -> RunDocument:
    """A new document, or the interrupted one; UsageError when engine or settings are not what that one was about."""
    started_at = now.isoformat(timespec="milliseconds")
    fresh = RunDocument(
        id=assignment.run_id,
        started_at=started_at,
        engine=await site.identity(),
        settings=_settings(assignment),
        host={"capabilities": msgspec.to_builtins(capabilities)},
    )
    return fresh if interrupted is None else _continued(interrupted, fresh)


def missing_rulers(document: RunDocument, wanted: Sequence[str]) -> list[str]:
    """Those of the wanted rulers that have no figures yet."""
    done = measured_rulers(document)
    return [name for name in dict.fromkeys(wanted) if name not in done]


def _continued(interrupted: RunDocument, fresh: RunDocument) -> RunDocument:
    found = differences(interrupted, fresh.engine, fresh.settings, fresh.tool)
    if found:
        raise UsageError(
            f"run {interrupted.id} cannot go on, for it would be another run: {'; '.join(found)}.",
            hint="Ask for the same again, or start a new run without --resume.",
        )
    rulers = dict.fromkeys([*interrupted.settings.get("rulers", []), *fresh.settings["rulers"]])
    resumed_at = [*interrupted.settings.get("resumed_at", []), fresh.started_at]
    told = {**fresh.settings, **interrupted.settings}
    interrupted.settings = {**told, "rulers": list(rulers), "resumed_at": resumed_at}
    return interrupted


def _settings(assignment: Assignment) -> dict[str, Any]:
    """What was asked for, and what it was asked with: other prompts, text or tasks would be another run."""
    settings = assignment.settings
    told = msgspec.to_builtins(settings, enc_hook=str)
    text = {"text_sha256": load_text(settings.text).sha256[:16]} if settings.text else {}
    own = "quality" in assignment.rulers and settings.quality.tasks
    tasks = {"quality_tasks": own_set(settings.quality).name} if own else {}
    asked = {"rulers": list(assignment.rulers), "via_gateway": assignment.via_gateway}
    return {**asked, **told, "prompts_hash": prompts_hash(), **text, **tasks, **assignment.extra}
