"""Calendar files are read back, by two packages, to the instants at which the reminders occur."""

from __future__ import annotations

import time
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path

import pytest
import recurring_ical_events
from hypothesis import given, settings
from icalendar import Calendar

from command import wakefold, wakefold_json
from cron_engines import ask_wakefold, draw_questions, read
from journal_files import create_at, create_every, event, write_session
from wakefold import Ledger, format_instant, parse_instant
from wakefold.calendar_exports import HORIZON_MS, Entry, list_entries
from wakefold.calendar_rules import (
    CalendarRule,
    CronRule,
    DailyRule,
    WeeklyRule,
    is_canonical,
    make_pattern,
)
from wakefold.calendars import find_next
from wakefold.cron_expressions import parse_cron
from wakefold.edits import Pause, Snooze
from wakefold.events import Change, Create, encode_change
from wakefold.occurrences import find_following
from wakefold.records import (
    EDITABLE,
    AfterRecord,
    AtRecord,
    CalendarRecord,
    EveryRecord,
    Options,
    Record,
    Standing,
)
from wakefold.retargets import list_zoneless
from wakefold_laws.strategies import prompts
from wakefold_shell.exports import name_events, write_calendar

NOON_MS = 1_799_064_000_000  # 2027-01-04T12:00:00.000Z
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
YEAR = (datetime(2027, 1, 4, 12, tzinfo=UTC), datetime(2028, 1, 4, 12, tzinfo=UTC))
SINGLES = 40
ZONES = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",  # half an hour
    "America/Santiago",  # clocks skip midnight
    "Africa/Cairo",
    "Africa/Casablanca",  # around Ramadan
    "Asia/Kolkata",
]
EXPRESSIONS = {
    "*/30 1-3 * * *": "FREQ=DAILY",
    "30 1,2 * * *": "FREQ=DAILY",
    "15 0,2 * * 0": "FREQ=WEEKLY",
    "0 9 * * 1-5": "FREQ=WEEKLY",
    "30 2 28-31 * *": "FREQ=MONTHLY",
    "0 9 31 * *": "FREQ=MONTHLY",
    "30 2 */2 3,10 0": "FREQ=DAILY",
    "0 12 1-31 * 1": "FREQ=DAILY",
    "0 9 13 * 5": None,  # the 13th, or a Friday: no rule of RFC 5545
}
SKIPPED_AMONG_OTHERS = {
    ("Europe/Berlin", "*/30 1-3 * * *"),
    ("Europe/Berlin", "30 1,2 * * *"),
    ("Europe/Berlin", "15 0,2 * * 0"),
    ("Australia/Lord_Howe", "*/30 1-3 * * *"),
    ("Australia/Lord_Howe", "15 0,2 * * 0"),
}
OPTIONS = {
    "endless": Options(),
    "runs": Options(max_runs=90),
    "until": Options(until_ms=NOON_MS + 200 * DAY_MS + 1),
    "both": Options(max_runs=150, until_ms=NOON_MS + 120 * DAY_MS),
    "soon over": Options(max_runs=2, until_ms=NOON_MS + 900 * DAY_MS),
}


def hold(*records: Record) -> Ledger:
    return Ledger(records={record.id: record for record in records})


def make(rule: CalendarRule, options: Options = Options(), **standing: object) -> CalendarRecord:  # noqa: B008 - frozen
    target_ms = find_next(make_pattern(rule), rule.time_zone, NOON_MS)
    assert target_ms is not None
    whole = Standing(version=2, **standing)  # type: ignore[arg-type]
    return CalendarRecord("a", "look", rule, target_ms, options, whole)


def read_back(text: bytes, span: tuple[datetime, datetime]) -> dict[str, list[int]]:
    """By UID, the instants (epoch ms) of a span, as recurring-ical-events expands them."""
    found = defaultdict(list)
    for one in recurring_ical_events.of(Calendar.from_ical(text)).between(*span):
        start = one.start
        assert isinstance(start, datetime)
        found[str(one["UID"])].append(int(start.timestamp()) * 1000)
    return {uid: sorted(starts) for uid, starts in found.items()}


def show(entry: Entry, span: tuple[datetime, datetime] = YEAR) -> list[int]:
    """The same of one reminder, whatever its events are called."""
    back = read_back(write_calendar([entry], "s", NOON_MS), span)
    return sorted(at_ms for starts in back.values() for at_ms in starts)


