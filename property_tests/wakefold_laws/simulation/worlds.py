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

from wakefold import SCHEDULE_CHANGE, Event, format_instant
from wakefold.conversations import Input
from wakefold.guard_config import GuardConfig
from wakefold_laws.simulation.scenarios import AtClaim, Crash, Deed, Fail, Setting, Think, Touch
from wakefold_laws.simulation.timelines import Timeline
from wakefold_shell.hosts.inboxes import Agent
from wakefold_shell.protocols import Clock, Store

STRETCH_MS: Final = 60_000
"""How long a sleeper sleeps before it reads the wall clock again."""

DEEDS_MAX: Final = 40
"""How much the agent does by itself in a session: two reminders set a turn would double for ever."""


class PowerCut(BaseException):
    """The machine has stopped: nothing of this life goes on."""


class Observer(Protocol):
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

    store: Store
    clock: Clock
    agent: Agent

    def __init__(self, world: World, judge: Observer) -> None:
        """A life in a world, and who judges it. `parts.furnish` gives it its parts."""
        world.lives += 1
        self.world, self.judge = world, judge
        self.limits = world.limits
        self.dead = self.disposed = self.excused = self.doomed = self._active = False
        self.died = anyio.Event()
        self.sleeps: list[Sleep] = []
        self.turns = self.barriers = self.calls = self.faults = 0
        self.on_warning: Callable[[], None] = lambda: None
        self.do_deed: Callable[[Deed], Awaitable[None]] = lambda _: anyio.lowlevel.checkpoint()

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
        elif hook.pause:
            self._change_from_elsewhere(2, "pause", hook.pause)
        else:
            self._change_from_elsewhere(1, "delete", hook.delete)

    async def pause(self, seconds: float) -> None:
        """Let time go by, unless the power goes."""
        with anyio.move_on_after(seconds):
            await self.died.wait()
        self.touch("turn")

    def _change_from_elsewhere(self, version: int, operation: str, number: int) -> None:
        """Another writer ends or pauses a reminder, if that may be."""
        world = self.world
        data = {"version": version, "operation": operation, "id": f"schedule-{number}"}
        event = Event(SCHEDULE_CHANGE, len(world.events), world.now_ms, data)
        if self.judge.may_follow(event):
            world.note(f"from elsewhere: {describe_event(event)}")
            world.write([event])
            self.judge.see_append(self, [event])


def describe_event(event: Event) -> str:
    """An event in a note."""
    data = event.data if isinstance(event.data, dict) else {}
    schedule = data.get("schedule")
    name = schedule.get("id") if isinstance(schedule, dict) else data.get("id", "")
    return f"{event.seq} {event.type} {data.get('operation', '')} {name}".rstrip()
