"""What a person at a terminal sees: every width, every kind of terminal, the numbers of the JSON."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from command import on_terminal, show_raw, wakefold, wakefold_json
from journal_files import JOURNALS, create_at, write_session
from make_terminals import GATE, LATER, MODEL, ROOT, SCENES, SCREENS, draw, write_runaway
from report_pages import SHARED, read_options

FIVE = (
    ("inspect", *GATE),
    ("receipts",),
    ("next", *GATE, "-n", "3"),
    ("guard", "audit"),
    ("simulate", *GATE),
)
COLOR = re.compile(r"\x1b\[[0-9;]*3[0-7]m")
BARE = re.compile(r"\x1b\[[0-9;]*m")
LEGACY: tuple[tuple[str, dict[str, str]], ...] = (
    ("xterm", {"LANG": "C"}),
    ("xterm", {"LC_ALL": "POSIX"}),
    ("xterm", {"PYTHONIOENCODING": "ascii"}),
    ("xterm", {"PYTHONIOENCODING": "latin-1:strict"}),
)


def address(command: tuple[str, ...], session: Path) -> tuple[str | Path, ...]:
    """The command's words with the session behind its name."""
    at = 2 if command[0] == "guard" else 1
    return (*command[:at], session, *command[at:])


@pytest.mark.parametrize("name", SCENES)
def test_a_screen_is_as_it_was_looked_at(name: str, tmp_path: Path) -> None:
    """Renew them by `python tests/make_terminals.py`, and look at what has changed."""
    assert draw(SCENES[name], tmp_path) == (SCREENS / f"{name}.txt").read_text("utf-8")


def test_every_screen_has_its_scene() -> None:
    """Nothing old lies about."""
    assert {path.stem for path in SCREENS.glob("*")} == set(SCENES)


def test_the_page_shows_a_screen_as_it_is() -> None:
    """A part of it, of 80 columns."""
    page = (ROOT / "docs/command-line.md").read_text("utf-8")
    block = page.partition("## On a terminal")[2].split("```output\n")[1].split("\n```")[0]
    command, _, shown = block.partition("\n\n")
    scene = SCENES["inspect-gate"]
    session = scene.make(Path()).relative_to(ROOT)
    assert command == f"$ wakefold {' '.join((*scene.command, str(session), *scene.options))}"
    screen = (SCREENS / "inspect-gate.txt").read_text("utf-8").partition("=== 80 columns\n")[2]
    assert f"{shown}\n" in screen


@pytest.mark.parametrize("name", SCENES)
def test_no_screen_is_wider_than_its_terminal_and_no_date_is_broken(name: str) -> None:
    """Where a text is folded, a day stays whole."""
    from rich.cells import cell_len  # noqa: PLC0415 - its measure is the one in question

    width = 0
    for line in (SCREENS / f"{name}.txt").read_text("utf-8").split("\n"):
        head = re.fullmatch(r"=== (\d+) columns", line)
        width = int(head[1]) if head else width
        assert cell_len(line) <= width
        assert not re.search(r"\d{4}-(\d\d?(-\d?)?)?$", line.rstrip())


@pytest.mark.parametrize("command", FIVE, ids=" ".join)
def test_nothing_is_lost_at_any_width(command: tuple[str, ...]) -> None:
    """Each id, prompt and time of day of the pipe is on the screen; of midnight the day is enough."""
    arguments = address(command, JOURNALS / "seed/gate")
    piped = wakefold(*arguments).stdout
    words = re.findall(r"\d\d:\d\d:\d\d|schedule-\d|gate A|gate B|soon|local zone|\d+ min \d+ s", piped)
    assert len(words) > 2
    for columns in (20, 60, 100):
        shown = "".join(on_terminal("xterm", columns, *arguments)[0].split())
        lost = [word for word in words if "".join(word.split()) not in shown]
        assert set(lost) <= {"00:00:00"}, columns


@pytest.mark.parametrize("journal", SHARED)
@pytest.mark.parametrize("command", FIVE, ids=" ".join)
def test_every_journal_is_shown(command: tuple[str, ...], journal: str) -> None:
    """All that is refused is refused in a pipe, too: there is nothing of that here."""
    shown = show_raw("xterm", 80, *address(command, JOURNALS / journal), *read_options(journal))
    assert shown.strip()
    assert "Traceback" not in shown
    assert "wakefold: " not in shown.replace("torn tail", "") or journal.endswith("torn-tail")


@pytest.mark.parametrize("command", FIVE, ids=" ".join)
def test_colours_go_where_no_color_is_set(command: tuple[str, ...]) -> None:
    """Any value counts but an empty one; the text is the same."""
    arguments = address(command, JOURNALS / "seed/gate")
    bright = show_raw("xterm", 100, *arguments)
    assert COLOR.search(bright)
    assert show_raw("xterm", 100, *arguments, NO_COLOR="") == bright
    plain = show_raw("xterm", 100, *arguments, NO_COLOR="0")
    assert not COLOR.search(plain)
    assert BARE.sub("", plain) == BARE.sub("", bright)


