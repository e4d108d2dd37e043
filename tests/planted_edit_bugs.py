"""Shells with one bug each in what they make of version 2, for the simulator to find.

Each states how many seeds of its weather it took to be found when it was planted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from unittest.mock import patch

from msgspec.structs import replace
from returns.result import Result, Success
from whenever import PlainDateTime

from planted_bugs import Bug, answer_without_looking, change_session
from wakefold import (
    active_records,
    audits,
    calendars,
    edit_requests,
    guard,
    lifecycle,
    tools,
    transitions,
    wakes,
    wakeups,
)
from wakefold.calendar_rules import make_pattern
from wakefold.edit_requests import Unchanged, UpdateRequest
from wakefold.edits import Edit, Snooze, StatedDispatch
from wakefold.events import Event
from wakefold.guard import Guard
from wakefold.implied_zones import RequestZone
from wakefold.ledger import Ledger
from wakefold.option_requests import resolve_future
from wakefold.outcomes import either
from wakefold.records import CalendarRecord, Record
from wakefold.recurrence import Occurrence
from wakefold.rejections import Rejection
from wakefold.wakes import Decision, SkipDue
from wakefold.zones import Resolved, Skipped, is_known
from wakefold_laws.simulation import edit_invariants as edit_law
from wakefold_laws.simulation import invariants as law
from wakefold_laws.simulation.shells import OwnShell

Patch = Callable[[], AbstractContextManager[object]]


def replacing(module: object, name: str, make: Callable[[Any], Callable[..., object]]) -> Patch:
    """What puts another function in the place of a module's own, which it may call."""

    @contextmanager
    def patched() -> Iterator[None]:
        with patch.object(module, name, make(getattr(module, name))):
            yield

    return patched


def plan_paused(right: Callable[[Record], object]) -> Callable[..., object]:
    """A pause is not seen by who plans."""

    def make_leaf(record: Record) -> object:
        return right(replace(record, standing=replace(record.standing, paused=False)))

    return make_leaf


def forget_option(name: str) -> Callable[[Any], Callable[..., object]]:
    """An option ends no reminder."""

    def make(right: Callable[..., Record | None]) -> Callable[..., object]:
        def move(record: Record, next_ms: int | None, runs: int) -> Record | None:
            options = replace(record.options, **{name: None})
            moved = right(replace(record, options=options), next_ms, runs)
            return moved and replace(moved, options=record.options)

        return move

    return make


def snooze_sequence(right: Callable[[Record, int], Occurrence]) -> Callable[..., object]:
    """After a snooze the rule goes on from its end."""

    def evaluate(record: Record, at_ms: int) -> Occurrence:
        found, snoozed_ms = right(record, at_ms), record.standing.snoozed_until_ms
        if snoozed_ms is None or found.next_target_ms is None or not isinstance(record, CalendarRecord):
            return found
        ahead_ms = snoozed_ms - record.scheduled_at_ms
        return Occurrence(found.occurrence_ms, found.next_target_ms + ahead_ms)

    return evaluate


def snooze_for_long(right: Callable[..., Result[Edit, Rejection]]) -> Callable[..., object]:
    """A snooze may last past the next occurrence."""

    def snooze(
        record: Record, until: object, now_ms: int, zone: RequestZone
    ) -> Result[Edit, Rejection]:
        until_ms = either(resolve_future(until, now_ms, zone), lambda at_ms: at_ms, lambda _: None)
        if until_ms is None or until_ms <= record.scheduled_at_ms:
            return right(record, until, now_ms, zone)
        return Success(Snooze(record.id, until_ms))

    return snooze


def drop_silently(right: Callable[[Decision], tuple[object, ...]]) -> Callable[..., object]:
    """What is too late leaves no skip, as if it had been delivered."""

    def list_dispatches(decision: Decision) -> tuple[object, ...]:
        if not isinstance(decision, SkipDue):
            return right(decision)
        return tuple(
            StatedDispatch(entry.record.id, decision.accepted_at_ms, entry.occurrence_ms, entry.next_ms)
            for entry in decision.entries
        )

    return list_dispatches


def overwrite(right: Callable[..., object]) -> Callable[..., object]:
    """An edit is made on whatever revision there is."""

    def make_edit(
        request: UpdateRequest, ledger: Ledger, now_ms: int, zone: RequestZone
    ) -> Edit | Unchanged | object:
        return right(replace(request, revision=None), ledger, now_ms, zone)

    return make_edit


def fill_gaps(right: Callable[[PlainDateTime, str], object]) -> Callable[..., object]:
    """A local time that the clocks skip occurs an hour later."""

    def resolve_local(local: PlainDateTime, zone: str) -> object:
        found = right(local, zone)
        if not isinstance(found, Skipped):
            return found
        return right(local.add(hours=1, naive_arithmetic_ok=True), zone)

    return resolve_local


def fire_in_second_pass(right: Callable[[PlainDateTime, str], object]) -> Callable[..., object]:
    """A local time that the clocks repeat occurs when it is read for the second time."""

    def resolve_local(local: PlainDateTime, zone: str) -> object:
        found = right(local, zone)
        if not isinstance(found, Resolved):
            return found
        later = local.assume_tz(zone, disambiguation="later").timestamp(unit="millisecond")
        return replace(found, instant_ms=int(later))

    return resolve_local


