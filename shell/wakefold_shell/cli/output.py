"""How the commands speak: JSON or tables on standard output, sentences on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from wakefold.json_text import format_json
from wakefold.zones import format_local
from wakefold_shell.cli.speech import print_line, say
from wakefold_shell.errors import ShellError, explain_os_error, show_path, show_time
from wakefold_shell.files import put_file
from wakefold_shell.stores.journals import Journal

_PROMPT_CHARACTERS_MAX: Final = 60
_ANY_COLUMNS: Final = 10_000


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
    """A table, the last column its prompts: framed on a terminal that it fits, else plain and whole.

    Nothing is cut to fit. On a terminal a column without any value is left out.
    """
    cells = [list(columns), *map(list, rows)]
    lines = _draw_table(cells) if sys.stdout.isatty() else _align(cells)
    for line in lines:
        print_line(line.rstrip())


def print_columns(columns: Mapping[str, Sequence[str]]) -> None:
    """The same of columns by their headings, which are all as long."""
    print_table(list(columns), list(zip(*columns.values(), strict=True)))


def _align(cells: Sequence[Sequence[str]]) -> Iterator[str]:
    """The rows of a plain table, two spaces between columns."""
    from rich.cells import cell_len  # noqa: PLC0415 - the one part of rich that is fast to import

    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        gaps = (" " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(map("".join, zip(row, gaps, strict=True)))


def _draw_table(cells: Sequence[Sequence[str]]) -> list[str]:
    """The rows of a table on a terminal, which is framed where it fits."""
    from rich import box  # noqa: PLC0415 - rich is slow to import
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    used = [index for index in range(len(cells[0])) if any(row[index] != "-" for row in cells[1:])]
    cells = [[row[index] for index in used] for row in cells] if used else cells
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    console = Console(highlight=False, markup=False)
    framed = sum(widths[:-1]) + _GAP * len(widths) + _LEAST <= console.width
    table = Table(box=box.SIMPLE_HEAD if framed else None, pad_edge=False)
    for place, column in enumerate(cells[0]):
        table.add_column(column, overflow="fold", no_wrap=not framed or place < len(widths) - 1)
    for row in cells[1:]:
        table.add_row(*map(Text, row))
    if not framed:
        # With a height as well, or a dumb terminal's width would win.
        console = Console(highlight=False, markup=False, width=_ANY_COLUMNS, height=25)
    with console.capture() as captured:
        console.print(table)
    return captured.get().splitlines()


_GAP: Final = 3  # between two framed columns
_LEAST: Final = 16  # what a prompt needs to be readable


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
