"""Reminders as they stand in a ledger: what was asked for, and what has become of it.

This module decides the shapes of records. It refuses to know how they are stored and which changes
they may undergo: `events` and `transitions` do.
"""

from __future__ import annotations

from typing import Final, Literal, TypeGuard

from msgspec import Struct

from wakefold.calendar_rules import CalendarRule, find_rule_spacing

#: What becomes of an occurrence that is too late: delivered all the same, or left out.
Missed = Literal["latest", "skip"]


class Options(Struct, frozen=True, gc=False, omit_defaults=True):
    """What a reminder may have beside its rule (calendar.md section 3); `None`: not given.

    `until_ms` and `max_runs` end a recurring one, `grace_seconds` stands exactly with `missed: "skip"`.
    """

    title: str | None = None
    max_runs: int | None = None
    until_ms: int | None = None
    missed: Missed | None = None
    grace_seconds: int | None = None


#: Nothing beside the rule.
PLAIN: Final = Options()


class Standing(Struct, frozen=True, gc=False, omit_defaults=True):
    """What has become of a reminder: `runs` dispatches, `revision` edits, and whether it waits.

    `version` is that of its next dispatch: 2 from the first event of version 2 on.
    """

    version: Literal[1, 2] = 1
    runs: int = 0
    revision: int = 0
    paused: bool = False
    snoozed_until_ms: int | None = None


#: Nothing yet, since a create of version 1.
FRESH: Final = Standing()

#: Nothing yet, since a create of version 2.
#:
#: :shape: a `Standing` with `version` 2, as a record with a calendar rule or an option begins with
#: :units: none
#: :errors: none
#: :source: calendar.md section 2
EDITABLE: Final = Standing(version=2)


class AfterRecord(Struct, frozen=True, tag_field="kind", tag="after", omit_defaults=True):
    """A one-shot made by a delay: due once, `after_seconds` after its creation.

    :shape: `{id, kind: "after", prompt, afterSeconds, scheduledAt}`; options are keys beside them from
        version 2 on
    :units: `after_seconds` whole seconds from 1, `scheduled_at_ms` epoch milliseconds UTC
    :errors: none when it is made, which checks nothing; `build_record` and `decode_change` make checked
        ones
    :source: spec section 3
    """

    id: str
    prompt: str
    after_seconds: int
    scheduled_at_ms: int
    options: Options = PLAIN
    standing: Standing = FRESH


class AtRecord(Struct, frozen=True, tag_field="kind", tag="at", omit_defaults=True):
    """A one-shot made by an absolute time; the submitted offset or zone is not kept.

    :shape: `{id, kind: "at", prompt, scheduledAt}`; options are keys beside them from version 2 on
    :units: `scheduled_at_ms` is epoch milliseconds UTC
    :errors: none when it is made, which checks nothing; `build_record` and `decode_change` make checked
        ones
    :source: spec section 3
    """

    id: str
    prompt: str
    scheduled_at_ms: int
    options: Options = PLAIN
    standing: Standing = FRESH


class EveryRecord(Struct, frozen=True, tag_field="kind", tag="every", omit_defaults=True):
    """A fixed-rate reminder; `scheduled_at_ms` is its earliest target not yet accepted.

    :shape: `{id, kind: "every", prompt, everySeconds, scheduledAt}`; options are keys beside them from
        version 2 on
    :units: `every_seconds` whole seconds from 300, `scheduled_at_ms` epoch milliseconds UTC
    :errors: none when it is made, which checks nothing; `build_record` and `decode_change` make checked
        ones
    :source: spec section 3
    """

    id: str
    prompt: str
    every_seconds: int
    scheduled_at_ms: int
    options: Options = PLAIN
    standing: Standing = FRESH


class CalendarRecord(Struct, frozen=True, tag_field="kind", tag="calendar", omit_defaults=True):
    """A reminder by a calendar rule; `scheduled_at_ms` is its target, as it was once evaluated.

    :shape: `{id, kind: "daily" | "weekly" | "cron", prompt, ..., scheduledAt}`, in place of the dots
        the fields of the rule
    :units: `scheduled_at_ms` is epoch milliseconds UTC
    :errors: none when it is made, which checks nothing; `build_record` and `decode_change` make checked
        ones
    :source: calendar.md section 1
    """

    id: str
    prompt: str
    rule: CalendarRule
    scheduled_at_ms: int
    options: Options = PLAIN
    standing: Standing = FRESH


#: A record that is due once.
OneShotRecord = AfterRecord | AtRecord
#: A record that may come again; what the specification says of `every` holds for both.
RecurringRecord = EveryRecord | CalendarRecord
#: A reminder as it stands in a ledger, closed.
#:
#: :shape: a union: `AfterRecord`, `AtRecord` (one-shots), `EveryRecord`, `CalendarRecord` (recurring)
#: :units: targets are epoch milliseconds UTC, distances whole seconds
#: :errors: none when one is made, which checks nothing; `build_record` and `decode_change` make checked
#:     ones
#: :source: spec section 3; calendar.md section 1
Record = OneShotRecord | RecurringRecord


class AfterRule(Struct, frozen=True, tag_field="kind", tag="after"):
    """Once, after a delay."""

    after_seconds: int


class AtRule(Struct, frozen=True, tag_field="kind", tag="at"):
    """Once, at an absolute time."""


class EveryRule(Struct, frozen=True, tag_field="kind", tag="every"):
    """At a fixed rate."""

    every_seconds: int


#: When a record is due, apart from everything else of it.
StoredRule = AfterRule | AtRule | EveryRule | CalendarRule


def kind_of(record: Record) -> str:
    """The stored name of a record's kind."""
    named = record.rule if isinstance(record, CalendarRecord) else record
    return str(named.__struct_config__.tag)


def is_recurring(record: Record) -> TypeGuard[RecurringRecord]:
    """Whether a record may come again."""
    return isinstance(record, EveryRecord | CalendarRecord)


def find_interval(record: RecurringRecord) -> int:
    """The least distance (seconds) of two of its occurrences, on the wall for a calendar rule."""
    if isinstance(record, EveryRecord):
        return record.every_seconds
    return find_rule_spacing(record.rule) or 0  # a stored rule matches a date


def find_due(record: Record) -> int:
    """When a record is due (epoch ms): its target, or the end of a pending snooze."""
    snoozed_until_ms = record.standing.snoozed_until_ms
    return record.scheduled_at_ms if snoozed_until_ms is None else snoozed_until_ms


def assemble_record(
    schedule_id: str,
    prompt: str,
    rule: StoredRule,
    scheduled_at_ms: int,
    options: Options = PLAIN,
    standing: Standing = FRESH,
) -> Record:
    """The record of a rule with its target."""
    match rule:
        case AfterRule(after_seconds=seconds):
            return AfterRecord(schedule_id, prompt, seconds, scheduled_at_ms, options, standing)
        case AtRule():
            return AtRecord(schedule_id, prompt, scheduled_at_ms, options, standing)
        case EveryRule(every_seconds=seconds):
            return EveryRecord(schedule_id, prompt, seconds, scheduled_at_ms, options, standing)
        case _:
            return CalendarRecord(schedule_id, prompt, rule, scheduled_at_ms, options, standing)
