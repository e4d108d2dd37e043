"""What a session's log tells of its conversation: the inbox, turns and words (spec section 13).

This module decides what waits for the agent, whether a turn is open, and which events say so. It
refuses to know how an agent answers, and what a reminder says. The names in the events are the
storage format of every session log: they never change.
"""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

from wakefold.events import (
    SCHEDULE_CHANGE,
    Change,
    Event,
    Json,
    encode_change,
)
from wakefold.framing import frame_time, read_frame
from wakefold.instants import MAX_SAFE_INTEGER, read_safe_integer
from wakefold.zones import canonicalize_zone

#: Messages enter the inbox, or leave it.
INBOX_SPLICED: Final = "agent/inbox/spliced"
#: A turn begins.
TURN_START: Final = "turn/start"
#: A turn has ended, with its reason.
TURN_END: Final = "turn/end"
#: A step of a turn begins.
STEP_START: Final = "step/start"
#: A step of a turn has ended.
STEP_END: Final = "step/end"
#: A message to the agent, from whatever source.
USER_MESSAGE: Final = "user/message"
#: What the agent answered.
ASSISTANT_MESSAGE: Final = "assistant/message"

#: The types of the events that `follow` reads; all others leave a conversation as it is.
CONVERSATION_TYPES: Final = frozenset({INBOX_SPLICED, TURN_START, TURN_END, STEP_START, STEP_END})

#: The source of a reminder's message, which is no external word by default.
REMINDER_SOURCE: Final[Json] = {"kind": "plugin", "plugin": "tool-schedule"}

_REMINDER_PLUGINS: Final = ("tool-schedule", "schedule")  # ours, and the released package's
_TARGET: Final = "next-turn"


class Draft(Struct, frozen=True):
    """An event to be. Whoever appends it knows its seq and its time."""

    type: str
    data: Json


def draft_change(change: Change) -> Draft:
    """The event that stores a change."""
    return Draft(SCHEDULE_CHANGE, encode_change(change))


class Input(Struct, frozen=True):
    """One message in the inbox, `message` as the log holds it.

    `occurrences` are the reminders that it delivers, as (id, epoch ms): none for a person's word.
    `earlier_offers` counts the turns that took it and put it back (`offers`).
    """

    message: Json
    queued_at_ms: int
    text: str
    occurrences: tuple[tuple[str, int], ...] = ()
    earlier_offers: int = 0

    def matches(self, other: Input) -> bool:
        """Whether both are one message, by its id; what has none matches nothing, itself neither."""
        name = self.message.get("id")
        return isinstance(name, str) and name == other.message.get("id")


class Conversation(Struct, frozen=True):
    """Where a conversation stands. Made by `follow`, event by event, from `Conversation()`.

    The inbox is that of the own suffix, which begins at `seed_length`: what a parent session had
    waiting is the parent's. `turn` is the latest turn's number, `step` the open step of an open turn,
    `current` what the open turn answers; `repeatable` says that its agent may be offered that again.
    """

    seed_length: int = 0
    inbox: tuple[Input, ...] = ()
    turn: int = 0
    turn_open: bool = False
    step: int | None = None
    current: Input | None = None
    repeatable: bool = False


def follow(conversation: Conversation, event: Event) -> Conversation:
    """The conversation after one more event. What is malformed tells nothing and changes nothing."""
    if event.type not in CONVERSATION_TYPES:
        return conversation
    fields = _object(event.data)
    if event.type == INBOX_SPLICED:
        return _splice(conversation, fields, event)
    turn = read_safe_integer(fields.get("turn"))
    if turn is None or turn == MAX_SAFE_INTEGER:  # none could follow that one
        return conversation
    if event.type == TURN_START:
        repeatable = fields.get("repeatable") is True
        return _stand(conversation, turn=turn, turn_open=True, repeatable=repeatable)
    if event.type == TURN_END:
        return _stand(conversation, turn=turn, turn_open=False)
    begins = event.type == STEP_START and conversation.turn_open
    step = read_safe_integer(fields.get("step")) if begins else None
    repeatable = conversation.repeatable
    return _stand(
        conversation, turn=turn, turn_open=conversation.turn_open, step=step, repeatable=repeatable
    )


