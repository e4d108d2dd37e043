"""The documentation as a site: `sphinx-build -W --keep-going docs build/site`.

The pages are Markdown; the reference comes from docstrings, whose single backticks are literals, or
links where a name of that spelling is documented. Whatever does not resolve is a warning, and each
warning fails the build. Nothing is fetched: no font, no script, no inventory of another project.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from types import UnionType
from typing import Any, Final, get_origin

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.inspect import TypeAliasForwardRef

import wakefold

project = "wakefold"
version = release = wakefold.__version__
author = "the founders of wakefold"
copyright = f"2026, {author}, MIT licence"  # noqa: A001 - Sphinx's name

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
]
source_suffix = {".md": "markdown"}
nitpicky = True
nitpick_ignore_regex = [
    # Other projects' names: their inventories would have to be fetched.
    (r"py:.*", r"(?!wakefold).*\..*"),
    (r"py:class", r"(Connection|HashTrieMap|Meta|Path|Pool|Strategy|UnsetType|datetime|timedelta)"),
    # Variables of types, what a module keeps to itself, and parts of a type that Sphinx cuts.
    (r"py:.*", r"(.*\.)?(_[A-Za-z]+|N|Annotated|dict\[str)"),
    # Of inherited fields, sought in the wrong module.
    (r"py:class", r"wakefold_shell\.mcp\.schemas\..*"),
]
suppress_warnings = ["ref.python"]  # a name that two modules have leads to one of them

html_theme = "furo"
smartquotes = False  # two dashes begin an option
html_title = f"wakefold {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False

myst_heading_anchors = 4
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
copybutton_copy_empty_lines = False

add_module_names = False
toc_object_entries = False  # thousands of names in each page's tree of contents cost minutes
python_maximum_signature_line_length = 88
python_use_unqualified_type_names = True
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_use_type_comments = False  # there are none

# Of values that are not shown, but printed on the way.
warnings.filterwarnings("ignore", message="Generating overly large repr")

_PACKAGES: Final = ("wakefold", "wakefold_shell", "wakefold_laws")
_CODE: Final = re.compile(r"(?<![`\w:])`([^`]+)`(?![`\w])")
_SECTION: Final = re.compile(r"(spec|calendar\.md) sections? \d+(\.\d+)?((, | and )\d+(\.\d+)?)*")
_PAGE: Final = re.compile(r"(?<![`\w/])docs/([\w/-]+)\.md")


def list_modules() -> Iterator[str]:
    """The names of the modules of all packages but those of the command line."""
    for package in _PACKAGES:
        for found in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            if not found.name.startswith("wakefold_shell.cli"):
                yield found.name


def list_own_names(module: str) -> Iterator[tuple[str, object]]:
    """The public names that a module defines itself, with what they stand for.

    A constant or an alias of types does not know its home: it is where it is assigned.
    """
    source = inspect.getsource(importlib.import_module(module))
    for name, value in vars(importlib.import_module(module)).items():
        defined = rf"^(class |(async )?def )?{re.escape(name)}(\(|\[|:| =)"
        if not name.startswith("_") and re.search(defined, source, re.MULTILINE):
            yield name, value


def _is_alias(module: str, name: str, value: object) -> bool:
    """Whether a name stands for a type of others: a union, an annotated one, a declared alias."""
    declared = vars(importlib.import_module(module)).get("__annotations__", {})
    made = get_origin(value) is not None or isinstance(value, UnionType)
    return declared.get(name) == "TypeAlias" or (made and not inspect.isclass(value))


_OWN: Final = {module: dict(list_own_names(module)) for module in list_modules()}
_TIMES: Final = Counter(name for names in _OWN.values() for name in names)
_HOMES: Final = {name: module for module, names in _OWN.items() for name in names if _TIMES[name] == 1}
"""The modules of the names that one module alone defines."""


def _is_in_front(name: str, value: object) -> bool:
    return getattr(wakefold, name, None) is value


# Under which full name each of them is documented: at the front door if it is there.
_LINKS: Final = {
    name: f"wakefold.{name}" if _is_in_front(name, _OWN[module][name]) else f"{module}.{name}"
    for name, module in _HOMES.items()
}

# A union or an annotated number is shown by its own name, not by what it stands for.
autodoc_type_aliases = {
    name: _LINKS[name] for name, module in _HOMES.items() if _is_alias(module, name, _OWN[module][name])
}
_ALIASES: Final = frozenset(autodoc_type_aliases.values())

# Sphinx 9.0 spells an alias within brackets by its repr, which is no type's name.
TypeAliasForwardRef.__repr__ = lambda alias: f"~{alias.name}"  # type: ignore[method-assign]


def _link(text: str, package: str) -> str:
    """A link where one documented name is spelled so, else a literal; no plain word is a name.

    A docstring speaks of its own package's names and of the core's.
    """
    full = _LINKS.get(text, "")
    spelled = text != text.lower() or "_" in text or full.count(".") == 1
    if spelled and full.partition(".")[0] in {"wakefold", package}:
        return f":py:obj:`{text} <{full}>`"
    return f"``{text}``"


def read_docstring(
    _app: Sphinx, what: str, name: str, _value: object, _options: object, lines: list[str]
) -> None:
    """Single backticks become literals or links, the sources links to their pages.

    The front door's constants have the comments of their homes.
    """
    package, _, short = name.partition(".")
    if what == "data" and short in wakefold.__all__:
        home = ModuleAnalyzer.for_module(_HOMES[short])
        lines[:] = home.find_attr_docs().get(("", short), [])
    text = _CODE.sub(lambda found: _link(found[1], package), "\n".join(lines))
    text = _SECTION.sub(r":doc:`\g<0> </sources>`", text)
    lines[:] = _PAGE.sub(r":doc:`/\1`", text).split("\n")


def skip_member(
    _app: Sphinx, what: str, name: str, value: object, _skip: bool, _options: object
) -> bool | None:
    """What stands at the front door is documented there alone."""
    return True if what == "module" and _is_in_front(name, value) else None


def find_alias(app: Sphinx, env: Any, node: Any, content: Any) -> Any:  # noqa: ANN401 - of docutils
    """An alias in a signature is data, where Sphinx looks for a class."""
    name = node["reftarget"]
    if (node.get("refdomain"), node["reftype"]) != ("py", "class") or name not in _ALIASES:
        return None
    python = env.get_domain("py")
    return python.resolve_xref(env, node["refdoc"], app.builder, "obj", name, node, content)


def setup(app: Sphinx) -> None:
    """Sphinx's own hook."""
    app.add_lexer("jsonl", TextLexer)
    app.connect("autodoc-process-docstring", read_docstring)
    app.connect("autodoc-skip-member", skip_member)
    app.connect("missing-reference", find_alias)
