"""The page of neighbours: whole, sourced, and true of APScheduler as it is installed here.

What it says of other versions and other programs is found by hand, with `tests/neighbours`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from queue import Queue
from time import sleep
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from apscheduler.events import EVENT_JOB_EXECUTED, EVENT_JOB_MISSED
from apscheduler.schedulers import base
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.interval import IntervalTrigger

from wakefold.calendar_requests import read_calendar_rule
from wakefold.calendar_rules import make_pattern
from wakefold.calendars import find_next
from wakefold.implied_zones import NO_ZONE

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/neighbours.md"
NEIGHBOURS = [
    "The released JavaScript package and its guard",
    "APScheduler",
    "Temporal schedules",
    "Cron-style agent tools",
]
HEADINGS = ["What it does better", "What wakefold does better", "When to take it instead"]
INSTALLED = ".".join(version("apscheduler").split(".")[:2])
OWN_WORD = re.compile(r"does not apply|not documented|not tried|not measured")
NIGHTS = {
    "Berlin, 28 March 2027": ("Europe/Berlin", datetime(2027, 3, 28, tzinfo=ZoneInfo("Europe/Berlin"))),
    "Berlin, 31 October 2027": (
        "Europe/Berlin",
        datetime(2027, 10, 31, tzinfo=ZoneInfo("Europe/Berlin")),
    ),
    "Lord Howe, 3 October 2027": (
        "Australia/Lord_Howe",
        datetime(2027, 10, 3, tzinfo=ZoneInfo("Australia/Lord_Howe")),
    ),
    "Lord Howe, 4 April 2027": (
        "Australia/Lord_Howe",
        datetime(2027, 4, 4, tzinfo=ZoneInfo("Australia/Lord_Howe")),
    ),
}


# The page.


@pytest.fixture(scope="module")
def page() -> str:
    """The page as it is written."""
    return PAGE.read_text("utf-8")


def read_section(page: str, title: str) -> str:
    """What stands below a heading of the second level, up to the next one."""
    return page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def read_table(section: str) -> list[list[str]]:
    """The cells of the first table of a section, its head first, the rule below the head left out."""
    rows = section.partition("\n|")[2].partition("\n\n")[0].splitlines()
    cells = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows]
    return [cells[0], *cells[2:]]


def test_every_question_is_answered_for_every_neighbour(page: str) -> None:
    head, *rows = read_table(read_section(page, "By question"))
    assert head[1:] == ["wakefold", "released package", *NEIGHBOURS[1:]]
    assert len(rows) >= 16
    for row in rows:
        assert len(row) == len(head), row[0]
        assert all(len(cell) > 1 for cell in row), row[0]


def test_every_answer_about_a_neighbour_names_its_source(page: str) -> None:
    """A public page or an experiment of this repository, or the plain word that there is none."""
    _, *rows = read_table(read_section(page, "By question"))
    for question, _, *answers in rows:
        for answer in answers:
            assert "](" in answer or "][" in answer or OWN_WORD.search(answer), (question, answer)


def test_every_bullet_about_a_neighbour_names_its_source(page: str) -> None:
    for name in NEIGHBOURS:
        better = (
            read_section(page, name).partition("### What it does better\n")[2].partition("\n### ")[0]
        )
        bullets = re.findall(r"^- .*$", better, flags=re.MULTILINE)
        assert len(bullets) >= 4, name
        for bullet in bullets:
            assert "](" in bullet or "][" in bullet, bullet


def test_every_source_is_public_dated_and_used(page: str) -> None:
    """Each is `https`, says which version and when it was looked at, and some sentence rests on it."""
    sources = dict(re.findall(r"^\[([\w.-]+)\]: (.*)$", page, flags=re.MULTILINE))
    used = set(re.findall(r"\]\[([\w.-]+)\]", page))
    assert used == set(sources)
    for name, source in sources.items():
        assert re.fullmatch(r'https://\S+ "[^"]+, 2026-\d\d-\d\d"', source), name


def test_each_neighbour_has_its_three_headings(page: str) -> None:
    for name in NEIGHBOURS:
        assert re.findall(r"^### (.*)$", read_section(page, name), flags=re.MULTILINE) == HEADINGS


def test_headings_go_down_one_level_at_a_time(page: str) -> None:
    levels = [len(marks) for marks in re.findall(r"^(#+) ", page, flags=re.MULTILINE)]
    assert levels[0] == 1
    assert all(below <= above + 1 for above, below in pairwise(levels))


def test_the_page_is_linked() -> None:
    for place, link in (
        ("docs/index.md", "neighbours.md"),
        ("docs/changelog.md", "neighbours.md"),
        ("README.md", "docs/neighbours.md"),
    ):
        assert f"]({link})" in (ROOT / place).read_text("utf-8"), place


def test_the_page_names_the_version_that_is_installed(page: str) -> None:
    assert f"Version {INSTALLED} is the stable one" in page


def test_every_row_in_which_the_package_is_faster_or_smaller_is_named(page: str) -> None:
    """None is left out, and none is named that the benchmarks do not show."""
    rows = (ROOT / "docs/performance.md").read_text("utf-8").splitlines()
    measured = re.findall(
        r"^\| ([^|]+) \|[^|]+\|[^|]+\| ([\d.,]+) \(", "\n".join(rows), flags=re.MULTILINE
    )
    ahead = {name for name, ratio in measured if float(ratio.replace(",", "")) < 1}
    section = read_section(page, NEIGHBOURS[0])
    named = re.search(r"^- \*\*Faster or smaller.*$", section, flags=re.MULTILINE)
    assert named is not None
    assert set(re.findall(r"`([^`]+)`", named[0])) == ahead


# Nights on which clocks change.


def list_ours(expression: str, zone: str, midnight: datetime) -> Iterator[datetime]:
    """When wakefold's rule occurs, from a night's beginning on."""
    request = {"expression": expression, "time_zone": zone}
    rule = read_calendar_rule("cron", request, NO_ZONE).unwrap()
    at_ms: int | None = round(midnight.timestamp() * 1000) - 1
    while at_ms is not None and (at_ms := find_next(make_pattern(rule), zone, at_ms)) is not None:
        yield datetime.fromtimestamp(at_ms / 1000, ZoneInfo(zone))


def list_theirs(expression: str, zone: str, midnight: datetime) -> Iterator[datetime]:
    """When APScheduler's trigger fires, asked as its scheduler asks."""
    trigger = CronTrigger.from_crontab(expression, timezone=ZoneInfo(zone))
    previous, now = None, midnight
    while (at := trigger.get_next_fire_time(previous, now)) is not None:
        yield at.astimezone(UTC).astimezone(ZoneInfo(zone))
        previous, now = at, (at.astimezone(UTC) + timedelta(seconds=1)).astimezone(ZoneInfo(zone))


