"""Running async code in virtual time, on either backend, so that years pass in a second.

Nothing here ever sleeps. A `Timeline` tells when no task can go on by itself, and moves the backend's
clock to the next deadline instead of waiting for it. On asyncio the order of tasks follows from the
program alone; on trio from a seed as well. This module knows no wall clock, and nothing of reminders.
"""

from __future__ import annotations

import asyncio
import math
import selectors
from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol, TypeVar

import anyio

_Value = TypeVar("_Value")

_LEAST_SECONDS: Final = 1e-6
"""What comes this soon is due: rounding could keep it out of reach."""


class Timeline(Protocol):
    """The monotonic clock of a virtual run, and the one way to let it go on."""

    def read_seconds(self) -> float:
        """The seconds since the run began."""
        ...

    async def settle(self) -> float:
        """Return once no other task can go on; the seconds until the next deadline, or infinity."""
        ...

    def move(self, seconds: float) -> None:
        """Let time go by, without anything happening yet."""
        ...


async def let_pass(timeline: Timeline, seconds: float, look: Callable[[], bool]) -> None:
    """Let time go by, from deadline to deadline; `look` is called whenever all is quiet.

    Ends early once `look` says so by `False`.
    """
    end_seconds = timeline.read_seconds() + seconds
    while True:
        next_seconds = await timeline.settle()
        if next_seconds <= _LEAST_SECONDS:  # rounding has it to come, and it is now
            timeline.move(_LEAST_SECONDS)
            continue
        if not look():
            return
        left_seconds = end_seconds - timeline.read_seconds()
        if left_seconds <= 0:
            return
        timeline.move(min(left_seconds, next_seconds))


def run_virtually(
    main: Callable[[Timeline], Awaitable[_Value]], backend: str = "asyncio", seed: int = 0
) -> _Value:
    """What a coroutine returns that is run in virtual time on `asyncio` or `trio`."""
    if backend == "trio":
        return _run_on_trio(main, seed)
    loop = _VirtualLoop()
    return anyio.run(main, loop, backend="asyncio", backend_options={"loop_factory": lambda: loop})


class _QuietSelector(selectors.SelectSelector):
    """A selector that never waits: where a loop would, it tells for how long."""

    def __init__(self, tell: Callable[[float | None], None]) -> None:
        super().__init__()
        self._tell = tell

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout > 0:
            self._tell(timeout)
        return super().select(0)


class _VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock is moved by hand."""

    def __init__(self) -> None:
        self._now_seconds = 0.0
        self._settled: asyncio.Future[float] | None = None
        super().__init__(_QuietSelector(self._note_quiet))
        # After months of virtual time a nanosecond is lost in rounding, and a deadline never reached.
        self._clock_resolution = _LEAST_SECONDS

    def time(self) -> float:
        return self._now_seconds

    def read_seconds(self) -> float:
        return self._now_seconds

    def move(self, seconds: float) -> None:
        self._now_seconds += seconds

    async def settle(self) -> float:
        self._settled = self.create_future()
        return await self._settled

    def _note_quiet(self, timeout_seconds: float | None) -> None:
        if self._settled is not None and not self._settled.done():
            self._settled.set_result(math.inf if timeout_seconds is None else timeout_seconds)
        elif timeout_seconds is None:
            raise RuntimeError("nothing can go on any more, and there is no deadline to come")
        else:
            self.move(timeout_seconds)  # the main task is gone, and others are still ending


def _run_on_trio(main: Callable[[Timeline], Awaitable[_Value]], seed: int) -> _Value:
    import trio  # noqa: PLC0415 - the other backend need not be installed
    import trio.testing  # noqa: PLC0415

    # Trio shuffles its tasks; a run that is to be repeated needs their order from the seed, for which
    # there is no public switch.
    scheduler: Any = trio._core._run  # noqa: SLF001
    scheduler._r.seed(seed)  # noqa: SLF001
    before, scheduler._ALLOW_DETERMINISTIC_SCHEDULING = scheduler._ALLOW_DETERMINISTIC_SCHEDULING, True  # noqa: SLF001
    clock = trio.testing.MockClock()

    class _TrioTimeline:
        def read_seconds(self) -> float:
            return float(trio.current_time())

        def move(self, seconds: float) -> None:
            clock.jump(seconds)

        async def settle(self) -> float:
            await trio.testing.wait_all_tasks_blocked()
            next_seconds = trio.lowlevel.current_statistics().seconds_to_next_deadline
            return max(0.0, next_seconds)

    try:
        return anyio.run(main, _TrioTimeline(), backend="trio", backend_options={"clock": clock})
    finally:
        scheduler._ALLOW_DETERMINISTIC_SCHEDULING = before  # noqa: SLF001
