"""A walk through every minute of a zone, which answers the questions that cron engines are asked.

A zone is read by the standard library, at every hour and in the hour of a change at every minute. An
expression means the values that it was drawn with. So neither the core's parser, nor its matcher, nor
its reader of zones judges itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime
from functools import cache
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from cron_engines import COUNT, Question, Reply, read

MINUTE_MS: Final = 60_000
DAY_MINUTES: Final = 1_440
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()


class Stretch(NamedTuple):
    """Minutes (since 1970, the end excluded) in which a zone's clocks go on undisturbed."""

    first: int
    end: int
    ahead: int


def ask_walk(questions: Sequence[Question]) -> list[Reply]:
    """What comes first on the way."""
    return [
        Reply([MINUTE_MS * minute for minute in itertools.islice(walk(question), COUNT)])
        for question in questions
    ]


def walk(question: Question) -> Iterator[int]:
    """The minutes after the start that match and are read for the first time, one by one."""
    cron, start = question.cron, question.start_ms // MINUTE_MS + 1
    for first, end, ahead in _list_stretches_from(question.zone, start):
        at = max(first, start)
        while at < end:
            day, of_day = divmod(at + ahead, DAY_MINUTES)
            midnight = min(end, at + DAY_MINUTES - of_day)
            if cron.names_date(date.fromordinal(_EPOCH_DAY + day)):
                for minute in range(at, midnight):
                    hour, of_hour = divmod((minute + ahead) % DAY_MINUTES, 60)
                    matches = hour in cron.hour.values and of_hour in cron.minute.values
                    if matches and not read(MINUTE_MS * minute, question.zone).fold:
                        yield minute
            at = midnight


def _list_stretches_from(zone: str, start: int) -> Iterator[Stretch]:
    for year in itertools.count(datetime.fromtimestamp(60 * start, UTC).year):
        yield from _list_stretches(zone, year)


@cache
def _list_stretches(zone: str, year: int) -> tuple[Stretch, ...]:
    """The stretches of a year, which is one of UTC."""
    first, end = (int(datetime(one, 1, 1, tzinfo=UTC).timestamp()) // 60 for one in (year, year + 1))
    hours = list(_list_changes(zone, range(first, end + 1, 60)))
    changes = [at for hour in hours for at in _list_changes(zone, range(hour - 60, hour + 1))]
    starts = [first, *(at for at in changes if at < end), end]
    return tuple(
        Stretch(one, other, _read_ahead(zone, one)) for one, other in itertools.pairwise(starts)
    )


def _list_changes(zone: str, minutes: Iterable[int]) -> Iterator[int]:
    """Those minutes before which the clocks were set since the one before."""
    readings = ((at, _read_ahead(zone, at)) for at in minutes)
    return (at for (_, before), (at, ahead) in itertools.pairwise(readings) if before != ahead)


def _read_ahead(zone: str, minute: int) -> int:
    """How many minutes a zone's clocks are ahead of UTC; in whole ones, as everywhere since 1972."""
    ahead = datetime.fromtimestamp(60 * minute, ZoneInfo(zone)).utcoffset()
    assert ahead is not None
    minutes, seconds = divmod(ahead.total_seconds(), 60)
    assert not seconds
    return int(minutes)
