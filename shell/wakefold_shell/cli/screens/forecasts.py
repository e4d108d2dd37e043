"""`simulate` on a terminal: wakeups and stops by the day, and the table of the days with bars.

This module decides what is drawn of a forecast. Its numbers are those of the table in a pipe.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Final

from wakefold.forecasts import Forecast
from wakefold.guard_config import GuardConfig
from wakefold_shell.cli.charts import draw_meter, draw_spark, take_maxima
from wakefold_shell.cli.output import show_day
from wakefold_shell.cli.screens.strips import (
    Strip,
    color_marks,
    compare,
    explain_over,
    find_room,
    label_ends,
    print_strips,
)
from wakefold_shell.cli.screens.terminals import Cell, Group, Screen

_MIDNIGHT: Final = " 00:00:00"
_BAR_CELLS: Final = 8
_DAY_CELLS: Final = 3
_LABELS_CELLS: Final = 22  # two days by their dates


def print_days(screen: Screen, cast: Forecast, limits: GuardConfig | None) -> None:
    """The wakeups of each day beside the limit, and the days in which the guard stopped the session."""
    counts = [day.wakeups for day in cast.days]
    limit = None if limits is None else limits.max_per_day
    note = f"most {compare(max(counts), limit)}"
    names = ("wakeups a day", "stops")
    room = find_room(screen, names, [note])
    if not room or len(counts) < 2:  # noqa: PLR2004 - one stands in no relation
        return
    highest = take_maxima(counts, room)
    step = min(max(_DAY_CELLS, ceil(_LABELS_CELLS / len(highest))), room // len(highest))
    marks = screen.marks
    spark = "".join(_widen(mark, step) for mark in draw_spark(highest, marks.ramp, limit))
    strips = [Strip(names[0], ((spark, "cyan"),), note)]
    stopped = take_maxima([len(day.stops) for day in cast.days], room)
    if any(stopped):
        lane = [(marks.stopped if stops else marks.line).ljust(step) for stops in stopped]
        styles = {marks.stopped.ljust(step): "red", marks.line.ljust(step): "dim"}
        strips.append(Strip(names[1], color_marks(lane, styles)))
    ends = (show_day(cast.days[0].start_ms), show_day(cast.days[-1].start_ms))
    over = limit is not None and max(counts) > limit
    legend = [explain_over(marks)] if over else []
    print_strips(screen, label_ends(*ends, len(spark)), strips, legend)


def print_rows(
    screen: Screen, columns: Sequence[str], rows: Sequence[Sequence[str]], measured: str
) -> None:
    """The table, a bar beside what is measured, as long as it is high."""
    at = columns.index(measured)
    counts = [int(row[at]) if row[at].isdecimal() else 0 for row in rows]
    most, width = max(counts, default=0), max((len(row[at]) for row in rows), default=0)
    marks = screen.marks
    midnight = all(row[0].endswith(_MIDNIGHT) for row in rows)
    drawn = []
    for row, count in zip(rows, counts, strict=True):
        cells: list[Cell] = list(row)
        if count:
            length = draw_meter(count, most, _BAR_CELLS, marks.filled, "")
            pad = " " * (width - len(row[at]))
            cells[at] = (pad, ""), (row[at], ""), (" ", ""), (length, "cyan")
        cells[0] = row[0].removesuffix(_MIDNIGHT) if midnight else row[0]
        cells[-1] = row[-1].replace(f"{row[0].partition(' ')[0]} ", "")
        drawn.append(cells)
    screen.print_table(columns, [Group("", drawn)])


def _widen(mark: str, cells: int) -> str:
    """A mark on so many cells, the last of which is a gap."""
    return mark if cells == 1 else (mark * (cells - 1)).ljust(cells)
