"""Who may ask: keys with limits, in a file that never holds a key itself.

A key is 256 random bits, so one round of SHA-256 is enough to store it by (nothing can be guessed from the digest).
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from pitstop.core.durable import write_durably
from pitstop.core.errors import UsageError
from pitstop.core.home import Home

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")  # it stands in metrics and log lines
_KEY = re.compile(r"pit-([0-9a-f]{12})-[A-Za-z0-9_-]{43}")
_NOBODY = hashlib.sha256(b"").hexdigest()


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """One key as it is stored. `id` is the part of it that is no secret."""

    id: str
    name: str
    digest: str  # SHA-256 of the whole key, hexadecimal
    created_at_s: float
    routes: tuple[str, ...] = ()  # empty: all
    rate: str = ""  # 60/min; empty: no limit
    concurrency: int | None = None
    expires_at_s: float | None = None

    def may_use(self, route: str) -> bool:
        return not self.routes or route in self.routes


class KeyFile(msgspec.Struct, kw_only=True):
    keys: list[Key] = []
    version: int = 1


def keys_path(home: Home) -> Path:
    return home.root / "gateway" / "keys.json"


def read_keys(home: Home) -> list[Key]:
    """The stored keys; none when there is no file. UsageError when it cannot be read or is damaged."""
    path = keys_path(home)
    try:
        return msgspec.json.decode(path.read_bytes(), type=KeyFile).keys
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise UsageError(
            f"the gateway's keys in {path} cannot be read: {error}.",
            hint="Put the file back from a copy, or delete it and make new keys with `pitstop gateway key add NAME`.",
        ) from error


def add_key(home: Home, key: Callable[[str, str], Key], name: str) -> str:
    """Make a key and store it; returns it, for the only time. `key(id, digest)` says what it may do.

    UsageError when the name is taken or could not stand in a log line.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot name a key: letters, digits and . _ @ - are allowed, 64 at most.")
    identifier = secrets.token_hex(6)
    secret = f"pit-{identifier}-{secrets.token_urlsafe(32)}"
    with _changing(home) as keys:
        if any(existing.name == name for existing in keys):
            raise UsageError(
                f"there is a key named {name!r} already.", hint=f"Choose another name, or revoke it: key revoke {name}."
            )
        keys.append(key(identifier, _digest(secret)))
    return secret


def known_key(home: Home, name: str) -> Key:
    """The key of this name; UsageError when there is none."""
    return _of_name(read_keys(home), name)


def revoke_key(home: Home, name: str) -> None:
    """Delete a key; UsageError when there is none of this name."""
    with _changing(home) as keys:
        keys.remove(_of_name(keys, name))


class KeyRing:
    """The keys in memory, asked once per request."""

    def __init__(self, keys: Sequence[Key] = ()) -> None:
        self._by_id = {key.id: key for key in keys}

    def __len__(self) -> int:
        return len(self._by_id)

    def holder(self, presented: str, now_s: float) -> Key | None:
        """Whose key this is; None for an unknown, revoked or expired one.

        Every answer costs one digest and one comparison of equal length, whichever part is wrong: the id is no secret,
        and the digests are compared in constant time.
        """
        match = _KEY.fullmatch(presented)
        key = self._by_id.get(match.group(1)) if match else None
        right = hmac.compare_digest(_digest(presented), key.digest if key else _NOBODY)
        if key is None or not right:
            return None
        return None if key.expires_at_s is not None and now_s >= key.expires_at_s else key


def presented_keys(authorization: Sequence[str], x_api_key: Sequence[str]) -> list[str]:
    """What a request shows as keys: `Authorization: Bearer …`, in any case, and `x-api-key`."""
    shown = [value.partition(" ") for value in authorization[:4]]
    bearers = [token.strip() for scheme, _, token in shown if scheme.lower() == "bearer"]
    return [token for token in (*bearers, *(value.strip() for value in x_api_key[:4])) if token]


def _of_name(keys: Sequence[Key], name: str) -> Key:
    for key in keys:
        if key.name == name:
            return key
    known = ", ".join(key.name for key in keys) or "none"
    raise UsageError(f"there is no key named {name!r}; there are: {known}.")


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


@contextlib.contextmanager
def _changing(home: Home) -> Iterator[list[Key]]:
    """The keys under a lock; written back when the block ends well."""
    path = keys_path(home)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = os.open(path.with_name("keys.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        keys = read_keys(home)
        yield keys
        _write(path, KeyFile(keys=keys))
    finally:
        os.close(lock)


def _write(path: Path, file: KeyFile) -> None:
    try:
        write_durably(path, msgspec.json.format(msgspec.json.encode(file), indent=2) + b"\n")
    except OSError as error:
        raise UsageError(f"the gateway's keys in {path} cannot be written: {error.strerror or error}.") from error
