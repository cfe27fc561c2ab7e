"""Walks over the events of one body once, and adds up what they say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from pitstop.client.decode import TokenEvent
from pitstop.client.dialect import Said, Usage, error_of, understand
from pitstop.client.exchange import Exchange
from pitstop.client.http import parse_json
from pitstop.client.sse import Event, parse_events
from pitstop.client.usual import understand_usual
from pitstop.core.encoding import sendable

_DONE = b"[DONE]"
_COUNTS = tuple(name for name in Usage.__struct_fields__ if name != "unusable")
_NAMES = {"usage": "continuous", "timings": "timings", "ids": "token_ids"}


class _Line(msgspec.Struct, frozen=True, gc=False):
    """One event with choices: when, how much text of which channel, and the running counts that came with it."""

    t: float
    text_bytes: int
    channel: str
    names_role: bool  # without text that is an announcement, not a token
    usage: int | None
    timings: int | None
    ids: int | None


@dataclass
class Tally:
    """What a stream said in all."""

    answer: str = ""
    reasoning: str = ""
    tools: str = ""
    finish: str | None = None
    finish_textless: bool = False
    finish_t: float | None = None
    done: bool = False
    error: str | None = None
    broken: str | None = None  # the first data that is no JSON, shortened
    not_a_stream: str = ""  # what came instead
    model: str | None = None
    counted_by: str = ""
    lines: list[_Line] = field(default_factory=list)
    usages: list[Usage] = field(default_factory=list)
    oddities: list[str] = field(default_factory=list)

    def anomalies(self) -> list[str]:
        """What was odd about the stream itself."""
        lacking = [] if self.done or not self.lines else ["no-done"]
        if self.done and self.finish is None:
            lacking.append("no-finish-reason")
        counts = [usage.completion_tokens for usage in self.usages if usage.completion_tokens is not None]
        if counts and counts[-1] < max(counts):
            lacking.append(f"usage-fell: from {max(counts)} to {counts[-1]} tokens")
        return [*self.oddities, *lacking]

    def usage(self) -> tuple[Usage, str]:
        """The final counts and where they are from. Usage is cumulative: the largest counts, never the sum."""
        timed = max((line.timings for line in self.lines if line.timings is not None), default=None)
        found = msgspec.structs.replace(Usage(), **{name: _largest(self.usages, name) for name in _COUNTS})
        if found.completion_tokens is not None:
            return found, "usage"
        if timed is not None:
            return msgspec.structs.replace(found, completion_tokens=timed), "timings"
        unusable = next((usage.unusable for usage in self.usages if usage.unusable), "")
        return msgspec.structs.replace(found, unusable=unusable), "none"

    def token_events(self, tokens: int | None) -> tuple[TokenEvent, ...]:
        """The events that carried generated tokens: text of any channel, or a higher count of the server's."""
        self.counted_by, totals = self._counts(tokens)
        found: list[TokenEvent] = []
        before = 0
        for line, total in zip(self.lines, totals, strict=True):
            counted = total is not None and total > before and not line.names_role
            if line.text_bytes or counted:
                found.append(TokenEvent(line.t, line.text_bytes, line.channel, total))
                before = before if total is None else total
        if not found and tokens == 1 and self.finish_t is not None:
            self.oddities.append("token-without-text")  # a special token: it arrived no later than the finish reason
            found.append(TokenEvent(self.finish_t, 0, "none", None))
        return tuple(found)

    def _counts(self, tokens: int | None) -> tuple[str, list[int | None]]:
        """The running count that goes along with the text, if any: at each text, never falling, ending at the total."""
        texts = [line for line in self.lines if line.text_bytes]
        for name in ("usage", "timings", "ids"):
            at_text = [getattr(line, name) for line in texts]
            if len(texts) < 2 or None in at_text or at_text != sorted(at_text) or at_text[0] == at_text[-1]:
                continue
            if tokens is None or abs(tokens - at_text[-1]) <= max(1, 0.01 * tokens):
                return _NAMES[name], [getattr(line, name) for line in self.lines]
        return "", [None] * len(self.lines)


