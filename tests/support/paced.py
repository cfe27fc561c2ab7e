"""An endpoint that knows the truth: it streams on absolute deadlines and keeps a record of what it really did.

One thread plays all streams from one heap of deadlines, with the microseconds of `select`; event loops round to whole
milliseconds. As a process: `PYTHONPATH=tests python -m support.paced --rate 90 --tokens-per-event 3`. In a test:
`with PacedServer(Pace(rate_tok_s=500)) as server: … server.base_url`. Ctrl-C ends it.

`GET /truth` lists the finished streams, oldest first: tokens, events, decode rate by the definition, and the
`time.monotonic` (one clock for all processes of a machine) at which the request was read and the first and last tokens
were handed to the kernel, and how late the server itself was at worst.
"""

from __future__ import annotations

import argparse
import contextlib
import heapq
import itertools
import json
import select
import socket
import threading
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from support.script import Frame, Pace, Script, overridden, prompt_tokens_of, script_of

JSON = "application/json"


@dataclass
class Site:
    """What the server is, beside its pace."""

    model: str = "paced"
    api_key: str | None = None
    context_tok: int = 131_072
    version: str = "0.28.0+paced"
    prefill_cache: bool = False  # report a prompt that was seen before as cached


@dataclass(eq=False)
class _Stream:
    socket: socket.socket
    name: str
    script: Script
    read_at: float
    position: int = 0
    first_at: float | None = None
    last_at: float | None = None
    late_s: float = 0.0


@dataclass
class _Counts:
    running: int = 0
    prompt: int = 0
    generated: int = 0
    finished: int = 0
    cached: int = 0
    seen: set[str] = field(default_factory=set)


