"""Sleeping by the wall clock, on asyncio and on trio."""

from __future__ import annotations

import time

import anyio
import pytest

from wakefold_shell import clocks
from wakefold_shell.clocks import FixedClock, SystemClock


class Machine:
    """A wall clock and a monotonic one that move by their own scripts during each sleep."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, wall_ms: list[int], steps: list[float]) -> None:
        self.wall_ms = iter(wall_ms)
        self.steps = iter(steps)
        self.monotonic = 1000.0
        self.slept: list[float] = []
        monkeypatch.setattr(anyio, "sleep", self.sleep)
        monkeypatch.setattr(SystemClock, "read_ms", lambda _: next(self.wall_ms))
        monkeypatch.setattr(time, "monotonic", lambda: self.monotonic)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.monotonic += next(self.steps)


@pytest.mark.anyio
async def test_a_long_sleep_goes_in_stretches_of_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its end is fixed when it is planned."""
    machine = Machine(monkeypatch, [0, 60_000, 120_000, 150_000], [60, 60, 30])
    sleep = SystemClock().plan_sleep(150_000, 150_000)
    await sleep()
    assert machine.slept == [60, 60, 30]
    assert clocks.STRETCH_SECONDS_MAX == 60


@pytest.mark.anyio
async def test_c18_a_suspend_costs_one_stretch_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """The monotonic clock stood still for eight hours: the wall clock ends the sleep."""
    machine = Machine(monkeypatch, [0, 28_860_000], [60])
    await SystemClock().plan_sleep(3_600_000, 3_600_000)()
    assert machine.slept == [60]


@pytest.mark.anyio
async def test_c21_a_clock_set_back_ends_the_sleep_by_the_monotonic_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever sleeps looks again and plans anew; nothing fires early, nothing sleeps for hours."""
    machine = Machine(monkeypatch, [0, -7_200_000, -7_170_000], [60, 30])
    await SystemClock().plan_sleep(90_000, 90_000)()
    assert machine.slept == [60, 30]


@pytest.mark.anyio
async def test_a_reached_instant_is_not_slept_for() -> None:
    """The past is no reason to sleep."""
    with anyio.fail_after(1):
        await SystemClock().plan_sleep(SystemClock().read_ms(), 60_000)()


@pytest.mark.anyio
async def test_a_fixed_clock_never_reaches_what_is_to_come() -> None:
    """It stands still, so the sleep ends by cancellation alone."""
    with anyio.move_on_after(0.02) as scope:
        await FixedClock(5).plan_sleep(6, 1)()
    assert scope.cancelled_caught
    assert FixedClock(5).read_ms() == 5
