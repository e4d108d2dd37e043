"""The pytest plugin of an installation: three lines hold every law against a user's parts."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from types import ModuleType
from typing import Final

import pytest

from wakefold_laws import pytest_plugin
from wakefold_laws.laws import list_laws
from wakefold_laws.shell_laws import SHELL_LAWS
from wakefold_laws.store_laws import STORE_LAWS, select_laws

THREE_LINES: Final = """
def test_core(core_law):
    core_law()
"""
STORE_TEST: Final = """
def test_store(store_law):
    store_law(lambda: "mine")
"""
MISSING: Final = 'raise ModuleNotFoundError("No module named \'hypothesis\'", name="hypothesis")'


@pytest.fixture
def plain_pytester(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A folder of a user's own, as strict as this one, without what this session added to the path."""
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    pytester.makeini("[pytest]\naddopts = --strict-markers --strict-config\nfilterwarnings = error\n")
    return pytester


@pytest.fixture
def store_laws(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Two laws of stores in the place of the real ones; what they were called with."""
    called: list[object] = []

    def what_is_mine_is_taken(open_store: Callable[[], object]) -> None:
        """A store of mine is taken."""
        called.append(open_store())

    def what_is_yours_is_wanted(open_store: Callable[[], object]) -> None:
        """A store of yours is wanted."""
        called.append(open_store())
        assert open_store() == "yours"

    module = ModuleType("wakefold_laws.store_laws")
    vars(module)["STORE_LAWS"] = (what_is_mine_is_taken, what_is_yours_is_wanted)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return called


def test_the_plugin_comes_with_the_installation() -> None:
    """Whoever has wakefold has the fixtures, without a line of configuration."""
    (found,) = entry_points(group="pytest11", name="wakefold_laws")
    assert found.load() is pytest_plugin


def test_a_test_that_asks_for_a_core_law_is_run_for_each(plain_pytester: pytest.Pytester) -> None:
    """In the order of the list, by the names of the laws."""
    plain_pytester.makepyfile(THREE_LINES)
    done = plain_pytester.runpytest_inprocess("--collect-only", "-q")
    names = [f"{law.room}/{law.name}" for law in list_laws()]
    collected = [line.partition("::")[2] for line in done.outlines if "::" in line]
    assert collected == [f"test_core[{name}]" for name in names]


def test_a_core_law_runs_under_the_profile_of_the_session(plain_pytester: pytest.Pytester) -> None:
    """In a process of its own, as a user's; a broken law shows its values, example and sentence."""
    plain_pytester.makeconftest(
        """
        from hypothesis import settings
        from wakefold_laws import ledger_laws, framing_laws

        settings.register_profile("few", max_examples=3, database=None, derandomize=True)
        settings.load_profile("few")
        framing_laws.frame_batch = lambda due: "[SCHEDULE REMINDER BATCH]"
        """
    )
    plain_pytester.makepyfile(THREE_LINES)
    names = "a_batch_frame_parses_back or every_prefix_of_a_valid_log_is_valid"
    done = plain_pytester.runpytest_subprocess("-k", names)
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(
        [
            "E *assert 1 == 3",
            "*a_batch_frame_parses_back(",
            "*due=[[]BatchEntry(*",
            "*law framing/a_batch_frame_parses_back: A batch frame is three lines whose one JSON*",
            "FAILED *test_core[[]framing/a_batch_frame_parses_back[]]*",
        ]
    )


def test_each_store_law_and_each_shell_law_is_there(plain_pytester: pytest.Pytester) -> None:
    """By its own name, in the order of its page."""
    plain_pytester.makepyfile(
        "def test_store(store_law): store_law(None)\ndef test_shell(shell_law): shell_law(None)"
    )
    done = plain_pytester.runpytest_inprocess("--collect-only", "-q")
    collected = [line.partition("::")[2] for line in done.outlines if "::" in line]
    assert collected == [
        *(f"test_store[{law.__name__}]" for law in STORE_LAWS),
        *(f"test_shell[{law.__name__}]" for law in SHELL_LAWS),
    ]


def test_laws_of_stores_and_shells_hold_of_ours(plain_pytester: pytest.Pytester) -> None:
    """Called as a user calls them; a user's own choice of laws is taken for all of them."""
    plain_pytester.makepyfile(
        """
        from contextlib import nullcontext

        import pytest

        from wakefold_laws.simulation.shells import OwnShell
        from wakefold_laws.store_laws import select_laws
        from wakefold_shell.stores.memory import MemoryStore

        CHOSEN = select_laws(durable=False)
        STORES = {}

        @pytest.mark.parametrize("store_law", CHOSEN, ids=lambda law: law.__name__)
        def test_store(store_law):
            store_law(lambda home: nullcontext(STORES.setdefault(home, MemoryStore())))

        def test_shell(shell_law):
            shell_law(OwnShell, seeds=[7])
        """
    )
    done = plain_pytester.runpytest_inprocess("-q")
    done.assert_outcomes(passed=len(select_laws(durable=False)) + len(SHELL_LAWS))


@pytest.mark.usefixtures("store_laws")
def test_a_test_that_asks_for_a_store_law_is_run_for_each(plain_pytester: pytest.Pytester) -> None:
    """The user's factory is all that a test has to say."""
    plain_pytester.makepyfile(STORE_TEST)
    done = plain_pytester.runpytest_inprocess("-v")
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(
        [
            "*test_store[[]what_is_mine_is_taken[]] PASSED*",
            "*test_store[[]what_is_yours_is_wanted[]] FAILED*",
        ]
    )


def test_a_store_law_is_called_with_the_users_factory(
    plain_pytester: pytest.Pytester, store_laws: list[object]
) -> None:
    """And with nothing else."""
    plain_pytester.makepyfile(STORE_TEST)
    plain_pytester.runpytest_inprocess("-q", "-k", "mine")
    assert store_laws == ["mine"]


def test_both_kinds_in_one_test_are_every_pair(
    plain_pytester: pytest.Pytester, store_laws: list[object]
) -> None:
    """As with any two parametrized fixtures."""
    plain_pytester.makepyfile("def test_both(core_law, store_law): pass")
    done = plain_pytester.runpytest_inprocess("-q")
    done.assert_outcomes(passed=2 * len(list_laws()))
    assert store_laws == []


@pytest.mark.parametrize(
    "source",
    [
        """
        import pytest

        @pytest.fixture
        def core_law():
            return 7

        def test_mine(core_law):
            assert core_law == 7
        """,
        """
        import pytest

        @pytest.mark.parametrize("core_law", [7])
        def test_mine(core_law):
            assert core_law == 7
        """,
    ],
    ids=["fixture", "parameter"],
)
def test_a_users_own_of_the_same_name_wins(plain_pytester: pytest.Pytester, source: str) -> None:
    """A fixture or a parameter that happens to be called as ours is left alone."""
    plain_pytester.makepyfile(source)
    plain_pytester.runpytest_inprocess().assert_outcomes(passed=1)


def test_a_missing_extra_is_a_usage_error_of_one_line(
    plain_pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It names the test, the extra and the remedy."""
    plain_pytester.makepyfile(test_mine=THREE_LINES, hypothesis=MISSING)
    monkeypatch.setenv("PYTHONPATH", str(plain_pytester.path))
    done = plain_pytester.runpytest_subprocess("-p", "no:hypothesispytest")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    sentence = "wakefold: the laws need the extra 'laws': pip install 'wakefold[laws]'."
    assert [line for line in done.errlines if line] == [f"ERROR: test_mine.py::test_core: {sentence}"]
    assert "Traceback" not in done.stdout.str()


def test_a_session_that_asks_for_no_law_loads_none(plain_pytester: pytest.Pytester) -> None:
    """Neither wakefold, nor Hypothesis, nor any law comes with the plugin."""
    plain_pytester.makepyfile(
        """
        import sys

        def test_nothing_is_loaded():
            assert "wakefold_laws.pytest_plugin" in sys.modules
            loaded = {name for name in sys.modules if name.startswith(("wakefold", "hypothesis"))}
            assert loaded == {"wakefold_laws", "wakefold_laws.pytest_plugin"}
        """
    )
    done = plain_pytester.runpytest_subprocess("-p", "no:hypothesispytest")
    done.assert_outcomes(passed=1)


def test_the_plugin_can_be_turned_off(plain_pytester: pytest.Pytester) -> None:
    """By the name that it is registered under."""
    plain_pytester.makepyfile(THREE_LINES)
    done = plain_pytester.runpytest_subprocess("-p", "no:wakefold_laws")
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(["*fixture 'core_law' not found*"])


LOADED: Final = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
print("hypothesis" in sys.modules)
"""


def run_fresh(program: str, *arguments: str, path: str = "") -> subprocess.CompletedProcess[str]:
    """A program in an interpreter of its own."""
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_the_command_line_uses_needs_no_extra() -> None:
    """Conformance, transcripts and the laws of stores are there without Hypothesis."""
    plain = (
        "conformance",
        "vector_runners",
        "transcripts",
        "virtual_world",
        "store_laws",
        "shell_laws",
        "log_model",
    )
    done = run_fresh(LOADED, *(f"wakefold_laws.{name}" for name in plain))
    assert (done.stdout, done.stderr) == ("False\n", "")


@pytest.mark.parametrize("module", ["laws", "strategies", "session_strategies", "ledger_laws"])
def test_what_needs_the_extra_says_so(module: str, pytester: pytest.Pytester) -> None:
    """The last line of the import's error is the sentence, and no module of Hypothesis stands in it."""
    pytester.makepyfile(hypothesis=MISSING)
    done = run_fresh(LOADED, f"wakefold_laws.{module}", path=str(pytester.path))
    said = "ImportError: wakefold: the laws need the extra 'laws': pip install 'wakefold[laws]'."
    assert done.stderr.splitlines()[-1] == said
    assert "No module named" not in done.stderr
