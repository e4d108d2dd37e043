"""What a log tells of inbox, turns and words, and the events that say so (spec section 13)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import pytest

from core_logs import (
    FIRST_MS,
    GATE_MS,
    LAST_MS,
    T,
    at,
    at_record,
    created,
    deleted,
    dispatched,
    event,
    every,
    every_record,
    ledger_of,
    log,
    ok,
)
from journal_files import JOURNALS
from wakefold import count_wakeups
from wakefold.conversations import (
    CONVERSATION_TYPES,
    REMINDER_SOURCE,
    Conversation,
    Draft,
    EndKind,
    Input,
    answer_turn,
    begin_turn,
    draft_change,
    end_turn,
    follow,
    make_message,
    name_person,
    queue_input,
    record_word,
)
from wakefold.events import Create, Delete, Dispatch, Event, Json
from wakefold.framing import frame_batch, frame_one_shot
from wakefold.implied_zones import RequestZone, find_request_zone
from wakefold.ledger import Ledger, fold, list_active
from wakefold.recoveries import list_missing_dispatches
from wakefold.recurrence import PUBLISHED
from wakefold.wakes import BatchEntry
from wakefold_shell.stores.journals import open_journal

SPLICED = "agent/inbox/spliced"
BERLIN = "Europe/Berlin"
TOKYO = "Asia/Tokyo"

START: tuple[str, object] = ("turn/start", {"turn": 1})
END: tuple[str, object] = ("turn/end", {"turn": 1, "reason": {"kind": "completed"}})
STEP: tuple[str, object] = ("step/start", {"turn": 1, "step": 1})
STEP_END: tuple[str, object] = ("step/end", {"turn": 1, "step": 1})

UNREADABLE: list[object] = [None, True, 1.5, "1", [1], {}, 2**53]
"""What is no safe integer."""

NO_LISTS: list[object] = [None, {}, "", 0, True]


def word(name: str, zone: str | None = None) -> Json:
    """A person's message, its id the name."""
    return make_message(name, f"text {name}", name_person(f"rpc {name}", zone))


def reminder(text: str) -> Json:
    """A reminder's message."""
    return make_message("m", text, REMINDER_SOURCE)


def one_shot(name: str = "t", target_ms: int = T) -> Json:
    """The message of a one-shot."""
    return reminder(frame_one_shot(at_record(name, target_ms)))


def batch(*named: tuple[str, int]) -> Json:
    """The message of a batch, of (id, occurrence)."""
    return reminder(frame_batch(BatchEntry(every_record(name), at_ms) for name, at_ms in named))


def spliced(inserted: object, start: object = 0, **changed: object) -> Json:
    """The data of a splice."""
    return {"target": "next-turn", "start": start, "inserted": inserted, **changed}


def write(events: Sequence[Event], *drafts: Draft, time_ms: int = T) -> list[Event]:
    """A log with one more batch."""
    return [
        *events,
        *(Event(draft.type, seq, time_ms, draft.data) for seq, draft in enumerate(drafts, len(events))),
    ]


def stand(events: Sequence[Event], seed_length: int = 0) -> Conversation:
    """Where a log leaves a conversation."""
    return reduce(follow, events, Conversation(seed_length=seed_length))


def waiting(*messages: Json, time_ms: int = T) -> Conversation:
    """A conversation whose inbox holds messages, all queued at one instant."""
    return stand([event(spliced([*messages]), kind=SPLICED, time_ms=time_ms)])


def open_turn(*messages: Json) -> list[Event]:
    """A log in which the first of some messages has begun its turn."""
    events = write([], *(queue_input(Conversation(), message) for message in reversed(messages)))
    return write(events, *begin_turn(stand(events), T, "reading"))


def turns(*named: tuple[str, object]) -> list[Event]:
    """Events of (type, data)."""
    return [event(data, seq, kind, T) for seq, (kind, data) in enumerate(named)]


def names(conversation: Conversation) -> list[object]:
    """The ids of what waits."""
    return [given.message.get("id") for given in conversation.inbox]


def test_a_new_conversation_has_nothing() -> None:
    """No input, no turn."""
    found = Conversation()
    assert (found.seed_length, found.inbox, found.turn, found.turn_open) == (0, (), 0, False)
    assert (found.step, found.current) == (None, None)


