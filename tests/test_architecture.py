"""The walls of the house hold, and each of them can fail.

The checks here work on source text; import-linter and ruff are run as a developer runs them. For each
wall one violation is planted in a copy of the packages.
"""

from __future__ import annotations

import ast
import importlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeGuard, get_args

import msgspec
import pytest

ROOT: Final = Path(__file__).resolve().parents[1]
SOURCE_ROOTS: Final = ("core", "shell", "property_tests")
CORE: Final = sorted((ROOT / "core" / "wakefold").rglob("*.py"))
SHELL: Final = sorted((ROOT / "shell" / "wakefold_shell").rglob("*.py"))

LIBRARIES: Final = ("msgspec", "returns", "rpds", "whenever", "wakefold")
PURE_MODULES: Final = (
    "__future__",
    "bisect",
    "collections.abc",
    "difflib",
    "enum",
    "hashlib",  # a digest is a function of its bytes alone
    "json",
    "math",
    "operator",
    "re",
    "typing",
)
IMPURE_BUILTINS: Final = frozenset(
    ("open", "print", "input", "eval", "exec", "compile", "breakpoint", "__import__", "__builtins__")
)
MODULE_LINES_MAX: Final = 330
FUNCTION_LINES_MAX: Final = 40

Function = ast.FunctionDef | ast.AsyncFunctionDef


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def list_imports(tree: ast.AST) -> Iterator[str]:
    """Every module that is imported anywhere in a source, relative ones with their dots."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


def find_foreign_imports(tree: ast.AST) -> list[str]:
    """The imports that the core may not have: anything but the listed modules."""
    return [
        name
        for name in list_imports(tree)
        if name not in PURE_MODULES and name.split(".")[0] not in LIBRARIES
    ]


def find_async_code(tree: ast.AST) -> list[int]:
    """The lines of everything asynchronous."""
    kinds = (ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Await)
    return [
        node.lineno if isinstance(node, kinds) else node.target.lineno
        for node in ast.walk(tree)
        if isinstance(node, kinds) or (isinstance(node, ast.comprehension) and node.is_async)
    ]


def find_changing_globals(tree: ast.AST) -> list[int]:
    """The lines that declare a name of an outer scope as their own."""
    return [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Global | ast.Nonlocal)]


def find_impure_builtins(tree: ast.AST) -> list[str]:
    """The built-in doors to the world that are named, called or not."""
    return [
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in IMPURE_BUILTINS
    ]


def find_undocumented(tree: ast.Module) -> list[str]:
    """The module itself, and its public classes, functions and methods, that have no docstring."""
    found = [] if ast.get_docstring(tree) else ["<module>"]
    rows: list[tuple[str, ast.stmt]] = [("", node) for node in tree.body]
    for prefix, node in rows:
        if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_"):
            if not ast.get_docstring(node):
                found.append(prefix + node.name)
            if isinstance(node, ast.ClassDef):
                rows.extend((f"{node.name}.", child) for child in node.body)
    return found


def find_long_functions(tree: ast.AST) -> list[tuple[str, int]]:
    """The functions that are longer than allowed, with their lines."""
    lengths = [
        (node.name, (node.end_lineno or node.lineno) - node.lineno + 1)
        for node in ast.walk(tree)
        if isinstance(node, Function)
    ]
    return [(name, lines) for name, lines in lengths if lines > FUNCTION_LINES_MAX]


def list_functions(tree: ast.Module) -> set[str]:
    """The functions that a module defines."""
    return {node.name for node in tree.body if isinstance(node, Function)}


@pytest.mark.parametrize("path", CORE, ids=_name)
def test_the_core_is_pure(path: Path) -> None:
    """Only listed imports, nothing asynchronous, no globals that change, no door to the world."""
    tree = _parse(path)
    assert find_foreign_imports(tree) == []
    assert find_async_code(tree) == []
    assert find_changing_globals(tree) == []
    assert find_impure_builtins(tree) == []


@pytest.mark.parametrize("path", [*CORE, *SHELL], ids=_name)
def test_modules_are_small_and_documented(path: Path) -> None:
    """A paragraph opens each module, a sentence each public name, and all keep the budget of lines."""
    tree = _parse(path)
    assert find_undocumented(tree) == []
    assert find_long_functions(tree) == []
    assert len(path.read_text("utf-8").splitlines()) <= MODULE_LINES_MAX


def _list_core_values() -> list[object]:
    modules = [importlib.import_module(f"wakefold.{path.stem}") for path in CORE]
    return [value for module in modules for value in vars(module).values()]


def _is_struct(value: object) -> TypeGuard[type[msgspec.Struct]]:
    return isinstance(value, type) and issubclass(value, msgspec.Struct)


def test_every_value_of_the_core_is_frozen() -> None:
    """No ledger, record, decision or rejection is ever changed in place."""
    structs = {value for value in _list_core_values() if _is_struct(value)} - {msgspec.Struct}
    assert [kind for kind in structs if not kind.__struct_config__.frozen] == []
    assert len(structs) > 30


def test_the_members_of_every_union_are_told_apart() -> None:
    """Each has a tag of its own under the union's one name for it."""
    unions = {u for u in _list_core_values() if all(map(_is_struct, get_args(u) or [None]))}
    for union in unions:
        configs = [member.__struct_config__ for member in get_args(union)]
        assert len({config.tag for config in configs} - {None}) == len(configs), union
        assert len({config.tag_field for config in configs}) == 1
    assert len(unions) > 5


