"""How many mutants of the core its tests kill: `python tests/mutants.py`, with the extra `mutation`.

mutmut changes one thing at a time in the functions of the modules that decide, and runs those of the
module's tests that reach it. This module lays out a scratch copy that mutmut can read, one for each
module, and judges what came of it: each module must reach `KILLED_MIN`, and each survivor must stand in
`docs/mutants.md` with the reason why nothing can tell it from the original.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

from msgspec import Struct

ROOT: Final = Path(__file__).resolve().parents[1]
PAGE: Final = ROOT / "docs/mutants.md"
KILLED_MIN: Final = 0.95


def _vectors(*names: str) -> tuple[str, ...]:
    """The vectors of some files alone, where the others say nothing of a module."""
    return tuple(f"tests/test_vectors.py::test_every_vector_of_a_file_passes[{name}]" for name in names)


SELECTIONS: Final = {
    "ledger": ("tests/test_ledger.py", "tests/test_vectors.py"),
    "recurrence": ("tests/test_recurrence.py", "tests/test_vectors.py"),
    "wakes": ("tests/test_wakes.py", "tests/test_vectors.py"),
    "guard": (
        "tests/test_guard_decisions.py",
        "tests/test_guard_holds.py",
        *_vectors("guard_count"),
    ),
    "lifecycle": ("tests/test_lifecycle.py", "tests/test_transcripts.py"),
    "trees": ("tests/test_trees.py",),
    "active_records": ("tests/test_active_records.py",),
    "dispatch_times": ("tests/test_dispatch_times.py",),
    "transitions": ("tests/test_transitions.py", "tests/test_edits.py", *_vectors("fold_v2")),
    "edit_requests": ("tests/test_edit_requests.py", "tests/test_edits.py", *_vectors("update")),
    "occurrences": ("tests/test_edits.py", *_vectors("decision_v2")),
    "calendars": (
        "tests/test_calendars.py",
        "tests/test_local_readings.py",
        *_vectors("calendar_next"),
    ),
    "calendar_rules": ("tests/test_calendars.py", *_vectors("calendar_next")),
    "cron_expressions": ("tests/test_calendars.py", *_vectors("cron_parse")),
}
"""The tests that must kill the mutants of each module of the core: fast ones, examples all."""

_FOLDERS: Final = ("docs", "property_tests", "shell", "tests")

# A `src` folder is the one that mutmut leaves out of a module's name. The tests of transcripts use up
# their cases, so each run needs a process in which none has run before.
_SETTINGS: Final = """
[tool.mutmut]
source_paths = ["src"]
only_mutate = {modules}
also_copy = {folders}
do_not_mutate_patterns = ["assert_never\\\\("]
process_isolation = "forkserver"
timeout_multiplier = 5
timeout_constant = 2
pytest_add_cli_args = ["-n0"]
pytest_add_cli_args_test_selection = {selection}
"""


class Mutant(Struct, frozen=True, order=True):
    """One change: in which function of which module, what stood there, what stands there now."""

    module: str
    function: str
    before: str
    after: str


class Verdict(Struct, frozen=True):
    """What came of the mutants: how many there were by module, and which of them survived."""

    counts: dict[str, int]
    survivors: tuple[Mutant, ...]

    def count_survivors(self, module: str) -> int:
        """How many of a module's mutants no test noticed."""
        return sum(mutant.module == module for mutant in self.survivors)

    def list_weak(self) -> list[str]:
        """The modules whose tests kill too few."""
        return [
            module
            for module, count in self.counts.items()
            if count - self.count_survivors(module) < KILLED_MIN * count
        ]


