"""What several rounds come to: medians, ratios round by round, and whether a target is met."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Sample:
    """One measurement: its value, and the highest resident memory of its process if that is known."""

    value: float
    peak_mib: float | None = None


@dataclass(frozen=True)
class Spread:
    """The median of some values, and the lowest and the highest of them."""

    median: float
    low: float
    high: float


def spread(values: Sequence[float]) -> Spread:
    """How values lie; there must be one at least."""
    return Spread(median(values), min(values), max(values))


@dataclass(frozen=True)
class Comparison:
    """What a row has measured, a sample a round on each side; the peer's may be missing."""

    ours: tuple[Sample, ...]
    peer: tuple[Sample, ...] = ()

    @property
    def ratio(self) -> Spread | None:
        """The peer's value over ours, from the same round each time: above 1 ours is the lower."""
        if not self.peer:
            return None
        pairs = zip(self.ours, self.peer, strict=True)
        return spread([theirs.value / mine.value for mine, theirs in pairs])


def find_peak(samples: Sequence[Sample]) -> float | None:
    """The highest memory (MiB) of any round, where it is known."""
    return max((sample.peak_mib for sample in samples if sample.peak_mib is not None), default=None)


Table = Mapping[str, Comparison]
"""The rows that were measured, by name."""


@dataclass(frozen=True)
class Target:
    """A figure that is read off the table (`None` if it was not measured), and where it should lie."""

    words: str
    unit: str
    limit: float
    find: Callable[[Table], float | None]
    at_least: bool = False

    def judge(self, table: Table) -> bool | None:
        """Whether it is met."""
        figure = self.find(table)
        if figure is None:
            return None
        return figure >= self.limit if self.at_least else figure <= self.limit


def faster_than_peer(words: str, row: str, times: float) -> Target:
    """The median of the ratios of a row, at least so many times."""

    def find(table: Table) -> float | None:
        ratio = table[row].ratio if row in table else None
        return None if ratio is None else ratio.median

    return Target(words, "x", times, find, at_least=True)


def value_within(words: str, unit: str, row: str, limit: float) -> Target:
    """Our median of a row, at most so much."""
    return Target(words, unit, limit, lambda table: _find_median(table, row))


def value_beyond(words: str, unit: str, row: str, other: str, limit: float) -> Target:
    """Our medians of two rows, at most so far apart."""

    def find(table: Table) -> float | None:
        value, base = _find_median(table, row), _find_median(table, other)
        return None if value is None or base is None else value - base

    return Target(words, unit, limit, find)


def times_other(words: str, row: str, other: str, times: float) -> Target:
    """Our median of a row over that of another, at most so many times; rounds are paired."""

    def find(table: Table) -> float | None:
        if row not in table or other not in table:
            return None
        pairs = zip(table[row].ours, table[other].ours, strict=True)
        return median([sample.value / base.value for sample, base in pairs])

    return Target(words, "x", times, find)


def memory_within(words: str, row: str, limit_mib: float) -> Target:
    """Our highest memory in a row, at most so many MiB."""
    return Target(
        words, "MiB", limit_mib, lambda table: find_peak(table[row].ours) if row in table else None
    )


def _find_median(table: Table, row: str) -> float | None:
    return spread([sample.value for sample in table[row].ours]).median if row in table else None
