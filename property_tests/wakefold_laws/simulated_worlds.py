"""The world that simulated lives of a session share: disk, clock, agent, and what goes wrong with them.

A `World` outlives crashes; each life of the session sees it through a `Home` of its own, whose store,
clock and agent are those that a shell is given. This module does what a script says to a shell, and
tells a judge (`invariants`) of all that happens; it refuses to judge.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol

import anyio
import anyio.lowlevel
from msgspec import Struct

from wakefold import Event, format_instant
from wakefold.conversations import INBOX_SPLICED, Input
from wakefold.guard_config import GuardConfig
from wakefold_laws.scenarios import AtClaim, Crash, Deed, Fail, Setting, Think, Touch
from wakefold_laws.virtual_time import Timeline
from wakefold_laws.virtual_world import Failing
from wakefold_shell.hosts.inboxes import Answer

STRETCH_MS: Final = 60_000
"""How long a sleeper sleeps before it reads the wall clock again."""

DEEDS_MAX: Final = 40
"""How much the agent does by itself in a session: two reminders set a turn would double for ever."""

_SLOW_SECONDS: Final = 10.0
_BARRIERS: Final = frozenset({"refuse", "break", "hang", "slow"})


class PowerCut(BaseException):
    """The machine has stopped: nothing of this life goes on."""


class Judge(Protocol):
    """Who hears of what happens; any of these may raise."""

    def may_follow(self, event: Event) -> bool:
        """Whether a lawful writer could append this event now."""
        ...

    def see_append(self, home: Home, events: Sequence[Event]) -> None:
        """Events have entered the log."""
        ...

    def see_offer(self, given: Input) -> None:
        """The agent is offered an input."""
        ...


class Note(Struct, frozen=True):
    """A line of what happened: in which life, when by the wall clock, and what."""

    life: int
    time_ms: int
    text: str

    def __str__(self) -> str:
        """As it is shown."""
        return f"{self.life} {format_instant(self.time_ms)} {self.text}"


class Sleep:
    """A sleep that a shell has planned, by the monotonic clock, for an instant of the wall clock."""

    def __init__(self, begun_ms: int, offset_ms: int, until_ms: int, delay_ms: int) -> None:
        """Begun now (by both clocks), to end at an instant, or after a delay at the latest."""
        self.offset_ms, self.until_ms = offset_ms, until_ms
        self._begun_ms, self._end_ms = begun_ms, begun_ms + delay_ms

    def count_left_ms(self, monotonic_ms: int, offset_ms: int) -> int:
        """How long until the sleeper notices that it is over, the wall clock being `offset_ms` ahead.

        It looks when it begins, after each minute, and at its end.
        """
        looks = -(-(monotonic_ms - self._begun_ms) // STRETCH_MS)
        over_ms = self.until_ms - offset_ms - self._begun_ms
        looks = max(looks, -(-over_ms // STRETCH_MS))
        return min(self._begun_ms + looks * STRETCH_MS, self._end_ms) - monotonic_ms


class World:
    """A session's surroundings over all its lives. `events` is its log, of which `durable` is safe."""

    def __init__(self, setting: Setting, limits: GuardConfig | None, timeline: Timeline) -> None:
        """The setting of a scenario, its limits as read, and the time that everybody shares."""
        self.setting, self.limits, self.timeline = setting, limits, timeline
        self.events: list[Event] = []
        self.seed_length = self.durable = 0
        self._batch_ends: list[int] = []
        self.offset_ms = setting.start_ms
        self.clock_set = anyio.Event()
        self.failures: list[Fail] = []
        self.claim_hooks: list[AtClaim] = []
        self.crash: Crash | None = None
        self.mind = Think()
        self.lives = self.ids = 0
        self.deeds_left = DEEDS_MAX
        self.notes: list[Note] = []
        """What happened, for whoever reads of a failure."""

    @property
    def monotonic_ms(self) -> int:
        """The clock that no one sets."""
        return int(self.timeline.read_seconds() * 1000 + 1e-3)

    @property
    def now_ms(self) -> int:
        """The wall clock, without touching it."""
        return self.monotonic_ms + self.offset_ms

    def set_clock(self, by_ms: int) -> None:
        """Set the wall clock, and let every sleeper count again."""
        self.offset_ms += by_ms
        self.clock_set.set()
        self.clock_set = anyio.Event()

    def write(self, events: Sequence[Event]) -> None:
        """Put events at the end of the log."""
        self.events.extend(events)
        self._batch_ends.append(len(self.events))

    def lose(self, kept: int) -> None:
        """What was not durable goes, but for some of it: single events, or whole batches."""
        ends = self._batch_ends if self.setting.batches else range(len(self.events) + 1)
        later = [end for end in ends if end > self.durable]
        del self.events[later[min(kept, len(later)) - 1] if kept and later else self.durable :]
        self._batch_ends = [end for end in self._batch_ends if end <= len(self.events)]
        self.durable = len(self.events)

    def fork(self) -> None:
        """The log becomes that of a fork: all of it is inherited."""
        self.seed_length = self.durable = len(self.events)
        self._batch_ends = []

    def draw_failure(self, *kinds: str) -> Fail | None:
        """The next planned failure of these kinds, if its time has come."""
        for place, failure in enumerate(self.failures):
            if failure.what in kinds:
                del self.failures[place]
                if not failure.after:
                    return failure
                self.failures.insert(place, Fail(failure.what, failure.after - 1, failure.kept))
                return None
        return None

    def note(self, text: str) -> None:
        """Keep a line of what happens."""
        self.notes.append(Note(self.lives, self.now_ms, text))