class PacedServer:
    """Serves in a thread of its own while it is entered."""

    def __init__(self, pace: Pace = Pace(), site: Site | None = None, *, port: int = 0) -> None:  # noqa: B008 - frozen
        self.pace, self.site = pace, site or Site()
        self.requests: list[dict[str, Any]] = []  # bodies, as they were received
        self.truths: list[dict[str, Any]] = []
        self._listener = socket.create_server(("127.0.0.1", port), backlog=1024)
        self.port: int = self._listener.getsockname()[1]
        self._waker, self._woken = socket.socketpair()
        self._reading: dict[socket.socket, bytearray] = {}
        self._due: list[tuple[float, int, _Stream]] = []
        self._order = itertools.count()
        self._counts = _Counts()
        self._stop = False
        self._thread = threading.Thread(target=self.serve, daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> PacedServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop = True
        with contextlib.suppress(OSError):  # the thread may have seen it already, and closed everything
            self._waker.send(b"x")
        self._thread.join(5)

    def serve(self) -> None:
        """Until stopped."""
        try:
            while not self._stop:
                self._turn()
        finally:
            for connection in (
                self._listener,
                self._waker,
                self._woken,
                *self._reading,
                *(s.socket for *_, s in self._due),
            ):
                connection.close()

    # -- the loop

    def _turn(self) -> None:
        wait_s = max(0.0, self._due[0][0] - monotonic()) if self._due else 1.0
        ready, _, _ = select.select([self._listener, self._woken, *self._reading], [], [], min(wait_s, 1.0))
        for connection in ready:
            if connection is self._listener:
                self._accept()
            elif connection in self._reading:
                self._read(connection)
        while self._due and self._due[0][0] <= monotonic():
            self._play(heapq.heappop(self._due)[2])

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._reading[connection] = bytearray()

    def _read(self, connection: socket.socket) -> None:
        try:
            data = connection.recv(1 << 20)
        except OSError:
            data = b""
        buffer = self._reading[connection]
        buffer += data
        head, found, body = buffer.partition(b"\r\n\r\n")
        length = next(
            (int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
        )
        if found and len(body) >= length:
            del self._reading[connection]
            self._answer(connection, bytes(head).decode("latin-1"), bytes(body), monotonic())
        elif not data:
            del self._reading[connection]
            connection.close()

    def _play(self, stream: _Stream) -> None:
        """Send every frame that is due, then queue the stream for its next one."""
        frames, now = stream.script.frames, monotonic()
        while stream.position < len(frames) and stream.read_at + frames[stream.position].due_s <= now:
            frame = frames[stream.position]
            stream.position += 1
            if not self._send(stream.socket, frame.data):
                return self._end(stream, gone=True)
            self._note(stream, frame)
        if stream.position < len(frames):
            self._queue(stream)
        else:
            self._end(stream)
        return None

    def _note(self, stream: _Stream, frame: Frame) -> None:
        if not frame.tokens:
            return
        now = monotonic()
        stream.first_at = stream.first_at or now
        stream.last_at = now
        stream.late_s = max(stream.late_s, now - stream.read_at - frame.due_s)
        self._counts.generated += frame.tokens

    def _queue(self, stream: _Stream) -> None:
        due = stream.read_at + stream.script.frames[stream.position].due_s
        heapq.heappush(self._due, (due, next(self._order), stream))

    def _end(self, stream: _Stream, *, gone: bool = False) -> None:
        self._counts.running -= 1
        self._counts.finished += not gone
        self.truths.append(
            {
                "name": stream.name, "prompt_tokens": stream.script.prompt_tokens, **stream.script.truth,
                "read_at": stream.read_at, "first_at": stream.first_at, "last_at": stream.last_at,
                "late_s": stream.late_s, "client_gone": gone,
            }
        )  # fmt: skip
        if not stream.script.whole:  # a reset, not an orderly end
            stream.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        stream.socket.close()

    def _send(self, connection: socket.socket, data: bytes) -> bool:
        try:
            connection.sendall(data)
        except OSError:
            return False
        return True

    # -- what is asked

    def _answer(self, connection: socket.socket, head: str, body: bytes, now: float) -> None:
        method, path = head.split(" ", 2)[:2]
        if (
            self.site.api_key
            and path.startswith("/v1")
            and f"authorization: bearer {self.site.api_key}" not in head.lower()
        ):
            return self._whole(connection, 401, _error("Unauthorized", "invalid_api_key"))
        if method == "GET":
            return self._get(connection, path.partition("?")[0])
        try:
            request = json.loads(body)
        except ValueError:
            return self._whole(connection, 400, _error("the body is no JSON"))
        self.requests.append(request)
        if path == "/tokenize":
            count = prompt_tokens_of(
                request if "messages" in request else {"messages": [{"content": request.get("prompt")}]}
            )
            return self._whole(connection, 200, {"count": count, "max_model_len": self.site.context_tok, "tokens": []})
        if path != "/v1/chat/completions":
            return self._whole(connection, 404, {"detail": "Not Found"})
        return self._chat(connection, request, now)

    def _chat(self, connection: socket.socket, request: dict[str, Any], now: float) -> None:
        pace = overridden(self.pace, request)
        refusal = _refusal(request, pace, self.site)
        if refusal is not None:
            return self._whole(connection, *refusal)
        if self.site.prefill_cache:
            pace = self._cache(request, pace)
        script = script_of(request, pace, self.site.model)
        self._counts.running += 1
        self._counts.prompt += script.prompt_tokens
        stream = _Stream(connection, str(request.get("user", "")), script, now)
        if not request.get("stream"):
            stream.script = _unstreamed(script, self.site.model)
        elif not self._send(connection, _head(200, "text/event-stream", "Transfer-Encoding: chunked")):
            return self._end(stream, gone=True)
        return self._queue(stream)

    def _cache(self, request: dict[str, Any], pace: Pace) -> Pace:
        text = json.dumps(request.get("messages"))
        cached = prompt_tokens_of(request) // 16 * 16 if text in self._counts.seen else 0
        self._counts.seen.add(text)
        self._counts.cached += cached
        return overridden(pace, {"paced": {"cached": cached, "prefill_tok_s": None if cached else pace.prefill_tok_s}})

    def _get(self, connection: socket.socket, path: str) -> None:
        if path == "/metrics":
            return self._whole(connection, 200, self._metrics(), "text/plain; version=0.0.4")
        entry = {"id": self.site.model, "object": "model", "max_model_len": self.site.context_tok,
                 "permission": [{"id": "modelperm-ab12", "object": "model_permission"}]}  # fmt: skip
        pages: dict[str, Any] = {
            "/v1/models": {"object": "list", "data": [entry]},
            "/version": {"version": self.site.version},
            "/health": {},
            "/truth": self.truths,
        }
        return self._whole(connection, 200 if path in pages else 404, pages.get(path, {"detail": "Not Found"}))

    def _metrics(self) -> str:
        counts, labels = self._counts, f'{{engine="0",model_name="{self.site.model}"}}'
        rows = {
            "num_requests_running": ("gauge", counts.running),
            "num_requests_waiting": ("gauge", 0),
            "prompt_tokens_total": ("counter", counts.prompt),
            "generation_tokens_total": ("counter", counts.generated),
            "prefix_cache_queries_total": ("counter", counts.prompt),
            "prefix_cache_hits_total": ("counter", counts.cached),
            "request_success_total": ("counter", counts.finished),
        }
        return "".join(
            f"# TYPE vllm:{name.removesuffix('_total')} {kind}\nvllm:{name}{labels} {float(value)}\n"
            for name, (kind, value) in rows.items()
        )

    def _whole(self, connection: socket.socket, status: int, value: Any, kind: str = JSON) -> None:
        data = value.encode() if isinstance(value, str) else json.dumps(value).encode()
        self._send(connection, _head(status, kind, f"Content-Length: {len(data)}") + data)
        connection.close()


def _refusal(request: dict[str, Any], pace: Pace, site: Site) -> tuple[int, dict[str, Any]] | None:
    """What is wrong with the request, in vLLM's words."""
    model, options = request.get("model"), request.get("stream_options") or {}
    if pace.status != 200:
        return pace.status, _error("this endpoint was told to fail", "InternalServerError", pace.status)
    if model != site.model:
        return 404, _error(f"The model `{model}` does not exist.", "NotFoundError", 404)
    if options and pace.options == "refuse":
        return 400, _error("Unrecognized request argument supplied: stream_options")
    if "continuous_usage_stats" in options and pace.options == "no-continuous":
        return 422, {"detail": [{"loc": ["body", "stream_options", "continuous_usage_stats"], "msg": "Extra inputs"}]}
    needed = prompt_tokens_of(request) + (request.get("max_tokens") or 1)
    if needed > site.context_tok:
        return 400, _error(
            f"This model's maximum context length is {site.context_tok} tokens. However, you requested {needed} "
            "tokens. Please reduce the length of the messages or completion."
        )
    return None


def _unstreamed(script: Script, model: str) -> Script:
    text = json.dumps(
        {
            "model": model,
            "choices": [{"index": 0, "finish_reason": "length", "message": {"role": "assistant", "content": " the"}}],
            "usage": {
                "prompt_tokens": script.prompt_tokens, "completion_tokens": script.tokens,
                "total_tokens": script.prompt_tokens + script.tokens,
            },
        }
    ).encode()  # fmt: skip
    frame = Frame(script.events[-1][0], _head(200, JSON, f"Content-Length: {len(text)}") + text, script.tokens)
    return Script([frame], script.prompt_tokens, script.tokens, events=script.events)


def _head(status: int, kind: str, framing: str) -> bytes:
    return f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\n{framing}\r\nConnection: close\r\n\r\n".encode()


def _error(message: str, kind: str = "BadRequestError", code: int = 400) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def main() -> None:
    """Serve until interrupted; prints the base URL when it is ready."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--port", type=int, default=0)
    options.add_argument("--model", default="paced")
    options.add_argument("--api-key")
    options.add_argument("--context", type=int, default=131_072)
    options.add_argument("--rate", type=float, default=100.0)
    options.add_argument("--tokens-per-event", default="1", help="3, or 1-5 for a seeded draw")
    options.add_argument("--ttft", type=float, default=0.05)
    options.add_argument("--pace", default="{}", help="any other field of Pace, as JSON")
    options.add_argument("--prefill-cache", action="store_true")
    chosen = options.parse_args()
    low, _, high = chosen.tokens_per_event.partition("-")
    pace = Pace(rate_tok_s=chosen.rate, ttft_s=chosen.ttft, tokens_per_event=(int(low), int(high or low)))
    site = Site(chosen.model, chosen.api_key, chosen.context, prefill_cache=chosen.prefill_cache)
    server = PacedServer(overridden(pace, {"paced": json.loads(chosen.pace)}), site, port=chosen.port)
    print(server.base_url, flush=True)  # noqa: T201 - a program of its own
    with contextlib.suppress(KeyboardInterrupt):
        server.serve()


if __name__ == "__main__":
    main()
