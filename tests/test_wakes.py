"""What is due, and when to look again: both sides of every instant that counts."""

from __future__ import annotations

import pytest

from core_logs import (
    FIRST_MS,
    LAST_MS,
    T,
    after,
    at,
    at_record,
    created,
    deleted,
    dispatched,
    event,
    every,
    every_record,
    ledger_of,
    ok,
    refused,
)
from wakefold.calendar_rules import DailyRule
from wakefold.edits import Skip, StatedDispatch
from wakefold.events import AfterRecord, Dispatch
from wakefold.ledger import EMPTY, Ledger, evolve
from wakefold.records import (
    EDITABLE,
    PLAIN,
    AtRecord,
    CalendarRecord,
    EveryRecord,
    Options,
    Record,
    Standing,
)
from wakefold.recurrence import PUBLISHED, SEED, Profile
from wakefold.rejections import TimeOutOfRange
from wakefold.wakes import (
    MAX_DELAY_MS,
    BatchDue,
    BatchEntry,
    Decision,
    OneShotDue,
    SkipDue,
    SkipEntry,
    Upcoming,
    Wait,
    Wake,
    decide_due,
    list_dispatches,
    list_occurrences,
    list_passed_over,
    plan_next_wake,
    preview,
)


def _decided(ledger: Ledger, now_ms: int, not_before_ms: int | None = None) -> Decision:
    return ok(decide_due(ledger, now_ms, not_before_ms))


def _ids(decision: Decision) -> list[str]:
    return [dispatch.id for dispatch in list_dispatches(decision)]


ONE = ledger_of(created(at("t")))
REPEAT = ledger_of(created(every("e")))

LATE = Options(missed="skip", grace_seconds=300)
EDITED = EveryRecord("x", "p x", 300, T, standing=EDITABLE)
EDITED_SHOT = AtRecord("x", "p x", T, standing=EDITABLE)
LATE_SHOT = AtRecord("l", "p l", T, LATE, EDITABLE)

# e was dispatched at T and is due again at T + 300 s; f came due at T + 100 s, behind the gate.
GATED = ledger_of(created(every("e")), created(every("f", T + 100_000)), dispatched("e", T))
GATED_SHOT = ok(evolve(GATED, event(created(at("t", T + 200_000)))))


def _daily(name: str, zone: str = "UTC", options: Options = PLAIN) -> CalendarRecord:
    return CalendarRecord(name, f"p {name}", DailyRule("08:00:00.000", zone), T, options, EDITABLE)


def _holding(*records: Record, last_accepted_at_ms: int | None = None) -> Ledger:
    return Ledger(
        records={record.id: record for record in records}, last_accepted_at_ms=last_accepted_at_ms
    )


@pytest.mark.parametrize("now_ms", [FIRST_MS - 1, 0, T, LAST_MS + 1])
def test_an_empty_ledger_waits_for_nothing(now_ms: int) -> None:
    """There is no wake."""
    assert _decided(EMPTY, now_ms) == Wait(until_ms=None)
    assert _decided(EMPTY, now_ms, now_ms + 1) == Wait(until_ms=None)
    assert plan_next_wake(EMPTY, now_ms) is None
    assert plan_next_wake(EMPTY, now_ms, now_ms + 1) is None
    assert preview(EMPTY, now_ms, 5) == ()


@pytest.mark.parametrize(
    ("ledger", "now_ms", "decision"),
    [
        (ONE, T - 1, Wait(T)),
        (ONE, T, OneShotDue(at_record())),
        (ONE, T + 1, OneShotDue(at_record())),
        (ONE, LAST_MS + 1, OneShotDue(at_record())),
        (REPEAT, T - 1, Wait(T)),
        (REPEAT, T, BatchDue(T, (BatchEntry(every_record(), T),))),
        (REPEAT, T + 299_999, BatchDue(T + 299_999, (BatchEntry(every_record(), T),))),
        (REPEAT, T + 300_000, BatchDue(T + 300_000, (BatchEntry(every_record(), T + 300_000),))),
    ],
)
def test_a_record_is_due_from_its_target_on(ledger: Ledger, now_ms: int, decision: Decision) -> None:
    """A one-shot once, a repeating record with its latest due occurrence."""
    assert _decided(ledger, now_ms) == decision


