"""The front door: which names it has, that each is documented, and where each lives."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Final

import pytest

import wakefold
from definitions import read_defined

CORE: Final = Path(__file__).resolve().parents[1] / "core" / "wakefold"
NAMES_MAX: Final = 46

SNAPSHOT: Final = [
    "PUBLISHED",
    "SCHEDULE_CHANGE",
    "SEED",
    "AfterRecord",
    "AtRecord",
    "Change",
    "CorruptScheduleLog",
    "Create",
    "Decision",
    "Delete",
    "Dispatch",
    "Event",
    "EveryRecord",
    "Ledger",
    "Profile",
    "Receipt",
    "Record",
    "Rejection",
    "RequestZone",
    "Wait",
    "admit",
    "build_record",
    "count_wakeups",
    "decide_due",
    "decode_change",
    "describe_rejection",
    "either",
    "encode_change",
    "encode_view",
    "error_value",
    "evolve",
    "find_request_zone",
    "fold",
    "format_instant",
    "frame_decision",
    "list_active",
    "list_dispatches",
    "list_receipts",
    "list_views",
    "parse_instant",
    "plan_next_wake",
    "present_dispatch",
    "preview",
    "read_create_request",
    "reap",
    "validate",
]

ASKED_FOR: Final = {"fold", "evolve", "validate", "plan_next_wake", "decide_due", "present_dispatch"}
UNDOCUMENTED: Final = {*SNAPSHOT[:3], "Change", "Decision", "Record", "Rejection"}


def _list_homes(name: str) -> list[str]:
    paths = [path for path in CORE.glob("*.py") if path.stem != "__init__"]
    return [path.stem for path in paths if name in dict(read_defined(path))]


def test_the_names_are_those_of_the_snapshot() -> None:
    """A change of the public surface is a decision: write it here too."""
    assert wakefold.__all__ == SNAPSHOT
    assert set(wakefold.__all__) >= ASKED_FOR


def test_the_names_are_sorted_and_few() -> None:
    """Constants, classes, functions, each by the alphabet; a newcomer can read them all."""

    def place(name: str) -> tuple[int, str]:
        return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)

    assert wakefold.__all__ == sorted(set(wakefold.__all__), key=place)
    assert len(wakefold.__all__) <= NAMES_MAX


def test_nothing_else_stands_in_the_door() -> None:
    """Beside the public names there are only the rooms themselves."""
    rooms = {path.stem for path in CORE.glob("*.py")}
    public = {name for name in vars(wakefold) if not name.startswith("_")}
    assert public - rooms == set(wakefold.__all__)


@pytest.mark.parametrize("name", wakefold.__all__)
def test_a_public_name_has_one_home(name: str) -> None:
    """One module defines it, and the front door hands on the very same thing."""
    (home,) = _list_homes(name)
    module = importlib.import_module(f"wakefold.{home}")
    assert getattr(wakefold, name) is getattr(module, name)


@pytest.mark.parametrize("name", wakefold.__all__)
def test_a_public_function_or_class_is_documented(name: str) -> None:
    """Its own sentence, not an inherited one; neither a constant nor a union has one."""
    value = getattr(wakefold, name)
    if inspect.isfunction(value) or inspect.isclass(value):
        text = vars(value)["__doc__"] if inspect.isclass(value) else value.__doc__
        assert re.match(r"[A-Z`].{10,}", text or "")
        assert inspect.getmodule(value) is importlib.import_module(f"wakefold.{_list_homes(name)[0]}")
    else:
        assert name in UNDOCUMENTED


def test_the_version_is_one() -> None:
    """Three numbers, as the package's metadata takes them from here."""
    assert re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+", wakefold.__version__)
