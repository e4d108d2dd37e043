"""What the documents show is run: python blocks, what they print, and commands."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from itertools import chain, takewhile
from pathlib import Path
from typing import get_args

import pytest
from sybil import Example, Sybil
from sybil.parsers.markdown import CodeBlockParser
from typer.core import TyperGroup

from wakefold.calendar_rules import CronRule, WeeklyRule
from wakefold.edits import Changes, NewRule, Snooze, StatedDispatch, Update
from wakefold.effects import Effect
from wakefold.events import (
    AfterRecord,
    AtRecord,
    Change,
    Create,
    Delete,
    Dispatch,
    EveryRecord,
    encode_change,
)
from wakefold.log_rules import LogRule
from wakefold.records import EDITABLE, AtRule, CalendarRecord, Options
from wakefold.rejections import Rejection
from wakefold.rule_faults import RuleFault
from wakefold.signals import Signal
from wakefold.tools import StepAnswer, ToolStep
from wakefold_laws.conformance import SKIPPED_TAGS
from wakefold_laws.laws import list_laws
from wakefold_shell.cli.commands import COMMANDS, load_command

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def run_python(example: Example) -> None:
    """Run a block and keep what it prints for the block after it."""
    assert "printed" not in example.namespace, "a python block's output is not shown"
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(example.parsed, example.path, "exec"), example.namespace)
    if printed.getvalue():
        example.namespace["printed"] = printed.getvalue()


def compare_text(example: Example) -> None:
    """A text block is what the python block before it printed."""
    assert example.parsed == example.namespace.pop("printed")


def run_console(example: Example) -> None:
    """Run each `$` line at the repository's root (a scratch copy) and compare what it prints."""
    root = example.namespace["console_root"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for session in re.split(r"^\$ ", example.parsed, flags=re.MULTILINE)[1:]:
        command, _, expected = session.partition("\n")
        done = subprocess.run(
            command,
            shell=True,
            cwd=root,
            env={**os.environ, "PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.stdout == expected, command


def check_json(example: Example) -> None:
    """A JSON block can be read as it stands."""
    json.loads(example.parsed)


SYBIL = Sybil(
    parsers=[
        CodeBlockParser("json", check_json),
        CodeBlockParser("python", run_python),
        CodeBlockParser("text", compare_text),
        CodeBlockParser("console", run_console),
    ]
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_shows_is_what_happens(
    page: Path, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every example runs, and prints what stands below it; a fleet's with a database of its own."""
    if "WAKEFOLD_FLEET" in page.read_text("utf-8"):
        monkeypatch.setenv("WAKEFOLD_FLEET", request.getfixturevalue("empty_database"))
    shutil.copytree(ROOT / "tests/journals", tmp_path / "tests/journals")
    document = SYBIL.parse(page)
    document.namespace["console_root"] = tmp_path
    for example in document.examples():
        example.evaluate()
    assert "printed" not in document.namespace, "the last block's output is not shown"


RUN = {"python", "text", "console", "json"}
"""Kinds of blocks that are run, compared or read above."""

ELSEWHERE = {
    "jsonl": "test_pipes.py",
    "ini": "test_running_page.py",
    "output": "test_terminals.py",
}
"""Kinds of blocks that a module of the tests takes from the pages."""

DIRECTIVES = {"{toctree}", "{eval-rst}"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_is_run_or_says_why_it_is_not(page: Path) -> None:
    """No kind of block is passed over in silence, a misspelled one least of all."""
    lines = page.read_text("utf-8").splitlines()
    fences = [number for number, line in enumerate(lines) if line.lstrip().startswith(("```", "~~~"))]
    for number in fences[::2]:
        kind = lines[number].lstrip().removeprefix("```")
        assert lines[number].startswith("```"), f"line {number + 1}: no parser sees this fence"
        if kind not in RUN | ELSEWHERE.keys() | DIRECTIVES:
            assert kind in {"sh", "nginx"}, f"line {number + 1}: {kind or 'no kind'}"
            assert re.fullmatch(r"<!-- not run: .{10,} -->", lines[number - 1]), f"line {number + 1}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_command_that_is_not_run_could_be(page: Path) -> None:
    """Its command and options exist."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    for line in "".join(blocks).splitlines():
        for part in re.split(r"&&|;|[|]", line):
            words = shlex.split(part, comments=True)
            if words[:1] == ["wakefold"]:
                require_command(words[1:])


def require_command(words: list[str]) -> None:
    """Find the command and each option before `--` in the command line itself."""
    assert words[0] in COMMANDS
    command = load_command(words[0], None)
    if isinstance(command, TyperGroup):
        assert words[1] in command.commands
        command = command.commands[words[1]]
    spellings = ((*option.opts, *option.secondary_opts) for option in command.params)
    known = {"--help", *chain.from_iterable(spellings)}
    for word in takewhile(lambda word: word != "--", words):
        assert not word.startswith("-") or word in known, (command.name, word)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    """Every relative link names a file of the repository."""
    for target in re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target


def test_the_readme_names_the_two_commands_in_full() -> None:
    """One runs the main job, one passes the tests."""
    text = (ROOT / "README.md").read_text("utf-8")
    assert "\npip install '.[cli,zstd]' && wakefold demo\n" in text
    assert "\npip install -e '.[dev]' && pytest\n" in text


def test_the_readmes_example_has_about_twenty_lines() -> None:
    """The API fits on one screen."""
    text = (ROOT / "README.md").read_text("utf-8")
    block = text.split("```python\n")[1].split("```")[0]
    assert len([row for row in block.splitlines() if row.strip()]) <= 20


def test_every_stored_field_is_documented() -> None:
    """The records page names each key that a change can hold."""
    page = (ROOT / "docs/records.md").read_text("utf-8")
    whole = Options("x", max_runs=1, until_ms=0, missed="skip", grace_seconds=300)
    changes: list[Change] = [
        Create(schedule=AfterRecord("a", "x", 1, 0)),
        Create(schedule=AtRecord("a", "x", 0)),
        Create(schedule=EveryRecord("a", "x", 300, 0)),
        Delete(id="a"),
        Dispatch(id="a", accepted_at_ms=0),
        Create(CalendarRecord("a", "x", WeeklyRule((1,), "09:00:00.000", "UTC"), 0, whole, EDITABLE)),
        Create(CalendarRecord("a", "x", CronRule("0 9 * * *", "UTC"), 0, standing=EDITABLE)),
        StatedDispatch("a", 0, 0, 1),
        Snooze("a", 1),
        Update("a", Changes(prompt="x", rule=NewRule(AtRule(), 0))),
    ]
    for change in changes:
        data = encode_change(change)
        nested = data.get("schedule", data.get("changes", {}))
        assert isinstance(nested, dict)
        for key in [*data, *nested]:
            assert f"`{key}`" in page


def test_every_code_and_rule_is_documented() -> None:
    """The rejections page names each code, each fault of a rule and each rule of the log."""
    page = (ROOT / "docs/rejections.md").read_text("utf-8")
    codes = [str(kind.__struct_config__.tag) for kind in get_args(Rejection)]
    assert len(codes) == 11
    for word in (*codes, *get_args(LogRule), *get_args(RuleFault)):
        assert f"`{word}`" in page


def test_every_signal_effect_and_step_is_documented() -> None:
    """Whoever writes a shell finds all of them on one page."""
    page = (ROOT / "docs/writing-a-shell.md").read_text("utf-8")
    for kind in (*get_args(Signal), *get_args(Effect), *get_args(ToolStep), *get_args(StepAnswer)):
        assert f"`{kind.__name__}`" in page


def test_every_law_is_documented_with_its_own_sentence() -> None:
    """The page of laws has each law once, in its room, and none that does not exist."""
    page = (ROOT / "docs/laws.md").read_text("utf-8").partition("\n## Every law\n")[2]
    rooms = re.split(r"^### .*: `wakefold_laws\.(\w+)_laws`$", page, flags=re.MULTILINE)[1:]
    shown = [
        (room, *re.split(r" \| ", row[2:-2]))
        for room, table in zip(rooms[::2], rooms[1::2], strict=True)
        for row in re.findall(r"^\| `.*$", table, flags=re.MULTILINE)
    ]
    assert [row[:3] for row in shown] == [
        (law.room, f"`{law.name}`", law.sentence) for law in list_laws()
    ]
    assert all(len(row[3]) > 20 for row in shown)


def test_every_skipped_tag_is_documented() -> None:
    """What conformance does not judge is said on the command's page."""
    page = (ROOT / "docs/command-line.md").read_text("utf-8")
    for tag in SKIPPED_TAGS:
        assert f"`{tag}`" in page