@pytest.mark.parametrize("paths", [CORE, SHELL], ids=["core", "shell"])
def test_no_module_is_named_like_a_function(paths: list[Path]) -> None:
    """Modules are nouns, functions are verbs: `import wakefold.fold` would give the function."""
    functions = set().union(*(list_functions(_parse(path)) for path in paths))
    assert functions & {path.stem for path in paths} == set()
    assert len(functions) > len(paths)


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import time", ["time"]),
        ("import json, os.path", ["os.path"]),
        ("import collections", ["collections"]),
        ("from collections import abc", ["collections"]),
        ("from datetime import datetime", ["datetime"]),
        ("import glob", ["glob"]),
        ("import jsonx", ["jsonx"]),
        ("from . import events", ["."]),
        ("from .events import Event", [".events"]),
        ("from wakefold_shell import owner", ["wakefold_shell"]),
        ("import msgspecs", ["msgspecs"]),
        ("def f():\n    from socket import socket", ["socket"]),
        ("if TYPE_CHECKING:\n    import asyncio", ["asyncio"]),
        ("try:\n    import zoneinfo\nexcept ImportError:\n    pass", ["zoneinfo"]),
        ("import msgspec.json, re, typing\nfrom wakefold.events import Event", []),
        ("from __future__ import annotations\nfrom collections.abc import Iterable", []),
    ],
)
def test_an_import_that_is_not_listed_is_seen(source: str, found: list[str]) -> None:
    """At the top, in a function, under a condition, alone or beside others."""
    assert find_foreign_imports(ast.parse(source)) == found


@pytest.mark.parametrize(
    "source",
    [
        "async def f(): pass",
        "class A:\n    async def f(self): pass",
        "def f():\n    async def g(): pass",
        "[x async for x in xs]",
        "await x",
    ],
)
def test_async_code_is_seen(source: str) -> None:
    """Wherever it stands."""
    assert find_async_code(ast.parse(source)) != []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("open('x')", ["open"]),
        ("with open('x') as file: file.read()", ["open"]),
        ("read = open", ["open"]),
        ("def f():\n    print(1)", ["print"]),
        ("__import__('time').time()", ["__import__"]),
        (
            "eval('1'), exec('1'), input(), compile('', '', 'exec')",
            ["eval", "exec", "input", "compile"],
        ),
        ("__builtins__['open']", ["__builtins__"]),
        ("path.open(), self.print()", []),
    ],
)
def test_a_door_to_the_world_is_seen(source: str, found: list[str]) -> None:
    """Called, or only named and called under another name."""
    assert sorted(find_impure_builtins(ast.parse(source))) == sorted(found)


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("def f():\n    global x", [2]),
        ("def f():\n    x = 1\n    def g():\n        nonlocal x", [4]),
        ("x = 1", []),
    ],
)
def test_a_global_that_changes_is_seen(source: str, lines: list[int]) -> None:
    """By `global` or by `nonlocal`."""
    assert find_changing_globals(ast.parse(source)) == lines


def test_what_has_no_docstring_is_seen() -> None:
    """Module, class, method and function, private ones and what stands inside functions aside."""
    source = """
class A:
    def b(self):
        def inner(): pass
    def _c(self): pass
class _D:
    def e(self): pass
def f(): pass
async def g(): pass
def h():
    '''Said.'''
"""
    assert find_undocumented(ast.parse(source)) == ["<module>", "A", "f", "g", "A.b"]


def test_a_long_function_is_seen() -> None:
    """Forty lines are allowed, one more is not."""
    body = "\n".join("    pass" for _ in range(39))
    assert find_long_functions(ast.parse(f"def f():\n{body}")) == []
    assert find_long_functions(ast.parse(f"class A:\n  def f():\n{body}\n    pass")) == [("f", 41)]


FRESH: Final = """
import json, sys
before = set(sys.modules)
sys.path.insert(0, sys.argv[1])
import wakefold
print(json.dumps([wakefold.__file__, sorted(set(sys.modules) - before)]))
"""


