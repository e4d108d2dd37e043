"""Write what commands show on terminals to `tests/terminals`: `python tests/make_terminals.py`.

Each file holds one command at several widths, as a person sees it without colours. Look at what has
changed before it is kept.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "core"), str(ROOT / "tests")]

from command import on_terminal  # noqa: E402 - after the path above
from journal_files import JOURNALS, NOON_MS, create_every, event, write_session  # noqa: E402
from report_pages import write_busy, write_edited, write_hostile  # noqa: E402
from wakefold.instants import format_instant  # noqa: E402

SCREENS: Final = ROOT / "tests/terminals"
WIDTHS: Final = (40, 80, 120, 200)


class Scene(NamedTuple):
    """A command that is looked at: what makes its session, and its words around the session's place."""

    make: Callable[[Path], Path]
    command: tuple[str, ...]
    options: tuple[str, ...] = ()
    locale: str = "C.UTF-8"


def find_gate(_: Path) -> Path:
    """The carried journal with the gate between batches."""
    return JOURNALS / "seed/gate"


def write_runaway(directory: Path) -> Path:
    """A session that wakes itself every half hour, over its limits, with one word at last."""
    lines = [create_every(0, "runaway", 1800)]
    for n in range(60):
        at_ms = NOON_MS + 1_800_000 * n + 1000 * 10 ** (n % 4)
        data = {
            "version": 1,
            "operation": "dispatch",
            "id": "runaway",
            "acceptedAt": format_instant(at_ms),
        }
        lines.append(event(len(lines), "turn/start", {"turn": n + 1}, at_ms))
        lines.append(event(len(lines), "schedule/change", data, at_ms))
        if n == 40:
            lines.append(event(len(lines), "user/message", {"source": {"kind": "user"}}, at_ms + 1))
        ended = {"turn": n + 1, "reason": {"kind": "completed"}}
        lines.append(event(len(lines), "turn/end", ended, at_ms + 2000))
    write_session(directory, *lines)
    return directory


def write_held(directory: Path) -> Path:
    """The same under a hold without an hourly cap, and a reminder that is paused."""
    write_runaway(directory)
    (directory / "wakefold.toml").write_text("[guard]\nhold = true\nmaxPerHour = 0\n", "utf-8")
    journal = directory / "session.jsonl"
    seq = len(journal.read_bytes().splitlines()) - 1
    paused = {"version": 2, "operation": "pause", "id": "paused"}
    with journal.open("ab") as lines:
        lines.write(create_every(seq, "paused", 3600, "2027-01-06T12:00:00.000Z"))
        lines.write(event(seq + 1, "schedule/change", paused, NOON_MS))
    return directory


def write_nothing(directory: Path) -> Path:
    """A session in which nothing has happened."""
    write_session(directory)
    return directory


def write_crowd(directory: Path) -> Path:
    """A session with more repeating reminders than lanes."""
    return write_busy(directory, 24, 3)


GATE: Final = ("--now", "2026-11-30T10:46:00Z")
NOON: Final = ("--now", "2027-01-04T12:30:00Z")
LATER: Final = ("--now", "2027-01-05T18:20:00Z")
AUDIT: Final = ("guard", "audit")
MODEL: Final = ("--word", "09:00", "--reschedule", "3000", "--tokens-per-wakeup", "8000")
LEGACY: Final = "C"

SCENES: Final = {
    "inspect-gate": Scene(find_gate, ("inspect",), GATE),
    "inspect-ascii": Scene(find_gate, ("inspect",), GATE, LEGACY),
    "inspect-edited": Scene(write_edited, ("inspect",), NOON),
    "inspect-runaway": Scene(write_runaway, ("inspect",), LATER),
    "inspect-held": Scene(write_held, ("inspect",), LATER),
    "inspect-nothing": Scene(write_nothing, ("inspect",), NOON),
    "inspect-crowd": Scene(write_crowd, ("inspect",), NOON),
    "inspect-hostile": Scene(write_hostile, ("inspect",), NOON),
    "receipts-gate": Scene(find_gate, ("receipts",)),
    "receipts-runaway": Scene(write_runaway, ("receipts",)),
    "next-gate": Scene(find_gate, ("next",), (*GATE, "-n", "6")),
    "next-edited": Scene(write_edited, ("next",), (*NOON, "-n", "5")),
    "next-crowd": Scene(write_crowd, ("next",), (*NOON, "-n", "40")),
    "audit-gate": Scene(find_gate, AUDIT),
    "audit-runaway": Scene(write_runaway, AUDIT),
    "audit-ascii": Scene(write_runaway, AUDIT, (), LEGACY),
    "simulate-gate": Scene(find_gate, ("simulate",), GATE),
    "simulate-runaway": Scene(write_runaway, ("simulate",), (*LATER, *MODEL)),
    "simulate-unlimited": Scene(find_gate, ("simulate",), (*GATE, "--no-guard")),
}


def draw(scene: Scene, scratch: Path) -> str:
    """The screens of a scene, one width after the other."""
    session = scene.make(scratch / "session")
    arguments: tuple[str | Path, ...] = (*scene.command, session, *scene.options)
    return "".join(
        f"=== {columns} columns\n{on_terminal('xterm', columns, *arguments, LC_ALL=scene.locale)[0]}"
        for columns in WIDTHS
    )


if __name__ == "__main__":
    for name, scene in SCENES.items():
        with TemporaryDirectory() as scratch:
            (SCREENS / f"{name}.txt").write_text(draw(scene, Path(scratch)), "utf-8")
