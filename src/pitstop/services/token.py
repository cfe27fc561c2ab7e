"""The only proof of life that counts: one token really generated."""

from __future__ import annotations

import secrets

from pitstop.client.chat import ChatClient
from pitstop.client.endpoint import ChatRequest
from pitstop.core.errors import EngineFailed
from pitstop.services.site import Site


async def generate_token(site: Site, *, deadline_s: float = 60.0) -> str:
    """Ask for a few tokens and return them; EngineFailed when none comes, RequestRefused when the server says no."""
    question = f"{secrets.token_hex(4)}: say hello."  # never twice the same, so that no cache can answer
    request = ChatRequest(({"role": "user", "content": question},), max_tokens=4)
    reply = await ChatClient(site.endpoint, deadline_s=deadline_s).stream(request)
    record = reply.record
    if not record.ok or not (record.completion_tokens or record.events):
        raise EngineFailed(
            f"engine {site.name} did not generate a token: {record.error or 'an empty reply'}.",
            hint=f"Its log says more: pitstop logs {site.name}.",
        )
    return reply.answer or reply.reasoning or f"<{record.completion_tokens} token(s) without text>"