def read_input(message: Json, queued_at_ms: int, earlier_offers: int = 0) -> Input:
    """A message of the inbox as it is understood: its text, and the reminders that it delivers."""
    content = message.get("content")
    blocks = map(_object, content) if isinstance(content, list) else ()
    texts = [block["text"] for block in blocks if isinstance(block.get("text"), str)]
    text = "\n".join(map(str, texts))
    source = _object(message.get("source"))
    ours = source.get("kind") == "plugin" and source.get("plugin") in _REMINDER_PLUGINS
    occurrences = read_frame(text) if ours else ()
    return Input(message, queued_at_ms, text, occurrences, earlier_offers)


def make_message(message_id: str, text: str, source: Json) -> Json:
    """A message for the agent, in the journal's shape. The id must be unique in its session."""
    content: list[object] = [{"type": "text", "text": text}]
    return {"content": content, "source": source, "role": "user", "id": message_id}


def queue_reminder(conversation: Conversation, message_id: str, text: str) -> Draft:
    """The splice that puts a reminder's message at the end of the inbox."""
    return queue_input(conversation, make_message(message_id, text, REMINDER_SOURCE))


def name_person(rpc_id: str, client_time_zone: str | None) -> Json:
    """The source of a person's word; the zone, canonical, where the person told it (section 5.1)."""
    source: Json = {"kind": "user", "rpcId": rpc_id}
    return source if client_time_zone is None else {**source, "clientTimeZone": client_time_zone}


def queue_input(conversation: Conversation, message: Json, *, first: bool = False) -> Draft:
    """The splice that puts a message at the end of the inbox, or before all others."""
    start = 0 if first else len(conversation.inbox)
    return Draft(INBOX_SPLICED, {"target": _TARGET, "start": start, "inserted": [message]})


def begin_turn(
    conversation: Conversation, now_ms: int, reading_id: str, *, repeatable: bool = False
) -> tuple[Draft, ...]:
    """The events with which the first input of the inbox begins its turn.

    They end with the time-context reading of section 5.1, a message of the given id. `repeatable` says
    that the agent knows an input which it is given again. `IndexError` for an empty inbox.
    """
    taken = Draft(INBOX_SPLICED, {"target": _TARGET, "start": 0, "removedCount": 1, "inserted": []})
    start, *rest = _open_turn(conversation, conversation.inbox[0].message, now_ms, reading_id)
    start = Draft(TURN_START, {**start.data, "repeatable": True}) if repeatable else start
    return (start, taken, *rest)


def record_word(
    conversation: Conversation, message: Json, now_ms: int, reading_id: str
) -> tuple[Draft, ...]:
    """A person's word as a whole turn, for where nobody is there to answer it."""
    turn = conversation.turn + 1
    return (
        *end_turn(conversation, "interrupted"),
        *_open_turn(conversation, message, now_ms, reading_id),
        Draft(STEP_END, {"turn": turn, "step": 1}),
        Draft(TURN_END, {"turn": turn, "reason": {"kind": "completed"}}),
    )


def answer_turn(conversation: Conversation, message_id: str, text: str) -> Draft:
    """What the agent said in the open turn."""
    return Draft(
        ASSISTANT_MESSAGE,
        {
            "turn": conversation.turn,
            "step": conversation.step,
            "message": {
                "role": "assistant",
                "content": [{"type": "text", "text": text}],
                "source": {"kind": "model", "provider": "unknown", "model": "unknown"},
                "id": message_id,
            },
        },
    )


#: Why a turn ended.
EndKind = Literal["completed", "failed", "interrupted"]


class Answer(Struct, frozen=True):
    """How an agent's turn ended: what it said, if anything, and what the log keeps of a failure.

    :shape: `kind` is `completed`, `failed` or `interrupted`; `detail` is a JSON object, kept of a
        failed turn alone
    :units: `duration_ms` in milliseconds: how long the agent took, where it tells
    :errors: none
    :source: spec section 13; ours, docs/records.md
    """

    text: str | None = None
    kind: EndKind = "completed"
    detail: Json = {}
    duration_ms: int | None = None


