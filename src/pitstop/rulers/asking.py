"""Asks on behalf of one ruler: nonce in front, every request on record, refusals turned into failed answers.

The nonce goes into a system message at the very beginning. Without one, a template's default system prompt (SmolLM2,
Qwen2.5 and others have one) would be a prefix that all requests share. Where a server or its template refuses system
messages, the nonce opens the user message. It is digits alone, in no language: words would pull the answer's language.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from pitstop.client.chat import ChatClient, Refused, Reply
from pitstop.client.endpoint import ChatRequest
from pitstop.client.negotiate import Agreement
from pitstop.client.refusal import Failure
from pitstop.core.documents import Notice, RequestRecord
from pitstop.core.errors import PitstopError, Unreachable
from pitstop.engines.adapter import Counters
from pitstop.engines.since import since
from pitstop.rulers.figures import asked_otherwise
from pitstop.rulers.integrity import doubts_of_counters
from pitstop.rulers.pieces import pieces
from pitstop.rulers.ruler import Bench, RulerResult
from pitstop.rulers.sizes import Point

HELLO = "Hi."
# For one token, queueing included: the first report's watchdog gives an engine as long before it counts a strike.
HELLO_S = 90.0
COUNTER_LAG_S = 0.05
_MOST_READINGS = 5  # of counters that never stand still, because somebody else is served
# What no other wording of the request can change: these end the run instead of one figure.
_HOPELESS = frozenset({Failure.KEY, Failure.MODEL, Failure.REDIRECT})


@dataclass(frozen=True)
class Wish:
    """One request before its nonce."""

    text: str
    max_tokens: int
    extra: dict[str, Any] = field(default_factory=dict)
    system: str = ""
    nonce: str = ""  # drawn when empty
    keep_default_system: bool = False  # put the nonce into the user message, so that the template's own prompt stands
    temperature: float | None = None  # the settings' when None
    bare: bool = False  # without a nonce, for a ruler that times nothing: both arms of a trial get the same bytes
    then: tuple[dict[str, Any], ...] = ()  # what was said since: calls of tools, and what they returned


class Asker:
    """A context: `async with Asker(bench, "decode") as asker`. What it sent is in `result.requests`."""

    def __init__(self, bench: Bench, ruler: str) -> None:
        self.bench = bench
        self.ruler = ruler
        self.result = RulerResult()
        agreement = bench.learnt.agreement or Agreement(timings=bench.capabilities.per_event_timings)
        self.client = ChatClient(bench.endpoint, agreement=agreement, deadline_s=bench.settings.request_timeout_s)

    async def __aenter__(self) -> Asker:
        """Say hello once a run, so that a refusal of stream options or of system messages is met before anything else.

        Refused when the key, the model or the address is wrong; Unreachable when not one token comes within 90 s.
        """
        if self.bench.learnt.nonce_in_user_message is None:
            await self._say_hello()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.bench.learnt.agreement = self.client.agreement
        if not self.client.agreement.temperature:
            text = "the server takes no temperature, so it draws as it likes"
            self.result.warnings.append(Notice(code="no-temperature", text=text))
            self.result.figures = [asked_otherwise(figure, "without temperature") for figure in self.result.figures]

    async def ask(self, case: str, wish: Wish) -> Reply:
        """One reply with the server to itself. A refusal is a reply with `ok` false, unless nothing would help it."""
        return (await self.ask_at_once(case, [wish]))[0]

    async def ask_at_once(self, case: str, wishes: Sequence[Wish]) -> list[Reply]:
        """As many replies at once, in order, all of them on record."""
        requests = [self._request(wish) for wish in wishes]
        try:
            replies = await self.client.gather(requests, ruler=self.ruler, case=case)
        except Refused as refused:
            if refused.refusal.failure in _HOPELESS:
                raise
            replies = [self._refused(case, refused) for _ in requests]
        self.result.requests.extend(reply.record for reply in replies)
        if all(_timed_out(reply) for reply in replies):
            await self._refuse_the_wedged(replies[0])
        return replies

    async def counters(self) -> Counters | None:
        """The server's counters now, or None where it gives none; a metrics page that fails costs no figure."""
        try:
            return await self.bench.adapter.counters(self.bench.endpoint)
        except PitstopError:
            return None

    async def settled_counters(self) -> Counters | None:
        """The counters once two readings agree: engines publish them some milliseconds after the reply they count."""
        read = await self.counters()
        for _ in range(_MOST_READINGS):
            await asyncio.sleep(COUNTER_LAG_S)
            again = await self.counters()
            if read is None or again is None or again.generation_tokens == read.generation_tokens:
                return again
            read = again
        return read

    async def counted_since(self, before: Counters | None, replies: Sequence[Reply]) -> Counters:
        """What the server counted since `before`, given time where it disagrees with its replies."""
        done = since(before, await self.counters())
        if doubts_of_counters([reply.record for reply in replies], done):
            done = since(before, await self.settled_counters())
        return done

    def tell_failures(self, case: str, replies: Sequence[Reply]) -> None:
        """A warning for requests that enter no figure: the rest of them may be a kind selection."""
        failed = [reply.record.error for reply in replies if not reply.ok]
        if failed:
            text = f"{self.ruler} {case}: {len(failed)} of {len(replies)} requests failed: {failed[0]}"
            self.result.warnings.append(Notice(code="requests-failed", text=text))

    def _request(self, wish: Wish) -> ChatRequest:
        temperature = self.bench.settings.temperature if wish.temperature is None else wish.temperature
        if wish.bare:
            return ChatRequest((*messages_without_nonce(wish), *wish.then), wish.max_tokens, temperature, wish.extra)
        nonce = wish.nonce or self.bench.nonces.next()
        in_user = wish.keep_default_system or bool(self.bench.learnt.nonce_in_user_message)
        messages = messages_with(
            nonce, wish, in_user=in_user, system_refused=bool(self.bench.learnt.nonce_in_user_message)
        )
        return ChatRequest((*messages, *wish.then), wish.max_tokens, temperature, wish.extra)

    async def _say_hello(self) -> None:
        learnt, asked_for = self.bench.learnt, self.client.agreement
        first = await self._hello()
        if not _may_be_the_system_message(first):
            learnt.nonce_in_user_message = False if first.ok else None  # None: the next ruler says hello again
            self._note_template(first)
            return
        self.client.agreement = asked_for  # it was stepped down for a refusal that may have had another cause
        learnt.nonce_in_user_message = True
        second = await self._hello()
        learnt.nonce_in_user_message = True if second.ok else None
        self._note_template(second)

    async def _hello(self) -> Reply:
        """One token, sooner given up than a reply that is measured."""
        patience = self.client.deadline_s
        self.client.deadline_s = min(patience, HELLO_S)
        try:
            return await self.ask("hello", Wish(HELLO, max_tokens=1))
        finally:
            self.client.deadline_s = patience

    async def _refuse_the_wedged(self, silent: Reply) -> None:
        """Unreachable when the engine does not give one token either: every further request would wait in vain."""
        hello = silent if silent.record.case == "hello" else await self._hello()
        if _timed_out(hello) and hello.refusal is not None:
            raise Unreachable(
                f"{self.bench.endpoint.base_url} takes requests and does not answer them ({hello.refusal.text}).",
                hint="It may be wedged, or busy with others: look at its log, or restart it.",
            )

    def _note_template(self, hello: Reply) -> None:
        """What a prompt of almost no text takes: the first point of every calibration."""
        if hello.ok and hello.record.prompt_tokens is not None:
            self.bench.learnt.sizes.append(Point(pieces(HELLO), hello.record.prompt_tokens))

    def _refused(self, case: str, refused: Refused) -> Reply:
        error = f"{refused.refusal.failure}: {refused.message}"
        record = RequestRecord(ruler=self.ruler, case=case, ok=False, error=error)
        return Reply(record, refusal=refused.refusal)


