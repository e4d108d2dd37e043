"""Every public name says in its docstring what goes in and out, in which units, what fails, and whence.

A name is public if the front door has it, if a page of the documentation imports it, or if it is a
word of what a shell and an owner say to each other. The docstrings are read from the sources, where
Sphinx reads them.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest
from sphinx.pycode import ModuleAnalyzer

from definitions import FOLDERS, ROOT, list_defined, list_referenced, read_defined

PAGES: Final = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SOURCES_PAGE: Final = ROOT / "docs/sources.md"

VOCABULARIES: Final = ("wakefold.effects", "wakefold.signals")  # of a shell: public as a whole
FIELDS: Final = ("shape", "units", "errors", "source")

# The sections of the two documents by number, with their headings.
SPEC_SECTIONS: Final = {
    "1": "Vocabulary",
    "2": "Scalars",
    "3": "Durable changes (version 1)",
    "4": "Fold",
    "5": "Creating records",
    "5.1": "Implied time zone",
    "6": "Views",
    "7": "Planning",
    "8": "Delivery lifecycle",
    "9": "Receipts",
    "10": "Frames",
    "11": "Tools",
    "12": "Guard",
    "13": "Hosts and composition",
}
CALENDAR_SECTIONS: Final = {"1": "Rules", "2": "History-stable", "3": "Editing", "4": "Data"}
STANDARDS: Final = (
    "RFC 3339",
    "RFC 5545",
    "RFC 6570",
    "RFC 6750",
    "RFC 8259",
    "RFC 8878",
    "ECMA-262",
    "JSON Schema",
    "IANA tz database",
    "CLDR",
    "Vixie cron",
    "MCP",
    "Standard Webhooks",
    "Content Security Policy",
)

_SECTIONS: Final = re.compile(r"(spec|calendar\.md) sections? ([0-9.]+(?:, [0-9.]+)*(?: and [0-9.]+)?)")
_OURS: Final = re.compile(r"ours, (docs/[\w/.-]+\.md)")

Name = tuple[str, str]


def list_imported(page: str) -> Iterator[Name]:
    """The names that the python blocks of a page import, each with the module that it comes from."""
    for block in re.findall(r"^```python[^\n]*\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield from ((node.module, alias.name) for alias in node.names if alias.name != "*")


def find_home(module: str, name: str) -> Name | None:
    """The module that defines a name, and its name there; `None` if it is a module itself."""
    tree = ast.parse(_find_file(module).read_text("utf-8"))
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return find_home(node.module, alias.name)
    if name in {defined for defined, _ in list_defined(tree)}:
        return module, name
    assert importlib.util.find_spec(f"{module}.{name}"), f"{module} has no {name}"
    return None


def _find_file(module: str) -> Path:
    spec = importlib.util.find_spec(module)
    assert spec is not None, module
    assert spec.origin is not None, module
    return Path(spec.origin)


def read_docstring(module: str, name: str) -> str:
    """What the sources say of a name: its docstring, or the comment on its assignment."""
    file = _find_file(module)
    for defined, node in read_defined(file):
        if defined != name:
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return ast.get_docstring(node) or ""
    return "\n".join(_read_comments(file).get(name, []))


@cache
def _read_comments(file: Path) -> dict[str, list[str]]:
    found = ModuleAnalyzer.for_file(file, file.stem).find_attr_docs()
    return {name: lines for (owner, name), lines in found.items() if not owner}


def read_fields(docstring: str) -> list[tuple[str, str]]:
    """The field list at a docstring's end, each field with its text on one line."""
    tail = docstring.rstrip().rpartition("\n\n")[2]
    if not re.fullmatch(r":\w+:.*(?:\n(?::\w+:| {4}).*)*", tail):
        return []
    found = re.findall(r"^:(\w+):(.*(?:\n .*)*)", tail, re.MULTILINE)
    return [(name, " ".join(text.split())) for name, text in found]


def find_unknown_sources(source: str) -> list[str]:
    """What a `:source:` cites that nobody knows, part by part."""
    return [part for part in source.split("; ") if not _is_known(part)]


def _is_known(part: str) -> bool:
    if part in STANDARDS:
        return True
    ours = _OURS.fullmatch(part)
    if ours is not None:
        return (ROOT / ours[1]).is_file()
    cited = _SECTIONS.fullmatch(part)
    if cited is None:
        return False
    known = SPEC_SECTIONS if cited[1] == "spec" else CALENDAR_SECTIONS
    return set(re.split(", | and ", cited[2])) <= known.keys()


