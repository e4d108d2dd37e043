"""Every code, every fault and every broken rule, and the sentence of each."""

from __future__ import annotations

from typing import Literal, get_args

import pytest

from core_logs import FIRST_MS, LAST_MS, T
from wakefold.json_text import format_json
from wakefold.log_rules import LogRule
from wakefold.rejections import (
    CorruptScheduleLog,
    FrequencyTooHigh,
    InternalError,
    InvalidPrompt,
    InvalidRule,
    InvalidSelector,
    InvalidTimeZone,
    LogFault,
    NotFuture,
    PersistenceUncertain,
    Rejection,
    TimeOutOfRange,
    TimezoneConfirmationRequired,
    describe_log_rule,
    describe_rejection,
    error_value,
    shorten,
)
from wakefold.rule_faults import RuleFault

SELECTOR = (
    "Give exactly one of after_seconds, at, every_seconds, daily, weekly and cron beside the prompt, "
    "and no other key but options (given: {})."
)
FORMS = (
    "at takes forms such as 2027-02-01T09:00:00Z, 2027-02-01T09:00:00+01:00, or "
    '{"date": "2027-02-01", "time": "09:00:00", "time_zone": "Europe/Berlin"} (given 5).'
)

SENTENCES: list[tuple[Rejection, str, str]] = [
    (InvalidPrompt(), "invalid_prompt", "The prompt must be text that is more than white space."),
    (InvalidSelector(()), "invalid_selector", SELECTOR.format("none")),
    (InvalidSelector(("at",)), "invalid_selector", SELECTOR.format('["at"]')),
    (InvalidSelector(("at", "cron")), "invalid_selector", SELECTOR.format('["at","cron"]')),
    (
        InvalidSelector(("paused", "title"), "update"),
        "invalid_selector",
        (
            "Give the id with any of prompt, one selector and options, or with paused alone, or with "
            'snooze_until alone (given: ["paused","title"]).'
        ),
    ),
    (
        InvalidSelector(("all",), "nothing"),
        "invalid_selector",
        'Give no arguments (given: ["all"]).',
    ),
    (
        InvalidSelector(("prompt", "daily"), "version_1"),
        "invalid_selector",
        (
            "Only version 1 of the durable change is written here: give exactly one of after_seconds, "
            "at and every_seconds beside the prompt, no options, and change nothing but by a delete "
            '(given: ["prompt","daily"]).'
        ),
    ),
    (
        InvalidTimeZone('"Mars/Base"'),
        "invalid_time_zone",
        (
            '"Mars/Base" is no known time zone: use UTC or an IANA Area/Location name '
            "such as Europe/Berlin."
        ),
    ),
    (
        TimezoneConfirmationRequired("unavailable", ()),
        "timezone_confirmation_required",
        (
            "This local time names no time_zone and none can be implied "
            "(session: unavailable; clients: none): name time_zone."
        ),
    ),
    (
        TimezoneConfirmationRequired("Asia/Tokyo", ("Asia/Tokyo", "Europe/Paris")),
        "timezone_confirmation_required",
        (
            "This local time names no time_zone and none can be implied "
            "(session: Asia/Tokyo; clients: Asia/Tokyo, Europe/Paris): name time_zone."
        ),
    ),
    (
        NotFuture(T - 1, T),
        "not_future",
        "2027-01-15T07:59:59.999Z is not after now, 2027-01-15T08:00:00.000Z.",
    ),
    (
        NotFuture(FIRST_MS, LAST_MS),
        "not_future",
        "0001-01-01T00:00:00.000Z is not after now, 9999-12-31T23:59:59.999Z.",
    ),
    (
        NotFuture(FIRST_MS - 1, LAST_MS + 1),
        "not_future",
        "-62135596800001 ms is not after now, 253402300800000 ms.",
    ),
    (
        TimeOutOfRange(),
        "time_out_of_range",
        "The time lies outside the years 0001 to 9999.",
    ),
    (
        FrequencyTooHigh(299, 300),
        "frequency_too_high",
        "A reminder can repeat every 300 s or slower (asked for 299 s).",
    ),
    (
        PersistenceUncertain("create", "schedule-1"),
        "persistence_uncertain",
        "The store did not confirm the create; list the reminders before trying again.",
    ),
    (
        PersistenceUncertain("delete"),
        "persistence_uncertain",
        "The store did not confirm the delete; list the reminders before trying again.",
    ),
    (
        InternalError(),
        "internal_error",
        "An internal error: list the reminders before trying again.",
    ),
    (
        CorruptScheduleLog("bad_seed_length"),
        "corrupt_schedule_log",
        "bad_seed_length: the seed length must be a whole number from 0 to the log's length.",
    ),
]