def test_the_types_are_those_of_the_journals() -> None:
    """The names are a storage format."""
    assert {SPLICED, "turn/start", "turn/end", "step/start", "step/end"} == CONVERSATION_TYPES


@pytest.mark.parametrize(
    "kind", ["user/message", "assistant/message", "schedule/change", "agent/inbox", "Turn/start", ""]
)
def test_an_event_of_another_type_changes_nothing(kind: str) -> None:
    """Whatever it holds, the conversation stays the same object."""
    before = waiting(word("a"))
    for data in (spliced([word("b")]), {"turn": 7, "step": 7}):
        assert follow(before, event(data, 1, kind)) is before


@pytest.mark.parametrize(
    ("start", "removed", "inserted", "after"),
    [
        (3, 0, "d", "abcd"),
        (0, 0, "d", "dabc"),
        (1, 0, "d", "adbc"),
        (1, 0, "de", "adebc"),
        (9, 0, "d", "abcd"),
        (0, 1, "", "bc"),
        (1, 1, "", "ac"),
        (2, 1, "", "ab"),
        (0, 2, "", "c"),
        (1, 2, "", "a"),
        (0, 3, "", ""),
        (1, 9, "", "a"),
        (3, 1, "", "abc"),
        (1, 1, "d", "adc"),
        (0, 3, "de", "de"),
        (0, 0, "", "abc"),
        (1.0, 1.0, "d", "adc"),
    ],
)
def test_a_splice_takes_away_and_puts_in(
    start: float, removed: float, inserted: str, after: str
) -> None:
    """As ECMAScript's `splice` does, and it keeps the order of what it leaves."""
    before = waiting(*map(word, "abc"))
    data = spliced([*map(word, inserted)], start, removedCount=removed)
    assert names(follow(before, event(data, 1, SPLICED))) == list(after)


def test_a_splice_that_says_not_how_many_removes_none() -> None:
    """Without `removedCount` it only puts in."""
    assert names(follow(waiting(word("a")), event(spliced([word("b")], 0), 1, SPLICED))) == ["b", "a"]


@pytest.mark.parametrize(
    "data",
    [
        *(None, "x", 1, [], [spliced([])], {}),
        *(
            {**spliced([word("b")]), "target": target}
            for target in (None, "", "this-turn", ["next-turn"])
        ),
        {"start": 0, "inserted": [word("b")]},
        {"target": "next-turn", "inserted": [word("b")]},
        {"target": "next-turn", "start": 0, "removedCount": 1},
        *(spliced([word("b")], start) for start in (-1, *UNREADABLE)),
        *(spliced([word("b")], removedCount=count) for count in (-1, *UNREADABLE)),
        *(spliced(no_list, removedCount=1) for no_list in NO_LISTS),
    ],
)
def test_a_malformed_splice_changes_nothing(data: object) -> None:
    """Neither what it would remove nor what it would insert counts."""
    before = waiting(word("a"))
    assert follow(before, event(data, 1, SPLICED)) == before


def test_an_input_is_the_message_as_it_stands_with_its_time() -> None:
    """Every field of the message is kept, and the instant is that of the splice's event."""
    message = {**word("a", BERLIN), "other": [1]}
    assert waiting(message, time_ms=T + 7).inbox == (Input(message, T + 7, "text a", ()),)


@pytest.mark.parametrize("message", [None, 1, True, "x", [], [word("a")]])
def test_what_is_no_message_keeps_its_place_in_the_inbox(message: object) -> None:
    """A later splice counts it, though it says nothing."""
    found = stand([event(spliced([word("a"), message, word("b")]), kind=SPLICED, time_ms=T)])
    assert found.inbox[1] == Input({}, T, "", ())
    assert names(found) == ["a", None, "b"]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"type": "text", "text": "one"}], "one"),
        ([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], "one\ntwo"),
        ([{"type": "image", "data": "x"}, {"type": "text", "text": "two"}], "two"),
        ([{"text": 1}, {"text": None}, {"text": ["x"]}, "x", None, [], {"text": "y"}], "y"),
        ([{"type": "text", "text": "\ud83d\n"}], "\ud83d\n"),
        ([], ""),
        ({}, ""),
        ("one", ""),
        (None, ""),
    ],
)
def test_the_text_of_an_input_is_that_of_its_blocks(content: object, text: str) -> None:
    """Blocks without a text are passed over, and what is no list of blocks has none."""
    assert waiting({"content": content}).inbox[0].text == text


