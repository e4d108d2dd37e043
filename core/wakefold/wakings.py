"""Wakings: what is written of a session in which nobody lives, whenever somebody looks at it.

Where sessions are woken by whichever process is free, each look begins with what the log has come to,
and all that it writes is one batch. This module decides what the batch holds: what was cut off, what a
tool appends, how a turn ended, what the guard deletes, which message is handed over; and when to look
next. It goes by the rules of a live owner (spec section 8). It refuses to know where logs are kept,
what keeps two looks apart, and how an agent is reached.

An agent is idle where nothing waits in its inbox. Whoever gives it a message writes the turn once it
has ended, and the message waits until then, so that what comes due meanwhile is one message after it.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Literal, TypeVar, assert_never

from msgspec import Struct
from returns.result import Failure

from wakefold.checkpoints import Checkpoint, extend_checkpoint
from wakefold.conversations import (
    Answer,
    Draft,
    Input,
    begin_turn,
    draft_change,
    make_message,
    name_person,
    queue_input,
    queue_reminder,
)
from wakefold.events import Event
from wakefold.framing import frame_decision
from wakefold.guard import (
    UNTIL_A_WORD,
    Guard,
    find_not_before,
    note_told,
    reap,
)
from wakefold.guard_config import GuardConfig
from wakefold.offers import conclude_turn, plan_offer
from wakefold.outcomes import either
from wakefold.reaping import Reaped, reap_reminders
from wakefold.records import CalendarRecord
from wakefold.recoveries import clear_up
from wakefold.tools import (
    Append,
    Appended,
    Barrier,
    Confirmed,
    LogRead,
    ReadClock,
    ReadLog,
    Sampled,
    StepAnswer,
    ToolAnswer,
    ToolName,
    ToolStep,
    open_call,
)
from wakefold.wakes import (
    Decision,
    SkipDue,
    Wait,
    decide_due,
    list_dispatches,
    list_passed_over,
    plan_next_wake,
)

_Answer = TypeVar("_Answer")


class Waking(Struct, frozen=True, kw_only=True):
    """A session that is looked at, at one instant. Made by `open_waking`, and by what is done in it.

    `checkpoint` is what the log comes to with `events`, which are still to be written, in one batch.
    `limits` are the guard's, where it is on: then wakeups must be counted with their `reset_kinds`.
    `delivered` is the message whose turn was written, `reaped` what the guard says after it, and
    `passed_over` what is due in zones that this tz database lacks.
    """

    checkpoint: Checkpoint
    now_ms: int
    limits: GuardConfig | None = None
    time_zone: str | None = None
    events: tuple[Event, ...] = ()
    delivered: Input | None = None
    reaped: Reaped = Reaped()
    passed_over: tuple[CalendarRecord, ...] = ()

    @property
    def guard(self) -> Guard | None:
        """What the guard knows of the log, where it is on."""
        if self.limits is None:
            return None
        seed_length = self.checkpoint.ledger.seed_length
        wakeups = self.checkpoint.wakeups
        return Guard(config=self.limits, seed_length=seed_length, wakeups=wakeups)

    @property
    def waiting(self) -> Input | None:
        """The message that the agent is to be given next, if any."""
        inbox = self.checkpoint.conversation.inbox
        return inbox[0] if inbox else None


def open_waking(
    checkpoint: Checkpoint,
    now_ms: int,
    limits: GuardConfig | None = None,
    time_zone: str | None = None,
) -> Waking:
    """A session that is looked at, what another life of it left open cleared up first.

    `time_zone` is that of the session's header.
    """
    waking = Waking(checkpoint=checkpoint, now_ms=now_ms, limits=limits, time_zone=time_zone)
    return _write(waking, clear_up(checkpoint.conversation, checkpoint.ledger))


def call_tool(
    waking: Waking, tool: ToolName, arguments: object, protocol: Literal[1, 2] = 2
) -> tuple[Waking, ToolAnswer]:
    """What a tool answers and appends. It is true only once the batch is durable."""
    opened = open_call(tool, arguments, waking.guard, waking.now_ms, protocol, "host")
    return either(
        opened,
        lambda begin: _run(waking, begin(), waking.guard),
        lambda refusal: (waking, Failure(refusal)),
    )


def take_word(
    waking: Waking, message_id: str, rpc_id: str, text: str, client_time_zone: str | None
) -> Waking:
    """A person's word, put behind what waits already; the zone, if any, must be canonical."""
    message = make_message(message_id, text, name_person(rpc_id, client_time_zone))
    return _write(waking, (queue_input(waking.checkpoint.conversation, message),))


def write_turn(
    waking: Waking,
    given: Input,
    answer: Answer,
    begun_ms: int,
    ids: tuple[str, str],
    *,
    repeatable: bool,
) -> Waking:
    """The whole turn that an agent has taken of the message that it was given.

    Nothing where that message waits no more, or waits for another offer: somebody else has written it.
    The `ids` are for the reading of the time, as of `begun_ms`, and for what the agent said.
    """
    conversation = waking.checkpoint.conversation
    if waking.waiting != given:
        return waking
    begun = _write(waking, begin_turn(conversation, begun_ms, ids[0], repeatable=repeatable))
    ended = _write(begun, conclude_turn(begun.checkpoint.conversation, answer, ids[1]))
    return _grow(ended, delivered=given)


