"""Watching a stream go by: usage, the first token, errors and the end, and hiding the usage that only we asked for.

The hot path looks at bytes and decodes an event only where one of the words that matter stands in it.
"""

from __future__ import annotations

from typing import Any

from pitstop.gateway.apis import TRAITS, Api
from pitstop.gateway.members import decode, read
from pitstop.gateway.sse import FrameTooLong, Splitter, data_of
from pitstop.gateway.usage import UNKNOWN, Usage, from_reply

DONE = b"[DONE]"
# Events that end an answer of the APIs without a [DONE].
_ENDS = (b'"response.completed"', b'"response.incomplete"', b'"response.failed"', b'"message_stop"')
# Fields of a delta that carry generated text; a role, an empty string or a null is no token.
_TEXT = ("content", "reasoning", "reasoning_content", "reasoning_details", "tool_calls", "function_call", "refusal")
_TOKEN_EVENTS = ("response.output_text.delta", "response.reasoning_text.delta", "response.reasoning_summary_text.delta",
                 "response.function_call_arguments.delta", "content_block_delta")  # fmt: skip


class StreamWatch:
    """One stream. `feed` returns what goes to the client; the rest are findings."""

    def __init__(self, api: Api, *, hide_usage: bool) -> None:
        self._api = api
        self._hide_usage = hide_usage
        self._splitter = Splitter()
        self._blind = False  # an endless event: passed on unwatched
        self._last: bytes | None = None
        self.usage: Usage = UNKNOWN
        self.started = False  # the first event with data has come
        self.error_first = False  # and it was an error
        self.error_seen = False
        self.has_token = False
        self._usage_seen = False

    def feed(self, chunk: bytes) -> bytes:
        """Take what the engine sent; return what the client gets of it now."""
        if self._blind:
            return chunk
        try:
            frames = self._splitter.feed(chunk)
        except FrameTooLong as error:
            self._blind = self.started = True
            return error.pending
        if len(frames) == 1:
            return self._seen(frames[0])
        return b"".join([self._seen(frame) for frame in frames])

    def rest(self) -> bytes:
        """A last event without its blank line, at the end of a stream that ended well."""
        rest, self._splitter = self._splitter.rest(), Splitter()
        return self._seen(rest) if rest else b""

    def said_all(self) -> bool:
        """Whether the very last event has come: a client that leaves now has everything."""
        last = self._last
        if last is None:
            return False
        return last == DONE or (not TRAITS[self._api].done_marker and any(end in last for end in _ENDS))

    def ended_properly(self) -> bool:
        """Whether the last event was one that ends an answer of this API."""
        last = self._last
        if last is None:
            return False
        if last == DONE or self._blind:
            return True
        if not TRAITS[self._api].done_marker:
            return any(end in last for end in _ENDS)
        return self._usage_seen or _finish_reason(_decoded(last))

    def _seen(self, frame: bytes) -> bytes:
        data = data_of(frame)
        if data is None:
            return frame
        self._last = data
        if not self.started or b'"error"' in data:
            self._look_for_error(data)
        if not self.has_token and data != DONE:
            self.has_token = _carries_token(_decoded(data))
        # Content that talks about usage has its quotes escaped, and `"usage":null` says nothing.
        if b'"usage"' in data and b'"usage":null' not in data.replace(b" ", b""):
            return self._usage(frame, data)
        return b"" if self._is_leftover(data) else frame

    def _look_for_error(self, data: bytes) -> None:
        found = _is_error(_decoded(data))
        self.error_first = self.error_first or (found and not self.started)
        self.error_seen = self.error_seen or found
        self.started = True

    def _usage(self, frame: bytes, data: bytes) -> bytes:
        event = _decoded(data)
        self.usage = self.usage.later(from_reply(event))
        if not isinstance(event, dict) or event.get("usage") is None:
            return frame
        self._usage_seen = True
        if not self._hide_usage:
            return frame
        return b"" if _adds_nothing(event) else _without_usage(frame, data)

    def _is_leftover(self, data: bytes) -> bool:
        """An event without choices after the usage that we asked for: clients that read `choices[0]` would stumble."""
        if not (self._hide_usage and self._usage_seen) or data == DONE:
            return False
        event = _decoded(data)
        return isinstance(event, dict) and event.get("choices") == []


def _decoded(data: bytes) -> Any:
    try:
        return decode(data)
    except ValueError:
        return None


def _is_error(event: Any) -> bool:
    """`{"error": …}` of OpenAI's APIs and vLLM's, `{"object": "error"}` of older ones, Anthropic's typed event."""
    if not isinstance(event, dict):
        return False
    return bool(event.get("error")) or "error" in (event.get("object"), event.get("type"))


def _choices(event: Any) -> list[dict[str, Any]]:
    choices = event.get("choices") if isinstance(event, dict) else None
    return [choice for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []


def _carries_token(event: Any) -> bool:
    for choice in _choices(event):
        delta = choice.get("delta")
        if choice.get("text") or (isinstance(delta, dict) and any(delta.get(field) for field in _TEXT)):
            return True
    return isinstance(event, dict) and event.get("type") in _TOKEN_EVENTS


def _finish_reason(event: Any) -> bool:
    return any(choice.get("finish_reason") for choice in _choices(event))


def _adds_nothing(event: dict[str, Any]) -> bool:
    """Whether an event is there for its usage alone: no choices, or choices that say nothing."""
    if event.get("choices") == []:
        return True
    choices = _choices(event)
    return bool(choices) and not any(
        choice.get("finish_reason") or choice.get("text") or any((choice.get("delta") or {}).values())
        for choice in choices
    )


def _without_usage(frame: bytes, data: bytes) -> bytes:
    """The event again, its usage left out and everything else as it came."""
    kept = read(data).edited({}, {"usage"})
    return frame.replace(data, kept, 1) if data in frame else b"data: " + kept.replace(b"\n", b" ") + b"\n\n"