def list_public_names() -> list[Name]:
    """The names of the front door, of vocabularies and of the pages, by where they are defined."""
    named = [("wakefold", name) for name in importlib.import_module("wakefold").__all__]
    for module in VOCABULARIES:
        named += [(module, name) for name, _ in read_defined(_find_file(module))]
    for page in PAGES:
        named += list_imported(page.read_text("utf-8"))
    homes = {find_home(*name) for name in named if name[0].partition(".")[0] in FOLDERS}
    return sorted(home for home in homes if home is not None)


PUBLIC: Final = list_public_names()


def test_the_names_of_the_front_door_and_of_the_pages_are_found() -> None:
    assert len(PUBLIC) > 100
    assert ("wakefold.recurrence", "SEED") in PUBLIC  # of the front door
    assert ("wakefold.tools", "render_answer") in PUBLIC  # of a page alone
    assert ("wakefold.signals", "Nudged") in PUBLIC  # of a vocabulary


@pytest.mark.parametrize(("module", "name"), PUBLIC, ids=map(".".join, PUBLIC))
def test_a_public_name_says_four_things_at_the_end_of_its_docstring(module: str, name: str) -> None:
    fields = read_fields(read_docstring(module, name))
    assert tuple(field for field, _ in fields) == FIELDS
    assert [field for field, text in fields if not text] == []
    assert find_unknown_sources(dict(fields)["source"]) == []


def test_every_public_value_of_a_module_has_a_comment() -> None:
    """Functions and classes are seen to by the linter; the command line has a page of its own."""
    bare = [
        f"{module}.{name}" for module, file in list_referenced() for name in _list_uncommented(file)
    ]
    assert bare == []


def _list_uncommented(file: Path) -> list[str]:
    comments = _read_comments(file)
    return [
        name
        for name, node in read_defined(file)
        if isinstance(node, ast.Assign | ast.AnnAssign) and not name.startswith("_")
        if not "".join(comments.get(name, []))
    ]


def test_the_page_of_sources_explains_each_that_can_be_cited() -> None:
    """A row for each section, with its heading, and one for each standard; none that is not known."""
    page = SOURCES_PAGE.read_text("utf-8")
    first, second, standards = re.split(r"^## ", page, flags=re.MULTILINE)[1:4]
    for text, sections in ((first, SPEC_SECTIONS), (second, CALENDAR_SECTIONS)):
        assert re.findall(r"^\| ([0-9.]+) \| ([^|]+) \|", text, re.MULTILINE) == [*sections.items()]
    assert tuple(re.findall(r"^\| `([^`]+)` \|", standards, re.MULTILINE)) == STANDARDS


@pytest.mark.parametrize(
    ("docstring", "fields"),
    [
        ("A fact.", []),
        ("A fact.\n\n:shape: one\n    and two\n:units:", [("shape", "one and two"), ("units", "")]),
        ("A fact.\n\n:shape: one\n\nAnother fact.", []),
        ("A fact.\n\n:shape: one\n two", []),
        ("A fact.\n:shape: one", []),
        (":shape: one", [("shape", "one")]),
    ],
)
def test_fields_are_read_at_the_end_alone(docstring: str, fields: list[tuple[str, str]]) -> None:
    assert read_fields(docstring) == fields


@pytest.mark.parametrize(
    ("source", "unknown"),
    [
        ("spec section 5.1", []),
        ("spec sections 3, 4 and 9; calendar.md section 3; RFC 3339", []),
        ("ours, docs/decisions/index.md", []),
        ("spec section 4.3", ["spec section 4.3"]),
        ("calendar.md section 5; spec section 1", ["calendar.md section 5"]),
        ("RFC 9999", ["RFC 9999"]),
        ("ours", ["ours"]),
        ("ours, docs/none.md", ["ours, docs/none.md"]),
        ("experience", ["experience"]),
        ("", [""]),
    ],
)
def test_a_source_that_nobody_knows_is_seen(source: str, unknown: list[str]) -> None:
    assert find_unknown_sources(source) == unknown


def test_a_value_without_a_comment_is_seen(tmp_path: Path) -> None:
    file = tmp_path / "rooms.py"
    file.write_text('#: A door.\nDOOR = 1\nWINDOW: int = 2\n_HOLE = 3\nROOF = 4\n"""A roof."""\n')
    assert _list_uncommented(file) == ["WINDOW"]


def test_the_names_that_a_page_imports_are_those_of_its_python_blocks() -> None:
    page = "```python\nfrom a.b import c, d as e\n```\n\n```text\nfrom f import g\n```\n"
    assert list(list_imported(page)) == [("a.b", "c"), ("a.b", "d")]