@pytest.mark.parametrize(
    ("changes", "first"),
    [
        ([created(at("t", T)), created(at("u", T - 1))], "u"),
        ([created(at("t", T - 1)), created(at("u", T))], "t"),
        ([created(at("t", T)), created(after("a", T))], "t"),
        ([created(after("a", T)), created(at("t", T))], "a"),
        ([created(every("e", T - 9)), created(at("t", T))], "t"),
        ([created(at("t", T + 1)), created(at("u", T))], "u"),
    ],
)
def test_the_earliest_one_shot_goes_alone(changes: list[object], first: str) -> None:
    """The least target, ties in create order, before any repeating record."""
    decision = _decided(ledger_of(*changes), T)
    assert isinstance(decision, OneShotDue)
    assert decision.record.id == first
    assert decision.occurrence_ms == decision.record.scheduled_at_ms


def test_the_gate_does_not_hold_a_one_shot() -> None:
    """It goes out between two batches."""
    assert _ids(_decided(GATED_SHOT, T + 200_000)) == ["t"]


def test_all_due_repeating_records_go_as_one_batch() -> None:
    """In the order of target, then of creation, each with its own latest occurrence."""
    names = {"later": T, "f": T - 600, "e": T - 600, "soon": T + 1, "old": T - 900_000}
    ledger = ledger_of(*(created(every(name, target)) for name, target in names.items()))
    decision = _decided(ledger, T)
    assert isinstance(decision, BatchDue)
    assert decision.accepted_at_ms == T
    assert [(entry.record.id, entry.occurrence_ms) for entry in decision.entries] == [
        ("old", T),
        ("f", T - 600),
        ("e", T - 600),
        ("later", T),
    ]
    assert all(entry.record == ledger.records[entry.record.id] for entry in decision.entries)


@pytest.mark.parametrize(
    ("ledger", "now_ms", "decision"),
    [
        (GATED, T + 99_999, Wait(T + 100_000)),
        (GATED, T + 100_000, Wait(T + 300_000)),
        (GATED, T + 299_999, Wait(T + 300_000)),
        (GATED_SHOT, T + 99_999, Wait(T + 100_000)),
        (GATED_SHOT, T + 100_000, Wait(T + 200_000)),
    ],
)
def test_a_batch_waits_for_the_gate(ledger: Ledger, now_ms: int, decision: Decision) -> None:
    """Behind it only the gate and future one-shots are waited for."""
    assert _decided(ledger, now_ms) == decision


def test_a_batch_goes_the_instant_the_gate_opens() -> None:
    """At the last batch plus its distance, with all that came due meanwhile."""
    assert _ids(_decided(GATED, T + 300_000)) == ["f", "e"]


def test_other_repeating_targets_do_not_wake_behind_the_gate() -> None:
    """The gate instant stands even where another record comes due before it."""
    ledger = ok(evolve(GATED, event(created(every("g", T + 150_000)))))
    assert _decided(ledger, T + 100_000) == Wait(T + 300_000)
    late_shot = ok(evolve(ledger, event(created(at("t", T + 300_001)))))
    assert _decided(late_shot, T + 100_000) == Wait(T + 300_000)


def test_a_closed_gate_alone_is_not_waited_for() -> None:
    """While nothing is due behind it, the targets count as ever, those before it included."""
    ledger = ledger_of(created(every("e")), created(every("f", T + 1)), dispatched("e", T))
    assert _decided(ledger, T) == Wait(T + 1)


@pytest.mark.parametrize(
    ("profile", "decision"),
    [
        (PUBLISHED, ["f"]),
        (Profile(name="short", batch_distance_ms=100_000), ["f"]),
        (Profile(name="a little longer", batch_distance_ms=100_001), []),
        (SEED, []),
    ],
)
def test_the_gate_is_the_profiles(profile: Profile, decision: list[str]) -> None:
    """Without a distance it is always open."""
    changes = [created(every("e")), created(every("f", T + 100_000)), dispatched("e", T)]
    assert _ids(_decided(ledger_of(*changes, profile=profile), T + 100_000)) == decision


def test_what_exhaustion_ended_is_not_planned() -> None:
    """Neither due nor waited for."""
    start = LAST_MS - 299_999
    changes = [created(every("e", start)), created(every("f", start)), dispatched("e", start)]
    ledger = ledger_of(*changes)
    assert _decided(ledger, start) == Wait(None)
    assert plan_next_wake(ledger, start) is None
    assert _ids(_decided(ledger_of(*changes, profile=PUBLISHED), start)) == ["f"]