def test_a_reminder_in_the_inbox_names_its_occurrences() -> None:
    """One for a one-shot, each of a batch in its order."""
    found = waiting(one_shot("t", T + 1), batch(("f", T + 9), ("e", T)))
    assert [given.occurrences for given in found.inbox] == [(("t", T + 1),), (("f", T + 9), ("e", T))]


@pytest.mark.parametrize(
    ("source", "ours"),
    [
        ({"kind": "plugin", "plugin": "tool-schedule"}, True),
        ({"kind": "plugin", "plugin": "schedule"}, True),
        ({"kind": "plugin", "plugin": "schedule", "form": "snapshot"}, True),
        ({"kind": "plugin", "plugin": "time-context"}, False),
        ({"kind": "plugin", "plugin": "Schedule"}, False),
        ({"kind": "plugin", "plugin": None}, False),
        ({"kind": "plugin", "plugin": []}, False),
        ({"kind": "plugin", "plugin": {}}, False),
        ({"kind": "plugin"}, False),
        ({"kind": "user", "plugin": "tool-schedule"}, False),
        ({"kind": ["plugin"], "plugin": "tool-schedule"}, False),
        ({"plugin": "tool-schedule"}, False),
        ({"kind": "user", "rpcId": "r"}, False),
        ("tool-schedule", False),
        (None, False),
    ],
)
def test_only_a_reminders_source_makes_a_frame_count(source: object, ours: bool) -> None:
    """A person who types a frame delivers nothing; the released package's name is known, too."""
    message = {**one_shot(), "source": source}
    assert waiting(message).inbox[0].occurrences == ((("t", T),) if ours else ())


def test_a_splice_of_an_inherited_part_is_the_parents() -> None:
    """Before `seed_length` nothing enters the inbox, from there on everything does."""
    events = [event(spliced([word(name)]), seq, SPLICED) for seq, name in enumerate("abc")]
    assert [names(stand(events, length)) for length in range(5)] == [
        ["c", "b", "a"],
        ["c", "b"],
        ["c"],
        [],
        [],
    ]
    assert stand(events, 2).seed_length == 2


def test_turns_are_counted_through_an_inherited_part() -> None:
    """A fork's first turn is numbered after its parent's last."""
    events = turns(("turn/start", {"turn": 4}), ("turn/end", {"turn": 4}))
    found = stand(events, 2)
    assert (found.turn, found.turn_open, found.seed_length) == (4, False, 2)
    drafts = begin_turn(follow(found, event(spliced([word("a")]), 2, SPLICED)), T, "r")
    assert drafts[0] == Draft("turn/start", {"turn": 5})


@pytest.mark.parametrize(
    ("named", "turn", "turn_open", "step"),
    [
        ([START], 1, True, None),
        ([("turn/start", {"turn": 3.0})], 3, True, None),
        ([START, STEP], 1, True, 1),
        ([START, ("step/start", {"turn": 1.0, "step": 2.0})], 1, True, 2),
        ([START, ("step/start", {"turn": 1})], 1, True, None),
        ([START, ("step/start", {"turn": 1, "step": "1"})], 1, True, None),
        ([START, STEP, STEP_END], 1, True, None),
        ([START, STEP, STEP_END, ("step/start", {"turn": 1, "step": 2})], 1, True, 2),
        ([START, STEP, END], 1, False, None),
        ([START, ("turn/end", {"turn": 1, "reason": 7})], 1, False, None),
        ([START, STEP, ("turn/start", {"turn": 2})], 2, True, None),
        ([START, END, ("turn/start", {"turn": 2}), ("turn/end", {"turn": 2})], 2, False, None),
    ],
)
def test_turns_and_steps_open_and_close(
    named: list[tuple[str, object]], turn: int, turn_open: bool, step: int | None
) -> None:
    """The latest turn's number, whether it is open, and its open step."""
    found = stand(turns(*named))
    assert (found.turn, found.turn_open, found.step) == (turn, turn_open, step)


