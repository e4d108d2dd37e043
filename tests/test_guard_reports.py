"""What the guard says, to the word."""

from __future__ import annotations

import pytest

from core_logs import T
from wakefold.events import EveryRecord
from wakefold.guard import Refusal, Stop, StopKey
from wakefold.guard_config import DEFAULT_CONFIG, GuardConfig, QuietHours
from wakefold.guard_reports import (
    count_minutes_until_free,
    describe_reason,
    describe_refusal,
    format_line,
    format_session_line,
    format_stop_line,
    list_report,
    list_startup_lines,
    refusal_value,
)
from wakefold.json_text import format_json

CAP = Refusal("SCHEDULE_HOURLY_CAP", 4, 4, free_in_ms=691_500)
FLOOR = Refusal("SCHEDULE_TOO_FREQUENT", 1800, 600)


def stop_at(key: StopKey, limit: float, *deleted: EveryRecord, intervals: tuple[int, ...] = ()) -> Stop:
    """A stop with numbers of its own."""
    return Stop(
        key=key,
        limit=limit,
        consecutive=7,
        per_day=49,
        total=2,
        to_delete=deleted,
        offending_seconds=intervals,
    )


FAST = EveryRecord("schedule-3", "check", 600, T)
INTERVAL = stop_at(StopKey("interval", ids=frozenset({"schedule-3"})), 1800, FAST, intervals=(600,))
STREAK = stop_at(StopKey("consecutive", 5), 6)
DAY = stop_at(StopKey("per_day", 0), 48)


@pytest.mark.parametrize(
    ("refusal", "text"),
    [
        (CAP, "hourly cap of 4 autonomous wakeups reached: a slot frees in about 12 min"),
        (FLOOR, "repeating reminder no more often than every 1800s (asked for 600s)"),
        (
            Refusal("SCHEDULE_HOURLY_CAP", 2.5, 3, free_in_ms=0),
            "hourly cap of 2.5 autonomous wakeups reached: a slot frees in about 1 min",
        ),
        (
            Refusal("SCHEDULE_TOO_FREQUENT", 1800.0, 1799.5),
            "repeating reminder no more often than every 1800s (asked for 1799.5s)",
        ),
        (
            Refusal("SCHEDULE_TOO_FREQUENT", 1e21, -5.0),
            "repeating reminder no more often than every 1000000000000000000000s (asked for -5s)",
        ),
        (
            Refusal("SCHEDULE_TOO_FREQUENT", 1800, -1e400),
            "repeating reminder no more often than every 1800s (asked for -infs)",
        ),
    ],
)
def test_a_refusal_says_why_in_numbers(refusal: Refusal, text: str) -> None:
    """The same words in the text content, in the error, and for whoever reads the message alone."""
    assert describe_refusal(refusal) == text
    value = refusal_value(refusal)
    assert value["message"] == text
    assert value["content"] == [{"type": "text", "text": f"Error: {text}"}]


@pytest.mark.parametrize(
    ("free_in_ms", "minutes", "seconds"),
    [
        (0, 1, 1),
        (1, 1, 1),
        (1000, 1, 1),
        (1001, 1, 2),
        (60_000, 1, 60),
        (60_001, 2, 61),
        (691_500, 12, 692),
        (3_600_000, 60, 3600),
        (3_660_000, 61, 3660),
    ],
)
def test_the_time_until_a_slot_frees_is_rounded_up(free_in_ms: int, minutes: int, seconds: int) -> None:
    """At least one minute and one second, whole."""
    refusal = Refusal("SCHEDULE_HOURLY_CAP", 4, 4, free_in_ms)
    assert count_minutes_until_free(refusal) == minutes
    value = refusal_value(refusal)
    assert (value["minutesUntilFree"], value["secondsUntilFree"]) == (minutes, seconds)
    assert describe_refusal(refusal).endswith(f"frees in about {minutes} min")


def test_a_refusal_is_readable_by_models_and_registries() -> None:
    """Text content, an error flag, an error object, and the code as every other refusal has it."""
    assert format_json(refusal_value(FLOOR)) == (
        '{"code":"SCHEDULE_TOO_FREQUENT",'
        '"message":"repeating reminder no more often than every 1800s (asked for 600s)",'
        '"content":[{"type":"text",'
        '"text":"Error: repeating reminder no more often than every 1800s (asked for 600s)"}],'
        '"isError":true,'
        '"error":{"message":"repeating reminder no more often than every 1800s (asked for 600s)",'
        '"info":{"name":"ScheduleGuardError","code":"SCHEDULE_TOO_FREQUENT"}}}'
    )
    assert count_minutes_until_free(FLOOR) is None
    assert list(refusal_value(CAP)) == [
        "code",
        "message",
        "secondsUntilFree",
        "minutesUntilFree",
        "content",
        "isError",
        "error",
    ]
    error = refusal_value(CAP)["error"]
    assert error == {
        "message": describe_refusal(CAP),
        "info": {"name": "ScheduleGuardError", "code": "SCHEDULE_HOURLY_CAP"},
    }