def list_coming(record: Record, end_ms: int = NOON_MS + 365 * DAY_MS) -> list[int]:
    """What is delivered of a record by then, to the second, were it delivered in time."""
    found: list[int] = []
    at_ms: int | None = record.scheduled_at_ms
    left = record.options.max_runs
    until_ms = min(record.options.until_ms or end_ms, end_ms)
    while at_ms is not None and at_ms <= until_ms and len(found) < (left or 10**6):
        found.append(at_ms - at_ms % 1000)
        at_ms = find_following(record, at_ms)
    return found


def enter(record: Record, count: int = SINGLES, now_ms: int = NOON_MS) -> Entry:
    (entry,) = list_entries(hold(record), now_ms, count)
    return entry


def name_at(schedule_id: str, session_id: str = "s") -> str:
    """The UID of a one-shot."""
    (name,) = name_events(Entry(AtRecord(schedule_id, "look", NOON_MS), (NOON_MS,)), session_id)
    return name


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("zone", ZONES)
def test_daily_and_weekly_rules_come_back(zone: str, options: Options) -> None:
    """Skipped local times do not appear, repeated ones appear once."""
    for rule in (
        DailyRule("02:30:00.000", zone),
        DailyRule("00:15:30.500", zone),
        WeeklyRule((6, 7), "02:15:00.000", zone),
        WeeklyRule((1,), "09:00:00.000", zone),
    ):
        record = make(rule, options)
        entry = enter(record)
        assert entry.repeat is not None
        assert show(entry) == list_coming(record)


@pytest.mark.parametrize("expression", EXPRESSIONS)
@pytest.mark.parametrize("zone", ["Europe/Berlin", "Australia/Lord_Howe", "UTC"])
def test_cron_rules_come_back(zone: str, expression: str) -> None:
    """As a rule where the fields are one, else as single events, so many at most.

    Where the clocks skip one of several times of a day, they are single, too: readers differ there.
    """
    record = make(CronRule(expression, zone), Options(until_ms=NOON_MS + 360 * DAY_MS))
    entry = enter(record)
    start = None if (zone, expression) in SKIPPED_AMONG_OTHERS else EXPRESSIONS[expression]
    assert (entry.repeat is None) == (start is None)
    if start is None:
        assert show(entry) == list_coming(record)[:SINGLES]
    else:
        assert start.encode() in write_calendar([entry], "s", NOON_MS)
        assert show(entry) == list_coming(record)


@pytest.mark.parametrize("count", [60, pytest.param(2_000, marks=pytest.mark.long)])
def test_drawn_expressions_come_back(count: int) -> None:
    """Any fields, zone and season; what is a rule and what is not are both among them."""
    as_rules = as_singles = 0
    for question in draw_questions(count, seed=4):
        rule = CronRule(parse_cron(question.cron.text).unwrap().canonical, question.zone)
        if is_canonical(rule):
            first_ms = ask_wakefold(question)[0]
            until_ms = first_ms + 40 * DAY_MS
            options = Options(until_ms=until_ms)
            record = CalendarRecord("a", "look", rule, first_ms, options, EDITABLE)
            entry = enter(record, now_ms=question.start_ms)
            expected = list_coming(record, until_ms)
            as_singles += entry.repeat is None
            as_rules += entry.repeat is not None
            shown = show(entry, (read(first_ms - DAY_MS, "UTC"), read(until_ms + DAY_MS, "UTC")))
            assert shown == (expected[:SINGLES] if entry.repeat is None else expected), question
    assert min(as_rules, as_singles) > count / 30


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize(
    ("seconds", "rule"),
    [
        (86_400, "FREQ=DAILY"),
        (2 * 86_400, "FREQ=DAILY;INTERVAL=2"),
        (5 * 3600, "FREQ=HOURLY;INTERVAL=5"),
        (90 * 60, "FREQ=MINUTELY;INTERVAL=90"),
        (86_401, None),
    ],
)
def test_fixed_rates_come_back(seconds: int, rule: str | None, options: Options) -> None:
    """Elapsed time, in UTC; a rate that is no whole minutes as single events."""
    record = EveryRecord("a", "look", seconds, NOON_MS + 123, options, EDITABLE)
    entry = enter(record, 400)
    assert (entry.repeat is None) == (rule is None)
    text = write_calendar([entry], "s", NOON_MS)
    assert all(part.encode() in text for part in (rule or "").split(";"))
    assert show(entry) == list_coming(record)