def tally_of(raw: Exchange) -> Tally:
    """Everything that the body of `raw` says; times are in seconds since the request was sent."""
    stream = parse_events(raw.body)
    tally = Tally()
    reader = _Walk(tally)
    start = raw.sent_at or 0.0
    for event in stream.events:
        reader.take(event, raw.arrival(event.end) - start)
    if stream.tail is not None and (raw.complete or stream.tail.data.strip() == _DONE):
        tally.oddities.append("unterminated-last-event")
        reader.take(stream.tail, raw.arrival(stream.tail.end) - start)
    reader.close()
    if raw.status == 200 and not (tally.lines or tally.usages or tally.done or tally.error or tally.broken):
        tally.not_a_stream, tally.error = _instead(raw)
    if raw.fault is not None and tally.done:
        tally.oddities.append(f"{raw.fault}-after-done")
    return tally


class _Walk:
    """Takes events in order; texts are joined once, at the end."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._answer: list[str] = []
        self._reasoning: list[str] = []
        self._tools: list[str] = []
        self._ids: int | None = None

    def take(self, event: Event, t: float) -> None:
        data = event.data.strip()
        if data == _DONE:
            self._tally.done = True
            return
        if not data or data.startswith(b":"):
            self._tally.oddities.append("keep-alive-as-data")
            return
        said = understand_usual(data)
        if said is not None and event.type != "error":
            self._add(said, t)
            return
        parsed = self._parse(data)
        if parsed is None:
            return
        message = error_of(parsed, event.type)
        if message is not None:
            self._tally.error = self._tally.error or message
        else:
            self._add(understand(parsed), t)

    def close(self) -> None:
        tally = self._tally
        tally.answer, tally.reasoning, tally.tools = (
            sendable("".join(parts)) for parts in (self._answer, self._reasoning, self._tools)
        )

    def _parse(self, data: bytes) -> dict[str, Any] | None:
        try:
            parsed = parse_json(data)
        except ValueError:
            parsed = None
        if isinstance(parsed, dict):
            return parsed
        if self._tally.done:
            self._tally.oddities.append("data-after-done")
        else:
            self._tally.broken = self._tally.broken or data[:80].decode("utf-8", "replace")
        return None

    def _add(self, said: Said, t: float) -> None:
        tally = self._tally
        tally.model = tally.model or said.model
        if said.usage is not None:
            tally.usages.append(said.usage)
        if tally.done and said.has_choices:
            tally.oddities.append("data-after-done")
            return
        if said.new_ids is not None:
            self._ids = (self._ids or 0) + said.new_ids
        if said.finish is not None:
            tally.finish, tally.finish_textless, tally.finish_t = said.finish, not said.has_text, t
        if said.has_choices:
            self._answer.append(said.answer)
            self._reasoning.append(said.reasoning)
            self._tools.append(said.tools)
            tally.lines.append(_line(said, t, self._ids))


def _line(said: Said, t: float, ids: int | None) -> _Line:
    channel = "answer" if said.answer else "reasoning" if said.reasoning else "tool" if said.tools else "none"
    size = sum(_size(text) for text in (said.answer, said.reasoning, said.tools) if text)
    counted = said.usage.completion_tokens if said.usage is not None else None
    return _Line(t, size, channel, said.names_role, counted, said.timed_tokens, ids)


def _largest(usages: list[Usage], name: str) -> int | None:
    return max((count for usage in usages if (count := getattr(usage, name)) is not None), default=None)


def _instead(raw: Exchange) -> tuple[str, str | None]:
    """What a body without a single event is, and the error that it reports, if it does."""
    if not raw.body.strip():
        return "nothing", None
    try:
        parsed = parse_json(raw.body)
    except ValueError:
        return f"{(raw.header('content-type') or 'text')[:60]} ({raw.body[:60]!r})", None
    message = error_of(parsed) if isinstance(parsed, dict) else None
    return "JSON", message


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
