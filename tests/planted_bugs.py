"""Shells with one bug each, for the simulator to find."""

# ruff: noqa: SLF001 - a bug sits inside

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import filterfalse
from unittest.mock import patch

from msgspec import Struct

from wakefold import guard, lifecycle, recurrence, wakes
from wakefold import signals as fact
from wakefold.conversations import INBOX_SPLICED, Conversation, Draft, Input, follow
from wakefold.events import SCHEDULE_CHANGE, Event
from wakefold.reaping import Reaped
from wakefold.recurrence import Profile
from wakefold.tools import Sampled, StepAnswer, ToolAnswer, ToolName
from wakefold_laws.simulation import invariants as law
from wakefold_laws.simulation.parts import SimulatedStore
from wakefold_laws.simulation.shells import ClaimingHost, OpenShell, OwnShell
from wakefold_laws.simulation.weathers import ANY_WEATHER
from wakefold_laws.simulation.worlds import Home
from wakefold_shell import calls
from wakefold_shell.calls import Call
from wakefold_shell.hosts import inboxes
from wakefold_shell.hosts.inboxes import Agent, Answer
from wakefold_shell.owner import Session
from wakefold_shell.performer import Performer
from wakefold_shell.protocols import Followup


class Bug(Struct, frozen=True):
    """A shell with a bug, the world in which it has it, and the invariants that it may break."""

    name: str
    open_shell: OpenShell
    invariants: tuple[Callable[..., None], ...]
    patched: Callable[[], AbstractContextManager[object]] = nullcontext
    weather: str = ANY_WEATHER
    seeds: int = 1000
    """How many seeds it takes to find it, or may take at most."""


def change_session(**methods: Callable[..., object]) -> OpenShell:
    """The project's shell with some methods of its session replaced."""
    kind = type("BrokenSession", (Session,), methods)

    def open_shell(home: Home) -> OwnShell:
        shell = OwnShell(home)
        shell.session = kind(
            home.store, shell.host, home.clock, guard=home.limits, on_warning=home.warn
        )
        return shell

    return open_shell


def change_host(**methods: Callable[..., object]) -> OpenShell:
    """The project's shell with some methods of its inbox replaced."""
    kind = type("BrokenHost", (ClaimingHost,), methods)

    def open_shell(home: Home) -> OwnShell:
        shell = OwnShell(home)
        shell.host = kind(home)
        shell.session.host = shell.host
        return shell

    return open_shell


def append_backwards(session: Session, drafts: Sequence[Draft]) -> StepAnswer:
    return Session._append(session, tuple(reversed(drafts)))


def append_changes_twice(session: Session, drafts: Sequence[Draft]) -> StepAnswer:
    changes = [draft for draft in drafts if draft.type == SCHEDULE_CHANGE]
    return Session._append(session, (*drafts, *changes))


def answer_without_looking(session: Session, kind: type[fact.Flushed | fact.ClaimGranted]) -> None:
    """The claim is answered without the events that came meanwhile."""
    if kind is fact.ClaimGranted:
        sample = session._sample()
        session.signal(kind(sample.now_ms) if isinstance(sample, Sampled) else fact.Broke())
    else:
        Session._answer_with_clock(session, kind)


def answer_with_stale_clock(session: Session, kind: type[fact.Flushed | fact.ClaimGranted]) -> None:
    """The claim is answered with the clock as it was at the barrier."""
    if kind is fact.ClaimGranted:
        session._report()
        session.signal(kind(session._now_ms))
    else:
        Session._answer_with_clock(session, kind)


def do_nothing(*_: object) -> None:
    """In place of something."""


async def do_nothing_soon(*_: object) -> None:
    """In place of something that takes time."""


async def flush_and_say_yes(session: Session) -> bool:
    await Session._flush(session)
    return True


def submit_unguarded(session: Session, tool: ToolName, arguments: object) -> Call:
    """Admission is never asked."""
    owner = session.owner
    session.owner = type(owner)(ledger=owner.ledger, phase=owner.phase)
    try:
        return Session.submit(session, tool, arguments)
    finally:
        session.owner = owner


def dispose_carelessly(session: Session) -> None:
    """The calls under way are not taken back."""
    session.signal(fact.DisposeAsked())


def finish_no_list(session: Session, call: Call, answer: ToolAnswer | Reaped) -> None:
    if isinstance(answer, Reaped) or not isinstance(answer.value_or(None), list):
        Session._finish(session, call, answer)


def attempt_bravely(_: Session, action: Callable[[], object]) -> bool:
    action()
    return True


def keep_in_inbox(host: ClaimingHost, session: Session) -> None:
    """What has begun its turn in an earlier life still waits."""
    known = session.tell_event == host._observe
    ClaimingHost.follow(host, session)
    if not known:
        host._conversation = Conversation(seed_length=session.store.seed_length)
        for event in filterfalse(takes_from_inbox, session.store.read_events(0)):
            host._conversation = follow(host._conversation, event)


def takes_from_inbox(event: Event) -> bool:
    data = event.data if isinstance(event.data, dict) else {}
    return event.type == INBOX_SPLICED and "removedCount" in data


