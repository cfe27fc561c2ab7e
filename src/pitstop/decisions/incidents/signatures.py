"""Signatures: what a known failure says, as data. Pure; files are read by `services.incidents.catalogue`.

A pattern is matched against the beginning of the *message* (all prefixes, file names and line numbers are gone, and of
an exception its class stands in front), so that a sentence which merely quotes the words does not match. Begin it with
`.*` to look anywhere.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable
from enum import StrEnum

import msgspec

from pitstop.core.errors import UsageError


class Role(StrEnum):
    """What a line is in the story of a failure."""

    CAUSE = "cause"  # a failure by itself
    VICTIM = "victim"  # suffers from a failure elsewhere: a peer that waits in vain
    ECHO = "echo"  # repeats that something failed, without saying what
    REQUEST = "request"  # begins the traceback of one request, which the engine survives
    HARMLESS = "harmless"  # an exception that is no failure
    BOOT = "boot"
    READY = "ready"
    STOP = "stop"  # somebody asked it to end
    END = "end"  # it has ended
    WAIT = "wait"  # a worker waits: benign while compiling, a hang while serving
    WORK = "work"  # requests run or tokens come
    UNKNOWN = "unknown"  # an exception that no signature knows; never in a file


AROUND = (Role.BOOT, Role.READY, Role.STOP, Role.END, Role.WORK)  # what happened around a failure


class When(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way in which a failure speaks; `trace` must occur in the traceback's function names or code as well."""

    pattern: str
    trace: str = ""


class Signature(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    summary: str = ""
    when: tuple[When, ...] = ()
    pattern: str = ""  # the short form of a single `when`
    role: Role = Role.CAUSE
    severity: str = "crash"  # crash | hang | refused | note
    explained: bool = True  # whether the cause is known, not only the kind
    advice: str = ""
    upstream: str = ""
    anchors: tuple[str, ...] = ()  # literal text that finds its line in a long log; exceptions in tracebacks need none
    consequences: tuple[str, ...] = ()


class SignatureFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    signature: tuple[Signature, ...] = ()


class _Compiled(msgspec.Struct, frozen=True):
    signature: Signature
    ways: tuple[tuple[re.Pattern[str], re.Pattern[str] | None], ...]


class Catalogue:
    """Signatures in the order in which they are tried. UsageError names one that cannot be used."""

    def __init__(self, signatures: Iterable[Signature]) -> None:
        self.signatures = tuple(signatures)
        compiled = [_compiled(one) for one in self.signatures]
        headers = (Role.REQUEST,)
        self._headers = tuple(one for one in compiled if one.signature.role in headers)
        self._messages = tuple(one for one in compiled if one.signature.role not in headers)
        self._by_id = {one.id: one for one in reversed(self.signatures)}

    def known(self, signature_id: str) -> Signature | None:
        return self._by_id.get(signature_id)

    def match(self, message: str, trace: str = "") -> Signature | None:
        """The first signature that this message speaks for."""
        return next((one.signature for one in self._messages if _speaks(one, message, trace)), None)

    def begins_request(self, header: str) -> bool:
        """Whether a traceback under this line belongs to one request."""
        return any(_speaks(one, header, "") for one in self._headers)

    def anchors(self) -> list[str]:
        """Every literal that a long log is searched for on behalf of a failure."""
        return self._anchors(lambda role: role not in AROUND and role is not Role.REQUEST)

    def anchors_around(self, *roles: Role) -> list[str]:
        """Literals of lines that only matter around a failure."""
        return self._anchors(lambda role: role in roles)

    def _anchors(self, wanted: Callable[[Role], bool]) -> list[str]:
        return sorted({anchor for one in self.signatures if wanted(one.role) for anchor in one.anchors})


def parse_signatures(text: str, name: str) -> tuple[Signature, ...]:
    """Read a file of signatures; UsageError says what is wrong with it and where."""
    try:
        found = msgspec.convert(tomllib.loads(text), SignatureFile)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise UsageError(f"{name} is no file of signatures: {error}.", hint=_HINT) from error
    for one in found.signature:
        _check(one, name)
    return found.signature


_HINT = "docs/incidents.md shows one; every signature needs an id, a summary and a pattern."


def _check(one: Signature, name: str) -> None:
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,79}", one.id):
        raise UsageError(f"{name}: {one.id!r} is no id of a signature.", hint="Use small letters, digits, `-` and `.`.")
    if not one.pattern and not one.when:
        raise UsageError(f"{name}: signature {one.id} has no pattern.", hint=_HINT)
    if re.search(r"\.py\\?:|\.py\", line", one.pattern + "".join(way.pattern for way in one.when)):
        raise UsageError(
            f"{name}: signature {one.id} matches a file and line, which change with every version.",
            hint="Match the message alone; prefixes are gone when a pattern is tried.",
        )
    _compiled(one)


def _compiled(one: Signature) -> _Compiled:
    ways = one.when or (When(one.pattern),)
    try:
        return _Compiled(one, tuple((re.compile(way.pattern), _optional(way.trace)) for way in ways))
    except re.error as error:
        raise UsageError(f"signature {one.id}: its pattern is no regular expression: {error}.", hint=_HINT) from error


def _optional(pattern: str) -> re.Pattern[str] | None:
    return re.compile(pattern) if pattern else None


def _speaks(one: _Compiled, message: str, trace: str) -> bool:
    return any(pattern.match(message) and (within is None or within.search(trace)) for pattern, within in one.ways)
