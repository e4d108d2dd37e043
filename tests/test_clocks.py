"""Sleeping by the wall clock, on asyncio and on trio."""

from __future__ import annotations

import anyio
import pytest

from wakefold_shell import clocks
from wakefold_shell.clocks import FixedClock, SystemClock


@pytest.mark.anyio
async def test_a_sleep_ends_by_the_wall_clock_in_short_stretches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However the clock is set meanwhile, no stretch is longer than a minute."""
    readings = iter([0, 60_000, 50_000, 200_000])  # one step back, one leap forward
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(anyio, "sleep", sleep)
    monkeypatch.setattr(SystemClock, "read_ms", lambda _: next(readings))
    await SystemClock().sleep_until(150_000)
    assert slept == [60, 60, 60]
    assert clocks.STRETCH_SECONDS_MAX == 60


@pytest.mark.anyio
async def test_a_reached_instant_is_not_slept_for() -> None:
    """Neither clock sleeps for the past."""
    with anyio.fail_after(1):
        await SystemClock().sleep_until(SystemClock().read_ms())
        await FixedClock(5).sleep_until(5)


@pytest.mark.anyio
@pytest.mark.parametrize("instant_ms", [None, 6])
async def test_a_fixed_clock_never_reaches_what_is_to_come(instant_ms: int | None) -> None:
    """It stands still, so the sleep ends by cancellation alone."""
    with anyio.move_on_after(0.02) as scope:
        await FixedClock(5).sleep_until(instant_ms)
    assert scope.cancelled_caught
    assert FixedClock(5).read_ms() == 5


@pytest.mark.anyio
async def test_without_an_instant_the_system_clock_sleeps_for_ever() -> None:
    """Nothing is planned: only cancellation ends it."""
    with anyio.move_on_after(0.02) as scope:
        await SystemClock().sleep_until(None)
    assert scope.cancelled_caught
