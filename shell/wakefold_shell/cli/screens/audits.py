"""`guard audit` on a terminal: the guard's counts over time beside its limits, and the findings by day.

This module decides how counts and findings are drawn. What they are the audit says.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, Final, assert_never

from wakefold.audits import Audit, Finding, Prevented, Refused, Stopped
from wakefold.counters import Counters, StepLine
from wakefold.guard_config import GuardConfig
from wakefold_shell.cli.charts import draw_spark, hold_maxima, place
from wakefold_shell.cli.output import show_day, show_within
from wakefold_shell.cli.screens.marks import Marks
from wakefold_shell.cli.screens.strips import (
    Strip,
    color_marks,
    compare,
    explain_over,
    find_hourly_limit,
    find_room,
    label_times,
    print_strips,
)
from wakefold_shell.cli.screens.terminals import Cell, Group, Screen

_FINDINGS: Final = "findings"


def show_findings(
    screen: Screen, result: Audit, columns: Sequence[str], rows: Sequence[Sequence[str]]
) -> None:
    """The findings by their day, each with the mark of its kind."""

    def draw(finding: Finding, row: Sequence[str], day: str) -> tuple[Cell, ...]:
        mark, style = _mark(finding, screen.marks)
        seq, _, what, *more = row
        return (show_within(finding.time_ms, day), seq, ((f"{mark} {what}", style),), *more)

    days = groupby(zip(result.findings, rows, strict=True), key=lambda pair: show_day(pair[0].time_ms))
    groups = [Group(day, [draw(*pair, day) for pair in of]) for day, of in days]
    if groups:
        screen.print_table((columns[1], columns[0], *columns[2:]), groups)
    else:
        screen.print("nothing would have been refused or deleted")


def print_counts(
    screen: Screen, result: Audit, told: dict[str, Any], counters: Counters, limits: GuardConfig
) -> None:
    """The three counts from the first wakeup or finding to the last, each beside its limit."""
    lines = (
        ("in a row", counters.streak, told["longestStreak"], limits.max_consecutive_wakeups),
        ("in an hour", counters.hour, told["busiestHour"], find_hourly_limit(limits)),
        ("in a day", counters.day, told["busiestDay"], limits.max_per_day),
    )
    if not counters.streak.at_ms:
        return
    first_ms = min([counters.streak.at_ms[0], *(each.time_ms for each in result.findings)])
    last_ms = max([counters.streak.at_ms[-1], *(each.time_ms for each in result.findings)])
    notes = [f"most {compare(peak, limit)}" for _, _, peak, limit in lines]
    cells = find_room(screen, [name for name, *_ in lines], notes)
    if not cells:
        return
    strips = [
        Strip(name, _draw_line(screen.marks, line, (first_ms, last_ms), cells, limit), note)
        for (name, line, _, limit), note in zip(lines, notes, strict=True)
    ]
    if result.findings:
        found = _draw_findings(screen.marks, result.findings, (first_ms, last_ms), cells)
        strips.append(Strip(_FINDINGS, found))
    over = any(limit is not None and peak > limit for _, _, peak, limit in lines)
    legend = [explain_over(screen.marks)] if over else []
    print_strips(screen, label_times(first_ms, last_ms, cells), strips, legend)


def _draw_line(
    marks: Marks, line: StepLine, ends_ms: tuple[int, int], cells: int, limit: float | None
) -> Cell:
    """A count over time, as high as its limit lets it be."""
    heights = hold_maxima(line.at_ms, line.counts, *ends_ms, cells)
    drawn = draw_spark(heights, marks.ramp, limit)
    over = (limit is not None and height > limit for height in heights)
    return tuple((mark, "red" if high else "cyan") for mark, high in zip(drawn, over, strict=True))


def _draw_findings(
    marks: Marks, findings: Sequence[Finding], ends_ms: tuple[int, int], cells: int
) -> Cell:
    """A mark where something was found: of several in one cell, that of a stop, else of a refusal."""
    lane = [marks.line] * cells
    styles = {marks.line: "dim"}
    order = (Prevented, Refused, Stopped)
    for finding in sorted(findings, key=lambda each: order.index(type(each))):
        mark, style = _mark(finding, marks)
        lane[place(finding.time_ms, *ends_ms, cells)] = mark
        styles[mark] = style
    return color_marks(lane, styles)


def _mark(finding: Finding, marks: Marks) -> tuple[str, str]:
    match finding:
        case Refused():
            return marks.refused, "yellow"
        case Stopped():
            return marks.stopped, "red"
        case Prevented():
            return marks.prevented, "dim"
        case _:
            assert_never(finding)
