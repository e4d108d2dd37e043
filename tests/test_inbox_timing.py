"""When reminders come to an agent that is busy, far in the future, or deleted at the last moment."""

from __future__ import annotations

import math
import time
from types import SimpleNamespace

import anyio
import anyio.lowlevel
import pytest

from journal_files import NOON_MS
from memory_world import (
    MINUTE_MS,
    HandClock,
    Life,
    Listener,
    MemoryStore,
    at,
    dispatches_of,
    every,
    living,
    settle,
    until,
)
from wakefold import parse_instant
from wakefold.tools import answer_value
from wakefold.wakes import MAX_DELAY_MS
from wakefold_shell import clocks
from wakefold_shell.clocks import STRETCH_SECONDS_MAX, SystemClock

pytestmark = pytest.mark.anyio

DAY_MS = 24 * 60 * MINUTE_MS


async def test_c14_beats_during_a_long_turn_come_as_one_and_the_phase_stays() -> None:
    """Due 12:05, busy until 12:27: one dispatch for 12:25, and 12:30 is next."""
    store = MemoryStore(every("e", NOON_MS + 5 * MINUTE_MS))
    agent = Listener()
    clock = HandClock()
    async with living(Life(store, agent.take_turn, clock)) as life:
        await life.rest()
        agent.turn = anyio.Event()
        await life.host.say(life.session, "a long task", None)
        await until(lambda: len(agent.given) == 1)
        for minute in (5, 10, 15, 20, 25, 27):
            clock.move(NOON_MS + minute * MINUTE_MS)
            await settle()
        assert dispatches_of(store.events) == []
        agent.turn.set()
        await until(lambda: len(agent.given) == 2)
        await life.rest()
        assert agent.occurrences[1] == (("e", NOON_MS + 25 * MINUTE_MS),)
        (dispatch,) = dispatches_of(store.events)
        assert dispatch["acceptedAt"] == "2027-01-04T12:27:00.000Z"
        assert life.waits[-1] == NOON_MS + 30 * MINUTE_MS
        (view,) = _list(answer_value(await life.session.call("schedule_list", {})))
        assert view["scheduledAt"] == "2027-01-04T12:30:00.000Z"
    assert life.warnings == []


async def test_c61_a_reminder_deleted_a_millisecond_before_its_target_never_comes() -> None:
    """The wake that was set for it is taken back, and nothing is waited for."""
    target_ms = NOON_MS + 5 * MINUTE_MS
    store = MemoryStore(every("e", target_ms))
    agent = Listener()
    clock = HandClock()
    async with living(Life(store, agent.take_turn, clock)) as life:
        await life.rest()
        assert life.waits[-1] == target_ms
        clock.move(target_ms - 1)
        assert answer_value(await life.session.call("schedule_delete", {"id": "e"})) == {
            "id": "e",
            "deleted": True,
        }
        clock.move(target_ms)
        await life.rest()
        clock.move(target_ms + DAY_MS)
        await life.rest()
        assert life.waits[-1:] == [None]
    assert agent.given == []
    assert dispatches_of(store.events) == []


async def test_idleness_is_told_once_no_input_is_left() -> None:
    """Not between two turns, and not of an agent that was idle all the time."""
    store = MemoryStore()
    agent = Listener()
    busy: list[bool] = []
    life = Life(store, agent.take_turn, on_idle=lambda: busy.append(life.host.busy))
    async with living(life):
        await life.rest()
        assert busy == []
        agent.turn = anyio.Event()
        for word in ("one", "two"):
            await life.host.say(life.session, word, None)
        agent.turn.set()
        await until(lambda: len(agent.given) == 2)
        await life.rest()
    assert busy == [False]