@pytest.mark.parametrize("kind", ["turn/start", "turn/end", "step/start", "step/end"])
@pytest.mark.parametrize(
    "data", [None, [1], "1", {}, *({"turn": bad, "step": 9} for bad in UNREADABLE)]
)
def test_a_turn_or_step_of_no_number_changes_nothing(kind: str, data: object) -> None:
    """The open turn, its step and its input stay as they were."""
    before = stand(open_turn(word("a")))
    assert before.step == 1
    assert follow(before, event(data, 9, kind)) == before


def test_a_turn_answers_what_was_taken_in_it() -> None:
    """The first input that a splice takes while a turn is open."""
    started = follow(waiting(*map(word, "abc")), event({"turn": 1}, 1, "turn/start"))
    assert started.current is None
    taken = follow(started, event(spliced([], removedCount=2), 2, SPLICED))
    assert taken.current == started.inbox[0]
    assert names(taken) == ["c"]


def test_what_is_taken_without_a_turn_is_answered_by_none() -> None:
    """An input withdrawn between turns is not the next turn's."""
    taken = follow(waiting(word("a")), event(spliced([], removedCount=1), 1, SPLICED))
    assert (taken.inbox, taken.current) == ((), None)
    assert follow(taken, event({"turn": 1}, 2, "turn/start")).current is None


@pytest.mark.parametrize(
    ("kind", "data", "lasts"),
    [
        ("step/end", {"turn": 1, "step": 1}, True),
        ("step/start", {"turn": 1, "step": 2}, True),
        (SPLICED, spliced([word("c")]), True),
        (SPLICED, spliced([], 7, removedCount=1), True),
        ("user/message", word("c"), True),
        ("turn/end", {"turn": 1}, False),
        ("turn/start", {"turn": 2}, False),
        ("step/start", {"turn": 2, "step": 1}, False),
    ],
)
def test_the_current_input_lasts_as_long_as_its_turn(kind: str, data: object, lasts: bool) -> None:
    """Steps and further inputs leave it, the turn's end and another turn do not."""
    before = stand(open_turn(word("a"), word("b")))
    assert before.current is not None
    assert before.current.message == word("a")
    after = follow(before, event(data, 9, kind))
    assert after.current == (before.current if lasts else None)


def test_what_a_turn_does_leaves_the_inbox_and_the_seed_length() -> None:
    """Turns and steps move no input, and a fork stays one."""
    events = [event(None, 0, "plan/change"), *turns(START)]
    before = follow(stand(events, 1), event(spliced([word("a")]), 2, SPLICED))
    for kind in ("step/start", "step/end", "turn/end", "turn/start"):
        after = follow(before, event({"turn": 1, "step": 1}, 3, kind))
        assert (names(after), after.seed_length) == (["a"], 1)


def test_a_message_has_the_journals_shape() -> None:
    """One text block, a source, the role of a user and an id."""
    assert make_message("m1", "hi\n", {"kind": "a2a"}) == {
        "content": [{"type": "text", "text": "hi\n"}],
        "source": {"kind": "a2a"},
        "role": "user",
        "id": "m1",
    }


def test_a_person_has_a_zone_only_if_they_told_it() -> None:
    """An unknown zone is no key at all."""
    assert name_person("r1", None) == {"kind": "user", "rpcId": "r1"}
    assert name_person("r1", TOKYO) == {"kind": "user", "rpcId": "r1", "clientTimeZone": TOKYO}


def test_a_reminders_source_is_exactly_the_plugins() -> None:
    """It ends no streak of wakeups, while a person's word does."""
    assert REMINDER_SOURCE == {"kind": "plugin", "plugin": "tool-schedule"}
    streaks = []
    for message in (one_shot(), word("a")):
        events = log(created(at()), dispatched("t"))
        events = write(events, queue_input(stand(events), message))
        events = write(events, *begin_turn(stand(events), T, "reading"))
        streaks.append(count_wakeups(events).consecutive)
    assert streaks == [1, 0]