def ask_nobody() -> AbstractContextManager[object]:
    """The turn is taken, and the agent never hears of it."""

    async def give_turn(_agent: Agent, _given: Input, begin: Callable[[], None]) -> Answer:
        begin()
        return Answer("done")

    return patch.object(inboxes, "give_turn", give_turn)


def open_over_everything(home: Home) -> OwnShell:
    """A fork that folds its parent's events."""

    class WholeStore(SimulatedStore):
        seed_length = 0

    home.store = WholeStore(home)
    return OwnShell(home)


def arm_once(session: Session, until_ms: int, delay_ms: int) -> None:
    """A timer that is set stays as it is."""
    if session._timer is None:
        Session._arm(session, until_ms, delay_ms)


def arm_nothing(session: Session, until_ms: int, delay_ms: int) -> None:
    """The timer is set, and never rings."""
    session.clock.plan_sleep(until_ms, delay_ms)


def hand_over_twice(host: ClaimingHost, followup: Followup) -> Sequence[Draft]:
    return (*ClaimingHost.hand_over(host, followup), *ClaimingHost.hand_over(host, followup))


@contextmanager
def open_gate_early() -> Iterator[None]:
    """The gate opens a millisecond too soon."""
    right = recurrence.find_gate

    def find_gate(profile: Profile, last_ms: int | None) -> int | None:
        gate_ms = right(profile, last_ms)
        return None if gate_ms is None else gate_ms - 1

    with patch.object(wakes, "find_gate", find_gate):
        yield


def wait_for_ever() -> AbstractContextManager[object]:
    """A barrier has no deadline."""
    return patch.object(calls, "BARRIER_SECONDS_MAX", math.inf)


@contextmanager
def hold_for_no_word() -> Iterator[None]:
    """A streak that is used up holds nothing."""
    right = guard.find_not_before

    def find_not_before(known: guard.Guard, now_ms: int) -> int | None:
        until_ms = right(known, now_ms)
        return None if until_ms == guard.UNTIL_A_WORD else until_ms

    with patch.object(lifecycle, "find_not_before", find_not_before):
        yield


BUGS = (
    Bug(
        "the dispatch before its followup",
        change_session(_append=append_backwards),
        (law.check_dispatch_has_its_message,),
    ),
    Bug(
        "every dispatch twice",
        change_session(_append=append_changes_twice),
        (law.check_log_is_sound,),
    ),
    Bug("a gate off by one", OwnShell, (law.check_gate,), open_gate_early, weather="clock"),
    Bug(
        "a fork folded from 0",
        open_over_everything,
        (law.check_is_active, law.check_log_is_sound),
        weather="forks",
    ),
    Bug(
        "a delete race ignored",
        change_session(_answer_with_clock=answer_without_looking),
        (law.check_is_active,),
        weather="clock",
    ),
    Bug(
        "a clock race ignored",
        change_session(_answer_with_clock=answer_with_stale_clock),
        (law.check_is_due,),
        weather="clock",
    ),
    Bug(
        "a timer not set after a change",
        change_session(recompute=do_nothing),
        (law.check_timer_is_armed, law.check_nothing_is_stuck),
    ),
    Bug(
        "a timer not set anew",
        change_session(_disarm=do_nothing, _arm=arm_once),
        (law.check_timer_is_armed,),
    ),
    Bug(
        "a barrier that says yes",
        change_session(_flush=flush_and_say_yes),
        (law.check_answer_is_durable, law.check_given_is_durable),
    ),
    Bug(
        "a torn hand-over not mended",
        change_host(_clear_up=do_nothing),
        (law.check_given_is_durable,),
        weather="power",
    ),
    Bug(
        "a message queued twice", change_host(hand_over=hand_over_twice), (law.check_handed_over_once,)
    ),
    Bug("no admission", change_session(submit=submit_unguarded), (law.check_admission,)),
    Bug("no hold after a streak", OwnShell, (law.check_guard_holds,), hold_for_no_word),
    Bug("no reaper", change_session(went_idle=Performer.went_idle), (law.check_reaper_has_been,)),
    Bug("a timer that never rings", change_session(_arm=arm_nothing), (law.check_nothing_is_stuck,)),
    Bug(
        "a message given too soon",
        change_session(wait_confirmed=do_nothing_soon),
        (law.check_given_is_durable,),
    ),
    Bug(
        "a message given again",
        change_host(follow=keep_in_inbox),
        (law.check_nothing_is_given_again,),
    ),
    Bug("a message given to nobody", OwnShell, (law.check_messages_arrived,), ask_nobody),
    Bug("a call not answered", change_session(_finish=finish_no_list), (law.check_calls_are_answered,)),
    Bug("an exception let out", change_session(_attempt=attempt_bravely), (law.check_shell_survives,)),
    Bug(
        "a change after the end",
        change_session(dispose=dispose_carelessly),
        (law.check_end_is_quiet,),
        weather="crowd",
    ),
    Bug("a barrier without deadline", OwnShell, (law.check_shell_ends,), wait_for_ever),
)