def test_the_package_itself_reads_what_it_wrote() -> None:
    """Start, rule, end, what is left out, and the zone."""
    record = make(DailyRule("02:30:00.000", "Europe/Berlin"), Options(title="Sleep", max_runs=100))
    back = Calendar.from_ical(write_calendar([enter(record)], "s", NOON_MS))
    (shown,) = back.events
    assert [rule.to_ical() for rule in shown.rrules] == [b"FREQ=DAILY;UNTIL=20270415T003000Z"]
    assert shown.start.isoformat() == "2027-01-05T02:30:00+01:00"
    assert (shown["SUMMARY"], shown["DESCRIPTION"], shown["UID"]) == ("Sleep", "look", "a@s")
    excluded = [date.replace(tzinfo=None).isoformat() for date in shown.exdates]
    assert excluded[0] == "2027-03-28T02:30:00"
    assert len(excluded) == 11  # each spring before 2038
    assert [zone.tz_name for zone in back.timezones] == ["Europe/Berlin"]
    assert not back.get_missing_tzids()


def test_a_rule_that_clocks_skip_ends_where_the_zones_are_described_to() -> None:
    """What is skipped later is not known; any other rule goes on."""
    skipped = enter(make(DailyRule("02:30:00.000", "Europe/Berlin"))).repeat
    late = enter(make(DailyRule("02:30:00.000", "Europe/Berlin"), Options(until_ms=HORIZON_MS * 2)))
    assert skipped is not None
    assert skipped.last_ms is not None
    assert format_instant(skipped.last_ms) == "2037-12-31T01:30:00.000Z"
    assert late.repeat == skipped
    open_end = enter(make(DailyRule("09:00:00.000", "Europe/Berlin"))).repeat
    assert open_end is not None
    assert (open_end.runs, open_end.last_ms, open_end.skipped) == (None, None, ())


def test_an_end_that_is_too_far_to_count_makes_single_events() -> None:
    """More runs than are walked, of a rule with instances that are skipped."""
    far = enter(make(DailyRule("02:30:00.000", "Europe/Berlin"), Options(max_runs=20_000)))
    assert far.repeat is None
    assert len(far.occurrences_ms) == SINGLES
    whole = enter(make(CronRule("*/15 * * * *", "UTC"), Options(max_runs=20_000)))
    assert whole.repeat is not None
    assert whole.repeat.runs == 20_000


def test_a_target_that_the_rule_does_not_name_makes_single_events() -> None:
    """As another tz database placed it: it is delivered once, then the rule goes on."""
    rule = DailyRule("09:00:00.000", "Europe/Berlin")
    record = CalendarRecord("a", "look", rule, NOON_MS + HOUR_MS, standing=EDITABLE)
    entry = enter(record, 3)
    assert entry.repeat is None
    assert [format_instant(one) for one in entry.occurrences_ms] == [
        "2027-01-04T13:00:00.000Z",
        "2027-01-05T08:00:00.000Z",
        "2027-01-06T08:00:00.000Z",
    ]


@pytest.mark.parametrize("target", ["1969-01-01T08:00:00.000Z", "2039-01-01T08:00:00.000Z"])
def test_targets_outside_of_what_zones_are_described_for_make_single_events(target: str) -> None:
    """In UTC, which needs no description."""
    target_ms = parse_instant(target)
    assert target_ms is not None
    rule = DailyRule("09:00:00.000", "Europe/Berlin")
    record = CalendarRecord("a", "look", rule, target_ms, standing=EDITABLE)
    entry = enter(record, 2, target_ms - 1)
    assert (entry.repeat, entry.occurrences_ms) == (None, (target_ms, target_ms + DAY_MS))


def test_a_backlog_is_the_one_occurrence_that_is_delivered() -> None:
    """The latest by now; too late for its grace, it is the next one; the last one ends."""
    now_ms = NOON_MS + 10 * DAY_MS
    late = Options(missed="skip", grace_seconds=300)
    daily = DailyRule("09:00:00.000", "UTC")
    starts = {
        "latest": enter(make(daily), now_ms=now_ms).occurrences_ms,
        "skip": enter(make(daily, late), now_ms=now_ms).occurrences_ms,
        "in grace": enter(make(daily, late), now_ms=now_ms - 3 * HOUR_MS + 200_000).occurrences_ms,
        "paused": enter(make(daily, paused=True), now_ms=now_ms).occurrences_ms,
        "paused early": enter(make(daily, paused=True)).occurrences_ms,
    }
    assert {name: format_instant(one) for name, (one,) in starts.items()} == {
        "latest": "2027-01-14T09:00:00.000Z",
        "skip": "2027-01-15T09:00:00.000Z",
        "in grace": "2027-01-14T09:00:00.000Z",
        "paused": "2027-01-15T09:00:00.000Z",
        "paused early": "2027-01-05T09:00:00.000Z",
    }
    ended = Options(missed="skip", grace_seconds=300, until_ms=now_ms)
    assert list_entries(hold(make(daily, ended)), now_ms, 1) == ()
    assert list_entries(hold(make(daily, ended, paused=True)), now_ms, 1) == ()
    lost = AtRecord("a", "look", NOON_MS, late, EDITABLE)
    assert list_entries(hold(lost), now_ms, 1) == ()
    kept = AtRecord("a", "look", NOON_MS, standing=Standing(version=2, paused=True))
    assert enter(kept, now_ms=now_ms).occurrences_ms == (NOON_MS,)


