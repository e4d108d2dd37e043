"""Clocks: the system's, and one that stands still."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Final

#: The longest single sleep: a suspended machine's monotonic clock stands still meanwhile.
#:
#: :shape: a float
#: :units: seconds
#: :errors: none
#: :source: spec section 8
STRETCH_SECONDS_MAX: Final = 60.0


async def sleep_for(seconds: float) -> None:
    """Sleep once, by the monotonic clock."""
    import anyio  # noqa: PLC0415 - whoever only looks at the clock does not wait for it

    await anyio.sleep(seconds)


class SystemClock:
    """The wall clock of the machine, read again after every stretch of sleep.

    :shape: as `Clock`
    :units: epoch milliseconds UTC
    :errors: none
    :source: spec section 8
    """

    def read_ms(self) -> int:
        """Now, in epoch milliseconds."""
        return time.time_ns() // 1_000_000

    def plan_sleep(self, until_ms: int, delay_ms: int) -> Callable[[], Awaitable[object]]:
        """A sleep of `delay_ms` from now; sooner, once the wall clock is past `until_ms`."""
        end_seconds = time.monotonic() + delay_ms / 1000

        async def sleep() -> None:
            while self.read_ms() < until_ms:
                left = end_seconds - time.monotonic()
                if left <= 0:
                    return
                await sleep_for(min(left, STRETCH_SECONDS_MAX))

        return sleep


class FixedClock:
    """A clock that always shows the same instant, so that nothing becomes due by waiting.

    :shape: as `Clock`
    :units: epoch milliseconds UTC
    :errors: none
    :source: ours, docs/command-line.md
    """

    def __init__(self, now_ms: int) -> None:
        """The instant (epoch ms) to show."""
        self._now_ms = now_ms

    def read_ms(self) -> int:
        """The fixed instant, in epoch milliseconds."""
        return self._now_ms

    def plan_sleep(self, until_ms: int, delay_ms: int) -> Callable[[], Awaitable[object]]:
        """A sleep that never ends: the instant to come never does."""
        import anyio  # noqa: PLC0415 - as above

        del until_ms, delay_ms
        return anyio.sleep_forever