@pytest.mark.parametrize("now_ms", [LAST_MS + 1, 2**53, FIRST_MS - 1])
def test_a_batch_outside_the_years_fails(now_ms: int) -> None:
    """No acceptance can be written there; a wait and a one-shot are fine."""
    repeat = Ledger(records={"e": every_record(target_ms=FIRST_MS - 5)})
    assert refused(decide_due(repeat, now_ms)) == TimeOutOfRange()
    assert plan_next_wake(repeat, now_ms) == Wake(at_ms=now_ms, delay_ms=0)
    assert preview(repeat, now_ms, 3) == ()
    assert _decided(repeat, now_ms, now_ms + 1) == Wait(now_ms + 1)
    once = Ledger(records={"t": at_record(target_ms=FIRST_MS - 5)})
    assert _ids(_decided(once, now_ms)) == ["t"]


@pytest.mark.parametrize("now_ms", [FIRST_MS, LAST_MS])
def test_a_batch_at_the_edge_of_the_years_goes(now_ms: int) -> None:
    """Both ends can be written."""
    ledger = Ledger(records={"e": every_record(target_ms=FIRST_MS)})
    assert _ids(_decided(ledger, now_ms)) == ["e"]


@pytest.mark.parametrize("ledger", [ONE, REPEAT])
@pytest.mark.parametrize(
    ("now_ms", "not_before_ms", "held_until_ms"),
    [
        (T, T + 1, T + 1),
        (T + 5, T + 500_000, T + 500_000),
        (T, T, None),
        (T, T - 1, None),
        (T, None, None),
        (T - 1, T - 5, T),
        (T - 1, T + 500_000, T),
    ],
)
def test_nothing_is_dispatched_before_a_hold_ends(
    ledger: Ledger, now_ms: int, not_before_ms: int | None, held_until_ms: int | None
) -> None:
    """What is due waits for that instant and goes at it; what is not due yet waits for its target."""
    decision = _decided(ledger, now_ms, not_before_ms)
    wake = plan_next_wake(ledger, now_ms, not_before_ms)
    if held_until_ms is None:
        assert len(list_dispatches(decision)) == 1
        assert wake == Wake(at_ms=now_ms, delay_ms=0)
    else:
        assert decision == Wait(until_ms=held_until_ms)
        assert wake == Wake(at_ms=held_until_ms, delay_ms=held_until_ms - now_ms)


@pytest.mark.parametrize(
    ("not_before_ms", "until_ms"), [(T + 400_000, T + 400_000), (T + 100_000, T + 300_000)]
)
def test_a_hold_is_the_wake_of_what_is_due_behind_the_closed_gate(
    not_before_ms: int, until_ms: int
) -> None:
    """The gate is asked only once the hold has ended: nothing could go before."""
    assert _decided(GATED, T + 100_000, not_before_ms) == Wait(until_ms=until_ms)


@pytest.mark.parametrize(
    ("ledger", "now_ms", "wake"),
    [
        (ONE, T - 1, Wake(T, 1)),
        (ONE, T, Wake(T, 0)),
        (ONE, T + 7, Wake(T + 7, 0)),
        (REPEAT, T + 7, Wake(T + 7, 0)),
        (GATED, T + 100_000, Wake(T + 300_000, 200_000)),
        (ONE, T - 2_147_483_646, Wake(T, 2_147_483_646)),
        (ONE, T - 2_147_483_647, Wake(T, 2_147_483_647)),
        (ONE, T - 2_147_483_648, Wake(T, 2_147_483_647)),
        (ONE, FIRST_MS, Wake(T, 2_147_483_647)),
    ],
)
def test_the_next_wake_names_its_instant_and_one_timers_delay(
    ledger: Ledger, now_ms: int, wake: Wake
) -> None:
    """The delay is at most the longest that a timer takes; 0 means due already."""
    assert plan_next_wake(ledger, now_ms) == wake


def test_the_longest_delay_is_that_of_a_timer() -> None:
    """2^31 - 1 milliseconds."""
    assert MAX_DELAY_MS == 2_147_483_647


