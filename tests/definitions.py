"""The project's modules, and what each defines at its top, read from its source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDERS: Final = {"wakefold": "core", "wakefold_shell": "shell", "wakefold_laws": "property_tests"}
"""The folder of each package."""


def list_referenced() -> Iterator[tuple[str, Path]]:
    """The modules and packages whose names the reference has: all but the command line's."""
    for package, folder in FOLDERS.items():
        for path in sorted((ROOT / folder / package).rglob("*.py")):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            if "cli" not in parts:
                yield ".".join(parts).removesuffix(".__init__"), path


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


@cache
def read_defined(path: Path) -> list[tuple[str, ast.stmt]]:
    """The same of a file."""
    return list(list_defined(ast.parse(path.read_text("utf-8"))))
