"""The shell's clock under scripts of what clocks do: its sleeps are those that the laws suppose."""

from __future__ import annotations

import math
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wakefold_laws.clock_scripts import ClockReading, ClockScript, ClockStep
from wakefold_laws.clock_strategies import clock_scripts
from wakefold_shell import clocks
from wakefold_shell.clocks import STRETCH_SECONDS_MAX, SystemClock


class ScriptedTime:
    """The two clocks of a script, which go on as somebody sleeps; when it has ended, they go on."""

    def __init__(self, script: ClockScript) -> None:
        self.now = ClockReading(script.start_ms, 0)
        self.left = deque(script.steps)
        self.slept_seconds: list[float] = []
        self._meet_deeds()

    def time_ns(self) -> int:
        return self.now.wall_ms * 1_000_000

    def monotonic(self) -> float:
        return self.now.monotonic_ms / 1000

    async def sleep(self, seconds: float) -> None:
        self.slept_seconds.append(seconds)
        rest_ms = max(1, math.ceil(seconds * 1000 - 1e-3))
        while rest_ms:
            ahead_ms = min(rest_ms, self.left[0].ms) if self.left else rest_ms
            self.now = self.now.follow(ClockStep("go_on", ahead_ms))
            rest_ms -= ahead_ms
            if self.left:
                self.left.appendleft(ClockStep("go_on", self.left.popleft().ms - ahead_ms))
            self._meet_deeds()

    def _meet_deeds(self) -> None:
        """What happens to the clocks here, in no time."""
        while self.left and (self.left[0].deed != "go_on" or self.left[0].ms == 0):
            self.now = self.now.follow(self.left.popleft())


@given(script=clock_scripts(), wait_ms=st.sampled_from((1, 59_999, 60_001)) | st.integers(1, 10**7))
def test_a_timer_never_fires_early_by_the_wall_clock(script: ClockScript, wait_ms: int) -> None:
    """A sleep ends when the wall clock shows its end, or when its whole delay has gone by.

    Slept again for what is left then, as the core orders it, it ends at most a stretch late.
    """
    world = ScriptedTime(script)
    until_ms = world.now.wall_ms + wait_ms
    clock = SystemClock()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clocks, "time", world)
        patch.setattr(clocks, "sleep_for", world.sleep)
        while (now_ms := clock.read_ms()) < until_ms:
            ordered_at_ms = world.now.monotonic_ms
            sleep = clock.plan_sleep(until_ms, until_ms - now_ms)()
            with pytest.raises(StopIteration):
                sleep.__await__().__next__()
            slept_ms = world.now.monotonic_ms - ordered_at_ms
            assert clock.read_ms() >= until_ms or slept_ms >= until_ms - now_ms
    assert max(world.slept_seconds) <= STRETCH_SECONDS_MAX
