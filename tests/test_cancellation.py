"""A session cancelled wherever it can be: at once, at the first call, and nothing half done."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import anyio
import anyio.lowlevel
import pytest

from journal_files import NOON_MS
from memory_world import (
    HandClock,
    Life,
    Listener,
    MemoryStore,
    PlainHost,
    at,
    data_of,
    dispatches_of,
    every,
    live_out,
    living,
    settle,
    until,
)
from wakefold import Event
from wakefold.conversations import Draft, Input
from wakefold.events import EveryRecord
from wakefold_shell import calls
from wakefold_shell.owner import Session
from wakefold_shell.protocols import Followup

pytestmark = pytest.mark.anyio

PLACES = ["sleep", "first barrier", "second barrier", "turn", "idle wait"]
HALF = ["claim", "hand over", "append", "release"]


class Scene:
    """A life that comes to a place and stays there until it is cancelled; `run` is what to cancel."""

    def __init__(self, place: str) -> None:
        due_ms = NOON_MS + (60_000 if place == "sleep" else 0)
        self.store = MemoryStore(every("e", due_ms), every("f", due_ms))
        if "barrier" in place:
            self.store.hold = anyio.Event()
        self.agent = Listener("said")
        self.agent.turn = anyio.Event()
        self.life = Life(self.store, self.agent.take_turn)
        self._place = place
        self._idler = Idler()
        self.run: Callable[[], Awaitable[None]] = self.life.run
        if place == "idle wait":
            self.run = Session(self.store, self._idler, HandClock()).run

    async def arrive(self) -> None:
        """Return once the life is there."""
        store = self.store
        match self._place:
            case "sleep":
                await until(lambda: bool(self.life.waits))
            case "first barrier":
                await until(lambda: store.flushes == 1)
            case "second barrier":
                await until(lambda: store.flushes == 1)
                store.let_one()
                await until(lambda: store.flushes == 2)
            case "turn":
                await until(lambda: bool(self.agent.given))
            case _:
                await until(lambda: self._idler.waits)
        await settle()


class Idler(PlainHost):
    """A host that is busy for ever."""

    def __init__(self) -> None:
        super().__init__()
        self.busy, self.waits = True, False

    async def wait_idle(self) -> None:
        self.waits = True
        await anyio.sleep_forever()


@pytest.mark.parametrize("place", PLACES)
async def test_c89_a_cancelled_session_leaves_with_nothing_but_its_cancellation(place: str) -> None:
    """No exception, no group, no further event; a barrier that answers is all that is waited for."""
    scene = Scene(place)
    left: list[Event] = []

    async def cancel() -> None:
        await scene.arrive()
        left.extend(scene.store.events)
        scope.cancel()
        scene.store.hold.set()

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            with anyio.CancelScope() as scope:
                tasks.start_soon(cancel)
                await scene.run()
            assert scope.cancelled_caught
    assert scene.store.events == left
    assert len(scene.agent.given) == (place == "turn")


@pytest.mark.parametrize("place", ["first barrier", "second barrier"])
async def test_c89_a_barrier_that_never_answers_is_left_at_its_deadline(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shield round it ends; the agent is not called for what is not durable."""
    monkeypatch.setattr(calls, "BARRIER_SECONDS_MAX", 0.05)
    scene = Scene(place)

    async def cancel() -> None:
        await scene.arrive()
        scope.cancel()

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            with anyio.CancelScope() as scope:
                tasks.start_soon(cancel)
                await scene.run()
            assert scope.cancelled_caught
    assert scene.agent.given == []


class Trap:
    """Cancels a scope from inside one of the calls of a hand-over."""

    def __init__(self, place: str) -> None:
        self._place = place
        self.spring: Callable[[], object] = lambda: None
        self.store = TrapStore(self, every("e"), every("f"))
        self.agent = Listener()
        self.life = Life(self.store, self.agent.take_turn)
        host = self.life.host
        self._claim, self._hand_over, self._release = host.claim, host.hand_over, host.release
        host.claim = self.claim  # type: ignore[method-assign]
        host.hand_over = self.hand_over  # type: ignore[method-assign]
        host.release = self.release  # type: ignore[method-assign]

    def come_by(self, place: str) -> None:
        if place == self._place:
            self.spring()

    def claim(self) -> bool:
        self.come_by("claim")
        return self._claim()

    def hand_over(self, followup: Followup) -> Sequence[Draft]:
        self.come_by("hand over")
        return self._hand_over(followup)

    def release(self) -> None:
        self.come_by("release")
        self._release()


class TrapStore(MemoryStore):
    """A store whose append may be such a place."""

    def __init__(self, trap: Trap, *records: EveryRecord) -> None:
        super().__init__(*records)
        self._trap = trap

    def append(self, events: Sequence[Event]) -> None:
        self._trap.come_by("append")
        super().append(events)


