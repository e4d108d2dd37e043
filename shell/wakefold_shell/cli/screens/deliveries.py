"""`next` on a terminal: the coming deliveries of each reminder on one axis, then all of them by day.

This module decides what is drawn of them. When they come the core says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Final

from wakefold.wakes import Upcoming
from wakefold_shell.cli.charts import count_in_cells
from wakefold_shell.cli.output import show_day, show_duration, show_text, show_within
from wakefold_shell.cli.screens.strips import (
    Strip,
    color_marks,
    find_room,
    label_ends,
    print_strips,
)
from wakefold_shell.cli.screens.terminals import Cell, Group, Marks, Screen

_TEXTS: Final = ("id", "prompt")
_LANES_MAX: Final = 12
_NAME_CHARACTERS_MAX: Final = 20
_DIGIT_MAX: Final = 9


def show_deliveries(
    screen: Screen, coming: Sequence[Upcoming], more: Mapping[str, Sequence[str]], now_ms: int
) -> None:
    """The deliveries by their day, with the further columns that they have in a pipe.

    An instant and a reading without a day are of the day that they stand under.
    """
    _print_lanes(screen, coming, now_ms)
    columns = ("delivered (UTC)", "from now", "occurrence (UTC)", *more)
    rows = zip(coming, zip(*more.values(), strict=True), strict=True)

    def draw(entry: Upcoming, cells: Sequence[str], day: str) -> tuple[Cell, ...]:
        told = zip(more, cells, strict=True)
        shorter = (cell if name in _TEXTS else cell.removeprefix(f"{day} ") for name, cell in told)
        return (*_show_times(entry, day, now_ms), *shorter)

    days = groupby(rows, key=lambda row: show_day(row[0].delivered_at_ms))
    groups = [Group(day, [draw(*row, day) for row in of]) for day, of in days]
    screen.print_table(columns, groups, folding=("by its rule",))


def _show_times(entry: Upcoming, day: str, now_ms: int) -> tuple[Cell, ...]:
    away_ms = entry.delivered_at_ms - now_ms
    return (
        show_within(entry.delivered_at_ms, day),
        f"in {show_duration(away_ms)}" if away_ms > 0 else "now",
        show_within(entry.occurrence_ms, day),
    )


def _print_lanes(screen: Screen, coming: Sequence[Upcoming], now_ms: int) -> None:
    """The deliveries of each reminder from now to the last; several in one cell as a number."""
    times_ms: dict[str, list[int]] = {}
    for entry in coming:
        times_ms.setdefault(entry.record.id, []).append(entry.delivered_at_ms)
    if len(coming) < 2:  # noqa: PLR2004 - one stands in no relation
        return
    if len(times_ms) > _LANES_MAX:
        times_ms = {"deliveries": [entry.delivered_at_ms for entry in coming]}
    names = [show_text(name, _NAME_CHARACTERS_MAX) for name in times_ms]
    cells = find_room(screen, names, [])
    last_ms = coming[-1].delivered_at_ms
    if not cells or last_ms <= now_ms:
        return
    labels = label_ends("now", show_within(last_ms, show_day(now_ms)), cells)
    counts = [count_in_cells(at_ms, now_ms, last_ms, cells) for at_ms in times_ms.values()]
    strips = [
        Strip(name, _draw_lane(screen.marks, lane)) for name, lane in zip(names, counts, strict=True)
    ]
    several = max(map(max, counts)) > 1
    print_strips(screen, labels, strips, ["a number: so many at a time"] if several else [])


def _draw_lane(marks: Marks, counts: Sequence[int]) -> Cell:

    def draw(count: int) -> str:
        if count <= 1:
            return marks.due if count else marks.line
        return str(count) if count <= _DIGIT_MAX else "+"

    styles = {marks.line: "dim"}
    lane = [draw(count) for count in counts]
    return color_marks(lane, styles | {mark: "cyan" for mark in lane if mark != marks.line})
