"""Strips: rows of pictures over one axis that they share, each between its name and a note.

This module decides how much room pictures have. It refuses to know what they show.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from wakefold.guard_config import GuardConfig
from wakefold_shell.cli.charts import write_labels
from wakefold_shell.cli.output import show_day, show_instant, show_text, show_within
from wakefold_shell.cli.screens.marks import Marks
from wakefold_shell.cli.screens.terminals import Cell, Screen, join, measure

CELLS_MIN: Final = 10
"""In fewer cells nothing is drawn: every picture tells in its way what a table tells, too."""

_CELLS_MAX: Final = 100  # wider pictures are harder to read, not easier
_NAME_CHARACTERS_MAX: Final = 20
_GAP: Final = 2
_YEAR: Final = len("2027-")
_TO_THE_MINUTE: Final = len("12:34")
_INDENT: Final = 1  # that of a framed table


class Strip(NamedTuple):
    """A picture with its name and a note."""

    name: str
    picture: Cell
    note: Cell = ""


def show_name(screen: Screen, schedule_id: str) -> str:
    """An id as the name of a strip, cut where it would leave no room."""
    return show_text(schedule_id, min(screen.width // 4, _NAME_CHARACTERS_MAX))


def find_room(screen: Screen, names: Iterable[str], notes: Iterable[str]) -> int:
    """How many cells pictures have between such names and notes; 0 where that is too few."""
    sides = max(map(measure, names), default=0) + max(map(measure, notes), default=0)
    cells = min(screen.width - sides - 2 * _GAP - _INDENT, _CELLS_MAX)
    return cells if cells >= CELLS_MIN else 0


def print_strips(
    screen: Screen, labels: str, strips: Sequence[Strip], legend: Sequence[str] = ()
) -> None:
    """The strips under the labels of their axis, what their marks mean, and an empty line."""
    width = max(measure(strip.name) for strip in strips)
    if labels.strip():
        screen.print(" " * (_INDENT + width + _GAP), ((labels, "dim"),))
    for name, picture, note in strips:
        gap = " " * (width - measure(name) + _GAP)
        screen.print(" " * _INDENT, name, gap, picture, " " * _GAP if join(note) else "", note)
    if legend:
        screen.print_facts([f" {legend[0]}", *legend[1:]], "dim")
    screen.space()


def label_times(first_ms: int, last_ms: int, cells: int) -> str:
    """The labels of an axis of time at its ends, as much of both as fits."""
    day = show_day(first_ms)
    whole = (show_instant(first_ms), show_within(last_ms, day))
    if show_day(last_ms) != day:
        days = (day, show_day(last_ms))
        shorter = [days, (days[0][_YEAR:], days[1][_YEAR:])]
    else:
        times = (show_within(first_ms, day), whole[1])
        shorter = [times, (times[0][:_TO_THE_MINUTE], times[1][:_TO_THE_MINUTE])]
    return label_ends(*next((ends for ends in (whole, *shorter) if _fits(ends, cells)), whole), cells)


def label_ends(first: str, last: str, cells: int) -> str:
    """The labels of an axis at its ends: both, or else one of them."""
    return write_labels([(0, first), (cells - 1, last)], cells)


def color_marks(cells: Sequence[str], styles: dict[str, str]) -> Cell:
    """A picture of characters, each in the style of its mark."""
    return tuple((mark, styles.get(mark, "")) for mark in cells)


def find_hourly_limit(limits: GuardConfig) -> float | None:
    """The hourly cap, unless it is switched off."""
    return limits.max_per_hour if limits.max_per_hour > 0 else None


def compare(count: int, limit: float | None) -> str:
    """A count beside its limit, if it has one."""
    return f"{count}, no limit" if limit is None else f"{count}/{limit:.15g}"


def explain_over(marks: Marks) -> str:
    """What the highest mark of a count beside a limit means."""
    return f"{marks.ramp[-1]} over the limit"


def _fits(ends: tuple[str, str], cells: int) -> bool:
    return len(" ".join(ends)) <= cells
