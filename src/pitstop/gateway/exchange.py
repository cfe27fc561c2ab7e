"""One request on its way to an answer: choose, try, fall back, wait at the door.

The order of things that must never happen twice: an engine is entered (counted) in the same step in which it is chosen,
so that a drain that saw zero stays at zero; and once an engine's byte has gone out, no other engine answers.
"""

from __future__ import annotations

import asyncio
import time

from aiohttp import web

from pitstop.decisions.routing import Hold, Refuse, Send
from pitstop.gateway import replies
from pitstop.gateway.account import Account, Outcome
from pitstop.gateway.attempt import Attempt
from pitstop.gateway.client_side import ClientSide
from pitstop.gateway.front import Front, Rules
from pitstop.gateway.rewriting import Asked
from pitstop.gateway.upstream import EngineFailure

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
        front, engine = self._front, self._rules.route(name).engine
        front.doors.enter(engine)
        front.sent(engine)
        attempt = Attempt(
            front, self._rules, self._request, self._asked, self._client, self._account,
            name=name, somebody_else=lambda: self._somebody_else(name),
        )  # fmt: skip
        verdict = front.abandoned
        try:
            reply = await attempt.answer()
            verdict = front.succeeded if attempt.healthy else front.failed
        except EngineFailure:
            verdict = front.failed
            raise
        else:
            return reply
        finally:
            attempt.leave()
            front.doors.leave(engine)
            verdict(engine)
            if attempt.first_token_at_s is not None:
                self._account.ttft_s = attempt.first_token_at_s - self._begun_s

    def _somebody_else(self, name: str) -> bool:
        return not self._client.named and isinstance(self._choose(self._tried | {name}), Send)
