"""What the next life makes of a log that the last one left in the middle of something."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from journal_files import NOON_MS, create_at, create_every, write_session
from memory_world import (
    HandClock,
    Life,
    Listener,
    MemoryStore,
    at,
    data_of,
    dispatches_of,
    every,
    live_out,
    living,
    number,
    settle,
    types_of,
    until,
)
from wakefold import Event, Record, decide_due, fold, frame_decision, list_active
from wakefold.conversations import (
    CONVERSATION_TYPES,
    REMINDER_SOURCE,
    Conversation,
    Input,
    begin_turn,
    follow,
    make_message,
    queue_input,
)
from wakefold.deliveries import Delivery, trace_deliveries
from wakefold.wakes import BatchDue, OneShotDue
from wakefold_shell.errors import UnavailableError
from wakefold_shell.hosts.inboxes import Answer
from wakefold_shell.stores.journal_store import open_store
from wakefold_shell.stores.journals import open_journal

pytestmark = pytest.mark.anyio


async def leave_in_inbox(store: MemoryStore) -> None:
    """A life that is cut off after its hand-over, before the barrier is acknowledged."""
    store.hold = anyio.Event()
    agent = Listener()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(Life(store, agent.take_turn).run)
        await until(lambda: store.flushes == 1)
        store.let_one()
        await until(lambda: store.flushes == 2)
        tasks.cancel_scope.cancel()
        store.hold.set()
    assert agent.given == []


def follow_all(events: list[Event]) -> Conversation:
    conversation = Conversation()
    for event in events:
        conversation = follow(conversation, event)
    return conversation


async def test_what_was_left_in_the_inbox_is_offered_again_before_anything_else() -> None:
    """The same message with the same id and occurrence; what else is due comes after it."""
    store = MemoryStore(at("a"), at("b", NOON_MS - 1))
    await leave_in_inbox(store)
    (waiting,) = follow_all(store.events).inbox
    assert waiting.occurrences == (("b", NOON_MS - 1),)
    agent = Listener()
    await live_out(store, agent.take_turn)
    assert agent.given[0] == waiting
    assert agent.occurrences == [(("b", NOON_MS - 1),), (("a", NOON_MS),)]
    assert [dispatch["id"] for dispatch in dispatches_of(store.events)] == ["b", "a"]


async def test_it_is_offered_only_once_it_is_durable() -> None:
    """The next life's first barrier confirms what the last one could not."""
    store = MemoryStore(at("a"))
    await leave_in_inbox(store)
    store.hold, before = anyio.Event(), store.flushes
    agent = Listener()
    async with living(Life(store, agent.take_turn)) as life:
        await until(lambda: store.flushes == before + 1)
        await settle()
        assert agent.given == []
        store.hold.set()
        await life.rest()
    assert agent.occurrences == [(("a", NOON_MS),)]


async def test_several_waiting_inputs_all_get_their_turns() -> None:
    """One after the other, in the inbox's order."""
    store = MemoryStore()
    for word in ("one", "two", "three"):
        message = make_message(f"m {word}", word, {"kind": "user", "rpcId": word})
        draft = queue_input(follow_all(store.events), message)
        store.events += number([draft], len(store.events))
    agent = Listener()
    await live_out(store, agent.take_turn)
    assert [given.text for given in agent.given] == ["one", "two", "three"]
    assert [data["turn"] for data in data_of(store.events, "turn/end")] == [1, 2, 3]


@pytest.mark.parametrize("end", ["cancelled", "disposed"])
async def test_c53_a_turn_cut_off_is_closed_as_interrupted_and_not_repeated(end: str) -> None:
    """The dispatch is in the log: restarted once or twice, the answer is the same."""
    store = MemoryStore(at("a"))
    agent = Listener()
    agent.turn = anyio.Event()
    life = Life(store, agent.take_turn)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(life.run)
        await until(lambda: bool(agent.given))
        left = list(store.events)
        if end == "cancelled":
            tasks.cancel_scope.cancel()
        else:
            life.session.dispose()
    assert store.events == left
    answers = []
    for _ in range(2):
        next_agent = Listener()
        await live_out(store, next_agent.take_turn)
        assert next_agent.given == []
        answers.append((trace_deliveries(store.events), len(store.events)))
    assert answers[0] == answers[1]
    assert answers[0][0] == {("a", NOON_MS): Delivery("unknown", {"kind": "interrupted"})}
    assert types_of(store.events[len(left) :]) == ["step/end", "turn/end"]
    assert data_of(store.events, "turn/end") == [{"turn": 1, "reason": {"kind": "interrupted"}}]