@pytest.mark.parametrize("place", HALF)
async def test_c89_cancelled_inside_a_hand_over_the_batch_is_whole(place: str) -> None:
    """Splice and every dispatch are in one write; the message waits for the next life."""
    trap = Trap(place)
    with anyio.fail_after(5):
        with anyio.CancelScope() as scope:
            trap.spring = scope.cancel
            await trap.life.run()
        assert scope.cancelled_caught
    check_whole(trap)
    agent = Listener()
    await live_out(MemoryStore(events=trap.store.events), agent.take_turn)
    assert agent.occurrences == [(("e", NOON_MS), ("f", NOON_MS))]


def check_whole(trap: Trap) -> None:
    """One hand-over has been written whole, and no turn has begun."""
    assert trap.store.batches == [["agent/inbox/spliced", "schedule/change", "schedule/change"]]
    assert [data["operation"] for data in dispatches_of(trap.store.events)] == ["dispatch", "dispatch"]
    assert trap.agent.given == []


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("place", PLACES)
async def test_c91_a_native_cancellation_arrives_the_first_time(place: str) -> None:
    """`task.cancel()` once, and the task is cancelled, wherever it was."""
    scene = Scene(place)
    task = asyncio.ensure_future(scene.run())
    await scene.arrive()
    left = list(scene.store.events)
    task.cancel()
    with anyio.fail_after(5), pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelled()
    assert scene.store.events == left


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("first", ["scope", "task"])
@pytest.mark.parametrize("place", PLACES)
async def test_c91_of_two_cancellations_in_one_tick_none_is_lost(place: str, first: str) -> None:
    """The scope ends the session, and the task that ran it is cancelled all the same."""
    scene = Scene(place)
    scope = anyio.CancelScope()
    after: list[str] = []

    async def live() -> None:
        with scope:
            await scene.run()
        await anyio.lowlevel.checkpoint()
        after.append("lived on")

    task = asyncio.ensure_future(live())
    await scene.arrive()
    left = list(scene.store.events)
    for cancel in (scope.cancel, task.cancel) if first == "scope" else (task.cancel, scope.cancel):
        cancel()
    with anyio.fail_after(5), pytest.raises(asyncio.CancelledError):
        await task
    assert after == []
    assert scene.store.events == left


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("place", HALF)
async def test_c91_a_native_cancellation_inside_a_hand_over_leaves_the_batch_whole(place: str) -> None:
    """It comes at the next wait, which is after the write."""
    trap = Trap(place)
    task = asyncio.ensure_future(trap.life.run())
    trap.spring = task.cancel
    with anyio.fail_after(5), pytest.raises(asyncio.CancelledError):
        await task
    check_whole(trap)


@pytest.mark.parametrize("place", PLACES)
async def test_c91_of_two_scopes_cancelled_in_one_tick_the_outer_one_counts(place: str) -> None:
    """What stands between the two is not gone on with."""
    scene = Scene(place)
    after: list[str] = []

    async def cancel() -> None:
        await scene.arrive()
        inner.cancel()
        outer.cancel()
        scene.store.hold.set()

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            with anyio.CancelScope() as outer:
                with anyio.CancelScope() as inner:
                    tasks.start_soon(cancel)
                    await scene.run()
                await anyio.lowlevel.checkpoint()
                after.append("lived on")
            assert outer.cancelled_caught
    assert after == []


async def test_a_person_who_leaves_while_a_word_is_confirmed_takes_nothing_back() -> None:
    """The caller goes at once; the word is written, and has its turn."""
    store = MemoryStore()
    agent = Listener()
    async with living(Life(store, agent.take_turn)) as life:
        await life.rest()
        store.hold = anyio.Event()
        with anyio.move_on_after(0.01) as scope:
            await life.host.say(life.session, "hello", None)
        assert scope.cancelled_caught
        assert agent.given == []
        store.hold.set()
        await until(lambda: bool(agent.given))
        await life.rest()
    assert data_of(store.events, "turn/end") == [{"turn": 1, "reason": {"kind": "completed"}}]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_an_agent_whose_own_task_is_cancelled_has_failed_and_no_more() -> None:
    """Somebody else's cancellation ends neither the session nor the turns to come."""
    store = MemoryStore(every("e"), at("a"))
    agent = Listener("ok")

    async def take_turn(given: Input) -> str | None:
        if len(agent.given) == 0:
            await agent.take_turn(given)
            model = asyncio.ensure_future(asyncio.sleep(60))
            model.cancel()
            await model
        return await agent.take_turn(given)

    life = await live_out(store, take_turn)
    assert life.host.trouble is None
    assert agent.occurrences == [(("a", NOON_MS),), (("e", NOON_MS),)]
    failed, completed = (dict(data["reason"]) for data in data_of(store.events, "turn/end"))  # type: ignore[call-overload]
    assert failed == {"kind": "failed", "error": "ShellError: the agent's work was cancelled."}
    assert completed == {"kind": "completed"}


async def test_an_agent_that_cancels_its_own_work_has_a_turn_like_any_other() -> None:
    """A scope inside the callback is the callback's own matter."""
    store = MemoryStore(every("e"))

    async def take_turn(_: object) -> str:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await anyio.sleep_forever()
        return "gave up"

    life = await live_out(store, take_turn)
    assert life.host.trouble is None
    assert data_of(store.events, "turn/end") == [{"turn": 1, "reason": {"kind": "completed"}}]
