"""What the tools take, as types that their JSON schemas are derived from.

The version 1 types say what version 1 of the durable change has words for; the editable ones say more.
This module decides names, bounds and what a model is told of each. What a program makes of an argument
is `requests`' business and `edit_requests`'.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from wakefold.recurrence import MIN_EVERY_SECONDS
from wakefold.stored_records import TITLE_CHARACTERS_MAX

_Time = Annotated[str, Meta(description="HH:mm:ss, 24 hours, at most three digits of fraction")]
_Zone = Annotated[
    str,
    Meta(
        description="UTC or an IANA name such as Europe/Berlin. Leave it out only if the "
        "user's zone is certain from this conversation; otherwise ask for it."
    ),
]


class LocalTime(Struct, frozen=True, forbid_unknown_fields=True):
    """A local time, read in time_zone."""

    date: Annotated[str, Meta(description="YYYY-MM-DD")]
    time: _Time
    time_zone: _Zone | UnsetType = UNSET


class DailyTime(Struct, frozen=True, forbid_unknown_fields=True):
    """One local time of every day."""

    time: _Time
    time_zone: _Zone | UnsetType = UNSET


class WeeklyTime(Struct, frozen=True, forbid_unknown_fields=True):
    """One local time of some weekdays."""

    weekdays: Annotated[
        list[Annotated[int, Meta(ge=1, le=7)]],
        Meta(min_length=1, max_length=7, description="1 is Monday, 7 is Sunday; each once"),
    ]
    time: _Time
    time_zone: _Zone | UnsetType = UNSET


class CronTimes(Struct, frozen=True, forbid_unknown_fields=True):
    """The local minutes that an expression matches."""

    expression: Annotated[
        str,
        Meta(
            description="Five fields: minute, hour, day of month, month, day of week. *, lists, "
            "ranges, steps, and names such as JAN or MON; times at least 300 s apart."
        ),
    ]
    time_zone: _Zone | UnsetType = UNSET


_Prompt = Annotated[str, Meta(min_length=1, description="What to be reminded of; plain text.")]
_After = Annotated[int, Meta(ge=1, description="Remind once, this many seconds from now.")]
_At = Annotated[
    str | LocalTime,
    Meta(
        description="Remind once, at an absolute time strictly in the future: text with an "
        "offset (2027-02-01T09:00:00+01:00, or ...Z), or an object of local fields. No other "
        "words."
    ),
]
_Every = Annotated[
    int,
    Meta(
        ge=MIN_EVERY_SECONDS,
        description="Remind again and again, this many seconds apart, first after one "
        "interval. Elapsed time, not calendar time: a clock change moves the local hour.",
    ),
]
_Daily = Annotated[
    DailyTime,
    Meta(
        description="Remind every day at a local time. A time that the clocks skip does not occur that "
        "day; one that they repeat occurs once, the first time."
    ),
]
_Weekly = Annotated[
    WeeklyTime, Meta(description="Remind on weekdays at a local time, by the same clock rules.")
]
_Cron = Annotated[
    CronTimes, Meta(description="Remind by a cron expression in a zone, by the same clock rules.")
]
_Title = Annotated[
    str,
    Meta(min_length=1, max_length=TITLE_CHARACTERS_MAX, description="A short name for people."),
]
_MaxRuns = Annotated[
    int, Meta(ge=1, description="Repeating only: end after so many deliveries, those so far included.")
]
_Until = Annotated[
    str | LocalTime, Meta(description="Repeating only: none after this time, given as for at.")
]
_Missed = Annotated[
    Literal["latest", "skip"],
    Meta(
        description="What becomes of an occurrence while nobody is live: latest delivers the last one "
        "however late; skip drops it once it is later than grace_seconds, and notes that."
    ),
]
_Grace = Annotated[
    int,
    Meta(ge=MIN_EVERY_SECONDS, description="How late is too late; exactly with missed skip."),
]


class CreateArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """The prompt and exactly one of after_seconds, at and every_seconds."""

    prompt: _Prompt
    after_seconds: _After | UnsetType = UNSET
    at: _At | UnsetType = UNSET
    every_seconds: _Every | UnsetType = UNSET


class EditableArguments(CreateArguments, frozen=True, forbid_unknown_fields=True):
    """The prompt, exactly one of the six selectors, and any options."""

    daily: _Daily | UnsetType = UNSET
    weekly: _Weekly | UnsetType = UNSET
    cron: _Cron | UnsetType = UNSET
    title: _Title | UnsetType = UNSET
    max_runs: _MaxRuns | UnsetType = UNSET
    until: _Until | UnsetType = UNSET
    missed: _Missed | UnsetType = UNSET
    grace_seconds: _Grace | UnsetType = UNSET


class ListArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """No arguments."""


class UpdateArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """The id, and either any of text, options and one selector, or paused alone, or snooze_until alone.

    null takes an option away.
    """

    id: Annotated[str, Meta(min_length=1, description="As schedule_create or schedule_list gave it.")]
    revision: (
        Annotated[
            int,
            Meta(
                ge=0,
                description="The revision that schedule_list showed (0 if it showed none): if it is "
                "another by now, nothing is changed and the code is schedule_conflict.",
            ),
        ]
        | UnsetType
    ) = UNSET
    prompt: _Prompt | UnsetType = UNSET
    after_seconds: _After | UnsetType = UNSET
    at: _At | UnsetType = UNSET
    every_seconds: _Every | UnsetType = UNSET
    daily: _Daily | UnsetType = UNSET
    weekly: _Weekly | UnsetType = UNSET
    cron: _Cron | UnsetType = UNSET
    title: _Title | UnsetType | None = UNSET
    max_runs: _MaxRuns | UnsetType | None = UNSET
    until: _Until | UnsetType | None = UNSET
    missed: _Missed | UnsetType | None = UNSET
    grace_seconds: _Grace | UnsetType | None = UNSET
    paused: (
        Annotated[bool, Meta(description="true pauses it, false lets it go on; alone.")] | UnsetType
    ) = UNSET
    snooze_until: (
        Annotated[
            str | LocalTime,
            Meta(
                description="Put off the next delivery to a time after its target and before the next "
                "one, given as for at; alone. The sequence stays as it is."
            ),
        ]
        | UnsetType
    ) = UNSET


class DeleteArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """The id of the reminder to end."""

    id: Annotated[str, Meta(min_length=1, description="As schedule_create or schedule_list gave it.")]
