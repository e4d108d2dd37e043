"""What became of each message, as far as the log tells (spec section 13)."""

from __future__ import annotations

import pytest

from core_logs import T, at_record, dispatched, event, every_record, ok
from journal_files import JOURNALS
from wakefold.conversations import (
    CONVERSATION_TYPES,
    REMINDER_SOURCE,
    Conversation,
    make_message,
    name_person,
    record_word,
)
from wakefold.deliveries import UNKNOWN_DELIVERY, Delivery, Outcome, describe_end, trace_deliveries
from wakefold.events import SCHEDULE_CHANGE, Event, Json
from wakefold.framing import frame_batch, frame_one_shot
from wakefold.receipts import list_receipts
from wakefold.wakes import BatchEntry
from wakefold_shell.stores.journals import open_journal

Row = tuple[str, object]

SPLICED = "agent/inbox/spliced"
WAITING = Delivery("waiting", {})
UNDER_WAY = Delivery("under-way", {})
WELL: Json = {"kind": "completed"}
FAILED: Json = {"kind": "failed"}
HANDED_OVER = Delivery("handed-over", WELL)
TAKE: Row = (SPLICED, {"target": "next-turn", "start": 0, "removedCount": 1, "inserted": []})


def put(message: Json, start: int = 0) -> Row:
    """A message comes into the inbox."""
    return (SPLICED, {"target": "next-turn", "start": start, "inserted": [message]})


def remind(*named: tuple[str, int], start: int = 0) -> Row:
    """The message of a batch of (id, occurrence) comes into the inbox."""
    text = frame_batch(BatchEntry(every_record(name), at_ms) for name, at_ms in named)
    return put(make_message("m", text, REMINDER_SOURCE), start)


def start(turn: int = 1) -> Row:
    """A turn begins."""
    return ("turn/start", {"turn": turn})


def end(turn: int = 1, reason: object = WELL) -> Row:
    """A turn ends."""
    return ("turn/end", {"turn": turn, "reason": reason})


def log(*rows: Row) -> list[Event]:
    """Events of (type, data)."""
    return [event(data, seq, kind, T) for seq, (kind, data) in enumerate(rows)]


ONE = remind(("e", T))
E: tuple[str, int] = ("e", T)


def test_a_log_without_messages_tells_of_none() -> None:
    """No event, no turn and no word delivers anything."""
    assert trace_deliveries([]) == {}
    assert trace_deliveries(log(start(), end(), start(2))) == {}
    word = make_message("m", frame_one_shot(at_record()), name_person("r", None))
    assert trace_deliveries(log(put(word), start(), TAKE, end())) == {}


@pytest.mark.parametrize(
    ("rows", "delivery"),
    [
        ([ONE], WAITING),
        ([ONE, start()], WAITING),
        ([ONE, start(), end()], WAITING),
        ([ONE, start(), TAKE], UNDER_WAY),
        ([ONE, start(), TAKE, ("step/start", {"turn": 1, "step": 1})], UNDER_WAY),
        ([ONE, start(), TAKE, end()], HANDED_OVER),
        ([ONE, start(), TAKE, ("step/start", {"turn": 1, "step": 1}), end()], HANDED_OVER),
        ([start(), ONE, end(), start(2), TAKE, end(2)], HANDED_OVER),
        ([start(), ONE, end(), start(2), TAKE], UNDER_WAY),
    ],
)
def test_a_message_goes_from_the_inbox_through_a_turn(rows: list[Row], delivery: Delivery) -> None:
    """It waits, is under way, and is handed over when its turn has ended well."""
    assert trace_deliveries(iter(log(*rows))) == {E: delivery}


