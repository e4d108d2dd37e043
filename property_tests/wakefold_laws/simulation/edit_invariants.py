"""What no shell may do with reminders that are edited, end, skip or go by the calendar (calendar.md).

Each is a function of one sentence, which is handed what it needs and raises `Violation`. What a rule
comes to is read plainly, by `plain_calendars`. This module refuses to know how a shell works inside,
and when to look (`judges` does).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from wakefold import Event, Record, either, fold, format_instant
from wakefold.audits import Refused, audit
from wakefold_laws.simulation.chronicles import Occurrence, Reminder, read_ms, read_reminder
from wakefold_laws.simulation.histories import History
from wakefold_laws.simulation.plain_calendars import find_latest_ms, find_next_ms
from wakefold_laws.simulation.violations import Violation, show_key
from wakefold_laws.zone_changes import move_nowhere


def check_is_not_paused(history: History, name: str) -> None:
    """Nothing is handed over, dispatched or left out of a reminder while it is paused."""
    found = history.chronicle.active.get(name)
    if found is not None and found.paused:
        raise Violation(check_is_not_paused, f"{name} was, at revision {found.revision}.")


def check_ends_in_time(history: History, occurrence: Occurrence) -> None:
    """No reminder goes on past its `maxRuns` or its `until`."""
    name, at_ms = occurrence
    if name in history.chronicle.ended:
        why = history.chronicle.ended[name]
        raise Violation(check_ends_in_time, f"{name} goes on although {why}.")
    found = history.chronicle.active.get(name)
    until_ms = None if found is None else found.until_ms
    if until_ms is not None and at_ms > until_ms:
        raise Violation(
            check_ends_in_time, f"{show_key(occurrence)} is past {format_instant(until_ms)}."
        )


def check_keeps_its_sequence(history: History, event: Event) -> None:
    """A reminder's targets are those of its own rule; nothing but a new one moves their sequence."""
    data: Any = event.data
    found = history.chronicle.active.get(data.get("id", ""))
    for stated_ms, meant_ms in _list_stated(event, data, found):
        if stated_ms != meant_ms:
            stated, meant = (
                "none" if at_ms is None else format_instant(at_ms) for at_ms in (stated_ms, meant_ms)
            )
            raise Violation(
                check_keeps_its_sequence, f"seq {event.seq} states {stated} and not {meant}: {data}."
            )


def check_snooze_is_short(history: History, event: Event) -> None:
    """A snooze is over before the rule's next occurrence, and by the reminder's end."""
    data: Any = event.data
    found = history.chronicle.active.get(data["id"])
    until_ms = read_ms(data, "until")
    if found is None or until_ms is None:
        return
    next_ms = _find_next(found, max(event.time_ms, found.target_ms))
    ends_ms = [end_ms for end_ms in (found.until_ms, next_ms and next_ms - 1) if end_ms is not None]
    if until_ms <= found.target_ms or until_ms > min(ends_ms, default=until_ms):
        raise Violation(
            check_snooze_is_short,
            f"seq {event.seq} snoozes {show_key((data['id'], found.target_ms))} "
            f"until {format_instant(until_ms)}.",
        )


def check_grace(history: History, event: Event) -> None:
    """What is to be skipped when it is late is delivered within its grace, and skipped after it."""
    data: Any = event.data
    found = history.chronicle.active.get(data["id"])
    if found is None or (data["operation"] == "dispatch" and found.options.get("missed") != "skip"):
        return
    accepted_ms, occurrence_ms = read_ms(data, "acceptedAt") or 0, read_ms(data, "occurrenceAt") or 0
    gate_ms = history.chronicle.find_gate_ms(accepted_ms) if found.repeats else None
    since_ms = max(occurrence_ms, found.snoozed_ms or 0, gate_ms or 0)
    late = accepted_ms - since_ms > 1000 * found.options.get("graceSeconds", 0)
    if late != (data["operation"] == "skip"):
        raise Violation(
            check_grace,
            f"seq {event.seq} is a {data['operation']} {accepted_ms - since_ms} ms after "
            f"{show_key((data['id'], since_ms))}.",
        )