class Home:
    """One life's view of the world: what a shell under test is given.

    `store`, `clock` and `agent` are those of `wakefold_shell`; `limits` are the guard's (`None`: no
    guard); `make_id` gives ids of messages; `warn` is to hear of each warning. A shell whose host can
    tell calls `at_claim` whenever it asks for the idle phase.
    """

    def __init__(self, world: World, judge: Judge) -> None:
        """A life in a world, and who judges it."""
        world.lives += 1
        self.world, self.judge = world, judge
        self.limits = world.limits
        self.dead = self.disposed = self.excused = self.doomed = self._active = False
        self.died = anyio.Event()
        self.sleeps: list[Sleep] = []
        self.turns = self.barriers = self.calls = self.faults = 0
        self.warnings: list[str] = []
        self.on_warning: Callable[[], None] = lambda: None
        self.do_deed: Callable[[Deed], Awaitable[None]] = lambda _: anyio.lowlevel.checkpoint()
        self.store = SimulatedStore(self)
        self.clock = SimulatedClock(self)
        self.agent = SimulatedAgent(self)

    def touch(self, kind: Touch) -> None:
        """The shell meets the world; this is where a crash comes."""
        world, crash = self.world, self.world.crash
        if not self.dead and crash is not None and crash.before in {"any", kind}:
            if crash.touches:
                world.crash = Crash(crash.before, crash.touches - 1, crash.kept)
            else:
                world.note(f"the power goes before: {kind}")
                self.die(crash.kept)
        if self.dead:
            raise PowerCut

    def die(self, kept: int) -> None:
        """The power goes."""
        self.world.crash = None
        self.dead = True
        self.world.lose(kept)
        self.died.set()

    def excuse(self, *, for_good: bool) -> None:
        """Something outside has failed: reminders may wait for the next activity, or the next life."""
        self.excused, self._active = True, False
        self.faults += 1
        self.doomed = self.doomed or for_good

    def note_activity(self) -> None:
        """The agent has become idle, or is said to have: with the next barrier nothing may wait."""
        self._active = True

    def forgive(self) -> None:
        """There was activity, and a barrier went well: from now on nothing may wait any more."""
        self.excused = self.doomed

    def note_barrier(self) -> None:
        """A barrier went well."""
        if self._active:
            self.forgive()

    def make_id(self) -> str:
        """An id that no message of any life had."""
        self.world.ids += 1
        return f"message-{self.world.ids}"

    def warn(self, kind: str) -> None:
        """Hear of a warning."""
        self.world.note(f"warned: {kind}")
        self.warnings.append(kind)
        self.on_warning()

    def at_claim(self) -> None:
        """What the script has happen while the idle phase is asked for."""
        self.touch("claim")
        if not self.world.claim_hooks:
            return
        hook = self.world.claim_hooks.pop(0)
        if hook.jump_ms:
            self.world.note(f"at the claim the clock is set by {hook.jump_ms} ms")
            self.world.set_clock(hook.jump_ms)
        else:
            self.store.delete_from_elsewhere(f"schedule-{hook.delete}")

    async def pause(self, seconds: float) -> None:
        """Let time go by, unless the power goes."""
        with anyio.move_on_after(seconds):
            await self.died.wait()
        self.touch("turn")


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
        self._world.note(f"appended: {', '.join(map(_describe, events))}")
        self._world.write(events)
        self._home.judge.see_append(self._home, events)
        if any(map(_is_hand_over, events)):
            self._home.touch("hand-over")

    def delete_from_elsewhere(self, schedule_id: str) -> None:
        """Another writer ends a reminder, if it is active."""
        data = {"version": 1, "operation": "delete", "id": schedule_id}
        world = self._world
        event = Event("schedule/change", len(world.events), world.now_ms, data)
        if self._home.judge.may_follow(event):
            world.note(f"from elsewhere: {_describe(event)}")
            world.write([event])
            self._home.judge.see_append(self._home, [event])

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


def _describe(event: Event) -> str:
    data = event.data if isinstance(event.data, dict) else {}
    schedule = data.get("schedule")
    name = schedule.get("id") if isinstance(schedule, dict) else data.get("id", "")
    return f"{event.seq} {event.type} {data.get('operation', '')} {name}".rstrip()
