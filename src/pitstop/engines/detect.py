"""Which engine kind answers at an address, by what it says of its models."""

from __future__ import annotations

from typing import Any

from pitstop.client.endpoint import Endpoint
from pitstop.client.http import Answer, get_json
from pitstop.engines.registry import KINDS

UNKNOWN = "openai"  # what every server speaks that says nothing of itself


async def kind_at(endpoint: Endpoint, *, deadline_s: float = 5.0) -> str:
    """The kind that the server's model list names as owner; `openai` when it names none, or does not answer."""
    answer = await get_json(endpoint, "/models", deadline_s=deadline_s)
    return kind_of(answer.value) if isinstance(answer, Answer) else UNKNOWN


def kind_of(listing: Any) -> str:
    """The first known kind among the owners of a model list."""
    data = listing.get("data") if isinstance(listing, dict) else None
    owners = [str(entry.get("owned_by", "")).lower() for entry in data or [] if isinstance(entry, dict)]
    known = [owner.replace("llama.cpp", "llamacpp") for owner in owners]
    return next((owner for owner in known if owner in KINDS), UNKNOWN)