@pytest.mark.parametrize(
    ("decision", "dispatches", "occurrences"),
    [
        (Wait(None), (), ()),
        (Wait(T), (), ()),
        (OneShotDue(at_record("x")), (Dispatch("x"),), (("x", T),)),
        (
            BatchDue(T + 5, (BatchEntry(every_record("x"), T + 1), BatchEntry(every_record("y"), T))),
            (Dispatch("x", T + 5), Dispatch("y", T + 5)),
            (("x", T + 1), ("y", T)),
        ),
        (BatchDue(T, ()), (), ()),
        (
            OneShotDue(EDITED_SHOT, accepted_at_ms=T + 5),
            (StatedDispatch("x", T + 5, T),),
            (("x", T),),
        ),
        (
            BatchDue(T + 5, (BatchEntry(EDITED, T + 1, T + 9), BatchEntry(every_record("y"), T))),
            (StatedDispatch("x", T + 5, T + 1, T + 9), Dispatch("y", T + 5)),
            (("x", T + 1), ("y", T)),
        ),
        (SkipDue(T + 5, (SkipEntry(EDITED, T + 1, T + 9),)), (Skip("x", T + 5, T + 1, T + 9),), ()),
    ],
)
def test_a_decision_names_the_changes_to_append_and_what_they_deliver(
    decision: Decision,
    dispatches: tuple[Dispatch | StatedDispatch | Skip, ...],
    occurrences: tuple[tuple[str, int], ...],
) -> None:
    """One per reminder, in the message's order, by its version; a batch shares its acceptance."""
    assert list_dispatches(decision) == dispatches
    assert list_occurrences(decision) == occurrences


def _spelled(upcoming: tuple[Upcoming, ...]) -> list[tuple[str, int, int]]:
    return [(u.record.id, u.occurrence_ms - T, u.delivered_at_ms - T) for u in upcoming]


def test_a_preview_runs_ahead_of_a_healthy_runner() -> None:
    """Each delivery with its occurrence and its instant, the shared gate kept."""
    ledger = ledger_of(created(every("e")), created(every("f", T + 100_000)), created(at("t", T + 250)))
    assert _spelled(preview(ledger, T - 5, 7)) == [
        ("e", 0, 0),
        ("t", 250, 250),
        ("f", 100_000, 300_000),
        ("e", 300_000, 300_000),
        ("f", 400_000, 600_000),
        ("e", 600_000, 600_000),
        ("f", 700_000, 900_000),
    ]


def test_a_preview_without_a_gate_delivers_each_at_its_target() -> None:
    """Under PUBLISHED no batch waits for another."""
    changes = [created(every("e")), created(every("f", T + 100_000))]
    assert _spelled(preview(ledger_of(*changes, profile=PUBLISHED), T, 4)) == [
        ("e", 0, 0),
        ("f", 100_000, 100_000),
        ("e", 300_000, 300_000),
        ("f", 400_000, 400_000),
    ]


def test_a_preview_begins_with_what_is_overdue() -> None:
    """One-shots one by one at now, then one batch with the latest occurrences."""
    changes = [created(every("e")), created(at("t", T + 3)), created(after("a", T + 2))]
    assert _spelled(preview(ledger_of(*changes), T + 700_000, 4)) == [
        ("a", 2, 700_000),
        ("t", 3, 700_000),
        ("e", 600_000, 700_000),
        ("e", 900_000, 1_000_000),
    ]


@pytest.mark.parametrize("count", [-1, 0, 1, 2, 3])
def test_a_preview_holds_as_many_as_asked_for(count: int) -> None:
    """A batch is cut where the number is reached."""
    ledger = ledger_of(*(created(every(name)) for name in "efg"))
    whole = preview(ledger, T, 9)
    assert len(whole) == 9
    assert preview(ledger, T, count) == whole[: max(count, 0)]


def test_a_preview_ends_where_reminders_run_out() -> None:
    """One-shots end, and so does a repeat at the end of the years."""
    ledger = ledger_of(created(at("t")), created(every("e", LAST_MS - 300_000)))
    found = preview(ledger, T, 9)
    assert [(u.record.id, u.delivered_at_ms) for u in found] == [
        ("t", T),
        ("e", LAST_MS - 300_000),
        ("e", LAST_MS),
    ]
    exhausting = ledger_of(created(every("e", LAST_MS - 299_999, 300)), created(every("f", LAST_MS)))
    assert [u.record.id for u in preview(exhausting, T, 9)] == ["e"]


