"""What a report shows of a session: everything that the log tells, read once.

This module decides what is asked of the core. It refuses to count, and to know a page: the numbers are
those that `inspect`, `receipts`, `guard audit` and `next` tell of the same log.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from wakefold import (
    CorruptScheduleLog,
    Event,
    Profile,
    either,
    list_receipts,
    preview,
)
from wakefold.audits import Audit, audit
from wakefold.counters import Counters, trace_counters
from wakefold.guard_config import GuardConfig
from wakefold.lives import Life, list_lives
from wakefold.receipts import DispatchReceipt
from wakefold.turns import Turn, Word, list_external_words, list_turns
from wakefold.wakes import Upcoming
from wakefold.wakeups import count_wakeups
from wakefold_shell.dispatches import Delivered, Watch, match_deliveries
from wakefold_shell.inspections import Inspection, inspect_session, list_zone_warnings
from wakefold_shell.stores.journals import Journal, find_corruption, fold_journal, open_journal
from wakefold_shell.stores.logs import PARSED_TYPES
from wakefold_shell.stores.rows import Header

UPCOMING_MAX: Final = 50
"""How many of the coming deliveries a report shows."""


class Terms(Struct, frozen=True, kw_only=True):
    """What a log is looked at under: the instant, the guard's limits, the rule between batches."""

    now_ms: int
    limits: GuardConfig
    profile: Profile
    line_bytes_max: int


class Facts(Struct, frozen=True, kw_only=True):
    """A session as a report shows it; `last_ms` is the time of the last event, if there is one."""

    header: Header
    terms: Terms
    events: int
    first_ms: int | None
    last_ms: int | None
    warnings: tuple[str, ...]
    inspection: Inspection
    delivered: tuple[Delivered, ...]
    audit: Audit
    lives: tuple[Life, ...]
    counters: Counters
    turns: tuple[Turn, ...]
    words: tuple[Word, ...]
    upcoming: tuple[Upcoming, ...]


def read_facts(path: Path, terms: Terms, watch: Watch = lambda _, events: events) -> Facts:
    """The facts of a sound journal; `JournalError` with the place where it is not.

    `watch` looks on while events are read. All of them are held at once.
    """
    events: list[Event] = []
    with open_journal(path, terms.line_bytes_max) as opened:
        ledger = fold_journal(
            opened, terms.profile, _keep(watch(opened, opened.read_events(PARSED_TYPES)), events)
        )
        torn = [] if opened.warning is None else [opened.warning]
        entries = _read_receipts(opened, events)
    seed_length, limits = opened.header.seed_length, terms.limits
    own = events[seed_length:]
    times_ms = [event.time_ms for event in events]
    return Facts(
        header=opened.header,
        terms=terms,
        events=len(events),
        first_ms=min(times_ms, default=None),
        last_ms=max(times_ms, default=None),
        warnings=(*torn, *list_zone_warnings(ledger)),
        inspection=inspect_session(
            ledger, count_wakeups(own, limits.reset_kinds), limits, terms.now_ms
        ),
        delivered=match_deliveries(entries, events, seed_length),
        audit=audit(events, limits, seed_length, terms.profile).unwrap(),
        lives=list_lives(events, seed_length),
        counters=trace_counters(
            events, seed_length, limits.reset_kinds, limits.day_boundary_offset_minutes
        ),
        turns=tuple(list_turns(events)),
        words=tuple(list_external_words(events, seed_length, limits.reset_kinds)),
        upcoming=preview(ledger, terms.now_ms, UPCOMING_MAX),
    )


def _keep(events: Iterator[Event], kept: list[Event]) -> Iterator[Event]:
    """Pass events on to whoever folds them, and keep them all, without what nobody asks for."""
    for event in events:
        known = event.type in PARSED_TYPES
        kept.append(event if known else Event(event.type, event.seq, event.time_ms, None))
        yield event


def _read_receipts(opened: Journal, events: list[Event]) -> tuple[DispatchReceipt, ...]:
    def refuse(fault: CorruptScheduleLog) -> tuple[DispatchReceipt, ...]:
        raise find_corruption(opened, fault)

    return either(list_receipts(events, opened.header.seed_length), lambda found: found, refuse)
