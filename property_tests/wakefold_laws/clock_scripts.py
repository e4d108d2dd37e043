"""What clocks do to a program: they go on, are set, and stand still while the machine sleeps.

This module decides what a wall clock and a monotonic clock show at each point of a script. It refuses
to know who reads them. `go_on` moves both clocks, `jump` sets the wall clock, forward or back, and a
`suspend` lets only the wall clock go on, as a machine that sleeps does.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Literal

from msgspec import Struct

#: What can be done to a clock.
ClockDeed = Literal["go_on", "jump", "suspend"]


class ClockStep(Struct, frozen=True):
    """One thing that happens to the clocks; only a jump's `ms` may be negative."""

    deed: ClockDeed
    ms: int


class ClockReading(Struct, frozen=True):
    """What the clocks show: epoch ms, and ms since the script began, without those of its suspends."""

    wall_ms: int
    monotonic_ms: int

    def follow(self, step: ClockStep) -> ClockReading:
        """What the clocks show after a step."""
        goes_on = step.deed == "go_on"
        return ClockReading(self.wall_ms + step.ms, self.monotonic_ms + step.ms * goes_on)


class ClockScript(Struct, frozen=True):
    """A start (epoch ms) and what happens to the clocks from there.

    `zone` is one whose clocks may change on the way; neither of the two clocks is set by that.
    """

    start_ms: int
    zone: str
    steps: tuple[ClockStep, ...]

    def list_readings(self) -> tuple[ClockReading, ...]:
        """What the clocks show at the start and after each step."""
        start = ClockReading(self.start_ms, 0)
        return tuple(accumulate(self.steps, ClockReading.follow, initial=start))

    def list_moves(self) -> Iterator[tuple[ClockStep, ClockReading, ClockReading]]:
        """Each step with what the clocks show before and after it."""
        readings = self.list_readings()
        return zip(self.steps, readings, readings[1:], strict=False)
