"""The data that the project carries is what it was copied and made from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from make_zone_aliases import SOURCE, TARGET, render
from wakefold.zone_aliases import ALIASES
from wakefold_laws.vector_runners import RUNNERS

TESTS = Path(__file__).parent
SHARED = TESTS.resolve().parents[1] / "shared"


def _contents(directory: Path) -> dict[str, bytes]:
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }


@pytest.mark.needs("shared")
@pytest.mark.parametrize("name", ["vectors", "journals"])
def test_a_carried_directory_is_a_copy_byte_for_byte(name: str) -> None:
    """The project stands alone: no file of the shared directory is missing, changed or added."""
    carried, shared = _contents(TESTS / name), _contents(SHARED / name)
    assert sorted(carried) == sorted(shared)
    assert [path for path in sorted(shared) if carried[path] != shared[path]] == []


@pytest.mark.needs("shared")
def test_the_zone_table_is_a_copy_byte_for_byte() -> None:
    """`zones.json` is the shared one."""
    assert SOURCE.read_bytes() == (SHARED / "zones.json").read_bytes()


def test_every_judged_vector_file_is_carried() -> None:
    """Each file that has a runner stands in the project's own directory."""
    carried = {path.stem for path in (TESTS / "vectors").glob("*.jsonl")}
    assert carried >= RUNNERS.keys()


def test_the_alias_module_holds_the_zone_table() -> None:
    """The core's table has the entries of `zones.json` and no others."""
    assert json.loads(SOURCE.read_text("utf-8")) == ALIASES


def test_the_alias_module_is_what_its_script_writes() -> None:
    """Running the script again would change nothing."""
    assert render() == TARGET.read_text("utf-8")


def test_no_alias_leads_to_another_alias_or_to_itself() -> None:
    """One look-up gives the canonical name."""
    assert [name for name, target in ALIASES.items() if target in ALIASES or name == target] == []
