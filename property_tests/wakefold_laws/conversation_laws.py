"""Laws of the conversation: what the inbox holds, which turn is open, what became of a message.

This module decides what following a log owes to any JSON that it may hold, and to a host that wrote it
batch by batch and may have lost its end. It refuses to know how an agent answers.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any, Final

from wakefold.conversations import (
    CONVERSATION_TYPES,
    INBOX_SPLICED,
    REMINDER_SOURCE,
    STEP_END,
    STEP_START,
    TURN_END,
    TURN_START,
    USER_MESSAGE,
    Conversation,
    follow,
    make_message,
    name_person,
)
from wakefold.deliveries import trace_deliveries
from wakefold.events import Event, EveryRecord, Record
from wakefold.framing import frame_batch, frame_one_shot, read_frame
from wakefold.recoveries import list_missing_dispatches
from wakefold.wakes import (
    BatchEntry,
)
from wakefold_laws.drawing import st
from wakefold_laws.host_model import START_MS, HostModel
from wakefold_laws.laws import law
from wakefold_laws.log_model import join_surrogates
from wakefold_laws.session_strategies import hosts
from wakefold_laws.strategies import instants, json_values, prompts, records

# Logs that no host wrote: rows of a journal in any order, and such rows spoilt, down to any JSON.

#: Type and data of an event.
Row = tuple[str, object]


def frame(record: Record, at_ms: int) -> str:
    """The frame of one reminder of any kind."""
    if isinstance(record, EveryRecord):
        return frame_batch([BatchEntry(record, at_ms)])
    return frame_one_shot(record)


_FEW: Final = (0, 0, 0, 1, 2, 1.0, -1, 0.5, True, None, "1", 2**53, 1e300)
_COUNTS: Final = st.sampled_from(_FEW)
_SOURCES: Final = (REMINDER_SOURCE, {"kind": "plugin", "plugin": "schedule"}, name_person("r", None))
_frames = st.builds(frame, records(), instants())
_said = st.builds(make_message, st.just("m"), _frames, st.sampled_from(_SOURCES))
_sound_splices = st.fixed_dictionaries(
    {
        "target": st.just("next-turn"),
        "start": st.just(0),
        "removedCount": st.sampled_from((0, 0, 1, 2)),
        "inserted": st.lists(_said, max_size=2),
    }
)
_sound_turns = st.fixed_dictionaries(
    {
        "turn": st.sampled_from((1, 1, 2)),
        "step": st.just(1),
        "reason": st.fixed_dictionaries(
            {"kind": st.sampled_from(("completed", "failed", "interrupted"))}
        ),
    }
)
_sources = st.fixed_dictionaries(
    {},
    optional={
        "kind": st.just("plugin") | json_values(),
        "plugin": st.sampled_from(("tool-schedule", "time-context", 1, None, [], {})),
    },
)
_blocks = st.fixed_dictionaries({}, optional={"text": _frames | json_values()})
_spoilt_messages = st.fixed_dictionaries(
    {}, optional={"content": st.lists(_blocks | json_values(), max_size=2), "source": _sources}
)
_spoilt_splices = st.fixed_dictionaries(
    {"target": st.just("next-turn"), "start": _COUNTS},
    optional={
        "removedCount": _COUNTS,
        "inserted": st.lists(_spoilt_messages | json_values(), max_size=3) | json_values(),
    },
)
_spoilt_turns = st.fixed_dictionaries(
    {}, optional={"turn": _COUNTS, "step": _COUNTS, "reason": json_values()}
)
_TURN_TYPES: Final = (TURN_START, TURN_START, TURN_END, STEP_START, STEP_END)
_rows = st.one_of(
    st.tuples(st.just(INBOX_SPLICED), _sound_splices),
    st.tuples(st.sampled_from(_TURN_TYPES), _sound_turns),
    st.tuples(st.just(INBOX_SPLICED), _spoilt_splices),
    st.tuples(st.sampled_from(_TURN_TYPES), _spoilt_turns),
    st.tuples(st.sampled_from(sorted(CONVERSATION_TYPES)), json_values()),
)
#: Rows that no host wrote, sound and spoilt.
#:
#: :meta hide-value:
journals = st.lists(_rows, min_size=4, max_size=16)
#: How many events a fork inherited, often none.
lengths = st.sampled_from((0, 0, 1, 2, 4, 16))


def number(journal: Iterable[Row]) -> list[Event]:
    """Events of (type, data), each a second after the last."""
    return [Event(kind, seq, START_MS + seq * 1000, data) for seq, (kind, data) in enumerate(journal)]


@law(times=3, journal=journals, seed_length=lengths)
def every_log_leaves_a_conversation_somewhere(journal: list[Row], seed_length: int) -> None:
    """Whatever JSON the events hold, they are followed; an event of no meaning changes nothing, and
    nothing of an inherited part enters the inbox.
    """
    conversation = Conversation(seed_length=seed_length)
    for event in number(journal):
        before, conversation = conversation, follow(conversation, event)
        assert conversation.seed_length == seed_length
        if event.seq < seed_length:
            assert conversation.inbox == ()
        if not isinstance(event.data, dict) or event.type != INBOX_SPLICED:
            assert conversation.inbox == before.inbox
        if not conversation.turn_open:
            assert conversation.current is None
        assert follow(before, Event("foreign", event.seq, event.time_ms, event.data)) is before


@law(times=2, journal=journals, seed_length=lengths)
def whatever_waits_is_told_of(journal: list[Row], seed_length: int) -> None:
    """Of any log, a trace has each occurrence of the inbox as waiting, and no other one so."""
    events = number(journal)
    conversation = reduce(follow, events, Conversation(seed_length=seed_length))
    inbox = {key for given in conversation.inbox for key in given.occurrences}
    found = trace_deliveries(iter(events), seed_length)
    assert {key for key, one in found.items() if one.outcome == "waiting"} == inbox


@law(record=records(), prompt=prompts(), entries=st.lists(st.tuples(records(), instants()), max_size=4))
def a_frame_is_read_back_as_its_occurrences(
    record: Record, prompt: str, entries: list[tuple[Record, int]]
) -> None:
    """Whatever ids and prompts hold, a frame names the occurrences that it was made of, in order."""
    assert read_frame(frame_one_shot(record)) == ((join_surrogates(record.id), record.scheduled_at_ms),)
    batch = [
        BatchEntry(EveryRecord(drawn.id, f"{prompt}{drawn.prompt}", 300, at_ms), at_ms)
        for drawn, at_ms in entries
    ]
    assert read_frame(frame_batch(batch)) == tuple(
        (join_surrogates(entry.record.id), entry.occurrence_ms) for entry in batch
    )


@law(text=st.text(st.sampled_from('[]{}":,\n abSCHEDUL0') | st.characters(), max_size=30) | prompts())
def any_text_is_read(text: str) -> None:
    """What is no frame names nothing, and a frame behind anything else is none."""
    assert read_frame(text) == ()
    for label in ("[SCHEDULE REMINDER]", "[SCHEDULE REMINDER BATCH]"):
        rows = f"schedule_id_json: {text}\noccurrence_at: {text}\nreminders_json: {text}"
        assert read_frame(f"{label}\n\n{rows}") == ()
    frame = frame_one_shot(EveryRecord("e", "p", 300, 0))
    assert read_frame(f"x{text}{frame}") == ()


def read(event: Event) -> dict[str, Any]:
    """The data of an event that a host wrote."""
    assert isinstance(event.data, dict)
    return event.data


def tell_fates(events: Iterable[Event]) -> dict[object, str]:
    """What a log that a host wrote tells of each message: `waiting`, `under-way` or its turn's end."""
    fates: dict[object, str] = {}
    for event in events:
        data = read(event)
        if event.type == INBOX_SPLICED:
            waiting = [name for name, fate in fates.items() if fate == "waiting"]
            fates |= dict.fromkeys(waiting[: data.get("removedCount", 0)], "under-way")
            fates |= {message["id"]: "waiting" for message in data["inserted"]}
        if event.type == TURN_END:
            fates |= {
                name: data["reason"]["kind"] for name, fate in fates.items() if fate == "under-way"
            }
    return fates