def test_a_change_is_drafted_as_it_is_stored() -> None:
    """A `schedule/change` with the data of spec section 3."""
    assert draft_change(Delete("t")) == Draft("schedule/change", deleted("t"))
    assert draft_change(Create(at_record())) == Draft("schedule/change", created(at()))
    assert draft_change(Dispatch("e", T)) == Draft("schedule/change", dispatched("e", T))


@pytest.mark.parametrize("before", ["", "a", "ab"])
def test_an_input_is_queued_at_the_end(before: str) -> None:
    """The splice removes nothing, and starts where the inbox ends."""
    conversation = waiting(*map(word, before))
    draft = queue_input(conversation, word("z"))
    assert draft.type == "agent/inbox/spliced"
    assert draft.data == {"target": "next-turn", "start": len(before), "inserted": [word("z")]}
    assert names(follow(conversation, event(draft.data, 1, draft.type))) == [*before, "z"]


def reading(text: str) -> Json:
    """The time-context reading of spec section 5.1, id `reading`."""
    return {
        "content": [{"type": "text", "text": text}],
        "source": {
            "kind": "plugin",
            "plugin": "time-context",
            "form": "snapshot",
            "sections": [{"name": "time-context", "text": text}],
        },
        "role": "user",
        "id": "reading",
    }


UNKNOWN_ZONE = "It is 2027-01-15T08:00:00.000Z.\nThe time zone of this request is not known."


def test_a_turn_begins_with_its_input_and_a_reading() -> None:
    """Start, the input taken out of the inbox, a step, the message as it was queued, the time."""
    assert begin_turn(waiting(word("a"), word("b")), T, "reading") == (
        Draft("turn/start", {"turn": 1}),
        Draft(SPLICED, {"target": "next-turn", "start": 0, "removedCount": 1, "inserted": []}),
        Draft("step/start", {"turn": 1, "step": 1}),
        Draft("user/message", word("a")),
        Draft("user/message", reading(UNKNOWN_ZONE)),
    )


def test_a_turn_that_has_begun_is_open_and_answers_its_input() -> None:
    """The log says so, and the rest of the inbox waits."""
    found = stand(open_turn(word("a"), word("b")))
    assert (found.turn, found.turn_open, found.step) == (1, True, 1)
    assert found.current == Input(word("a"), T, "text a", ())
    assert names(found) == ["b"]


def test_an_empty_inbox_begins_no_turn() -> None:
    """There is nothing to begin one with."""
    with pytest.raises(IndexError):
        begin_turn(Conversation(), T, "reading")


def test_turn_numbers_go_on() -> None:
    """Each turn, a word's own included, has the number after the last."""
    events = write([], *(queue_input(Conversation(), word(name)) for name in "ab"))
    for turn in (1, 2):
        events = write(events, *begin_turn(stand(events), T, "reading"))
        assert stand(events).turn == turn
        events = write(events, *end_turn(stand(events), "completed"))
    events = write(events, *record_word(stand(events), word("c"), T, "reading"))
    assert [e.data for e in events if e.type == "turn/start"] == [{"turn": turn} for turn in (1, 2, 3)]


@pytest.mark.parametrize(
    ("now_ms", "zone", "clock"),
    [
        (T, BERLIN, "2027-01-15 09:00:00 Europe/Berlin"),
        (T, "UTC", "2027-01-15 08:00:00 UTC"),
        (T + 15_551_999_999, TOKYO, "2027-07-14 16:59:59 Asia/Tokyo"),
        (LAST_MS, TOKYO, "9999-12-31T23:59:59.999Z"),
        (FIRST_MS, "America/New_York", "0001-01-01T00:00:00.000Z"),
    ],
)
def test_a_reading_tells_the_time_where_the_person_is(now_ms: int, zone: str, clock: str) -> None:
    """Their local time and zone; in UTC where that leaves the calendar."""
    text = f"It is {clock}.\nDates and times of this request that name no zone are those of {zone}."
    assert begin_turn(waiting(word("a", zone)), now_ms, "reading")[-1].data == reading(text)


