"""Laws of calendar rules: when they occur, by a walk minute by minute with a second reader of zones.

This module decides what a rule comes to where clocks change, how its text is written, and how near its
times lie. Its expressions are drawn together with the values that they mean, so that no parser judges
itself. It refuses to know records and logs.
"""

from __future__ import annotations

import itertools
from datetime import date, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from msgspec import Struct

from wakefold.calendar_rules import (
    CronRule,
    DailyRule,
    WeeklyRule,
    find_rule_spacing,
    is_canonical,
    make_cron_pattern,
    make_pattern,
)
from wakefold.calendars import find_latest, find_next
from wakefold.cron_expressions import parse_cron
from wakefold.recurrence import MIN_EVERY_SECONDS
from wakefold.wall_patterns import DAY_MS, WallPattern, comes_closer, find_spacing, has_date
from wakefold_laws.drawing import assume, st
from wakefold_laws.laws import law
from wakefold_laws.zone_changes import EPOCH, MS, list_changes
from wakefold_laws.zone_laws import changing_zones, list_readings, zones

_MINUTE_MS: Final = 60_000
_WALKED_DAYS: Final = 2
_MONTHS: Final = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
_WEEKDAYS: Final = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]


class Drawn(Struct, frozen=True):
    """The text of one field of an expression, and the values that it means."""

    text: str
    values: frozenset[int]

    @property
    def star(self) -> bool:
        """Whether it begins with `*`."""
        return self.text.startswith("*")


@st.composite
def _items(draw: st.DrawFn, least: int, most: int, names: tuple[str, ...], first_name: int) -> Drawn:
    """`*`, a value, a range, or one of the first and the last with a step."""
    numbers = st.integers(least, most)
    first, last = sorted((draw(numbers), draw(numbers)))
    step = draw(st.none() | st.integers(1, most + 3))

    def write(value: int) -> str:
        at = value - first_name
        if 0 <= at < len(names) and draw(st.booleans()):
            return draw(st.sampled_from((names[at], names[at].lower(), names[at].title())))
        return draw(st.sampled_from(("", "0", "00"))) + str(value)

    shape = draw(st.sampled_from(("value", "range", "star")))
    if shape == "value":
        return Drawn(write(first), frozenset({first}))
    values = range(least, most + 1) if shape == "star" else range(first, last + 1)
    text = "*" if shape == "star" else f"{write(first)}-{write(last)}"
    if step is None:
        return Drawn(text, frozenset(values))
    return Drawn(f"{text}/{step}", frozenset(values[::step]))


def _fields(
    least: int, most: int, names: tuple[str, ...] = (), first_name: int = 0
) -> st.SearchStrategy[Drawn]:
    items = st.lists(_items(least, most, names, first_name), min_size=1, max_size=3)
    return items.map(
        lambda found: Drawn(
            ",".join(item.text for item in found), frozenset().union(*(item.values for item in found))
        )
    )


class DrawnCron(Struct, frozen=True):
    """The five fields of an expression, with what they mean."""

    minute: Drawn
    hour: Drawn
    day: Drawn
    month: Drawn
    weekday: Drawn

    @property
    def text(self) -> str:
        """The expression."""
        fields = (self.minute, self.hour, self.day, self.month, self.weekday)
        return " ".join(field.text for field in fields)

    def names_date(self, day: date) -> bool:
        """Whether a date matches, read off the values that were drawn."""
        by_day = day.day in self.day.values
        by_weekday = bool({day.isoweekday(), day.isoweekday() % 7} & self.weekday.values)
        both = self.day.star or self.weekday.star
        return day.month in self.month.values and (
            (by_day and by_weekday) if both else (by_day or by_weekday)
        )

    def names(self, local: datetime) -> bool:
        """Whether a local time in whole minutes matches."""
        by_clock = local.minute in self.minute.values and local.hour in self.hour.values
        return by_clock and self.names_date(local.date())


_crons = st.builds(
    DrawnCron,
    minute=_fields(0, 59),
    hour=_fields(0, 23),
    day=_fields(1, 31),
    month=st.just(Drawn("*", frozenset(range(1, 13)))) | _fields(1, 12, tuple(_MONTHS), 1),
    weekday=_fields(0, 7, tuple(_WEEKDAYS)),
)


