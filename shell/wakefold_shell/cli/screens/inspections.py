"""`inspect` on a terminal: meters of the guard's counts, the reminders, and when each is due.

This module decides where a reminder stands on an axis about now. Counts come as `--json` has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from wakefold.guard_config import GuardConfig
from wakefold.instants import is_representable
from wakefold.records import find_due
from wakefold.views import View
from wakefold.wakeups import DAY_MS, Wakeups
from wakefold_shell.cli.charts import AxisAboutNow, count_in_cells, draw_meter, draw_spark, reach
from wakefold_shell.cli.output import show_duration
from wakefold_shell.cli.screens.marks import Marks
from wakefold_shell.cli.screens.strips import (
    Strip,
    color_marks,
    compare,
    find_hourly_limit,
    find_room,
    label_ends,
    print_strips,
    show_name,
)
from wakefold_shell.cli.screens.terminals import Cell, Group, Screen

_LANES_MAX: Final = 20
_METER_CELLS: Final = 12
_METER_CELLS_NARROW: Final = 6
_NARROW: Final = 60
_HOURS: Final = 24

NO_REMINDERS: Final = "no active reminders"

_STATE_STYLES: Final = {"overdue": "yellow", "held": "magenta", "paused": "dim"}


def print_reminders(screen: Screen, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """The table of the active reminders, each state in its colour.

    An instant and a reading without a day are of the day of the target.
    """
    if not rows:
        screen.print(NO_REMINDERS)
        screen.space()
        return
    state, target = map(columns.index, ("state", "target (UTC)"))
    drawn = []
    for row in rows:
        cells: list[Cell] = list(row)
        cells[state] = ((row[state], _STATE_STYLES.get(row[state], "")),)
        day = row[target].partition(" ")[0]
        for at in range(target + 1, len(row) - 1):  # other instants and readings
            cells[at] = row[at].removeprefix(f"{day} ")
        drawn.append(cells)
    screen.print_table(columns, [Group("", drawn)])


def print_lanes(screen: Screen, views: Sequence[View], now_ms: int) -> None:
    """When each reminder is due, the first of them first, on one axis about now."""
    planned = sorted((view for view in views if view.state != "paused"), key=_find_due)
    shown = planned[:_LANES_MAX]
    notes = [_tell_distance(_find_due(view) - now_ms) for view in shown]
    names = [show_name(screen, view.record.id) for view in shown]
    cells = find_room(screen, names, notes)
    if not cells or not shown:
        return
    away = [at_ms - now_ms for view in shown for at_ms in (_find_due(view), _find_gate(view) or now_ms)]
    axis = AxisAboutNow(reach(-ms for ms in away), reach(away), cells)
    strips = [
        Strip(name, _draw_lane(screen, axis, view, now_ms), note)
        for name, view, note in zip(names, shown, notes, strict=True)
    ]
    print_strips(screen, axis.draw_labels(), strips, _explain_marks(screen.marks, shown))
    if len(planned) > len(shown):
        screen.print(f" and {len(planned) - len(shown)} later ones")
        screen.space()


def print_meters(
    screen: Screen, counts: dict[str, int], limits: GuardConfig, wakeups: Wakeups, now_ms: int
) -> None:
    """How often the session woke itself: each count against its limit, and the last day by the hour."""
    meters = (
        ("in a row", counts["consecutive"], limits.max_consecutive_wakeups),
        ("last hour", counts["lastHour"], find_hourly_limit(limits)),
        ("today", counts["today"], limits.max_per_day),
    )
    cells = _METER_CELLS_NARROW if screen.width < _NARROW else _METER_CELLS
    for name, count, limit in meters:
        most = f", most {counts['maxConsecutive']}" if name == "in a row" else ""
        screen.print(f" {name:9}  ", *_draw_meter(screen.marks, count, limit, cells), most)
    times_ms = wakeups.list_since(now_ms - DAY_MS)
    by_hour = count_in_cells(times_ms, now_ms - DAY_MS, now_ms, _HOURS)
    note = f"{counts['total']} in all"
    if any(by_hour):
        note += f", at most {max(by_hour)} an hour"
    if any(by_hour) and find_room(screen, ["wakeups  "], [note]) >= _HOURS:
        spark = ((draw_spark(by_hour, screen.marks.ramp), "cyan"),)
        print_strips(screen, label_ends("-24 h", "now", _HOURS), [Strip("wakeups  ", spark, note)])
    else:
        screen.print(f" {'wakeups':9}  {note}")
        screen.space()


def _draw_meter(marks: Marks, count: int, limit: float | None, cells: int) -> tuple[Cell, str]:
    told = compare(count, limit)
    if limit is None:
        return "", f"{' ' * cells}  {told}"
    meter = draw_meter(count, limit, cells, marks.filled, marks.empty)
    style = "red" if count > limit else "yellow" if count == limit else "green"
    word = ", over" if count > limit else ", at the limit" if count == limit else ""
    return ((meter, style),), f"{' ' * (cells - len(meter))}  {told}{word}"


def _explain_marks(marks: Marks, views: Sequence[View]) -> list[str]:
    """What those marks mean that are there."""
    told = [f"{marks.due} due"] if any(view.state == "scheduled" for view in views) else []
    if any(view.state == "overdue" for view in views):
        told.append(f"{marks.overdue} overdue since")
    if any(_find_gate(view) is not None for view in views):
        told.append(f"{marks.gate} not before")
    return told


def _find_due(view: View) -> int:
    return find_due(view.record)


def _find_gate(view: View) -> int | None:
    """The instant before which an overdue reminder does not go, if there is one."""
    at_ms = view.not_before_ms
    return at_ms if at_ms is not None and is_representable(at_ms) else None


def _tell_distance(distance_ms: int) -> str:
    told = show_duration(abs(distance_ms))
    return f"in {told}" if distance_ms > 0 else f"{told} ago"


def _draw_lane(screen: Screen, axis: AxisAboutNow, view: View, now_ms: int) -> Cell:
    marks = screen.marks
    lane = [marks.line] * axis.cells
    due = axis.place(_find_due(view) - now_ms)
    if due < axis.now_cell:
        lane[due : axis.now_cell] = marks.stretch * (axis.now_cell - due)
    lane[axis.now_cell] = marks.now
    gate_ms = _find_gate(view)
    if gate_ms is not None:
        lane[axis.place(gate_ms - now_ms)] = marks.gate
    lane[due] = marks.due if view.state == "scheduled" else marks.overdue
    styles = {marks.line: "dim", marks.now: "bold", marks.due: "cyan", marks.gate: "cyan"}
    return color_marks(lane, styles | {marks.overdue: "yellow", marks.stretch: "yellow"})
