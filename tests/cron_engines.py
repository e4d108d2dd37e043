"""Cron engines of others, questions for them, and where their rule is known to be another than ours.

A question is an expression, a zone and a start. Each engine has its classes of difference, every one a
predicate on the question that has a name: where none holds, its answer must be ours.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Final
from zoneinfo import ZoneInfo

from croniter import croniter
from cronsim import CronSim

from wakefold.calendar_rules import make_cron_pattern
from wakefold.calendars import find_next
from wakefold.cron_expressions import parse_cron
from wakefold.wall_patterns import has_date
from wakefold_laws.calendar_laws import Drawn, DrawnCron
from wakefold_laws.zone_changes import EPOCH, MS, list_changes, list_moves
from wakefold_laws.zone_laws import list_changing_zones, list_zones

PEER: Final = Path(__file__).parent / "cron_peer"
COUNT: Final = 3
"""How many occurrences are asked for at once."""

DAY: Final = timedelta(days=1)
_MONTHS: Final = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
_WEEKDAYS: Final = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]
_RANGE: Final = re.compile(r"(\w+)-(\w+)(/\d+)?")
_STEP: Final = re.compile(r".*/(\d+)")
_LENGTHS: Final = (60, 24, 31, 12, 7)


@dataclass(frozen=True)
class Question:
    """When a cron expression occurs next in a zone, after an instant (epoch ms)."""

    cron: DrawnCron
    zone: str
    start_ms: int

    @property
    def items(self) -> Iterator[tuple[int, str]]:
        """The items of all fields, each with its field's place."""
        for place, text in enumerate(self.cron.text.split()):
            yield from ((place, item) for item in text.split(","))

    @property
    def start(self) -> datetime:
        """The start as its zone reads it."""
        return read(self.start_ms, self.zone)


@dataclass(frozen=True)
class Reply:
    """What an engine answered, in epoch ms, or nothing if it takes no such expression.

    `readings` are local times (year to minute) of instants by a tz database that is the engine's own.
    """

    found: Sequence[int] | None
    readings: Mapping[int, Sequence[int]] = field(default_factory=dict)


def read(at_ms: int, zone: str) -> datetime:
    """An instant as a zone reads it."""
    return (EPOCH + MS * at_ms).astimezone(ZoneInfo(zone))


# Questions.


def draw_questions(count: int, seed: int) -> list[Question]:
    """Questions with an answer, the same for a seed."""
    random = Random(seed)
    found: list[Question] = []
    while len(found) < count:
        question = Question(_draw_cron(random), *_draw_start(random))
        if has_date(make_cron_pattern(parse_cron(question.cron.text).unwrap())):
            found.append(question)
    return found


def _draw_cron(random: Random) -> DrawnCron:
    days, months, weekdays = (Drawn("*", frozenset(range(*ends))) for ends in ((1, 32), (1, 13), (8,)))
    return DrawnCron(
        minute=_draw_field(random, 0, 59),
        hour=_draw_field(random, 0, 23),
        day=days if random.random() < 0.5 else _draw_field(random, 1, 31),
        month=months if random.random() < 0.6 else _draw_field(random, 1, 12, _MONTHS),
        weekday=weekdays if random.random() < 0.4 else _draw_field(random, 0, 7, _WEEKDAYS),
    )


def _draw_field(random: Random, least: int, most: int, names: Sequence[str] = ()) -> Drawn:
    count = random.choices((1, 2, 3), (6, 2, 1))[0]
    items = [_draw_item(random, least, most, names) for _ in range(count)]
    values = frozenset[int]().union(*(item.values for item in items))
    return Drawn(",".join(item.text for item in items), values)


def _draw_item(random: Random, least: int, most: int, names: Sequence[str]) -> Drawn:
    def write(value: int) -> str:
        if value - least < len(names) and random.random() < 0.4:
            name = names[value - least]
            return random.choice((name, name.lower(), name.title()))
        return random.choice(("", "", "", "", "0", "00")) + str(value)

    first, last = sorted((random.randint(least, most), random.randint(least, most)))
    shape = random.choices(("star", "value", "range"), (3, 4, 4))[0]
    if shape == "value":
        return Drawn(write(first), frozenset({first}))
    values = range(least, most + 1) if shape == "star" else range(first, last + 1)
    text = "*" if shape == "star" else f"{write(first)}-{write(last)}"
    if random.random() < 0.6:
        return Drawn(text, frozenset(values))
    step = random.choices((random.randint(1, 7), random.randint(1, most + 5)), (4, 1))[0]
    return Drawn(f"{text}/{step}", frozenset(values[::step]))


def _draw_start(random: Random) -> tuple[str, int]:
    """A zone and an instant from 2000 to 2036, at times not long before its clocks change."""
    zone = random.choice(random.choice((list_zones(), list_changing_zones())))
    year = random.randint(2000, 2036)
    changes = list_changes(zone, year)
    if changes and random.random() < 0.15:
        change_ms = (random.choice(changes) - EPOCH) // MS
        return zone, change_ms - random.randint(-120_000, 2 * 86_400_000)
    start_ms = (datetime(year, 1, 1, tzinfo=UTC) - EPOCH) // MS
    return zone, start_ms + random.randrange(365 * 86_400_000)


# Engines.


def ask_wakefold(question: Question) -> list[int]:
    """Our answer."""
    pattern = make_cron_pattern(parse_cron(question.cron.text).unwrap())
    found: list[int] = []
    at_ms: int | None = question.start_ms
    while len(found) < COUNT:
        assert at_ms is not None, question
        at_ms = find_next(pattern, question.zone, at_ms)
        found += [] if at_ms is None else [at_ms]
    return found


