"""How the commands speak: JSON or tables on standard output, sentences on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Final

from wakefold.instants import format_instant
from wakefold.json_text import format_json
from wakefold.zones import format_local
from wakefold_shell.stores.journals import Journal

_PROMPT_CHARACTERS_MAX: Final = 60
_PIPE_COLUMNS: Final = 10_000


def use_utf8() -> None:
    """Let both streams carry any text, whatever the locale says."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]


def print_line(text: str) -> None:
    """One line on standard output."""
    sys.stdout.write(f"{text}\n")


def print_json(value: object) -> None:
    """One JSON document on standard output, one line."""
    print_line(format_json(value))


def say(sentence: str) -> None:
    """One sentence on standard error, named after the program."""
    sys.stderr.write(f"wakefold: {sentence}\n")
    sys.stderr.flush()


def warn(journal: Journal) -> None:
    """Say what the reader of a journal had to leave out, if anything."""
    if journal.warning is not None:
        say(journal.warning)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table: framed for the width of a terminal, plain aligned columns in a pipe."""
    from rich import box  # noqa: PLC0415 - rich is slow to import
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    terminal = sys.stdout.isatty()
    table = Table(box=box.SIMPLE_HEAD if terminal else None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=not terminal or column != "prompt")
    for row in rows:
        table.add_row(*map(Text, row))
    console = Console(width=None if terminal else _PIPE_COLUMNS, highlight=False, markup=False)
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        print_line(line.rstrip())


def show_text(text: str) -> str:
    """A prompt or id for people: on one line, cut with a mark, no character that acts on a terminal."""
    shown = "".join(c if c.isprintable() else format_json(c)[1:-1] for c in text[:_SCAN_MAX])
    shown = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in shown)
    if len(shown) > _PROMPT_CHARACTERS_MAX:
        return f"{shown[: _PROMPT_CHARACTERS_MAX - 3]}..."
    return shown


_SCAN_MAX: Final = 4 * _PROMPT_CHARACTERS_MAX


def show_instant(instant_ms: int | None) -> str:
    """An instant for people, `-` for none."""
    return "-" if instant_ms is None else format_instant(instant_ms)


def show_local(instant_ms: int, zone: str | None) -> str:
    """A local reading for people, `-` where no zone is known or the reading leaves the calendar."""
    if zone is None:
        return "-"
    try:
        return format_local(instant_ms, zone)
    except ValueError:
        return "-"


def show_duration(duration_ms: int) -> str:
    """A length of time for people: `54 ms`, `12.3 s`, `7 min 5 s`, `3 h 20 min`, `42 d 6 h`."""
    sign = "-" if duration_ms < 0 else ""
    left_ms = abs(duration_ms)
    if left_ms < 1000:  # noqa: PLR2004 - a second
        return f"{sign}{left_ms} ms"
    if left_ms < 60_000:  # noqa: PLR2004 - a minute
        return f"{sign}{left_ms / 1000:.1f} s"
    seconds = left_ms // 1000
    if seconds < 3600:  # noqa: PLR2004 - an hour
        return f"{sign}{seconds // 60} min {seconds % 60} s"
    minutes = seconds // 60
    if minutes < 1440:  # noqa: PLR2004 - a day
        return f"{sign}{minutes // 60} h {minutes % 60} min"
    return f"{sign}{minutes // 1440} d {minutes % 1440 // 60} h"
