"""A plain model of a host: it writes a session's log, batch by batch, and can lose its end.

This module decides which events a host writes for what happens to it (spec section 13). It draws
nothing and judges nothing; what the events come to is for the laws to say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Final

from wakefold.conversations import (
    REMINDER_SOURCE,
    STEP_END,
    STEP_START,
    USER_MESSAGE,
    Conversation,
    Draft,
    EndKind,
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
from wakefold.events import Create, Event, Json, Record
from wakefold.framing import frame_decision
from wakefold.instants import MAX_INSTANT_MS
from wakefold.json_text import format_json, parse_json
from wakefold.ledger import evolve, fold
from wakefold.offers import offer_again
from wakefold.receipts import list_receipts
from wakefold.recoveries import clear_up
from wakefold.recurrence import Profile
from wakefold.wakes import (
    BatchDue,
    OneShotDue,
    decide_due,
    list_dispatches,
    list_occurrences,
    plan_next_wake,
)
from wakefold_laws.log_model import renew

#: An id and an occurrence (epoch ms).
Key = tuple[str, int]

#: The milliseconds of a day.
DAY_MS: Final = 86_400_000
#: When a session begins (epoch ms): 2027-02-01T09:00:00Z.
START_MS: Final = 1_801_472_400_000


class HostModel:
    """A session opened at some point of its log, and its host, which writes on.

    `messages` has the occurrences of each message that went into the inbox, by id and in order, as the
    decisions named them and not as the log is read.
    """

    def __init__(self, events: Sequence[Event], seed_length: int, profile: Profile) -> None:
        """A session whose log so far is `events`."""
        self.events = list(events)
        self.seed_length, self.profile = seed_length, profile
        self.clock_ms = events[-1].time_ms if events else START_MS
        self.conversation = reduce(follow, events, Conversation(seed_length=seed_length))
        self.ledger = fold(events, seed_length, profile).unwrap()
        self.messages: dict[object, tuple[Key, ...]] = {}

    def __repr__(self) -> str:
        """The session as it stands: its log is what a law that fails has to show."""
        return f"HostModel({self.events!r}, {self.seed_length}, {self.profile!r})"

    def write(self, *drafts: Draft) -> None:
        """One batch, as a journal holds it."""
        for draft in drafts:
            data = parse_json(format_json(draft.data))
            event = Event(draft.type, len(self.events), self.clock_ms, data)
            self.events.append(event)
            self.conversation = follow(self.conversation, event)
            self.ledger = evolve(self.ledger, event).unwrap()

    def name(self) -> str:
        """An id that no other message of the log has."""
        return f"m{len(self.events)}"

    def create(self, drawn: Sequence[Record], later_ms: int) -> None:
        """Some reminders, all due so much later (or before)."""
        target_ms = min(self.clock_ms + later_ms, MAX_INSTANT_MS)
        for record in drawn:
            schedule_id = f"{record.id}-{len(self.events)}"
            self.write(draft_change(Create(renew(record, schedule_id, target_ms))))

    def hand_over(self) -> bool:
        """The message of what is due and its dispatches; whether anything was due."""
        decision = decide_due(self.ledger, self.clock_ms).unwrap()
        if not isinstance(decision, OneShotDue | BatchDue):
            return False
        message = make_message(self.name(), frame_decision(decision), REMINDER_SOURCE)
        self.messages[message["id"]] = list_occurrences(decision)
        dispatches = map(draft_change, list_dispatches(decision))
        self.write(queue_input(self.conversation, message), *dispatches)
        return True

    def wake(self) -> None:
        """Sleep until something is due, and hand it over."""
        wake = plan_next_wake(self.ledger, self.clock_ms)
        if wake is not None:
            self.clock_ms = max(self.clock_ms, wake.at_ms)
            self.hand_over()

    def sleep(self, ms: int) -> None:
        """Sleep past whatever is due."""
        self.clock_ms = min(self.clock_ms + ms, MAX_INSTANT_MS)

    def say(self, zone: str | None) -> None:
        """A person's word comes into the inbox."""
        message = make_message(self.name(), "hi", name_person("r", zone))
        self.messages[message["id"]] = ()
        self.write(queue_input(self.conversation, message))

    def begin(self, *, repeatable: bool = False) -> None:
        """The next turn, if none is open and anything waits."""
        if self.conversation.inbox and not self.conversation.turn_open:
            reading_id = f"{self.name()} reading"
            self.write(*begin_turn(self.conversation, self.clock_ms, reading_id, repeatable=repeatable))

    def speak_up(self, source: Json) -> None:
        """A word that no host queued: somebody speaks into a turn, or between turns."""
        self.write(Draft(USER_MESSAGE, make_message(self.name(), "hm", source)))

    def take_step(self) -> None:
        """The open turn's next step, if a step is open."""
        turn, step = self.conversation.turn, self.conversation.step
        if step is not None:
            self.write(Draft(STEP_END, {"turn": turn, "step": step}))
            self.write(Draft(STEP_START, {"turn": turn, "step": step + 1}))

    def answer(self) -> None:
        """What the agent says in the open turn, if one is open."""
        if self.conversation.turn_open:
            self.write(answer_turn(self.conversation, self.name(), "done"))

    def end(self, kind: EndKind) -> None:
        """The open turn ends, if one is open."""
        self.write(*end_turn(self.conversation, kind))

    def come_to_nothing(self, kind: EndKind) -> None:
        """The open turn ends, if one is open, and its input is offered again, if it may be."""
        self.write(*offer_again(self.conversation), *end_turn(self.conversation, kind))

    def fail_turn(self) -> None:
        """The next turn, of an agent that may be asked again, comes to nothing."""
        self.begin(repeatable=True)
        self.come_to_nothing("failed")

    def take_turn(self, kind: EndKind) -> None:
        """The next turn, from begin to end."""
        self.begin()
        self.end(kind)

    def live_turn(self, asides: Sequence[Callable[[HostModel], object]], kind: EndKind | None) -> None:
        """The next turn, what happens in it, and how it ends, if it ends."""
        self.begin()
        for aside in asides:
            aside(self)
        if kind is not None:
            self.end(kind)

    def leave_word(self) -> None:
        """A person's word that nobody answers."""
        message = make_message(f"{self.name()} word", "hi", name_person("r", None))
        self.write(*record_word(self.conversation, message, self.clock_ms, f"{self.name()} reading"))

    def interrupt(self) -> None:
        """The next turn, and such a word in the middle of it."""
        self.begin()
        self.leave_word()

    def clear_up(self) -> None:
        """What a host does first when it comes back."""
        self.write(*clear_up(self.conversation, self.ledger))

    def reopen(self, length: int) -> HostModel:
        """The session as it comes back if all from some event on was never durable."""
        return HostModel(self.events[:length], self.seed_length, self.profile)

    def list_dispatched(self) -> list[Key]:
        """Each dispatch of the own part, by the occurrence that its receipt tells."""
        receipts = list_receipts(self.events, self.seed_length).unwrap()
        own = (one.receipt for one in receipts if one.seq >= self.seed_length)
        return [(receipt.schedule_id, receipt.occurrence_ms) for receipt in own]