def test_the_end_of_the_calendar_is_an_end() -> None:
    """A rate that leads past year 9999 is one event."""
    last_ms = parse_instant("9999-12-31T00:00:00.000Z")
    assert last_ms is not None
    entry = enter(EveryRecord("a", "look", 86_400, last_ms))
    assert (entry.repeat, entry.occurrences_ms) == (None, (last_ms,))
    (shown,) = Calendar.from_ical(write_calendar([entry], "s", NOON_MS)).events
    assert shown.start.year == 9999


def test_a_snooze_moves_one_instance_and_no_other() -> None:
    """By the instance's own event, or by the start itself where all are single."""
    daily = make(DailyRule("09:00:00.000", "Europe/Berlin"))
    until_ms = daily.scheduled_at_ms + 90 * 60_000
    snoozed = make(daily.rule, snoozed_until_ms=until_ms)
    assert show(enter(snoozed)) == [until_ms, *list_coming(daily)[1:]]
    friday = make(CronRule("0 9 13 * 5", "Europe/Berlin"))
    until_ms = friday.scheduled_at_ms + 90 * 60_000
    singles = enter(make(friday.rule, snoozed_until_ms=until_ms))
    assert show(singles) == [until_ms, *list_coming(friday)[1:SINGLES]]
    over = enter(snoozed, now_ms=NOON_MS + 10 * DAY_MS)
    assert over.moved_ms is None


def test_a_zone_that_is_not_known_here_is_left_out_and_told() -> None:
    record = CalendarRecord("a", "look", DailyRule("09:00:00.000", "Mars/Base"), NOON_MS)
    assert list_entries(hold(record), NOON_MS, 1) == ()
    assert list_zoneless(hold(record)) == (record,)


@given(prompt=prompts())
@settings(max_examples=200)
def test_any_prompt_and_id_can_be_exported(prompt: str) -> None:
    """Line breaks, control characters, lone surrogates: the file is read again, event by event."""
    ids = [prompt, f"{prompt}2"]
    records = [AtRecord(one, prompt, NOON_MS + HOUR_MS) for one in ids]
    text = write_calendar(list_entries(hold(*records), NOON_MS, 1), prompt, NOON_MS)
    shown = {str(one["UID"]): one for one in Calendar.from_ical(text).events}
    assert list(shown) == [name_at(one.id, prompt) for one in records]
    description = str(shown[name_at(prompt, prompt)]["DESCRIPTION"])
    if prompt.isascii() and prompt.isprintable():
        assert description == prompt
    assert max(map(len, text.split(b"\r\n"))) <= 75


def test_a_prompt_of_a_megabyte_is_exported() -> None:
    """Whole in the description; the summary is its beginning."""
    prompt = "täglich, und immer; wieder \\ " * 40_000 + "end"
    began = time.monotonic()
    text = write_calendar([enter(AfterRecord("a", prompt, 1, NOON_MS + 1))], "s", NOON_MS)
    (shown,) = Calendar.from_ical(text).events
    assert str(shown["DESCRIPTION"]) == prompt
    assert str(shown["SUMMARY"]) == prompt[:120]
    assert time.monotonic() - began < 60


def test_ids_that_differ_have_names_that_differ() -> None:
    """Also where no calendar could spell them."""
    ids = ["a", "\ud800", "\\ud800", "\ufffd", "\U0001f600", "\u1f600", "ä", "a/b", "a%2Fb", "a\\Nb"]
    assert len({name_at(one) for one in ids}) == len(ids)
    assert name_at("a@b", "c") != name_at("a", "b@c")
    assert all(name_at(one).isascii() for one in ids)


# The command.