def tell(times: Iterator[datetime], midnight: datetime) -> str:
    """The times of a night as the page spells them."""
    told = []
    for at in times:
        if at.astimezone(UTC) >= midnight.astimezone(UTC) + timedelta(hours=6):
            break
        told.append(f"{at:%H:%M} ({str(at)[-6:]})")
    return ", ".join(told) or "not that day"


def test_the_nights_of_the_page_are_as_they_are(page: str) -> None:
    """The columns of wakefold and of APScheduler; Temporal's is found by hand."""
    head, *rows = read_table(read_section(page, "When clocks change"))
    assert head[2:4] == ["wakefold", f"APScheduler {INSTALLED}"]
    assert {night for night, *_ in rows} == set(NIGHTS)
    for night, rule, ours, theirs, *_ in rows:
        zone, midnight = NIGHTS[night]
        expression = rule.strip("`")
        assert tell(list_ours(expression, zone, midnight), midnight) == ours, (night, rule)
        assert tell(list_theirs(expression, zone, midnight), midnight) == theirs, (night, rule)


def test_apscheduler_counts_weekdays_from_monday_and_wants_both_days_to_match() -> None:
    """In its crontab 1 is a Tuesday; elsewhere it is a Monday, and one of two days is enough."""
    first = datetime(2027, 1, 1, tzinfo=UTC)
    tuesdays = list_theirs("0 9 * * 1", "UTC", first)
    assert [f"{next(tuesdays):%a}" for _ in range(3)] == ["Tue", "Tue", "Tue"]
    both = list_theirs("0 9 13 * fri", "UTC", first)
    assert [f"{next(both):%a %d}" for _ in range(2)] == ["Fri 13", "Fri 13"]
    ours = list_ours("0 9 13 * 5", "UTC", first)
    assert [f"{next(ours):%a %d}" for _ in range(3)] == ["Fri 01", "Fri 08", "Wed 13"]


