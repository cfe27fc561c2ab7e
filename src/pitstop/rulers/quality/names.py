"""Which names a piece of Python binds and needs, and which statements of others give it what it needs."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence

_BUILT_IN = frozenset(dir(builtins))
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def bound(statement: ast.stmt) -> set[str]:
    """What a statement binds where it stands, `*` for whatever a module has.

    Not what is bound only when a file is run by itself, nor what is only annotated.
    """
    names: set[str] = set()
    parts: list[ast.AST] = [statement]
    while parts:
        part = parts.pop()
        names |= _binds(part)
        by_itself = isinstance(part, ast.If) and "__name__" in _read(part.test)
        annotated = isinstance(part, ast.AnnAssign) and part.value is None
        if not (by_itself or annotated or isinstance(part, _SCOPES)):
            parts += ast.iter_child_nodes(part)
    return names


def needed(tree: ast.AST) -> set[str]:
    """Names that are read and bound nowhere within, and that Python does not have by itself."""
    return _read(tree) - {name for node in ast.walk(tree) for name in _binds(node)} - _BUILT_IN


def with_needed(code: str, tree: ast.Module, others: Sequence[ast.Module]) -> str:
    """`code`, whose tree it is, behind those statements of `others` that bind what it, or they, need."""
    binding = {name: node for other in others for node in other.body for name in bound(node)}
    taken = [node for name, node in binding.items() if name == "*"]
    wanted = needed(tree)
    while wanted:
        node = binding.get(wanted.pop())
        if node is not None and node not in taken:
            taken.append(node)
            wanted |= needed(node)
    before = [node for other in others for node in other.body if node in taken]
    return _joined(before, tree) if before else code


def _joined(before: Sequence[ast.stmt], tree: ast.Module) -> str:
    """One module, with what has to stand at its beginning there."""
    both = [*before, *tree.body]
    future = [node for node in both if isinstance(node, ast.ImportFrom) and node.module == "__future__"]
    return ast.unparse(ast.Module([*future, *(node for node in both if node not in future)], []))


def _read(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def _binds(node: ast.AST) -> set[str]:
    """What this very node binds, without those within it."""
    match node:
        case ast.FunctionDef(name=str(name)) | ast.AsyncFunctionDef(name=str(name)) | ast.ClassDef(name=str(name)):
            return {name}
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            return {alias.asname or alias.name.partition(".")[0] for alias in aliases}
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
            return {name}
    return set()
