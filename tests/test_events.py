"""What a `schedule/change` may hold, and how it is stored."""

from __future__ import annotations

from typing import get_args

import pytest

from core_logs import FIRST_MS, LAST_MS, T, after, at, created, deleted, dispatched, every, ok, refused
from wakefold.edits import Edit, Pause, Resume, Skip, Snooze, StatedDispatch, Update
from wakefold.events import (
    SCHEDULE_CHANGE,
    AfterRecord,
    AtRecord,
    Change,
    Create,
    Delete,
    Dispatch,
    Event,
    EveryRecord,
    Json,
    OneShotRecord,
    Record,
    decode_change,
    encode_change,
    encode_record,
    kind_of,
    read_change,
)
from wakefold.json_text import format_json
from wakefold.log_rules import LogRule
from wakefold.records import CalendarRecord, StoredRule
from wakefold.rejections import CorruptScheduleLog, LogFault

SAME_BOTH_WAYS: list[tuple[Change, str]] = [
    (
        Create(AfterRecord("a", "p", 30, T)),
        (
            '{"version":1,"operation":"create","schedule":{"id":"a","kind":"after","prompt":"p",'
            '"afterSeconds":30,"scheduledAt":"2027-01-15T08:00:00.000Z"}}'
        ),
    ),
    (
        Create(AtRecord("t", "p", FIRST_MS)),
        (
            '{"version":1,"operation":"create","schedule":{"id":"t","kind":"at","prompt":"p",'
            '"scheduledAt":"0001-01-01T00:00:00.000Z"}}'
        ),
    ),
    (
        Create(EveryRecord("e", "p", 300, LAST_MS)),
        (
            '{"version":1,"operation":"create","schedule":{"id":"e","kind":"every","prompt":"p",'
            '"everySeconds":300,"scheduledAt":"9999-12-31T23:59:59.999Z"}}'
        ),
    ),
    (Delete("x"), '{"version":1,"operation":"delete","id":"x"}'),
    (Dispatch("x"), '{"version":1,"operation":"dispatch","id":"x"}'),
    (
        Dispatch("x", 0),
        '{"version":1,"operation":"dispatch","id":"x","acceptedAt":"1970-01-01T00:00:00.000Z"}',
    ),
]


def _with(data: Json, **fields: object) -> Json:
    return {**data, **fields}


def _without(data: Json, key: str) -> Json:
    return {name: value for name, value in data.items() if name != key}


@pytest.mark.parametrize(("change", "text"), SAME_BOTH_WAYS)
def test_a_change_is_stored_and_decoded_alike(change: Change, text: str) -> None:
    """The stored form has its keys in the order of the page and decodes to the same change."""
    data = encode_change(change)
    assert format_json(data) == text
    assert ok(decode_change(data)) == change
    assert read_change(data) == change


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        (AfterRecord("a", "p", 30, T), "after"),
        (AtRecord("t", "p", T), "at"),
        (EveryRecord("e", "p", 300, T), "every"),
    ],
)
def test_a_record_is_stored_under_its_kind(record: Record, kind: str) -> None:
    """The kind's name is the storage format; a create stores the record as it is alone."""
    assert kind_of(record) == kind
    assert encode_record(record)["kind"] == kind
    assert encode_change(Create(record))["schedule"] == encode_record(record)


def test_the_unions_hold_what_the_page_names() -> None:
    """Four kinds of record, two of them one-shots; three operations of version 1, six of version 2."""
    assert get_args(Record) == (AfterRecord, AtRecord, EveryRecord, CalendarRecord)
    assert get_args(OneShotRecord) == (AfterRecord, AtRecord)
    assert get_args(Change) == (Create, Delete, Dispatch, *get_args(Edit))
    assert get_args(Edit) == (StatedDispatch, Skip, Update, Pause, Resume, Snooze)
    assert SCHEDULE_CHANGE == "schedule/change"


@pytest.mark.parametrize(
    ("union", "tag_field", "tags"),
    [
        (Record, "kind", ["after", "at", "every", "calendar"]),
        (StoredRule, "kind", ["after", "at", "every", "daily", "weekly", "cron"]),
        (
            Change,
            "operation",
            [
                *("create", "delete", "dispatch"),
                *("stated-dispatch", "skip", "update", "pause", "resume", "snooze"),
            ],
        ),
    ],
)
def test_the_tags_are_the_stored_names(union: object, tag_field: str, tags: list[str]) -> None:
    """They are the storage format, spelt literally, where one name does not stand for two shapes."""
    configs = [member.__struct_config__ for member in get_args(union)]
    assert [config.tag for config in configs] == tags
    assert {config.tag_field for config in configs} == {tag_field}


