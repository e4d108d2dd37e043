"""The live session over a small world, on asyncio and on trio; the transcripts say the rest."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import anyio
import pytest

from journal_files import NOON_MS
from wakefold import Create, Event, Record, encode_change, error_value, fold, list_active
from wakefold.conversations import Draft
from wakefold.events import AtRecord, EveryRecord
from wakefold.rejections import PersistenceUncertain
from wakefold.tools import answer_value
from wakefold_shell import calls
from wakefold_shell.errors import UnavailableError
from wakefold_shell.owner import Session
from wakefold_shell.protocols import Followup

pytestmark = pytest.mark.anyio


class World:
    """Store, host and clock in one, with a diary of what happened in which order."""

    def __init__(self, *records: Record, now_ms: int = NOON_MS) -> None:
        self.events = [
            Event("schedule/change", seq, 1, encode_change(Create(schedule=record)))
            for seq, record in enumerate(records)
        ]
        self.seed_length = self.delegation_depth = 0
        self.time_zone: str | None = None
        self.now_ms = now_ms
        self.diary: list[str] = []
        self.followups: list[Followup] = []
        self.flushes: list[bool] = []
        self.broken: set[str] = set()
        self.busy = False
        self.hold = anyio.Event()
        self.hold.set()

    def read_events(self, start: int) -> Sequence[Event]:
        self._break("read")
        return self.events[start:]

    def append(self, events: Sequence[Event]) -> None:
        self._break("append")
        self.diary.append(f"append {len(events)}")
        self.events.extend(events)

    async def flush(self) -> bool:
        self.diary.append("flush")
        await self.hold.wait()
        self._break("flush")
        return self.flushes.pop(0) if self.flushes else True

    def claim(self) -> bool:
        self._break("claim")
        return not self.busy

    def hand_over(self, followup: Followup) -> Sequence[Draft]:
        self._break("hand over")
        self.diary.append("hand over")
        self.followups.append(followup)
        return ()

    def release(self) -> None:
        self.diary.append("release")

    async def wait_idle(self) -> None:
        self.diary.append("wait idle")
        while self.busy:
            await anyio.sleep(0.001)
        self._break("idle")

    def read_ms(self) -> int:
        self._break("clock")
        return self.now_ms

    def plan_sleep(self, until_ms: int, delay_ms: int) -> Callable[[], Awaitable[object]]:
        assert delay_ms == min(until_ms - self.now_ms, 2_147_483_647)

        async def sleep() -> None:
            self.diary.append("sleep")
            await anyio.sleep(0.001 if delay_ms < 10**9 else 60)
            self.now_ms = until_ms

        return sleep

    def _break(self, what: str) -> None:
        if what in self.broken:
            raise OSError(what)


def at(name: str, target_ms: int = NOON_MS) -> AtRecord:
    return AtRecord(name, f"prompt of {name}", target_ms)


def every(name: str, target_ms: int = NOON_MS, seconds: int = 300) -> EveryRecord:
    return EveryRecord(name, f"prompt of {name}", seconds, target_ms)


async def live_once(world: World) -> list[str]:
    """One life until nothing is due; its warnings."""
    warnings: list[str] = []
    with anyio.fail_after(5):
        await make_short(world, warnings).run()
    return warnings


def make_short(world: World, warnings: list[str]) -> Session:
    """A session that ends when it comes to rest."""
    session = Session(
        world, world, world, on_warning=warnings.append, on_wait=lambda _: session.dispose()
    )
    return session


@asynccontextmanager
async def living(world: World, warnings: list[str] | None = None) -> AsyncIterator[Session]:
    """A session that lives as long as the block, then is disposed."""
    told = [] if warnings is None else warnings
    session = Session(world, world, world, on_warning=told.append)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.run)
            await anyio.sleep(0.005)  # the owner has its first look
            yield session
            session.dispose()


async def test_a_due_reminder_is_handed_over_with_its_dispatch_and_confirmed() -> None:
    """Barrier, message, dispatch, release, barrier, and one more look."""
    world = World(at("a"))
    assert await live_once(world) == []
    assert world.diary == ["flush", "hand over", "append 1", "release", "flush", "flush"]
    assert world.followups[0].occurrences == (("a", NOON_MS),)
    assert list_active(fold(world.events).unwrap()) == ()


async def test_a_batch_is_appended_in_one_write() -> None:
    """All dispatches of a message stand or fall together."""
    world = World(every("e", NOON_MS - 1), every("f", NOON_MS - 2))
    await live_once(world)
    assert "append 2" in world.diary
    assert world.followups[0].occurrences == (("f", NOON_MS - 2), ("e", NOON_MS - 1))


async def test_a_reminder_to_come_is_slept_for() -> None:
    """The wait is told, the wall clock read again, the reminder delivered at its target."""
    world = World(at("a", NOON_MS + 60_000))
    waits: list[int | None] = []
    session = Session(world, world, world, on_wait=waits.append)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(session.run)
        with anyio.fail_after(5):
            while not world.followups or waits[-1] is not None:
                await anyio.sleep(0.001)
        session.dispose()
    assert waits == [NOON_MS + 60_000, None]


async def test_a_busy_agent_is_waited_for() -> None:
    """Nothing is handed over before its turn has ended."""
    world = World(at("a"))
    world.busy = True
    async with living(world):
        await anyio.sleep(0.01)
        assert world.followups == []
        world.busy = False
        while not world.followups:
            await anyio.sleep(0.001)
    assert world.diary.count("wait idle") == 1


@pytest.mark.parametrize(
    ("broken", "warning", "handed"),
    [
        ("flush", "preflight_failed", 0),
        ("read", "corrupt_log", 0),
        ("clock", "owner_failed", 0),
        ("claim", "owner_failed", 0),
        ("hand over", "followup_failed", 0),
        ("append", "append_failed", 1),
    ],
)
async def test_whatever_the_world_raises_is_a_warning_and_nothing_more(
    broken: str, warning: str, handed: int
) -> None:
    """No exception escapes, and nothing is appended; the exception is kept for the curious."""
    world = World(at("a"))
    world.broken = {broken}
    warnings: list[str] = []
    session = make_short(world, warnings)
    await session.run()
    assert warnings == [warning]
    assert str(session.trouble) == broken
    assert len(world.events) == 1
    assert len(world.followups) == handed


async def test_a_claim_without_a_clock_is_given_back() -> None:
    """The clock goes after the claim is granted: the agent is not left waiting for a release."""
    world = World(at("a"))
    claim = world.claim

    def claim_last() -> bool:
        world.broken = {"clock"}
        return claim()

    world.claim = claim_last  # type: ignore[method-assign]
    assert await live_once(world) == ["owner_failed"]
    assert world.diary == ["flush", "release"]
    assert world.followups == []


async def test_a_failed_idle_wait_is_warned_of_and_the_next_idleness_tries_again() -> None:
    """Activity retries, no private timer does."""
    world = World(at("a"))
    world.busy, world.broken = True, {"idle"}
    warnings: list[str] = []
    async with living(world, warnings) as session:
        await anyio.sleep(0.01)
        world.busy = False
        while not warnings:
            await anyio.sleep(0.001)
        assert world.followups == []
        session.went_idle()
        while not world.followups:
            await anyio.sleep(0.001)
    assert warnings == ["idle_wait_failed"]


async def test_an_unconfirmed_dispatch_is_warned_of() -> None:
    """The second barrier counts, too."""
    world = World(at("a"))
    world.flushes = [True, False]
    assert await live_once(world) == ["barrier_failed"]


async def test_a_corrupt_log_faults_the_owner_and_the_tools_say_why() -> None:
    """Nothing is delivered from a part of the log."""
    world = World(at("a"), at("a"))
    warnings: list[str] = []
    async with living(world, warnings) as session:
        answer = await session.call("schedule_list", {})
    assert warnings == ["corrupt_log"]
    assert session.fault is not None
    assert (session.fault.rule, session.fault.index) == ("id_reused", 1)
    assert answer_value(answer) == error_value(session.fault)
    assert world.followups == []


async def test_a_log_that_is_broken_while_it_lives_is_told_as_such() -> None:
    """The fault is found and named, though the log was sound at the start."""
    world = World(at("a", NOON_MS + 10**9))
    async with living(world) as session:
        world.events.append(Event("schedule/change", 1, 1, {"version": 7}))
        listed = await session.call("schedule_list", {})
        again = await session.call("schedule_list", {})
    assert listed == again
    assert session.fault is not None
    assert (session.fault.rule, session.fault.index) == ("unknown_version", 1)


async def test_several_events_from_elsewhere_are_seen_in_order() -> None:
    """A create and its delete in one look break nothing."""
    world = World()
    async with living(world) as session:
        made = encode_change(Create(schedule=at("z", NOON_MS + 10**9)))
        gone = {"version": 1, "operation": "delete", "id": "z"}
        world.events += [
            Event("schedule/change", 0, 1, made),
            Event("schedule/change", 1, 1, gone),
        ]
        assert answer_value(await session.call("schedule_list", {})) == []
    assert session.fault is None


async def test_a_host_that_breaks_on_release_faults_the_owner() -> None:
    """The dispatch stands; nothing more is delivered by this owner."""

    class Sticky(World):
        def release(self) -> None:
            raise OSError("release")

    world = Sticky(at("a"))
    assert await live_once(world) == ["owner_failed"]
    assert len(world.events) == 2


async def test_the_tools_make_list_and_end_reminders() -> None:
    """Each in its turn, each confirmed, and the owner looks again after each."""
    world = World()
    async with living(world) as session:
        made = await session.call("schedule_create", {"prompt": " x ", "after_seconds": 60})
        listed = await session.call("schedule_list", {})
        ended = await session.call("schedule_delete", {"id": "schedule-1"})
        twice = await session.call("schedule_delete", {"id": "schedule-1"})
        refused = await session.call("schedule_create", {"prompt": "x"})
    view = answer_value(made)
    assert isinstance(view, dict)
    assert view["scheduledAt"] == "2027-01-04T12:01:00.000Z"
    assert answer_value(listed) == [view]
    assert answer_value(ended) == {"id": "schedule-1", "deleted": True}
    assert answer_value(twice) == {
        "id": "schedule-1",
        "deleted": False,
        "code": "schedule_not_found",
    }
    assert refused.failure().code == "invalid_selector"
    assert [event.seq for event in world.events] == [0, 1]


async def test_a_local_time_takes_the_zone_that_the_open_turn_implies() -> None:
    """Spec 5.1, through the shell: the whole log is read only for this."""
    world = World()
    world.time_zone = "Europe/Berlin"
    text = {"type": "text", "text": "t"}
    sections = [{"name": "time-context", "text": "t"}]
    context: dict[str, object] = {"kind": "plugin", "plugin": "time-context", "form": "snapshot"}
    context["sections"] = sections
    person = {"kind": "user", "rpcId": "r", "clientTimeZone": "Europe/Berlin"}
    world.events = [
        Event("turn/start", 0, 1, {"turn": 1}),
        Event("step/start", 1, 1, {"turn": 1, "step": 1}),
        Event("user/message", 2, 1, {"content": [text], "source": person}),
        Event("user/message", 3, 1, {"content": [text], "source": context}),
    ]
    local = {"prompt": "x", "at": {"date": "2027-02-01", "time": "09:00:00"}}
    async with living(world) as session:
        made = answer_value(await session.call("schedule_create", local))
        world.time_zone = None
        asked = await session.call("schedule_create", local)
    assert isinstance(made, dict)
    assert made["scheduledAt"] == "2027-02-01T08:00:00.000Z"
    assert asked.failure().code == "timezone_confirmation_required"


async def test_a_barrier_that_never_answers_is_not_acknowledged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The shield around a barrier has a deadline."""
    monkeypatch.setattr(calls, "BARRIER_SECONDS_MAX", 0.02)
    world = World(at("a"))
    world.hold = anyio.Event()
    async with living(world) as session:
        answer = await session.call("schedule_list", {})
    assert answer.failure() == PersistenceUncertain(operation="list")
    assert world.followups == []


