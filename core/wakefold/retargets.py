"""Stored targets that this tz database would place elsewhere, and the edits that move them.

This module decides where a target of a calendar rule belongs today. A fold never asks: what is stored
holds until somebody writes such an edit (calendar.md section 2).
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from wakefold.calendar_rules import make_pattern
from wakefold.calendars import find_latest, find_next
from wakefold.edits import Changes, NewRule, Update
from wakefold.ledger import Ledger, list_active
from wakefold.occurrences import can_evaluate
from wakefold.records import CalendarRecord
from wakefold.rejections import shorten

#: What to do where a zone is lacking.
ZONELESS_REMEDY: Final = "update the tz database, or give the reminder another rule"


class Move(Struct, frozen=True):
    """A reminder with its future target, and where this tz database places that (epoch ms)."""

    record: CalendarRecord
    target_ms: int


def list_moves(ledger: Ledger, now_ms: int) -> tuple[Move, ...]:
    """The future targets that are no occurrence of their rule any more, in create order.

    Each goes to the nearest occurrence that is still future and not after the record's end. What is due
    already is delivered once as it is stored.
    """
    found = (
        Move(record, target_ms)
        for record in list_active(ledger)
        if isinstance(record, CalendarRecord) and can_evaluate(record)
        for target_ms in [_find_nearest(record, now_ms)]
        if target_ms is not None
    )
    return tuple(move for move in found if move.target_ms != move.record.scheduled_at_ms)


def list_zoneless(ledger: Ledger) -> tuple[CalendarRecord, ...]:
    """The reminders that this tz database cannot evaluate, for it lacks their zone."""
    return tuple(
        record
        for record in list_active(ledger)
        if isinstance(record, CalendarRecord) and not can_evaluate(record)
    )


def describe_zoneless(record: CalendarRecord) -> str:
    """One sentence of a reminder whose zone is lacking, without its end and what to do."""
    return f"{shorten(record.id)} is in {record.rule.time_zone}, which this tz database lacks"


def make_move(move: Move) -> Update:
    """The edit that writes a move down: the same rule, with its target."""
    return Update(move.record.id, Changes(rule=NewRule(move.record.rule, move.target_ms)))


def _find_nearest(record: CalendarRecord, now_ms: int) -> int | None:
    target_ms, zone, until_ms = record.scheduled_at_ms, record.rule.time_zone, record.options.until_ms
    pattern = make_pattern(record.rule)
    around = (find_latest(pattern, zone, target_ms), find_next(pattern, zone, target_ms))
    possible = [
        at_ms
        for at_ms in around
        if at_ms is not None and at_ms > now_ms and (until_ms is None or at_ms <= until_ms)
    ]
    if target_ms <= now_ms:
        return None
    return min(possible, key=lambda at_ms: abs(at_ms - target_ms), default=None)
