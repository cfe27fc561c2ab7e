"""What the gateway says in its own name, in the shape that the client's library understands."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from pitstop.gateway.apis import Api


@dataclass(eq=False)
class Refusal(Exception):
    """A request that ends here, with a status and a sentence."""

    status: int
    message: str
    kind: str  # OpenAI's error type; Anthropic's follows from the status
    code: str
    retry_after_s: float | None = None


_ANTHROPIC = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
}


def body(api: Api | None, refusal: Refusal) -> bytes:
    """The JSON of an error reply."""
    if api is Api.MESSAGES:
        kind = _ANTHROPIC.get(refusal.status, "api_error")
        return msgspec.json.encode({"type": "error", "error": {"type": kind, "message": refusal.message}})
    error = {"message": refusal.message, "type": refusal.kind, "param": None, "code": refusal.code}
    return msgspec.json.encode({"error": error})


def event(api: Api, refusal: Refusal) -> bytes:
    """The same as the last event of a stream that has begun: a client must not take a torn answer for a whole one."""
    if api is Api.RESPONSES:
        told = {"type": "error", "code": refusal.code, "message": refusal.message, "param": None}
        return b"event: error\ndata: " + msgspec.json.encode(told) + b"\n\n"
    name = b"event: error\n" if api is Api.MESSAGES else b""
    return name + b"data: " + body(api, refusal) + b"\n\n"


def unauthorized() -> Refusal:
    """One answer for every kind of bad key, so that nobody learns which kind it was."""
    return Refusal(401, "Invalid API key.", "authentication_error", "invalid_api_key")


def unknown_model(model: str) -> Refusal:
    """Also for a route that the key may not use: a key cannot find out what else there is."""
    shown = model if len(model) <= 80 else model[:80] + "…"
    return Refusal(404, f"The model `{shown}` does not exist.", "invalid_request_error", "model_not_found")


def too_many(message: str, retry_after_s: float) -> Refusal:
    return Refusal(429, message, "rate_limit_error", "rate_limit_exceeded", retry_after_s)


def bad_request(message: str) -> Refusal:
    return Refusal(400, message, "invalid_request_error", "invalid_request")


def held(retry_after_s: float) -> Refusal:
    message = "The model is being exchanged or restarted; try again later."
    return Refusal(503, message, "service_unavailable", "model_held", retry_after_s)


def engine_failed(status: int, what: str) -> Refusal:
    return Refusal(status, f"The model's engine {what}.", "server_error", "engine_failed")
