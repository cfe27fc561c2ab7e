"""One request to one engine: sent with that route's defaults, and answered, or failed before its first byte."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from aiohttp import web
from multidict import CIMultiDict

from pitstop.gateway import replies
from pitstop.gateway.account import Account, Outcome
from pitstop.gateway.client_side import ClientSide
from pitstop.gateway.engine_connection import Broken, EngineConnection
from pitstop.gateway.front import Front, Rules
from pitstop.gateway.members import decode
from pitstop.gateway.relay import Ended, Relay
from pitstop.gateway.replies import Refusal
from pitstop.gateway.rewriting import Asked, BadRequest, Prepared, rewrite
from pitstop.gateway.stream_watch import StreamWatch
from pitstop.gateway.thinking_budget import judge
from pitstop.gateway.upstream import EngineFailure, address_of, headers_back, headers_for, open_reply, post
from pitstop.gateway.usage import from_reply

_MOST_WHOLE_BYTES = 256 * 2**20  # a reply in one piece; 2,048 embeddings of 4,096 numbers are 100 MB


class Attempt:
    """One try. `somebody_else` says whether another engine could still answer."""

    def __init__(
        self,
        front: Front,
        rules: Rules,
        request: web.BaseRequest,
        asked: Asked,
        client: ClientSide,
        account: Account,
        *,
        name: str,
        somebody_else: Callable[[], bool],
    ) -> None:
        self._front = front
        self._rules = rules
        self._request = request
        self._asked = asked
        self._client = client
        self._account = account
        self._name = name
        self._route = rules.route(name)
        self._engine = rules.engines[self._route.engine]
        self._address = address_of(self._engine.base_url)
        self._somebody_else = somebody_else
        self._reply: EngineConnection | None = None
        self.healthy = False  # whether the engine did its part; known once there is an answer
        self.first_token_at_s: float | None = None  # of time.perf_counter

    async def answer(self) -> web.StreamResponse:
        """The reply to the client, complete or broken off. EngineFailure when nothing has gone out."""
        route = self._route
        patience_s = route.first_byte_deadline if self._asked.stream else route.answer_deadline
        try:
            async with asyncio.timeout(patience_s):
                prepared = await self._open()
                reply = self._fit()
                self._account.budget = prepared.budget
                if reply.content_type != "text/event-stream" or reply.status >= 400:
                    return await self._whole(reply)
                watch = StreamWatch(self._asked.api, hide_usage=prepared.usage_injected)
                relay = Relay(reply, watch, self._client)
                ready = await relay.prelude()
                if watch.error_first and self._somebody_else():
                    raise EngineFailure("sent an error as its first event")
        except TimeoutError as error:
            raise EngineFailure(f"said nothing for {patience_s:g} s", status=504) from error
        return await self._stream(reply, watch, relay, ready)

    def leave(self) -> None:
        """Keep the connection for others if the reply is over, else close it, which frees the engine."""
        if self._reply is not None:
            self._front.connections.give_back(self._address, self._reply)
            self._reply = None

    # From the request to the head of the reply

    async def _open(self) -> Prepared:
        engine = self._route.engine
        prepared = await self._send(may_ask_usage=engine not in self._front.usage_refused)
        if not prepared.usage_injected or self._status not in (400, 422):
            return prepared
        # An engine that does not know `stream_options` (a usual 400) is asked again without them.
        assert self._reply is not None
        complaint = await _all_of(self._reply)
        if b"stream_options" not in complaint and b"include_usage" not in complaint:
            self._reply.unread(complaint)
            return prepared
        self.leave()
        prepared = await self._send(may_ask_usage=False)
        if self._status < 400:
            self._front.usage_refused.add(engine)
        return prepared

    async def _send(self, *, may_ask_usage: bool) -> Prepared:
        try:
            prepared = rewrite(self._asked, self._route, self._engine, may_ask_usage=may_ask_usage)
        except BadRequest as error:
            raise replies.bad_request(str(error)) from error
        key = self._rules.engine_keys.get(self._route.engine)
        headers = headers_for(self._request.headers, key, self._account.request_id)
        query = self._request.raw_path.partition("?")[2]
        request = post(self._engine, self._asked.api, query, headers, prepared.body)
        connect_s = self._rules.gateway.connect_deadline
        self._reply = await open_reply(self._front.connections, self._address, request, connect_s)
        return prepared

    @property
    def _status(self) -> int:
        return 0 if self._reply is None else self._reply.status

    def _fit(self) -> EngineConnection:
        """A server error goes to somebody else, if there is anybody; what is no answer at all never to the client."""
        reply, account = self._reply, self._account
        assert reply is not None
        if reply.status >= 500 and self._somebody_else():
            raise EngineFailure(f"answered with status {reply.status}")
        if reply.status in (401, 403):
            self.healthy = True
            raise Refusal(502, "The engine refused the gateway's own key.", "server_error", "engine_key")
        if 300 <= reply.status < 400:
            raise EngineFailure(f"answered with status {reply.status}")
        account.answered_by, account.engine, account.status = self._name, self._route.engine, reply.status
        return reply

    # The reply

    async def _whole(self, reply: EngineConnection) -> web.StreamResponse:
        body = await _all_of(reply)
        self.healthy = reply.status < 500
        if reply.status >= 400:
            self._account.outcome = Outcome.ENGINE_REFUSED if self.healthy else Outcome.ENGINE_FAILED
        elif b'"usage"' in body:
            self._account.usage = from_reply(_decoded(body))
        self._judge_budget()
        return await self._client.whole(reply.status, body, self._headers(reply))

    async def _stream(
        self, reply: EngineConnection, watch: StreamWatch, relay: Relay, ready: bytes
    ) -> web.StreamResponse:
        account = self._account
        try:
            await self._client.begin(reply.status, self._headers(reply))
            ended = await relay.run(ready, self._route.stall_deadline)
        finally:
            account.usage, account.said_all = watch.usage, watch.said_all()
            self.first_token_at_s = relay.first_token_at_s
            self._judge_budget()
        if ended is Ended.PROPERLY:
            self.healthy = not watch.error_seen
            account.outcome = Outcome.OK if self.healthy else Outcome.ENGINE_FAILED
            return await self._client.end()
        account.outcome, account.reason = Outcome.TORN, str(ended.value)
        what = "stopped in the middle of its answer" if ended is Ended.TORN else "said nothing more"
        return await self._client.break_off(replies.engine_failed(502, what))

    def _headers(self, reply: EngineConnection) -> CIMultiDict[str]:
        headers = headers_back(reply.headers)
        headers["x-pitstop-route"] = self._name
        headers["x-pitstop-engine"] = self._route.engine
        return headers

    def _judge_budget(self) -> None:
        account = self._account
        if account.budget is not None and account.status < 400:
            account.budget_kept = judge(account.budget, account.usage.reasoning_tokens)


def _decoded(body: bytes) -> object:
    try:
        return decode(body)
    except ValueError:
        return None


async def _all_of(reply: EngineConnection) -> bytes:
    parts: list[bytes] = []
    size = 0
    try:
        while part := await reply.read():
            parts.append(part)
            size += len(part)
            if size > _MOST_WHOLE_BYTES:
                raise EngineFailure("sent more than 256 MiB in one reply")
    except Broken as error:
        raise EngineFailure("broke off in the middle of its reply") from error
    return b"".join(parts)