@pytest.mark.parametrize("zone", [None, "", "europe/berlin", "Asia/Kolkata", "Mars/Base", 1, [BERLIN]])
def test_a_zone_that_is_not_canonical_is_not_known(zone: object) -> None:
    """No reading repeats what a foreign writer put into a message."""
    message = {**word("a"), "source": {"kind": "user", "rpcId": "r", "clientTimeZone": zone}}
    assert begin_turn(waiting(message), T, "reading")[-1].data == reading(UNKNOWN_ZONE)


@pytest.mark.parametrize("source", [None, "user", [], REMINDER_SOURCE, {"kind": "user"}])
def test_a_message_of_nobody_has_no_zone(source: object) -> None:
    """A reminder's turn reads the time as well."""
    message = {**word("a"), "source": source}
    assert begin_turn(waiting(message), T, "reading")[-1].data == reading(UNKNOWN_ZONE)


@pytest.mark.parametrize(
    ("header", "told", "implied", "clients"),
    [
        (BERLIN, BERLIN, BERLIN, (BERLIN,)),
        ("UTC", "UTC", "UTC", ("UTC",)),
        (TOKYO, BERLIN, None, (BERLIN,)),
        (None, BERLIN, None, (BERLIN,)),
        (BERLIN, None, None, ()),
        (None, None, None, ()),
    ],
)
def test_a_begun_turn_implies_the_zone_that_person_and_header_agree_on(
    header: str | None, told: str | None, implied: str | None, clients: tuple[str, ...]
) -> None:
    """As spec section 5.1 reads it, and no longer once the turn has ended."""
    events = open_turn(word("a", told))
    session = "unavailable" if header is None else header
    assert ok(find_request_zone(header, events)) == RequestZone(implied, session, clients)
    ended = write(events, *end_turn(stand(events), "completed"))
    assert ok(find_request_zone(header, ended)) == RequestZone(None, session, ())


def test_a_reminders_turn_implies_no_zone() -> None:
    """Nobody spoke in it, whoever spoke before."""
    events = open_turn(word("a", BERLIN))
    events = write(events, *end_turn(stand(events), "completed"))
    events = write(events, queue_input(stand(events), one_shot()))
    events = write(events, *begin_turn(stand(events), T, "reading"))
    assert ok(find_request_zone(BERLIN, events)) == RequestZone(None, BERLIN, ())


def test_a_word_is_recorded_as_a_whole_turn() -> None:
    """It begins, has its reading and ends; nothing passes through the inbox."""
    before = waiting(word("a"))
    drafts = record_word(before, word("b"), T, "reading")
    assert drafts == (
        Draft("turn/start", {"turn": 1}),
        Draft("step/start", {"turn": 1, "step": 1}),
        Draft("user/message", word("b")),
        Draft("user/message", reading(UNKNOWN_ZONE)),
        Draft("step/end", {"turn": 1, "step": 1}),
        Draft("turn/end", {"turn": 1, "reason": {"kind": "completed"}}),
    )
    after = reduce(follow, write([event(None)], *drafts), before)
    assert (after.inbox, after.turn, after.turn_open) == (before.inbox, 1, False)
    assert (after.step, after.current) == (None, None)


def test_a_word_closes_an_interrupted_turn_first() -> None:
    """Two turns are never open, and the word's own has the next number."""
    drafts = record_word(stand(open_turn(word("a"))), word("b"), T, "reading")
    assert drafts[:3] == (
        Draft("step/end", {"turn": 1, "step": 1}),
        Draft("turn/end", {"turn": 1, "reason": {"kind": "interrupted"}}),
        Draft("turn/start", {"turn": 2}),
    )
    assert drafts[3:] == record_word(Conversation(turn=1), word("b"), T, "reading")[1:]


def test_an_answer_stands_in_the_open_step() -> None:
    """What the agent said, with the turn and the step it was said in."""
    assert answer_turn(stand(open_turn(word("a"))), "m2", "done\n") == Draft(
        "assistant/message",
        {
            "turn": 1,
            "step": 1,
            "message": {
                "role": "assistant",
                "content": [{"type": "text", "text": "done\n"}],
                "source": {"kind": "model", "provider": "unknown", "model": "unknown"},
                "id": "m2",
            },
        },
    )


