"""What a start loads: facts about a fresh interpreter's modules, and no timings."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from inspect import getdoc
from pathlib import Path

import pytest
import typer

from command import on_terminal, wakefold
from journal_files import create_at, write_session
from wakefold_shell.cli.commands import COMMANDS, load_command

COMMAND = "from wakefold_shell.cli import main; main()"
ASYNC = frozenset({"anyio", "asyncio", "trio"})
SHELL_ONLY = ASYNC | {"pydantic", "rich", "sqlite3", "tomllib", "wakefold_laws", "hypothesis"}
CORE = frozenset({"wakefold", "msgspec", "returns", "rpds", "whenever"})


def list_loaded(code: str, *arguments: str | Path) -> set[str]:
    """The modules that a fresh interpreter has loaded when it ends."""
    told = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr))"
    done = subprocess.run(
        [sys.executable, "-c", f"{told}; {code}", *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.splitlines()[-1].split())


def test_importing_the_core_loads_the_core_alone() -> None:
    """No shell, nothing asynchronous, and no part of the core that its door leaves out."""
    loaded = list_loaded("import wakefold")
    assert loaded >= CORE
    assert loaded & (SHELL_ONLY | {"wakefold_shell", "typer", "subprocess", "difflib"}) == set()
    assert loaded & {"wakefold.forecasts", "wakefold.tool_schemas", "returns.pipeline"} == set()


@pytest.mark.parametrize("arguments", [["--help"], ["guard", "--help"]], ids=" ".join)
def test_help_that_is_piped_draws_nothing(arguments: list[str]) -> None:
    """A group's help is text: rich is for terminals."""
    loaded = list_loaded(COMMAND, *arguments)
    assert "typer" in loaded
    assert "rich" not in loaded


def test_the_help_needs_neither_the_core_nor_any_command() -> None:
    """All of it is in the table of commands."""
    loaded = list_loaded(COMMAND, "--help")
    assert loaded & (SHELL_ONLY | CORE) == set()
    modules = {f"wakefold_shell.cli.{entry.module}" for entry in COMMANDS.values()}
    assert loaded & modules == set()
    assert "wakefold_shell.cli.commands" in loaded


def test_the_version_needs_the_core_alone() -> None:
    """It is told by the core, and nothing runs."""
    loaded = list_loaded(COMMAND, "--version")
    assert "wakefold" in loaded
    assert loaded & SHELL_ONLY == set()


def test_reading_a_journal_runs_nothing_asynchronous(tmp_path: Path) -> None:
    """An agent's loop looks often: JSON is not drawn, and a table in a pipe is text."""
    write_session(tmp_path, create_at(0))
    for command in ("inspect", "validate", "receipts", "next"):
        assert list_loaded(COMMAND, command, tmp_path, "--json") & SHELL_ONLY == set(), command
    drawn = {"pydantic", "rich.console", "rich.table", "rich.text"}
    for told in (["inspect"], ["receipts"], ["next"], ["guard", "audit"], ["simulate"]):
        assert list_loaded(COMMAND, *told, tmp_path) & (ASYNC | drawn | {"sqlite3"}) == set(), told


def test_what_is_needed_is_loaded_and_seen(tmp_path: Path) -> None:
    """The checks above can fail: a tool runs in an owner, and the laws judge."""
    write_session(tmp_path, create_at(0))
    listed = list_loaded(COMMAND, "list", "--session", tmp_path, "--json")
    assert "anyio" in listed
    assert listed & {"pydantic", "rich", "sqlite3", "wakefold_laws"} == set()
    vectors = Path(__file__).parent / "vectors"
    assert "wakefold_laws" in list_loaded(COMMAND, "conformance", vectors, "--only", "framing")


