"""From a caller's arguments to a record."""

from __future__ import annotations

import pytest

from core_logs import (
    FIRST_MS,
    LAST_MS,
    T,
    at,
    created,
    deleted,
    dispatched,
    every,
    ledger_of,
    ok,
    refused,
)
from wakefold.events import AfterRecord, AtRecord, EveryRecord, Record
from wakefold.implied_zones import UNAVAILABLE, RequestZone
from wakefold.instants import format_instant
from wakefold.ledger import EMPTY, Ledger
from wakefold.recurrence import PUBLISHED, SEED, Profile
from wakefold.rejections import (
    FrequencyTooHigh,
    InvalidPrompt,
    InvalidRule,
    InvalidSelector,
    NotFuture,
    Rejection,
    TimeOutOfRange,
    TimezoneConfirmationRequired,
)
from wakefold.requests import (
    After,
    At,
    CreateRequest,
    Every,
    Rule,
    allocate_id,
    build_record,
    make_record,
    read_create_request,
    read_rule,
    trim_prompt,
)

NO_ZONE = RequestZone(implied=None, session_time_zone=UNAVAILABLE)
TOKYO = RequestZone("Asia/Tokyo", "Asia/Tokyo", ("Asia/Tokyo",))


@pytest.mark.parametrize(
    ("arguments", "request_read"),
    [
        ({"prompt": "p", "after_seconds": 1}, CreateRequest("p", After(1))),
        ({"after_seconds": 60.0, "prompt": " p\n"}, CreateRequest("p", After(60))),
        ({"prompt": "p", "every_seconds": 300}, CreateRequest("p", Every(300))),
        ({"prompt": "p", "at": "2027"}, CreateRequest("p", At("2027"))),
        ({"prompt": "p", "at": None}, CreateRequest("p", At(None))),
        ({"prompt": "p", "at": {"x": 1}}, CreateRequest("p", At({"x": 1}))),
        ({"prompt": "\ud83d", "after_seconds": 1}, CreateRequest("\ud83d", After(1))),
    ],
)
def test_a_readable_request_has_a_prompt_and_one_rule(
    arguments: object, request_read: CreateRequest
) -> None:
    """The prompt is trimmed, numbers become integers, and what `at` says is left for later."""
    found = ok(read_create_request(arguments))
    assert repr(found) == repr(request_read)


# From the first check of spec section 11 to the last: each request also has later faults.
UNREADABLE: list[tuple[object, Rejection]] = [
    (None, InvalidSelector(())),
    ([], InvalidSelector(())),
    ("after_seconds", InvalidSelector(())),
    ({}, InvalidSelector(())),
    ({"prompt": ""}, InvalidSelector(())),
    ({"prompt": "", "hourly": "* * * * *"}, InvalidSelector(("hourly",))),
    ({"prompt": "", "after_seconds": 0, "cron": 1}, InvalidSelector(("after_seconds", "cron"))),
    ({"prompt": "", "cron": 1, "title": "x", "daily": 1}, InvalidSelector(("cron", "title", "daily"))),
    ({"prompt": "", "title": None}, InvalidSelector(("title",))),
    ({"prompt": "", "cron": 1, "title": None}, InvalidPrompt()),
    ({"prompt": "p", "after_seconds": 1, "id": "x"}, InvalidSelector(("after_seconds", "id"))),
    ({"at": 1, "prompt": "", "after_seconds": 0}, InvalidSelector(("at", "after_seconds"))),
    ({"every_seconds": 1, "at": 1, "prompt": ""}, InvalidSelector(("every_seconds", "at"))),
    (
        {"after_seconds": 1, "at": 1, "every_seconds": 1},
        InvalidSelector(("after_seconds", "at", "every_seconds")),
    ),
    ({"after_seconds": 0}, InvalidPrompt()),
    ({"prompt": None, "after_seconds": 0}, InvalidPrompt()),
    ({"prompt": 5, "every_seconds": "x"}, InvalidPrompt()),
    ({"prompt": " \u00a0\ufeff\u2028", "every_seconds": 1}, InvalidPrompt()),
    ({"prompt": ["p"], "at": "tomorrow"}, InvalidPrompt()),
    ({"prompt": "p", "after_seconds": 0}, InvalidRule("not_positive_seconds", "0")),
    ({"prompt": "p", "every_seconds": "x"}, InvalidRule("not_whole_seconds", '"x"')),
    ({"prompt": "p", "every_seconds": 299}, FrequencyTooHigh(299, 300)),
]


@pytest.mark.parametrize(("arguments", "rejection"), UNREADABLE)
def test_the_first_fault_of_a_request_is_named(arguments: object, rejection: Rejection) -> None:
    """Selector, prompt, seconds: in this order."""
    assert refused(read_create_request(arguments)) == rejection


