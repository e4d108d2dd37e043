"""Records as they are stored (spec section 3, calendar.md sections 1 and 3).

This module decides which JSON object is a record or a rule, of version 1 or 2, and how it is written.
Rules are taken as they stand: canonical, of some date, never too often; whether a zone exists is asked
of no tz database. What options may stand together is the business of `transitions`.

The names here are the storage format of every session log: they never change.
"""

from __future__ import annotations

from typing import Final, assert_never

from wakefold.calendar_rules import (
    CalendarRule,
    CronRule,
    DailyRule,
    WeeklyRule,
    is_canonical,
)
from wakefold.instants import format_instant, is_trimmed, read_safe_integer
from wakefold.records import (
    EDITABLE,
    PLAIN,
    AfterRecord,
    AfterRule,
    AtRecord,
    AtRule,
    CalendarRecord,
    EveryRecord,
    EveryRule,
    Missed,
    Options,
    Record,
    StoredRule,
    assemble_record,
    kind_of,
)
from wakefold.rejections import LogFault
from wakefold.stored_values import (
    Json,
    read_delay_seconds,
    read_instant,
    read_interval_seconds,
    read_object,
    read_text,
    require_keys,
)

#: The longest title, in code points.
TITLE_CHARACTERS_MAX: Final = 120

#: What a record may carry beside its rule.
OPTION_KEYS: Final = frozenset({"title", "maxRuns", "until", "missed", "graceSeconds"})

#: By kind, the keys of its rule.
RULE_KEYS: Final[dict[str, frozenset[str]]] = {
    "after": frozenset({"afterSeconds"}),
    "at": frozenset(),
    "every": frozenset({"everySeconds"}),
    "daily": frozenset({"time", "timeZone"}),
    "weekly": frozenset({"weekdays", "time", "timeZone"}),
    "cron": frozenset({"expression", "timeZone"}),
}

_VERSION_1_KINDS: Final = ("after", "at", "every")
_KEYS: Final = {
    kind: keys | {"id", "kind", "prompt", "scheduledAt"} for kind, keys in RULE_KEYS.items()
}
_AT: Final = "$.schedule"


def read_record(data: object) -> Record:
    """A record of version 1. Raises `LogFault`."""
    fields = read_object(data, _AT)
    kind = _read_kind(fields, _AT)
    if kind not in _VERSION_1_KINDS:
        raise LogFault("unknown_kind", f"{_AT}.kind")
    require_keys(fields, _KEYS[kind], _AT)
    seconds = 0
    if kind == "every":
        seconds = read_interval_seconds(fields["everySeconds"], f"{_AT}.everySeconds")
    schedule_id = read_text(fields["id"], "bad_id", f"{_AT}.id")
    prompt = read_text(fields["prompt"], "bad_prompt", f"{_AT}.prompt")
    if kind == "after":
        seconds = read_delay_seconds(fields["afterSeconds"], f"{_AT}.afterSeconds")
    scheduled_at_ms = read_instant(fields["scheduledAt"], f"{_AT}.scheduledAt")
    if kind == "every":
        return EveryRecord(schedule_id, prompt, seconds, scheduled_at_ms)
    if kind == "after":
        return AfterRecord(schedule_id, prompt, seconds, scheduled_at_ms)
    return AtRecord(schedule_id, prompt, scheduled_at_ms)


def read_editable_record(data: object) -> Record:
    """A record of version 2, which has a calendar rule or an option. Raises `LogFault`."""
    fields = read_object(data, _AT)
    kind = _read_kind(fields, _AT)
    given = fields.keys() & OPTION_KEYS
    require_keys(fields, _KEYS[kind] | given, _AT)
    if kind in _VERSION_1_KINDS and not given:
        raise LogFault("plain_record", _AT)
    return assemble_record(
        read_text(fields["id"], "bad_id", f"{_AT}.id"),
        read_text(fields["prompt"], "bad_prompt", f"{_AT}.prompt"),
        _read_rule(kind, fields, _AT),
        read_instant(fields["scheduledAt"], f"{_AT}.scheduledAt"),
        _read_options(fields),
        EDITABLE,
    )


def read_target(data: object, path: str) -> tuple[StoredRule, int]:
    """A rule with its first target (epoch ms), as an update states it. Raises `LogFault`."""
    fields = read_object(data, path)
    kind = _read_kind(fields, path)
    require_keys(fields, RULE_KEYS[kind] | {"kind", "scheduledAt"}, path)
    rule = _read_rule(kind, fields, path)
    return rule, read_instant(fields["scheduledAt"], f"{path}.scheduledAt")


def read_title(value: object, path: str) -> str:
    """A trimmed title of 1 to 120 code points."""
    if not is_trimmed(value) or len(value) > TITLE_CHARACTERS_MAX:
        raise LogFault("bad_title", path)
    return value


