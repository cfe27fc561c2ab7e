"""Why a request came to nothing, in one vocabulary, read from whatever words a server chose."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from pitstop.client.dialect import error_of
from pitstop.client.exchange import Exchange, Fault
from pitstop.client.http import parse_json
from pitstop.client.overlong import context_numbers, inner_error, is_overlong


class Failure(StrEnum):
    """What kind of failure a request is. `FINAL` ones will fail again until a person changes something."""

    UNREACHABLE = "unreachable"
    TIMEOUT = "timeout"
    BROKEN = "broken"  # reset, truncated, no HTTP
    KEY = "key"  # 401, 403
    MODEL = "unknown-model"
    CONTEXT = "context-too-long"
    FIELDS = "fields-refused"  # stream_options or what is asked for with it
    REJECTED = "rejected"  # any other 4xx
    REDIRECT = "redirect"
    BUSY = "busy"  # 429, 503
    SERVER = "server-error"  # any other 5xx
    NOT_A_STREAM = "not-a-stream"  # JSON, HTML or nothing instead of events
    NOT_JSON = "not-json"  # an event that is no JSON
    STREAM_ERROR = "error-in-stream"
    ENDED_EARLY = "ended-early"  # neither a finish reason nor [DONE]


_ERROR_BYTES = 65536  # longer error bodies are pages, not objects

FINAL = frozenset({Failure.KEY, Failure.MODEL, Failure.CONTEXT, Failure.REJECTED, Failure.REDIRECT, Failure.FIELDS})
ASKED_FIELDS = ("stream_options", "include_usage", "continuous_usage_stats", "timings_per_token")


@dataclass(frozen=True)
class Refusal:
    """`text` is a sentence for a person; `said` what the server said, shortened."""

    failure: Failure
    text: str
    said: str = ""
    requested_tok: int | None = None
    limit_tok: int | None = None


def refusal_of(raw: Exchange, model: str) -> Refusal | None:
    """Why this exchange holds no whole reply, or None when it has status 200 and is whole."""
    if raw.fault is not None:
        return Refusal(_FAULTS.get(raw.fault, Failure.BROKEN), raw.reason)
    status = raw.status or 0
    if status == 200:
        return None
    error = _error_object(raw.body)
    said = error_of(error) or raw.body[:200].decode("utf-8", "replace").strip()
    if 300 <= status < 400:
        where = (raw.header("location") or "")[:200]
        return Refusal(Failure.REDIRECT, f"{raw.url} redirects to {where!r}; write that into base_url if it is right")
    return _by_status(status, error, said, model, raw.url)


def refusal_in_stream(message: str) -> Refusal:
    """An error that a server reported inside a reply of status 200."""
    failure = Failure.FIELDS if _names_asked_field(message) else Failure.STREAM_ERROR
    return Refusal(failure, f"the server reported an error in a reply of status 200: {message}", message)


def without_secret(refusal: Refusal | None, secret: str | None) -> Refusal | None:
    """The same refusal with a key that the server repeated blotted out."""
    if refusal is None or not secret:
        return refusal
    return replace(refusal, text=refusal.text.replace(secret, "***"), said=refusal.said.replace(secret, "***"))


def _by_status(status: int, error: dict[str, Any], said: str, model: str, url: str) -> Refusal:
    words = f" ({said})" if said else ""
    if status in {401, 403}:
        return Refusal(Failure.KEY, f"{url} refuses the API key, or wants one ({status})")  # what it says may repeat it
    if status in {429, 503}:
        return Refusal(Failure.BUSY, f"the server is too busy or not ready ({status}){words}", said)
    if is_overlong(error, said):
        requested, limit = context_numbers(error, said)
        return Refusal(Failure.CONTEXT, _context_words(requested, limit, said), said, requested, limit)
    if _is_model(status, error, said, model):
        return Refusal(Failure.MODEL, f"the server has no model {model!r}{words}", said)
    return _unnamed(status, error, said, words, url)


def _unnamed(status: int, error: dict[str, Any], said: str, words: str, url: str) -> Refusal:
    if _names_asked_field(str(error) + said):
        return Refusal(Failure.FIELDS, f"the server refuses stream options ({status}){words}", said)
    if status >= 500:
        return Refusal(Failure.SERVER, f"the server failed with {status}{words}", said)
    if status in {404, 405} and not error:
        return Refusal(Failure.REJECTED, f"{url} answered {status}; base_url usually ends in /v1{words}", said)
    return Refusal(Failure.REJECTED, f"the server rejects the request with {status}{words}", said)


def _error_object(body: bytes) -> dict[str, Any]:
    """The body when it is a JSON object, wrapped so that `error_of` finds its message; else empty."""
    try:
        parsed = parse_json(body[:_ERROR_BYTES])
    except ValueError:
        return {}
    if isinstance(parsed, list) and parsed:  # Gemini wraps its error in a list
        parsed = parsed[0]
    if not isinstance(parsed, dict):
        return {}
    return parsed if error_of(parsed) else {**parsed, "object": "error"}


def _names_asked_field(text: str) -> bool:
    return any(name in text for name in ASKED_FIELDS)


_NO_MODEL = re.compile(
    r"model\b.{0,200}?(not exist|not found|unknown|invalid|no such|not loaded|not available|not supported)"
    r"|(unknown|invalid|no such|unsupported)\s+model|model_not_found",
    re.IGNORECASE | re.DOTALL,
)


def _is_model(status: int, error: dict[str, Any], said: str, model: str) -> bool:
    inner = inner_error(error)
    if inner.get("code") == "model_not_found" or inner.get("param") == "model":
        return True
    return bool(_NO_MODEL.search(said)) and (status == 404 or model in said or "model name" in said.lower())


def _context_words(requested: int | None, limit: int | None, said: str) -> str:
    if requested is not None and limit is not None:
        return f"the request needs {requested} tokens and the context holds {limit}: {said}"
    return f"the request does not fit into the context: {said}"


_FAULTS = {
    Fault.NAME: Failure.UNREACHABLE,
    Fault.CONNECT: Failure.UNREACHABLE,
    Fault.CONNECT_TIMEOUT: Failure.UNREACHABLE,
    Fault.TLS: Failure.UNREACHABLE,
    Fault.DEADLINE: Failure.TIMEOUT,
}