def test_importing_the_core_loads_no_shell() -> None:
    """In a fresh interpreter neither the shell, nor the laws, nor an event loop comes with it."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", FRESH, ROOT / "core"], check=True, capture_output=True
    )
    file, loaded = json.loads(done.stdout)
    assert Path(file) == ROOT / "core" / "wakefold" / "__init__.py"
    tops = {name.split(".")[0] for name in loaded}
    assert tops >= {"wakefold", "msgspec", "returns", "whenever"}
    unwanted = {"wakefold_shell", "wakefold_laws", "anyio", "asyncio", "trio", "hypothesis", "socket"}
    assert (
        tops & (unwanted | {"subprocess", "threading", "logging", "typer", "rich", "zoneinfo"}) == set()
    )


def _lint_imports(root: Path) -> tuple[int, str]:
    """What `lint-imports` says of the packages under a root."""
    done = subprocess.run(
        [
            *(sys.executable, "-c", "from importlinter.cli import *; lint_imports_command()"),
            *("--config", "pyproject.toml", "--no-cache", "--no-logo"),
        ],
        cwd=root,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(str(root / top) for top in SOURCE_ROOTS)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def _lint_source(root: Path, *arguments: str) -> str:
    """What ruff says of the core under a root, one line a fault."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "ruff", "check", "--no-cache", "--output-format", "concise"),
            *(*arguments, "core"),
        ],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


def test_the_contracts_hold() -> None:
    """Each contract of import-linter is kept."""
    status, said = _lint_imports(ROOT)
    assert status == 0, said
    assert "the core is pure KEPT" in said
    assert "rooms of the core, top to bottom KEPT" in said


def test_the_core_calls_nothing_that_is_banned() -> None:
    """Ruff's list of banned names is kept."""
    assert _lint_source(ROOT, "--select", "TID251") == "All checks passed!\n"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the packages and of their configuration, to plant violations in."""
    root = tmp_path_factory.mktemp("house")
    shutil.copy(ROOT / "pyproject.toml", root)
    for top in SOURCE_ROOTS:
        for package in (ROOT / top).glob("wakefold*"):
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(package, root / top / package.name, ignore=ignored)
    return root


def test_the_copied_house_is_sound(house: Path) -> None:
    """Before anything is planted in it, both tools are content."""
    status, said = _lint_imports(house)
    assert status == 0, said
    assert _lint_source(house) == "All checks passed!\n"


@pytest.fixture
def plant(house: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """The copied core, made whole again after each violation."""
    module, text = request.param
    path = house / "core" / "wakefold" / f"{module}.py"
    before = path.read_text("utf-8") if path.exists() else None
    path.write_text(f"{before or ''}\n\n{text}\n", "utf-8")
    yield house
    if before is None:
        path.unlink()
    else:
        path.write_text(before, "utf-8")


@pytest.mark.parametrize(
    ("plant", "broken"),
    [
        (("wakes", "import time"), "the core is pure"),
        (("wakes", "def late():\n    import socket"), "the core is pure"),
        (("wakes", "from wakefold_shell import owner"), "the core is pure"),
        (("instants", "from wakefold.ledger import fold"), "rooms of the core, top to bottom"),
        (("views", "import wakefold.guard"), "rooms of the core, top to bottom"),
        (("cupboard", "SHELF = 1"), "rooms of the core, top to bottom"),
    ],
    indirect=["plant"],
)
def test_a_contract_can_break(plant: Path, broken: str) -> None:
    """A clock, a lazy socket, the shell, an upward step, a step aside, a room that is not listed."""
    status, said = _lint_imports(plant)
    assert status != 0
    assert f"{broken} BROKEN" in said, said


@pytest.mark.parametrize(
    ("plant", "fault"),
    [
        (("wakes", "import builtins\n\nFILE = builtins.open"), "TID251 `builtins.open` is banned"),
        (("wakes", "def read():\n    return open('x')"), "PTH123"),
        (("wakes", "def say():\n    print(1)"), "T201"),
        (
            ("wakes", "from whenever import Instant\n\nNOW = Instant.now()"),
            "TID251 `whenever.Instant.now` is banned",
        ),
        (("wakes", "from returns.io import IO"), "TID251 `returns.io` is banned"),
        (("wakes", "from returns import future"), "TID251 `returns.future` is banned"),
        (("wakes", "from core.wakefold import fold"), "TID251 `core` is banned"),
    ],
    indirect=["plant"],
)
def test_a_banned_name_is_seen(plant: Path, fault: str) -> None:
    """A file, a word on the terminal, a clock, an effect, a folder taken for a package."""
    assert fault in _lint_source(plant)


@pytest.mark.parametrize(
    "plant", [("wakes", "import time\nasync def f():\n    open('x')")], indirect=True
)
def test_the_checks_of_this_file_see_a_planted_violation(plant: Path) -> None:
    """In a module of the core as in a line of text."""
    tree = _parse(plant / "core" / "wakefold" / "wakes.py")
    assert find_foreign_imports(tree) == ["time"]
    assert len(find_async_code(tree)) == 1
    assert find_impure_builtins(tree) == ["open"]
    assert find_undocumented(tree) == ["f"]
