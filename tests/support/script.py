"""What the paced endpoint will say to one request, frame by frame: a pure function of request and pace.

Because the whole reply is laid out before the first byte is sent, its truth is known exactly: how many tokens, in which
events, due when.
"""

from __future__ import annotations

import itertools
import json
import random
from dataclasses import dataclass, field, fields, replace
from typing import Any

WORDS = (" the", " engine", " a", " memory", " of", " server", ",", " is", " bandwidth", " x", " ü", " first", "s", ".")


@dataclass(frozen=True)
class Pace:
    """How the endpoint behaves. A request may override any of it with an object named `paced`."""

    rate_tok_s: float = 100.0
    tokens_per_event: tuple[int, int] = (1, 1)  # drawn evenly from this range, by seed
    ttft_s: float = 0.05
    prefill_tok_s: float | None = None  # adds prompt tokens over this rate to the time to the first token
    tokens: int | None = None  # how many at most; None: as many as max_tokens
    reasoning: int = 0  # how many of them are thought first
    reasoning_field: str = "reasoning_content"
    role_frame: bool = True
    usage_shape: str = "a"  # where usage sits, field case S3: a-f
    options: str = "all"  # stream_options: all | no-continuous | refuse
    timings: bool = False  # llama.cpp's timings_per_token, when asked for
    flush: bool = False  # hold everything back until the last token is made
    lump_s: float = 0.0  # or hand it out only every so often
    pieces: bool = False  # one HTTP chunk per token within an event's moment, as a speculating llama.cpp does
    hidden_stop: bool = False  # a last token that is counted and has no text
    finish: str = "length"
    finish_with_text: bool = False
    keep_alive_s: float | None = None  # a comment this often until the first token
    cached: int | None = None  # cached prompt tokens to report; None: not reported
    error_after: int | None = None  # an error event in the 200 stream after so many tokens
    end_after: int | None = None  # the stream just ends after so many tokens
    cut_after: int | None = None  # the connection breaks after so many tokens
    status: int = 200  # any other: that error
    seed: int = 1


def overridden(pace: Pace, request: dict[str, Any]) -> Pace:
    known = {item.name for item in fields(Pace)}
    wanted = {name: value for name, value in (request.get("paced") or {}).items() if name in known}
    if isinstance(wanted.get("tokens_per_event"), list):
        wanted["tokens_per_event"] = tuple(wanted["tokens_per_event"])
    return replace(pace, **wanted)


@dataclass(frozen=True)
class Frame:
    """Bytes that are due at a time after the request was read; `tokens` of them are generated ones."""

    due_s: float
    data: bytes
    tokens: int = 0


@dataclass(frozen=True)
class Script:
    frames: list[Frame]
    prompt_tokens: int
    tokens: int
    whole: bool = True  # False: the connection breaks instead of ending
    events: list[tuple[float, int]] = field(default_factory=list)  # (due, tokens) as the engine made them

    @property
    def truth(self) -> dict[str, float | int | None]:
        """Decode by the definition: tokens after the first event over the time from it to the last."""
        made = [event for event in self.events if event[1]]
        span_s = made[-1][0] - made[0][0] if made else 0.0
        after = sum(count for _, count in made[1:])
        return {
            "tokens": self.tokens,
            "events": len(made),
            "first_event_tokens": made[0][1] if made else None,
            "ttft_s": made[0][0] if made else None,
            "decode_tok_s": after / span_s if span_s > 0 else None,
        }