@pytest.mark.parametrize(
    ("command", "kind", "environment"),
    [(FIVE[0], *kind) for kind in LEGACY] + [(command, "dumb", {}) for command in FIVE],
    ids=str,
)
def test_where_no_more_than_ascii_is_known_pictures_are_ascii(
    command: tuple[str, ...], kind: str, environment: dict[str, str]
) -> None:
    """The same pictures by other marks; a dumb terminal is sent no escape at all, and has its width."""
    arguments = address(command, JOURNALS / "seed/gate")
    shown = show_raw(kind, 70, *arguments, **environment)
    assert shown.isascii()
    assert "Traceback" not in shown
    assert kind != "dumb" or "\x1b" not in shown
    rows = BARE.sub("", shown).split("\n")
    assert max(map(len, rows)) <= 70
    drawn, _ = on_terminal("xterm", 70, *arguments)
    assert not drawn.isascii()
    assert len(drawn.split("\n")) == len(rows)


def test_utf8_that_is_named_is_believed() -> None:
    """A locale of UTF-8 and no locale at all, as in many containers, have the blocks."""
    arguments = ("inspect", JOURNALS / "seed/gate", *GATE)
    blocks = on_terminal("xterm", 80, *arguments)
    assert "▇" in blocks[0]
    assert on_terminal("xterm", 80, *arguments, LANG="") == blocks
    assert on_terminal("xterm", 80, *arguments, LANG="C", PYTHONIOENCODING="utf8") == blocks


@pytest.mark.parametrize("columns", [40, 120])
def test_hostile_text_is_text(tmp_path: Path, columns: int) -> None:
    """Markup, controls and overrides act on nothing, neither in prompts nor in ids."""
    hostile = "a\x1b[31m[red]b[/red]\n\u202ec\x07"
    write_session(tmp_path, create_at(0, hostile, hostile), header={"id": hostile})
    for command in (("inspect", *GATE), ("next", *GATE), ("simulate", *GATE)):
        shown = show_raw("xterm", columns, *address(command, tmp_path), NO_COLOR="1")
        assert not set(shown) & set("\u202e\x07")
        assert set(re.findall(r"\x1b\[[^m]*m", shown)) <= {"\x1b[0m", "\x1b[1m", "\x1b[2m"}
        assert r"a\u001b[31m[red]b[/red]\n\u202ec\u0007" in "".join(shown.split())


def test_the_meters_of_inspect_have_the_numbers_of_its_json(tmp_path: Path) -> None:
    """Each beside its limit, whatever the limit is."""
    session = write_runaway(tmp_path)
    (tmp_path / "wakefold.toml").write_text("[guard]\nmaxPerHour = 0\nmaxPerDay = 36\n")
    told = wakefold_json("inspect", session, *LATER)["wakeups"]
    shown, _ = on_terminal("xterm", 80, "inspect", session, *LATER)
    assert f"{told['consecutive']}/6, over, most {told['maxConsecutive']}\n" in shown
    assert f"{told['lastHour']}, no limit\n" in shown
    assert f"{told['today']}/36, at the limit\n" in shown
    assert f"{told['total']} in all" in shown


def test_the_counts_of_an_audit_have_the_numbers_of_its_json(tmp_path: Path) -> None:
    """The peak of each line is the total that JSON tells."""
    session = write_runaway(tmp_path)
    told = wakefold_json("guard", "audit", session)
    shown, _ = on_terminal("xterm", 80, "guard", "audit", session)
    for name, key, limit in (
        ("in a row", "longestStreak", 6),
        ("in an hour", "busiestHour", 4),
        ("in a day", "busiestDay", 48),
    ):
        (row,) = [row for row in shown.split("\n") if row.startswith(f" {name} ")]
        assert row.endswith(f"  most {told[key]}/{limit}")
    kinds = [finding["kind"] for finding in told["findings"]]
    for kind, mark in (("stopped", "■"), ("prevented", "–"), ("refused", "✗")):  # noqa: RUF001
        assert shown.count(f"{mark} {kind}") == kinds.count(kind)


def test_the_late_ones_of_receipts_are_those_of_its_json(tmp_path: Path) -> None:
    """A sign from a minute on, and a cell for each digit of the seconds."""
    session = write_runaway(tmp_path)
    told = [receipt["lateMs"] for receipt in wakefold_json("receipts", session)["receipts"]]
    shown, _ = on_terminal("xterm", 120, "receipts", session)
    rows = [row for row in shown.split("\n") if "repeat runaway" in row]
    assert len(rows) == len(told)
    for late_ms, row in zip(told, rows, strict=True):
        assert (" ! " in row) == (late_ms >= 60_000)
        assert row.count("▇") == (len(str(late_ms // 1000)) if late_ms >= 1000 else 0)


def test_the_days_of_a_simulation_are_those_of_its_json(tmp_path: Path) -> None:
    """The peak beside the limit, and a mark for each day with a stop."""
    session = write_runaway(tmp_path)
    told = wakefold_json("simulate", session, *LATER, *MODEL)
    shown, _ = on_terminal("xterm", 80, "simulate", session, *LATER, *MODEL)
    (stops,) = [row for row in shown.split("\n") if row.startswith(" stops ")]
    marks = ["■" if day["stops"] else "·" for day in told["days"]]
    assert stops.split() == ["stops", *marks]
    assert f"most {told['busiestDay']}/48\n" in shown


def test_every_table_fits_its_terminal(tmp_path: Path) -> None:
    """Those of other commands, too: framed where there is room, else each row in lines of its own."""
    write_session(tmp_path, create_at(0, prompt="stretch your legs"))
    arguments = ("list", "--session", tmp_path, "--no-checkpoint")
    framed, _ = on_terminal("xterm", 120, *arguments)
    assert "─" in framed
    narrow, width = on_terminal("xterm", 40, *arguments)
    assert width <= 40
    assert "• id: schedule-1" in narrow
    assert "prompt: stretch your legs" in narrow