def queue_frame(*records: Record, queued_at_ms: int) -> list[Event]:
    """A log in which a message was queued and a crash cut off its dispatches."""
    store = MemoryStore(*records)
    decision = decide_due(fold(store.events).unwrap(), queued_at_ms).unwrap()
    assert isinstance(decision, OneShotDue | BatchDue)
    message = make_message("m", frame_decision(decision), REMINDER_SOURCE)
    drafts = [queue_input(Conversation(), message)]
    return [*store.events, *number(drafts, len(store.events), queued_at_ms)]


@pytest.mark.parametrize(
    ("records", "written"),
    [
        ((at("a"),), [{"id": "a"}]),
        (
            (every("e", NOON_MS - 2), every("f", NOON_MS - 1)),
            [
                {"id": "e", "acceptedAt": "2027-01-04T12:00:00.000Z"},
                {"id": "f", "acceptedAt": "2027-01-04T12:00:00.000Z"},
            ],
        ),
    ],
    ids=["one-shot", "batch"],
)
async def test_a_message_whose_dispatch_is_missing_gets_its_dispatch_alone(
    records: tuple[Record, ...], written: list[dict[str, object]]
) -> None:
    """It is not queued a second time, and stands for the instant at which it was queued."""
    store = MemoryStore(events=queue_frame(*records, queued_at_ms=NOON_MS))
    before = len(store.events)
    agent = Listener()
    await live_out(store, agent.take_turn, HandClock(NOON_MS + 1000))
    assert store.batches[0] == ["schedule/change"] * len(records)
    made = [{"version": 1, "operation": "dispatch", **dispatch} for dispatch in written]
    assert dispatches_of(store.events[before:]) == made
    inserted = [data["inserted"] for data in data_of(store.events, "agent/inbox/spliced")]
    assert [len(messages) for messages in inserted if isinstance(messages, list)] == [1, 0]
    assert agent.occurrences == [tuple((record.id, record.scheduled_at_ms) for record in records)]


async def test_c49_cut_off_anywhere_nothing_is_lost_and_no_begun_turn_repeats(tmp_path: Path) -> None:
    """At each line of the journal, whole or half: one message and one dispatch for each occurrence."""
    path = write_session(tmp_path, create_at(0), create_every(1, "schedule-2"))
    first_bytes = path.stat().st_size
    with open_store(path) as store:
        await live_out(store, Listener("ok").take_turn)
    content = path.read_bytes()
    ends = [place + 1 for place, byte in enumerate(content) if byte == 10 and place + 1 >= first_bytes]
    halves = [end + 40 for end in ends[:-1]]
    for cut in sorted((*ends, *halves)):
        path.write_bytes(content[:cut])
        await resume(path)


async def resume(path: Path) -> None:
    """Live twice on from a journal that was cut off, and compare with what it tells."""
    left = follow_all(read_journal(path))
    begun = [
        key for key, found in trace_deliveries(read_journal(path)).items() if found.outcome != "waiting"
    ]
    agent = Listener("ok")
    with open_store(path) as store:
        life = await live_out(store, agent.take_turn)
    assert life.warnings == []
    everything = [(("schedule-1", NOON_MS),), (("schedule-2", NOON_MS),)]
    assert agent.occurrences == [given for given in everything if given[0] not in begun]
    assert agent.given[: len(left.inbox)] == list(left.inbox)
    events = read_journal(path)
    spliced = [data["inserted"] for data in data_of(events, "agent/inbox/spliced") if data["inserted"]]
    assert len(spliced) == 2
    assert len(dispatches_of(events)) == 2
    interrupted = ["interrupted"] if left.turn_open else []
    kinds = [dict(data["reason"])["kind"] for data in data_of(events, "turn/end")]  # type: ignore[call-overload]
    assert [kind for kind in kinds if kind != "completed"] == interrupted
    assert [record.id for record in list_active(fold(events).unwrap())] == ["schedule-2"]
    lived, last = read_bytes(path), Listener()
    with open_store(path) as store:
        await live_out(store, last.take_turn)
    assert last.given == []
    assert read_bytes(path) == lived


def read_bytes(path: Path) -> bytes:
    return path.read_bytes()


def read_journal(path: Path) -> list[Event]:
    with open_journal(path) as journal:
        return list(journal.read_events(CONVERSATION_TYPES | {"schedule/change"}))


