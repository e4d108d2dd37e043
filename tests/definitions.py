"""What a module of Python defines at its top, read from its source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path


def list_defined(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """The names of functions, classes and values, imports aside, each with its statement."""
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node
            case ast.Assign(targets=targets):
                yield from ((target.id, node) for target in targets if isinstance(target, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name, node
            case _:
                pass


def read_defined(path: Path) -> list[tuple[str, ast.stmt]]:
    """The same of a file."""
    return list(list_defined(ast.parse(path.read_text("utf-8"))))