def read_max_runs(value: object, path: str) -> int:
    """A number of dispatches, from 1."""
    runs = read_safe_integer(value)
    if runs is None or runs < 1:
        raise LogFault("bad_max_runs", path)
    return runs


def read_missed(value: object, path: str) -> Missed:
    """What becomes of an occurrence that is too late."""
    if value == "latest":
        return "latest"
    if value == "skip":
        return "skip"
    raise LogFault("bad_missed", path)


def encode_record(record: Record) -> Json:
    """The stored form of a record, keys in the order of spec section 3, options behind."""
    scheduled_at = format_instant(record.scheduled_at_ms)
    head: Json = {"id": record.id, "kind": kind_of(record), "prompt": record.prompt}
    match record:
        case AfterRecord(after_seconds=seconds):
            value = {**head, "afterSeconds": seconds, "scheduledAt": scheduled_at}
        case AtRecord():
            value = {**head, "scheduledAt": scheduled_at}
        case EveryRecord(every_seconds=seconds):
            value = {**head, "everySeconds": seconds, "scheduledAt": scheduled_at}
        case CalendarRecord(rule=rule):
            value = {**head, **_encode_calendar(rule), "scheduledAt": scheduled_at}
        case _:
            assert_never(record)
    return value if record.options is PLAIN else {**value, **_encode_options(record.options)}


def encode_target(rule: StoredRule, scheduled_at_ms: int) -> Json:
    """A rule with its first target, as an update states it."""
    fields = encode_record(assemble_record("", "", rule, scheduled_at_ms))
    return {key: value for key, value in fields.items() if key not in ("id", "prompt")}


def _read_kind(fields: Json, path: str) -> str:
    kind = fields.get("kind")
    if not isinstance(kind, str) or kind not in RULE_KEYS:
        raise LogFault("unknown_kind", f"{path}.kind")
    return kind


def _read_rule(kind: str, fields: Json, path: str) -> StoredRule:
    if kind == "after":
        return AfterRule(read_delay_seconds(fields["afterSeconds"], f"{path}.afterSeconds"))
    if kind == "at":
        return AtRule()
    if kind == "every":
        return EveryRule(read_interval_seconds(fields["everySeconds"], f"{path}.everySeconds"))
    rule = _read_calendar(kind, fields)
    if rule is None or not is_canonical(rule):
        raise LogFault("bad_rule", path)
    return rule


def _read_calendar(kind: str, fields: Json) -> CalendarRule | None:
    zone, time, expression = (fields.get(key) for key in ("timeZone", "time", "expression"))
    if not isinstance(zone, str):
        return None
    if kind == "cron":
        return CronRule(expression, zone) if isinstance(expression, str) else None
    if not isinstance(time, str):
        return None
    if kind == "daily":
        return DailyRule(time, zone)
    given = fields["weekdays"]
    days = [read_safe_integer(day) for day in given] if isinstance(given, list) else []
    weekdays = tuple(day for day in days if day is not None)
    return WeeklyRule(weekdays, time, zone) if len(weekdays) == len(days) else None


def _read_options(fields: Json) -> Options:
    given = fields.keys() & OPTION_KEYS
    if not given:
        return PLAIN
    title, until, grace = fields.get("title"), fields.get("until"), fields.get("graceSeconds")
    return Options(
        title=read_title(title, f"{_AT}.title") if "title" in given else None,
        max_runs=read_max_runs(fields["maxRuns"], f"{_AT}.maxRuns") if "maxRuns" in given else None,
        until_ms=read_instant(until, f"{_AT}.until") if "until" in given else None,
        missed=read_missed(fields["missed"], f"{_AT}.missed") if "missed" in given else None,
        grace_seconds=(
            read_interval_seconds(grace, f"{_AT}.graceSeconds") if "graceSeconds" in given else None
        ),
    )


def _encode_calendar(rule: CalendarRule) -> Json:
    match rule:
        case DailyRule(time=time):
            return {"time": time, "timeZone": rule.time_zone}
        case WeeklyRule(weekdays=weekdays, time=time):
            return {"weekdays": list(weekdays), "time": time, "timeZone": rule.time_zone}
        case CronRule(expression=expression):
            return {"expression": expression, "timeZone": rule.time_zone}
        case _:
            assert_never(rule)


def _encode_options(options: Options) -> Json:
    until_ms = options.until_ms
    value: Json = {
        "title": options.title,
        "maxRuns": options.max_runs,
        "until": None if until_ms is None else format_instant(until_ms),
        "missed": options.missed,
        "graceSeconds": options.grace_seconds,
    }
    return {key: given for key, given in value.items() if given is not None}
