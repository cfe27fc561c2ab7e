"""A URL taken apart once, so that the hot path only writes bytes."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from pitstop import __version__
from pitstop.core.errors import UsageError

_UNSENDABLE = {chr(code) for code in (*range(33), 127)}  # control characters and blanks would split the request
_SAFE = "/?%:@!$&'()*+,;=~-._"  # what a path and its query may hold unescaped (RFC 3986)
_LIKE = "It looks like http://127.0.0.1:8000/v1."


@dataclass(frozen=True)
class Target:
    """`path` starts with a slash and may end in a query; `authority` is what the Host header says."""

    host: str
    port: int
    tls: bool
    path: str
    authority: str

    @property
    def url(self) -> str:
        """What a message may show; there are no credentials in it."""
        return f"{'https' if self.tls else 'http'}://{self.authority}{self.path}"


def parse_target(base_url: str, path: str = "") -> Target:
    """Take an http or https base URL apart and append `path`, which may carry a query.

    UsageError says what is wrong, and never repeats a password.
    """
    try:
        parts = urlsplit(base_url)
        port, host = parts.port, parts.hostname or ""
    except ValueError as bad:
        raise UsageError(f"the URL cannot be read ({bad})", hint=_LIKE) from None
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            "the URL contains a user name or password", hint="Keys come from the environment: api_key_env."
        )
    if _UNSENDABLE.intersection(base_url + path):
        raise UsageError(f"the URL {base_url + path!r} contains blanks or control characters", hint=_LIKE)
    if parts.scheme not in {"http", "https"} or not host:
        raise UsageError(f"{base_url!r} is no http or https URL", hint=_LIKE)
    if parts.query or parts.fragment:
        raise UsageError(f"the base URL {base_url!r} carries a query or a fragment", hint="It ends in a path: /v1.")
    tls, host = parts.scheme == "https", _ascii_host(host)
    shown = f"[{host}]" if ":" in host else host
    return Target(
        host=host,
        port=port or (443 if tls else 80),
        tls=tls,
        path=quote(parts.path.rstrip("/") + path, safe=_SAFE) or "/",
        authority=f"{shown}:{port}" if port else shown,
    )


def request_head(target: Target, *, body_bytes: int | None, api_key: str | None) -> bytes:
    """The request line and headers, ready to send. `body_bytes` None makes it a GET.

    UsageError when the key cannot stand in a header (and without showing it).
    """
    method = "GET" if body_bytes is None else "POST"
    lines = [
        f"{method} {target.path} HTTP/1.1",
        f"Host: {target.authority}",
        f"User-Agent: pitstop/{__version__}",
        "Accept: text/event-stream, application/json, text/plain, */*",
        "Accept-Encoding: identity",
        "Connection: close",
    ]
    if api_key is not None:
        lines.append(f"Authorization: Bearer {_checked(api_key)}")
    if body_bytes is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {body_bytes}"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")


def _checked(api_key: str) -> str:
    if not api_key or not api_key.isascii() or _UNSENDABLE.intersection(api_key):
        raise UsageError(
            "the API key is empty or contains blanks, line ends or characters outside ASCII",
            hint="Look at the environment variable that api_key_env names; a trailing newline is the usual cause.",
        )
    return api_key


def _ascii_host(host: str) -> str:
    try:
        return host if host.isascii() else host.encode("idna").decode("ascii")
    except UnicodeError:
        raise UsageError(f"{host!r} is no host name", hint=_LIKE) from None