@pytest.mark.parametrize(
    ("reason", "outcome", "detail"),
    [
        (WELL, "handed-over", WELL),
        ({"kind": "completed", "x": 1}, "handed-over", {"kind": "completed", "x": 1}),
        (FAILED, "failed", FAILED),
        ({"kind": "failed", "exitStatus": 3}, "failed", {"kind": "failed", "exitStatus": 3}),
        ({"kind": "interrupted"}, "unknown", {"kind": "interrupted"}),
        ({"kind": "Completed"}, "unknown", {"kind": "Completed"}),
        ({"kind": "aborted", "by": "user"}, "unknown", {"kind": "aborted", "by": "user"}),
        ({"kind": ["completed"]}, "unknown", {"kind": ["completed"]}),
        ({"kind": None}, "unknown", {"kind": None}),
        ({}, "unknown", {}),
        ("completed", "unknown", {}),
        (["completed"], "unknown", {}),
        (None, "unknown", {}),
    ],
)
def test_a_turns_reason_to_end_says_what_became_of_its_message(
    reason: object, outcome: Outcome, detail: Json
) -> None:
    """Only two reasons are known; the rest, a crash's included, leave it unknown."""
    found = trace_deliveries(log(ONE, start(), TAKE, end(reason=reason)))
    assert found == {E: Delivery(outcome, detail)}


def test_a_turn_that_ends_without_a_reason_leaves_it_unknown() -> None:
    """Such an end is an end."""
    found = trace_deliveries(log(ONE, start(), TAKE, ("turn/end", {"turn": 1})))
    assert found == {E: UNKNOWN_DELIVERY}


def test_only_the_first_end_of_a_turn_counts() -> None:
    """A second end of it tells nothing, and neither does that of a turn which took no input."""
    again = log(ONE, start(), TAKE, end(), end(reason=FAILED), start(2), end(2, FAILED))
    assert trace_deliveries(again) == {E: HANDED_OVER}


@pytest.mark.parametrize("data", [None, [], "x", {"reason": FAILED}, {"turn": "1", "reason": FAILED}])
def test_an_end_of_no_turn_ends_none(data: object) -> None:
    """A malformed end leaves the message under way, until its turn ends."""
    rows: list[Row] = [ONE, start(), TAKE, ("turn/end", data)]
    assert trace_deliveries(log(*rows)) == {E: UNDER_WAY}
    assert trace_deliveries(log(*rows, end())) == {E: HANDED_OVER}
    assert trace_deliveries(log(*rows, start(2))) == {}


def test_a_turn_that_another_one_cuts_off_says_nothing_of_its_message() -> None:
    """Its end is not in the log, so that the message is not named at all."""
    assert trace_deliveries(log(ONE, start(), TAKE, start(2), end(2))) == {}


def test_a_message_withdrawn_without_a_turn_is_not_named() -> None:
    """No turn took it."""
    assert trace_deliveries(log(ONE, TAKE, start(), end())) == {}


def test_a_batch_shares_what_became_of_its_message() -> None:
    """Each of its occurrences is named."""
    f = ("f", T + 1)
    rows = (remind(E, f), start(), TAKE)
    assert trace_deliveries(log(*rows)) == {E: UNDER_WAY, f: UNDER_WAY}
    assert trace_deliveries(log(*rows, end())) == {E: HANDED_OVER, f: HANDED_OVER}


def test_each_message_has_its_own_turn() -> None:
    """Occurrences of one reminder are told apart, and a person's turn between them is no delivery."""
    word = make_message("m", "hi", name_person("r", None))
    second, third = ("e", T + 300_000), ("e", T + 600_000)
    rows = [ONE, remind(second, start=1), put(word, 2), remind(third, start=3)]
    rows += [start(), TAKE, end(reason=FAILED), start(2), TAKE, end(2)]
    found = trace_deliveries(log(*rows))
    assert found == {E: Delivery("failed", FAILED), second: HANDED_OVER, third: WAITING}
    rows += [start(3), TAKE, end(3), start(4), TAKE]
    assert trace_deliveries(log(*rows))[third] == UNDER_WAY


def test_a_message_offered_again_has_its_last_outcome() -> None:
    """What is put back into the inbox waits again."""
    rows = (ONE, start(), TAKE, end(reason=FAILED), ONE)
    assert trace_deliveries(log(*rows)) == {E: WAITING}
    assert trace_deliveries(log(*rows, start(2), TAKE, end(2))) == {E: HANDED_OVER}


def test_a_word_recorded_in_between_leaves_the_turn_interrupted() -> None:
    """The turn that it closes is the reminder's, whose fate nobody knows."""
    conversation = Conversation(turn=1, turn_open=True, step=1)
    word = make_message("m", "hi", name_person("r", None))
    drafts = record_word(conversation, word, T, "reading")
    rows = [ONE, start(), TAKE, *((draft.type, draft.data) for draft in drafts)]
    assert trace_deliveries(log(*rows)) == {E: Delivery("unknown", {"kind": "interrupted"})}


