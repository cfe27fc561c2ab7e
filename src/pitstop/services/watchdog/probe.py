"""Asks for one generated token, and judges whatever comes back. Only a token is life: headers and comments are not."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import msgspec

from pitstop.client.account import account_of
from pitstop.client.dialect import error_of, read_usage, understand
from pitstop.client.endpoint import Endpoint
from pitstop.client.exchange import Exchange, Fault
from pitstop.client.http import parse_json
from pitstop.client.refusal import refusal_of
from pitstop.client.transport import exchange
from pitstop.decisions.watchdog import Probe

_MAX_BODY_BYTES = 2**20
_TIMED_OUT = 408
_TOO_MANY = 429
_FAULTS = {
    Fault.NAME: Probe.UNREACHABLE,
    Fault.TLS: Probe.UNREACHABLE,
    Fault.CONNECT: Probe.NO_LISTENER,
    Fault.CONNECT_TIMEOUT: Probe.SILENT,
    Fault.DEADLINE: Probe.SILENT,
}


async def ask(
    endpoint: Endpoint, deadline_s: float, spent: Callable[[int], None] = lambda _tokens: None
) -> tuple[Probe, str]:
    """One probe; `deadline_s` bounds all of it. Returns what came back and a sentence without secrets.

    `spent` is told the tokens that the server counted for it, prompt included, where it says them.
    """
    # Never twice the same, so that no cache in front can answer for the engine.
    question = f"{secrets.token_hex(4)} Say hello."
    payload = {
        "model": endpoint.model,
        "messages": [{"role": "user", "content": question}],
        "max_tokens": 1,
        "temperature": 0,
        "stream": False,
    }
    raw = await exchange(
        endpoint,
        "/chat/completions",
        msgspec.json.encode(payload),
        deadline_s=deadline_s,
        max_body_bytes=_MAX_BODY_BYTES,
    )
    probe, detail = judge(raw, endpoint.model)
    spent(_tokens_in(raw))
    return probe, detail.replace(endpoint.api_key, "***") if endpoint.api_key else detail


def judge(raw: Exchange, model: str) -> tuple[Probe, str]:
    """What an exchange says about the engine. Pure."""
    if raw.fault is not None:
        return _FAULTS.get(raw.fault, Probe.ERROR), raw.reason
    status = raw.status or 0
    if status == 200:
        return _whole(raw, model)
    refusal = refusal_of(raw, model)
    said = f"HTTP {status}: {refusal.text if refusal else ''}"[:400]
    if status == _TOO_MANY:
        return Probe.THROTTLED, said
    if status == _TIMED_OUT:
        return Probe.SILENT, said
    # 501 is "this server has no such thing": the question is at fault, as with every 3xx and 4xx.
    cannot = 300 <= status < 500 or status == 501
    return (Probe.CANNOT_ASK if cannot else Probe.ERROR), said


def _whole(raw: Exchange, model: str) -> tuple[Probe, str]:
    try:
        body = parse_json(raw.body)
    except ValueError:
        return _not_json(raw, model)
    if not isinstance(body, dict):
        return Probe.ERROR, "a reply that is no chat completion"
    if error := error_of(body):
        return Probe.ERROR, f"an error inside a 200: {error}"
    return _tokens(body)


def _tokens_in(raw: Exchange) -> int:
    try:
        body = parse_json(raw.body)
    except ValueError:
        return 0
    usage = read_usage(body.get("usage"), body.get("timings")) if isinstance(body, dict) else None
    return (usage.prompt_tokens or 0) + (usage.completion_tokens or 0) if usage else 0


def _tokens(body: dict[str, Any]) -> tuple[Probe, str]:
    said, usage = understand(body), read_usage(body.get("usage"), body.get("timings"))
    count = usage.completion_tokens if usage else None
    if said.has_text or (count or 0) >= 1 or (said.new_ids or 0) >= 1:
        return Probe.TOKEN, ""
    return Probe.EMPTY, "a whole reply without a single token"


def _not_json(raw: Exchange, model: str) -> tuple[Probe, str]:
    """A server that streams although it was asked not to, a login page, or nonsense."""
    if raw.body.lstrip()[:1] == b"<":
        return Probe.CANNOT_ASK, "an HTML page instead of a reply; is base_url right?"
    account = account_of(raw, model=model)
    if account.events or (account.usage.completion_tokens or 0) >= 1:
        return Probe.TOKEN, ""
    if account.refusal is not None:
        return Probe.ERROR, account.refusal.text
    return Probe.EMPTY, "a stream without a single token"
