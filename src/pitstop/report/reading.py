"""A run or trial document out of bytes, with a sentence for whatever is wrong with them."""

from __future__ import annotations

import msgspec

from pitstop.core.documents import RunDocument, TrialDocument
from pitstop.core.errors import UsageError
from pitstop.report.clean import one_line, shorten

Document = RunDocument | TrialDocument

_KINDS: dict[str, tuple[type[RunDocument] | type[TrialDocument], int]] = {
    "pitstop.run": (RunDocument, 1),
    "pitstop.trial": (TrialDocument, 1),
}
_MAKE_ONE = "Make one with `pitstop bench --json --out FILE`, or look for a trial with `pitstop trial list`."


class _Head(msgspec.Struct):
    schema: str = ""
    version: int = 1


def read_document(content: bytes, name: str) -> Document:
    """The document in `content`; UsageError names the file `name`, and the key that is wrong."""
    try:
        head = msgspec.json.decode(content, type=_Head)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{name} is not a document of pitstop: {_short(error)}.", hint=_MAKE_ONE) from error
    if head.schema not in _KINDS:
        told = f"its schema is {shorten(one_line(head.schema), 60)!r}" if head.schema else "it names no schema"
        raise UsageError(f"{name} is not a document of pitstop: {told}.", hint=_MAKE_ONE)
    kind, newest = _KINDS[head.schema]
    if head.version > newest:
        raise UsageError(
            f"{name} was written by a newer pitstop: version {head.version} of {head.schema}, this one reads {newest}.",
            hint="Update pitstop, then try again.",
        )
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{name} is damaged: {_short(error)}.", hint=_MAKE_ONE) from error


def _short(error: BaseException) -> str:
    return shorten(one_line(error), 200) or type(error).__name__
