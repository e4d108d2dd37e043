"""The pytest plugin: a test that asks for a law is run once for each law there is.

This module decides which laws a fixture stands for and how their tests are called. Every pytest session
of whoever has installed wakefold loads it, so that it imports nothing of wakefold before a test asks
for a law, and leaves fixtures of the same names alone where somebody has their own.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Final

import pytest

Check = Callable[..., None]
"""A law as a test calls it: with nothing, or with the user's factory."""

_UNMET: Final = pytest.StashKey[list[str]]()


@pytest.fixture
def core_law(_each_core_law: Check) -> Check:
    """Each law of wakefold's core in turn; call it. The Hypothesis profile of the session holds."""
    return _each_core_law


@pytest.fixture
def store_law(_each_store_law: Check) -> Check:
    """Each law of a store in turn; call it with a function that opens your store."""
    return _each_store_law


@pytest.fixture
def shell_law(_each_shell_law: Check) -> Check:
    """Each law of a shell in turn; call it with what opens your shell."""
    return _each_shell_law


def _list_core_laws() -> dict[str, Check]:
    from wakefold_laws.laws import check_law, list_laws  # noqa: PLC0415 - not before it is asked for

    return {f"{law.room}/{law.name}": partial(check_law, law) for law in list_laws()}


def _list_functions(module: str, name: str) -> dict[str, Check]:
    """The functions in a tuple of a module, by their names."""
    laws: tuple[Check, ...] = getattr(importlib.import_module(module), name)
    return {law.__name__: law for law in laws}


# What a fixture above stands for, by the fixture that it takes its law from: asked for only where ours
# is used, and not somebody else's of the same name.
_KINDS: Final[dict[str, Callable[[], dict[str, Check]]]] = {
    "_each_core_law": _list_core_laws,
    "_each_store_law": partial(_list_functions, "wakefold_laws.store_laws", "STORE_LAWS"),
    "_each_shell_law": partial(_list_functions, "wakefold_laws.shell_laws", "SHELL_LAWS"),
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each law of each kind that a test asks for."""
    for fixture in _KINDS.keys() & set(metafunc.fixturenames):
        try:
            laws = _KINDS[fixture]()
        except ImportError as error:
            place = metafunc.definition.nodeid
            metafunc.config.stash.setdefault(_UNMET, []).append(f"{place}: {error}")
            laws = {}
        metafunc.parametrize(fixture, list(laws.values()), ids=list(laws))


def pytest_collection_modifyitems(config: pytest.Config) -> None:
    """End a session in which laws were asked for that are not installed; one line says what to do."""
    unmet = config.stash.get(_UNMET, [])
    if unmet:
        raise pytest.UsageError(unmet[0])
