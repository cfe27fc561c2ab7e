"""From the body that a client sent to the one that an engine gets: bytes in, bytes out.

Where no default applies and the alias is the engine's own model name, the body passes byte for byte.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from pitstop.core.config.engine import Engine
from pitstop.core.config.gateway import Route
from pitstop.gateway import system_prompt, thinking_budget
from pitstop.gateway.apis import TRAITS, Api
from pitstop.gateway.members import Members, read


class BadRequest(ValueError):
    """A body that no engine should see; the text is the sentence for the client."""


@dataclass(frozen=True)
class Asked:
    """What the client asked for, as far as the gateway reads it."""

    api: Api
    members: Members
    model: str
    stream: bool
    usage_said: bool  # the client said true or false itself; either is kept


@dataclass(frozen=True)
class Prepared:
    """The body for one engine, and what has to be remembered until the answer."""

    body: bytes
    usage_injected: bool  # ours: hidden from the client again
    budget: int | None  # a budget of ours that was put in


def understand(api: Api, body: bytes) -> Asked:
    """Read what routing needs; BadRequest with a sentence when the body has it not."""
    try:
        members = read(body)
        model, stream = members.get("model"), members.get("stream")
        options = members.get("stream_options")
    except ValueError as error:
        raise BadRequest(f"The body is not a JSON object: {error}.") from error
    if not isinstance(model, str):
        raise BadRequest("`model` must be a string; GET /v1/models lists what there is.")
    if not isinstance(stream, bool | None):
        raise BadRequest("`stream` must be true or false.")
    said = isinstance(options, dict) and isinstance(options.get("include_usage"), bool)
    return Asked(api, members, model, bool(stream), said)


def rewrite(asked: Asked, route: Route, engine: Engine, *, may_ask_usage: bool = True) -> Prepared:
    """Apply a route's defaults; BadRequest when a limit of the route meets a value that is no number."""
    traits = TRAITS[asked.api]
    values: dict[str, bytes] = {}
    if asked.model != engine.model:
        values["model"] = msgspec.json.encode(engine.model)
    try:
        max_tokens = _limit_tokens(asked, route, values)
        budget = _budget(asked, route, engine, max_tokens, values)
        _sampling(asked, route, values)
        _template(asked, route, values)
        _prompt(asked, route, values)
        inject = may_ask_usage and traits.usage_on_request and asked.stream and not asked.usage_said
        inject = inject and _ask_usage(asked, values)
    except BadRequest:
        raise
    except ValueError as error:
        raise BadRequest(f"The body is not valid JSON: {error}.") from error
    body = asked.members.edited(values) if values else asked.members.body
    return Prepared(body, inject, budget)


def _limit_tokens(asked: Asked, route: Route, values: dict[str, bytes]) -> int | None:
    """Apply the default and the maximum; returns what the engine will be told, None when nothing."""
    fields = TRAITS[asked.api].limit_fields
    given = {name: asked.members.get(name) for name in fields if name in asked.members}
    given = {name: value for name, value in given.items() if value is not None}
    limit = route.max_tokens_limit
    told: list[int] = []
    for name, value in given.items():
        whole = _whole(name, value, limit)
        if whole is not None and limit is not None and not 0 <= whole <= limit:  # -1 is "no end" to llama.cpp
            whole = limit
            values[name] = b"%d" % limit
        if whole is not None:
            told.append(whole)
    default = route.max_tokens or limit
    if not given and fields and default is not None:
        values[fields[0]] = b"%d" % default
        told.append(default)
    return min((count for count in told if count >= 0), default=None)


def _whole(name: str, value: Any, limit: int | None) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if limit is not None:  # engines read "9999" and 1e9 as numbers, which would step over the limit
        raise BadRequest(f"`{name}` must be a whole number.")
    return None


def _budget(asked: Asked, route: Route, engine: Engine, max_tokens: int | None, values: dict[str, bytes]) -> int | None:
    budget = route.thinking_token_budget
    if budget is None or asked.api is not Api.CHAT or thinking_budget.FIELD not in engine.supports:
        return None
    if thinking_budget.client_decides(asked.members):
        return None
    budget = thinking_budget.clamped(budget, max_tokens)
    values[thinking_budget.FIELD] = b"%d" % budget
    return budget


def _sampling(asked: Asked, route: Route, values: dict[str, bytes]) -> None:
    known = TRAITS[asked.api].sampling
    for name, value in msgspec.structs.asdict(route.sampling).items():
        if value is not None and name not in asked.members and (known is None or name in known):
            values[name] = msgspec.json.encode(value)


def _template(asked: Asked, route: Route, values: dict[str, bytes]) -> None:
    """Merge `chat_template_kwargs` key by key, the client's over the route's."""
    if not route.chat_template_kwargs or asked.api is not Api.CHAT:
        return
    own = asked.members.get("chat_template_kwargs")
    if own is None and "chat_template_kwargs" not in asked.members:
        values["chat_template_kwargs"] = msgspec.json.encode(route.chat_template_kwargs)
    elif isinstance(own, dict) and not route.chat_template_kwargs.keys() <= own.keys():
        values["chat_template_kwargs"] = msgspec.json.encode({**route.chat_template_kwargs, **own})


def _prompt(asked: Asked, route: Route, values: dict[str, bytes]) -> None:
    if not route.system_prompt:
        return
    field, merged = _merged_prompt(asked, route.system_prompt)
    if merged is not None:
        values[field] = merged


def _merged_prompt(asked: Asked, prompt: str) -> tuple[str, bytes | None]:
    members = asked.members
    if asked.api is Api.CHAT:
        raw = members.raw("messages")
        return "messages", None if raw is None else system_prompt.in_messages(prompt, raw)
    if asked.api is Api.MESSAGES:
        return "system", system_prompt.in_text(prompt, members.get("system"))
    if asked.api is Api.RESPONSES:
        raw = members.raw("input")
        if members.get("instructions") is None and raw is not None and system_prompt.has_leading(raw):
            return "input", system_prompt.in_messages(prompt, raw, part_type="input_text")
        return "instructions", system_prompt.in_text(prompt, members.get("instructions"))
    return "", None


def _ask_usage(asked: Asked, values: dict[str, bytes]) -> bool:
    """Put `include_usage` in; false when `stream_options` is something that only the engine can refuse."""
    options = asked.members.get("stream_options")
    if options is None:
        options = {}
    if not isinstance(options, dict):
        return False
    # Without include_usage the engine would have ignored this one; with it every event would carry usage.
    options.pop("continuous_usage_stats", None)
    values["stream_options"] = msgspec.json.encode({**options, "include_usage": True})
    return True