def test_the_help_of_a_server_needs_no_extra_of_its_own() -> None:
    """The protocol's library, with all that it brings, is for serving."""
    loaded = list_loaded(COMMAND, "mcp", "--help")
    assert "wakefold_shell.cli.hosting" in loaded
    assert loaded & {"mcp", "mcp_types", "pydantic", "starlette", "uvicorn"} == set()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_sentence_of_the_table_is_the_commands_own(name: str) -> None:
    """The help of all commands and the help of each say the same."""
    entry = COMMANDS[name]
    found = getattr(import_module(f"wakefold_shell.cli.{entry.module}"), entry.attribute)
    own = found.info.help if isinstance(found, typer.Typer) else getdoc(found)
    assert str(own).partition("\n\n")[0].replace("\n", " ") == entry.sentence
    assert load_command(name, None).name == name


def test_help_lists_every_command_whole_in_a_pipe_and_framed_on_a_terminal() -> None:
    """Plain text follows the width that it is given; a person sees the frames."""
    piped = wakefold("--help", COLUMNS="200")
    framed, width = on_terminal("xterm", 140, "--help")
    assert (piped.returncode, piped.stderr) == (0, "")
    for name, entry in COMMANDS.items():
        for shown in (piped.stdout, framed):
            (row,) = [row for row in shown.splitlines() if row.strip(" │").startswith(f"{name} ")]
            assert entry.sentence in row
    assert "─" not in piped.stdout
    assert framed.count("╭") == 2
    assert width <= 140
    assert "Show the limits in force, each configured or default." in wakefold("guard", "--help").stdout


@pytest.mark.parametrize("arguments", [[], ["guard"]], ids=["none", "guard"])
def test_a_group_without_a_command_shows_its_help(arguments: list[str]) -> None:
    """Exit 2, as for any wrong usage, and nothing is said on top."""
    done = wakefold(*arguments)
    assert (done.returncode, done.stderr) == (2, "")
    assert done.stdout == wakefold(*arguments, "--help").stdout
    framed, _ = on_terminal("xterm", 100, *arguments)
    assert "╭─ Commands" in framed


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("wakefold re", ["receipts", "resume", "repair", "retarget", "report"]),
        ("wakefold create --af", ["--after"]),
        ("wakefold inspect --profile ", ["seed", "published"]),
        ("wakefold guard ", ["config", "audit"]),
        ("wakefold guard config --js", ["--json"]),
    ],
)
def test_commands_and_options_are_completed(typed: str, offered: list[str]) -> None:
    """The shell asks the executable, which looks into the one command that is meant."""
    asked = {
        "_WAKEFOLD_COMPLETE": "complete_bash",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(typed.split(" ")) - 1),
    }
    assert wakefold(**asked).stdout.split() == offered


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nonsense"], "No such command 'nonsense'"),
        (["validat"], "No such command 'validat'. Did you mean 'validate'?"),
        (["guard", "nonsense"], "No such command 'nonsense'"),
        (["create", "--nonsense"], "No such option: --nonsense"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_name_that_is_unknown_is_told(arguments: list[str], sentence: str) -> None:
    """The stand-ins of the table are names enough to guess what was meant."""
    done = wakefold(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"wakefold: {sentence}")


def test_a_session_lived_in_loads_no_framework() -> None:
    """Who has an agent of one imports its module, and nobody else does."""
    loaded = list_loaded("import wakefold_shell.runners, wakefold_shell.supervisors")
    assert "anyio" in loaded
    assert loaded & {"pydantic_ai", "pydantic", "agents", "openai", "mcp"} == set()


@pytest.mark.parametrize(
    ("module", "missing", "extra"),
    [
        ("pydantic_agents", "pydantic_ai", "pydantic-ai"),
        ("openai_agents", "agents", "openai-agents"),
    ],
)
def test_a_missing_extra_is_named_in_a_sentence(module: str, missing: str, extra: str) -> None:
    """Where a framework is not installed, the import of its host says what to install."""
    code = f"import sys; sys.modules[{missing!r}] = None; import wakefold_shell.hosts.{module}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        f"ImportError: this host needs the extra '{extra}': pip install 'wakefold[{extra}]'."
    )