def _values(*values: int) -> Drawn:
    return Drawn(",".join(map(str, values)), frozenset(values))


edge_crons = st.builds(
    DrawnCron,
    minute=st.sampled_from((_values(0), _values(0, 55), _values(2, 58), _values(1, 56))),
    hour=st.sampled_from((_values(0), _values(0, 23), _values(0, 12, 23))),
    day=st.sampled_from((Drawn("*", frozenset(range(1, 32))), _values(29), _values(1, 31))),
    month=st.sampled_from((Drawn("*", frozenset(range(1, 13))), _values(2))),
    weekday=st.sampled_from((Drawn("*", frozenset(range(8))), _values(6, 7))),
)
"""Times on both sides of midnight, and dates at the ends of a month, leap days among them."""


_zone_shapes = st.sampled_from(("UTC", "Europe/Berlin", "America/New_York"))
_times_of_day = st.builds(
    "{:02}:{:02}:{:02}.{:03}".format,
    st.integers(0, 23),
    st.integers(0, 59),
    st.sampled_from((0, 30, 59)),
    st.sampled_from((0, 1, 500, 999)),
)
_weekday_sets = st.sets(st.integers(1, 7), min_size=1).map(lambda days: tuple(sorted(days)))
_timed_rules = st.builds(DailyRule, time=_times_of_day, time_zone=_zone_shapes) | st.builds(
    WeeklyRule, weekdays=_weekday_sets, time=_times_of_day, time_zone=_zone_shapes
)
#: What daily, weekly and cron rules come to, drawn with no regard to how near their times lie.
#:
#: :meta hide-value:
patterns = _timed_rules.map(make_pattern) | _crons.map(
    lambda cron: make_cron_pattern(parse_cron(cron.text).unwrap())
)


@st.composite
def _starts(draw: st.DrawFn) -> tuple[str, int]:
    """A zone and an instant (epoch ms), mostly not long before its clocks change."""
    name, year = draw(changing_zones | zones), draw(st.integers(1975, 2035))
    changes = list_changes(name, year)
    if not changes:
        return name, draw(st.integers(0, 60 * 365)) * DAY_MS
    change = (draw(st.sampled_from(changes)) - EPOCH) // MS
    return name, change - draw(st.integers(-2 * _MINUTE_MS, 2 * DAY_MS))


def _walk(cron: DrawnCron, name: str, start_ms: int, end_ms: int) -> list[int]:
    """The whole minutes that match in a stretch of time and are read for the first time, one by one."""
    zone, found = ZoneInfo(name), []
    for at_ms in range(start_ms - start_ms % _MINUTE_MS, end_ms, _MINUTE_MS):
        local = (EPOCH + MS * at_ms).astimezone(zone)
        if at_ms > start_ms and local.fold == 0 and cron.names(local.replace(tzinfo=None)):
            found.append(at_ms)
    return found


def _list_coming(pattern: WallPattern, name: str, start_ms: int, end_ms: int) -> list[int]:
    """The occurrences in a stretch of time, asked for one by one."""
    found: list[int] = []
    at_ms = find_next(pattern, name, start_ms)
    while at_ms is not None and at_ms < end_ms:
        found.append(at_ms)
        at_ms = find_next(pattern, name, at_ms)
    return found


@law(times=0.2, cron=_crons, start=_starts())
def an_expression_occurs_at_each_first_minute_that_matches(
    cron: DrawnCron, start: tuple[str, int]
) -> None:
    """A cron rule occurs at every minute whose local reading matches, once where the clocks repeat it
    and not at all where they skip it.
    """
    name, start_ms = start
    end_ms = start_ms + _WALKED_DAYS * DAY_MS
    pattern = make_cron_pattern(parse_cron(cron.text).unwrap())
    assume(has_date(pattern))
    assert _list_coming(pattern, name, start_ms, end_ms) == _walk(cron, name, start_ms, end_ms)


