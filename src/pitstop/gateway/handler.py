"""From a request's head to its account: path, key, limits, body, exchange. Nothing else is answered."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from datetime import UTC, datetime
from typing import Any

import msgspec
from aiohttp import web

from pitstop.gateway import replies
from pitstop.gateway.account import Account, Outcome
from pitstop.gateway.admission import admit, counted, inside, who
from pitstop.gateway.apis import BY_PATH, MODELS_PATH, Api
from pitstop.gateway.client_side import ClientSide, own_headers
from pitstop.gateway.exchange import Exchange
from pitstop.gateway.front import Front, Rules
from pitstop.gateway.keys import Key
from pitstop.gateway.replies import Refusal
from pitstop.gateway.rewriting import Asked, BadRequest, understand

log = logging.getLogger("pitstop.gateway")
_REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")


async def handle(front: Front, request: web.BaseRequest) -> web.StreamResponse:
    """Answer one request, and account for it whatever happens."""
    begun_s = time.perf_counter()
    account = Account(_request_id(request), front.clock())
    path = request.raw_path.partition("?")[0]
    api = BY_PATH.get(path)
    account.api = api.value if api else ""
    client = ClientSide(request, api, account.request_id, front.rules.gateway.client_stall_deadline)
    try:
        if path == MODELS_PATH:
            return await _models(front, request, account)
        return await _answer(front, request, api, client, account)
    except Refusal as refusal:
        account.status, account.reason = refusal.status, refusal.code
        if account.outcome is Outcome.OK:
            account.outcome = Outcome.REFUSED
        return await client.refuse(refusal)
    except (asyncio.CancelledError, ConnectionError):
        if not account.said_all:
            account.status, account.outcome = 499, Outcome.CLIENT_GONE
        raise
    except Exception as error:
        account.status, account.outcome, account.reason = 500, Outcome.DEFECT, type(error).__name__
        log.exception("a defect of the gateway; please report it (request %s)", account.request_id)
        return await client.refuse(Refusal(500, "The gateway failed.", "server_error", "gateway_defect"))
    finally:
        account.e2e_s = time.perf_counter() - begun_s
        front.record(account)


async def _answer(
    front: Front, request: web.BaseRequest, api: Api | None, client: ClientSide, account: Account
) -> web.StreamResponse:
    if api is None:
        raise Refusal(404, "There is nothing here.", "invalid_request_error", "not_found")
    if request.method != "POST":
        raise Refusal(405, "Use POST.", "invalid_request_error", "method_not_allowed")
    rules = front.rules
    key = admit(front, rules, request)
    account.key = key.name
    with inside(front, key):
        asked = _understood(api, await _body(request, rules))
        account.stream = asked.stream
        if asked.model not in rules.stations or not key.may_use(asked.model):
            raise replies.unknown_model(asked.model)
        account.route = asked.model
        with counted(front, asked.model, rules.route(asked.model).max_in_flight):
            return await Exchange(front, rules, request, asked, client, account).answer()


async def _models(front: Front, request: web.BaseRequest, account: Account) -> web.StreamResponse:
    """The aliases that a key may use, in a shape that both OpenAI's and Anthropic's clients read."""
    if request.method not in ("GET", "HEAD"):
        raise Refusal(405, "Use GET.", "invalid_request_error", "method_not_allowed")
    key = who(front, request)
    account.key, account.api, account.status = key.name, "models", 200
    models = [_model(alias, key) for alias in front.rules.stations if key.may_use(alias)]
    first, last = (models[0]["id"], models[-1]["id"]) if models else (None, None)
    listing = {"object": "list", "data": models, "has_more": False, "first_id": first, "last_id": last}
    headers = {"content-type": "application/json", **own_headers(account.request_id)}
    return web.Response(body=msgspec.json.encode(listing), headers=headers)


def _model(alias: str, key: Key) -> dict[str, Any]:
    since = datetime.fromtimestamp(key.created_at_s, UTC)  # what stands behind an alias changes; its age says nothing
    return {
        "id": alias, "object": "model", "created": int(key.created_at_s), "owned_by": "pitstop",
        "type": "model", "display_name": alias, "created_at": since.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }  # fmt: skip


async def _body(request: web.BaseRequest, rules: Rules) -> bytes:
    """The whole body; Refusal 408, 413 or 415."""
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Refusal(415, "Send the body uncompressed.", "invalid_request_error", "unsupported_encoding")
    most = rules.gateway.max_body
    too_large = Refusal(413, f"The body may have {most} bytes at most.", "invalid_request_error", "body_too_large")
    if (request.content_length or 0) > most:
        raise too_large
    if request.headers.get("expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0
    try:
        async with asyncio.timeout(rules.gateway.body_deadline):
            return await _read(request, most, too_large)
    except TimeoutError as error:
        raise Refusal(408, "The body did not come in time.", "invalid_request_error", "timeout") from error
    except web.RequestPayloadError as error:
        raise replies.bad_request("The body broke off or is no valid HTTP.") from error


async def _read(request: web.BaseRequest, most: int, too_large: Refusal) -> bytes:
    parts: list[bytes] = []
    size = 0
    while part := await request.content.readany():
        size += len(part)
        if size > most:
            raise too_large
        parts.append(part)
    return b"".join(parts)


def _understood(api: Api, body: bytes) -> Asked:
    try:
        return understand(api, body)
    except BadRequest as error:
        raise replies.bad_request(str(error)) from error


def _request_id(request: web.BaseRequest) -> str:
    given = request.headers.get("x-request-id", "")
    return given if _REQUEST_ID.fullmatch(given) else f"req-{secrets.token_hex(8)}"