@pytest.mark.parametrize(
    ("value", "prompt"),
    [
        ("p", "p"),
        ("\u3000p q\u2029", "p q"),
        ("\u001cp\u0085", "\u001cp\u0085"),
        ("", None),
        ("\t", None),
        (None, None),
        (0, None),
        (True, None),
        (b"p", None),
    ],
)
def test_a_prompt_is_trimmed_text(value: object, prompt: str | None) -> None:
    """With something left of it."""
    assert trim_prompt(value) == prompt


@pytest.mark.parametrize(
    ("selector", "value", "rule"),
    [
        ("after_seconds", 1, After(1)),
        ("after_seconds", 2**53 - 1, After(2**53 - 1)),
        ("every_seconds", 300, Every(300)),
        ("every_seconds", 300.0, Every(300)),
        ("every_seconds", 2**53 - 1, Every(2**53 - 1)),
        ("at", 5, At(5)),
    ],
)
def test_a_rule_is_read_up_to_its_bounds(selector: str, value: object, rule: Rule) -> None:
    """Whole seconds above 0 after, whole seconds from 300 every."""
    assert repr(ok(read_rule(selector, value))) == repr(rule)


@pytest.mark.parametrize(
    ("selector", "value", "rejection"),
    [
        ("after_seconds", 0, InvalidRule("not_positive_seconds", "0")),
        ("after_seconds", -1, InvalidRule("not_positive_seconds", "-1")),
        ("after_seconds", 0.5, InvalidRule("not_positive_seconds", "0.5")),
        ("after_seconds", 2**53, InvalidRule("not_positive_seconds", "9007199254740992")),
        ("after_seconds", True, InvalidRule("not_positive_seconds", "true")),
        ("after_seconds", "60", InvalidRule("not_positive_seconds", '"60"')),
        ("after_seconds", None, InvalidRule("not_positive_seconds", "null")),
        ("every_seconds", 299, FrequencyTooHigh(299, 300)),
        ("every_seconds", 0, FrequencyTooHigh(0, 300)),
        ("every_seconds", -300, FrequencyTooHigh(-300, 300)),
        ("every_seconds", 300.5, InvalidRule("not_whole_seconds", "300.5")),
        ("every_seconds", 2**53, InvalidRule("not_whole_seconds", "9007199254740992")),
        ("every_seconds", True, InvalidRule("not_whole_seconds", "true")),
        ("every_seconds", None, InvalidRule("not_whole_seconds", "null")),
        ("every_seconds", float("nan"), InvalidRule("not_whole_seconds", "float")),
    ],
)
def test_seconds_beyond_their_bounds_are_refused(
    selector: str, value: object, rejection: Rejection
) -> None:
    """What is no safe integer is an invalid rule, a repeat below the floor is too frequent."""
    assert refused(read_rule(selector, value)) == rejection