@law(rule=_timed_rules, start=_starts())
def a_timed_rule_occurs_once_on_each_of_its_dates(
    rule: DailyRule | WeeklyRule, start: tuple[str, int]
) -> None:
    """A daily or weekly rule occurs on each date that it names, at the first instant that reads so,
    and not on a date whose clocks skip that time.
    """
    name, start_ms = start
    time = datetime.strptime(rule.time, "%H:%M:%S.%f").time()  # noqa: DTZ007 - a time of day
    first = (EPOCH + MS * start_ms).date() - timedelta(days=1)
    expected = []
    for day in (first + timedelta(days=ahead) for ahead in range(20)):
        readings = list_readings(datetime.combine(day, time), name)
        if isinstance(rule, DailyRule) or day.isoweekday() in rule.weekdays:
            expected += [at_ms for at_ms in readings[:1] if at_ms > start_ms]
    end_ms = start_ms + 15 * DAY_MS
    found = _list_coming(make_pattern(rule), name, start_ms, end_ms)
    assert found == [at_ms for at_ms in expected if at_ms < end_ms]


@law(pattern=patterns, start=_starts())
def the_latest_occurrence_is_the_one_before_the_next(
    pattern: WallPattern, start: tuple[str, int]
) -> None:
    """What occurred last before an instant is followed by what comes next after it, with nothing in
    between.
    """
    name, at_ms = start
    assume(has_date(pattern))
    latest_ms, next_ms = find_latest(pattern, name, at_ms), find_next(pattern, name, at_ms)
    assert latest_ms is not None
    assert next_ms is not None
    assert latest_ms <= at_ms < next_ms
    assert find_next(pattern, name, latest_ms) == next_ms
    assert find_next(pattern, name, latest_ms - 1) == latest_ms
    assert find_latest(pattern, name, next_ms) == next_ms
    assert find_latest(pattern, name, next_ms - 1) == latest_ms


@law(cron=_crons)
def an_expression_means_what_it_is_made_of(cron: DrawnCron) -> None:
    """Each field stands for the values of its items, and the canonical text for the same fields."""
    parsed = parse_cron(cron.text).unwrap()
    fields = (cron.minute, cron.hour, cron.day, cron.month, cron.weekday)
    values = [field.values for field in fields[:4]] + [{value % 7 for value in cron.weekday.values}]
    read = (parsed.minutes, parsed.hours, parsed.days, parsed.months, parsed.weekdays)
    assert list(read) == [tuple(sorted(value)) for value in values]
    assert (parsed.day_star, parsed.weekday_star) == (cron.day.star, cron.weekday.star)
    assert parse_cron(parsed.canonical).unwrap() == parsed
    spread = cron.text.replace(" ", " \t")
    assert parse_cron(f" \t{spread}\t ").unwrap() == parsed


@law(times=0.1, cron=_crons | edge_crons, near_ms=st.integers(-1, 1))
def no_two_times_come_closer_than_the_spacing(cron: DrawnCron, near_ms: int) -> None:
    """The spacing is the least distance of two times that match, of all in 400 years, and a rule may
    stand in a log only where that is 300 s or more.
    """
    parsed = parse_cron(cron.text).unwrap()
    pattern = make_cron_pattern(parsed)
    start = date(2000, 1, 1)
    days = [ahead for ahead in range(146_097) if cron.names_date(start + timedelta(days=ahead))]
    times = [hour * 60 + minute for hour in parsed.hours for minute in parsed.minutes]
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    again = [*days, *(146_097 + day for day in days[:1])]
    around = [later - earlier for earlier, later in itertools.pairwise(again)]
    gaps += [1440 * min(around) + times[0] - times[-1]] if around else []
    spacing_ms = find_spacing(pattern)
    assert has_date(pattern) == bool(days)
    assert spacing_ms == (_MINUTE_MS * min(gaps) if days else None)
    rule = CronRule(parsed.canonical, "Europe/Berlin")
    lawful = spacing_ms is not None and spacing_ms >= 1000 * MIN_EVERY_SECONDS
    assert is_canonical(rule) == lawful
    assert find_rule_spacing(rule) == (None if spacing_ms is None else spacing_ms // 1000)
    if spacing_ms is not None:
        assert comes_closer(pattern, spacing_ms + near_ms) == (near_ms > 0)
