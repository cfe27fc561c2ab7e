"""Unknown keys, found before types are checked, with the nearest key that exists."""

from __future__ import annotations

import difflib
import typing
from collections.abc import Iterator, Sequence
from types import UnionType
from typing import Any

import msgspec


def nearest(word: str, known: typing.Iterable[str]) -> str:
    """The closest known word, as the end of a sentence; empty when nothing is close."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f"; did you mean `{close[0]}`?" if close else ""


def unknown_keys(value: Any, kind: Any, path: str = "") -> Iterator[str]:
    """Yield a sentence for every key of `value` that `kind` does not have."""
    kind = _struct_for(value, kind)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield from _in_struct(value, kind, path)
    elif typing.get_origin(kind) is dict and isinstance(value, dict):
        for key, inner in value.items():
            yield from unknown_keys(inner, typing.get_args(kind)[1], f"{path}.{key}" if path else key)


def choices_at(path: Sequence[str], value: Any, kind: Any) -> tuple[str, ...]:
    """What may stand at `path` in `value`, where `kind` says that it is one of a few words; empty where it does not."""
    for name in path:
        tagged = [member for member in typing.get_args(kind) if _tag_field(member) == name]
        if tagged:
            return tuple(str(member.__struct_config__.tag) for member in tagged)
        kind = _kind_below(_struct_for(value, kind), name)
        value = value.get(name) if isinstance(value, dict) else None
    return tuple(map(str, typing.get_args(kind))) if typing.get_origin(kind) is typing.Literal else ()


def _tag_field(kind: Any) -> str | None:
    config = getattr(kind, "__struct_config__", None)
    return config.tag_field if config is not None else None


def _kind_below(kind: Any, name: str) -> Any:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        fields = {field.encode_name: field.name for field in msgspec.structs.fields(kind)}
        return typing.get_type_hints(kind).get(fields.get(name, name))
    inner, origin = typing.get_args(kind), typing.get_origin(kind)
    return inner[-1] if origin is dict else inner[0] if origin is tuple else None


def _in_struct(value: Any, kind: type[msgspec.Struct], path: str) -> Iterator[str]:
    if not isinstance(value, dict):
        return
    hints = typing.get_type_hints(kind)
    names = [field.encode_name for field in msgspec.structs.fields(kind)]
    tag_field = kind.__struct_config__.tag_field
    for key, inner in value.items():
        where = f"{path}.{key}" if path else key
        if key == tag_field:
            continue
        if key not in names:
            yield f"unknown key `{where}`{nearest(key, names)}"
        else:
            yield from unknown_keys(inner, hints[key], where)


def _struct_for(value: Any, kind: Any) -> Any:
    """Pick the member of a union that `value` means: by tag, or the only one that fits."""
    if not isinstance(kind, UnionType) and typing.get_origin(kind) is not typing.Union:
        return kind
    members = [member for member in typing.get_args(kind) if member is not type(None)]
    if len(members) == 1:
        return members[0]
    if not isinstance(value, dict):
        return None
    for member in members:
        config = getattr(member, "__struct_config__", None)
        if config is not None and value.get(config.tag_field) == config.tag:
            return member
    return None