CRON_FIELD = (
    "The {} of expression takes *, numbers from {}, ranges such as {}, steps such as */2, "
    "and lists of those with commas (given 5)."
)
CRON_FIELDS: list[tuple[RuleFault, str, str]] = [
    ("cron_minute", "minute", "0-59"),
    ("cron_hour", "hour", "0-23"),
    ("cron_day", "day of month", "1-31"),
    ("cron_month", "month", "1-12"),
    ("cron_weekday", "day of week", "0-7"),
]

RULE_SENTENCES: list[tuple[RuleFault, tuple[str, ...], str]] = [
    ("not_positive_seconds", (), "after_seconds must be a whole number above 0 (given 5)."),
    ("not_whole_seconds", (), "every_seconds must be a whole number (given 5)."),
    ("at_shape", (), FORMS),
    ("at_shape", ("THEN",), f"{FORMS} An hour from now is THEN."),
    ("at_shape", ("A", "B"), f"{FORMS} An hour from now is A. An hour from now is B."),
    ("at_keys", (), FORMS),
    ("at_date", (), "date must read like 2027-02-01 (given 5)."),
    ("at_time", (), "time must read like 09:00:00 or 09:00:00.000 (given 5)."),
    ("no_such_date", (), "5 is no real date and time: look at the calendar."),
    ("local_time_skipped", ("A", "B"), "5 does not exist, the clocks skip it: use A or B."),
    ("not_trimmed_id", (), "An id is non-empty text without white space around it (given 5)."),
    (
        "daily_keys",
        (),
        'daily takes {"time": "09:00:00", "time_zone": "Europe/Berlin"} (given 5).',
    ),
    (
        "weekly_keys",
        (),
        (
            'weekly takes {"weekdays": [1, 5], "time": "09:00:00", "time_zone": "Europe/Berlin"} '
            "(given 5)."
        ),
    ),
    (
        "cron_keys",
        (),
        'cron takes {"expression": "0 9 * * 1-5", "time_zone": "Europe/Berlin"} (given 5).',
    ),
    ("rule_time", (), "time must read like 09:00:00 or 09:00:00.000 (given 5)."),
    (
        "weekdays",
        (),
        "weekdays is a list of numbers from 1 (Monday) to 7 (Sunday), each once (given 5).",
    ),
    (
        "cron_fields",
        (),
        "expression must have five fields: minute, hour, day of month, month, day of week (given 5).",
    ),
    *((fault, (), CRON_FIELD.format(name, numbers, numbers)) for fault, name, numbers in CRON_FIELDS),
    ("no_date_ever", (), "No date ever matches 5: look at the day and the month."),
    ("option_null", (), "An option that is not wanted is left out, and never null (given 5)."),
    ("title", (), "title is text of 1 to 120 characters (given 5)."),
    ("max_runs", (), "max_runs is a whole number above 0 (given 5)."),
    ("missed", (), "missed is latest or skip (given 5)."),
    ("grace_seconds", (), "grace_seconds is a whole number from 300 (given 5)."),
    ("revision", (), "revision is a whole number from 0, as schedule_list gave it (given 5)."),
    ("paused", (), "paused is true or false (given 5)."),
    (
        "snooze_range",
        (),
        "snooze_until lies after the target, before the next occurrence and not past until (given 5).",
    ),
    (
        "option_of_recurring",
        (),
        "max_runs and until are for reminders that repeat: leave them out.",
    ),
    (
        "grace_without_skip",
        (),
        "grace_seconds goes with missed: skip, and only with that: give both.",
    ),
    (
        "ended_by_option",
        (),
        "max_runs and until must leave an occurrence: delete the reminder instead.",
    ),
]

