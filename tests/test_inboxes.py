"""The host with an inbox in the log: what it writes, when the agent is called, what a person says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from journal_files import NOON_MS, change, create_at, create_every, write_session
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
    settle,
    types_of,
    until,
)
from wakefold import Event
from wakefold.conversations import REMINDER_SOURCE, Input
from wakefold.deliveries import Delivery, trace_deliveries
from wakefold.tools import answer_value
from wakefold_shell.errors import UnavailableError, UnconfirmedError
from wakefold_shell.stores.journal_store import open_store
from wakefold_shell.stores.journals import open_journal

pytestmark = pytest.mark.anyio

TURN = [
    "turn/start",
    "agent/inbox/spliced",
    "step/start",
    "user/message",
    "user/message",
    "assistant/message",
    "step/end",
    "turn/end",
]
LOCAL = {"prompt": "x", "at": {"date": "2027-02-01", "time": "09:00:00"}}


async def test_a_due_reminder_is_one_batch_of_splice_and_dispatches_and_then_a_turn() -> None:
    """Hand-over, beginning and end of the turn are a write each, in the journal's own terms."""
    store = MemoryStore(every("e", NOON_MS - 1), every("f", NOON_MS - 2))
    agent = Listener("Noted.")
    life = await live_out(store, agent.take_turn)
    assert store.batches == [
        ["agent/inbox/spliced", "schedule/change", "schedule/change"],
        TURN[:5],
        TURN[5:],
    ]
    assert life.warnings == []
    assert agent.occurrences == [(("f", NOON_MS - 2), ("e", NOON_MS - 1))]
    queued, taken = data_of(store.events, "agent/inbox/spliced")
    assert queued["target"] == taken["target"] == "next-turn"
    assert (queued["start"], taken["start"], taken["removedCount"]) == (0, 0, 1)
    assert taken["inserted"] == []
    said, reading = data_of(store.events, "user/message")
    assert queued["inserted"] == [said]
    assert said["source"] == REMINDER_SOURCE
    assert reading["source"] != REMINDER_SOURCE
    (answered,) = data_of(store.events, "assistant/message")
    message = answered["message"]
    assert isinstance(message, dict)
    assert message["content"] == [{"type": "text", "text": "Noted."}]
    assert data_of(store.events, "turn/end") == [{"turn": 1, "reason": {"kind": "completed"}}]


async def test_the_same_goes_into_a_journal_and_is_read_back_from_it(tmp_path: Path) -> None:
    """A real file holds what the store in memory holds."""
    path = write_session(tmp_path, create_at(0), create_every(1, "schedule-2"))
    agent = Listener("ok")
    with open_store(path) as store:
        await live_out(store, agent.take_turn)
    assert agent.occurrences == [(("schedule-1", NOON_MS),), (("schedule-2", NOON_MS),)]
    with open_journal(path) as journal:
        types = types_of(list(journal.read_events()))
    assert types[2:] == 2 * ["agent/inbox/spliced", "schedule/change", *TURN]


async def test_turns_count_on_from_the_log() -> None:
    """Each input is a turn of its own, numbered from the last one that the log holds."""
    store = MemoryStore(
        at("a", NOON_MS - 1),
        at("b"),
        events=[
            Event("turn/start", 0, 1, {"turn": 7}),
            Event("turn/end", 1, 1, {"turn": 7, "reason": {"kind": "completed"}}),
        ],
    )
    await live_out(store, Listener("ok").take_turn)
    suffix = store.events[4:]
    assert types_of(suffix) == 2 * ["agent/inbox/spliced", "schedule/change", *TURN]
    for kind, key in (("turn/start", "turn"), ("turn/end", "turn"), ("assistant/message", "turn")):
        assert [data[key] for data in data_of(suffix, kind)] == [8, 9]
    assert data_of(suffix, "step/start") == [{"turn": 8, "step": 1}, {"turn": 9, "step": 1}]
    assert data_of(suffix, "step/end") == [{"turn": 8, "step": 1}, {"turn": 9, "step": 1}]