@pytest.mark.parametrize(
    ("kind", "detail", "reason"),
    [
        ("completed", None, {"kind": "completed"}),
        ("interrupted", None, {"kind": "interrupted"}),
        ("interrupted", {}, {"kind": "interrupted"}),
        ("failed", {"exitStatus": 3}, {"kind": "failed", "exitStatus": 3}),
    ],
)
def test_an_open_turn_ends_with_its_step_and_a_reason(
    kind: EndKind, detail: Json | None, reason: Json
) -> None:
    """The step first, then the turn; afterwards nothing is open."""
    events = open_turn(word("a"))
    drafts = end_turn(stand(events), kind, detail)
    assert drafts == (
        Draft("step/end", {"turn": 1, "step": 1}),
        Draft("turn/end", {"turn": 1, "reason": reason}),
    )
    after = stand(write(events, *drafts))
    assert (after.turn, after.turn_open, after.step, after.current) == (1, False, None, None)


def test_the_step_that_ends_is_the_open_one() -> None:
    """A turn of many steps ends in its last, whatever came into the inbox meanwhile."""
    second = ("step/start", {"turn": 1, "step": 2})
    found = stand(turns(START, STEP, STEP_END, second, (SPLICED, spliced([word("a")]))))
    assert (found.turn, found.turn_open, found.step) == (1, True, 2)
    first, _ = end_turn(found, "completed")
    assert first == Draft("step/end", {"turn": 1, "step": 2})


def test_a_turn_cut_off_before_its_step_ends_alone() -> None:
    """There is no step to close."""
    found = stand(turns(("turn/start", {"turn": 6})))
    reason = {"kind": "interrupted"}
    assert end_turn(found, "interrupted") == (Draft("turn/end", {"turn": 6, "reason": reason}),)


def test_no_open_turn_ends_with_nothing() -> None:
    """Neither a new conversation's nor a closed turn is ended."""
    events = open_turn(word("a"))
    closed = stand(write(events, *end_turn(stand(events), "completed")))
    assert end_turn(Conversation(), "interrupted") == ()
    assert end_turn(closed, "interrupted") == ()


TWO = (created(every("e")), created(every("f", T - 90_000)))


@pytest.mark.parametrize(
    ("ledger", "messages", "missing"),
    [
        (ledger_of(created(at())), [one_shot()], [Dispatch("t")]),
        (ledger_of(created(every())), [batch(("e", T))], [Dispatch("e", T + 9)]),
        (
            ledger_of(*TWO),
            [batch(("e", T), ("f", T - 90_000))],
            [Dispatch("e", T + 9), Dispatch("f", T + 9)],
        ),
        (
            ledger_of(*TWO, dispatched("e", T + 9)),
            [batch(("e", T), ("f", T - 90_000))],
            [Dispatch("f", T + 9)],
        ),
        (
            ledger_of(*TWO, dispatched("e", T + 3)),  # a foreign splice tells another time
            [batch(("e", T), ("f", T - 90_000))],
            [Dispatch("f", T + 3)],
        ),
        (
            ledger_of(created(at("t")), created(at("u", T - 5)), created(every())),
            [one_shot("u", T - 5), word("a"), one_shot("t"), batch(("e", T))],
            [Dispatch("u"), Dispatch("t"), Dispatch("e", T + 9)],
        ),
        (ledger_of(created(every("e", T - 2 * GATE_MS))), [batch(("e", T))], [Dispatch("e", T + 9)]),
        (ledger_of(created(at())), [batch(("t", T))], [Dispatch("t")]),
        (ledger_of(created(at())), [one_shot(), one_shot()], [Dispatch("t")]),
        (ledger_of(created(every())), [batch(("e", T)), batch(("e", T))], [Dispatch("e", T + 9)]),
        (
            ledger_of(created(every()), created(at()), deleted("t")),
            [one_shot(), batch(("x", T), ("e", T))],
            [Dispatch("e", T + 9)],
        ),
    ],
)
def test_a_message_without_its_dispatch_gets_it(
    ledger: Ledger, messages: list[Json], missing: list[Dispatch]
) -> None:
    """In the order of the inbox, once each, accepted when the message was queued."""
    assert list_missing_dispatches(waiting(*messages, time_ms=T + 9), ledger) == tuple(missing)