def lay_out(scratch: Path, modules: Collection[str] = SELECTIONS) -> None:
    """A copy of the project with the core under `src`, in which the mutants of modules can be run."""
    shutil.copytree(ROOT / "core", scratch / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in _FOLDERS:
        shutil.copytree(ROOT / folder, scratch / folder, ignore=shutil.ignore_patterns("__pycache__"))
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    settings = _SETTINGS.format(
        modules=[f"src/wakefold/{module}.py" for module in modules],
        folders=list(_FOLDERS),
        selection=list_tests(modules),
    )
    moved = project.replace('pythonpath = ["core"', 'pythonpath = ["src"') + settings
    (scratch / "pyproject.toml").write_text(moved, "utf-8")


def list_tests(modules: Iterable[str], *, own: bool = False) -> list[str]:
    """The selections of modules, or the `own` tests of each alone, which come first; each file once."""
    count = 1 if own else None
    return list(dict.fromkeys(path for module in modules for path in SELECTIONS[module][:count]))


def count_mutants(modules: Iterable[str]) -> Verdict:
    """Make and run every mutant of some modules, each against its own tests alone."""
    verdicts = [_run_mutmut(module) for module in modules]
    counts = {module: count for verdict in verdicts for module, count in verdict.counts.items()}
    return Verdict(counts, tuple(mutant for verdict in verdicts for mutant in verdict.survivors))


def _run_mutmut(module: str) -> Verdict:
    """What came of one module; a mutant that hangs is noticed, one that no test reaches is not."""
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        lay_out(scratch, [module])
        subprocess.run([*_MUTMUT, "run", "--max-children", "1"], cwd=scratch, check=True)
        rows = _ask(scratch, "results", "--all", "true")
        found: dict[str, str] = dict(re.findall(r"^ +wakefold\.(\S+): (.+)$", rows, re.MULTILINE))
        alive = [name for name, status in found.items() if status not in {"killed", "timeout"}]
        survivors = tuple(sorted(_read_mutant(scratch, name) for name in alive))
    return Verdict({module: len(found)}, survivors)


def read_page(page: str, modules: Collection[str] = SELECTIONS) -> set[Mutant]:
    """The survivors of some modules that the page explains, from its table."""
    rows = re.findall(r"^\| (\w+) \| `(\w+)` \| `(.+?)` \| `(.+?)` \| .+ \|$", page, re.MULTILINE)
    cells = ([cell.replace(r"\|", "|") for cell in row] for row in rows)  # a bare one would end a cell
    return {mutant for mutant in (Mutant(*row) for row in cells) if mutant.module in modules}


_MUTMUT: Final = (sys.executable, "-m", "mutmut")


def _ask(scratch: Path, *arguments: str) -> str:
    return subprocess.run(
        [*_MUTMUT, *arguments], cwd=scratch, check=True, capture_output=True, text=True
    ).stdout


def _read_mutant(scratch: Path, name: str) -> Mutant:
    """A mutant by its name in mutmut, such as `wakes.x_preview__mutmut_2`, as it shows it."""
    module, mangled = name.split(".")
    function = re.sub("^.*ǁ|^x_", "", mangled).partition("__mutmut_")[0]
    shown = _ask(scratch, "show", f"wakefold.{name}")
    before = re.findall(r"^-(?!--)\s*(.+)$", shown, re.MULTILINE)
    after = re.findall(r"^\+(?!\+\+)\s*(.+)$", shown, re.MULTILINE)
    return Mutant(module, function, " ".join(before), " ".join(after))


def describe(verdict: Verdict) -> list[str]:
    """The totals by module, as rows of the page, and each survivor."""
    rows = []
    for module, count in verdict.counts.items():
        survived = verdict.count_survivors(module)
        rows.append(f"| {module} | {count} | {survived} | {1 - survived / count:.1%} |")
    return [*rows, *(f"survives: {mutant}" for mutant in verdict.survivors)]


def main(modules: list[str]) -> int:
    """Print what came of every mutant; 1 if a module is weak, or the page explains other survivors."""
    unknown = set(modules) - SELECTIONS.keys()
    if unknown:
        known = ", ".join(SELECTIONS)
        sys.stderr.write(f"no such module: {', '.join(sorted(unknown))} (known: {known})\n")
        return 2
    chosen = modules or list(SELECTIONS)
    verdict = count_mutants(chosen)
    explained = read_page(PAGE.read_text("utf-8"), chosen)
    differing = set(verdict.survivors) ^ explained
    rows = (*describe(verdict), *(f"the page differs: {mutant}" for mutant in sorted(differing)))
    sys.stdout.write("\n" + "\n".join(rows) + "\n")
    return 1 if verdict.list_weak() or differing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