async def test_a_turn_begins_only_after_the_barrier_is_acknowledged() -> None:
    """A message that might still be lost is offered to nobody."""
    store = MemoryStore(at("a"))
    agent = Listener()
    durable: list[tuple[int, int]] = []

    async def take_turn(given: Input) -> None:
        durable.append((store.durable, types_of(store.events).index("schedule/change", 1)))
        await agent.take_turn(given)

    store.hold = anyio.Event()
    async with living(Life(store, take_turn)) as life:
        await until(lambda: store.flushes == 1)
        store.let_one()
        await until(lambda: store.flushes == 2)  # the one after the hand-over
        await settle()
        assert len(store.batches) == 1
        assert agent.given == []
        store.hold.set()
        await life.rest()
    ((held, dispatch_seq),) = durable
    assert held > dispatch_seq
    assert len(agent.given) == 1


async def test_an_unconfirmed_hand_over_waits_for_a_barrier_that_somebody_else_asks_for() -> None:
    """Nothing retries by itself; the next acknowledged barrier lets the turn begin."""
    store = MemoryStore(at("a"))
    agent = Listener()
    store.hold = anyio.Event()
    async with living(Life(store, agent.take_turn)) as life:
        await until(lambda: store.flushes == 1)
        store.let_one()
        await until(lambda: bool(store.batches))
        store.broken = {"flush"}
        store.hold.set()
        await until(lambda: bool(life.warnings))
        await settle()
        assert agent.given == []
        store.broken = set()
        assert await life.session.confirm()
        await life.rest()
    assert life.warnings == ["barrier_failed"]
    assert agent.occurrences == [(("a", NOON_MS),)]
    assert len(dispatches_of(store.events)) == 1


async def test_a_failing_callback_is_a_failed_turn_and_the_session_goes_on() -> None:
    """The log tells of the error; the next reminder has its turn."""
    store = MemoryStore(at("a", NOON_MS - 1), at("b"))
    given: list[Input] = []

    async def take_turn(now: Input) -> str | None:
        given.append(now)
        if len(given) == 1:
            raise ValueError("no model " + "x" * 500)
        return "ok"

    life = await live_out(store, take_turn)
    assert life.host.trouble is None
    failed, completed = data_of(store.events, "turn/end")
    reason = failed["reason"]
    assert isinstance(reason, dict)
    assert reason["kind"] == "failed"
    assert str(reason["error"]).startswith("ValueError: no model xxx")
    assert len(str(reason["error"])) == 200
    assert completed == {"turn": 2, "reason": {"kind": "completed"}}


