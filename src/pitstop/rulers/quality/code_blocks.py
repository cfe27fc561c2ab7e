"""The code in a reply: fenced or bare, with prose around it, in one block or in several."""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from collections.abc import Sequence

from pitstop.rulers.quality.names import bound, with_needed
from pitstop.rulers.unsplit_thought import without_thought

_FENCE = re.compile(r"([ \t]*)(`{3,}|~{3,})[ \t]*([\w+.#-]*)")
_PYTHON = {"", "python", "py", "python3", "py3"}
_CLOSES_WITHIN = 3  # blanks: a fence that stands further in than the opening one belongs to the code
_BEGINNING = re.compile(r"[ \t]*(?:(?:def|async def|class|import|from)\b|@|\w+\s*=)")
_COMPOUND = re.compile(r"[ \t]*(?:class|def|async|if|elif|else|for|while|with|try|except|finally|match|case)\b.*:\s*$")
_SPAN = re.compile(r"(`{1,3})(?:py|python3?[ \t]+)?([^`\n]+)\1")
_PROSE = re.compile(r"[A-ZÄÖÜ][\w'’]*,? [\w'’]+\b(?! *[=(])")
_LINES = 300  # of bare text around the function that are looked at
_ENDS = 40


def code_for(answer: str, function: str) -> str:
    """The Python code that defines `function`, or nothing.

    Fenced blocks are taken before bare text, and the last one that defines the function before earlier ones, with what
    it needs of the others (imports in one, the function in the next). Examples of calls are not needed, and left out.
    """
    text = without_thought(answer.lstrip("\ufeff")).replace("\r\n", "\n")
    readings = dict.fromkeys((text, text.replace("\u00a0", " "), _unquoted(text)))
    for blocks in (_python(fenced(reading, lax=lax)) for lax in (False, True) for reading in readings):
        if code := _of_blocks(blocks, function):
            return code
    if blocks := _python(fenced(text)):
        return next(filter(None, (_before_prose(block, function) for block in reversed(blocks))), "")
    parts = [text, *(span[1] for span in _SPAN.findall(text)[:_ENDS])]
    return next(filter(None, (_bare(part, function) for part in parts)), "")


def fenced(text: str, *, lax: bool = False) -> list[tuple[str, str]]:
    """Every fenced block with its language; one that is never closed goes on to the end.

    `lax` also takes the fences that Markdown does not: behind the last line of code, or with prose behind them.
    """
    found: list[tuple[str, list[str]]] = []
    fence, within = "", 0
    for line in text.split("\n"):
        opening = _FENCE.match(line)
        closes = opening and fence and opening[2].startswith(fence) and len(opening[1]) <= within
        if closes and opening and not line[opening.end(2) :].strip():
            fence = ""
        elif closes and opening and lax:
            fence = opening[2] if opening[3].casefold() in _PYTHON else ""
            found += [(opening[3], [])] if fence else []
        elif fence and lax and line.rstrip().endswith(fence):
            found[-1][1].append(line.rstrip().removesuffix(fence))
            fence = ""
        elif fence and lax and fence in line:  # and prose behind it
            found[-1][1].append(line.partition(fence)[0])
            fence = ""
        elif fence:
            found[-1][1].append(line)
        elif opening:
            fence, within = opening[2], len(opening[1]) + _CLOSES_WITHIN
            found.append((opening[3], []))
    return [(kind, "\n".join(lines) + "\n") for kind, lines in found]


def defines(code: str, function: str) -> bool:
    """Whether `code` is Python that binds the name `function` at its top level, and does not import it."""
    tree = _tree(code)
    return tree is not None and any(
        function in bound(node) and not isinstance(node, ast.Import | ast.ImportFrom) for node in tree.body
    )


def _python(blocks: Sequence[tuple[str, str]]) -> list[str]:
    return [textwrap.dedent(body) for kind, body in blocks if kind.casefold() in _PYTHON]


def _of_blocks(blocks: Sequence[str], function: str) -> str:
    defining = [number for number, block in enumerate(blocks) if defines(block, function)]
    if not defining:
        together = "\n".join(blocks)
        return together.strip() if defines(together, function) else ""
    last = defining[-1]
    others = [tree for number, block in enumerate(blocks) if number not in defining and (tree := _tree(block))]
    tree = _tree(blocks[last])
    try:
        return with_needed(blocks[last], tree, others).strip() if tree else ""
    except RecursionError:  # of code nested as deep as no answer is
        return blocks[last].strip()


def _before_prose(block: str, function: str) -> str:
    """A block without the prose at its end. Code that is broken stays so: nothing else is left out."""
    lines = block.split("\n")
    for end in [i for i, line in enumerate(lines) if _PROSE.match(line)][:_ENDS]:
        code = "\n".join(lines[:end])
        if defines(code, function):
            return code.strip()
    return ""


def _bare(text: str, function: str) -> str:
    """Code without a fence: from a line that can begin it, past the one that names the function, to where prose is."""
    lines = text.split("\n")
    naming = re.compile(rf"[ \t]*(?:(?:async[ \t]+)?def|class)[ \t]+{function}\b|[ \t]*{function}[ \t]*[:=]")
    for at in [i for i, line in enumerate(lines) if naming.match(line)][:-3:-1]:
        for begin in _begins(lines, at):
            for end in _ends(lines, at):
                code = textwrap.dedent("\n".join(lines[begin:end]))
                if defines(code, function) and not _says_words(code):
                    return code.strip()
    return ""


def _says_words(code: str) -> bool:
    """Whether a statement does nothing: a word of prose on a line of its own is Python, too."""
    tree = _tree(code)
    told = [node.value for node in tree.body if isinstance(node, ast.Expr)] if tree else []
    return any(not isinstance(value, ast.Call | ast.Constant) for value in told)


def _begins(lines: Sequence[str], at: int) -> list[int]:
    """Where code may begin that holds line `at`, the earliest first: a line as far in, inside of nothing."""
    indent = _indent(lines[at])
    inside = indent and next((line for line in lines[at::-1] if line.strip() and _indent(line) < indent), "")
    if inside and _COMPOUND.match(inside) and _parses(f"{inside.strip()} pass"):
        return []
    candidates = range(max(0, at - _LINES), at + 1)
    found = [i for i in candidates if _indent(lines[i]) == indent and _BEGINNING.match(lines[i])]
    return list(dict.fromkeys(found[:3] + found[-3:])) or [at]


def _ends(lines: Sequence[str], at: int) -> list[int]:
    """Behind which line code that holds line `at` may end, the latest first: before an empty or a shallower line."""
    indent = _indent(lines[at])
    found = [
        i
        for i in range(at + 1, min(len(lines), at + _LINES) + 1)
        if lines[i - 1].strip() and (i == len(lines) or not lines[i].strip() or _indent(lines[i]) <= indent)
    ]
    return found[:_ENDS][::-1]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _unquoted(text: str) -> str:
    """Without the marks of a quotation, or of Python's prompt, in front of lines."""
    return re.sub(r"^[ \t]*(?:>>>|\.\.\.|>)(?: |$)", "", text, flags=re.MULTILINE)


def _parses(code: str) -> bool:
    return _tree(code) is not None


def _tree(code: str) -> ast.Module | None:
    """The syntax tree, or None where it is no Python. Nothing is run, and no warning about the code is shown."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
