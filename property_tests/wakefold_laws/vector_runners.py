"""One runner for each vector file: from a case's input to the outcome in the file's own words.

A runner decides nothing about right and wrong; it calls the core and spells what came out. Beside each
stand the fields that a case of its file may have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from returns.pipeline import is_successful
from returns.result import Result, Success

from wakefold.calendar_requests import read_calendar_rule
from wakefold.calendar_rules import CalendarRule, make_pattern
from wakefold.calendars import find_next
from wakefold.cron_expressions import CronExpression, parse_cron
from wakefold.events import (
    Create,
    Event,
    EveryRecord,
    Record,
    decode_change,
    encode_change,
    encode_record,
    read_change,
)
from wakefold.framing import frame_batch, frame_one_shot
from wakefold.guard import Stop, admit, reap
from wakefold.guard_config import read_guard_config
from wakefold.guard_reports import count_minutes_until_free
from wakefold.implied_zones import (
    NO_ZONE,
    UNAVAILABLE,
    RequestZone,
    find_request_zone,
    list_client_zones,
)
from wakefold.instants import format_instant, parse_instant
from wakefold.ledger import Ledger, fold, list_active
from wakefold.outcomes import either
from wakefold.receipts import encode_receipt, present_dispatch
from wakefold.recurrence import SEED
from wakefold.rejections import InvalidPrompt, LogFault, Rejection
from wakefold.requests import At, CreateRequest, Rule, make_record, read_rule, trim_prompt
from wakefold.transitions import accept_occurrence
from wakefold.views import encode_view, view_record
from wakefold.wakes import (
    BatchEntry,
    decide_due,
)
from wakefold.wakeups import count_wakeups, find_day_start
from wakefold.zones import canonicalize_zone
from wakefold_laws import edit_runners
from wakefold_laws.edit_runners import spell_decision
from wakefold_laws.transcripts import run_owner, run_tools

#: One line of a vector file.
Case = dict[str, Any]
#: What a case comes to.
CaseRunner = Callable[[Case], object]
_Value = TypeVar("_Value")


def run_decode(case: Case) -> object:
    """The canonical form of one durable change."""
    return _spell(decode_change(case["data"]), encode_change)


def run_fold(case: Case) -> object:
    """The folded state of a log."""
    seed_length = case.get("seedLength", 0)
    return _spell(fold(_events(case), seed_length), _spell_ledger)


def run_create(case: Case) -> object:
    """The durable record of one request."""
    selector = {"after": "afterSeconds", "every": "everySeconds", "at": "at"}[case["kind"]]
    name = {"after": "after_seconds", "every": "every_seconds", "at": "at"}[case["kind"]]
    zone = RequestZone(case.get("implicitTimeZone"), UNAVAILABLE)
    prompt = trim_prompt(case["prompt"])
    if prompt is None:
        return {"error": InvalidPrompt().code}
    record = read_rule(name, case[selector]).bind(
        lambda rule: make_record(CreateRequest(prompt, rule), case["id"], _number(case["now"]), zone)
    )
    return _spell(record, encode_record)


def run_local_time(case: Case) -> object:
    """The target of local fields in a named zone."""
    return _target({key: case[key] for key in ("date", "time", "time_zone")}, case)


def run_offset_instant(case: Case) -> object:
    """The target of a text with an offset."""
    return _target(case["at"], case)


def run_zone(case: Case) -> object:
    """The canonical name of a zone."""
    zone = canonicalize_zone(case["value"])
    return {"error": "invalid_time_zone"} if zone is None else {"ok": zone}


def run_occurrence(case: Case) -> object:
    """What one acceptance of a repeating record delivers and leaves."""
    record = _record(case["record"])
    assert isinstance(record, EveryRecord)
    try:
        found = accept_occurrence(record, _number(case["acceptedAt"]))
    except LogFault as fault:
        return {"error": fault.located().code}
    value = {"occurrenceAt": format_instant(found.occurrence_ms)}
    if found.next_target_ms is not None:
        value["nextScheduledAt"] = format_instant(found.next_target_ms)
    return {"ok": value}


def run_view(case: Case) -> object:
    """A record as managing callers read it."""
    last = parse_instant(case.get("lastRecurringAcceptedAt"))
    return {"ok": encode_view(view_record(_record(case["record"]), case["now"], SEED, last))}


def run_presentation(case: Case) -> object:
    """The receipt of one event."""
    result = present_dispatch(_events(case), case["dispatchSeq"], case.get("seedLength", 0))
    return _spell(result, lambda receipt: None if receipt is None else encode_receipt(receipt))


def run_decision(case: Case) -> object:
    """What one decision dispatches."""
    folded = case["folded"]
    records = [_record(data) for data in folded["active"]]
    ledger = Ledger(
        records={record.id: record for record in records},
        seen_ids=dict.fromkeys(folded["seenIds"]),
        last_accepted_at_ms=parse_instant(folded.get("lastRecurringAcceptedAt")),
    )
    return either(decide_due(ledger, case["now"]), spell_decision, lambda error: {"error": error.code})


def run_framing(case: Case) -> object:
    """The dynamic lines of a frame, by label."""
    if case["kind"] == "one-shot":
        frame = frame_one_shot(_record(case["record"]))
    else:
        entries = []
        for entry in case["records"]:
            record = _record(entry["record"])
            occurrence_ms = parse_instant(entry["occurrenceAt"])
            assert isinstance(record, EveryRecord)
            assert occurrence_ms is not None
            entries.append(BatchEntry(record, occurrence_ms))
        frame = frame_batch(entries)
    return dict(line.split(": ", 1) for line in frame.split("\n")[2:])


def run_request_zone(case: Case) -> object:
    """The zone that a request implies: by its messages alone, or by the whole session."""
    if "messages" in case:
        return either(list_client_zones(case["messages"]), _spell_zones, _spell_error)
    session = case["session"]
    found = find_request_zone(session["header"].get("timeZone"), _events(session))
    return either(found, _spell_request_zone, _spell_error)


def run_guard_count(case: Case) -> object:
    """The wakeups of a log and of the day that holds `now`."""
    wakeups = count_wakeups(_events(case), case["resetKinds"])
    day_start = find_day_start(case["now"], case["dayBoundaryOffsetMinutes"])
    return {
        "consecutive": wakeups.consecutive,
        "maxConsecutive": wakeups.max_consecutive,
        "dispatchTimes": list(wakeups.dispatch_times_ms),
        "dayStart": day_start,
        "perDay": wakeups.count_since(day_start),
    }


def run_guard_precheck(case: Case) -> object:
    """Whether a tool call is admitted, and if not, why and for how long."""
    config = _require(read_guard_config(case["config"]))
    wakeups = count_wakeups(_events(case), config.reset_kinds)
    call = case["call"]
    refusal = admit(wakeups, config, call["tool"], call.get("arguments"), case["now"])
    if refusal is None:
        return {"pass": True}
    minutes = count_minutes_until_free(refusal)
    return {"refuse": refusal.code} | ({} if minutes is None else {"minutes": minutes})


def run_guard_reap(case: Case) -> object:
    """The stop that an idle session has come to."""
    config = _require(read_guard_config(case["config"]))
    wakeups = count_wakeups(_events(case), config.reset_kinds)

    def spell(ledger: Ledger) -> object:
        stop = reap(wakeups, ledger, config, case["now"])
        return {"action": None if stop is None else _spell_stop(stop)}

    return either(fold(_events(case)), spell, _spell_error)


def _spell_stop(stop: Stop) -> object:
    return {
        "reason": stop.key.reason,
        "consecutive": stop.consecutive,
        "perDay": stop.per_day,
        "total": stop.total,
        "toDelete": [record.id for record in stop.to_delete],
        "intervals": list(stop.offending_seconds),
    }


def run_cron_parse(case: Case) -> object:
    """The canonical text and the values of an expression, if it may be a rule."""
    text = case["expression"]
    rule = read_calendar_rule("cron", {"expression": text, "time_zone": "UTC"}, NO_ZONE)
    return _spell(rule, lambda _: _spell_cron(parse_cron(text).unwrap()))


def run_calendar_next(case: Case) -> object:
    """The next five occurrences of a rule as it was submitted."""
    fields = {_snake(key): value for key, value in case["rule"].items() if key != "kind"}
    rule = read_calendar_rule(case["rule"]["kind"], fields, NO_ZONE)
    return _spell(rule, lambda read: _list_coming(read, case["after"]))


#: By file: the fields that a case may have, and what runs it.
#:
#: :meta hide-value:
RUNNERS: Final[dict[str, tuple[frozenset[str], CaseRunner]]] = {
    name: (frozenset(fields.split()), run)
    for name, fields, run in (
        ("decode", "data expect", run_decode),
        ("fold", "events seedLength expect", run_fold),
        (
            "create",
            "kind id prompt now afterSeconds everySeconds at implicitTimeZone expect",
            run_create,
        ),
        ("local_time", "date time time_zone now expect", run_local_time),
        ("zone", "value expect", run_zone),
        ("offset_instant", "at now expect", run_offset_instant),
        ("occurrence", "record acceptedAt expect", run_occurrence),
        ("view", "record now lastRecurringAcceptedAt expect", run_view),
        ("presentation", "events dispatchSeq seedLength expect", run_presentation),
        ("decision", "folded now expect", run_decision),
        ("framing", "kind record records expect_dynamic", run_framing),
        ("request_zone", "messages session expect", run_request_zone),
        ("owner", "session start host script expect", run_owner),
        ("tools", "session steps observer expect", run_tools),
        ("guard_count", "events resetKinds now dayBoundaryOffsetMinutes expect", run_guard_count),
        ("guard_precheck", "events config call now expect", run_guard_precheck),
        ("guard_reap", "events config now expect", run_guard_reap),
        ("cron_parse", "expression expect", run_cron_parse),
        ("calendar_next", "rule after expect", run_calendar_next),
        ("fold_v2", "profile events expect", edit_runners.run_fold),
        ("decision_v2", "profile folded now expect", edit_runners.run_decision),
        (
            "update",
            "profile tool events folded arguments now implicitTimeZone expect",
            edit_runners.run_update,
        ),
    )
}


def _spell_cron(cron: CronExpression) -> Case:
    return {
        "canonical": cron.canonical,
        "minutes": list(cron.minutes),
        "hours": list(cron.hours),
        "days": list(cron.days),
        "months": list(cron.months),
        "weekdays": list(cron.weekdays),
        "dayStar": cron.day_star,
        "weekdayStar": cron.weekday_star,
    }


def _list_coming(rule: CalendarRule, after_ms: int) -> list[str]:
    found: list[str] = []
    at_ms: int | None = after_ms
    while at_ms is not None and len(found) < _COMING:
        at_ms = find_next(make_pattern(rule), rule.time_zone, at_ms)
        found += [] if at_ms is None else [format_instant(at_ms)]
    return found


_COMING: Final = 5


def _snake(key: str) -> str:
    return "time_zone" if key == "timeZone" else key


def _require(result: Result[_Value, Any]) -> _Value:
    assert is_successful(result), result
    return result.unwrap()


def _spell(result: Result[_Value, Any], encode: Callable[[_Value], object]) -> object:
    def spell_value(value: _Value) -> object:
        return {"ok": encode(value)}

    return either(result, spell_value, _spell_error)


def _spell_error(error: Rejection) -> object:
    return {"error": error.code}


def _spell_ledger(ledger: Ledger) -> object:
    value: dict[str, object] = {
        "active": [encode_record(record) for record in list_active(ledger)],
        "seenIds": list(ledger.seen_ids),
    }
    if ledger.last_accepted_at_ms is not None:
        value["lastRecurringAcceptedAt"] = format_instant(ledger.last_accepted_at_ms)
    return value


def _spell_zones(zones: tuple[str, ...]) -> object:
    if not zones:
        return {"kind": "missing"}
    if len(zones) == 1:
        return {"kind": "resolved", "timeZone": zones[0]}
    return {"kind": "mixed", "timeZones": list(zones)}


def _spell_request_zone(zone: RequestZone) -> object:
    value: dict[str, object] = {
        "sessionTimeZone": zone.session_time_zone,
        "clientTimeZones": list(zone.client_time_zones),
    }
    if zone.implied is not None:
        value["implicitTimeZone"] = zone.implied
    return value


def _target(at: object, case: Case) -> object:
    rule: Result[Rule, Rejection] = Success(At(at=at))
    record = rule.bind(
        lambda read: make_record(CreateRequest("x", read), "schedule-1", case["now"], NO_ZONE)
    )
    return _spell(record, lambda made: format_instant(made.scheduled_at_ms))


def _number(value: float | str) -> float:
    """A number of a case; the doubles that JSON cannot spell are written as text."""
    return float(value) if isinstance(value, str) else value


def _events(case: Case) -> list[Event]:
    return [
        Event(type=e["type"], seq=e["seq"], time_ms=e["time"], data=e.get("data"))
        for e in case["events"]
    ]


def _record(data: Case) -> Record:
    """A record taken as it is, padded ids and prompts included: decoded around them."""
    plain = {**data, "id": "plain", "prompt": "plain"}
    change = read_change({"version": 1, "operation": "create", "schedule": plain})
    assert isinstance(change, Create)
    values = {name: getattr(change.schedule, name) for name in change.schedule.__struct_fields__}
    return type(change.schedule)(**{**values, "id": data["id"], "prompt": data["prompt"]})
