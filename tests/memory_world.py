"""A session's world in memory: a store, a clock moved by hand, an agent that notes what it is given."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel

from journal_files import NOON_MS
from wakefold import Create, Event, Record
from wakefold.conversations import Draft, Input, draft_change
from wakefold.events import AtRecord, EveryRecord, Json
from wakefold.guard_config import GuardConfig
from wakefold_shell.hosts.callbacks import CallbackAgent
from wakefold_shell.hosts.inboxes import Agent, InboxHost
from wakefold_shell.owner import Session
from wakefold_shell.protocols import Clock, Followup, Store

MINUTE_MS = 60_000


def at(name: str, target_ms: int = NOON_MS) -> AtRecord:
    """A one-shot."""
    return AtRecord(name, f"prompt of {name}", target_ms)


def every(name: str, target_ms: int = NOON_MS, seconds: int = 300) -> EveryRecord:
    """A repeating reminder."""
    return EveryRecord(name, f"prompt of {name}", seconds, target_ms)


def number(drafts: Sequence[Draft], first_seq: int = 0, time_ms: int = 1) -> list[Event]:
    """Drafts as the events of a log."""
    return [Event(d.type, first_seq + place, time_ms, d.data) for place, d in enumerate(drafts)]


class MemoryStore:
    """A log in a list. It refuses what `broken` names; its barrier waits for `hold`."""

    def __init__(self, *records: Record, events: Sequence[Event] = ()) -> None:
        made = number([draft_change(Create(schedule=record)) for record in records], len(events))
        self.events = [*events, *made]
        self.batches: list[list[str]] = []
        self.seed_length = self.delegation_depth = 0
        self.time_zone: str | None = None
        self.durable = 0
        self.flushes = 0
        self.broken: set[str] = set()
        self.hold = anyio.Event()
        self.hold.set()

    def read_events(self, start: int) -> Sequence[Event]:
        return self.events[start:]

    def append(self, events: Sequence[Event]) -> None:
        if "append" in self.broken:
            raise OSError("append")
        self.batches.append([event.type for event in events])
        self.events.extend(events)

    def let_one(self) -> None:
        """End the barrier that is held, and hold the next one."""
        held, self.hold = self.hold, anyio.Event()
        held.set()

    async def flush(self) -> bool:
        self.flushes += 1
        position = len(self.events)
        await self.hold.wait()
        if "flush" in self.broken:
            return False
        self.durable = position
        return True


class HandClock:
    """A clock that stands still until it is moved, and ends the sleeps that are over then."""

    def __init__(self, now_ms: int = NOON_MS) -> None:
        self.now_ms = now_ms
        self._moved = anyio.Event()

    def read_ms(self) -> int:
        return self.now_ms

    def move(self, now_ms: int) -> None:
        self.now_ms = now_ms
        self._moved.set()
        self._moved = anyio.Event()

    def plan_sleep(self, until_ms: int, delay_ms: int) -> Callable[[], Awaitable[object]]:
        end_ms = min(until_ms, self.now_ms + delay_ms)

        async def sleep() -> None:
            while self.now_ms < end_ms:
                await self._moved.wait()

        return sleep


class Listener:
    """An agent's turns: what it was given, and `take_turn`, which answers once it is let."""

    def __init__(self, said: str | None = None) -> None:
        self.said = said
        self.given: list[Input] = []
        self.turn = anyio.Event()
        self.turn.set()

    @property
    def occurrences(self) -> list[tuple[tuple[str, int], ...]]:
        return [given.occurrences for given in self.given]

    async def take_turn(self, given: Input) -> str | None:
        self.given.append(given)
        await self.turn.wait()
        return self.said


class PlainHost:
    """A host without an agent: it notes what is handed over, and is idle unless told `busy`."""

    def __init__(self) -> None:
        self.followups: list[Followup] = []
        self.busy = False

    def claim(self) -> bool:
        return not self.busy

    def hand_over(self, followup: Followup) -> Sequence[Draft]:
        self.followups.append(followup)
        return ()

    def release(self) -> None:
        """Nothing was held."""

    async def wait_idle(self) -> None:
        while self.busy:
            await anyio.sleep(0.001)


class Life:
    """One life of a session with an inbox, and what it told."""

    def __init__(
        self,
        store: Store,
        agent: Agent | Callable[[Input], Awaitable[str | None]],
        clock: Clock | None = None,
        on_idle: Callable[[], None] = lambda: None,
        guard: GuardConfig | None = None,
    ) -> None:
        self.warnings: list[str] = []
        self.waits: list[int | None] = []
        self.clock = HandClock() if clock is None else clock
        self.host = InboxHost(CallbackAgent(agent) if callable(agent) else agent, on_idle)
        self.session = Session(
            store,
            self.host,
            self.clock,
            guard=guard,
            on_warning=self.warnings.append,
            on_wait=self.waits.append,
        )

    async def run(self) -> None:
        """Until it is disposed or cancelled."""
        await self.host.run(self.session)

    async def rest(self) -> None:
        """Return once nothing is under way, queued or waiting for the agent."""
        await until(lambda: bool(self.waits) and self.session.resting and not self.host.busy)
        await settle()
        await until(lambda: self.session.resting and not self.host.busy)


@asynccontextmanager
async def living(life: Life) -> AsyncIterator[Life]:
    """A life that lasts as long as the block, then is disposed."""
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(life.run)
            await settle()
            yield life
            life.session.dispose()


async def live_out(
    store: Store, agent: Agent | Callable[[Input], Awaitable[str | None]], clock: Clock | None = None
) -> Life:
    """A life until there is nothing to do any more."""
    async with living(Life(store, agent, clock)) as life:
        await life.rest()
    return life


async def until(condition: Callable[[], bool]) -> None:
    """Return once something has come true."""
    with anyio.fail_after(5):
        while not condition():
            await anyio.sleep(0.001)


async def settle() -> None:
    """Let every task that can go on go on."""
    for _ in range(30):
        await anyio.lowlevel.checkpoint()


def types_of(events: Sequence[Event]) -> list[str]:
    """Which types a log holds, in order."""
    return [event.type for event in events]


def data_of(events: Sequence[Event], kind: str) -> list[Json]:
    """What the events of one type hold."""
    return [dict(event.data) for event in events if event.type == kind and isinstance(event.data, dict)]


def dispatches_of(events: Sequence[Event]) -> list[Json]:
    """The dispatches of a log."""
    return [data for data in data_of(events, "schedule/change") if data["operation"] == "dispatch"]
