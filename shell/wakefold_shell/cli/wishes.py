"""What is asked of a reminder, as options and as the tools' arguments.

The options are read as far as their shape; what a rule may be is decided by the core.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated, Final

import typer

from wakefold.events import Json
from wakefold.records import Missed
from wakefold_shell.cli.option_groups import OptionGroup

_WEEKDAYS: Final = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")
_SHORT_TIME: Final = re.compile(r"[0-9]{2}:[0-9]{2}")


def complete_time(text: str) -> str:
    """A time of day as the tools take it: `09:00` has its seconds left out."""
    return f"{text}:00" if _SHORT_TIME.fullmatch(text) else text


def parse_weekly_option(text: str) -> Json:
    """Weekdays and the time after them: `MON,FRI@09:00`, or numbers from 1 for Monday."""
    days, _, time = text.partition("@")
    numbers = [_read_weekday(day.strip().upper()) for day in days.split(",")]
    if not time or None in numbers:
        raise typer.BadParameter(f"{text!r} is not of the form MON,FRI@09:00")
    return {"weekdays": numbers, "time": complete_time(time)}


def show_weekdays(numbers: list[int]) -> str:
    """Weekdays as `parse_weekly_option` reads them."""
    return ",".join(_WEEKDAYS[number - 1] for number in numbers)


class Wish(OptionGroup, frozen=True):
    """When a reminder is to come, and its options."""

    after: Annotated[
        int | None, typer.Option("--after", metavar="SECONDS", help="Once, so many seconds from now.")
    ] = None
    every: Annotated[
        int | None,
        typer.Option(
            "--every",
            metavar="SECONDS",
            help="Again and again, at least 300 s apart. Elapsed time: no calendar, no zone.",
        ),
    ] = None
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="TEXT", help="Once, at 2027-02-01T09:00:00+01:00 or ...Z."),
    ] = None
    date: Annotated[
        str | None,
        typer.Option("--date", metavar="DATE", help="Once, on this local date, with --time."),
    ] = None
    time: Annotated[
        str | None,
        typer.Option(
            "--time", metavar="TIME", parser=complete_time, help="The local time of --date, 09:00."
        ),
    ] = None
    daily: Annotated[
        str | None,
        typer.Option(
            "--daily", metavar="TIME", parser=complete_time, help="Every day at this local time, 09:00."
        ),
    ] = None
    weekly: Annotated[
        dict[str, object] | None,
        typer.Option(
            "--weekly",
            metavar="DAYS@TIME",
            parser=parse_weekly_option,
            help="On these weekdays at this local time, MON,FRI@09:00.",
        ),
    ] = None
    cron: Annotated[
        str | None,
        typer.Option(
            "--cron", metavar="EXPRESSION", help="By five fields on local clocks, '0 9 * * MON-FRI'."
        ),
    ] = None
    zone: Annotated[
        str | None,
        typer.Option(
            "--zone",
            metavar="ZONE",
            help="The zone of the local time, such as Europe/Berlin; else the session's, if known.",
        ),
    ] = None
    title: Annotated[
        str | None, typer.Option("--title", metavar="TEXT", help="A short name for people.")
    ] = None
    max_runs: Annotated[
        int | None,
        typer.Option("--max-runs", metavar="N", help="End after so many deliveries, those so far too."),
    ] = None
    until: Annotated[
        str | None,
        typer.Option("--until", metavar="TEXT", help="None after this time, given as for --at."),
    ] = None
    missed: Annotated[
        Missed | None,
        typer.Option(
            "--missed",
            help="latest: the last occurrence comes however late. skip: not later than --grace.",
        ),
    ] = None
    grace: Annotated[
        int | None,
        typer.Option("--grace", metavar="SECONDS", help="How late is too late, with --missed skip."),
    ] = None


class Option(StrEnum):
    """The options that an update can take away."""

    TITLE = "title"
    MAX_RUNS = "max-runs"
    UNTIL = "until"
    MISSED = "missed"
    GRACE = "grace"

    @property
    def argument(self) -> str:
        """The tools' name of it."""
        return "grace_seconds" if self is Option.GRACE else self.value.replace("-", "_")


def list_arguments(wish: Wish) -> Json:
    """The tools' arguments for a wish; `BadParameter` for options that say one thing twice."""
    zone = {} if wish.zone is None else {"time_zone": wish.zone}
    ruled: Json = {
        "daily": None if wish.daily is None else {"time": wish.daily, **zone},
        "weekly": None if wish.weekly is None else {**wish.weekly, **zone},
        "cron": None if wish.cron is None else {"expression": wish.cron, **zone},
    }
    local = present({"date": wish.date, "time": wish.time})
    if not present(ruled):
        local |= zone
    if local and wish.at is not None:
        raise typer.BadParameter("give either --at or --date, --time and --zone")
    return present(
        {
            "after_seconds": wish.after,
            "every_seconds": wish.every,
            "at": wish.at or local or None,
            **ruled,
            "title": wish.title,
            "max_runs": wish.max_runs,
            "until": wish.until,
            "missed": wish.missed,
            "grace_seconds": wish.grace,
        }
    )


def present(values: Json) -> Json:
    """What was given."""
    return {name: value for name, value in values.items() if value is not None}


def _read_weekday(text: str) -> int | None:
    if text in _WEEKDAYS:
        return _WEEKDAYS.index(text) + 1
    return int(text) if text in {"1", "2", "3", "4", "5", "6", "7"} else None
