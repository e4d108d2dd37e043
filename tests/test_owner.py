"""The live owner over a virtual store, host and clock, on asyncio and on trio."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import anyio
import anyio.lowlevel
import pytest

from journal_files import NOON_MS
from wakefold import (
    Create,
    Event,
    EveryRecord,
    Record,
    encode_change,
    fold,
    list_active,
)
from wakefold.events import AtRecord
from wakefold_shell import owner
from wakefold_shell.errors import ShellError
from wakefold_shell.owner import CorruptLogError, own_session
from wakefold_shell.protocols import Followup

pytestmark = pytest.mark.anyio


class World:
    """Store, host and clock in one, with a diary of what happened in which order."""

    def __init__(self, *records: Record, now_ms: int = NOON_MS) -> None:
        self.events = [
            Event("schedule/change", seq, 1, encode_change(Create(schedule=record)))
            for seq, record in enumerate(records)
        ]
        self.seed_length = 0
        self.now_ms = now_ms
        self.diary: list[str] = []
        self.followups: list[Followup] = []
        self.flushes: list[bool] = []
        self.broken_host = False

    def read_events(self) -> Iterator[Event]:
        return iter(list(self.events))

    def append(self, events: Sequence[Event]) -> None:
        self.diary.append(f"append {len(events)}")
        self.events.extend(events)

    async def flush(self) -> bool:
        self.diary.append("flush")
        return self.flushes.pop(0) if self.flushes else True

    def hand_over(self, followup: Followup) -> None:
        if self.broken_host:
            raise BrokenPipeError
        self.diary.append("hand over")
        self.followups.append(followup)

    def read_ms(self) -> int:
        return self.now_ms

    async def sleep_until(self, instant_ms: int | None) -> None:
        self.diary.append("sleep")
        if instant_ms is None:
            await anyio.sleep_forever()
            return
        await anyio.lowlevel.checkpoint()
        self.now_ms = max(self.now_ms, instant_ms)


def at(name: str, target_ms: int = NOON_MS) -> AtRecord:
    return AtRecord(name, f"prompt of {name}", target_ms)


def every(name: str, target_ms: int = NOON_MS, seconds: int = 300) -> EveryRecord:
    return EveryRecord(name, f"prompt of {name}", seconds, target_ms)


async def live(world: World, once: bool = True) -> None:
    await own_session(world, world, world, once=once)


async def test_a_due_reminder_is_handed_over_before_its_dispatch_and_confirmed() -> None:
    """Barrier, message, dispatch, barrier: a crash can repeat a reminder but never lose it."""
    world = World(at("a"))
    await live(world)
    assert world.diary == ["flush", "hand over", "append 1", "flush"]
    assert world.followups[0].occurrences == (("a", NOON_MS),)
    assert list_active(fold(world.events).unwrap()) == ()


async def test_all_that_is_due_goes_by_the_rules_of_one_decision_after_the_other() -> None:
    """One-shots first, one message each, by target; then the repeating ones as one batch."""
    world = World(every("e", NOON_MS - 1), at("b"), at("a", NOON_MS - 5), every("f", NOON_MS - 2))
    await live(world)
    assert [f.occurrences for f in world.followups] == [
        (("a", NOON_MS - 5),),
        (("b", NOON_MS),),
        (("f", NOON_MS - 2), ("e", NOON_MS - 1)),
    ]
    assert world.diary.count("append 2") == 1


async def test_a_second_look_at_the_same_instant_delivers_nothing() -> None:
    """What was dispatched is in the log, so that no run repeats it."""
    world = World(every("e"), at("a"))
    await live(world)
    count = len(world.events)
    await live(world)
    assert len(world.events) == count
    assert len(world.followups) == 2


async def test_the_owner_sleeps_until_the_next_wake_and_tells_so() -> None:
    """A reminder to come is waited for; afterwards nothing is left to wait for but the end."""
    world = World(at("a", NOON_MS + 60_000))
    waits: list[int | None] = []
    with anyio.move_on_after(0.1):
        await own_session(world, world, world, on_wait=waits.append)
    assert waits == [NOON_MS + 60_000, None]
    assert world.followups[0].occurrences == (("a", NOON_MS + 60_000),)


async def test_an_unconfirmed_barrier_stops_before_anything_is_delivered() -> None:
    """Uncertain is not good enough to decide from."""
    world = World(at("a"))
    world.flushes = [False]
    with pytest.raises(ShellError, match="did not confirm"):
        await live(world)
    assert world.diary == ["flush"]


async def test_a_host_that_fails_leaves_the_reminder_due() -> None:
    """Nothing is appended for a message that was not queued."""
    world = World(at("a"))
    world.broken_host = True
    with pytest.raises(BrokenPipeError):
        await live(world)
    assert len(world.events) == 1


async def test_a_corrupt_log_stops_the_owner_before_the_first_barrier() -> None:
    """The fault is told as data; nothing is delivered from a part of the log."""
    world = World(at("a"), at("a"))
    with pytest.raises(CorruptLogError) as caught:
        await live(world)
    assert caught.value.fault.rule == "id_reused"
    assert caught.value.fault.index == 1
    assert world.diary == []


async def test_a_batch_past_year_9999_is_a_sentence() -> None:
    """The clock is wrong, not the program."""
    world = World(every("e"), now_ms=253_402_300_800_000)
    with pytest.raises(ShellError, match="outside the years"):
        await live(world)
    assert len(world.events) == 1


async def test_cancelling_a_wait_reaches_the_caller_and_writes_nothing() -> None:
    """Teardown is no event."""
    world = World()
    with anyio.move_on_after(0.05) as scope:
        await live(world, once=False)
    assert scope.cancelled_caught
    assert world.events == []


async def test_only_the_suffix_of_a_fork_is_owned() -> None:
    """What was inherited belongs to the parent."""
    world = World(at("a"), at("b"))
    world.seed_length = 1
    await live(world)
    assert [f.occurrences for f in world.followups] == [(("b", NOON_MS),)]


async def test_a_stop_during_a_barrier_waits_for_it() -> None:
    """What was appended is confirmed before the owner leaves."""

    class Slow(World):
        async def flush(self) -> bool:
            await anyio.sleep(0.05)
            return await super().flush()

    world = Slow(at("a"))
    with anyio.move_on_after(0.01) as scope:
        await live(world)
    assert scope.cancelled_caught
    assert world.diary == ["flush"]


async def test_a_barrier_that_never_answers_is_not_acknowledged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The shield around a barrier has a deadline."""

    class Hung(World):
        async def flush(self) -> bool:
            await anyio.sleep_forever()
            return True

    monkeypatch.setattr(owner, "BARRIER_SECONDS_MAX", 0.02)
    with pytest.raises(ShellError, match="did not confirm"):
        await live(Hung(at("a")))