def check_revision(schedule_id: str, named: int | None, found: int) -> None:
    """An edit that names a revision is made on that one, or not at all."""
    if named is not None and found != named + 1:
        raise Violation(
            check_revision, f"{schedule_id} went to revision {found} for a caller that saw {named}."
        )


def check_fold_needs_no_zone(history: History) -> None:
    """The log folds to the same targets where no tz database knows its zones."""
    world = history.world
    moved = fold(map(move_nowhere, world.events), world.seed_length)
    targets = either(moved, lambda ledger: _list_targets(ledger.records), lambda _: None)
    if targets != _list_targets(history.ledger.records):
        raise Violation(check_fold_needs_no_zone, f"they are {targets}.")


def check_audit_agrees(history: History) -> None:
    """An audit of the log counts every wakeup, and refuses no repeat that the guard has let in."""
    world, counted = history.world, len(history.chronicle.wakeups_ms)
    if world.limits is None:
        return
    told = audit(world.events, world.limits, world.seed_length).unwrap()
    if told.wakeups != counted:
        raise Violation(check_audit_agrees, f"it counts {told.wakeups} of {counted}.")
    refused = [
        finding.schedule_id
        for finding in told.findings
        if isinstance(finding, Refused) and finding.refusal.code == "SCHEDULE_TOO_FREQUENT"
    ]
    if refused:
        raise Violation(check_audit_agrees, f"it refuses {', '.join(refused)}.")


EDIT_INVARIANTS: Final[tuple[Callable[..., None], ...]] = (
    check_is_not_paused,
    check_ends_in_time,
    check_keeps_its_sequence,
    check_snooze_is_short,
    check_grace,
    check_revision,
    check_fold_needs_no_zone,
    check_audit_agrees,
)
"""All of them, in the order of the documentation."""


def _list_targets(records: Mapping[str, Record]) -> list[tuple[str, int, object]]:
    return [(record.id, record.scheduled_at_ms, record.standing) for record in records.values()]


def _list_stated(
    event: Event,
    data: Any,  # noqa: ANN401 - JSON
    found: Reminder | None,
) -> Iterator[tuple[int | None, int | None]]:
    """Each instant that a change states, with what it has to be."""
    operation = data["operation"]
    new = data["schedule"] if operation == "create" else data.get("changes", {}).get("rule")
    if new is not None:
        begun = read_reminder(new)
        if begun.repeats:
            yield begun.target_ms, _find_first(begun, event.time_ms)
    elif found is None:
        return
    elif operation == "resume" and found.repeats:
        next_ms = _find_next(found, event.time_ms)
        yield read_ms(data, "scheduledAt"), max(found.target_ms, next_ms or found.target_ms)
    elif operation == "skip" or (operation == "dispatch" and data["version"] != 1):
        accepted_ms = read_ms(data, "acceptedAt") or 0
        yield read_ms(data, "occurrenceAt"), _find_latest(found, accepted_ms)
        yield read_ms(data, "nextScheduledAt"), _find_next(found, accepted_ms)


def _find_first(found: Reminder, now_ms: int) -> int | None:
    """The first target of a rule that begins now."""
    if found.interval_ms is not None:
        return now_ms + found.interval_ms
    return _find_next(found, now_ms)


def _find_next(found: Reminder, after_ms: int) -> int | None:
    """The first occurrence after an instant, in the sequence of what comes again."""
    if found.rule is not None:
        return find_next_ms(found.rule, after_ms)
    if found.interval_ms is None:
        return None
    steps = (after_ms - found.target_ms) // found.interval_ms + 1
    return found.target_ms + max(steps, 0) * found.interval_ms


def _find_latest(found: Reminder, accepted_ms: int) -> int:
    """The latest occurrence by an instant and by the end, and the target at the earliest."""
    end_ms = accepted_ms if found.until_ms is None else min(accepted_ms, found.until_ms)
    if found.rule is not None:
        return find_latest_ms(found.rule, found.target_ms, end_ms)
    if found.interval_ms is None:
        return found.target_ms
    steps = (end_ms - found.target_ms) // found.interval_ms
    return found.target_ms + max(steps, 0) * found.interval_ms