@pytest.mark.parametrize(
    ("take_turn", "outcome", "said"),
    [
        (lambda: None, "handed-over", []),
        (lambda: 1 // 0, "failed", []),
        (lambda: "message 17", "handed-over", ["message 17"]),
        (lambda: {"id": 17}, "handed-over", []),
    ],
    ids=["nothing", "raises", "text", "no text"],
)
async def test_c52_what_became_of_a_message_is_told_and_no_more_than_that(
    take_turn: Callable[[], str | None], outcome: str, said: list[str]
) -> None:
    """Handed over, failed, with the answer in the log: nothing claims that anybody was reached."""
    store = MemoryStore(at("a"))

    async def answer(_: Input) -> str | None:
        return take_turn()

    life = await live_out(store, answer)
    assert life.host.trouble is None
    traced = trace_deliveries(store.events)
    assert {key: delivery.outcome for key, delivery in traced.items()} == {("a", NOON_MS): outcome}
    if outcome == "failed":
        error = {"error": "ZeroDivisionError: integer division or modulo by zero"}
        assert traced["a", NOON_MS].detail == {"kind": "failed", **error}
    messages = [data["message"] for data in data_of(store.events, "assistant/message")]
    assert [str(message).partition("'text': '")[2].partition("'")[0] for message in messages] == said
    assert "delivered" not in str(store.events).lower()


async def test_a_reminder_under_way_is_told_as_such() -> None:
    """Between the beginning of its turn and the end nobody knows more."""
    store = MemoryStore(at("a"))
    agent = Listener()
    agent.turn = anyio.Event()
    async with living(Life(store, agent.take_turn)) as life:
        await until(lambda: bool(agent.given))
        assert trace_deliveries(store.events)["a", NOON_MS] == Delivery("under-way", {})
        agent.turn.set()
        await life.rest()


async def test_while_a_turn_is_under_way_nothing_more_is_handed_over() -> None:
    """The next reminder waits until the agent is idle, and then comes at once."""
    store = MemoryStore(at("a", NOON_MS - 1), at("b"))
    agent = Listener()
    agent.turn = anyio.Event()
    async with living(Life(store, agent.take_turn)) as life:
        await until(lambda: bool(agent.given))
        await settle()
        assert life.host.claim() is False
        assert len(dispatches_of(store.events)) == 1
        agent.turn.set()
        await life.rest()
        assert life.host.claim() is True
    assert agent.occurrences == [(("a", NOON_MS - 1),), (("b", NOON_MS),)]
    assert life.warnings == []


async def test_while_a_word_waits_for_its_barrier_nothing_is_handed_over() -> None:
    """What waits comes first, though its turn cannot begin yet."""
    store = MemoryStore(at("a", NOON_MS + 1))
    agent = Listener()
    clock = HandClock()
    async with living(Life(store, agent.take_turn, clock)) as life:
        await life.rest()
        store.broken = {"flush"}
        with pytest.raises(UnconfirmedError):
            await life.host.say(life.session, "hello", None)
        assert life.host.claim() is False
        store.broken = set()
        clock.move(NOON_MS + 1)
        await until(lambda: len(agent.given) == 2)
        await life.rest()
    assert agent.given[0].text == "hello"
    assert agent.occurrences[1] == (("a", NOON_MS + 1),)


async def test_words_said_during_a_turn_are_queued_and_get_later_turns() -> None:
    """Every word has a turn of its own, in the order in which they were said."""
    store = MemoryStore()
    agent = Listener("ok")
    agent.turn = anyio.Event()
    async with living(Life(store, agent.take_turn)) as life:
        ids = [await life.host.say(life.session, "one", None)]
        await until(lambda: bool(agent.given))
        ids += [await life.host.say(life.session, word, None) for word in ("two", "three")]
        await settle()
        assert [given.text for given in agent.given] == ["one"]
        agent.turn.set()
        await until(lambda: len(agent.given) == 3)
        await life.rest()
    assert [given.text for given in agent.given] == ["one", "two", "three"]
    assert [given.message["id"] for given in agent.given] == ids
    assert [data["turn"] for data in data_of(store.events, "turn/end")] == [1, 2, 3]
    starts = [data["start"] for data in data_of(store.events, "agent/inbox/spliced")]
    assert starts == [0, 0, 0, 1, 0, 0]


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
async def test_a_word_names_its_person_and_the_zone_if_it_is_known(zone: str | None) -> None:
    """The source of a person's word, as implied zones and the guard read it."""
    store = MemoryStore()
    agent = Listener()
    async with living(Life(store, agent.take_turn)) as life:
        await life.host.say(life.session, "hello", zone)
        await life.rest()
    word, reading = data_of(store.events, "user/message")
    source = word["source"]
    assert isinstance(source, dict)
    assert source == {
        "kind": "user",
        "rpcId": source["rpcId"],
        **({} if zone is None else {"clientTimeZone": zone}),
    }
    assert agent.given[0].occurrences == ()
    assert ("Europe/Berlin" in str(reading)) == (zone is not None)


async def test_a_word_that_the_store_does_not_confirm_stays_and_is_offered_later() -> None:
    """The sentence says that it is written; nobody must say it a second time."""
    store = MemoryStore()
    agent = Listener()
    async with living(Life(store, agent.take_turn)) as life:
        await life.rest()
        store.broken = {"flush"}
        with pytest.raises(UnconfirmedError, match="does not confirm that the word is durable"):
            await life.host.say(life.session, "hello", None)
        await settle()
        assert agent.given == []
        store.broken = set()
        assert await life.session.confirm()
        await life.rest()
    assert [given.text for given in agent.given] == ["hello"]


async def test_a_word_that_the_store_refuses_is_not_taken() -> None:
    """What the store raises is raised, and the session goes on."""
    store = MemoryStore()
    agent = Listener()
    async with living(Life(store, agent.take_turn)) as life:
        await life.rest()
        store.broken = {"append"}
        with pytest.raises(OSError, match="append"):
            await life.host.say(life.session, "lost", None)
        store.broken = set()
        await life.host.say(life.session, "kept", None)
        await life.rest()
    assert [given.text for given in agent.given] == ["kept"]


@pytest.mark.parametrize("ended", ["disposed", "cancelled", "disposing"])
async def test_a_word_to_a_session_that_has_ended_is_refused_and_not_written(ended: str) -> None:
    """Else the person would say it again, and it would come twice."""
    store = MemoryStore()
    life = Life(store, Listener().take_turn)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(life.run)
        await life.rest()
        if ended == "cancelled":
            tasks.cancel_scope.cancel()
        else:
            life.session.dispose()
        if ended == "disposing":
            with pytest.raises(UnavailableError, match="open it again"):
                await life.host.say(life.session, "hello", None)
    with pytest.raises(UnavailableError, match="open it again"):
        await life.host.say(life.session, "hello", None)
    assert store.events == []


async def test_a_corrupt_log_is_left_alone(tmp_path: Path) -> None:
    """Nothing is written, nothing offered, and a word is refused in a sentence."""
    waiting = {"content": [{"type": "text", "text": "hello"}], "source": {"kind": "user"}}
    store = MemoryStore(
        at("a"),
        at("a"),
        events=[
            Event("agent/inbox/spliced", 0, 1, _queue(waiting)),
            Event("turn/start", 1, 1, {"turn": 1}),
        ],
    )
    agent = Listener()
    before = list(store.events)
    async with living(Life(store, agent.take_turn)) as life:
        await until(lambda: bool(life.warnings))
        with pytest.raises(UnavailableError, match="cannot be read: nothing is written"):
            await life.host.say(life.session, "hello", None)
        assert (await life.session.call("schedule_list", {})).failure().code == "corrupt_schedule_log"
        await settle()
    assert life.warnings == ["corrupt_log"]
    assert store.events == before
    assert agent.given == []
    path = write_session(tmp_path, create_at(0), change(1, operation="delete", id="schedule-9"))
    content = path.read_bytes()
    with open_store(path) as journal:
        async with living(Life(journal, agent.take_turn)) as life:
            await until(lambda: bool(life.warnings))
            with pytest.raises(UnavailableError):
                await life.host.say(life.session, "hello", None)
    assert path.read_bytes() == content


def _queue(message: object) -> dict[str, object]:
    return {"target": "next-turn", "start": 0, "inserted": [message]}


@pytest.mark.parametrize(
    ("header_zone", "client_zone", "answer"),
    [
        ("Europe/Berlin", "Europe/Berlin", "2027-02-01T08:00:00.000Z"),
        ("Europe/Berlin", "Asia/Tokyo", "timezone_confirmation_required"),
        ("Europe/Berlin", None, "timezone_confirmation_required"),
        (None, "Europe/Berlin", "timezone_confirmation_required"),
    ],
)
@pytest.mark.parametrize("kind", ["memory", "journal"])
async def test_in_a_turn_the_agent_may_use_the_tools(
    header_zone: str | None, client_zone: str | None, answer: str, kind: str, tmp_path: Path
) -> None:
    """A local time without zone is the person's, if that is the session's zone, too."""
    answers: list[object] = []

    async def take_turn(_: Input) -> None:
        answers.append(answer_value(await life.session.call("schedule_create", LOCAL)))
        answers.append(answer_value(await life.session.call("schedule_list", {})))

    memory = MemoryStore()
    memory.time_zone = header_zone
    header = {} if header_zone is None else {"timeZone": header_zone}
    with open_store(write_session(tmp_path, header=header)) as journal:
        life = Life(journal if kind == "journal" else memory, take_turn)
        async with living(life):
            await life.host.say(life.session, "remind me at nine", client_zone)
            await life.rest()
    made, listed = answers
    assert isinstance(made, dict)
    assert made.get("scheduledAt", made.get("code")) == answer
    assert listed == ([made] if "scheduledAt" in made else [])
    if "code" in made:
        assert made["sessionTimeZone"] == (header_zone or "unavailable")
        assert made["clientTimeZones"] == ([] if client_zone is None else [client_zone])


async def test_in_a_reminders_turn_no_zone_is_implied() -> None:
    """No person has spoken, so none has told a zone; a named one goes."""
    store = MemoryStore(at("a"))
    store.time_zone = "Europe/Berlin"
    answers: list[object] = []

    async def take_turn(_: Input) -> None:
        answers.append(answer_value(await life.session.call("schedule_create", LOCAL)))
        named = {"prompt": "x", "at": {**LOCAL["at"], "time_zone": "Asia/Tokyo"}}  # type: ignore[dict-item]
        answers.append(answer_value(await life.session.call("schedule_create", named)))

    life = Life(store, take_turn)
    async with living(life):
        await life.rest()
    refused, made = answers
    assert isinstance(refused, dict)
    assert isinstance(made, dict)
    assert refused["code"] == "timezone_confirmation_required"
    assert refused["clientTimeZones"] == []
    assert made["scheduledAt"] == "2027-02-01T00:00:00.000Z"
