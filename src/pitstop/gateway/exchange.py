"""One request on its way to an answer: choose, send, fall back, wait at the door, relay.

The order of things that must never happen twice: an engine is entered (counted) in the same step in which it is chosen,
so that a drain that saw zero stays at zero; and once an engine's byte has gone out, no other engine answers.
"""

from __future__ import annotations

import asyncio
import time
from typing import Literal

from aiohttp import web
from multidict import CIMultiDict

from pitstop.core.config.engine import Engine
from pitstop.core.config.gateway import Route
from pitstop.decisions.routing import Hold, Refuse, Send
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
_RETRY_HELD_S = 10.0
_RETRY_FAILED_S = 5.0


class Exchange:
    """One request with a good key and a body that is understood."""

    def __init__(
        self, front: Front, rules: Rules, request: web.BaseRequest, asked: Asked, client: ClientSide, account: Account
    ) -> None:
        self._front = front
        self._rules = rules
        self._request = request
        self._asked = asked
        self._client = client
        self._account = account
        self._begun_s = time.perf_counter()
        self._came_s = asyncio.get_running_loop().time()
        self._tried: set[str] = set()
        self._hold_spent = False
        self._last: EngineFailure | None = None

    async def answer(self) -> web.StreamResponse:
        """Have somebody answer. Refusal when nobody can and nothing has gone out yet."""
        while True:
            decision = self._choose(self._tried)
            if isinstance(decision, Hold):
                await self._wait_at_door(decision.route)
            elif isinstance(decision, Send):
                try:
                    return await self._send(decision.route)
                except EngineFailure as failure:
                    self._note(decision.route, failure)
            else:
                return await self._nobody(decision)

    def _choose(self, tried: set[str]) -> Send | Hold | Refuse:
        return self._front.choose(self._rules, self._asked.model, tried, hold_spent=self._hold_spent)

    def _note(self, route: str, failure: EngineFailure) -> None:
        self._tried.add(route)
        self._last = failure
        self._account.failures.append(f"{route}: {failure.what}")

    async def _nobody(self, decision: Refuse) -> web.StreamResponse:
        if decision.reason == "held" or self._last is None:
            self._account.outcome, self._account.reason = Outcome.REFUSED, "held"
            refusal = replies.held(_RETRY_HELD_S)
        else:
            self._account.outcome, self._account.reason = Outcome.ENGINE_FAILED, self._last.what
            refusal = replies.engine_failed(self._last.status, self._last.what)
            refusal.retry_after_s = _RETRY_FAILED_S
        self._account.status = refusal.status
        return await self._client.refuse(refusal)

    # The held door

    async def _wait_at_door(self, alias: str) -> None:
        """Wait for a change, at most as long as the route allows; afterwards `choose` is asked again."""
        gateway, doors = self._rules.gateway, self._front.doors
        if doors.waiting >= gateway.max_held or self._front.stopping:
            self._hold_spent = True
            return
        loop = asyncio.get_running_loop()
        until_s = self._came_s + self._rules.route(alias).hold_for
        doors.waiting += 1
        waited_from_s = loop.time()
        try:
            while not await self._door_changed(min(gateway.keepalive_every, until_s - loop.time())):
                if loop.time() >= until_s:
                    self._hold_spent = True
                    return
                if self._asked.stream:
                    await self._client.keep_waiting()
        finally:
            doors.waiting -= 1
            self._account.held_s += loop.time() - waited_from_s

    async def _door_changed(self, patience_s: float) -> bool:
        try:
            async with asyncio.timeout(max(0.0, patience_s)):
                await self._front.doors.changed()
        except TimeoutError:
            return False
        return True

    # One engine

    async def _send(self, name: str) -> web.StreamResponse:
        route = self._rules.route(name)
        self._front.doors.enter(route.engine)
        self._front.sent(route.engine)
        verdict: Literal["succeeded", "failed", "abandoned"] = "abandoned"
        try:
            reply, healthy = await self._attempt(name, route, self._rules.engines[route.engine])
            verdict = "succeeded" if healthy else "failed"
        except EngineFailure:
            verdict = "failed"
            raise
        else:
            return reply
        finally:
            self._front.doors.leave(route.engine)
            getattr(self._front, verdict)(route.engine)

    async def _attempt(self, name: str, route: Route, engine: Engine) -> tuple[web.StreamResponse, bool]:
        """Returns the reply, and whether the engine did its part."""
        account = self._account
        patience_s = route.first_byte_deadline if self._asked.stream else route.answer_deadline
        upstream: EngineConnection | None = None
        try:
            try:
                async with asyncio.timeout(patience_s):
                    prepared, upstream = await self._open(route, engine)
                    self._refuse_unfit(name, upstream)
                    account.answered_by, account.engine, account.status = name, route.engine, upstream.status
                    account.budget = prepared.budget
                    if upstream.content_type == "text/event-stream" and upstream.status < 400:
                        watch = StreamWatch(self._asked.api, hide_usage=prepared.usage_injected)
                        relay = Relay(upstream, watch, self._client)
                        ready = await relay.prelude()
                        if watch.error_first and self._somebody_else(name):
                            raise EngineFailure("sent an error as its first event")
                    else:
                        return await self._whole(name, route, upstream)
            except TimeoutError as error:
                raise EngineFailure(f"said nothing for {patience_s:g} s", status=504) from error
            return await self._stream(name, route, upstream, watch, relay, ready)
        finally:
            if upstream is not None:
                self._front.connections.give_back(address_of(engine.base_url), upstream)

    async def _open(self, route: Route, engine: Engine) -> tuple[Prepared, EngineConnection]:
        prepared, reply = await self._post(route, engine, may_ask=route.engine not in self._front.usage_refused)
        if prepared.usage_injected and reply.status in (400, 422):
            # An engine that does not know `stream_options` (a usual 400) is asked again without them.
            complaint = await _all_of(reply)
            self._front.connections.give_back(address_of(engine.base_url), reply)
            prepared, reply = await self._post(route, engine, may_ask=b"stream_options" not in complaint)
            if not prepared.usage_injected and reply.status < 400:
                self._front.usage_refused.add(route.engine)
        return prepared, reply

    async def _post(self, route: Route, engine: Engine, *, may_ask: bool) -> tuple[Prepared, EngineConnection]:
        try:
            prepared = rewrite(self._asked, route, engine, may_ask_usage=may_ask)
        except BadRequest as error:
            raise replies.bad_request(str(error)) from error
        key = self._rules.engine_keys.get(route.engine)
        headers = headers_for(self._request.headers, key, self._account.request_id)
        query = self._request.raw_path.partition("?")[2]
        request = post(engine, self._asked.api, query, headers, prepared.body)
        address, connect_s = address_of(engine.base_url), self._rules.gateway.connect_deadline
        return prepared, await open_reply(self._front.connections, address, request, connect_s)

    def _refuse_unfit(self, name: str, upstream: EngineConnection) -> None:
        """A server error goes to somebody else, if there is anybody; what is no answer at all never to the client."""
        if upstream.status >= 500 and self._somebody_else(name):
            raise EngineFailure(f"answered with status {upstream.status}")
        if upstream.status in (401, 403):
            raise Refusal(502, "The engine refused the gateway's own key.", "server_error", "engine_key")
        if upstream.status < 200 or 300 <= upstream.status < 400:
            raise EngineFailure(f"answered with status {upstream.status}")

    def _somebody_else(self, name: str) -> bool:
        return not self._client.named and isinstance(self._choose(self._tried | {name}), Send)

    async def _whole(self, name: str, route: Route, upstream: EngineConnection) -> tuple[web.StreamResponse, bool]:
        body = await _all_of(upstream)
        account = self._account
        if upstream.status >= 400:
            failed = upstream.status >= 500
            account.outcome = Outcome.ENGINE_FAILED if failed else Outcome.ENGINE_REFUSED
        else:
            self._learn_usage(body)
        headers = self._headers(name, route, upstream)
        return await self._client.whole(upstream.status, body, headers), upstream.status < 500

    async def _stream(
        self, name: str, route: Route, upstream: EngineConnection, watch: StreamWatch, relay: Relay, ready: bytes
    ) -> tuple[web.StreamResponse, bool]:
        account = self._account
        try:
            await self._client.begin(upstream.status, self._headers(name, route, upstream))
            ended = await relay.run(ready, route.stall_deadline)
        finally:
            account.usage = watch.usage
            if relay.first_token_at_s is not None:
                account.ttft_s = relay.first_token_at_s - self._begun_s
            self._judge_budget()
        if ended is Ended.PROPERLY:
            account.outcome = Outcome.ENGINE_FAILED if watch.error_seen else Outcome.OK
            return await self._client.end(), not watch.error_seen
        account.outcome, account.reason = Outcome.TORN, str(ended.value)
        what = "stopped in the middle of its answer" if ended is Ended.TORN else "said nothing more"
        return await self._client.break_off(replies.engine_failed(502, what)), False

    def _headers(self, name: str, route: Route, upstream: EngineConnection) -> CIMultiDict[str]:
        headers = headers_back(upstream.headers)
        headers["x-pitstop-route"] = name
        headers["x-pitstop-engine"] = route.engine
        return headers

    def _learn_usage(self, body: bytes) -> None:
        if b'"usage"' in body:
            try:
                self._account.usage = from_reply(decode(body))
            except ValueError:
                return
        self._judge_budget()

    def _judge_budget(self) -> None:
        if self._account.budget is not None:
            self._account.budget_kept = judge(self._account.budget, self._account.usage.reasoning_tokens)


async def _all_of(upstream: EngineConnection) -> bytes:
    parts: list[bytes] = []
    size = 0
    try:
        while part := await upstream.read():
            parts.append(part)
            size += len(part)
            if size > _MOST_WHOLE_BYTES:
                raise EngineFailure("sent more than 256 MiB in one reply")
    except Broken as error:
        raise EngineFailure("broke off in the middle of its reply") from error
    return b"".join(parts)