@pytest.mark.parametrize(
    ("stop", "config", "reason"),
    [
        (
            STREAK,
            DEFAULT_CONFIG,
            "7 wakeups in a row without an external word (user, a2a; limit 6)",
        ),
        (
            STREAK,
            GuardConfig(reset_kinds=("boss",)),
            "7 wakeups in a row without an external word (boss; limit 6)",
        ),
        (DAY, DEFAULT_CONFIG, "49 wakeups today (limit 48)"),
        (stop_at(StopKey("per_day", 0), 12.5), DEFAULT_CONFIG, "49 wakeups today (limit 12.5)"),
        (INTERVAL, DEFAULT_CONFIG, "repeat faster than 1800s (intervals: 600s)"),
        (
            stop_at(StopKey("interval"), 1800.0, FAST, intervals=(600, 300)),
            DEFAULT_CONFIG,
            "repeat faster than 1800s (intervals: 600s, 300s)",
        ),
    ],
)
def test_a_reason_names_the_limit_and_what_passed_it(
    stop: Stop, config: GuardConfig, reason: str
) -> None:
    """And stands in the report."""
    assert describe_reason(stop, config) == reason
    assert list_report(stop, config, T)[1] == f"Reason (in numbers): {reason}"


STOPPED = "🔴 schedule-guard: stopped by the autonomous-wakeup limit."
RESUME = (
    "Resume: only by an external word "
    "(human or coordinator — any `resetKinds` message resets the counter)."
)


def test_the_stop_line_is_the_seed_s() -> None:
    """One line; bars separate what the owner's message contains."""
    assert format_stop_line("session-1", list_report(INTERVAL, DEFAULT_CONFIG, 1_787_434_256_303)) == (
        f"schedule-guard [session-1]: {STOPPED} | "
        "Reason (in numbers): repeat faster than 1800s (intervals: 600s) | "
        "Deleted repeating reminders: |   - id schedule-3, interval 600s, "
        'text: "check" | '
        "Accomplished during the autonomous stretch: 2 autonomous wakeups total | "
        f"{RESUME} | Time: 2026-08-22T21:30:56.303Z"
    )


def test_the_owner_reads_it_line_by_line() -> None:
    """Every deleted record has a line; the rest has one each."""
    slow = EveryRecord("schedule-7", "look at the build", 1800, T)
    assert list_report(stop_at(StopKey("consecutive"), 6, FAST, slow), DEFAULT_CONFIG, T) == (
        STOPPED,
        "Reason (in numbers): 7 wakeups in a row without an external word (user, a2a; limit 6)",
        "Deleted repeating reminders:",
        '  - id schedule-3, interval 600s, text: "check"',
        '  - id schedule-7, interval 1800s, text: "look at the build"',
        "Accomplished during the autonomous stretch: 2 autonomous wakeups total",
        RESUME,
        "Time: 2027-01-15T08:00:00.000Z",
    )


def test_with_nothing_to_delete_the_report_says_so() -> None:
    """One sentence in place of the list."""
    assert list_report(STREAK, DEFAULT_CONFIG, T)[2:4] == (
        "No repeating reminder was active (the loop ran on one-shots)",
        "Accomplished during the autonomous stretch: 2 autonomous wakeups total",
    )


NOT_APPLIED = (
    "schedule-guard [startup]: not applied to: wakeups by a human message (not a dispatch); "
    "an already-running turn (the cycle is stopped, not the turn); "
    "goal rounds and background jobs (not schedule dispatchers)"
)


def test_the_start_up_lines_tell_the_defaults() -> None:
    """The seed's fields in its form, a second line with the rest, and what the guard leaves alone."""
    first = (
        "schedule-guard [startup]: limits: maxConsecutiveWakeups=6 (default), maxPerDay=48 (default), "
        "minRepeatingIntervalSeconds=1800 (default), dayBoundaryOffsetMinutes=0 (default), "
        "notifyCmd=unset (log only) (default)"
    )
    assert list_startup_lines(DEFAULT_CONFIG) == (
        first,
        'schedule-guard [startup]: limits: maxPerHour=4 (default), resetKinds=["user","a2a"] (default)',
        NOT_APPLIED,
    )


