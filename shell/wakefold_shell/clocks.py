"""Clocks: the system's, and one that stands still."""

from __future__ import annotations

import time
from typing import Final

import anyio

STRETCH_SECONDS_MAX: Final = 60.0
"""The longest single sleep: a suspended machine's monotonic clock stands still meanwhile."""


class SystemClock:
    """The wall clock of the machine, read again after every stretch of sleep."""

    def read_ms(self) -> int:
        """Now, in epoch milliseconds."""
        return time.time_ns() // 1_000_000

    async def sleep_until(self, instant_ms: int | None) -> None:
        """Return once the wall clock has reached an instant, however it was set meanwhile."""
        if instant_ms is None:
            await anyio.sleep_forever()
            return
        while (left_ms := instant_ms - self.read_ms()) > 0:  # noqa: ASYNC110 - time, not an event
            await anyio.sleep(min(left_ms / 1000, STRETCH_SECONDS_MAX))


class FixedClock:
    """A clock that always shows the same instant, so that nothing becomes due by waiting."""

    def __init__(self, now_ms: int) -> None:
        """The instant (epoch ms) to show."""
        self._now_ms = now_ms

    def read_ms(self) -> int:
        """The fixed instant, in epoch milliseconds."""
        return self._now_ms

    async def sleep_until(self, instant_ms: int | None) -> None:
        """Sleep for ever if the instant is still to come: it never will."""
        if instant_ms is None or instant_ms > self._now_ms:
            await anyio.sleep_forever()