class Unreachable:
    """An agent that fails before its turn has begun, or forgets to begin it."""

    def __init__(self, *, raises: bool) -> None:
        self._raises = raises

    async def answer(self, given: Input, begin: Callable[[], None]) -> Answer:
        del given, begin
        await anyio.lowlevel.checkpoint()
        if self._raises:
            raise ConnectionError("nobody there")
        return Answer("said without a turn")


@pytest.mark.parametrize("raises", [True, False])
async def test_an_agent_that_cannot_be_reached_ends_the_session_and_keeps_the_input(
    *, raises: bool
) -> None:
    """The reason is kept for the operator; nothing of a turn is written; the next life offers it."""
    store = MemoryStore(at("a"), at("b"))
    life = Life(store, Unreachable(raises=raises))
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(life.run)
    assert isinstance(life.host.trouble, ConnectionError if raises else UnavailableError)
    assert store.batches == [["agent/inbox/spliced", "schedule/change"]]
    with pytest.raises(UnavailableError):
        await life.session.call("schedule_list", {})
    agent = Listener()
    await live_out(store, agent.take_turn)
    assert agent.occurrences == [(("a", NOON_MS),), (("b", NOON_MS),)]


async def test_a_turn_whose_beginning_cannot_be_written_does_not_begin() -> None:
    """The function is not called, the session ends, and the next life offers the message."""
    store = MemoryStore(at("a"))
    agent = Listener()
    store.hold = anyio.Event()
    life = Life(store, agent.take_turn)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(life.run)
            await until(lambda: store.flushes == 1)
            store.let_one()
            await until(lambda: store.flushes == 2)
            store.broken = {"append"}
            store.hold.set()
    assert isinstance(life.host.trouble, OSError)
    assert agent.given == []
    store.broken = set()
    await live_out(store, agent.take_turn)
    assert agent.occurrences == [(("a", NOON_MS),)]


async def test_a_turn_whose_end_cannot_be_written_is_closed_by_the_next_life() -> None:
    """Nobody knows what came of it; it is not repeated."""
    store = MemoryStore(at("a"))
    agent = Listener("ok")

    async def take_turn(given: Input) -> str | None:
        store.broken = {"append"}
        return await agent.take_turn(given)

    life = Life(store, take_turn)
    with anyio.fail_after(5):
        await life.run()
    assert isinstance(life.host.trouble, OSError)
    store.broken = set()
    await live_out(store, agent.take_turn)
    assert len(agent.given) == 1
    assert trace_deliveries(store.events)["a", NOON_MS] == Delivery("unknown", {"kind": "interrupted"})


async def test_a_log_that_cannot_be_mended_at_the_start_is_not_lived_on() -> None:
    """Where an open turn cannot be closed nothing else is tried, and nobody is left waiting."""
    store = MemoryStore(at("a"), events=[Event("turn/start", 0, 1, {"turn": 1})])
    before = list(store.events)
    store.broken = {"append"}
    agent = Listener()
    life = Life(store, agent.take_turn)
    waiting = life.session.submit("schedule_list", {})
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(life.run)
        await waiting.done.wait()
    assert isinstance(life.host.trouble, OSError)
    assert waiting.answer.failure().code == "internal_error"
    with pytest.raises(UnavailableError):
        life.session.submit("schedule_list", {})
    assert agent.given == []
    assert store.events == before


async def test_what_a_forks_parent_had_waiting_stays_the_parents() -> None:
    """The inherited inbox is not offered, and the turns count on."""
    message = make_message("m", "for the parent", {"kind": "user", "rpcId": "r"})
    waiting = number([queue_input(Conversation(), message)])
    begun = number(begin_turn(follow_all(waiting), 5, "reading"), 1)
    store = MemoryStore(
        at("a"), events=[*waiting, *begun, *number([queue_input(Conversation(), message)], 6)]
    )
    store.seed_length = 7
    agent = Listener()
    await live_out(store, agent.take_turn)
    assert agent.occurrences == [(("a", NOON_MS),)]
    assert [data["turn"] for data in data_of(store.events, "turn/start")] == [1, 2]


async def test_a_session_that_is_being_disposed_begins_no_turn() -> None:
    """What the last barrier made durable waits for the next life, as it was handed over."""
    store = MemoryStore(at("a"))
    store.hold = anyio.Event()
    agent = Listener()
    life = Life(store, agent.take_turn)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(life.run)
        await until(lambda: store.flushes == 1)
        store.let_one()
        await until(lambda: store.flushes == 2)
        life.session.dispose()
        store.hold.set()
    assert agent.given == []
    assert store.batches == [["agent/inbox/spliced", "schedule/change"]]
    await live_out(store, agent.take_turn)
    assert agent.occurrences == [(("a", NOON_MS),)]