def fold_by_calendar(right: Callable[..., Record | None]) -> Callable[..., object]:
    """The fold evaluates the rule again."""

    def move(record: Record, next_ms: int | None, runs: int) -> Record | None:
        if next_ms is None or not isinstance(record, CalendarRecord):
            return right(record, next_ms, runs)
        rule = record.rule
        known = is_known(rule.time_zone)
        again_ms = (
            calendars.find_next(make_pattern(rule), rule.time_zone, next_ms - 1) if known else None
        )
        return right(record, again_ms, runs)

    return move


def count_version_1(right: Callable[[Event], bool]) -> Callable[..., object]:
    """A dispatch that states its occurrence wakes nobody."""

    def is_dispatch(event: Event) -> bool:
        return right(event) and isinstance(event.data, dict) and event.data.get("version") == 1

    return is_dispatch


def watch_version_1(right: Callable[[Guard, Event], Guard]) -> Callable[..., object]:
    """An audit that counts dispatches of version 1 alone."""

    def watch(known: Guard, event: Event) -> Guard:
        data = event.data if isinstance(event.data, dict) else {}
        return known if data.get("version") == 2 else right(known, event)

    return watch


def in_place_of(value: object) -> Callable[[Any], Any]:
    """The value, whatever stood there."""
    return lambda _: value


EDIT_BUGS = (
    Bug(
        "a paused reminder planned",
        OwnShell,
        (edit_law.check_is_not_paused,),
        replacing(active_records, "_make_leaf", plan_paused),
        weather="edits",
        seeds=1,
    ),
    Bug(
        "a pause race ignored",
        change_session(_answer_with_clock=answer_without_looking),
        (edit_law.check_is_not_paused,),
        weather="edits",
        seeds=20,
    ),
    Bug(
        "runs not counted",
        OwnShell,
        (edit_law.check_ends_in_time,),
        replacing(transitions, "_move", forget_option("max_runs")),
        weather="calendar",
        seeds=7,
    ),
    Bug(
        "an end passed",
        OwnShell,
        (edit_law.check_ends_in_time,),
        replacing(transitions, "_move", forget_option("until_ms")),
        weather="calendar",
        seeds=9,
    ),
    Bug(
        "a snooze that moves the sequence",
        OwnShell,
        (edit_law.check_keeps_its_sequence,),
        replacing(wakes, "evaluate", snooze_sequence),
        weather="edits",
        seeds=2,
    ),
    Bug(
        "a snooze not waited for",
        OwnShell,
        (law.check_is_due,),
        replacing(active_records, "find_due", in_place_of(lambda record: record.scheduled_at_ms)),
        weather="edits",
        seeds=2,
    ),
    Bug(
        "a snooze past the next occurrence",
        OwnShell,
        (edit_law.check_snooze_is_short,),
        replacing(edit_requests, "_snooze", snooze_for_long),
        weather="edits",
        seeds=31,
    ),
    Bug(
        "a grace without end",
        OwnShell,
        (edit_law.check_grace,),
        replacing(wakes, "_list_late", in_place_of(lambda *_, **__: ())),
        weather="calendar",
        seeds=6,
    ),
    Bug(
        "a late occurrence dropped silently",
        OwnShell,
        (edit_law.check_grace, law.check_dispatch_has_its_message),
        replacing(lifecycle, "list_dispatches", drop_silently),
        weather="calendar",
        seeds=6,
    ),
    Bug(
        "a revision overwritten",
        OwnShell,
        (edit_law.check_revision,),
        replacing(tools, "make_edit", overwrite),
        weather="edits",
        seeds=1,
    ),
    Bug(
        "a gap filled",
        OwnShell,
        (edit_law.check_keeps_its_sequence,),
        replacing(calendars, "resolve_local", fill_gaps),
        weather="calendar",
        seeds=6,
    ),
    Bug(
        "an overlap read twice",
        OwnShell,
        (edit_law.check_keeps_its_sequence,),
        replacing(calendars, "resolve_local", fire_in_second_pass),
        weather="edits",
        seeds=8,
    ),
    Bug(
        "a fold by the calendar",
        OwnShell,
        (edit_law.check_fold_needs_no_zone,),
        replacing(transitions, "_move", fold_by_calendar),
        weather="calendar",
        seeds=1,
    ),
    Bug(
        "updates not admitted",
        OwnShell,
        (law.check_admission,),
        replacing(guard, "ADMITTED_TOOLS", in_place_of(frozenset({"schedule_create"}))),
        weather="edits",
        seeds=8,
    ),
    Bug(
        "stated dispatches not counted",
        OwnShell,
        (law.check_guard_holds, law.check_admission, law.check_reaper_has_been),
        replacing(wakeups, "is_wakeup", count_version_1),
        weather="calendar",
        seeds=1,
    ),
    Bug(
        "an audit of version 1 alone",
        OwnShell,
        (edit_law.check_audit_agrees,),
        replacing(audits, "watch", watch_version_1),
        weather="calendar",
        seeds=1,
    ),
)
