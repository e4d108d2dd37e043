"""Pictures out of characters: sparklines, meters, bars, axes of time, and what fits on a line.

This module decides on which cell a number falls and how high it stands there. It refuses to count what
a command tells as a number, to know a terminal, and to choose an alphabet: that is given.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from math import ceil, log1p
from typing import Final

from msgspec import Struct

from wakefold.wakeups import DAY_MS, HOUR_MS

_MINUTE_MS: Final = 60_000

TICKS: Final = (
    (_MINUTE_MS, "1 min"),
    (10 * _MINUTE_MS, "10 min"),
    (HOUR_MS, "1 h"),
    (6 * HOUR_MS, "6 h"),
    (DAY_MS, "1 d"),
    (7 * DAY_MS, "7 d"),
    (30 * DAY_MS, "30 d"),
    (365 * DAY_MS, "1 y"),
    (3_650 * DAY_MS, "10 y"),
    (36_500 * DAY_MS, "100 y"),
    (3_650_000 * DAY_MS, "10000 y"),
)
"""The distances that an axis about now names; the last reaches over the whole calendar."""


_LABEL_CELLS: Final = 9


def place(value: int, first: int, last: int, cells: int) -> int:
    """The cell, from 0, of a value in a range whose ends are both in it; outside, the nearest."""
    if last < first or cells < 1:
        return 0
    return min(max((value - first) * cells // (last - first + 1), 0), cells - 1)


def count_in_cells(values: Iterable[int], first: int, last: int, cells: int) -> list[int]:
    """How many of the values fall on each cell of a range; what lies outside falls on none."""
    counts = [0] * cells
    for value in values:
        if first <= value <= last and cells:
            counts[place(value, first, last, cells)] += 1
    return counts


def take_maxima(values: Sequence[int], cells: int) -> list[int]:
    """The values on that many cells or fewer, the highest of those that share one."""
    highest = [0] * min(cells, len(values))
    for at, value in enumerate(values):
        if highest:
            cell = place(at, 0, len(values) - 1, len(highest))
            highest[cell] = max(highest[cell], value)
    return highest


def hold_maxima(
    at: Sequence[int], counts: Sequence[int], first: int, last: int, cells: int
) -> list[int]:
    """The highest that a count comes to on each cell, where it holds from each step to the next."""
    before = bisect_left(at, first)
    held = counts[before - 1] if before else 0
    highest: list[int] = []
    for instant, count in zip(at[before:], counts[before:], strict=True):
        if instant > last:
            break
        cell = place(instant, first, last, cells)
        if cell >= len(highest):
            highest += [held] * (cell + 1 - len(highest))
        held = count
        highest[cell] = max(highest[cell], held)
    return (highest + [held] * (cells - len(highest)))[:cells]


def draw_spark(values: Sequence[int], ramp: str, limit: float | None = None) -> str:
    """A character of the ramp for each value: the first for 0 alone, the last for the highest.

    Where there is a limit, the last but one is for the limit, and the last for all that is over it.
    """
    steps = len(ramp) - 1
    top, below = (max([*values, 1]), steps) if limit is None else (limit, steps - 1)

    def draw(value: int) -> str:
        if value > top:
            return ramp[-1]
        return ramp[ceil(value * below / top)] if value > 0 else ramp[0]

    return "".join(map(draw, values))


def draw_meter(count: int, limit: float, cells: int, filled: str, empty: str) -> str:
    """A count against a limit: a cell for each that is allowed, or fewer of them if those are many."""
    length = min(ceil(limit), cells)
    full = min(ceil(count * length / limit), length) if limit > 0 else length
    return filled * full + empty * (length - full)


def count_decades(duration_ms: int) -> int:
    """How many digits a length of time has in whole seconds: 1 from a second on, 2 from ten on."""
    return len(str(duration_ms // 1000)) if duration_ms >= 1000 else 0  # noqa: PLR2004 - a second


class AxisAboutNow(Struct, frozen=True):
    """An axis of so many cells, now at one of them; the farther from now, the closer together.

    The past begins `past_ms` before now and the future ends `future_ms` after it.
    """

    past_ms: int
    future_ms: int
    cells: int

    @property
    def now_cell(self) -> int:
        """The cell of now, with room for a label on each side where there is something."""
        past, future = _stretch(self.past_ms), _stretch(self.future_ms)
        last = self.cells - 1
        if not past or not future:
            return last if past else 0
        room = min(_LABEL_CELLS, last // 2)
        return min(max(round(last * past / (past + future)), room), last - room)

    def place(self, distance_ms: int) -> int:
        """The cell of an instant so far after now, or before it if negative; beyond an end, the end."""
        ahead = distance_ms >= 0
        room = self.cells - 1 - self.now_cell if ahead else self.now_cell
        reach_ms = self.future_ms if ahead else self.past_ms
        if not reach_ms:
            return self.now_cell
        far = min(round(room * _stretch(abs(distance_ms)) / _stretch(reach_ms)), room)
        return self.now_cell + far if ahead else self.now_cell - far

    def draw_labels(self) -> str:
        """The names of the ends, of now, and of as many distances between as there is room for."""
        past = [(-ms, f"-{name}") for ms, name in TICKS if ms <= self.past_ms]
        future = [(ms, f"+{name}") for ms, name in TICKS if ms <= self.future_ms]
        ends = [*past[-1:], *future[-1:], (0, "now")]
        between = [*past[:-1], *future[:-1]]
        return write_labels([(self.place(ms), name) for ms, name in ends + between], self.cells)


def reach(distances_ms: Iterable[int]) -> int:
    """The least distance with a name that none of these is beyond; 0 where there are none."""
    far_ms = max(distances_ms, default=0)
    return next((ms for ms, _ in TICKS if far_ms <= ms), TICKS[-1][0]) if far_ms > 0 else 0


def write_labels(labels: Iterable[tuple[int, str]], cells: int) -> str:
    """Labels about their cells, on one line; one that would touch an earlier one is left out."""
    line = " " * cells
    for cell, label in labels:
        begin = min(max(cell - len(label) // 2, 0), cells - len(label))
        if begin >= 0 and not line[max(begin - 1, 0) : begin + len(label) + 1].strip():
            line = f"{line[:begin]}{label}{line[begin + len(label) :]}"
    return line


def share_lines(sizes: Sequence[int], width: int, gap: int) -> list[list[int]]:
    """What stands on each line, by its place: as much as fits, in order, a gap between."""
    lines: list[list[int]] = []
    left = -1
    for at, size in enumerate(sizes):
        if left < gap + size:
            lines.append([])
            left = width + gap
        lines[-1].append(at)
        left -= gap + size
    return lines


def _stretch(distance_ms: int) -> float:
    """What a distance is drawn as: about even within a minute, by its digits beyond."""
    return log1p(distance_ms / _MINUTE_MS)