def ask_cronsim(questions: Sequence[Question]) -> list[Reply]:
    """The answers of cronsim."""

    def ask(question: Question) -> Reply:
        coming = CronSim(question.cron.text, question.start)
        return Reply([(next(coming) - EPOCH) // MS for _ in range(COUNT)])

    return list(map(ask, questions))


def ask_croniter(questions: Sequence[Question]) -> list[Reply]:
    """The answers of croniter."""

    def ask(question: Question) -> Reply:
        coming = croniter(question.cron.text, question.start, ret_type=datetime)
        return Reply([(coming.get_next() - EPOCH) // MS for _ in range(COUNT)])

    return list(map(ask, questions))


def ask_croner(directory: Path, questions: Sequence[Question]) -> list[Reply]:
    """The answers of croner, which is installed in a directory."""
    lines = [
        json.dumps(
            {
                "expression": question.cron.text,
                "zone": question.zone,
                "start": question.start_ms,
                "count": COUNT,
                "also": ask_wakefold(question),
            }
        )
        for question in questions
    ]
    command = [shutil.which("node") or "node", "peer.mjs"]
    done = subprocess.run(
        command, cwd=directory, input="\n".join(lines), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [
        Reply(answer.get("found"), dict(answer["readings"]))
        for answer in map(json.loads, done.stdout.splitlines())
    ]


# Where their rule is another.

Differs = Callable[[Question, Reply], bool]
"""Whether a class of difference holds for a question; few need the reply."""


def changes_its_clocks(question: Question, _: Reply) -> bool:
    """The rule names a local time that the clocks skip or repeat, around the time that is asked for."""
    start, end = question.start_ms, ask_wakefold(question)[-1]
    since, until = EPOCH + MS * start - DAY, EPOCH + MS * end + DAY
    for year in range(since.year, until.year + 1):
        changes, moves = list_changes(question.zone, year), list_moves(question.zone, year)
        for change, (local, move) in zip(changes, moves, strict=True):
            first, last = sorted((local, local + move))
            if since <= change <= until and any(map(question.cron.names, _list_minutes(first, last))):
                return True
    return False


def steps_from_one_value(question: Question, _: Reply) -> bool:
    """A range of one value has a step (`5-5/7`)."""
    return any(same and step for same, step in _list_ranges(question))


def ranges_over_one_value(question: Question, _: Reply) -> bool:
    """A range holds one value (`3-3`)."""
    return any(same for same, _ in _list_ranges(question))


def begins_with_star(question: Question, _: Reply) -> bool:
    """A day field begins with `*` and goes on, and the other one is restricted (`*/5` and `1`)."""
    day, weekday = question.cron.day.text, question.cron.weekday.text
    return any(one.startswith("*") and one != "*" != other for one, other in _pair(day, weekday))


def comes_to_star(question: Question, _: Reply) -> bool:
    """A day field comes to all values without beginning with `*` (`1-31`, `2,*`), the other is more."""
    day = question.cron.day
    weekday = question.cron.weekday
    whole_day = not day.star and len(day.values) == _LENGTHS[2]
    whole_week = not weekday.star and len({value % 7 for value in weekday.values}) == _LENGTHS[4]
    return (whole_day and weekday.text != "*") or (whole_week and day.text != "*")


def steps_too_far(question: Question, _: Reply) -> bool:
    """A step is longer than its field."""
    steps = ((place, _STEP.fullmatch(item)) for place, item in question.items)
    return any(step is not None and int(step[1]) > _LENGTHS[place] for place, step in steps)


def ends_with_sunday(question: Question, _: Reply) -> bool:
    """A range of weekdays ends with the name of Sunday (`0-SUN`)."""
    return any(item.upper().partition("/")[0].endswith("-SUN") for _, item in question.items)


def reads_zones_otherwise(question: Question, reply: Reply) -> bool:
    """Its tz database is of another release, and reads these instants otherwise."""
    return any(
        list(read(at_ms, question.zone).timetuple()[:5]) != list(reading)
        for at_ms, reading in reply.readings.items()
    )


CLASSES: Final[dict[str, tuple[Differs, ...]]] = {
    "walk": (),
    "cronsim": (steps_from_one_value, changes_its_clocks),
    "croniter": (ranges_over_one_value, begins_with_star, comes_to_star, changes_its_clocks),
    "croner": (
        steps_too_far,
        begins_with_star,
        ends_with_sunday,
        changes_its_clocks,
        reads_zones_otherwise,
    ),
}
"""By engine, where its rule is another than ours."""


def _list_ranges(question: Question) -> Iterator[tuple[bool, bool]]:
    """Of each range, whether it holds one value, and whether it has a step."""
    for place, item in question.items:
        found = _RANGE.fullmatch(item)
        if found is not None:
            first, last = (_read_value(place, found[end]) for end in (1, 2))
            yield first == last, found[3] is not None


def _read_value(place: int, text: str) -> int:
    if text.isdecimal():
        return int(text)
    names = _MONTHS if place == 3 else _WEEKDAYS
    return names.index(text.upper()) + (place == 3)


def _pair(one: str, other: str) -> tuple[tuple[str, str], tuple[str, str]]:
    return (one, other), (other, one)


def _list_minutes(first: datetime, last: datetime) -> Iterator[datetime]:
    at = first.replace(second=0, microsecond=0)
    while at < last:
        yield at
        at += timedelta(minutes=1)
