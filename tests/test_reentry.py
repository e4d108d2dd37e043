"""What a session refuses: to be called from inside itself, and to be put together wrongly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from journal_files import NOON_MS, create_at, write_session
from memory_world import (
    HandClock,
    Life,
    MemoryStore,
    PlainHost,
    at,
    dispatches_of,
    living,
    settle,
    until,
)
from wakefold import Event
from wakefold.conversations import Draft, Input
from wakefold.tools import answer_value
from wakefold_shell.errors import CompositionError, ReentryError, ShellError
from wakefold_shell.owner import Session
from wakefold_shell.protocols import Followup
from wakefold_shell.stores.journal_store import open_store

pytestmark = pytest.mark.anyio

WAYS = ["record", "submit", "call"]
PLACES = ["hand over", "claim", "release", "append", "flush", "event"]


def enter(session: Session, way: str) -> None:
    """Call a session, as far as a plain function can."""
    match way:
        case "record":
            session.record([Draft("plan/create", {})])
        case "submit":
            session.submit("schedule_list", {})
        case _:
            call = session.call("schedule_list", {})
            try:
                call.send(None)
            finally:
                call.close()


class Nosy(PlainHost):
    """A host and an observer that call the session from inside its calls."""

    def __init__(self, place: str, way: str, *, caught: bool) -> None:
        super().__init__()
        self.answers: list[str] = []
        self._place, self._way, self._caught = place, way, caught
        self.store = NosyStore(self.come_by)
        self.warnings: list[str] = []
        self.session = Session(
            self.store,
            self,
            HandClock(),
            on_warning=self.warnings.append,
            on_wait=lambda _: self.session.dispose(),
        )
        self.session.tell_event = lambda _: self.come_by("event")

    def come_by(self, place: str) -> None:
        if place != self._place:
            return
        try:
            enter(self.session, self._way)
            self.answers.append("entered")
        except ReentryError as error:
            self.answers.append(str(error))
            if not self._caught:
                raise

    def claim(self) -> bool:
        self.come_by("claim")
        return super().claim()

    def hand_over(self, followup: Followup) -> Sequence[Draft]:
        self.come_by("hand over")
        return super().hand_over(followup)

    def release(self) -> None:
        self.come_by("release")

    async def run(self) -> None:
        """The session's life, in a task of its own."""
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self.session.run)


class NosyStore(MemoryStore):
    """A store that does the same."""

    def __init__(self, come_by: Callable[[str], None]) -> None:
        super().__init__(at("a"))
        self._come_by = come_by

    def append(self, events: Sequence[Event]) -> None:
        self._come_by("append")
        super().append(events)

    async def flush(self) -> bool:
        await anyio.lowlevel.checkpoint()
        self._come_by("flush")
        return await super().flush()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("place", PLACES)
async def test_whoever_is_called_by_a_session_cannot_call_it(place: str, way: str) -> None:
    """One clear sentence and no deadlock; who takes it well harms nothing."""
    nosy = Nosy(place, way, caught=True)
    await nosy.run()
    sentence = "its own barrier" if place == "flush" else "return from it first"
    assert nosy.answers
    assert all(sentence in answer for answer in nosy.answers)
    assert nosy.warnings == []
    assert [followup.occurrences for followup in nosy.followups] == [(("a", NOON_MS),)]
    assert len(dispatches_of(nosy.store.events)) == 1
    assert len(nosy.store.events) == 2


@pytest.mark.parametrize(
    ("place", "warning"),
    [
        ("hand over", "followup_failed"),
        ("claim", "owner_failed"),
        ("release", "owner_failed"),
        ("append", "append_failed"),
        ("flush", "preflight_failed"),
    ],
)
async def test_who_lets_the_refusal_through_has_failed_like_any_other(place: str, warning: str) -> None:
    """A warning of what could not be done, with the refusal as its reason."""
    nosy = Nosy(place, "record", caught=False)
    await nosy.run()
    assert nosy.warnings == [warning]
    assert isinstance(nosy.session.trouble, ReentryError)
    assert len(nosy.store.events) == (2 if place == "release" else 1)


async def test_a_store_that_calls_a_tool_in_a_later_barrier_is_refused_as_well() -> None:
    """A tool's barrier is no other than the owner's: the tool is told that it is not confirmed."""
    nosy = Nosy("flush", "call", caught=False)
    session = Session(nosy.store, nosy, HandClock(), on_warning=nosy.warnings.append)
    nosy.session = session
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.run)
            await settle()
            answer = await session.call("schedule_list", {})
            session.dispose()
    assert answer.failure().code == "persistence_uncertain"


async def test_a_host_may_call_while_the_session_waits_for_it() -> None:
    """The idle wait is no call that holds the session up."""
    answers: list[object] = []

    class Waiting(PlainHost):
        async def wait_idle(self) -> None:
            answers.append(answer_value(await session.call("schedule_list", {})))
            self.busy = False

    host = Waiting()
    host.busy = True
    session = Session(MemoryStore(at("a")), host, HandClock())
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.run)
            await until(lambda: bool(host.followups))
            await settle()
            session.dispose()
    assert len(answers) == 1


async def test_an_agent_may_call_and_record_in_its_turn() -> None:
    """Its turn is a task of its own; what it records stands between the turn's beginning and end."""
    store = MemoryStore(at("a"))
    answers: list[object] = []

    async def take_turn(_: Input) -> None:
        life.session.record([Draft("plan/create", {"by": "the agent"})])
        call = life.session.submit("schedule_list", {})
        await call.done.wait()
        answers.append(answer_value(call.answer))
        answers.append(answer_value(await life.session.call("schedule_delete", {"id": "b"})))

    life = Life(store, take_turn)
    async with living(life):
        await life.rest()
    assert answers == [[], {"id": "b", "deleted": False, "code": "schedule_not_found"}]
    assert store.batches[2:] == [["plan/create"], ["step/end", "turn/end"]]


async def test_a_refused_call_leaves_the_session_open() -> None:
    """The next one, from outside, is answered."""
    nosy = Nosy("claim", "submit", caught=True)
    session = Session(nosy.store, nosy, HandClock())
    nosy.session = session
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.run)
            await until(lambda: bool(nosy.followups))
            assert answer_value(await session.call("schedule_list", {})) == []
            session.record([Draft("plan/create", {})])
            session.dispose()
    assert len(nosy.answers) == 1


def test_a_session_without_a_store_is_refused_in_words() -> None:
    """At once, before anything runs."""
    with pytest.raises(CompositionError, match="need a store for the session's log: open one first"):
        Session(None, PlainHost(), HandClock())
    assert issubclass(CompositionError, ShellError)


@pytest.mark.parametrize("depth", [1, 2])
def test_a_child_session_is_told_that_it_is_one(depth: int, tmp_path: Path) -> None:
    """Whether its store says so or its journal's header does."""
    store = MemoryStore(at("a"))
    store.delegation_depth = depth
    with pytest.raises(CompositionError, match=rf"a child session \(delegationDepth {depth}\)"):
        Session(store, PlainHost(), HandClock())
    path = write_session(tmp_path, create_at(0), header={"delegationDepth": depth})
    content = path.read_bytes()
    with open_store(path) as journal, pytest.raises(CompositionError, match="child session"):
        Session(journal, PlainHost(), HandClock())
    assert path.read_bytes() == content
