"""How many mutants of the core its tests kill: `python tests/mutants.py`, with the extra `mutation`.

mutmut changes one thing at a time in the functions of the modules that decide, and runs the tests
that reach it. This module lays out a scratch copy that mutmut can read, and judges what came of it:
each module must reach `KILLED_MIN`, and each survivor must stand in `docs/mutants.md` with the reason
why nothing can tell it from the original.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from msgspec import Struct

ROOT: Final = Path(__file__).resolve().parents[1]
PAGE: Final = ROOT / "docs/mutants.md"
KILLED_MIN: Final = 0.95

SELECTIONS: Final = {
    "ledger": ("tests/test_ledger.py", "tests/test_vectors.py"),
    "recurrence": ("tests/test_recurrence.py", "tests/test_vectors.py"),
    "wakes": ("tests/test_wakes.py", "tests/test_vectors.py"),
    "guard": ("tests/test_guard_decisions.py", "tests/test_guard_holds.py", "tests/test_vectors.py"),
    "lifecycle": ("tests/test_lifecycle.py", "tests/test_transcripts.py"),
    "trees": ("tests/test_trees.py",),
    "active_records": ("tests/test_active_records.py",),
    "dispatch_times": ("tests/test_dispatch_times.py",),
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


def lay_out(scratch: Path) -> None:
    """A copy of the project with the core under `src`."""
    shutil.copytree(ROOT / "core", scratch / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in _FOLDERS:
        shutil.copytree(ROOT / folder, scratch / folder, ignore=shutil.ignore_patterns("__pycache__"))
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    settings = _SETTINGS.format(
        modules=[f"src/wakefold/{module}.py" for module in SELECTIONS],
        folders=list(_FOLDERS),
        selection=list_tests(SELECTIONS),
    )
    moved = project.replace('pythonpath = ["core"', 'pythonpath = ["src"') + settings
    (scratch / "pyproject.toml").write_text(moved, "utf-8")


def list_tests(modules: Iterable[str], *, own: bool = False) -> list[str]:
    """The selections of modules, or the `own` tests of each alone, which come first; each file once."""
    count = 1 if own else None
    return list(dict.fromkeys(path for module in modules for path in SELECTIONS[module][:count]))


def run_mutmut(scratch: Path) -> Verdict:
    """Make and run every mutant in a scratch copy; a mutant that hangs counts as noticed."""
    subprocess.run([*_MUTMUT, "run", "--max-children", "1"], cwd=scratch, check=True)
    rows = _ask(scratch, "results", "--all", "true")
    found = dict(re.findall(r"^ +wakefold\.(\S+): (.+)$", rows, re.MULTILINE))
    counts = {module: sum(name.startswith(f"{module}.") for name in found) for module in SELECTIONS}
    alive = [name for name, status in found.items() if status not in {"killed", "timeout"}]
    return Verdict(counts, tuple(sorted(_read_mutant(scratch, name) for name in alive)))


def read_page(page: str) -> set[Mutant]:
    """The survivors that the page explains, from its table."""
    rows = re.findall(r"^\| (\w+) \| `(\w+)` \| `(.+?)` \| `(.+?)` \| .+ \|$", page, re.MULTILINE)
    return {Mutant(*row) for row in rows}


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


def main() -> int:
    """Print what came of every mutant; 1 if a module is weak, or the page explains other survivors."""
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        lay_out(scratch)
        verdict = run_mutmut(scratch)
    explained = read_page(PAGE.read_text("utf-8"))
    differing = set(verdict.survivors) ^ explained
    rows = (*describe(verdict), *(f"the page differs: {mutant}" for mutant in sorted(differing)))
    sys.stdout.write("\n" + "\n".join(rows) + "\n")
    return 1 if verdict.list_weak() or differing else 0


if __name__ == "__main__":
    sys.exit(main())