@pytest.mark.parametrize(
    ("rule", "record"),
    [
        (After(1), AfterRecord("x", "p", 1, T + 1_000)),
        (Every(300), EveryRecord("x", "p", 300, T + 300_000)),
        (At("2027-01-15T08:00:00.001Z"), AtRecord("x", "p", T + 1)),
        (After((LAST_MS + 1 - T) // 1_000 - 1), AfterRecord("x", "p", 251_602_300_799, LAST_MS - 999)),
    ],
)
def test_a_record_is_made_from_a_rule_and_one_clock_sample(rule: Rule, record: Record) -> None:
    """Its target is counted from that sample, a float with a zero fraction included."""
    for now in (T, float(T)):
        made = ok(make_record(CreateRequest("p", rule), "x", now, NO_ZONE))
        assert repr(made) == repr(record)


@pytest.mark.parametrize("make", [After, Every])
@pytest.mark.parametrize(
    ("now", "seconds", "target_ms"),
    [
        (LAST_MS - 300_000, 300, LAST_MS),
        (LAST_MS - 299_999, 300, None),
        (LAST_MS, 300, None),
        (FIRST_MS - 300_000, 300, FIRST_MS),
        (FIRST_MS - 300_001, 300, None),
        (T, 2**53 - 1, None),
        (-9_007_000_000_000_000, 9_007_199_254_740, 199_254_740_000),
        (-9_007_000_000_000_000, 9_007_199_254_741, None),
        (2**53, 300, None),
        (0.5, 300, None),
        (float("nan"), 300, None),
        (float("inf"), 300, None),
        (float("-inf"), 300, None),
        (True, 300, None),
    ],
)
def test_a_target_lies_within_the_years(
    make: type[After | Every], now: float, seconds: int, target_ms: int | None
) -> None:
    """Past either end, or by unsafe arithmetic, or without a clock, it is out of range."""
    made = make_record(CreateRequest("p", make(seconds)), "x", now, NO_ZONE)
    if target_ms is None:
        assert refused(made) == TimeOutOfRange()
    else:
        assert ok(made).scheduled_at_ms == target_ms


@pytest.mark.parametrize(
    ("now", "text", "rejection"),
    [
        (T, "2027-01-15T08:00:00Z", NotFuture(T, T)),
        (T, "2027-01-15T07:59:59.999Z", NotFuture(T - 1, T)),
        (T, "0001-01-01T00:00:00Z", NotFuture(FIRST_MS, T)),
        (T, "0001-01-01T00:00:00+01:00", TimeOutOfRange()),
        (LAST_MS, "9999-12-31T23:59:59.999Z", NotFuture(LAST_MS, LAST_MS)),
        (float("nan"), "2027-01-15T08:00:00Z", TimeOutOfRange()),
        (2**53, "2027-01-15T08:00:00Z", TimeOutOfRange()),
        (0.5, "2027-01-15T08:00:00Z", TimeOutOfRange()),
        (float("nan"), "soon", InvalidRule("at_shape", '"soon"')),
        (2**53 - 1, "soon", InvalidRule("at_shape", '"soon"')),
    ],
)
def test_an_absolute_target_lies_strictly_after_now(
    now: float, text: str, rejection: Rejection
) -> None:
    """Its own faults first, then the clock's, then the comparison."""
    request = CreateRequest("p", At(text))
    assert refused(make_record(request, "x", now, NO_ZONE)) == rejection


def test_a_clock_far_off_still_reads_an_absolute_time() -> None:
    """Now itself need not lie within the years."""
    request = CreateRequest("p", At("0001-01-01T00:00:00Z"))
    made = ok(make_record(request, "x", FIRST_MS - 1, NO_ZONE))
    assert made == AtRecord("x", "p", FIRST_MS)
    late = make_record(request, "x", 2**53 - 1, NO_ZONE)
    assert refused(late) == NotFuture(FIRST_MS, 2**53 - 1)


@pytest.mark.parametrize(
    ("seen", "allocated"),
    [
        ([], "schedule-1"),
        (["schedule-1"], "schedule-2"),
        (["x"], "schedule-2"),
        (["schedule-2"], "schedule-3"),
        (["schedule-3", "schedule-2"], "schedule-4"),
        (["schedule-4", "schedule-5", "x"], "schedule-6"),
        (["schedule-02"], "schedule-2"),
        (["schedule-9"], "schedule-2"),
    ],
)
def test_an_id_is_counted_from_the_ids_ever_seen(seen: list[str], allocated: str) -> None:
    """From their number plus one upwards, past any that was seen, ended ones included."""
    assert allocate_id(ledger_of(*(created(at(name)) for name in seen))) == allocated
    ended = [change for name in seen for change in (created(at(name)), deleted(name))]
    assert allocate_id(ledger_of(*ended)) == allocated


def test_a_record_is_built_under_the_next_id() -> None:
    """The session's ledger gives the id, its implied zone reads local fields."""
    ledger = ledger_of(created(at("schedule-2")))
    request = CreateRequest("p", At({"date": "2027-02-01", "time": "09:00:00"}))
    record = ok(build_record(request, ledger, T, TOKYO))
    assert (record.id, record.prompt) == ("schedule-3", "p")
    assert format_instant(record.scheduled_at_ms) == "2027-02-01T00:00:00.000Z"
    asked = refused(build_record(request, ledger, T, NO_ZONE))
    assert asked == TimezoneConfirmationRequired("unavailable", ())


def _after_batch_at(accepted_at_ms: int, profile: Profile) -> Ledger:
    changes = [created(every("e", accepted_at_ms)), dispatched("e", accepted_at_ms)]
    return ledger_of(*changes, profile=profile)


def test_an_exhausted_gate_takes_no_repeat() -> None:
    """A one-shot is built all the same, and under PUBLISHED nothing is exhausted."""
    repeat, once = CreateRequest("p", Every(300)), CreateRequest("p", After(1))
    ledger = _after_batch_at(LAST_MS - 299_999, SEED)
    assert refused(build_record(repeat, ledger, T, NO_ZONE)) == TimeOutOfRange()
    assert ok(build_record(once, ledger, T, NO_ZONE)).id == "schedule-2"
    open_still = _after_batch_at(LAST_MS - 300_000, SEED)
    assert ok(build_record(repeat, open_still, T, NO_ZONE)).id == "schedule-2"
    no_gate = _after_batch_at(LAST_MS, PUBLISHED)
    assert ok(build_record(repeat, no_gate, T, NO_ZONE)).id == "schedule-2"
    assert ok(build_record(repeat, EMPTY, T, NO_ZONE)).id == "schedule-1"