def prompt_tokens_of(request: dict[str, Any]) -> int:
    """Four bytes a token and eight for the template: no tokenizer, but always the same count."""
    text = "".join(str(message.get("content") or "") for message in request.get("messages") or [])
    return 8 + -(-len(text.encode()) // 4)


def script_of(request: dict[str, Any], pace: Pace, model: str) -> Script:
    """Lay out the streamed reply to `request`."""
    prompt = prompt_tokens_of(request)
    total = min(pace.tokens or 10**9, request.get("max_tokens") or request.get("max_completion_tokens") or 16)
    start_s = pace.ttft_s + (prompt / pace.prefill_tok_s if pace.prefill_tok_s else 0.0)
    writer = _Writer(request, pace, model, prompt)
    sizes = _sizes(pace, total)
    dues = [start_s + (made - sizes[0]) / pace.rate_tok_s for made in itertools.accumulate(sizes)]
    events = list(zip(dues, sizes, strict=True))
    frames = [*writer.opening(start_s), *writer.body(events)]
    frames = [replace(frame, due_s=_held(frame.due_s, pace, dues[-1])) for frame in frames]
    return Script(frames, prompt, total, pace.cut_after is None, events)


def _sizes(pace: Pace, total: int) -> list[int]:
    draw = random.Random(pace.seed)
    sizes: list[int] = []
    while (left := total - sum(sizes)) > 0:
        sizes.append(min(left, draw.randint(*pace.tokens_per_event)))
    return sizes or [0]


def _held(due_s: float, pace: Pace, last_s: float) -> float:
    if pace.flush:
        return max(due_s, last_s)
    if pace.lump_s:
        return -(-due_s // pace.lump_s) * pace.lump_s
    return due_s


class _Writer:
    """Turns token counts into server-sent events of the asked dialect."""

    def __init__(self, request: dict[str, Any], pace: Pace, model: str, prompt: int) -> None:
        options = request.get("stream_options") or {}
        self.pace, self.model, self.prompt = pace, model, prompt
        self.usage = bool(options.get("include_usage")) and pace.usage_shape != "f"
        self.continuous = self.usage and bool(options.get("continuous_usage_stats")) and pace.options == "all"
        self.timings = pace.timings and bool(request.get("timings_per_token"))
        self.made = 0

    def opening(self, start_s: float) -> list[Frame]:
        frames = [self._event(0.0, [{"index": 0, "delta": {"role": "assistant", "content": ""}}])]
        if not self.pace.role_frame:
            frames = []
        beat = self.pace.keep_alive_s
        times = itertools.takewhile(lambda t: t < start_s, itertools.count(beat, beat)) if beat else ()
        return frames + [Frame(t, chunk(b": keep-alive\n\n")) for t in times]

    def body(self, events: list[tuple[float, int]]) -> list[Frame]:
        frames: list[Frame] = []
        for index, (due_s, size) in enumerate(events):
            stop = self._stop()
            if stop is not None and self.made >= stop:
                return frames + self._broken(due_s)
            last = index == len(events) - 1
            frames += self._tokens(due_s, size, last=last)
        return frames + self._closing(events[-1][0])

    def _stop(self) -> int | None:
        marks = (self.pace.error_after, self.pace.end_after, self.pace.cut_after)
        return next((mark for mark in marks if mark is not None), None)

    def _broken(self, due_s: float) -> list[Frame]:
        if self.pace.error_after is not None:
            error = {"error": {"message": "engine core died", "type": "InternalServerError", "code": 500}}
            return [
                Frame(due_s, chunk(b"data: " + json.dumps(error).encode() + b"\n\n") + chunk(b"data: [DONE]\n\n") + END)
            ]
        return [Frame(due_s, END if self.pace.end_after is not None else b"")]

    def _tokens(self, due_s: float, size: int, *, last: bool) -> list[Frame]:
        if self.pace.pieces:
            return [self._token_event(due_s, 1, last=last and part == size - 1) for part in range(size)]
        return [self._token_event(due_s, size, last=last)]

    def _token_event(self, due_s: float, size: int, *, last: bool) -> Frame:
        first = self.made
        self.made += size
        visible = range(first, self.made - (1 if last and self.pace.hidden_stop else 0))
        thought = "".join(WORDS[i * 5 % len(WORDS)] for i in visible if i < self.pace.reasoning)
        said = "".join(WORDS[i * 5 % len(WORDS)] for i in visible if i >= self.pace.reasoning)
        delta = {name: text for name, text in ((self.pace.reasoning_field, thought), ("content", said)) if text}
        finish = self.pace.finish if last and self.pace.finish_with_text else None
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        packed = last and self.pace.usage_shape == "c" and self.pace.finish_with_text
        return self._event(due_s, [choice], tokens=size, final_usage=packed)

    def _closing(self, due_s: float) -> list[Frame]:
        frames = []
        shape = self.pace.usage_shape
        if not self.pace.finish_with_text:
            choice = {"index": 0, "delta": {}, "finish_reason": self.pace.finish}
            frames.append(self._event(due_s, [choice], final_usage=shape == "c"))
        if self.usage and shape in "ade":
            frames.append(self._event(due_s, [], final_usage=True))
        if self.usage and shape == "b":
            frames.append(self._event(due_s, [{"index": 0, "delta": {}}], final_usage=True))
        if shape == "e":
            frames.append(self._event(due_s, [], bare=True))
        return [*frames, Frame(due_s, chunk(b"data: [DONE]\n\n") + END)]

    def _event(
        self, due_s: float, choices: list[Any], *, tokens: int = 0, final_usage: bool = False, bare: bool = False
    ) -> Frame:
        event: dict[str, Any] = {"id": "x", "object": "chat.completion.chunk", "model": self.model, "choices": choices}
        if self.usage and (final_usage or self.continuous) and not bare:
            event["usage"] = self.usage_object()
        elif self.pace.usage_shape == "d":
            event["usage"] = None
        if self.timings and choices:
            event["timings"] = {"predicted_n": self.made, "prompt_n": self.prompt, "cache_n": self.pace.cached or 0}
        data = json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()
        return Frame(due_s, chunk(b"data: " + data + b"\n\n"), tokens)

    def usage_object(self) -> dict[str, Any]:
        usage: dict[str, Any] = {
            "prompt_tokens": self.prompt,
            "completion_tokens": self.made,
            "total_tokens": self.prompt + self.made,
        }
        if self.pace.cached is not None:
            usage["prompt_tokens_details"] = {"cached_tokens": self.pace.cached}
        if self.pace.reasoning:
            usage["completion_tokens_details"] = {"reasoning_tokens": min(self.made, self.pace.reasoning)}
        return usage


def chunk(data: bytes) -> bytes:
    """One HTTP chunk."""
    return b"%x\r\n%b\r\n" % (len(data), data)


END = b"0\r\n\r\n"
