"""Writes docs/commands.md and docs/configuration.md from the code: `make docs`; a test holds them to it.

A key's words are the comment beside it in `core/config`, so there is one place to say what it means.
"""

from __future__ import annotations

import ast
import inspect
import io
import tokenize
import typing
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Any

import msgspec

from pitstop.cli.main import command_line
from pitstop.core.config.schema import Config
from pitstop.core.units import Duration, Share, Size, format_duration, format_size

DOCS = Path(__file__).parent.parent / "docs"
_KINDS = {
    Size: "size",
    Duration: "duration",
    Share: "share",
    str: "text",
    int: "number",
    float: "number",
    bool: "yes or no",
}


def commands_page() -> str:
    """Every command with its arguments and options, as the command line itself tells them."""
    import typer.main

    root: Any = typer.main.get_command(command_line())
    lines = [
        "# Commands",
        "",
        "Drawn from the command line itself; `pitstop COMMAND --help` says the same. What each is for, with examples,",
        "is in the pages that the README names; the exit codes stand there too.",
        "",
    ]
    lines += [line for name, command in root.commands.items() for line in _command(name, command)]
    return "\n".join(lines).rstrip() + "\n"


def configuration_page() -> str:
    """Every table and key of pitstop.toml with its default."""
    lines = [
        "# Configuration",
        "",
        "`pitstop.toml`, table by table. `NAME` is yours to choose. Sizes, durations and shares carry their unit:",
        "`12 GiB`, `5 min`, `3 %`. Unknown keys are errors that name the nearest known one. `pitstop init` writes an",
        "example, `pitstop config schema` prints the JSON Schema.",
        "",
    ]
    lines += list(_tables("", Config))
    return "\n".join(lines).rstrip() + "\n"


def _command(name: str, command: Any) -> Iterator[str]:
    children = getattr(command, "commands", None)
    if children is not None:
        yield f"## `pitstop {name}`\n\n{command.help or ''}\n"
        for child, inner in children.items():
            yield from _one(f"{name} {child}", inner, "###")
    else:
        yield from _one(name, command, "##")


def _one(name: str, command: Any, level: str) -> Iterator[str]:
    usage = " ".join(_argument(p) for p in command.params if p.param_type_name == "argument")
    yield f"{level} `pitstop {name}{f' {usage}' if usage else ''}`\n\n{inspect.cleandoc(command.help or '')}\n"
    options = [p for p in command.params if p.param_type_name == "option" and not p.hidden and p.name != "help"]
    if options:
        yield "| option | meaning | default |\n|---|---|---|"
        yield from (_option(option) for option in options)
        yield ""


def _argument(argument: Any) -> str:
    name = argument.metavar or argument.name.upper()
    return name if argument.required else f"[{name}]"


def _option(option: Any) -> str:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    metavar = f" `{option.metavar}`" if option.metavar else ""
    default = "" if option.default in (None, False, "", ()) or callable(option.default) else f"`{option.default}`"
    return f"| {names}{metavar} | {_cell(option.help or '')} | {default} |"


def _tables(path: str, kind: type[msgspec.Struct]) -> Iterator[str]:
    """The table of `kind`, then those below it."""
    fields = msgspec.structs.fields(kind)
    hints = typing.get_type_hints(kind)
    comments = _comments(kind)
    below = [(field, inner) for field in fields for inner in [_below(hints[field.name])] if inner]
    own = [field for field in fields if field.name not in {f.name for f, _ in below}]
    if path:
        yield f"## `[{path}]`{_tag(kind)}\n\n{_first_words(kind)}"
        yield "| key | kind | default | meaning |\n|---|---|---|---|"
        yield from (_key(field, hints[field.name], comments.get(field.name, "")) for field in own)
        yield ""
    for field, (named, kinds) in below:
        inner = f"{path}.{field.encode_name}" if path else field.encode_name
        for one in kinds:
            yield from _tables(f"{inner}.NAME" if named else inner, one)


def _below(hint: Any) -> tuple[bool, list[type[msgspec.Struct]]] | None:
    """Whether a field is a table of its own: (named entries?, its structs)."""
    if typing.get_origin(hint) is dict:
        inner = _below(typing.get_args(hint)[1])
        return (True, inner[1]) if inner else None
    members = (
        typing.get_args(hint) if isinstance(hint, UnionType) or typing.get_origin(hint) is typing.Union else (hint,)
    )
    structs = [one for one in members if isinstance(one, type) and issubclass(one, msgspec.Struct)]
    return (False, structs) if structs else None


def _key(field: Any, hint: Any, comment: str) -> str:
    return f"| `{field.encode_name}` | {_kind(hint)} | {_default(field)} | {_cell(comment)} |"


def _kind(hint: Any) -> str:
    if hint in _KINDS:
        return _KINDS[hint]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return " · ".join(f"`{value}`" for value in arguments if value)
    if origin is tuple:
        return f"list of {_kind(arguments[0])}"
    if origin is dict:
        return f"table of {_kind(arguments[1])}"
    return " or ".join(dict.fromkeys(_kind(one) for one in arguments if one is not type(None))) or str(hint)


def _default(field: Any) -> str:
    if field.required:
        return "**required**"
    value = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
    if isinstance(value, Size):
        return format_size(value)
    if isinstance(value, Duration):
        return format_duration(value)
    if isinstance(value, Share):
        return f"{value * 100:g} %"
    return "" if value in (None, "", (), {}) else f"`{_toml(value)}`"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _tag(kind: type[msgspec.Struct]) -> str:
    config = kind.__struct_config__
    return f' with `{config.tag_field} = "{config.tag}"`' if config.tag_field else ""


def _first_words(kind: type[msgspec.Struct]) -> str:
    own = kind.__doc__ or ""
    return f"{inspect.cleandoc(own)}\n" if own and "msgspec" not in own else ""


def _comments(kind: type[msgspec.Struct]) -> dict[str, str]:
    """The comments beside the fields of a struct, by field."""
    source = inspect.getsource(kind)
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    beside = {token.start[0]: token.string.lstrip("# ") for token in tokens if token.type == tokenize.COMMENT}
    body = ast.parse(source).body[0]
    assert isinstance(body, ast.ClassDef)
    found: dict[str, str] = {}
    for node in body.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            found[node.target.id] = " ".join(beside[line] for line in lines if line in beside)
    return found


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def main() -> None:
    (DOCS / "commands.md").write_text(commands_page(), "utf-8")
    (DOCS / "configuration.md").write_text(configuration_page(), "utf-8")


if __name__ == "__main__":
    main()
