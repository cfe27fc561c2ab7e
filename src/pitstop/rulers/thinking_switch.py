"""Finds out how thinking is switched on this server, by trying, and says when it cannot be.

Templates look at different names (`enable_thinking` in Qwen's, `thinking` in DeepSeek's and Granite's); both are sent,
and an unknown one is ignored by a template. Whether it worked is read from the replies: reasoning tokens, a reasoning
channel, a `<think>` tag in a text that no parser split, or, before any of these shows, another number of prompt tokens.
"""

from __future__ import annotations

from typing import Any

from pitstop.client.chat import Reply
from pitstop.core.documents import Notice
from pitstop.rulers.asking import Asker, Wish
from pitstop.rulers.learnt import Switch, ThinkingState
from pitstop.rulers.unsplit_thought import holds_thought

PROBE_TOK = 32
PROBE = "Is 2027 a prime number? Reply in one sentence."
LEAST_EFFORTS = ("none", "minimal", "low")  # the first that the server takes is as far off as it goes


def thought(reply: Reply) -> bool:
    """Whether a reply shows any reasoning, wherever the server put it."""
    told = (reply.record.reasoning_tokens or 0) > 0 or bool(reply.reasoning.strip())
    return told or holds_thought(reply.answer)


def extra_for(kind: str, state: str) -> dict[str, Any]:
    """The request fields that ask for thinking `on` or `off` where the kind of switch is known."""
    if kind == "chat_template":
        return {"chat_template_kwargs": {"enable_thinking": state == "on", "thinking": state == "on"}}
    if kind == "reasoning_effort":
        return {"reasoning_effort": "medium" if state == "on" else LEAST_EFFORTS[0]}
    return {}


async def find_switch(asker: Asker) -> Switch:
    """The run's switch: told by the configuration, found before, or tried out now."""
    learnt = asker.bench.learnt
    switch = learnt.switch
    if switch is None:
        switch = await _told(asker) if asker.bench.thinking_switch else await _tried(asker)
        learnt.switch = switch if switch.known else None
    asker.result.warnings.extend(switch.notices)
    return switch


async def _told(asker: Asker) -> Switch:
    kind = asker.bench.thinking_switch
    if kind == "none":
        return await _nothing_to_switch(asker)
    if kind == "reasoning_effort":
        return await _by_effort(asker) or _both(kind)
    return _both(kind)


async def _tried(asker: Asker) -> Switch:
    nonce = asker.bench.nonces.next()  # the same for both, so that their prompts differ by the template alone
    on = await _probe(asker, extra_for("chat_template", "on"), nonce)
    off = await _probe(asker, extra_for("chat_template", "off"), nonce)
    if _differ(on, off):
        return _both("chat_template")
    return await _by_effort(asker) or (_nothing(on) if on.ok else await _nothing_to_switch(asker))


async def _by_effort(asker: Asker) -> Switch | None:
    """`reasoning_effort`, when the server takes it and the least of it really stops the reasoning."""
    on = await _probe(asker, extra_for("reasoning_effort", "on"))
    if not on.record.ok or not thought(on):
        return None
    for effort in LEAST_EFFORTS:
        off = await _probe(asker, {"reasoning_effort": effort})
        if off.record.ok and not thought(off):
            states = (
                ThinkingState("off", {"reasoning_effort": effort}),
                ThinkingState("on", extra_for("reasoning_effort", "on")),
            )
            return Switch("reasoning_effort", states)
    return None


async def _nothing_to_switch(asker: Asker) -> Switch:
    return _nothing(await _probe(asker, {}))


def _nothing(plain: Reply) -> Switch:
    if not plain.ok:
        text = f"whether this model reasons is not known, for the request that asked failed: {plain.record.error}"
        return Switch("none", (ThinkingState("off"),), (Notice(code="thinking-unknown", text=text),), known=False)
    if thought(plain):
        text = "this model reasons whatever it is asked, so only think-on is measured"
        return Switch("none", (ThinkingState("on"),), (Notice(code="thinking-always", text=text),))
    text = "this model shows no reasoning however it is asked, so only think-off is measured"
    return Switch("none", (ThinkingState("off"),), (Notice(code="thinking-absent", text=text),))


def _both(kind: str) -> Switch:
    return Switch(kind, tuple(ThinkingState(name, extra_for(kind, name)) for name in ("off", "on")))


def _differ(on: Reply, off: Reply) -> bool:
    if not (on.record.ok and off.record.ok):
        return False
    if thought(on) != thought(off):
        return thought(on)
    # Both probes carry the same nonce, so another count means that the template took notice.
    return not thought(off) and on.record.prompt_tokens != off.record.prompt_tokens


async def _probe(asker: Asker, extra: dict[str, Any], nonce: str = "") -> Reply:
    return await asker.ask("thinking-probe", Wish(PROBE, PROBE_TOK, extra, nonce=nonce))