@pytest.mark.parametrize("key_order", [1, -1])
def test_the_order_of_keys_does_not_matter_to_a_reader(key_order: int) -> None:
    """JSON objects have no order."""
    data = dict([*created(dict([*every().items()][::key_order])).items()][::key_order])
    assert ok(decode_change(data)) == Create(EveryRecord("e", "p e", 300, T))


@pytest.mark.parametrize(
    ("seconds", "stored"),
    [(1, 1), (1.0, 1), (3e2, 300), (2**53 - 1, 2**53 - 1), (9_007_199_254_740_991.0, 2**53 - 1)],
)
def test_a_delay_is_any_safe_integer_above_zero(seconds: object, stored: int) -> None:
    """A number with a zero fraction is that integer."""
    change = ok(decode_change(created(_with(after(), afterSeconds=seconds))))
    assert repr(change) == repr(Create(AfterRecord("a", "p a", stored, T)))


@pytest.mark.parametrize(
    ("seconds", "stored"),
    [(300, 300), (300.0, 300), (301, 301), (9_007_199_254_740, 9_007_199_254_740)],
)
def test_an_interval_is_a_safe_integer_from_300_whose_milliseconds_are_safe(
    seconds: object, stored: int
) -> None:
    """The least is 300, the greatest the last whose thousandfold is a safe integer."""
    change = ok(decode_change(created(_with(every(), everySeconds=seconds))))
    assert repr(change) == repr(Create(EveryRecord("e", "p e", stored, T)))


@pytest.mark.parametrize("version", [1, 1.0])
def test_version_one_is_a_number(version: object) -> None:
    """`1.0` is the integer 1."""
    assert ok(decode_change(_with(deleted("x"), version=version))) == Delete("x")


@pytest.mark.parametrize("text", ["\ud83d", "x\u0085", "\u001cx", "a b", "schedule-1", "1"])
def test_ids_and_prompts_are_any_trimmed_text(text: str) -> None:
    """Lone surrogates and what only Python strips are legal."""
    stored = _with(at(), id=text, prompt=text)
    assert ok(decode_change(created(stored))) == Create(AtRecord(text, text, T))
    assert ok(decode_change(deleted(text))) == Delete(text)
    assert ok(decode_change(dispatched(text))) == Dispatch(text)


BAD_SECONDS: list[object] = [
    0,
    -1,
    0.5,
    2**53,
    9_007_199_254_740_992.0,
    True,
    "30",
    None,
    [],
    float("inf"),
]
BAD_INTERVALS: list[object] = [299, 299.0, 300.5, 0, -300, 2**53, 9_007_199_254_741, True, "300", None]
BAD_TEXTS: list[object] = ["", " ", " x", "x ", "x\n", "\u00a0x", "x\ufeff", 1, None, True, ["x"], {}]
BAD_OBJECTS: list[object] = [None, True, 1, "x", []]
BAD_NAMES: list[object] = ["", "Delete", "At", "update", "cron", 1, None, True, ["at"], {}]
BAD_INSTANTS: list[object] = [
    *("2027-02-01T09:00:00Z", "1773729000", "", "2027-02-29T00:00:00.000Z"),
    *("0000-12-31T23:59:59.999Z", "2027-02-01T09:00:00.000Z ", T, None, True, [], {}),
]