def test_a_preview_changes_nothing() -> None:
    """The ledger and its records are those that were given."""
    ledger = ledger_of(created(every("e")), created(after("a", T + 1)), created(at("t")), deleted("t"))
    found = preview(ledger, T, 3)
    assert [u.record for u in found] == [
        every_record(),
        AfterRecord("a", "p a", 30, T + 1),
        every_record(target_ms=T + 300_000, runs=1),
    ]
    assert list(ledger.records) == ["e", "a"]
    assert ledger.last_accepted_at_ms is None


def test_a_preview_of_a_ledger_with_a_past_goes_on_from_it() -> None:
    """The last batch, the seen ids and the place in the log are those of the session."""
    assert _spelled(preview(GATED_SHOT, T, 3)) == [
        ("t", 200_000, 200_000),
        ("f", 100_000, 300_000),
        ("e", 300_000, 300_000),
    ]


def test_due_and_waiting_are_told_apart_by_their_stored_names() -> None:
    """The tags are those of the vectors."""
    configs = [kind.__struct_config__ for kind in (OneShotDue, BatchDue, Wait)]
    assert [config.tag for config in configs] == ["one-shot", "recurring", "wait"]
    assert {config.tag_field for config in configs} == {"kind"}


def test_what_the_gate_has_ended_is_not_waited_for() -> None:
    """A later one-shot is; what was due with it and is late is not even left out any more."""
    ended = _holding(_daily("d", options=LATE), last_accepted_at_ms=LAST_MS)
    assert _decided(ended, T - 1) == Wait(None)
    assert _decided(ended, T + 300_001) == Wait(None)
    beside = _holding(_daily("d", options=LATE), at_record("t"), last_accepted_at_ms=LAST_MS)
    assert _decided(beside, LAST_MS + 10**9) == OneShotDue(at_record("t"))
    shot = _holding(_daily("d"), at_record("t", T + 9), last_accepted_at_ms=LAST_MS)
    assert _decided(shot, T - 1) == Wait(T + 9)
    late = _holding(_daily("d", options=LATE), LATE_SHOT, last_accepted_at_ms=LAST_MS)
    assert _decided(late, T + 300_001) == SkipDue(T + 300_001, (SkipEntry(LATE_SHOT, T, None),))


def test_what_is_passed_over_hides_nothing_that_is_late() -> None:
    """A zone that this tz database lacks is the matter of its own record alone."""
    lost, late = _daily("d", "Mars/Base", LATE), LATE_SHOT
    ledger = _holding(lost, late)
    assert list_passed_over(ledger, T) == (lost,)
    assert list_passed_over(ledger, T - 1) == ()
    assert list_passed_over(_holding(_daily("d"), every_record("e"), LATE_SHOT), T) == ()
    assert _decided(ledger, T + 300_001) == SkipDue(T + 300_001, (SkipEntry(late, T, None),))
    paused = EveryRecord("p", "p p", 300, T + 5, standing=Standing(2, revision=1, paused=True))
    waiting = _holding(_daily("d", "Mars/Base"), paused, every_record("e", T + 9))
    assert _decided(waiting, T) == Wait(T + 9)
    assert _decided(waiting, T + 9) == BatchDue(T + 9, (BatchEntry(every_record("e", T + 9), T + 9),))


def test_lateness_counts_from_the_gate_for_what_comes_again() -> None:
    """At the grace itself it still goes; a one-shot's grace runs from its target."""
    opens_ms = T + 200_000
    gated = _holding(_daily("d", options=LATE), last_accepted_at_ms=opens_ms - 300_000)
    assert isinstance(_decided(gated, opens_ms + 300_000), BatchDue)
    assert isinstance(_decided(gated, opens_ms + 300_001), SkipDue)
    shot = _holding(LATE_SHOT, last_accepted_at_ms=opens_ms - 300_000)
    assert isinstance(_decided(shot, T + 300_000), OneShotDue)
    assert isinstance(_decided(shot, T + 300_001), SkipDue)


def test_a_preview_passes_what_is_left_out() -> None:
    """A skip is no delivery; the next occurrence is."""
    late = _daily("d", options=LATE)
    assert _spelled(preview(_holding(late), T + 300_001, 1)) == [("d", 86_400_000, 86_400_000)]
