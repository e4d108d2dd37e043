"""The reaper's program, step by step."""

from __future__ import annotations

import pytest

from core_logs import T, at, created, deleted, dispatched, event, every, ledger_of, log, ok, refused
from wakefold.events import Delete
from wakefold.guard import Guard, StopKey, note_told, reap
from wakefold.guard_config import DEFAULT_CONFIG, GuardConfig
from wakefold.ledger import EMPTY, Ledger, fold
from wakefold.reaping import Reaped, reap_reminders
from wakefold.tools import (
    Append,
    Appended,
    Barrier,
    Confirmed,
    LogRead,
    ReadClock,
    Refused,
    Sampled,
    StepAnswer,
    ToolStep,
)
from wakefold.wakeups import Wakeups

FAST = (created(every("f", seconds=600)), created(every("g", seconds=300)))
MIXED = ledger_of(created(at("a")), *FAST, created(every("s", seconds=1800)))
SHOTS = ledger_of(created(at("a")))
CORRUPT = refused(fold(log(dispatched("a"))))
GUARD = Guard(config=DEFAULT_CONFIG)
TIRED = Guard(config=DEFAULT_CONFIG, wakeups=Wakeups(7, 7, (T,) * 7, 7, word_seq=3))
NOW = Sampled(T)
BOTH = [Append(Delete("f")), Append(Delete("g"))]


def play(*answers: StepAnswer) -> tuple[list[ToolStep], Reaped | None]:
    """The steps that the program asks for while it is given these answers, and what came of it."""
    program = reap_reminders()
    steps = [next(program)]
    for answer in answers:
        try:
            steps.append(program.send(answer))
        except StopIteration as end:
            reaped = end.value
            assert isinstance(reaped, Reaped)
            return steps, reaped
    return steps, None


@pytest.mark.parametrize(
    "answer",
    [
        Refused(),
        NOW,
        LogRead(None, []),
        Confirmed(log=CORRUPT, guard=TIRED),
        Confirmed(log=None, guard=TIRED),
    ],
)
def test_without_a_durable_readable_log_nothing_is_done(answer: StepAnswer) -> None:
    """A barrier that is refused, a corrupt log, one that cannot be read: the next idle tries again."""
    assert play(answer) == ([Barrier()], Reaped())


@pytest.mark.parametrize(
    ("confirmed", "sampled"),
    [
        (Confirmed(MIXED), NOW),
        (Confirmed(MIXED, TIRED), Refused()),
        (Confirmed(MIXED, TIRED), Appended()),
        (Confirmed(EMPTY, GUARD), NOW),
        (Confirmed(ledger_of(created(every(seconds=1800))), GUARD), NOW),
    ],
)
def test_without_a_guard_a_clock_or_a_trip_nothing_is_done(
    confirmed: Confirmed, sampled: StepAnswer
) -> None:
    """Two steps, and nothing appended."""
    assert play(confirmed, sampled) == ([Barrier(), ReadClock()], Reaped())


@pytest.mark.parametrize("guard", [GUARD, TIRED])
def test_a_trip_deletes_and_is_confirmed_and_told(guard: Guard) -> None:
    """Barrier, clock, one delete for each record in create order, barrier."""
    confirmed = Confirmed(MIXED, guard)
    steps, reaped = play(confirmed, NOW, Appended(), Appended(), confirmed)
    assert steps == [Barrier(), ReadClock(), *BOTH, Barrier()]
    stop = reap(guard.wakeups, MIXED, DEFAULT_CONFIG, T)
    assert reaped == Reaped(stop, T, confirmed=True)
    assert stop is not None


def test_the_clock_sample_decides() -> None:
    """The day is that of the sample, and the report carries it."""
    config = GuardConfig(max_per_day=6)
    guard = Guard(config=config, wakeups=Wakeups(0, 0, (T,) * 7, 7))
    confirmed = Confirmed(SHOTS, guard)
    assert play(confirmed, Sampled(T + 86_400_000))[1] == Reaped()
    reaped = play(confirmed, Sampled(T + 1))[1]
    assert reaped is not None
    assert reaped.stop is not None
    assert (reaped.stop.key.reason, reaped.now_ms) == ("per_day", T + 1)


@pytest.mark.parametrize("appended", [0, 1])
def test_an_append_that_fails_ends_it_untold(appended: int) -> None:
    """What was deleted before it is gone already; the next idle deletes the rest and tells then."""
    steps, reaped = play(Confirmed(MIXED, GUARD), NOW, *[Appended()] * appended, Refused())
    assert steps == [Barrier(), ReadClock(), *BOTH[: appended + 1]]
    assert reaped == Reaped()


def test_deletes_that_are_not_confirmed_are_told_as_such() -> None:
    """The stop happened; whether it will last is not known."""
    answers = (Confirmed(MIXED, GUARD), NOW, Appended(), Appended())
    told = play(*answers, Refused())[1]
    assert told == Reaped(reap(GUARD.wakeups, MIXED, DEFAULT_CONFIG, T), T, confirmed=False)
    assert play(*answers, Confirmed(log=None))[1] == play(*answers, Confirmed(MIXED, GUARD))[1]


def test_a_trip_without_deletes_needs_no_second_barrier() -> None:
    """There is nothing that could be lost; it is told all the same."""
    steps, reaped = play(Confirmed(SHOTS, TIRED), NOW)
    assert steps == [Barrier(), ReadClock()]
    assert reaped == Reaped(reap(TIRED.wakeups, SHOTS, DEFAULT_CONFIG, T), T)


def test_one_stop_is_told_once() -> None:
    """A key that was told is not told again, and still whatever comes up is deleted."""
    told = note_told(TIRED, StopKey("consecutive", 3))
    assert play(Confirmed(SHOTS, told), NOW)[1] == Reaped()
    again = Confirmed(MIXED, told)
    steps, reaped = play(again, NOW, Appended(), Appended(), again)
    assert steps == [Barrier(), ReadClock(), *BOTH, Barrier()]
    assert reaped == Reaped()


@pytest.mark.parametrize(
    "key", [StopKey("consecutive", 2), StopKey("consecutive"), StopKey("per_day", 3)]
)
def test_another_stop_is_news(key: StopKey) -> None:
    """After another external word, or for another reason."""
    reaped = play(Confirmed(SHOTS, note_told(TIRED, key)), NOW)[1]
    assert reaped is not None
    assert reaped.stop is not None
    assert reaped.stop.key == StopKey("consecutive", 3)


def test_other_too_fast_records_are_another_stop() -> None:
    """The set of their ids makes the stop, whichever of them was told of."""
    told = note_told(GUARD, StopKey("interval", ids=frozenset("f")))
    confirmed = Confirmed(MIXED, told)
    reaped = play(confirmed, NOW, Appended(), Appended(), confirmed)[1]
    assert reaped is not None
    assert reaped.stop is not None
    assert reaped.stop.key.ids == {"f", "g"}


def test_its_deletes_may_follow_the_log() -> None:
    """They fold, and what is left trips no more."""
    steps, _ = play(Confirmed(MIXED, GUARD), NOW, Appended(), Appended(), Refused())
    ids = [
        step.change.id for step in steps if isinstance(step, Append) and isinstance(step.change, Delete)
    ]
    events = [
        *log(created(at("a")), *FAST),
        *(event(deleted(name), 3 + n) for n, name in enumerate(ids)),
    ]
    left: Ledger = ok(fold(events))
    assert list(left.records) == ["a"]
    assert play(Confirmed(left, GUARD), NOW)[1] == Reaped()
