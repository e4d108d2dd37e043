"""Why a reminder has or has not been delivered: each reason from a log that has it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from journal_files import NOON_MS
from wakefold import PUBLISHED, SEED, Event
from wakefold.calendar_rules import DailyRule
from wakefold.conversations import INBOX_SPLICED, TURN_START, make_message
from wakefold.edits import Pause, Resume, Skip, Snooze, StatedDispatch
from wakefold.events import (
    SCHEDULE_CHANGE,
    AtRecord,
    CalendarRecord,
    Change,
    Create,
    Delete,
    Dispatch,
    EveryRecord,
    encode_change,
)
from wakefold.explanations import (
    Busy,
    Due,
    Ended,
    Exhausted,
    Explanation,
    Gated,
    Held,
    Mark,
    NeverCreated,
    NotDue,
    Paused,
    TooLate,
    Verdict,
    ZoneUnknown,
    describe_verdict,
    encode_explanation,
    explain,
)
from wakefold.guard_config import GuardConfig
from wakefold.instants import MAX_INSTANT_MS, format_instant
from wakefold.records import EDITABLE, Options

HOUR = 3_600_000
ONCE = Create(AtRecord("a", "x", NOON_MS))
REPEAT = Create(EveryRecord("a", "x", 3600, NOON_MS))
GRACE = Options(missed="skip", grace_seconds=300)


def lay(*changes: Change | tuple[str, object]) -> list[Event]:
    """The events of a log, one second apart."""
    return [
        Event(SCHEDULE_CHANGE, seq, 1000 * seq, encode_change(told))
        if isinstance(told, Change)
        else Event(told[0], seq, 1000 * seq, told[1])
        for seq, told in enumerate(changes)
    ]


def repeat(*, options: Options, target_ms: int = NOON_MS) -> Create:
    return Create(EveryRecord("a", "x", 3600, target_ms, options, EDITABLE))


def read(events: Sequence[Event], now_ms: int, config: GuardConfig | None = None) -> Explanation:
    return explain(events, "a", now_ms, config).unwrap()


def stated(occurrence_ms: int, next_ms: int | None = None) -> StatedDispatch:
    return StatedDispatch("a", occurrence_ms, occurrence_ms, next_ms)


TURN = (TURN_START, {"turn": 1})
INPUT = (
    INBOX_SPLICED,
    {
        "target": "next-turn",
        "start": 0,
        "inserted": [make_message("m", "x", {"kind": "user", "rpcId": "r"})],
    },
)
CASES: list[tuple[list[Event], int, Verdict, str]] = [
    (lay(), 0, NeverCreated(), "no reminder of this id was ever made in this session"),
    (lay(ONCE, Delete("a")), NOON_MS, Ended("deleted", 1, 1000), "it was deleted (1970"),
    (
        lay(ONCE, Dispatch("a")),
        NOON_MS,
        Ended("delivered", 1, 1000),
        "it was delivered, and comes once",
    ),
    (
        lay(
            Create(AtRecord("a", "x", NOON_MS, GRACE, EDITABLE)),
            Skip("a", NOON_MS + HOUR, NOON_MS),
        ),
        NOON_MS + HOUR,
        Ended("skipped", 1, 1000),
        "its only occurrence was skipped, for it was too late",
    ),
    (
        lay(repeat(options=Options(max_runs=1)), stated(NOON_MS, NOON_MS + HOUR)),
        NOON_MS,
        Ended("max_runs", 1, 1000),
        "as max_runs says",
    ),
    (
        lay(repeat(options=Options(until_ms=NOON_MS, max_runs=2)), stated(NOON_MS, NOON_MS + HOUR)),
        NOON_MS,
        Ended("until", 1, 1000),
        "its next occurrence would lie after its until",
    ),
    (
        lay(
            Create(EveryRecord("a", "x", 3600, MAX_INSTANT_MS)),
            Dispatch("a", MAX_INSTANT_MS),
        ),
        MAX_INSTANT_MS,
        Ended("no_next", 1, 1000),
        "its rule has no further occurrence (1970-01-01T00:00:01.000Z, event 1)",
    ),
    (
        lay(ONCE, Pause("a"), Resume("a"), Pause("a"), Create(AtRecord("b", "y", 0))),
        NOON_MS,
        Paused(3, 3000),
        "it is paused (since 1970-01-01T00:00:03.000Z, event 3): resume it",
    ),
    (
        lay(
            Create(
                CalendarRecord("a", "x", DailyRule("09:00:00.000", "Mars/Base"), 0, standing=EDITABLE)
            )
        ),
        NOON_MS,
        ZoneUnknown("Mars/Base"),
        "this tz database lacks its zone, Mars/Base",
    ),
    (
        lay(ONCE),
        NOON_MS - 1,
        NotDue(NOON_MS, snoozed=False),
        "it is not due before 2027-01-04T12:00:00.000Z",
    ),
    (
        lay(ONCE, Snooze("a", NOON_MS + 1)),
        NOON_MS,
        NotDue(NOON_MS + 1, snoozed=True),
        "it is snoozed until 2027-01-04T12:00:00.001Z",
    ),
    (
        lay(
            REPEAT,
            Create(EveryRecord("b", "x", 300, MAX_INSTANT_MS - 1)),
            Dispatch("b", MAX_INSTANT_MS - 1),
        ),
        MAX_INSTANT_MS,
        Exhausted(),
        "no repeating reminder comes any more",
    ),
    (
        lay(ONCE, TURN),
        NOON_MS,
        Busy(turn_open=True, inputs=0),
        "the agent is busy: a turn is open (0 in the inbox)",
    ),
    (
        lay(ONCE, INPUT),
        NOON_MS,
        Busy(turn_open=False, inputs=1),
        "the agent is busy: an input waits for its turn (1 in the inbox)",
    ),
    (
        lay(repeat(options=GRACE)),
        NOON_MS + 301_000,
        TooLate(301_000, 300),
        "it is 301 s late, its grace is 300 s: it will be skipped",
    ),
    (lay(repeat(options=GRACE)), NOON_MS + 300_000, Due(NOON_MS), "it is due since 2027-01-04T12:00"),
    (
        lay(REPEAT, Create(EveryRecord("b", "x", 3600, NOON_MS)), Dispatch("b", NOON_MS)),
        NOON_MS + 1,
        Gated(NOON_MS + 300_000),
        "the gate opens at 2027-01-04T12:05:00.000Z",
    ),
    (
        lay(REPEAT, Create(EveryRecord("b", "x", 3600, NOON_MS)), Dispatch("b", NOON_MS)),
        NOON_MS + 300_000,
        Due(NOON_MS),
        "nothing in the log stands in its way",
    ),
    (lay(ONCE), NOON_MS, Due(NOON_MS), "it is due since 2027-01-04T12:00:00.000Z"),
]


@pytest.mark.parametrize(
    ("events", "now_ms", "verdict", "sentence"), CASES, ids=[type(case[2]).__name__ for case in CASES]
)
def test_each_reason_is_told_from_a_log_that_has_it(
    events: list[Event], now_ms: int, verdict: Verdict, sentence: str
) -> None:
    found = read(events, now_ms)
    assert found.verdict == verdict
    assert sentence in describe_verdict(found.verdict)
    assert encode_explanation(found)["sentence"] == describe_verdict(found.verdict)


def test_the_guard_holds_until_an_instant_or_until_a_word() -> None:
    """Its limits with hold; without a guard nothing holds."""
    events = lay(ONCE, Create(AtRecord("b", "y", 0)), Dispatch("b"))
    hour = GuardConfig(hold=True, max_per_hour=1)
    assert read(lay(ONCE), NOON_MS, hour).verdict == Due(NOON_MS)
    late = [Event(e.type, e.seq, NOON_MS, e.data) for e in events]
    held = read(late, NOON_MS + 1, hour).verdict
    assert held == Held(NOON_MS + HOUR + 1)
    assert describe_verdict(held).endswith("until 2027-01-04T13:00:00.001Z")
    streak = GuardConfig(hold=True, max_consecutive_wakeups=1)
    words = read(late, NOON_MS + 1, streak)
    assert words.verdict == Held(None)
    assert describe_verdict(words.verdict).endswith("until the next external word")
    assert encode_explanation(words)["until"] is None
    assert read(late, NOON_MS + 1).verdict == Due(NOON_MS)


def test_what_was_delivered_and_skipped_last_is_told_beside_it() -> None:
    """The last of each, deliveries counted; instants as text."""
    events = lay(
        repeat(options=GRACE),
        stated(NOON_MS, NOON_MS + HOUR),
        Skip("a", NOON_MS + HOUR + 301_000, NOON_MS + HOUR, NOON_MS + 2 * HOUR),
        stated(NOON_MS + 2 * HOUR, NOON_MS + 3 * HOUR),
    )
    found = read(events, NOON_MS + 2 * HOUR)
    assert found.deliveries == 2
    assert found.last_delivery == Mark(3, 3000, NOON_MS + 2 * HOUR)
    assert found.last_skip == Mark(2, 2000, NOON_MS + HOUR)
    assert encode_explanation(found) == {
        "id": "a",
        "why": "not-due",
        "due": format_instant(NOON_MS + 3 * HOUR),
        "snoozed": False,
        "sentence": f"it is not due before {format_instant(NOON_MS + 3 * HOUR)}",
        "deliveries": 2,
        "lastDelivery": {
            "seq": 3,
            "at": "1970-01-01T00:00:03.000Z",
            "occurrence": format_instant(NOON_MS + 2 * HOUR),
        },
        "lastSkip": {
            "seq": 2,
            "at": "1970-01-01T00:00:02.000Z",
            "occurrence": format_instant(NOON_MS + HOUR),
        },
    }


def test_a_fork_is_told_of_its_own_suffix_alone() -> None:
    """What was inherited was never made here."""
    events = lay(ONCE, Dispatch("a"), Create(AtRecord("b", "y", 0)))
    assert explain(events, "a", NOON_MS, seed_length=2).unwrap().verdict == NeverCreated()
    assert explain(events, "a", NOON_MS, seed_length=2).unwrap().deliveries == 0
    assert explain(events, "b", NOON_MS, seed_length=2).unwrap().verdict == Due(0)


def test_a_log_that_cannot_be_believed_explains_nothing() -> None:
    """Of the own suffix, and of what receipts are read from; a time that is none is shown as it is."""
    assert explain(lay(Delete("a")), "a", 0).failure().rule == "id_not_active"
    inherited = lay(Dispatch("a"), ONCE)
    assert explain(inherited, "a", 0, seed_length=1).failure().rule == "id_not_active"
    far = Ended("deleted", 1, MAX_INSTANT_MS + 1)
    assert describe_verdict(far) == f"it was deleted ({MAX_INSTANT_MS + 1} ms, event 1)"


def test_without_a_gate_nothing_is_gated() -> None:
    """The profile of the released package."""
    events = lay(REPEAT, Create(EveryRecord("b", "x", 3600, NOON_MS)), Dispatch("b", NOON_MS))
    assert explain(events, "a", NOON_MS + 1, profile=PUBLISHED).unwrap().verdict == Due(NOON_MS)
    assert isinstance(explain(events, "a", NOON_MS + 1, profile=SEED).unwrap().verdict, Gated)
