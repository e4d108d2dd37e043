"""When and how the clocks of a zone change, read from the tz database by the standard library.

This module decides where local times are skipped, repeated or moved, so that strategies can draw near
such places, and takes a log to where no zone is known. It refuses to ask the core for local times,
which reads zones by another library.
"""

from __future__ import annotations

import itertools
import re
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo

from msgspec.structs import replace

from wakefold.events import SCHEDULE_CHANGE, Event
from wakefold.json_text import format_json, parse_json

NO_ZONE_ANYWHERE: Final = "Nowhere/At_All"
"""A name that looks like a zone's, and is in no tz database."""

_ZONE: Final = re.compile(r'"timeZone":"[^"]*"')

#: 1970-01-01T00:00:00Z.
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
#: One millisecond.
MS: Final = timedelta(milliseconds=1)


@cache
def list_changes(name: str, year: int) -> tuple[datetime, ...]:
    """The instants of a year at which a zone's offset changes, to the second, found by halving."""
    zone = ZoneInfo(name)
    start = datetime(year, 1, 1, tzinfo=UTC)
    months = [start + timedelta(days=days) for days in range(0, 366, 10)]
    changes = []
    for low, high in itertools.pairwise(months):
        if low.astimezone(zone).utcoffset() == high.astimezone(zone).utcoffset():
            continue
        while high - low > timedelta(seconds=1):
            middle = low + (high - low) // 2
            middle = middle.replace(microsecond=0)
            same = middle.astimezone(zone).utcoffset() == low.astimezone(zone).utcoffset()
            low, high = (middle, high) if same else (low, middle)  # noqa: PLW2901 - halving
        changes.append(high)
    return tuple(changes)


@cache
def list_moves(name: str, year: int) -> tuple[tuple[datetime, timedelta], ...]:
    """The local readings at which a year's changes begin, and how far the clocks then move."""
    zone = ZoneInfo(name)
    moves = []
    for change in list_changes(name, year):
        before, after = (change - MS).astimezone(zone), change.astimezone(zone)
        start = before.replace(tzinfo=None, fold=0) + MS
        moves.append((start, after.replace(tzinfo=None, fold=0) - start))
    return tuple(moves)


def move_nowhere(event: Event) -> Event:
    """The same event of a session whose reminders go by a zone that nobody knows."""
    if event.type != SCHEDULE_CHANGE:
        return event
    text = _ZONE.sub(f'"timeZone":"{NO_ZONE_ANYWHERE}"', format_json(event.data))
    return replace(event, data=parse_json(text))
