"""Targets that this tz database places elsewhere: which, where to, and the edit."""

from __future__ import annotations

import pytest

from wakefold import Ledger
from wakefold.calendar_rules import CalendarRule, DailyRule
from wakefold.events import SCHEDULE_CHANGE, AtRecord, Event, Record, encode_change
from wakefold.instants import parse_instant
from wakefold.ledger import evolve
from wakefold.records import EDITABLE, PLAIN, CalendarRecord, Options
from wakefold.retargets import describe_zoneless, list_moves, list_zoneless, make_move

NINE = DailyRule("09:00:00.000", "Europe/Berlin")


def ms(text: str) -> int:
    instant_ms = parse_instant(f"2027-01-{text}:00.000Z")
    assert instant_ms is not None
    return instant_ms


def hold(target: str, rule: CalendarRule = NINE, options: Options = PLAIN) -> Ledger:
    records: list[Record] = [
        CalendarRecord("a", "x", rule, ms(target), options, EDITABLE),
        AtRecord("b", "y", ms(target)),
    ]
    return Ledger(records={record.id: record for record in records}, seen_ids={"a": None, "b": None})


@pytest.mark.parametrize(
    ("target", "now", "until", "moved"),
    [
        ("05T08:00", "04T12:00", None, None),
        ("05T07:00", "04T12:00", None, "05T08:00"),
        ("05T09:00", "04T12:00", None, "05T08:00"),
        ("05T09:00", "05T08:30", None, "06T08:00"),
        ("05T09:00", "05T09:00", None, None),
        ("05T07:00", "04T12:00", "05T07:30", None),
    ],
)
def test_a_future_target_goes_to_the_nearest_future_occurrence(
    target: str, now: str, until: str | None, moved: str | None
) -> None:
    """One that stands right stays, and so does what is due, or has no place before its end."""
    options = PLAIN if until is None else Options(until_ms=ms(until))
    moves = list_moves(hold(target, options=options), ms(now))
    assert [move.target_ms for move in moves] == ([] if moved is None else [ms(moved)])


def test_the_edit_moves_the_target_and_raises_the_revision() -> None:
    """The rule stays as it is; afterwards nothing is left to move."""
    ledger = hold("05T07:00")
    (move,) = list_moves(ledger, ms("04T12:00"))
    event = Event(SCHEDULE_CHANGE, 0, 0, encode_change(make_move(move)))
    after = evolve(ledger, event).unwrap()
    record = after.records["a"]
    assert isinstance(record, CalendarRecord)
    assert (record.rule, record.scheduled_at_ms, record.standing.revision) == (NINE, ms("05T08:00"), 1)
    assert list_moves(after, ms("04T12:00")) == ()


def test_a_zone_that_is_lacking_is_told_and_nothing_is_moved() -> None:
    ledger = hold("05T07:00", DailyRule("09:00:00.000", "Mars/Base"))
    assert list_moves(ledger, ms("04T12:00")) == ()
    (record,) = list_zoneless(ledger)
    assert describe_zoneless(record) == '"a" is in Mars/Base, which this tz database lacks'
    assert list_zoneless(hold("05T07:00")) == ()