def test_the_start_up_lines_mark_what_was_chosen() -> None:
    """Each field by itself, one that was set to its default among them."""
    config = GuardConfig(
        max_consecutive_wakeups=6,
        max_per_day=12.0,
        max_per_hour=-1,
        reset_kinds=("boss",),
        min_repeating_interval_seconds=0.5,
        day_boundary_offset_minutes=-90,
        notify_cmd=("/opt/tell", "--all"),
        configured=frozenset({"maxConsecutiveWakeups", "resetKinds", "notifyCmd"}),
    )
    first = (
        "schedule-guard [startup]: limits: maxConsecutiveWakeups=6 (configured), "
        "maxPerDay=12 (default), minRepeatingIntervalSeconds=0.5 (default), "
        "dayBoundaryOffsetMinutes=-90 (default), notifyCmd=/opt/tell --all (configured)"
    )
    assert list_startup_lines(config)[:2] == (
        first,
        'schedule-guard [startup]: limits: maxPerHour=-1 (default), resetKinds=["boss"] (configured)',
    )


@pytest.mark.parametrize(
    ("config", "line"),
    [
        (
            GuardConfig(hold=True, configured=frozenset({"hold"})),
            "holds: hold=on (configured), quietHours=none (default)",
        ),
        (
            GuardConfig(
                quiet_hours=QuietHours(1320, 450, "Europe/Berlin"), configured=frozenset({"quietHours"})
            ),
            "holds: hold=off (default), quietHours=22:00 to 07:30 Europe/Berlin (configured)",
        ),
    ],
)
def test_a_hold_that_was_chosen_has_a_line(config: GuardConfig, line: str) -> None:
    """Before what the guard is not applied to."""
    lines = list_startup_lines(config)
    assert lines[2:] == (f"schedule-guard [startup]: {line}", NOT_APPLIED)


def test_a_session_and_its_lines_are_named() -> None:
    """The seed's spelling."""
    assert format_session_line("session-1", 2) == (
        "schedule-guard [startup]: session under guard: session-1 (total 2)"
    )
    assert format_line("session-1", "inert") == "schedule-guard [session-1]: inert"


@pytest.mark.parametrize(
    ("prompt", "shown"),
    [
        ("check\nReason: none", '"check\\nReason: none"'),
        ("a\r\tb", '"a\\r\\tb"'),
        ("\x1b[2J\x00", '"\\u001b[2J\\u0000"'),
        ("\x7f\x85\x9b", '"\\u007f\\u0085\\u009b"'),
        ("\u2028 \u2029", '"\\u2028 \\u2029"'),
        ("\u202egnp.exe", '"\\u202egnp.exe"'),
        ("\ud83d", '"\\ud83d"'),
        ("\ude00\ud83d", '"\\ude00\\ud83d"'),
        ("\ud83d\ude00", '"😀"'),
        ('say "no" \\ ja', '"say \\"no\\" \\\\ ja"'),
        ("日本語 😀 é", '"日本語 😀 é"'),
    ],
)
def test_a_hostile_text_stays_on_its_line(prompt: str, shown: str) -> None:
    """Nothing ends a line or acts on a terminal, and every text can be encoded."""
    record = EveryRecord("schedule-1", prompt, 600, T)
    report = list_report(stop_at(StopKey("interval"), 1800, record), DEFAULT_CONFIG, T)
    assert report[3] == f"  - id schedule-1, interval 600s, text: {shown}"


HOSTILE = "a\nb\x1b[2J\x85\u2028\u202e\x9b\ud83d"
QUOTED = '"a\\nb\\u001b[2J\\u0085\\u2028\\u202e\\u009b\\ud83d"'


def test_a_hostile_name_stays_on_its_line() -> None:
    """Ids of records and sessions, kinds and commands are quoted where they could not stand bare."""
    record = EveryRecord(HOSTILE, "x", 600, T)
    config = GuardConfig(reset_kinds=("user", HOSTILE), notify_cmd=("tell", HOSTILE))
    report = list_report(stop_at(StopKey("consecutive"), 6, record), config, T)
    assert report[3] == f'  - id {QUOTED}, interval 600s, text: "x"'
    assert f"(user, {QUOTED}; limit 6)" in report[1]
    startup = list_startup_lines(config)
    assert f"notifyCmd=tell {QUOTED} (default)" in startup[0]
    assert f'resetKinds=["user",{QUOTED}] (default)' in startup[1]
    lines = (
        format_stop_line(HOSTILE, report),
        format_session_line(HOSTILE, 1),
        format_line(HOSTILE, "inert"),
        *startup,
    )
    for line in lines:
        assert line.isprintable()
        line.encode()
    assert [QUOTED in line for line in lines] == [True, True, True, True, True, False]


@pytest.mark.parametrize(
    ("length", "shown"), [(119, "x" * 119), (120, "x" * 120), (121, "x" * 119 + "…")]
)
def test_a_long_text_is_shortened(length: int, shown: str) -> None:
    """To a hundred and twenty characters, and it shows that it was."""
    record = EveryRecord("schedule-1", "x" * length, 600, T)
    report = list_report(stop_at(StopKey("interval"), 1800, record), DEFAULT_CONFIG, T)
    assert report[3] == f'  - id schedule-1, interval 600s, text: "{shown}"'
