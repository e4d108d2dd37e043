"""What version 2 makes of plans, edits, receipts, audits, forecasts and the guard, by examples."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from core_logs import (
    FIRST_MS,
    GATE_MS,
    LAST_MS,
    T,
    at,
    created,
    dispatched,
    event,
    every,
    ledger_of,
    log,
    ok,
    refused,
)
from wakefold import preview
from wakefold.audits import Refused, audit
from wakefold.calendar_rules import CronRule, DailyRule
from wakefold.conversations import Conversation
from wakefold.edit_requests import Unchanged, make_edit, read_update_request
from wakefold.edits import Resume, Skip, Snooze, StatedDispatch
from wakefold.events import Dispatch, Json, decode_change, encode_change
from wakefold.forecasts import forecast
from wakefold.guard import Refusal, reap
from wakefold.guard_config import DEFAULT_CONFIG, GuardConfig
from wakefold.habits import NO_HABITS
from wakefold.implied_zones import NO_ZONE
from wakefold.instants import format_instant
from wakefold.ledger import Ledger
from wakefold.occurrences import evaluate, find_following, state_dispatch
from wakefold.owners import open_owner
from wakefold.receipts import Receipt, list_receipts, present_dispatch
from wakefold.records import CalendarRecord, find_interval
from wakefold.recurrence import PUBLISHED, SEED, Occurrence, Profile
from wakefold.rejections import InvalidRule, InvalidTimeZone, Rejection, TimeOutOfRange
from wakefold.tools import Appended, Confirmed, Sampled, open_call
from wakefold.views import encode_view, list_views
from wakefold.wakes import (
    BatchDue,
    OneShotDue,
    SkipDue,
    Wait,
    decide_due,
    list_dispatches,
    list_occurrences,
    list_passed_over,
    plan_next_wake,
)
from wakefold.wakeups import DAY_MS, NO_WAKEUPS

HOUR_MS = 3_600_000
LATE = {"missed": "skip", "graceSeconds": 300}
RULE = {"kind": "daily", "time": "08:00:00.000", "timeZone": "UTC"}


def made(schedule: Json, **options: object) -> Json:
    """The data of a create of version 2."""
    return {"version": 2, "operation": "create", "schedule": {**schedule, **options}}


def daily(name: str = "d", target_ms: int = T, zone: str = "UTC") -> Json:
    """A stored daily reminder, due at 08:00."""
    head = {"id": name, "prompt": f"p {name}", "scheduledAt": format_instant(target_ms)}
    return {**head, **RULE, "timeZone": zone}


def edit(operation: str, name: str, **fields: object) -> Json:
    """The data of any other change of version 2."""
    return {"version": 2, "operation": operation, "id": name, **fields}


def stated(operation: str, name: str, accepted_ms: int, occurrence_ms: int, *next_ms: int) -> Json:
    """The data of a dispatch or a skip."""
    following = {"nextScheduledAt": format_instant(next_ms[0])} if next_ms else {}
    times = {
        "acceptedAt": format_instant(accepted_ms),
        "occurrenceAt": format_instant(occurrence_ms),
    }
    return edit(operation, name, **times, **following)


def ask(ledger: Ledger, now_ms: int, **arguments: object) -> object:
    """What an update comes to."""
    made_edit = read_update_request(arguments).bind(
        lambda request: make_edit(request, ledger, now_ms, NO_ZONE)
    )
    return made_edit.value_or(None) or refused(made_edit)


@pytest.mark.parametrize(
    "data",
    [
        edit("pause", "a"),
        edit("resume", "a"),
        edit("resume", "a", scheduledAt=format_instant(T)),
        edit("snooze", "a", until=format_instant(T)),
        stated("dispatch", "a", T, T),
        stated("skip", "a", T + 1, T, T + 2),
        edit("update", "a", changes={"title": None, "prompt": "q", "maxRuns": 2, "until": None}),
        edit("update", "a", changes={"rule": {**RULE, "scheduledAt": format_instant(T)}}),
        edit("update", "a", changes={"until": format_instant(T), **LATE}),
    ],
    ids=lambda data: str(data["operation"]),
)
def test_a_change_is_written_as_it_was_read(data: Json) -> None:
    """Key by key, in the order of the page."""
    written = encode_change(ok(decode_change(data)))
    assert written == data
    assert list(written)[:3] == ["version", "operation", "id"]


def test_a_late_occurrence_is_left_out_before_anything_else_goes() -> None:
    """It is later than its grace, and the one-shot waits for the next look."""
    ledger = ledger_of(made(daily("d"), **LATE), made(at("s"), **LATE), created(at("t")))
    late_ms = T + 1000 * 300
    assert isinstance(ok(decide_due(ledger, late_ms)), OneShotDue)
    decision = ok(decide_due(ledger, late_ms + 1))
    assert isinstance(decision, SkipDue)
    assert list_occurrences(decision) == ()
    assert list_dispatches(decision) == (
        Skip("d", late_ms + 1, T, T + DAY_MS),
        Skip("s", late_ms + 1, T),
    )
    assert [one.record.id for one in preview(ledger, late_ms + 1, 2)] == ["t", "d"]


def test_a_skip_counts_from_the_gate_too() -> None:
    """What waits behind the gate is not late by the time that it waits; an ended gate ends all."""
    ledger = replace(ledger_of(made(daily("d"), **LATE)), last_accepted_at_ms=T + 1)
    assert ok(decide_due(ledger, T + 1 + GATE_MS)).__class__ is BatchDue
    assert ok(decide_due(ledger, T + 1 + 2 * GATE_MS)).__class__ is BatchDue
    assert ok(decide_due(ledger, T + 2 + 2 * GATE_MS)).__class__ is SkipDue
    ended = replace(ledger, last_accepted_at_ms=LAST_MS)
    assert ok(decide_due(ended, T + DAY_MS)) == Wait(None)


def test_a_record_whose_zone_is_unknown_is_passed_over() -> None:
    """It stays as it is, others go, and whoever plans waits for them alone."""
    lost = made(daily("x", zone="No/Such_Zone"), **LATE)
    ledger = ledger_of(lost, made(daily("d", T + 1)), created(at("t", T + HOUR_MS)))
    assert [record.id for record in list_passed_over(ledger, T)] == ["x"]
    assert list_passed_over(ledger, T - 1) == ()
    assert ok(decide_due(ledger, T)) == Wait(T + 1)
    going = ok(decide_due(ledger, T + 1))
    assert isinstance(going, BatchDue)
    assert [entry.record.id for entry in going.entries] == ["d"]
    assert ok(decide_due(ledger_of(lost), T + DAY_MS)) == Wait(None)
    assert plan_next_wake(ledger_of(lost), T) is None


def test_a_target_before_the_first_occurrence_of_its_rule_is_honoured() -> None:
    """Even where the rule has no occurrence yet, on the first day of the calendar."""
    record = CalendarRecord("d", "p", DailyRule("08:00:00.000", "UTC"), FIRST_MS)
    assert evaluate(record, FIRST_MS) == Occurrence(FIRST_MS, FIRST_MS + 8 * HOUR_MS)


def test_the_dispatch_of_version_1_stays_in_that_version() -> None:
    """One without options does not state what was evaluated."""
    plain = ledger_of(created(every()), created(at()))
    dispatches = [state_dispatch(record, T + 1) for record in plain.records.values()]
    assert dispatches == [Dispatch("e", T + 1), Dispatch("t")]
    titled = ledger_of(made(at(), title="x"))
    decision = ok(decide_due(titled, T + 1))
    assert list_dispatches(decision) == (StatedDispatch("t", T + 1, T),)
    assert state_dispatch(titled.records["t"], T + 1) == StatedDispatch("t", T + 1, T)
    assert list_occurrences(decision) == (("t", T),)
    rate = ledger_of(made(every(), title="x")).records["e"]
    assert state_dispatch(rate, T + 300_001) == StatedDispatch(
        "e", T + 300_001, T + 300_000, T + 600_000
    )
    assert find_following(titled.records["t"], 0) is None
    assert find_following(plain.records["e"], T - 1) == T


@pytest.mark.parametrize(
    ("schedule", "now_ms", "arguments", "answer"),
    [
        (daily(), T + 1, {"paused": False}, Resume("d", T + DAY_MS)),
        (daily(), T - 1, {"paused": False}, Resume("d", T)),
        (daily(zone="No/Such"), T - 1, {"paused": False}, Resume("d", T)),
        (daily(zone="No/Such"), T, {"paused": False}, InvalidTimeZone('"No/Such"')),
        (every("d", LAST_MS), LAST_MS, {"paused": False}, TimeOutOfRange()),
        (at("d"), T + 1, {"paused": False}, Resume("d")),
        (daily(), T, {"paused": True}, Unchanged("schedule_conflict")),
        (daily(), T, {"snooze_until": "2027-02-01T09:00:00Z"}, Unchanged("schedule_conflict")),
        (daily(), T, {"paused": False, "revision": 2}, Unchanged("schedule_conflict")),
    ],
)
def test_what_is_paused_goes_on_where_its_rule_is(
    schedule: Json, now_ms: int, arguments: Json, answer: object
) -> None:
    """A future target is kept, a past one gives way to the next occurrence, if that can be told."""
    ledger = ledger_of(made(schedule, title="x"), edit("pause", "d"))
    assert ask(ledger, now_ms, id="d", **arguments) == answer


@pytest.mark.parametrize(
    ("zone", "until_ms", "answer"),
    [
        ("UTC", T + 1, Snooze("d", T + 1)),
        ("UTC", T, InvalidRule("snooze_range", f'"{format_instant(T)}"')),
        ("UTC", T + DAY_MS, InvalidRule("snooze_range", f'"{format_instant(T + DAY_MS)}"')),
        ("No/Such", T + 1, InvalidTimeZone('"No/Such"')),
    ],
)
def test_a_snooze_stays_before_the_next_occurrence(
    zone: str, until_ms: int, answer: Snooze | Rejection
) -> None:
    """And after the target; where the next cannot be told there is none."""
    ledger = ledger_of(made(daily(zone=zone)))
    assert ask(ledger, T - 1, id="d", snooze_until=format_instant(until_ms)) == answer


def test_no_recurring_rule_is_taken_up_once_the_gate_has_ended() -> None:
    """A one-shot may still be, and a bad rule is named as in a create."""
    ledger = replace(ledger_of(created(at("t"))), last_accepted_at_ms=LAST_MS)
    assert ask(ledger, T, id="t", every_seconds=300) == TimeOutOfRange()
    assert ask(ledger, T, id="t", at="2026-01-01T00:00:00Z").__class__.__name__ == "NotFuture"


def test_a_receipt_shows_the_prompt_as_it_was_dispatched() -> None:
    """Whatever it was before and is now; a skip has no receipt, and a deleted one is not asked."""
    events = log(
        made(daily("d"), **LATE),
        stated("dispatch", "d", T, T, T + DAY_MS),
        edit("update", "d", changes={"prompt": "other"}),
        stated("skip", "d", T + DAY_MS + HOUR_MS, T + DAY_MS, T + 2 * DAY_MS),
        stated("dispatch", "d", T + 2 * DAY_MS, T + 2 * DAY_MS, T + 3 * DAY_MS),
    )
    receipts = [found.receipt for found in ok(list_receipts(events))]
    assert receipts == [Receipt("d", "p d", T), Receipt("d", "other", T + 2 * DAY_MS)]
    assert [ok(present_dispatch(events, seq)) for seq in range(5)] == [
        None,
        receipts[0],
        None,
        None,
        receipts[1],
    ]


def test_an_edit_of_what_has_ended_is_no_life() -> None:
    """A dispatch after it has no receipt, in one walk and in the other."""
    events = log(
        made(at("t")) | {"schedule": {**at("t"), "title": "x"}},
        {"version": 1, "operation": "delete", "id": "t"},
        edit("pause", "t"),
        stated("dispatch", "t", T, T),
    )
    assert refused(list_receipts(events)).rule == "id_not_active"
    assert refused(present_dispatch(events, 3)).rule == "id_not_active"


def test_a_view_tells_what_has_become_of_a_record() -> None:
    """Paused before overdue; a snooze until it is over."""
    ledger = ledger_of(
        made(daily("d"), title="x"),
        edit("snooze", "d", until=format_instant(T + HOUR_MS)),
        edit("pause", "d"),
    )
    (view,) = map(encode_view, list_views(ledger, T + DAY_MS))
    assert (view["state"], view["revision"], view["runs"]) == ("paused", 2, 0)
    assert view["snoozedUntil"] == format_instant(T + HOUR_MS)
    snoozed = ledger_of(made(daily("d")), edit("snooze", "d", until=format_instant(T + 1)))
    states = [encode_view(list_views(snoozed, now_ms)[0])["state"] for now_ms in (T, T + 1)]
    assert states == ["scheduled", "overdue"]


FLOOR = GuardConfig(min_repeating_interval_seconds=7200)


def test_an_audit_offers_updates_to_admission_as_creates_are() -> None:
    """The floor counts for a new rule's smallest spacing, and a title gives none; what an edit ends is
    ended under the guard.
    """
    hourly = {"kind": "cron", "expression": "0 9,10 * * *", "timeZone": "UTC"}
    rule = {**hourly, "scheduledAt": format_instant(T + HOUR_MS)}
    events = [
        event(data, seq, time_ms=T)
        for seq, data in enumerate(
            (
                made(daily("d"), **LATE),
                edit("update", "d", changes={"rule": rule}),
                edit("update", "d", changes={"title": "x"}),
                stated("skip", "d", T + 2 * HOUR_MS, T + HOUR_MS),
            )
        )
    ]
    found = ok(audit(events, FLOOR))
    refusal = Refusal("SCHEDULE_TOO_FREQUENT", 7200, 3600)
    assert found.findings == (Refused(1, T, "d", refusal),)
    assert found.wakeups == 0
    assert refused(audit(log(edit("pause", "d")), FLOOR)).rule == "id_not_active"


def test_an_audit_refuses_every_edit_that_the_hourly_cap_refuses() -> None:
    """A pause is a call of the same tool as an update, and admission does not look into it."""
    shots = [data for n in range(2) for data in (created(at(f"o{n}", T)), dispatched(f"o{n}"))]
    pause = edit("pause", "d")
    events = [event(data, seq, time_ms=T) for seq, data in enumerate([made(daily("d")), *shots, pause])]
    (found,) = ok(audit(events, GuardConfig(max_per_hour=2))).findings
    assert found == Refused(5, T, "d", Refusal("SCHEDULE_HOURLY_CAP", 2, 2, HOUR_MS))


def test_the_reaper_takes_what_comes_too_fast_and_leaves_the_rest() -> None:
    """By the dates of a rule, too: times that lie near to each other on the clock may be days apart."""
    sparse = {**daily("s"), "kind": "cron", "expression": "0 0,23 1 * *"}
    del sparse["time"]
    near = {**sparse, "id": "n", "expression": "0 9,10 * * *"}
    assert reap(NO_WAKEUPS, ledger_of(made(sparse)), FLOOR, T) is None
    stop = reap(NO_WAKEUPS, ledger_of(made(sparse), made(near)), FLOOR, T)
    assert stop is not None
    assert [record.id for record in stop.to_delete] == ["n"]


def test_an_interval_is_that_of_the_rule() -> None:
    """As it stands on the wall."""
    rules = (CronRule("0 9,10 * * *", "UTC"), DailyRule("08:00:00.000", "UTC"))
    records = [CalendarRecord("d", "p", rule, T) for rule in rules]
    assert [find_interval(record) for record in records] == [3600, 86_400]


@pytest.mark.parametrize("profile", [SEED, PUBLISHED])
def test_a_forecast_leaves_out_what_is_late(profile: Profile) -> None:
    """The late one first, without a wakeup; then a delivery each day."""
    events = [event(made(daily("d"), **LATE), time_ms=T)]
    owner = ok(open_owner(events, 0, profile, DEFAULT_CONFIG, T + HOUR_MS))
    cast = forecast(owner, Conversation(), NO_HABITS, start_ms=T + HOUR_MS, days=3)
    assert [day.wakeups for day in cast.days] == [0, 1, 1, 1]
    assert [day.deliveries for day in cast.days] == [0, 1, 1, 1]


def test_an_edit_whose_reminder_ends_before_it_is_confirmed_answers_what_it_wrote() -> None:
    """Another writer may come in between; the view is that of the edited reminder."""
    ledger = ledger_of(made(daily("d"), maxRuns=2))
    ended = ledger_of(made(daily("d"), maxRuns=2), {"version": 1, "operation": "delete", "id": "d"})
    program = ok(open_call("schedule_update", {"id": "d", "title": "tea"}))()
    next(program)
    program.send(Confirmed(ledger))
    program.send(Sampled(T - 1))
    program.send(Appended())
    program.send(Confirmed(ended))
    with pytest.raises(StopIteration) as end:
        program.send(Sampled(T - 1))
    view = ok(end.value.value)
    assert (view["id"], view["title"], view["revision"]) == ("d", "tea", 1)
