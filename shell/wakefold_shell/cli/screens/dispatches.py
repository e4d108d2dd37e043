"""`receipts` on a terminal: dispatches over time, then each of them by day, and how late it was.

This module decides when a dispatch is marked. Its numbers are those of the table in a pipe.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Final

from wakefold_shell.cli.charts import count_decades, count_in_cells, draw_spark
from wakefold_shell.cli.output import show_day, show_duration, show_text, show_within
from wakefold_shell.cli.screens.strips import Strip, find_room, label_times, print_strips
from wakefold_shell.cli.screens.terminals import Cell, Group, Screen
from wakefold_shell.dispatches import LATE_MS, Delivered

_COLUMNS: Final = (
    "dispatched (UTC)",
    "occurrence (UTC)",
    "late",
    "delivery",
    "took",
    "id",
    "seq",
    "prompt",
)
_BARS: Final = ((1, "1 s"), (2, "10 s"), (3, "100 s"))
_LATE_MINUTES: Final = LATE_MS // 60_000
_OUTCOME_STYLES: Final = {"failed": "red", "waiting": "yellow", "under-way": "yellow"}


def show_receipts(
    screen: Screen, found: Sequence[Delivered], show_delivery: Callable[[Delivered], tuple[str, str]]
) -> None:
    """The receipts by day; `show_delivery` tells what came of one, and how long it took."""
    _print_times(screen, [each.entry.dispatched_at_ms for each in found])
    width = max((len(_tell_lateness(screen, each.entry.late_ms)) for each in found), default=0)

    def draw(each: Delivered, day: str) -> tuple[Cell, ...]:
        came, took = show_delivery(each)
        return (
            show_within(each.entry.dispatched_at_ms, day),
            show_within(each.entry.receipt.occurrence_ms, day),
            _draw_lateness(screen, each.entry.late_ms, width),
            ((came, _OUTCOME_STYLES.get(each.delivery.outcome, "")),),
            took,
            show_text(each.entry.receipt.schedule_id),
            str(each.entry.seq),
            show_text(each.entry.receipt.prompt),
        )

    days = groupby(found, key=lambda each: show_day(each.entry.dispatched_at_ms))
    groups = [Group(day, [draw(each, day) for each in of]) for day, of in days]
    screen.print_table(_COLUMNS, groups, folding=("delivery",))
    if any(count_decades(each.entry.late_ms) for each in found):
        bars = [f"{screen.marks.filled * cells} from {told}" for cells, told in _BARS]
        screen.print_facts(
            [
                f"late: {bars[0]}",
                *bars[1:],
                f"and so on; {screen.marks.overdue} from {_LATE_MINUTES} min",
            ],
            "dim",
        )


def _print_times(screen: Screen, times_ms: Sequence[int]) -> None:
    """How many dispatches there were when."""
    if len(times_ms) < 2:  # noqa: PLR2004 - one stands in no relation
        return
    first_ms, last_ms = min(times_ms), max(times_ms)
    note = f"{len(times_ms)} in all"
    cells = find_room(screen, ["dispatches"], [note])
    if not cells or first_ms == last_ms:
        return
    counts = count_in_cells(times_ms, first_ms, last_ms, cells)
    spark = ((draw_spark(counts, screen.marks.ramp), "cyan"),)
    legend = [f"a cell is {show_duration((last_ms - first_ms) // cells)}", f"at most {max(counts)}"]
    print_strips(
        screen, label_times(first_ms, last_ms, cells), [Strip("dispatches", spark, note)], legend
    )


def _draw_lateness(screen: Screen, late_ms: int, width: int) -> Cell:
    """How late, the late ones marked, and a bar that has a cell for each digit of its seconds."""
    told = _tell_lateness(screen, late_ms)
    style = "yellow" if late_ms >= LATE_MS else ""
    bar = screen.marks.filled * count_decades(late_ms)
    gap = " " * (width - len(told) + 1)
    return ((told, style), (gap, ""), (bar, style)) if bar else told


def _tell_lateness(screen: Screen, late_ms: int) -> str:
    mark = f" {screen.marks.overdue}" if late_ms >= LATE_MS else ""
    return show_duration(late_ms) + mark
