"""The code in a reply: fenced or bare, with prose around it, in one block or in several."""

from __future__ import annotations

import ast
import re
import textwrap
import warnings

from pitstop.rulers.quality.answers import said

_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*([\w+.#-]*)")
_PYTHON = {"", "python", "py", "python3", "py3"}
_BEGINNING = re.compile(r"(?:def|async def|class|import|from|@)\b|@|\w+\s*=")
_LINES = 400  # of bare text that are tried as a beginning or an end of code


def code_for(answer: str, function: str) -> str:
    """The Python code that defines `function`, or nothing.

    Fenced blocks are taken before bare text, the last one that defines the function before earlier ones, and all of
    them together where it takes several (imports in one, the function in the next).
    """
    text = said(answer)
    blocks = [textwrap.dedent(body) for kind, body in fenced(text) if kind.casefold() in _PYTHON]
    defining = [block for block in blocks if defines(block, function)]
    if defining:
        last = defining[-1]
        earlier = "\n".join(block for block in blocks[: blocks.index(last)] if _parses(block) and block not in defining)
        return f"{earlier}\n{last}".strip()
    together = "\n".join(blocks)
    if defines(together, function):
        return together.strip()
    return "" if blocks else _bare(text, function)


def fenced(text: str) -> list[tuple[str, str]]:
    """Every fenced block with its language; one that is never closed goes on to the end."""
    found: list[tuple[str, list[str]]] = []
    fence = ""
    for line in text.split("\n"):
        opening = _FENCE.match(line)
        if fence and opening and opening[1].startswith(fence) and not opening[2]:
            fence = ""
        elif fence:
            found[-1][1].append(line)
        elif opening:
            fence = opening[1]
            found.append((opening[2], []))
    return [(kind, "\n".join(lines) + "\n") for kind, lines in found]


def defines(code: str, function: str) -> bool:
    """Whether `code` is Python that binds the name `function` at its top level."""
    tree = _tree(code)
    return tree is not None and any(_binds(node, function) for node in tree.body)


def _binds(node: ast.stmt, function: str) -> bool:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return node.name == function
    targets = node.targets if isinstance(node, ast.Assign) else []
    return any(isinstance(target, ast.Name) and target.id == function for target in targets)


def _bare(text: str, function: str) -> str:
    """Code without a fence: from a line that can begin it to one behind which prose goes on."""
    lines = textwrap.dedent(text).split("\n")[:_LINES]
    begins = [i for i, line in enumerate(lines) if _BEGINNING.match(line)][:3]
    ends = [i for i in range(len(lines), 0, -1) if i == len(lines) or _may_end(lines[i - 1], lines[i])][:60]
    for begin in begins:
        for end in ends:
            code = "\n".join(lines[begin:end])
            if end > begin and defines(code, function):
                return code.strip()
    return ""


def _may_end(line: str, following: str) -> bool:
    """Behind the last indented line, or before an empty one."""
    return bool(line.strip()) and not following.startswith((" ", "\t"))


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