def write_reminders(directory: Path) -> Path:
    """A session with a one-shot, a rate, a calendar rule that is paused, one that is snoozed."""
    daily = make(DailyRule("02:30:00.000", "Europe/Berlin"), Options(title="Sleep"))
    changes: list[Change] = [
        Create(schedule=daily),
        Pause("a"),
        Create(schedule=CalendarRecord("b", "x", daily.rule, daily.scheduled_at_ms, standing=EDITABLE)),
        Snooze("b", daily.scheduled_at_ms + HOUR_MS),
    ]
    rows = [
        event(seq, "schedule/change", encode_change(change)) for seq, change in enumerate(changes, 2)
    ]
    at = "2027-02-01T09:00:00.500Z"
    every = "2027-01-04T12:05:00.000Z"
    return write_session(
        directory, create_at(0, "one", "line\nbreak", at), create_every(1, "rate", 301, every), *rows
    )


def test_the_command_writes_a_file_and_lists_what_is_in_it(tmp_path: Path) -> None:
    path, place = write_reminders(tmp_path / "s"), tmp_path / "out.ics"
    now = ("--now", "2027-01-04T12:00:00Z")
    told = wakefold_json("export", "--ics", path, "-o", place, "--occurrences", "2", *now)
    assert told["file"] == str(place)
    assert (told["leftOut"], told["warnings"]) == ([], [])
    assert [(one["id"], one["uids"][0], one["kind"]) for one in told["reminders"]] == [
        ("one", "one@session-test", "at"),
        ("rate", "rate/2027-01-04T12:05:00.000Z@session-test", "every"),
        ("a", "a@session-test", "daily"),
        ("b", "b@session-test", "daily"),
    ]
    assert told["reminders"][1]["occurrences"] == [
        "2027-01-04T12:05:00.000Z",
        "2027-01-04T12:10:01.000Z",
    ]
    assert told["reminders"][2]["rule"] == "FREQ=DAILY;UNTIL=20371231T013000Z"
    assert told["reminders"][3]["movedTo"] == "2027-01-05T02:30:00.000Z"
    text = place.read_bytes()
    shown = [str(one["UID"]) for one in Calendar.from_ical(text).events]
    assert shown == ["one@session-test", *told["reminders"][1]["uids"]] + [
        f"{name}@session-test" for name in "abb"
    ]
    assert text.count(b"STATUS:TENTATIVE") == 1
    plain = wakefold("export", "--ics", tmp_path / "s", "--occurrences", "2", *now)
    assert plain.stdout.encode() == text.replace(b"\r\n", b"\n")
    assert (
        wakefold_json("export", "--ics", path, "--occurrences", "2", *now)["calendar"] == text.decode()
    )
    said = wakefold("export", "--ics", path, "-o", place, *now).stdout
    assert said == f"4 of 4 reminders in {place}\n"


def test_what_cannot_be_exported_is_told(tmp_path: Path) -> None:
    """A format that is not named, a place that cannot be written, a zone that nobody knows."""
    path = write_reminders(tmp_path / "s")
    assert wakefold("export", path).returncode == 2
    missing = wakefold("export", "--ics", path, "-o", tmp_path / "no" / "out.ics")
    assert missing.returncode == 1
    assert missing.stderr.endswith("no such file or directory; name another file with --output.\n")
    record = CalendarRecord(
        "a", "x", DailyRule("09:00:00.000", "Mars/Base"), NOON_MS, standing=EDITABLE
    )
    row = event(0, "schedule/change", encode_change(Create(schedule=record)))
    mars = write_session(tmp_path / "mars", row)
    told = wakefold("export", "--ics", mars)
    assert (told.returncode, told.stderr) == (0, "wakefold: a is left out: its zone is unknown here.\n")
    assert wakefold_json("export", "--ics", mars)["leftOut"] == ["a"]


def test_without_the_extra_it_says_which_one(tmp_path: Path) -> None:
    """A module of its name that cannot be imported stands in the way."""
    (tmp_path / "icalendar.py").write_text("raise ModuleNotFoundError\n")
    done = wakefold("export", "--ics", tmp_path / "s", PYTHONPATH=str(tmp_path))
    sentence = "wakefold: a calendar file needs the extra 'ics': pip install 'wakefold[ics]'.\n"
    assert (done.returncode, done.stderr) == (1, sentence)
    assert wakefold("export", "--help", PYTHONPATH=str(tmp_path)).returncode == 0


@pytest.mark.parametrize("prompt", ["C:\\New\\nets", "a\\\\Nb", "\\N", "x\\;y\\,z", "\\", "one\ntwo"])
def test_a_backslash_stays_one(prompt: str) -> None:
    """Also before an N, which the library writes as a line break."""
    (shown,) = Calendar.from_ical(
        write_calendar([enter(AtRecord("a", prompt, NOON_MS + 1))], "s", NOON_MS)
    ).events
    assert str(shown["DESCRIPTION"]) == prompt
    assert str(shown["SUMMARY"]) == prompt.partition("\n")[0]
