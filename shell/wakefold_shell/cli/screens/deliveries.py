"""`next` on a terminal: the coming deliveries of each reminder on one axis, then all of them by day.

This module decides what is drawn of them. When they come the core says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Final

from wakefold.wakes import Upcoming
from wakefold_shell.cli.charts import count_in_cells, draw_spark
from wakefold_shell.cli.output import show_day, show_duration, show_within
from wakefold_shell.cli.screens.marks import Marks
from wakefold_shell.cli.screens.strips import (
    Strip,
    color_marks,
    find_room,
    label_ends,
    print_strips,
    show_name,
)
from wakefold_shell.cli.screens.terminals import Cell, Group, Screen

_TEXTS: Final = ("id", "prompt")
_LANES_MAX: Final = 12
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
    """The deliveries of each reminder from now to the last; of too many reminders, all in one."""
    if len(coming) < 2:  # noqa: PLR2004 - one stands in no relation
        return
    times_ms: dict[str, list[int]] = {}
    for entry in coming:
        times_ms.setdefault(entry.record.id, []).append(entry.delivered_at_ms)
    together = len(times_ms) > _LANES_MAX
    if together:
        times_ms = {"deliveries": [entry.delivered_at_ms for entry in coming]}
    names = [show_name(screen, name) for name in times_ms]
    cells = find_room(screen, names, [])
    last_ms = coming[-1].delivered_at_ms
    if not cells or last_ms <= now_ms:
        return
    counts = [count_in_cells(at_ms, now_ms, last_ms, cells) for at_ms in times_ms.values()]
    draw = _draw_together if together else _draw_lane
    strips = [Strip(name, draw(screen.marks, lane)) for name, lane in zip(names, counts, strict=True)]
    labels = label_ends("now", show_within(last_ms, show_day(now_ms)), cells)
    print_strips(screen, labels, strips, [] if together else _explain_marks(screen.marks, counts))


def _draw_together(marks: Marks, counts: Sequence[int]) -> Cell:
    return ((draw_spark(counts, marks.ramp), "cyan"),)


def _draw_lane(marks: Marks, counts: Sequence[int]) -> Cell:
    """A mark for one delivery, a number for several."""
    lane = [
        str(min(count, _DIGIT_MAX)) if count > 1 else marks.due if count else marks.line
        for count in counts
    ]
    return color_marks(lane, dict.fromkeys(lane, "cyan") | {marks.line: "dim"})


def _explain_marks(marks: Marks, counts: Sequence[Sequence[int]]) -> list[str]:
    """What the marks mean, where there are more than one."""
    most = max(map(max, counts))
    if most <= 1:
        return []
    more = f", {_DIGIT_MAX} so many or more" if most > _DIGIT_MAX else ""
    return [f"{marks.due} a delivery, a number so many of them{more}"]