def test_an_interval_of_a_day_is_elapsed_time_in_apscheduler_too() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    start = datetime(2027, 3, 27, 9, tzinfo=berlin)
    trigger = IntervalTrigger(hours=24, start_date=start, timezone=berlin)
    assert f"{trigger.get_next_fire_time(start, start):%H:%M %z}" == "10:00 +0200"


# Jobs that are late.


@dataclass
class Late:
    """A scheduler of APScheduler that had been away, and what its jobs were told."""

    options: dict[str, Any]
    told: list[str] = field(default_factory=list)
    seen: Queue[Any] = field(default_factory=Queue)

    def live(self, events: int) -> Counter[str]:
        """Come back with a one-shot an hour late and a repeat of five minutes, for so many events."""
        scheduler = BackgroundScheduler(timezone=UTC, job_defaults=self.options)
        scheduler.add_listener(self.seen.put, EVENT_JOB_EXECUTED | EVENT_JOB_MISSED)
        scheduler.start(paused=True)
        now = datetime.now(UTC)
        first = now - timedelta(minutes=61)
        scheduler.add_job(self.told.append, "date", ["once"], run_date=now - timedelta(hours=1))
        scheduler.add_job(
            self.told.append, "interval", ["often"], minutes=5, start_date=first, next_run_time=first
        )
        scheduler.resume()
        happened = [self.seen.get(timeout=20) for _ in range(events)]
        scheduler.shutdown()
        assert self.seen.empty()
        return Counter("missed" if each.code == EVENT_JOB_MISSED else "executed" for each in happened)


def test_apscheduler_drops_what_is_late_by_more_than_a_second_unless_told_otherwise() -> None:
    """A one-shot is gone, a repeat waits for its next run; a log line and an event say so."""
    late = Late({})
    assert late.live(2) == {"missed": 2}
    assert late.told == []


def test_apscheduler_runs_late_jobs_once_where_lateness_is_allowed() -> None:
    """And the function gets its arguments alone: not for which time it runs."""
    late = Late({"misfire_grace_time": None})
    assert late.live(2) == {"executed": 2}
    assert sorted(late.told) == ["often", "once"]


def test_apscheduler_makes_up_for_each_missed_run_where_that_is_asked() -> None:
    late = Late({"misfire_grace_time": None, "coalesce": False})
    assert late.live(14) == {"executed": 14}
    assert Counter(late.told) == {"once": 1, "often": 13}


def test_apscheduler_skips_what_a_repeat_missed_in_a_pause_and_keeps_a_one_shot() -> None:
    scheduler = BackgroundScheduler(timezone=UTC)
    scheduler.start(paused=True)
    now = datetime.now(UTC)
    past = now - timedelta(hours=1)
    often = scheduler.add_job(print, "interval", minutes=5, start_date=past, next_run_time=past)
    once = scheduler.add_job(print, "date", run_date=past)
    for job in (often, once):
        job.pause()
        job.resume()
    assert often.next_run_time > now
    assert once.next_run_time == past
    for job in (often, once):
        job.remove()
    scheduler.shutdown()


class SetClock(datetime):
    """A wall clock that can be set, while what sleeps by another clock sleeps on."""

    ahead = timedelta(0)
    readings = 0

    @classmethod
    def now(cls, tz: Any = None) -> datetime:  # type: ignore[override] # noqa: ANN401 - as its base has it
        cls.readings += 1
        return datetime.now(tz) + cls.ahead


def test_apscheduler_does_not_notice_a_clock_that_is_set_forward_while_it_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It sleeps until the next job by elapsed time; whatever wakes it makes it look again."""
    monkeypatch.setattr(base, "datetime", SetClock)
    monkeypatch.setattr(SetClock, "ahead", timedelta(0))
    told: list[str] = []
    scheduler = BackgroundScheduler(timezone=UTC, job_defaults={"misfire_grace_time": None})
    seen: Queue[Any] = Queue()
    scheduler.add_listener(seen.put, EVENT_JOB_EXECUTED)
    scheduler.start()
    scheduler.add_job(told.append, "date", ["x"], run_date=datetime.now(UTC) + timedelta(minutes=30))
    readings = -1
    while readings != SetClock.readings:  # until it sleeps
        readings = SetClock.readings
        sleep(0.3)
    monkeypatch.setattr(SetClock, "ahead", timedelta(hours=1))
    sleep(0.5)
    assert told == []
    scheduler.wakeup()
    seen.get(timeout=20)
    assert told == ["x"]
    scheduler.shutdown()