REFUSED: list[tuple[LogRule, str, object]] = [
    *(("not_an_object", "$", data) for data in (None, True, 1, "x", [], [deleted("x")])),
    *(
        ("unknown_version", "$.version", _with(deleted("x"), version=version))
        for version in (0, 3, 1.5, -1, True, "1", None, [1])
    ),
    ("unknown_version", "$.version", {}),
    ("unknown_version", "$.version", _without(deleted("x"), "version")),
    *(
        ("unknown_operation", "$.operation", _with(deleted("x"), operation=operation))
        for operation in BAD_NAMES
    ),
    ("unknown_operation", "$.operation", {"version": 1}),
    ("wrong_keys", "$", _with(created(at()), id="t")),
    ("wrong_keys", "$", _without(created(at()), "schedule")),
    ("wrong_keys", "$", _with(deleted("x"), extra=1)),
    ("wrong_keys", "$", _with(deleted("x"), acceptedAt="2027-01-15T08:00:00.000Z")),
    ("wrong_keys", "$", _without(deleted("x"), "id")),
    ("wrong_keys", "$", _with(dispatched("x"), extra=1)),
    ("wrong_keys", "$", _without(dispatched("x"), "id")),
    ("wrong_keys", "$", _with(dispatched("x", T), extra=1)),
    ("wrong_keys", "$", _without(dispatched("x", T), "id")),
    ("wrong_keys", "$", _with(dispatched("x"), __proto__=1)),
    *(("not_an_object", "$.schedule", _with(created(at()), schedule=s)) for s in BAD_OBJECTS),
    *(("unknown_kind", "$.schedule.kind", created(_with(at(), kind=kind))) for kind in BAD_NAMES),
    ("unknown_kind", "$.schedule.kind", created(_without(at(), "kind"))),
    *(("wrong_keys", "$.schedule", created(_with(s, extra=1))) for s in (after(), at(), every())),
    *(
        ("wrong_keys", "$.schedule", created(_without(schedule, key)))
        for schedule in (after(), at(), every())
        for key in schedule
        if key != "kind"
    ),
    ("wrong_keys", "$.schedule", created(_with(at(), afterSeconds=30))),
    ("wrong_keys", "$.schedule", created(_with(after(), everySeconds=300))),
    ("wrong_keys", "$.schedule", created(_with(every(), afterSeconds=30))),
    *(("bad_id", "$.id", _with(deleted("x"), id=text)) for text in BAD_TEXTS),
    *(("bad_id", "$.id", _with(dispatched("x"), id=text)) for text in BAD_TEXTS),
    *(("bad_id", "$.id", _with(dispatched("x", T), id=text)) for text in BAD_TEXTS),
    *(
        ("bad_id", "$.schedule.id", created(_with(schedule, id=text)))
        for schedule in (after(), at(), every())
        for text in BAD_TEXTS
    ),
    *(
        ("bad_prompt", "$.schedule.prompt", created(_with(schedule, prompt=text)))
        for schedule in (after(), at(), every())
        for text in BAD_TEXTS
    ),
    *(
        ("bad_instant", "$.schedule.scheduledAt", created(_with(schedule, scheduledAt=text)))
        for schedule in (after(), at(), every())
        for text in BAD_INSTANTS
    ),
    *(
        ("bad_instant", "$.acceptedAt", _with(dispatched("x", T), acceptedAt=text))
        for text in BAD_INSTANTS
    ),
    *(
        ("bad_seconds", "$.schedule.afterSeconds", created(_with(after(), afterSeconds=seconds)))
        for seconds in BAD_SECONDS
    ),
    *(
        ("bad_seconds", "$.schedule.everySeconds", created(_with(every(), everySeconds=seconds)))
        for seconds in BAD_INTERVALS
    ),
]


@pytest.mark.parametrize(("rule", "path", "data"), REFUSED)
def test_anything_else_is_corrupt(rule: LogRule, path: str, data: object) -> None:
    """Every other key, type and value is refused with its rule and the path of what broke it."""
    fault = CorruptScheduleLog(rule=rule, path=path, index=None, schedule_id=None)
    assert refused(decode_change(data)) == fault
    with pytest.raises(LogFault) as raised:
        read_change(data)
    assert raised.value.located() == fault


@pytest.mark.parametrize("value", [Event("x", 0, 0, None), AtRecord("t", "p", T), Delete("x")])
def test_events_and_changes_are_frozen(value: object) -> None:
    """Nothing that was read is changed in place."""
    with pytest.raises(AttributeError, match="immutable"):
        setattr(value, "id", "y")  # noqa: B010 - a plain assignment would not pass mypy


def test_a_dispatch_carries_no_acceptance_unless_told() -> None:
    """The short form is that of a one-shot."""
    assert Dispatch("x") == Dispatch("x", None)
    assert "acceptedAt" not in encode_change(Dispatch("x"))
