"""What each change of version 2 does to a record, and in which words the ones that do not fit fail."""

from __future__ import annotations

import pytest

from wakefold.calendar_rules import DailyRule
from wakefold.edits import Changes, Edit, Pause, Resume, Skip, Snooze, StatedDispatch, Update
from wakefold.instants import MAX_INSTANT_MS
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
from wakefold.rejections import LogFault
from wakefold.transitions import (
    Accepted,
    accept_edit,
    accept_occurrence,
    accept_plain,
    accept_stated,
    check_options,
    find_stated,
    is_reachable,
    measure_lateness,
)

T = 1_800_000_000_000
STEP = 600_000
PAUSED = Standing(version=2, revision=1, paused=True)
SKIPPING = Options(missed="skip", grace_seconds=300)


def one_shot(options: Options = PLAIN, standing: Standing = EDITABLE) -> AtRecord:
    return AtRecord("s", "x", T, options, standing)


def every(options: Options = PLAIN, standing: Standing = EDITABLE) -> EveryRecord:
    return EveryRecord("s", "x", STEP // 1000, T, options, standing)


def daily(options: Options = PLAIN, standing: Standing = EDITABLE) -> CalendarRecord:
    return CalendarRecord("s", "x", DailyRule("09:00:00.000", "UTC"), T, options, standing)


def snoozed(until_ms: int) -> Standing:
    return Standing(version=2, revision=1, snoozed_until_ms=until_ms)


def told(raised: pytest.ExceptionInfo[LogFault]) -> tuple[str, str, str | None]:
    return raised.value.rule, raised.value.path, raised.value.schedule_id


OCCURRENCE, NEXT = "$.occurrenceAt", "$.nextScheduledAt"


@pytest.mark.parametrize(
    ("record", "edit", "rule", "path"),
    [
        (every(standing=PAUSED), StatedDispatch("s", T, T, T + STEP), "paused", "$"),
        (every(SKIPPING, PAUSED), Skip("s", T + STEP - 1, T, T + STEP), "paused", "$"),
        (every(standing=PAUSED), Snooze("s", T + 1), "paused", "$"),
        (every(standing=PAUSED), Pause("s"), "paused", "$"),
        (every(), Resume("s", T), "not_paused", "$"),
        (every(standing=PAUSED), Resume("s"), "wrong_keys", "$"),
        (one_shot(standing=PAUSED), Resume("s", T), "wrong_keys", "$"),
        (every(standing=PAUSED), Resume("s", T - STEP), "bad_next", "$.scheduledAt"),
        (every(standing=PAUSED), Resume("s", T + 1), "bad_next", "$.scheduledAt"),
        (daily(standing=PAUSED), Resume("s", T - 1), "bad_next", "$.scheduledAt"),
        (every(), Snooze("s", T), "snoozed_to_target", "$.until"),
        (every(standing=Standing()), StatedDispatch("s", T, T, T + STEP), "other_version", "$.version"),
        (daily(), StatedDispatch("s", MAX_INSTANT_MS + 1, T), "bad_instant", "$.acceptedAt"),
        (every(), StatedDispatch("s", T - 1, T), "accepted_before_target", "$.acceptedAt"),
        (
            daily(standing=snoozed(T + 9)),
            StatedDispatch("s", T + 8, T),
            "accepted_before_target",
            "$.acceptedAt",
        ),
        (daily(), StatedDispatch("s", T, T - 1), "bad_occurrence", OCCURRENCE),
        (daily(), StatedDispatch("s", T, T + 1), "bad_occurrence", OCCURRENCE),
        (one_shot(), StatedDispatch("s", T, T, T + 1), "bad_next", NEXT),
        (one_shot(), StatedDispatch("s", T + 1, T + 1), "bad_occurrence", OCCURRENCE),
        (daily(Options(until_ms=T)), StatedDispatch("s", T + 1, T + 1), "bad_occurrence", OCCURRENCE),
        (every(), StatedDispatch("s", T + STEP, T, T + 2 * STEP), "bad_occurrence", OCCURRENCE),
        (every(), StatedDispatch("s", T, T, T + 2 * STEP), "bad_next", NEXT),
        (every(), StatedDispatch("s", T, T), "bad_next", NEXT),
        (daily(), StatedDispatch("s", T + 1, T, T + 1), "bad_next", NEXT),
        (one_shot(SKIPPING), Skip("s", T + 300_000, T), "not_too_late", "$"),
        (one_shot(), Skip("s", T + 300_001, T), "not_too_late", "$"),
        (
            one_shot(Options(missed="latest", grace_seconds=1)),
            Skip("s", T + 300_001, T),
            "not_too_late",
            "$",
        ),
        (one_shot(), Update("s", Changes(max_runs=1)), "option_of_recurring", "$"),
        (one_shot(), Update("s", Changes(until_ms=T)), "option_of_recurring", "$"),
        (every(), Update("s", Changes(missed="skip")), "grace_without_skip", "$"),
        (every(), Update("s", Changes(grace_seconds=300)), "grace_without_skip", "$"),
        (
            every(standing=Standing(version=2, runs=2)),
            Update("s", Changes(max_runs=2)),
            "ended_by_option",
            "$",
        ),
        (every(), Update("s", Changes(until_ms=T - 1)), "ended_by_option", "$"),
    ],
)
def test_a_change_that_does_not_fit_is_named(record: Record, edit: Edit, rule: str, path: str) -> None:
    with pytest.raises(LogFault) as raised:
        accept_edit(record, edit, None)
    assert told(raised) == (rule, path, "s")


def test_a_dispatch_is_no_more_lawful_by_another_door() -> None:
    with pytest.raises(LogFault) as raised:
        accept_stated(every(standing=PAUSED), StatedDispatch("s", T, T, T + STEP))
    assert told(raised) == ("paused", "$", "s")


@pytest.mark.parametrize(
    ("record", "accepted_at_ms", "rule", "path"),
    [
        (every(), T, "other_version", "$.version"),
        (one_shot(standing=Standing()), T, "one_shot_with_accepted_at", "$.acceptedAt"),
        (every(standing=Standing()), None, "every_without_accepted_at", "$"),
        (every(standing=Standing()), T - 1, "accepted_before_target", "$.acceptedAt"),
        (every(standing=Standing()), MAX_INSTANT_MS + 1, "bad_instant", "$.acceptedAt"),
    ],
)
def test_a_dispatch_of_version_1_that_does_not_fit_is_named(
    record: Record, accepted_at_ms: int | None, rule: str, path: str
) -> None:
    with pytest.raises(LogFault) as raised:
        accept_plain(record, accepted_at_ms)
    assert told(raised) == (rule, path, "s")


@pytest.mark.parametrize(
    ("record", "edit", "after"),
    [
        (one_shot(), StatedDispatch("s", T + 5, T), None),
        (daily(), StatedDispatch("s", T + 5, T + 5), None),
        (daily(Options(until_ms=T + 5)), StatedDispatch("s", T + 6, T + 5), None),
        (
            daily(Options(max_runs=2), snoozed(T + 3)),
            StatedDispatch("s", T + 3, T, T + 4),
            CalendarRecord(
                "s",
                "x",
                DailyRule("09:00:00.000", "UTC"),
                T + 4,
                Options(max_runs=2),
                Standing(version=2, revision=1, runs=1),
            ),
        ),
        (
            every(Options(max_runs=2), Standing(version=2, runs=1)),
            StatedDispatch("s", T, T, T + STEP),
            None,
        ),
        (every(Options(until_ms=T + STEP - 1)), StatedDispatch("s", T, T, T + STEP), None),
        (
            every(Options(until_ms=T + STEP)),
            StatedDispatch("s", T, T, T + STEP),
            EveryRecord(
                "s",
                "x",
                600,
                T + STEP,
                Options(until_ms=T + STEP),
                Standing(version=2, runs=1),
            ),
        ),
        (one_shot(SKIPPING), Skip("s", T + 300_001, T), None),
        (
            every(SKIPPING),
            Skip("s", T + 300_001, T, T + STEP),
            EveryRecord("s", "x", 600, T + STEP, SKIPPING, EDITABLE),
        ),
        (every(standing=Standing()), Pause("s"), every(standing=PAUSED)),
        (
            every(standing=PAUSED),
            Resume("s", T),
            every(standing=Standing(version=2, revision=2)),
        ),
        (
            every(standing=Standing(version=2, revision=2, paused=True, snoozed_until_ms=T + 1)),
            Resume("s", T + STEP),
            EveryRecord("s", "x", 600, T + STEP, standing=Standing(version=2, revision=3)),
        ),
        (
            one_shot(standing=Standing(version=2, revision=2, paused=True, snoozed_until_ms=T + 1)),
            Resume("s"),
            one_shot(standing=Standing(version=2, revision=3, snoozed_until_ms=T + 1)),
        ),
        (every(), Snooze("s", T + 1), every(standing=snoozed(T + 1))),
        (
            every(SKIPPING),
            Update("s", Changes(missed="latest", title="t", max_runs=1, until_ms=T)),
            every(
                Options(title="t", max_runs=1, until_ms=T, missed="latest"),
                Standing(version=2, revision=1),
            ),
        ),
        (
            every(Options(title="t", max_runs=1, until_ms=T)),
            Update("s", Changes(title=None, max_runs=None, until_ms=None)),
            every(standing=Standing(version=2, revision=1)),
        ),
    ],
)
def test_a_change_that_fits_makes_the_next_record(
    record: Record, edit: Edit, after: Record | None
) -> None:
    """The same record with all else as it was; `None`: it ends."""
    assert accept_edit(record, edit, None) == after


def test_a_stated_dispatch_delivers_what_it_states() -> None:
    """The latest occurrence by the acceptance, or by the end if that comes first."""
    late = StatedDispatch("s", T + 5 * STEP + 1, T + 5 * STEP, T + 6 * STEP)
    accepted = accept_stated(every(), late)
    assert accepted.occurrence_ms == T + 5 * STEP
    assert accepted.remaining is not None
    ending = every(Options(until_ms=T + 3 * STEP - 1))
    found = find_stated(ending, T + 5 * STEP)
    assert (found.occurrence_ms, found.next_target_ms) == (T + 2 * STEP, T + 6 * STEP)
    at_end = find_stated(every(Options(until_ms=T + 5 * STEP)), T + 5 * STEP)
    assert at_end.occurrence_ms == T + 5 * STEP


@pytest.mark.parametrize(
    ("record", "gate_ms", "late_ms"),
    [
        (every(), None, 100),
        (every(), T + 40, 60),
        (every(), T - 40, 100),
        (one_shot(), T + 40, 100),
        (one_shot(standing=snoozed(T + 30)), None, 70),
        (every(standing=snoozed(T + 30)), T + 40, 60),
        (every(standing=snoozed(T + 30)), T + 20, 70),
    ],
)
def test_lateness_counts_from_the_last_hindrance(
    record: Record, gate_ms: int | None, late_ms: int
) -> None:
    """A snooze holds any reminder, the shared gate only those that come again."""
    assert measure_lateness(record, T, T + 100, gate_ms) == late_ms


def test_a_dispatch_of_version_1_delivers_the_latest_occurrence() -> None:
    """A one-shot's target, and with the last one of the calendar the record ends."""
    assert accept_plain(one_shot(standing=Standing()), None) == Accepted(T, None)
    accepted = accept_plain(every(standing=Standing()), T + STEP + 1)
    following = EveryRecord("s", "x", 600, T + 2 * STEP, standing=Standing(runs=1))
    assert accepted == Accepted(T + STEP, following)
    last = EveryRecord("s", "x", 600, MAX_INSTANT_MS)
    assert accept_plain(last, MAX_INSTANT_MS) == Accepted(MAX_INSTANT_MS, None)


def test_what_has_no_option_left_is_plain_again() -> None:
    """The very value, by which it is told at a glance."""
    after = accept_edit(every(Options(title="t")), Update("s", Changes(title=None)), None)
    assert after is not None
    assert after.options is PLAIN


def test_the_gate_counts_for_a_skip() -> None:
    """An occurrence that waited for the gate is late from then on only."""
    skip = Skip("s", T + 300_001, T, T + STEP)
    with pytest.raises(LogFault) as raised:
        accept_edit(every(SKIPPING), skip, T + 1)
    assert told(raised) == ("not_too_late", "$", "s")
    assert accept_edit(every(SKIPPING), skip, T) is not None


def test_options_that_let_it_occur_are_taken() -> None:
    """The last run and the end itself are still in."""
    options = Options(max_runs=2, until_ms=T)
    record = every(options, Standing(version=2, runs=1))
    assert check_options(record) is record


def test_an_acceptance_within_bounds_stands_for_an_occurrence() -> None:
    """The target itself and the last instant of the calendar are within."""
    assert accept_occurrence(every(), T).occurrence_ms == T
    assert accept_occurrence(every(), MAX_INSTANT_MS).occurrence_ms <= MAX_INSTANT_MS
    with pytest.raises(LogFault) as raised:
        accept_occurrence(every(), T + 0.5)
    assert told(raised) == ("bad_instant", "$.acceptedAt", "s")


@pytest.mark.parametrize(
    "record",
    [
        one_shot(standing=Standing()),
        every(standing=Standing(runs=3)),
        one_shot(standing=Standing(version=2, revision=1)),
        one_shot(standing=Standing(version=2, revision=1, runs=3)),
        one_shot(Options(title="t")),
        daily(),
        daily(standing=Standing(version=2, runs=3)),
        daily(standing=PAUSED),
        daily(standing=snoozed(T + 1)),
        daily(standing=snoozed(MAX_INSTANT_MS)),
        every(Options(max_runs=2, until_ms=T), Standing(version=2, runs=1)),
    ],
)
def test_what_changes_can_come_to_is_reachable(record: Record) -> None:
    """Plain of version 2 by an edit alone; with runs a one-shot that an edit has made of another."""
    assert is_reachable(record)


@pytest.mark.parametrize(
    "record",
    [
        every(standing=Standing(runs=-1)),
        one_shot(standing=Standing(runs=1)),
        one_shot(Options(title="t"), Standing(version=2, runs=1)),
        one_shot(Options(title="t"), Standing()),
        daily(standing=Standing()),
        every(standing=Standing(revision=1)),
        every(standing=Standing(paused=True)),
        one_shot(),
        every(),
        daily(standing=Standing(version=2, paused=True)),
        daily(standing=Standing(version=2, snoozed_until_ms=T + 1)),
        daily(standing=snoozed(T)),
        daily(standing=snoozed(MAX_INSTANT_MS + 1)),
        daily(Options(max_runs=2), Standing(version=2, runs=2)),
        daily(Options(title=" t")),
        every(Options(until_ms=MAX_INSTANT_MS + 1)),
    ],
)
def test_what_no_change_comes_to_is_not_reachable(record: Record) -> None:
    """Whatever is wrong, in the standing, the options or both: no log leads there."""
    assert not is_reachable(record)
