"""`WWW-Authenticate` of registries, and the answers of their token services. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit, urlunsplit

import msgspec

_SCHEME = re.compile(
    r"(?:^|,)\s*(?P<scheme>[A-Za-z][A-Za-z0-9-]*)\s+(?=[A-Za-z_-]+\s*=)"
    r"|(?:^|,)\s*(?P<bare>Basic|Negotiate|NTLM)\s*(?=,|$)",
    re.IGNORECASE,
)
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_PARAMETER = re.compile(r'([A-Za-z_-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))')


@dataclass(frozen=True)
class Challenge:
    """`Bearer` with where a token is to be had, or another scheme, for which a password is needed."""

    scheme: str
    realm: str = ""
    service: str = ""
    scope: str = ""


def parse_challenges(headers: list[str]) -> list[Challenge]:
    """Every challenge in the header's values, in their order; what is no challenge is left out."""
    found = []
    for header in headers:
        unquoted = _QUOTED.sub(lambda match: "_" * len(match[0]), header)
        starts = list(_SCHEME.finditer(unquoted))
        for at, match in enumerate(starts):
            end = starts[at + 1].start() if at + 1 < len(starts) else len(header)
            parameters = {
                name.lower(): re.sub(r"\\(.)", r"\1", quoted) if quoted else plain
                for name, quoted, plain in _PARAMETER.findall(header[match.end() : end])
            }
            scheme = (match["scheme"] or match["bare"]).lower()
            wanted = {key: parameters.get(key, "") for key in ("realm", "service", "scope")}
            found.append(Challenge(scheme, **wanted))
    return found


def token_url(challenge: Challenge, asked: str, scope: str) -> str | None:
    """Where to fetch the token; None when the realm is no address, or would send an https question over http."""
    url = urlsplit(urljoin(asked, challenge.realm))
    if url.scheme not in ("http", "https") or not url.hostname:
        return None
    if urlsplit(asked).scheme == "https" and url.scheme != "https":
        return None
    query = [*parse_qsl(url.query), ("scope", challenge.scope or scope)]
    if challenge.service:
        query.append(("service", challenge.service))
    return urlunsplit((url.scheme, url.netloc, url.path or "/", urlencode(query), ""))


class _Token(msgspec.Struct):
    token: str | None = None
    access_token: str | None = None


def parse_token(body: bytes) -> str | None:
    """The token of an answer; None when there is none that can stand in a header."""
    try:
        found = msgspec.json.decode(body, type=_Token)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    token = found.token or found.access_token
    return token if token and re.fullmatch(r"[!-~]+", token) else None