@pytest.mark.parametrize("barriers", [1, 2, 3])
async def test_c61_a_wake_that_fires_while_the_delete_is_under_way_finds_nothing(barriers: int) -> None:
    """Whichever barrier the delete stands at when the target comes, its place in the FIFO is first."""
    target_ms = NOON_MS + 5 * MINUTE_MS
    store = MemoryStore(every("e", target_ms), at("later", target_ms + DAY_MS))
    agent = Listener()
    clock = HandClock()
    async with living(Life(store, agent.take_turn, clock)) as life:
        await life.rest()
        clock.move(target_ms - 1)
        store.hold, before = anyio.Event(), store.flushes
        call = life.session.submit("schedule_delete", {"id": "e"})
        for count in range(1, barriers + 1):
            await until(lambda count=count: store.flushes == before + count)  # type: ignore[misc]
            if count < barriers:
                store.let_one()
        clock.move(target_ms)
        await settle()
        store.hold.set()
        await call.done.wait()
        await life.rest()
        assert life.waits[-1] == target_ms + DAY_MS
    assert agent.given == []
    assert dispatches_of(store.events) == []


class Machine:
    """A machine in virtual time for `SystemClock`: each sleep takes as long as it says, at once."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, wall_ms: int) -> None:
        self.wall_ms = wall_ms
        self.slept: list[float] = []
        self.pause_ms: float = math.inf
        self.paused = anyio.Event()
        elapsed = SimpleNamespace(
            time_ns=lambda: self.wall_ms * 1_000_000,
            monotonic=lambda: (self.wall_ms - wall_ms) / 1000,
        )
        monkeypatch.setattr(clocks, "time", elapsed)
        monkeypatch.setattr(clocks, "sleep_for", self.sleep)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.wall_ms += round(seconds * 1000)
        while self.wall_ms >= self.pause_ms:
            self.paused.set()
            await anyio.lowlevel.checkpoint()

    async def pause_at(self, wall_ms: int) -> None:
        """Let time pass until an instant, and hold it there at the end of a stretch."""
        self.pause_ms, self.paused = wall_ms, anyio.Event()
        await self.paused.wait()


async def test_c16_sixty_days_are_slept_in_minutes_and_end_on_the_millisecond(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No delay overflows: 86,400 stretches, two in which a timer ended, nothing early."""
    now_ms = parse_instant("2027-01-04T00:00:00.000Z")
    target_ms = parse_instant("2027-03-05T00:00:00.000Z")
    assert now_ms is not None
    assert target_ms is not None
    machine = Machine(monkeypatch, now_ms)
    store = MemoryStore(at("a", target_ms))
    agent = Listener()
    async with living(Life(store, agent.take_turn, SystemClock())) as life:
        await until(lambda: bool(agent.given))
        await life.rest()
    span_ms = target_ms - now_ms
    assert span_ms == 60 * DAY_MS
    assert max(machine.slept) == STRETCH_SECONDS_MAX
    assert len(machine.slept) <= span_ms / 1000 / STRETCH_SECONDS_MAX + 3
    assert machine.wall_ms == target_ms
    assert [event.time_ms for event in store.events[1:]] == [target_ms] * len(store.events[1:])
    assert store.flushes < 10


async def test_c16_the_end_of_the_calendar_is_waited_for_in_long_stretches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each timer takes the longest delay there is; it comes at its target and not before."""
    target_ms = parse_instant("9999-12-31T23:59:59.000Z")
    assert target_ms is not None
    monkeypatch.setattr(clocks, "STRETCH_SECONDS_MAX", 10**12)
    machine = Machine(monkeypatch, NOON_MS)
    store = MemoryStore(at("a", target_ms))
    agent = Listener()
    machine.pause_ms = NOON_MS + 50 * MAX_DELAY_MS
    async with living(Life(store, agent.take_turn, SystemClock())) as life:
        await machine.paused.wait()
        assert machine.slept == [MAX_DELAY_MS / 1000] * 50
        assert life.waits == [target_ms] * 50
        assert store.flushes == 50
        machine.wall_ms = target_ms - 1
        await machine.pause_at(target_ms)
        assert agent.given == []
        assert machine.slept[50:] == pytest.approx([0.001], rel=0.1)
        machine.pause_ms = math.inf
        await until(lambda: bool(agent.given))
        await life.rest()
    assert store.events[1].time_ms == target_ms
    assert len(machine.slept) == 51


def test_the_virtual_machine_is_the_clocks_alone() -> None:
    """The patches of this module end with their tests."""
    assert vars(clocks)["time"] is time
    assert clocks.sleep_for.__module__ == clocks.__name__


def _list(value: object) -> list[dict[str, object]]:
    assert isinstance(value, list)
    return value