def messages_with(nonce: str, wish: Wish, *, in_user: bool, system_refused: bool) -> tuple[dict[str, Any], ...]:
    """The messages, with the nonce as their first characters unless a system prompt has to come before it."""
    if not in_user:
        system = f"{nonce}\n\n{wish.system}" if wish.system else nonce
        return {"role": "system", "content": system}, {"role": "user", "content": wish.text}
    if wish.system and not system_refused:
        user = f"{nonce}\n\n{wish.text}"
        return {"role": "system", "content": wish.system}, {"role": "user", "content": user}
    parts = [nonce, wish.system, wish.text]
    return ({"role": "user", "content": "\n\n".join(part for part in parts if part)},)


def messages_without_nonce(wish: Wish) -> tuple[dict[str, Any], ...]:
    """The text alone, so that a template's own system prompt stands, as it does for the users of this server."""
    user = {"role": "user", "content": wish.text}
    return ({"role": "system", "content": wish.system}, user) if wish.system else (user,)


def counted_by(replies: Sequence[Reply]) -> str:
    """Where the tokens of these replies were counted, and the times taken: the `source` of their figures."""
    sources = dict.fromkeys(reply.record.tokens_source for reply in replies if reply.ok and reply.record.tokens_source)
    return f"{' and '.join(sources) or 'none'}, client clock"


def _timed_out(reply: Reply) -> bool:
    return reply.refusal is not None and reply.refusal.failure is Failure.TIMEOUT


def _may_be_the_system_message(reply: Reply) -> bool:
    return reply.refusal is not None and reply.refusal.failure in {
        Failure.REJECTED,
        Failure.SERVER,
        Failure.STREAM_ERROR,
    }
