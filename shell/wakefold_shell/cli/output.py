"""How the commands speak: JSON or tables on standard output, sentences on standard error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from wakefold.json_text import format_json
from wakefold.zones import format_local
from wakefold_shell.cli.screens.terminals import Group, find_screen, measure
from wakefold_shell.cli.speech import print_line, say
from wakefold_shell.errors import ShellError, explain_os_error, show_path, show_time
from wakefold_shell.files import put_file
from wakefold_shell.stores.journals import Journal

_PROMPT_CHARACTERS_MAX: Final = 60


def print_json(value: object) -> None:
    """One JSON document on standard output, one line."""
    print_line(format_json(value))


def put_output(place: Path, content: bytes) -> None:
    """A file in place, whole or not at all; `ShellError` where the system refuses."""
    try:
        put_file(place, content)
    except OSError as error:
        why = explain_os_error(error)
        raise ShellError(f"{show_path(place)}: {why}; name another file with --output.") from error


def warn(journal: Journal) -> None:
    """Say what the reader of a journal had to leave out, if anything."""
    if journal.warning is not None:
        say(journal.warning)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table, the last column its prompts: drawn to fit on a terminal, else plain and whole."""
    screen = find_screen()
    if screen is not None:
        screen.print_table(columns, [Group("", list(rows))])
        return
    for line in _align([list(columns), *map(list, rows)]):
        print_line(line.rstrip())


def print_columns(columns: Mapping[str, Sequence[str]]) -> None:
    """The same of columns by their headings, which are all as long."""
    print_table(list(columns), list(zip(*columns.values(), strict=True)))


def print_facts(facts: Sequence[str]) -> None:
    """Facts with commas between, on one line; on a terminal on as many as they need."""
    screen = find_screen()
    if screen is None:
        print_line(", ".join(facts))
    else:
        screen.print_facts(facts)


def _align(cells: Sequence[Sequence[str]]) -> Iterator[str]:
    """The rows of a plain table, two spaces between columns."""
    widths = [max(map(measure, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        gaps = (" " * (width - measure(cell)) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(map("".join, zip(row, gaps, strict=True)))


def show_text(text: str, characters_max: int = _PROMPT_CHARACTERS_MAX) -> str:
    """A prompt or id for people: on one line, cut with a mark, no character that acts on a terminal."""
    looked_at = text[: 4 * characters_max]
    shown = "".join(c if c.isprintable() else format_json(c)[1:-1] for c in looked_at)
    shown = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in shown)
    if len(shown) > characters_max:
        return f"{shown[: characters_max - 3]}..."
    return shown


def show_instant(instant_ms: int | None) -> str:
    """An instant in UTC for people, to the second; `-` for none."""
    if instant_ms is None:
        return "-"
    return show_time(instant_ms).partition(".")[0].replace("T", " ")


def show_day(instant_ms: int) -> str:
    """The UTC day of an instant for people."""
    text = show_instant(instant_ms)
    return text if text.endswith(" ms") else text.partition(" ")[0]


def show_within(instant_ms: int | None, day: str) -> str:
    """An instant in UTC for people, without its day where that is told beside it."""
    return show_instant(instant_ms).removeprefix(f"{day} ")


def show_local(instant_ms: int, zone: str | None) -> str:
    """A local reading for people; `-` where no zone is known or the reading leaves the calendar."""
    if zone is None:
        return "-"
    try:
        return format_local(instant_ms, zone).removesuffix(f" {zone}")
    except ValueError:
        return "-"


def name_local(zone: str | None) -> str:
    """The heading of a column of local readings."""
    return "local" if zone is None else f"local ({show_text(zone)})"


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
