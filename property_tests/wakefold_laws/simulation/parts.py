"""What one simulated life is given: a store, a clock and an agent that fail as the script says.

Each is a protocol of `wakefold_shell` over the world that the lives share. This module does what a
script plans and notes it; it refuses to know why.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import anyio
import anyio.lowlevel

from wakefold import Event
from wakefold.conversations import INBOX_SPLICED, Input
from wakefold_laws.simulation.worlds import Home, Sleep, describe_event
from wakefold_laws.virtual_world import Failing
from wakefold_shell.hosts.inboxes import Answer

_SLOW_SECONDS: Final = 10.0
_BARRIERS: Final = frozenset({"refuse", "break", "hang", "slow"})


class SimulatedStore:
    """The `Store` of one life."""

    delegation_depth = 0

    def __init__(self, home: Home) -> None:
        """A store in a home."""
        self._home, self._world = home, home.world

    @property
    def seed_length(self) -> int:
        """How many events the fork inherited."""
        return self._world.seed_length

    @property
    def time_zone(self) -> str | None:
        """The session's own zone."""
        return self._world.setting.time_zone

    def read_events(self, start: int) -> Sequence[Event]:
        """The log from a place on, unless it cannot be read."""
        self._home.touch("read")
        if self._world.draw_failure("read"):
            self._world.note("the log cannot be read")
            self._home.excuse(for_good=True)
            raise Failing
        return self._world.events[start:]

    def append(self, events: Sequence[Event]) -> None:
        """Take a batch, unless appending fails."""
        self._home.touch("append")
        if self._world.draw_failure("append"):
            self._world.note("an append fails")
            self._home.excuse(for_good=True)
            raise Failing
        self._world.note(f"appended: {', '.join(map(describe_event, events))}")
        self._world.write(events)
        self._home.judge.see_append(self._home, events)
        if any(map(_is_hand_over, events)):
            self._home.touch("hand-over")

    async def flush(self) -> bool:
        """The barrier, as the script will have it."""
        home, world = self._home, self._world
        home.touch("barrier")
        failure = world.draw_failure(*_BARRIERS)
        what, position = failure.what if failure else "well", len(world.events)
        if what in {"refuse", "break", "hang"}:
            world.note(f"the barrier will {what}")
            home.excuse(for_good=False)
        home.barriers += 1
        try:
            if what == "hang":
                await home.died.wait()
            elif what == "slow":
                await home.pause(_SLOW_SECONDS)
            else:
                await anyio.lowlevel.checkpoint()
        finally:
            home.barriers -= 1
        home.touch("answer")
        if failure is None or what == "slow":
            world.durable = max(world.durable, position)
            home.note_barrier()
            return True
        world.durable = max(world.durable, min(position, world.durable + failure.kept))
        if what == "break":
            raise Failing
        return False


class SimulatedClock:
    """The `Clock` of one life: the wall clock of the world, and sleeping as a machine sleeps."""

    def __init__(self, home: Home) -> None:
        """A clock in a home."""
        self._home, self._world = home, home.world

    def read_ms(self) -> int:
        """Now, in epoch milliseconds, unless the clock cannot be read."""
        self._home.touch("clock")
        if self._world.draw_failure("clock"):
            self._world.note("the clock cannot be read")
            self._home.excuse(for_good=True)
            raise Failing
        return self._world.now_ms

    def plan_sleep(self, until_ms: int, delay_ms: int) -> Callable[[], Awaitable[object]]:
        """A sleep whose end is fixed now, and which may end sooner as the wall clock is set forward."""
        self._home.touch("sleep")
        home, world = self._home, self._world
        planned = Sleep(world.monotonic_ms, world.offset_ms, until_ms, delay_ms)
        home.sleeps.append(planned)

        async def sleep() -> None:
            try:
                while (left_ms := planned.count_left_ms(world.monotonic_ms, world.offset_ms)) > 0:
                    with anyio.move_on_after(left_ms / 1000):
                        await world.clock_set.wait()
            finally:
                home.sleeps.remove(planned)

        return sleep


class SimulatedAgent:
    """The `Agent` of one life: a model that does in each turn what it has in mind."""

    def __init__(self, home: Home) -> None:
        """An agent in a home."""
        self._home, self._world = home, home.world

    async def answer(self, given: Input, begin: Callable[[], None]) -> Answer:
        """One turn: begun when the agent gets to it, then its deeds, then an answer or a failure."""
        home, world, mind = self._home, self._world, self._world.mind
        home.touch("offer")
        world.note(f"offered: {given.occurrences or given.text}")
        home.judge.see_offer(given)
        home.turns += 1
        try:
            if world.draw_failure("reach"):
                world.note("the agent cannot be reached")
                home.excuse(for_good=True)
                raise Failing
            await home.pause(mind.begin_ms / 1000)
            begin()
            for deed in mind.deeds:
                if world.deeds_left:
                    world.deeds_left -= 1
                    await home.do_deed(deed)
            await home.pause(mind.turn_ms / 1000)
            if mind.fails:
                raise Failing
        finally:
            home.turns -= 1
            home.note_activity()
        return Answer("done")


def _is_hand_over(event: Event) -> bool:
    inserted = event.data.get("inserted") if isinstance(event.data, dict) else None
    return event.type == INBOX_SPLICED and bool(inserted)


def furnish(home: Home) -> Home:
    """The home with a store, a clock and an agent of its own."""
    home.store, home.clock = SimulatedStore(home), SimulatedClock(home)
    home.agent = SimulatedAgent(home)
    return home