LOG_SENTENCES: list[tuple[LogRule, str]] = [
    ("not_an_object", "a schedule change must be a JSON object"),
    ("wrong_keys", "a key is missing or unknown"),
    ("unknown_version", "only versions 1 and 2 are known"),
    ("unknown_operation", "the operation is none of that version"),
    ("unknown_kind", "the kind is none of that version"),
    ("bad_id", "an id must be non-empty text without white space around it"),
    ("bad_prompt", "a prompt must be non-empty text without white space around it"),
    ("bad_seconds", "seconds must be a safe integer: above 0 for after, at least 300 for every"),
    ("bad_instant", "an instant must read like 2027-02-01T09:00:00.000Z and name a day that exists"),
    ("bad_seed_length", "the seed length must be a whole number from 0 to the log's length"),
    ("bad_dispatch_seq", "the dispatch seq must be the seq of an event of the log"),
    ("id_reused", "an id is created once and never again"),
    ("id_not_active", "no reminder of that id is active here"),
    ("one_shot_with_accepted_at", "the dispatch of a one-shot carries no acceptedAt"),
    ("every_without_accepted_at", "the dispatch of a repeating reminder must carry acceptedAt"),
    ("accepted_before_target", "a repeating reminder cannot be accepted before its target"),
    ("batches_too_close", "repeating batches must stand at least 300 s apart, in order"),
    ("plain_record", "a create of version 2 needs a calendar rule or an option"),
    ("bad_rule", "a calendar rule must be canonical, match a date, and come 300 s apart or more"),
    ("bad_title", "a title must be trimmed text of 1 to 120 characters"),
    ("bad_max_runs", "maxRuns must be a whole number above 0"),
    ("bad_missed", "missed must be latest or skip"),
    ("option_of_recurring", "maxRuns and until are for recurring reminders only"),
    ("grace_without_skip", "graceSeconds stands with missed skip, and only there"),
    ("ended_by_option", "maxRuns or until leave the reminder no occurrence"),
    ("other_version", "a reminder is dispatched by version 2 from its first event of version 2 on"),
    ("paused", "a paused reminder can only be resumed, updated or deleted"),
    ("not_paused", "only a paused reminder can be resumed"),
    ("bad_occurrence", "the occurrence must lie from the target to the acceptance, as the rule has it"),
    ("bad_next", "the next target must come after the acceptance, as the rule has it"),
    ("not_too_late", "only an occurrence that is later than its grace can be skipped"),
    ("snoozed_to_target", "a snooze must end after the target"),
]


def test_the_tables_miss_nothing() -> None:
    """Eleven codes, and a sentence for each of them, for each fault and for each rule."""
    codes = {code for _, code, _ in SENTENCES} | {"invalid_rule"}
    assert {str(member.__struct_config__.tag) for member in get_args(Rejection)} == codes
    assert len(codes) == 11
    assert {str(member.__struct_config__.tag_field) for member in get_args(Rejection)} == {"code"}
    assert {fault for fault, _, _ in RULE_SENTENCES} == set(get_args(RuleFault))
    assert {rule for rule, _ in LOG_SENTENCES} == set(get_args(LogRule))


@pytest.mark.parametrize(("rejection", "code", "sentence"), SENTENCES)
def test_each_rejection_has_its_code_and_its_sentence(
    rejection: Rejection, code: str, sentence: str
) -> None:
    """The code is stable and the sentence says what to do instead."""
    assert rejection.code == code
    assert describe_rejection(rejection) == sentence


@pytest.mark.parametrize(("fault", "alternatives", "sentence"), RULE_SENTENCES)
def test_each_fault_of_a_rule_has_its_sentence(
    fault: RuleFault, alternatives: tuple[str, ...], sentence: str
) -> None:
    """All are `invalid_rule`, told apart by their words."""
    rejection = InvalidRule(fault, "5", alternatives)
    assert rejection.code == "invalid_rule"
    assert describe_rejection(rejection) == sentence


@pytest.mark.parametrize(("rule", "sentence"), LOG_SENTENCES)
def test_each_rule_of_the_log_has_its_sentence(rule: LogRule, sentence: str) -> None:
    """The rule's own name stands in front of it."""
    assert describe_log_rule(CorruptScheduleLog(rule)) == f"{rule}: {sentence}."
    assert describe_rejection(CorruptScheduleLog(rule)) == f"{rule}: {sentence}."