def test_a_fork_knows_what_came_of_what_it_inherited() -> None:
    """Wherever its own part begins, a turn that ended before has been told of."""
    events = log(ONE, start(), TAKE, end(), start(2))
    for length in (4, 5):
        assert trace_deliveries(events, length) == {E: HANDED_OVER}


@pytest.mark.parametrize("length", [1, 2, 3])
def test_what_waited_or_went_on_at_a_fork_is_the_parents(length: int) -> None:
    """No later event of the fork's ends its parent's turn or takes from its parent's inbox."""
    rows = [ONE, start(), TAKE, end()]
    assert trace_deliveries(log(*rows[:length]), length) == {}
    assert trace_deliveries(log(*rows[:length], end()), length) == {}
    own = remind(("f", T))
    rows = [*rows[:length], own, start(2), TAKE, end(2)]
    assert trace_deliveries(log(*rows), length) == {("f", T): HANDED_OVER}
    assert trace_deliveries(log(*rows[:-1]), length) == {("f", T): UNDER_WAY}
    assert trace_deliveries(log(*rows[:-3]), length) == {("f", T): WAITING}


def test_a_fork_traces_its_own_use_of_an_id_beside_its_parents() -> None:
    """Ids are used again after a fork; the occurrences differ."""
    parent = (ONE, start(), TAKE, end())
    found = trace_deliveries(log(*parent, remind(("e", T + 9))), len(parent))
    assert found == {E: HANDED_OVER, ("e", T + 9): WAITING}


@pytest.mark.parametrize(
    ("name", "handed_over", "waiting"),
    [
        ("published/tools-and-fire", 1, []),
        ("published/fork", 2, []),
        ("published/every-live", 5, []),
        ("published/every-cold", 3, []),
        ("published/torn-tail", 1, ["schedule-2"]),
        ("seed/gate", 4, []),
    ],
)
def test_every_dispatch_of_a_real_journal_was_handed_over(
    name: str, handed_over: int, waiting: list[str]
) -> None:
    """All that was dispatched has its turn, and what `torn-tail` cut off behind its message waits."""
    with open_journal(JOURNALS / name) as journal:
        events = list(journal.read_events(CONVERSATION_TYPES | {SCHEDULE_CHANGE}))
    length = journal.header.seed_length
    found = trace_deliveries(iter(events), length)
    receipts = [one.receipt for one in ok(list_receipts(events, length))]
    told = {(receipt.schedule_id, receipt.occurrence_ms) for receipt in receipts}
    assert len(told) == len(receipts) == handed_over
    assert {key for key, one in found.items() if one == HANDED_OVER} == told
    assert [key[0] for key, one in found.items() if one == WAITING] == waiting
    assert len(found) == handed_over + len(waiting)


def test_a_dispatch_that_went_through_no_inbox_is_not_named() -> None:
    """Nothing but the inbox tells of a message; the dispatch alone says that one was queued."""
    assert trace_deliveries(log((SCHEDULE_CHANGE, dispatched("e", T)))) == {}
    assert Delivery("unknown", {}) == UNKNOWN_DELIVERY


@pytest.mark.parametrize(
    ("detail", "words"),
    [
        ({}, "failed"),
        ({"kind": "failed"}, "failed"),
        ({"kind": "failed", "exitStatus": 3}, "failed with exit status 3"),
        ({"exitStatus": -9}, "failed with exit status -9"),
        ({"secondsMax": 600}, "was ended after its 600 s"),
        ({"secondsMax": 1.5, "exitStatus": -15}, "was ended after its 1.5 s"),
        ({"error": "ValueError: no"}, "failed (ValueError: no)"),
        ({"exitStatus": 0, "error": "x"}, "failed with exit status 0"),
        ({"error": ""}, "failed ()"),
        ({"outputBytesMax": 1000}, "was ended after 1000 bytes of output"),
        ({"httpStatus": 503}, "failed with HTTP status 503"),
        ({"kind": "interrupted"}, "was interrupted"),
    ],
)
def test_a_failed_turns_end_is_described_in_words(detail: Json, words: str) -> None:
    """The time limit before the exit status, the exit status before the error."""
    assert describe_end(detail) == words