@law(times=2, host=hosts())
def no_cut_loses_a_message_or_hands_it_over_twice(host: HostModel) -> None:
    """Cut anywhere and opened again, a log has for each message in it all dispatches and no others; it
    waits, in order, or its turn has begun; and nothing that it names is ever due again.
    """
    for length in range(host.seed_length, len(host.events) + 1):
        fates = tell_fates(host.events[host.seed_length : length])
        again = host.reopen(length)
        again.clear_up()
        waiting = [given.message["id"] for given in again.conversation.inbox]
        assert waiting == [name for name, fate in fates.items() if fate == "waiting"]
        assert not again.conversation.turn_open
        named = [key for name in fates for key in host.messages[name]]
        assert sorted(again.list_dispatched()) == sorted(named)
        while again.hand_over():
            assert set(named).isdisjoint(again.messages.popitem()[1])


@law(host=hosts())
def a_whole_log_lacks_nothing(host: HostModel) -> None:
    """Between batches no dispatch is missing, and who clears up twice writes nothing more."""
    assert list_missing_dispatches(host.conversation, host.ledger) == ()
    host.clear_up()
    length = len(host.events)
    host.clear_up()
    assert len(host.events) == length


@law(host=hosts())
def inputs_have_their_turns_in_the_order_in_which_they_came(host: HostModel) -> None:
    """First in, first out: each message in the inbox begins one turn, once and unchanged."""
    while host.conversation.inbox:
        host.clear_up()
        host.begin()
        assert host.conversation.current is not None
    own = host.events[host.seed_length :]
    queued = [m for e in own if e.type == INBOX_SPLICED for m in read(e)["inserted"]]
    turned = [read(e) for e in own if e.type == USER_MESSAGE and read(e)["id"] in host.messages]
    assert turned == queued
    assert [message["id"] for message in turned] == list(host.messages)


@law(host=hosts())
def turns_are_numbered_one_by_one(host: HostModel) -> None:
    """No turn's number is used twice or left out, in a fork neither, and no turn begins while another
    is open.
    """
    host.clear_up()
    told = [(e.type, read(e)["turn"]) for e in host.events if e.type in {TURN_START, TURN_END}]
    count = len(told) // 2
    assert told == [(kind, turn) for turn in range(1, count + 1) for kind in (TURN_START, TURN_END)]


_OUTCOMES: Final = {
    "waiting": "waiting",
    "under-way": "under-way",
    "completed": "handed-over",
    "failed": "failed",
    "interrupted": "unknown",
}


@law(host=hosts())
def a_trace_tells_the_fate_of_every_message(host: HostModel) -> None:
    """Wherever the log is cut, each occurrence whose message is in it has its message's fate."""
    for length in range(host.seed_length, len(host.events) + 1):
        found = trace_deliveries(iter(host.events[:length]), host.seed_length)
        for name, fate in tell_fates(host.events[host.seed_length : length]).items():
            for key in host.messages[name]:
                assert found[key].outcome == _OUTCOMES[fate]