def look(waking: Waking, message_id: str) -> Waking:
    """What is due is handed over, in a message of that id, if the agent is idle.

    An agent that has become so by the turn that was written is reaped first.
    """
    waking = _grow(waking, passed_over=list_passed_over(waking.checkpoint.ledger, waking.now_ms))
    if waking.waiting is not None:
        return waking
    waking = _reap(waking)
    decision = _decide(waking)
    while isinstance(decision, SkipDue):  # once: what it leaves out is not due again at this instant
        waking = _write(waking, list(map(draft_change, list_dispatches(decision))))
        decision = _decide(waking)
    if isinstance(decision, Wait):
        return waking
    message = queue_reminder(waking.checkpoint.conversation, message_id, frame_decision(decision))
    return _write(waking, (message, *map(draft_change, list_dispatches(decision))))


def plan_look(waking: Waking, *, heed_hold: bool = True) -> int | None:
    """The instant at which to look next; `None`: when somebody changes the session.

    A message that waits is looked at when it may be offered, whatever comes due meanwhile. Whoever does
    not know under which limits that look will be need not heed the hold of its own.
    """
    if waking.waiting is not None:
        offer = plan_offer(waking.waiting, waking.now_ms)
        return waking.now_ms if offer is None else waking.now_ms + offer.delay_ms
    not_before_ms = _find_not_before(waking) if heed_hold else None
    wake = plan_next_wake(waking.checkpoint.ledger, waking.now_ms, not_before_ms)
    return None if wake is None or wake.at_ms == UNTIL_A_WORD else wake.at_ms


def _reap(waking: Waking) -> Waking:
    """What the guard deletes once a turn has ended, and whether that is news."""
    guard, given = waking.guard, waking.delivered
    if guard is None or given is None:
        return waking
    waking, reaped = _run(waking, reap_reminders(), _recall_told(waking, guard, given))
    return _grow(waking, reaped=reaped)


def _recall_told(waking: Waking, guard: Guard, given: Input) -> Guard:
    """The guard that has told of a stop already, if it has.

    Nobody remembers it between two looks. A stop that deletes nothing was told after an earlier turn if
    the limit was passed before the dispatches of this one.
    """
    stop = reap(guard.wakeups, waking.checkpoint.ledger, guard.config, waking.now_ms)
    if stop is None or stop.to_delete:
        return guard
    counted = stop.per_day if stop.key.reason == "per_day" else stop.consecutive
    is_news = counted - len(given.occurrences) <= stop.limit
    return guard if is_news else note_told(guard, stop.key)


def _decide(waking: Waking) -> Decision:
    """What is due; where it could not be written, nothing is."""
    found = decide_due(waking.checkpoint.ledger, waking.now_ms, _find_not_before(waking))
    return found.value_or(Wait(until_ms=None))


def _find_not_before(waking: Waking) -> int | None:
    return None if waking.guard is None else find_not_before(waking.guard, waking.now_ms)


def _run(
    waking: Waking, program: Generator[ToolStep, StepAnswer, _Answer], guard: Guard | None
) -> tuple[Waking, _Answer]:
    """Run a program: what it asks for is here already, and what it appends joins the batch.

    No turn is open in what a program sees, so that the rest of the log implies no zone.
    """
    answer: StepAnswer | None = None
    while True:
        try:
            wanted = program.send(answer) if answer else next(program)
        except StopIteration as end:
            return waking, end.value
        match wanted:
            case Barrier():
                answer = Confirmed(log=waking.checkpoint.ledger, guard=guard)
            case ReadClock():
                answer = Sampled(waking.now_ms)
            case ReadLog():
                answer = LogRead(waking.time_zone, ())
            case Append(change=change):
                waking = _write(waking, (draft_change(change),))
                answer = Appended()
            case _:
                assert_never(wanted)


def _write(waking: Waking, drafts: Sequence[Draft]) -> Waking:
    """More events at the end of the batch; what is decided here breaks no log."""
    if not drafts:
        return waking
    place = waking.checkpoint.ledger.position
    events = tuple(
        Event(draft.type, place + index, waking.now_ms, draft.data)
        for index, draft in enumerate(drafts)
    )
    checkpoint = extend_checkpoint(waking.checkpoint, events).unwrap()
    return _grow(waking, checkpoint=checkpoint, events=events)


def _grow(
    waking: Waking,
    *,
    checkpoint: Checkpoint | None = None,
    events: tuple[Event, ...] = (),
    delivered: Input | None = None,
    reaped: Reaped | None = None,
    passed_over: tuple[CalendarRecord, ...] | None = None,
) -> Waking:
    return Waking(
        checkpoint=checkpoint or waking.checkpoint,
        now_ms=waking.now_ms,
        limits=waking.limits,
        time_zone=waking.time_zone,
        events=waking.events + events,
        delivered=delivered or waking.delivered,
        reaped=reaped or waking.reaped,
        passed_over=waking.passed_over if passed_over is None else passed_over,
    )