@pytest.mark.parametrize(
    ("ledger", "message"),
    [
        (ledger_of(), one_shot()),
        (ledger_of(created(at("u"))), one_shot()),
        (ledger_of(created(at()), deleted("t")), one_shot()),
        (ledger_of(created(at()), dispatched("t")), one_shot()),
        (ledger_of(created(at(target_ms=T - 1))), one_shot()),
        (ledger_of(created(every())), word("a")),
        (ledger_of(created(every())), {**batch(("e", T)), "source": name_person("r", None)}),
        (ledger_of(created(every()), dispatched("e", T + 9)), batch(("e", T))),
        (ledger_of(created(every())), batch(("e", T - GATE_MS))),
        (ledger_of(created(every())), batch(("e", T + GATE_MS))),
        (ledger_of(created(every())), batch(("e", T + 9))),
        (ledger_of(created(every("e", T + 10))), batch(("e", T + 10))),
        (ledger_of(*TWO, dispatched("f", T - 90_000)), batch(("e", T))),
    ],
)
def test_a_message_that_lacks_no_dispatch_gets_none(ledger: Ledger, message: Json) -> None:
    """Nothing active, nothing of that occurrence, a batch too close: the owner decides."""
    assert list_missing_dispatches(waiting(message, time_ms=T + 9), ledger) == ()


def test_the_gate_is_that_of_the_ledgers_profile() -> None:
    """Where the published package's batches may stand close, the dispatch is restored."""
    changes = (*TWO, dispatched("f", T - 90_000))
    found = waiting(batch(("e", T)), time_ms=T + 9)
    assert list_missing_dispatches(found, ledger_of(*changes)) == ()
    published = ledger_of(*changes, profile=PUBLISHED)
    assert list_missing_dispatches(found, published) == (Dispatch("e", T + 9),)


@pytest.mark.parametrize(("queued_ms", "missing"), [(LAST_MS, 1), (LAST_MS + 1, 0), (2**53 - 1, 0)])
def test_no_dispatch_is_restored_at_an_instant_that_cannot_be_written(
    queued_ms: int, missing: int
) -> None:
    """An event's time may lie past year 9999, an acceptance may not."""
    target_ms = LAST_MS - 1
    found = waiting(batch(("e", target_ms)), time_ms=queued_ms)
    ledger = ledger_of(created(every("e", target_ms)))
    assert len(list_missing_dispatches(found, ledger)) == missing


@pytest.mark.parametrize("kept", [0, 1, 2, 3])
def test_a_hand_over_cut_anywhere_is_made_whole(kept: int) -> None:
    """What is restored, appended, folds to what the uncut batch of splice and dispatches comes to."""
    events = log(*TWO)
    message = batch(("f", T - 90_000), ("e", T))
    dispatches = [draft_change(Dispatch(name, T)) for name in "fe"]
    batches = [queue_input(stand(events), message), *dispatches]
    whole = ok(fold(write(events, *batches)))
    cut = write(events, *batches[:kept])
    missing = list_missing_dispatches(stand(cut), ok(fold(cut)))
    assert len(missing) == (3 - kept if kept else 0)
    resumed = write(cut, *map(draft_change, missing), time_ms=T + 99)
    assert ok(fold(resumed)) == (whole if kept else ok(fold(events)))
    assert list_missing_dispatches(stand(resumed), ok(fold(resumed))) == ()


def test_a_real_journal_cut_behind_its_message_is_made_whole() -> None:
    """The last line of `torn-tail`, which is the dispatch that was cut, is told from the rest."""
    with open_journal(JOURNALS / "published/torn-tail") as journal:
        events = list(journal.read_events(CONVERSATION_TYPES | {"schedule/change"}))
    missing = list_missing_dispatches(stand(events), ok(fold(events, 0, PUBLISHED)))
    assert missing == (Dispatch("schedule-2"),)
    resumed = ok(fold(write(events, *map(draft_change, missing)), 0, PUBLISHED))
    assert list_active(resumed) == ()
