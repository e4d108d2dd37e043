"""The tests notice when the core is changed: a sample by default, every mutant in the long profile."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mutants import (
    PAGE,
    SELECTIONS,
    Mutant,
    Verdict,
    count_mutants,
    describe,
    lay_out,
    list_tests,
    main,
    read_page,
)

PLANTED = {
    "ledger": ("accepted_at_ms < gate_ms:", "accepted_at_ms <= gate_ms:"),
    "recurrence": ("next_target_ms <= MAX_INSTANT_MS else", "next_target_ms < MAX_INSTANT_MS else"),
    "wakes": ("or earliest_ms > now_ms:", "or earliest_ms >= now_ms:"),
    "guard": ("0 < config.max_per_hour <= recent", "1 < config.max_per_hour <= recent"),
    "lifecycle": ("return _end(owner, Disarm())", "return _end(owner)"),
    "trees": ("if self.end >> height:", "if self.end >> height > 1:"),
    "active_records": ("one_ms <= right.one_shot_ms", "one_ms < 1"),
    "dispatch_times": ("node.left.high_ms < since_ms", "node.left.high_ms <= since_ms"),
    "transitions": ("late_ms <= 1000 * grace_seconds", "late_ms < 1000 * grace_seconds"),
    "edit_requests": ("len(wished & {*SELECTORS}) <= 1", "len(wished & {*SELECTORS}) <= 2"),
    "occurrences": ("if record.standing.version == 1:", "if record.standing.version > 1:"),
    "calendars": ("if at_ms <= until_ms", "if at_ms < until_ms"),
    "calendar_rules": ("0 < len(set(values))", "0 <= len(set(values))"),
    "cron_expressions": ("if last < first:", "if last < 0:"),
}

CONSTANTS = [
    ("ledger", "profile: Profile = SEED\n    seed", "profile: Profile = Profile('', 1)\n    seed"),
    ("ledger", "seed_length: int = 0\n", "seed_length: int = 1\n"),
    ("ledger", "position: int = 0\n", "position: int = 1\n"),
    ("ledger", "last_accepted_at_ms: int | None = None", "last_accepted_at_ms: int | None = 0"),
    ("recurrence", "MIN_EVERY_SECONDS: Final = 300", "MIN_EVERY_SECONDS: Final = 301"),
    ("recurrence", "batch_distance_ms=300_000", "batch_distance_ms=300_001"),
    ("recurrence", 'name="seed"', 'name="SEED"'),
    ("recurrence", "batch_distance_ms=None", "batch_distance_ms=0"),
    ("recurrence", "(SEED, PUBLISHED)", "(SEED,)"),
    ("wakes", "2_147_483_647", "2_147_483_648"),
    ("wakes", 'tag="one-shot"', 'tag="one"'),
    ("wakes", 'tag="recurring"', 'tag="every"'),
    ("wakes", 'tag="wait"', 'tag="WAIT"'),
    ("wakes", "return self.record.scheduled_at_ms", "return 0"),
    ("guard", "UNTIL_A_WORD: Final = MAX_INSTANT_MS + 1", "UNTIL_A_WORD: Final = MAX_INSTANT_MS"),
    ("guard", "free_in_ms: int | None = None", "free_in_ms: int | None = 0"),
    ("guard", "since: int | None = None", "since: int | None = 0"),
    ("guard", "ids: frozenset[str] = frozenset()", 'ids: frozenset[str] = frozenset("a")'),
    ("guard", "seed_length: int = 0", "seed_length: int = 1"),
    ("guard", "wakeups: Wakeups = NO_WAKEUPS", "wakeups: Wakeups = Wakeups(1)"),
    ("guard", "told: frozenset[StopKey] = frozenset()", "told: frozenset[StopKey] = frozenset([None])"),
]


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project in which the core may be changed."""
    folder = tmp_path_factory.mktemp("mutants")
    lay_out(folder)
    return folder


def run_tests(scratch: Path, tests: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-B", "-m", "pytest", "-x", "-q", "-n0", "-p", "no:cacheprovider", *tests],
        cwd=scratch,
        capture_output=True,
        text=True,
        check=False,
    )


def require_green(scratch: Path, tests: list[str]) -> None:
    done = run_tests(scratch, tests)
    assert done.returncode == pytest.ExitCode.OK, done.stdout


def test_the_tests_of_each_module_pass_on_the_core_as_it_is(scratch: Path) -> None:
    """Or a killed mutant would say nothing."""
    require_green(scratch, list_tests(SELECTIONS, own=True))


@pytest.mark.long
def test_the_selections_pass_on_the_core_as_it_is(scratch: Path) -> None:
    """As above, for all that mutmut runs."""
    require_green(scratch, list_tests(SELECTIONS))


def kill(scratch: Path, module: str, before: str, after: str, *, own: bool = False) -> None:
    """Plant a mutant, and see it killed by the tests that are named for its module."""
    source = scratch / "src" / "wakefold" / f"{module}.py"
    text = source.read_text("utf-8")
    assert text.count(before) == 1
    source.write_text(text.replace(before, after), "utf-8")
    done = run_tests(scratch, list_tests([module], own=own))
    source.write_text(text, "utf-8")
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout
    assert "1 failed" in done.stdout


@pytest.mark.parametrize("module", SELECTIONS)
def test_a_planted_mutant_is_killed_by_its_modules_own_tests(scratch: Path, module: str) -> None:
    """One change in each module, found by the tests that are named for it before all."""
    kill(scratch, module, *PLANTED[module], own=True)


@pytest.mark.long
@pytest.mark.parametrize(("module", "before", "after"), CONSTANTS)
def test_a_changed_constant_is_noticed(scratch: Path, module: str, before: str, after: str) -> None:
    """What stands outside the functions, where mutmut changes nothing."""
    kill(scratch, module, before, after)


def test_the_page_is_read_row_by_row() -> None:
    """A reason is part of each row; what has none explains nothing."""
    page = "| wakes | `preview` | `a < b` | `a <= b` | it is the same |\n| wakes | `x` | `a` | `b` |\n"
    assert read_page(page) == {Mutant("wakes", "preview", "a < b", "a <= b")}
    assert read_page(page, ["guard"]) == set()
    union = r"| wakes | `preview` | `a \| b` | `a` | it is the same |"
    assert read_page(union) == {Mutant("wakes", "preview", "a | b", "a")}
    assert read_page(PAGE.read_text("utf-8"))


def test_a_module_without_a_selection_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is run."""
    assert main(["wakes", "shell"]) == 2
    assert capsys.readouterr().err.startswith("no such module: shell (known: ledger, recurrence, ")


def test_a_module_with_too_many_survivors_is_weak() -> None:
    """95 of 100 killed are enough, 94 are not."""
    survivors = tuple(Mutant("wakes", "preview", "a", str(number)) for number in range(5))
    assert Verdict({"wakes": 100, "guard": 100}, survivors).list_weak() == []
    assert Verdict({"wakes": 99, "guard": 100}, survivors).list_weak() == ["wakes"]


@pytest.mark.long
@pytest.mark.needs("mutmut")
@pytest.mark.parametrize("module", SELECTIONS)
def test_every_mutant_is_killed_or_explained(module: str) -> None:
    """The module is not weak, each survivor is on the page with its reason, and so are the totals."""
    verdict = count_mutants([module])
    page = PAGE.read_text("utf-8")
    assert verdict.counts[module] > 0
    assert verdict.list_weak() == []
    assert set(verdict.survivors) == read_page(page, [module])
    assert [row for row in describe(verdict) if row.startswith("|") and row not in page] == []
