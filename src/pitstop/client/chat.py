"""Streams chat completions from one endpoint: negotiate, send, keep, account, and say when the tool was the limit."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NoReturn

import msgspec

from pitstop.client.account import Account, account_of
from pitstop.client.endpoint import ChatRequest, Endpoint
from pitstop.client.exchange import Exchange
from pitstop.client.http import NoAnswer, get_json
from pitstop.client.lag import LagWatch
from pitstop.client.negotiate import Agreement, payload, step_down
from pitstop.client.refusal import FINAL, Failure, Refusal
from pitstop.client.transport import Connection, open_connection
from pitstop.core.errors import RequestRefused, Unreachable

PATH = "/chat/completions"
LAG_LIMIT_S = 0.005  # the accuracy of TTFT that is promised for many streams
LAG_LIMIT_SHARE = 0.01  # and of a rate


@dataclass(frozen=True)
class Reply(Account):
    """An account with its raw exchange. `client_late_s` is how much of its times may be this tool's own delay."""

    exchange: Exchange = field(default_factory=lambda: Exchange(url=""))
    client_late_s: float = 0.0


class Refused(RequestRefused):
    """Asking again cannot help; `refusal` says which kind it is, for whoever can ask for something else instead."""

    def __init__(self, refusal: Refusal, message: str, hint: str) -> None:
        super().__init__(message, hint=hint)
        self.refusal = refusal


class ChatClient:
    """Asks one endpoint. What it learns about stream options is in `agreement`, to be handed to the next client."""

    def __init__(self, endpoint: Endpoint, *, agreement: Agreement | None = None, deadline_s: float = 600.0) -> None:
        self.endpoint = endpoint
        self.agreement = agreement or Agreement()
        self.deadline_s = deadline_s

    async def stream(self, request: ChatRequest, *, ruler: str = "", case: str = "") -> Reply:
        """One reply. A request that failed on its way is a reply with `ok` false.

        Refused (a RequestRefused) when asking again cannot help: wrong key, unknown model (the known ones are listed),
        too long for the context (both numbers), a rejected field.
        """
        return (await self.gather([request], ruler=ruler, case=case))[0]

    async def gather(self, requests: Sequence[ChatRequest], *, ruler: str = "", case: str = "") -> list[Reply]:
        """As many replies at once, in order. All connections are opened first; then all requests are sent at once.

        Refused as for `stream`, for the first that is refused.
        """
        agreement = self.agreement
        while True:
            replies = await self._attempt(requests, agreement, ruler, case)
            refused = next(
                (reply.refusal for reply in replies if reply.refusal and reply.refusal.failure in FINAL), None
            )
            if refused is None:
                if any(reply.ok for reply in replies):
                    self.agreement = replace(agreement, settled=True)
                return replies
            lower = step_down(agreement, refused)
            if lower is None:
                await self._raise(refused)
            agreement = lower

    async def _attempt(
        self, requests: Sequence[ChatRequest], agreement: Agreement, ruler: str, case: str
    ) -> list[Reply]:
        bodies = [payload(request, self.endpoint.model, agreement) for request in requests]
        with _undisturbed, LagWatch() as watch:
            raws = await self._exchange(bodies)
        replies = []
        for raw, request in zip(raws, requests, strict=True):
            replies.append(self._reply(raw, request, watch, ruler, case))
            await asyncio.sleep(0)  # another client may be measuring in this loop: give way after each reply
        return replies

    async def _exchange(self, bodies: Sequence[bytes]) -> list[Exchange]:
        opened: dict[int, Connection | Exchange] = {}
        try:
            await asyncio.gather(*(self._open(opened, index) for index in range(len(bodies))))
            for index, body in enumerate(bodies):
                connection = opened[index]
                if isinstance(connection, Connection):
                    connection.send(body)
            return list(await asyncio.gather(*(self._finish(opened[index]) for index in range(len(bodies)))))
        except BaseException:
            for connection in opened.values():
                if isinstance(connection, Connection):
                    connection.abandon()
            raise

    async def _open(self, opened: dict[int, Connection | Exchange], index: int) -> None:
        opened[index] = await open_connection(self.endpoint, PATH)

    async def _finish(self, opened: Connection | Exchange) -> Exchange:
        return opened if isinstance(opened, Exchange) else await opened.reply(deadline_s=self.deadline_s)

    def _reply(self, raw: Exchange, request: ChatRequest, watch: LagWatch, ruler: str, case: str) -> Reply:
        account = account_of(
            raw, model=self.endpoint.model, max_tokens=_asked_tokens(request), ruler=ruler, case=case,
            secret=self.endpoint.api_key,
        )  # fmt: skip
        start = raw.sent_at or 0.0
        late_s = watch.late_by(start + event.t for event in account.events[:1] + account.events[-1:])
        record = account.record
        if late_s > _lag_limit(account):
            record = msgspec.structs.replace(
                record, anomalies=(*record.anomalies, f"client-late: {late_s * 1e3:.0f} ms")
            )
        fields = {name: getattr(account, name) for name in Account.__dataclass_fields__}
        return Reply(**{**fields, "record": record}, exchange=raw, client_late_s=late_s)

    async def _raise(self, refusal: Refusal) -> NoReturn:
        text, hint = refusal.text, _HINTS.get(refusal.failure, "")
        if refusal.failure is Failure.MODEL:
            hint = await self._known_models()
        raise Refused(refusal, text, hint)

    async def _known_models(self) -> str:
        answer = await get_json(self.endpoint, "/models")
        if isinstance(answer, NoAnswer) or not isinstance(answer.value, dict):
            return "The server does not list its models; look at how it was started."
        data = answer.value.get("data")
        entries = data if isinstance(data, list) else []
        names = [str(entry["id"]) for entry in entries if isinstance(entry, dict) and "id" in entry]
        return f"It has: {', '.join(names[:20])}." if names else "It lists no model at all."