@pytest.mark.parametrize(
    ("fault", "where"),
    [
        (CorruptScheduleLog("wrong_keys", index=0), "wrong_keys at event 0"),
        (CorruptScheduleLog("wrong_keys", "$.schedule"), "wrong_keys ($.schedule)"),
        (CorruptScheduleLog("wrong_keys", schedule_id="a"), 'wrong_keys, id "a"'),
        (
            CorruptScheduleLog("wrong_keys", "$.id", 12, "\ud83d"),
            'wrong_keys at event 12 ($.id), id "\\ud83d"',
        ),
    ],
)
def test_a_broken_rule_says_where(fault: CorruptScheduleLog, where: str) -> None:
    """The event, the path in it and the id are told as far as they are known."""
    assert describe_log_rule(fault) == f"{where}: a key is missing or unknown."


@pytest.mark.parametrize(
    ("rejection", "extra"),
    [
        (TimeOutOfRange(), ""),
        (InvalidRule("at_shape", "5"), ""),
        (NotFuture(T, T), ""),
        (FrequencyTooHigh(1, 300), ""),
        (CorruptScheduleLog("bad_id", "$.id", 3, "x"), ""),
        (
            TimezoneConfirmationRequired("unavailable", ()),
            ',"sessionTimeZone":"unavailable","clientTimeZones":[]',
        ),
        (
            TimezoneConfirmationRequired("UTC", ("Asia/Tokyo", "UTC")),
            ',"sessionTimeZone":"UTC","clientTimeZones":["Asia/Tokyo","UTC"]',
        ),
        (PersistenceUncertain("list"), ',"operation":"list"'),
        (PersistenceUncertain("delete", "x"), ',"operation":"delete","id":"x"'),
        (PersistenceUncertain("create", ""), ',"operation":"create","id":""'),
    ],
)
def test_an_error_value_has_its_keys_in_order(rejection: Rejection, extra: str) -> None:
    """First code and message, then what the page names for that code, and nothing else."""
    message = format_json(describe_rejection(rejection))
    expected = f'{{"code":"{rejection.code}","message":{message}{extra}}}'
    assert format_json(error_value(rejection)) == expected


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("x", '"x"'),
        (None, "null"),
        (300.5, "300.5"),
        ({"a": [1]}, '{"a":[1]}'),
        ("\ud83d\n", '"\\ud83d\\n"'),
        ("x" * 78, f'"{"x" * 78}"'),
        ("x" * 79, f'"{"x" * 79}...'),
        ("x" * 80, f'"{"x" * 79}...'),
        (float("nan"), "float"),
        ([float("inf")], "list"),
        (object(), "object"),
        ({1, 2}, "set"),
    ],
)
def test_a_value_is_named_in_at_most_80_characters(value: object, text: str) -> None:
    """JSON text, cut with a mark; the type's name where there is no JSON text."""
    assert shorten(value) == text


def test_a_value_nested_too_deeply_is_named_by_its_type() -> None:
    """A sentence about a hostile request is still a sentence."""
    value: list[object] = []
    for _ in range(100_000):
        value = [value]
    assert shorten(value) == "list"


@pytest.mark.parametrize(
    ("own_index", "given_index", "index"), [(None, None, None), (None, 7, 7), (3, 7, 3), (0, 7, 0)]
)
def test_a_fault_that_knows_its_place_keeps_it(
    own_index: int | None, given_index: int | None, index: int | None
) -> None:
    """Otherwise the place is where the reader stood."""
    fault = LogFault("bad_id", "$.id", "x")
    fault.index = own_index
    assert fault.located(given_index) == CorruptScheduleLog("bad_id", "$.id", index, "x")
    assert str(fault) == "bad_id"


def test_a_fault_is_about_the_whole_change_unless_told() -> None:
    """Path `$`, no id, no place."""
    rule: Literal["wrong_keys"] = "wrong_keys"
    assert LogFault(rule).located() == CorruptScheduleLog(rule, "$", None, None)
    assert CorruptScheduleLog(rule) == CorruptScheduleLog(rule, "$", None, None)
