"""What the tools answer, as types that their JSON schemas are derived from.

The answers of version 1 are as they always were; the views that know rules by the calendar, options and
edits have types of their own. This module refuses to make an answer: `views` and `tools` do.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from wakefold.edit_requests import UnchangedCode
from wakefold.records import Missed
from wakefold.rejections import Operation

_Instant = Annotated[str, Meta(description="UTC instant, 2027-02-01T09:00:00.000Z")]
_State = Annotated[
    Literal["scheduled", "overdue"], Meta(description="overdue from scheduledAt on, until delivered")
]
_Mode = Annotated[
    Literal["session-local"],
    Meta(description="delivered only while this session has a live runner; late rather than never"),
]
_NotBefore = (
    Annotated[str, Meta(description="only while overdue: repeats are delivered at least 300 s apart")]
    | UnsetType
)
_Held = (
    Annotated[str, Meta(description="only while the guard holds it: an instant, or next-external-word")]
    | UnsetType
)
_Code = Literal[
    "invalid_prompt",
    "invalid_selector",
    "invalid_rule",
    "invalid_time_zone",
    "timezone_confirmation_required",
    "not_future",
    "time_out_of_range",
    "frequency_too_high",
    "corrupt_schedule_log",
    "persistence_uncertain",
    "internal_error",
]


class AfterAnswer(
    Struct, frozen=True, tag_field="kind", tag="after", rename="camel", forbid_unknown_fields=True
):
    """A one-shot made by a delay."""

    id: str
    prompt: str
    after_seconds: int
    scheduled_at: _Instant
    state: _State
    delivery_mode: _Mode
    held_until: _Held = UNSET


class AtAnswer(
    Struct, frozen=True, tag_field="kind", tag="at", rename="camel", forbid_unknown_fields=True
):
    """A one-shot made by an absolute time."""

    id: str
    prompt: str
    scheduled_at: _Instant
    state: _State
    delivery_mode: _Mode
    held_until: _Held = UNSET


class EveryAnswer(
    Struct, frozen=True, tag_field="kind", tag="every", rename="camel", forbid_unknown_fields=True
):
    """A repeating reminder; scheduledAt is its earliest target not yet delivered."""

    id: str
    prompt: str
    every_seconds: int
    scheduled_at: _Instant
    state: _State
    delivery_mode: _Mode
    delivery_not_before: _NotBefore = UNSET
    held_until: _Held = UNSET


class DeleteAnswer(Struct, frozen=True, forbid_unknown_fields=True):
    """Whether a reminder was ended; the code says that no such one is active."""

    id: str
    deleted: bool
    code: Literal["schedule_not_found"] | UnsetType = UNSET


class ErrorAnswer(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A refusal: read the message, it says what to do instead."""

    code: _Code
    message: str
    session_time_zone: str | UnsetType = UNSET
    client_time_zones: list[str] | UnsetType = UNSET
    operation: Literal["create", "list", "delete"] | UnsetType = UNSET
    id: str | UnsetType = UNSET


#: A reminder of version 1 as a tool answers with it.
RecordAnswer = AfterAnswer | AtAnswer | EveryAnswer


class _View(Struct, frozen=True, kw_only=True, tag_field="kind", rename="camel"):
    """What every view of version 2 has, or may have."""

    id: str
    prompt: str
    scheduled_at: _Instant
    state: Annotated[
        Literal["scheduled", "overdue", "paused"],
        Meta(description="overdue from scheduledAt, or the snooze's end, until delivered"),
    ]
    delivery_mode: _Mode
    held_until: _Held = UNSET
    title: str | UnsetType = UNSET
    missed: Missed | UnsetType = UNSET
    grace_seconds: int | UnsetType = UNSET
    revision: (
        Annotated[int, Meta(description="how often it was edited; to be named by schedule_update")]
        | UnsetType
    ) = UNSET
    runs: Annotated[int, Meta(description="how often it was delivered")] | UnsetType = UNSET
    snoozed_until: (
        Annotated[str, Meta(description="the next delivery waits for this UTC instant")] | UnsetType
    ) = UNSET


class _RepeatView(_View, frozen=True, kw_only=True, rename="camel"):
    """The same of what may come again."""

    delivery_not_before: _NotBefore = UNSET
    max_runs: int | UnsetType = UNSET
    until: _Instant | UnsetType = UNSET


class _CalendarView(_RepeatView, frozen=True, kw_only=True, rename="camel"):
    """The same of what has a zone."""

    time_zone: str


class AfterView(_View, frozen=True, kw_only=True, tag="after", forbid_unknown_fields=True):
    """A one-shot made by a delay."""

    after_seconds: int


class AtView(_View, frozen=True, kw_only=True, tag="at", forbid_unknown_fields=True):
    """A one-shot made by an absolute time."""


class EveryView(_RepeatView, frozen=True, kw_only=True, tag="every", forbid_unknown_fields=True):
    """A reminder at a fixed rate; scheduledAt is its earliest target not yet delivered."""

    every_seconds: int


class DailyView(_CalendarView, frozen=True, kw_only=True, tag="daily", forbid_unknown_fields=True):
    """A reminder on every day at a local time."""

    time: str


class WeeklyView(_CalendarView, frozen=True, kw_only=True, tag="weekly", forbid_unknown_fields=True):
    """A reminder on weekdays, Monday 1 to Sunday 7, at a local time."""

    weekdays: list[int]
    time: str


class CronView(_CalendarView, frozen=True, kw_only=True, tag="cron", forbid_unknown_fields=True):
    """A reminder at the local minutes that an expression matches."""

    expression: str


#: A reminder of either version as a tool answers with it.
ReminderView = AfterView | AtView | EveryView | DailyView | WeeklyView | CronView


class UnchangedAnswer(Struct, frozen=True, forbid_unknown_fields=True):
    """Nothing was changed; the code says why, which is no error: list the reminders, then decide."""

    id: str
    updated: Annotated[bool, Meta(description="always false")]
    code: UnchangedCode


class RefusalAnswer(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A refusal: read the message, it says what to do instead."""

    code: _Code
    message: str
    session_time_zone: str | UnsetType = UNSET
    client_time_zones: list[str] | UnsetType = UNSET
    operation: Operation | UnsetType = UNSET
    id: str | UnsetType = UNSET