def raise_unreachable(reply: Reply) -> None:
    """Unreachable when this reply failed because nothing answered; a command that needs one reply ends with it."""
    if reply.refusal is not None and reply.refusal.failure is Failure.UNREACHABLE:
        raise Unreachable(reply.refusal.text, hint="Is the engine up, and is base_url right?")


def _asked_tokens(request: ChatRequest) -> int | None:
    """How many tokens may come, by whichever field says so in the end."""
    asked = [request.extra.get(name) for name in ("max_tokens", "max_completion_tokens")]
    known = [count for count in asked if isinstance(count, int)]
    return max(known) if known else request.max_tokens


def _lag_limit(account: Account) -> float:
    """Seconds of own delay that a reply bears: 5 ms, or less where one percent of its decode time is less."""
    if len(account.events) < 2:
        return LAG_LIMIT_S
    return min(LAG_LIMIT_S, max(0.002, LAG_LIMIT_SHARE * (account.events[-1].t - account.events[0].t)))


class _Undisturbed:
    """Without garbage collection: a full collection takes tens of milliseconds, and here only bytes pile up.

    Several clients measure in one loop (mutual-load); the last one that leaves turns it on again.
    """

    def __init__(self) -> None:
        self._inside = 0
        self._was_enabled = False

    def __enter__(self) -> None:
        if not self._inside:
            self._was_enabled = gc.isenabled()
            gc.disable()
        self._inside += 1

    def __exit__(self, *_: object) -> None:
        self._inside -= 1
        if not self._inside and self._was_enabled:
            gc.enable()


_undisturbed = _Undisturbed()

_HINTS = {
    Failure.KEY: "Set the environment variable that api_key_env names to a key that this server takes.",
    Failure.CONTEXT: "Ask for fewer tokens, or start the engine with a longer context.",
    Failure.REDIRECT: "Write the address after the redirect into base_url.",
}