def end_turn(
    conversation: Conversation,
    kind: EndKind,
    detail: Json | None = None,
    duration_ms: int | None = None,
) -> tuple[Draft, ...]:
    """The events that close the open turn, none if no turn is open.

    `interrupted` is for a turn that a crash left open: nobody knows what came of it. The released
    package reads no more than the kind of the others, so that `detail` is kept of a failed turn alone,
    and refuses a turn's end with a duration, so that its step's end tells it.
    """
    if not conversation.turn_open:
        return ()
    reason: Json = {"kind": kind, **((detail or {}) if kind == "failed" else {})}
    end = Draft(TURN_END, {"turn": conversation.turn, "reason": reason})
    if conversation.step is None:
        return (end,)
    took: Json = {} if duration_ms is None else {"durationMs": duration_ms}
    return (Draft(STEP_END, {"turn": conversation.turn, "step": conversation.step, **took}), end)


def _open_turn(
    conversation: Conversation, message: Json, now_ms: int, reading_id: str
) -> tuple[Draft, ...]:
    turn = conversation.turn + 1
    return (
        Draft(TURN_START, {"turn": turn}),
        Draft(STEP_START, {"turn": turn, "step": 1}),
        Draft(USER_MESSAGE, message),
        Draft(USER_MESSAGE, _read_time(reading_id, now_ms, _object(message.get("source")))),
    )


def _stand(
    conversation: Conversation,
    *,
    turn: int,
    turn_open: bool,
    step: int | None = None,
    repeatable: bool = False,
) -> Conversation:
    """A turn or a step begins or ends; what the turn answers goes with the turn."""
    goes_on = turn_open and conversation.turn_open and turn == conversation.turn
    return Conversation(
        seed_length=conversation.seed_length,
        inbox=conversation.inbox,
        turn=turn,
        turn_open=turn_open,
        step=step,
        current=conversation.current if goes_on else None,
        repeatable=repeatable and turn_open,
    )


def _splice(conversation: Conversation, fields: Json, event: Event) -> Conversation:
    start = read_safe_integer(fields.get("start"))
    removed = read_safe_integer(fields.get("removedCount", 0))
    inserted = fields.get("inserted")
    if fields.get("target") != _TARGET or event.seq < conversation.seed_length:
        return conversation
    if start is None or start < 0 or removed is None or removed < 0 or not isinstance(inserted, list):
        return conversation
    inbox = conversation.inbox
    taken = inbox[start : start + removed]
    given = tuple(_take_in(conversation, _object(message), event.time_ms) for message in inserted)
    return Conversation(
        seed_length=conversation.seed_length,
        inbox=inbox[:start] + given + inbox[start + removed :],
        turn=conversation.turn,
        turn_open=conversation.turn_open,
        step=conversation.step,
        current=taken[0] if taken and conversation.turn_open else conversation.current,
        repeatable=conversation.repeatable,
    )


def _take_in(conversation: Conversation, message: Json, time_ms: int) -> Input:
    """A message that comes into the inbox, or comes back from the open turn that took it."""
    given, taken = read_input(message, time_ms), conversation.current
    if taken is None or not taken.matches(given):
        return given
    return read_input(message, time_ms, taken.earlier_offers + 1)


def _read_time(message_id: str, now_ms: int, source: Json) -> Json:
    """The reading that tells the agent the time, and the zone of the person who spoke, if known."""
    zone = source.get("clientTimeZone")
    known = zone if isinstance(zone, str) and canonicalize_zone(zone) == zone else None
    text = frame_time(now_ms, known)
    return make_message(
        message_id,
        text,
        {
            "kind": "plugin",
            "plugin": "time-context",
            "form": "snapshot",
            "sections": [{"name": "time-context", "text": text}],
        },
    )


def _object(value: object) -> Json:
    return value if isinstance(value, dict) else {}