async def test_a_cancelled_caller_leaves_at_once_and_nothing_is_appended() -> None:
    """Its transaction keeps its place, looks at the flag before it appends, and stops."""
    world = World()
    world.hold = anyio.Event()
    async with living(world) as session:
        with anyio.move_on_after(0.01) as scope:
            await session.call("schedule_create", {"prompt": "x", "after_seconds": 60})
        assert scope.cancelled_caught
        world.hold.set()
        assert answer_value(await session.call("schedule_list", {})) == []
    assert world.events == []


@pytest.mark.parametrize("where", ["sleep", "barrier", "idle wait"])
async def test_c89_cancelling_a_session_leaves_quickly_and_writes_nothing(where: str) -> None:
    """In each place where it can wait: no exception group, no half batch, no event of teardown."""
    world = World(at("a", NOON_MS + (10**9 if where == "sleep" else 0)))
    world.busy = where == "idle wait"
    if where == "barrier":
        world.hold = anyio.Event()
    session = Session(world, world, world)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(session.run)
        await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()
        world.hold.set()
    assert len(world.events) == 1
    with pytest.raises(UnavailableError):
        await session.call("schedule_list", {})


async def test_a_waiting_caller_is_answered_when_the_session_is_cancelled() -> None:
    """Nobody waits for ever for a session that has gone."""
    world = World()
    world.hold = anyio.Event()
    session = Session(world, world, world)
    answers: list[object] = []

    async def ask() -> None:
        answers.append((await session.call("schedule_list", {})).failure().code)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as callers, anyio.create_task_group() as tasks:
            tasks.start_soon(session.run)
            callers.start_soon(ask)
            callers.start_soon(ask)
            await anyio.sleep(0.01)
            tasks.cancel_scope.cancel()
            world.hold.set()
    assert answers == ["internal_error", "internal_error"]


async def test_a_disposed_session_answers_no_more() -> None:
    """Disposal waits for the outstanding barrier, cancels what waits, and is the end."""
    world = World()
    world.hold = anyio.Event()
    answers: list[str] = []

    async def ask() -> None:
        call = await session.call("schedule_create", {"prompt": "x", "after_seconds": 60})
        answers.append(call.failure().code)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            session = Session(world, world, world)
            tasks.start_soon(session.run)
            tasks.start_soon(ask)
            await anyio.sleep(0.01)
            session.dispose()
            await anyio.sleep(0.01)
            world.hold.set()
    assert answers == ["internal_error"]
    assert world.events == []
    with pytest.raises(UnavailableError, match="open it again"):
        session.submit("schedule_list", {})


async def test_a_replaced_owner_delivers_nothing() -> None:
    """Another owner has the session now."""
    world = World(at("a"))
    world.hold = anyio.Event()
    warnings: list[str] = []
    async with living(world, warnings) as session:
        await anyio.sleep(0.01)
        session.detach()
        world.hold.set()
        await anyio.sleep(0.01)
    assert world.followups == []
    assert warnings == []
