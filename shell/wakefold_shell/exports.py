"""A session's reminders as an iCalendar file (RFC 5545), for calendars of people.

This module decides how what the core lists (`wakefold.calendar_exports`) is spelled. The bytes are the
library's, of the extra `ics`, without which this module cannot be imported. It refuses to choose which
reminders are shown, and when.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final
from urllib.parse import quote
from zoneinfo import ZoneInfo

from icalendar import Calendar, Event, vRecur, vText

from wakefold.calendar_exports import HORIZON_MS, Entry, Repeat
from wakefold.instants import format_instant
from wakefold.records import is_recurring

SUMMARY_CHARACTERS_MAX: Final = 120
"""As long as a title may be: of a longer first line only the beginning is the event's summary."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_WEEKDAYS: Final = ("SU", "MO", "TU", "WE", "TH", "FR", "SA")
_BREAK: Final = re.compile("\r\n?|[\u2028\u2029\x85\v\f]")
_CONTROL: Final = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f]")


class _Text(vText):
    """Text in which a backslash before an N stays one; the library writes it as a line break."""

    def to_ical(self) -> bytes:
        """The escaped text."""
        return b"\\\\N".join(vText(part).to_ical() for part in self.split("\\N"))


def write_calendar(entries: Sequence[Entry], session_id: str, now_ms: int) -> bytes:
    """The file, UTF-8 with CRLF; instants to the whole second.

    An event's UID is made of session and id, so that a later file brings each event up to date.
    """
    calendar = Calendar.new(prodid="-//wakefold//reminders//EN", uid=_escape(session_id))
    for entry in entries:
        for event in _list_events(entry, session_id, now_ms):
            calendar.add_component(event)
    zoned = [entry.occurrences_ms[0] for entry in entries if entry.zone != "UTC"]
    if zoned:
        year = _read(min(zoned)).year - 1  # the offset at the first start is an older change's
        calendar.add_missing_timezones(date(year, 1, 1), _read(HORIZON_MS).date())
    text: bytes = calendar.to_ical()
    return text


def name_events(entry: Entry, session_id: str) -> list[str]:
    """The UIDs of a reminder's events; where a repeating one has no rule, by their occurrences."""
    name, session = _escape(entry.record.id), _escape(session_id)
    if entry.repeat is not None or not is_recurring(entry.record):
        return [f"{name}@{session}"]
    return [f"{name}/{format_instant(at_ms)}@{session}" for at_ms in entry.occurrences_ms]


def show_rule(repeat: Repeat) -> str:
    """A rule as its line in the file has it."""
    line: bytes = vRecur(_name_parts(repeat)).to_ical()  # type: ignore[no-untyped-call]  # the library's
    return line.decode()


def _name_parts(repeat: Repeat) -> dict[str, Any]:
    """The parts of a rule by their names in RFC 5545."""
    parts: dict[str, Any] = {
        "FREQ": repeat.frequency,
        "INTERVAL": None if repeat.interval == 1 else repeat.interval,
        "BYMONTH": list(repeat.months),
        "BYMONTHDAY": list(repeat.days),
        "BYDAY": [_WEEKDAYS[day] for day in repeat.weekdays],
        "BYHOUR": list(repeat.hours),
        "BYMINUTE": list(repeat.minutes),
        "COUNT": repeat.runs,
        "UNTIL": None if repeat.last_ms is None else _read(repeat.last_ms),
    }
    return {name: value for name, value in parts.items() if value is not None and value != []}


def _list_events(entry: Entry, session_id: str, now_ms: int) -> list[Event]:
    """The event of a rule, with one more for a moved instance; else one for each start."""
    record, repeat, moved_ms = entry.record, entry.repeat, entry.moved_ms
    names = name_events(entry, session_id)

    def make(name: str, start: datetime, recurrence_id: datetime | None = None) -> Event:
        prompt = _clean(record.prompt)
        summary = _clean(record.options.title or "") or prompt.partition("\n")[0]
        event = Event.new(
            uid=name,
            start=start,
            stamp=_read(now_ms),
            sequence=record.standing.revision,
            recurrence_id=recurrence_id,
        )
        event.add("summary", _Text(summary[:SUMMARY_CHARACTERS_MAX]))
        event.add("description", _Text(prompt))
        if record.standing.paused:
            event.add("status", "TENTATIVE")
        return event

    if repeat is None:
        occurrences_ms = entry.occurrences_ms
        starts_ms = occurrences_ms if moved_ms is None else (moved_ms, *occurrences_ms[1:])
        return [make(name, _read(at_ms)) for name, at_ms in zip(names, starts_ms, strict=True)]
    zone = UTC if entry.zone == "UTC" else ZoneInfo(entry.zone)
    start = _read(entry.occurrences_ms[0]).astimezone(zone)
    event = make(names[0], start)
    event.add("rrule", _name_parts(repeat))
    if repeat.skipped:
        skipped = (datetime.fromisoformat(local) for local in repeat.skipped)
        event.add("exdate", [local.replace(tzinfo=zone) for local in skipped])
    if moved_ms is None:
        return [event]
    return [event, make(names[0], _read(moved_ms).astimezone(zone), recurrence_id=start)]


def _read(instant_ms: int) -> datetime:
    """An instant in UTC, to the whole second."""
    return _EPOCH + timedelta(seconds=instant_ms // 1000)


def _escape(text: str) -> str:
    """An id as ASCII without `/` and `@`, so that no two names are the same."""
    return quote(text, safe="", errors="surrogatepass")


def _clean(text: str) -> str:
    """Text that any calendar takes: one kind of line break, U+FFFD for what is no character."""
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return _CONTROL.sub("\ufffd", _BREAK.sub("\n", joined))
