"""A terminal: how wide it is, which characters it shows, and how text and tables are put on it.

This module decides the form that a table has where there is more or less room, and is the only one that
draws with rich. It refuses to know what is shown. Nothing is left out for want of room, and no colour
says what no character says.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from math import ceil
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from wakefold_shell.cli.charts import share_lines
from wakefold_shell.cli.screens.marks import ASCII, BLOCKS
from wakefold_shell.cli.speech import is_utf8_wanted, print_line

if TYPE_CHECKING:
    from rich.console import Console

Cell = str | tuple[tuple[str, str], ...]
"""A text, or pieces of one, each with the style that it is shown in."""


class Group(NamedTuple):
    """Rows of a table under a heading of their own, which is empty where they need none."""

    heading: str
    rows: Sequence[Sequence[Cell]]


class Screen:
    """A terminal that standard output is."""

    def __init__(self) -> None:
        """The terminal, as wide as it is now."""
        dumb = os.environ.get("TERM", "").lower() in _DUMB
        self._spaced = False
        self.marks = ASCII if dumb or not is_utf8_wanted() else BLOCKS

    @cached_property
    def width(self) -> int:
        """How many cells a line has."""
        return max(shutil.get_terminal_size().columns, _WIDTH_MIN)

    @cached_property
    def _console(self) -> Console:
        from rich.console import Console  # noqa: PLC0415 - rich is slow to import

        # With a height as well, or a dumb terminal would always have 80 columns.
        return Console(highlight=False, markup=False, width=self.width, height=25)

    def print(self, *cells: Cell) -> None:
        """One text on a line, or on more where it does not fit."""
        from rich.text import Text  # noqa: PLC0415 - as above

        self._put(Text.assemble(*(piece for cell in cells for piece in split(cell)), overflow="fold"))

    def space(self) -> None:
        """An empty line, where the last one is not."""
        if not self._spaced:
            print_line("")
        self._spaced = True

    def print_facts(self, facts: Sequence[str], style: str = "") -> None:
        """Facts with commas between, each of them whole on its line."""
        self.print_parts([*(f"{fact}," for fact in facts[:-1]), *facts[-1:]], style)

    def print_parts(self, parts: Sequence[str], style: str = "") -> None:
        """Parts of a text, each of them whole on its line if it can be."""
        for line in share_lines([measure(part) for part in parts], self.width, 1):
            self.print(((" ".join(parts[at] for at in line), style),))

    def print_table(
        self, columns: Sequence[str], groups: Iterable[Group], folding: Sequence[str] = ()
    ) -> None:
        """A table; the last column and those named are folded where that lets it fit.

        Where not even that fits, each row is told in lines of its own. A column without any value is
        left out.
        """
        kept = list(groups)
        rows = [row for group in kept for row in group.rows]
        used = [at for at in range(len(columns)) if any(row[at] != "-" for row in rows)]
        used = used or list(range(len(columns)))
        kept = [Group(heading, [[row[at] for at in used] for row in of]) for heading, of in kept]
        foldable = {*folding, columns[used[-1]]}
        headings = [group.heading for group in kept]
        chosen = [
            _measure_column(
                columns[at],
                [*(row[at] for row in rows), *(headings if at == used[0] else [])],
                foldable=columns[at] in foldable,
            )
            for at in used
        ]
        self.space()
        least = sum(column.least for column in chosen) + _EDGES
        gaps = (gap for gap in _GAPS if least + gap * (len(chosen) - 1) <= self.width)
        gap = next(gaps, None)
        if gap is None:
            self._print_rows(chosen, kept)
        else:
            room = self.width - _EDGES - gap * (len(chosen) - 1)
            self._print_framed(chosen, _share_width(chosen, room), gap, kept)
        self.space()

    def _print_framed(
        self, columns: Sequence[_Column], widths: Sequence[int], gap: int, groups: Iterable[Group]
    ) -> None:
        """A table, some rows at a time, so that the first of many are seen at once."""
        from rich import box  # noqa: PLC0415 - as above
        from rich.padding import Padding  # noqa: PLC0415
        from rich.table import Table  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415

        edges = box.SIMPLE_HEAD if self.marks is BLOCKS else box.Box(_ASCII_EDGES, ascii=True)
        headed = True
        rows = _list_rows(groups)
        while (some := list(islice(rows, _ROWS))) or headed:
            table = Table(
                box=edges,
                padding=(0, 1, 0, gap - 2),
                pad_edge=False,
                show_edge=False,
                show_header=headed,
            )
            for column, width in zip(columns, widths, strict=True):
                table.add_column(column.heading, overflow="fold", width=width)
            for row in some:
                table.add_row(*(Text.assemble(*split(cell)) for cell in row))
            self._put(Padding(table, (0, 0, 0, 1), expand=False))
            headed = False

    def _print_rows(self, columns: Sequence[_Column], groups: Iterable[Group]) -> None:
        """Each row in lines of its own, every value after the name of its column."""
        from rich.padding import Padding  # noqa: PLC0415 - as above
        from rich.text import Text  # noqa: PLC0415

        for heading, rows in groups:
            if heading:
                self.space()
                self.print(((heading, "bold"),))
            for row in rows:
                told = [
                    Text.assemble((f"{column.name}: ", "dim"), *_squeeze(cell), overflow="fold")
                    for column, cell in zip(columns, row, strict=True)
                    if cell not in _NOTHING
                ]
                sizes = [text.cell_len for text in told]
                for number, line in enumerate(share_lines(sizes, self.width - 2, 2)):
                    text = Text("  ", overflow="fold").join(told[at] for at in line)
                    if not number:
                        text = Text.assemble((f"{self.marks.item} ", "bold"), text, overflow="fold")
                    self._put(text if not number else Padding(text, (0, 0, 0, 2)))

    def _put(self, drawn: Any) -> None:  # noqa: ANN401 - whatever rich renders
        with self._console.capture() as captured:
            self._console.print(drawn)
        for line in captured.get().split("\n")[:-1]:
            if line.strip():
                print_line(line.rstrip())
                self._spaced = False
            else:
                self.space()


def find_screen() -> Screen | None:
    """The terminal that standard output is; `None` where it is a pipe or a file."""
    return Screen() if sys.stdout.isatty() else None


def measure(text: str) -> int:
    """How many cells of a line a text takes."""
    from rich.cells import cell_len  # noqa: PLC0415 - the one part of rich that is fast to import

    return cell_len(text)


class _Column(NamedTuple):
    """A column, what it takes whole, and the least that it is readable in."""

    name: str
    heading: str
    whole: int
    least: int


def _measure_column(name: str, cells: Iterable[Cell], *, foldable: bool) -> _Column:
    """A column; what stands in brackets in its name stands below, where that makes it narrower."""
    texts = list(map(join, cells))
    widest = max(map(measure, texts), default=0)
    heading = name.replace(" (", "\n(") if measure(name) > widest else name
    whole = max(widest, *map(measure, heading.split("\n")))
    word = max((measure(word) for text in texts for word in text.split()), default=0)
    readable = max(_LEAST, min(word, _WORD), ceil(whole / _LINES))
    least = min(whole, readable) if foldable else whole
    return _Column(name, heading, whole, least)


def _share_width(columns: Sequence[_Column], room: int) -> list[int]:
    """How wide each column is: at least as it must be, the later ones wider first."""
    left = room - sum(column.least for column in columns)
    widths = []
    for column in reversed(columns):
        more = min(left, column.whole - column.least)
        left -= more
        widths.append(column.least + more)
    return widths[::-1]


def _list_rows(groups: Iterable[Group]) -> Iterator[Sequence[Cell]]:
    """The rows of all groups, each group under its heading and an empty row before it."""
    for number, (heading, rows) in enumerate(groups):
        if heading:
            if number:
                yield ()
            yield (((heading, "bold"),),)
        yield from rows


def split(cell: Cell) -> Iterator[tuple[str, str]]:
    """The pieces of a cell, each with its style."""
    return iter([(cell, "")] if isinstance(cell, str) else cell)


def join(cell: Cell) -> str:
    """The text of a cell without its styles."""
    return "".join(text for text, _ in split(cell))


def _squeeze(cell: Cell) -> Iterator[tuple[str, str]]:
    """The pieces of a cell without the gaps between them that only align."""
    pieces = [piece for piece in split(cell) if piece[0].strip()]
    for number, (text, style) in enumerate(pieces):
        yield (f" {text}" if number else text, style)


_DUMB: Final = frozenset({"dumb", "unknown"})
_NOTHING: Final = ("-", "")
_WIDTH_MIN: Final = 10
_ROWS: Final = 200  # of a table that are drawn at a time
_EDGES: Final = 2  # beside a table
_GAPS: Final = (3, 2)  # between two columns
_LEAST: Final = 16  # what a prompt needs to be readable
_WORD: Final = 24  # and a word that is not broken for it: an instant
_LINES: Final = 3  # that a text is folded to at most
_ASCII_EDGES: Final = "    \n    \n -- \n    \n    \n    \n    \n    \n"
