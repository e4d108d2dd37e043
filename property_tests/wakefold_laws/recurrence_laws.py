"""Laws of repeating: every target stays on its anchor, however late and however rarely one is asked.

This module decides what the arithmetic of fixed rates owes its anchor, its gate and the machine's time.
It refuses to know what is decided with it.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

from returns.pipeline import is_successful

from wakefold.events import SCHEDULE_CHANGE, Dispatch, Event, EveryRecord, encode_change
from wakefold.instants import MAX_INSTANT_MS, MAX_SAFE_INTEGER, MIN_INSTANT_MS
from wakefold.ledger import Ledger, evolve
from wakefold.recurrence import (
    MIN_EVERY_SECONDS,
    PROFILES,
    PUBLISHED,
    SEED,
    Occurrence,
    Profile,
    find_occurrence,
)
from wakefold.views import list_views
from wakefold.wakes import decide_due, plan_next_wake, preview
from wakefold_laws.drawing import st
from wakefold_laws.laws import law
from wakefold_laws.strategies import instants

_YEAR_MS: Final = 365 * 86_400_000
_rates = st.integers(MIN_EVERY_SECONDS, 86_400) | st.integers(
    MIN_EVERY_SECONDS, MAX_SAFE_INTEGER // 1000
)


def hold(target_ms: int, every_seconds: int, profile: Profile = PUBLISHED) -> Ledger:
    """A ledger of one repeating record."""
    record = EveryRecord("schedule-1", "p", every_seconds, target_ms)
    return Ledger(profile=profile, records={record.id: record}, seen_ids={record.id: None})


def accept(ledger: Ledger, accepted_ms: int) -> Ledger:
    """The ledger after the dispatch of that record."""
    data = encode_change(Dispatch("schedule-1", accepted_ms))
    return evolve(ledger, Event(SCHEDULE_CHANGE, ledger.position, accepted_ms, data)).unwrap()


def count_steps(work: Callable[[], object]) -> int:
    """The calls, lines and instructions of the core that the interpreter runs for a piece of work."""
    count = 0

    def trace(frame: FrameType, _event: str, _argument: object) -> Any:  # noqa: ANN401 - as typeshed
        nonlocal count
        if not frame.f_globals["__name__"].startswith("wakefold."):
            return None
        count += 1
        frame.f_trace_opcodes = True
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


@law(target_ms=instants(), every_seconds=_rates, late_ms=st.integers(0, 10**15))
def the_next_target_is_strictly_after_the_acceptance(
    target_ms: int, every_seconds: int, late_ms: int
) -> None:
    """The occurrence is not after the acceptance, and the next target, one interval later, is."""
    accepted_ms = min(target_ms + late_ms, MAX_INSTANT_MS)
    found = find_occurrence(target_ms, every_seconds, accepted_ms)
    following_ms = found.occurrence_ms + every_seconds * 1000
    assert target_ms <= found.occurrence_ms <= accepted_ms < following_ms
    assert found.next_target_ms == (following_ms if following_ms <= MAX_INSTANT_MS else None)
    assert type(found.occurrence_ms) is int


@law(target_ms=instants(), every_seconds=_rates, count=st.integers(0, 9) | st.integers(0, 2**53))
def an_acceptance_on_a_multiple_is_that_occurrence(
    target_ms: int, every_seconds: int, count: int
) -> None:
    """Accepted exactly at target k, the occurrence is k and the next k + 1; 1 ms before, k - 1."""
    interval_ms = every_seconds * 1000
    count %= (MAX_INSTANT_MS - target_ms) // interval_ms + 1
    accepted_ms = target_ms + count * interval_ms
    found = find_occurrence(target_ms, every_seconds, accepted_ms)
    assert found.occurrence_ms == accepted_ms
    assert found.next_target_ms in (None, accepted_ms + interval_ms)
    if count > 0:
        before = find_occurrence(target_ms, every_seconds, accepted_ms - 1)
        assert before.occurrence_ms == accepted_ms - interval_ms
        assert before.next_target_ms == accepted_ms


@law(
    every_seconds=st.integers(MIN_EVERY_SECONDS, 86_400),
    count=st.integers(1, 1000),
    slack_ms=st.sampled_from((0, 1, 299_999)),
)
def a_record_ends_when_its_next_target_leaves_the_range(
    every_seconds: int, count: int, slack_ms: int
) -> None:
    """The last target that fits, even the last millisecond of year 9999, is kept, and none after it."""
    last_ms = MAX_INSTANT_MS - slack_ms
    before_ms = last_ms - every_seconds * 1000
    target_ms = last_ms - count * every_seconds * 1000
    assert find_occurrence(target_ms, every_seconds, before_ms).next_target_ms == last_ms
    assert find_occurrence(target_ms, every_seconds, last_ms) == Occurrence(last_ms, None)
    assert accept(hold(target_ms, every_seconds), before_ms).records
    assert not accept(hold(target_ms, every_seconds), last_ms).records


@law(
    anchor_ms=st.integers(MIN_INSTANT_MS, 0) | instants(),
    every_seconds=_rates,
    lates_ms=st.lists(st.integers(0, 10**6) | st.integers(0, 10**12), min_size=1, max_size=30),
)
def every_target_stays_on_the_anchor(anchor_ms: int, every_seconds: int, lates_ms: list[int]) -> None:
    """Whatever instants are accepted, every target is the anchor plus a whole number of intervals."""
    ledger = hold(anchor_ms, every_seconds)
    for late_ms in lates_ms:
        target_ms = ledger.records["schedule-1"].scheduled_at_ms
        assert divmod(target_ms - anchor_ms, every_seconds * 1000)[1] == 0
        ledger = accept(ledger, min(target_ms + late_ms, MAX_INSTANT_MS))
        if not ledger.records:
            return


@law(
    first_ms=instants(),
    apart_ms=st.sampled_from((0, 1, -1, 299_999, 300_000, 300_001, -300_000))
    | st.integers(-(10**6), 10**6),
)
def two_batches_stand_apart_or_are_one(first_ms: int, apart_ms: int) -> None:
    """Under the gate a further dispatch is of the same batch, or of one at least 300 s later."""
    second_ms = min(max(first_ms + apart_ms, MIN_INSTANT_MS), MAX_INSTANT_MS)
    apart_ms = second_ms - first_ms
    for profile, fits in ((SEED, apart_ms == 0 or apart_ms >= 300_000), (PUBLISHED, True)):
        records = {name: EveryRecord(name, "p", 300, MIN_INSTANT_MS) for name in ("a", "b")}
        ledger = Ledger(profile=profile, records=records, seen_ids=dict.fromkeys(records))
        first, second = (
            Event(SCHEDULE_CHANGE, 0, 0, encode_change(Dispatch(name, accepted_ms)))
            for name, accepted_ms in (("a", first_ms), ("b", second_ms))
        )
        result = evolve(evolve(ledger, first).unwrap(), second)
        assert is_successful(result) == fits
        if fits:
            assert result.unwrap().last_accepted_at_ms == second_ms


@law(
    times=1 / 20,
    profile={profile.name: st.just(profile) for profile in PROFILES},
    seed=st.integers(0, 2**32),
    created_ms=st.integers(0, 2 * 10**12),
)
def ten_thousand_late_dispatches_do_not_drift(profile: Profile, seed: int, created_ms: int) -> None:
    """After 10,000 dispatches up to 299.999 s late, target k is still createdAt + k * 300 s exactly."""
    lateness = random.Random(seed)  # noqa: S311 - lateness, not a secret
    ledger = hold(created_ms + 300_000, 300, profile)
    last_ms = created_ms
    for count in range(1, 10_001):
        target_ms = ledger.records["schedule-1"].scheduled_at_ms
        assert target_ms == created_ms + count * 300_000
        accepted_ms = target_ms + lateness.randrange(300_000)
        last_ms = max(accepted_ms, last_ms + 300_000) if profile == SEED else accepted_ms
        ledger = accept(ledger, last_ms)


_GAPPED: Final[dict[str, Callable[[Ledger, int], object]]] = {
    "evolve": accept,
    "decide_due": decide_due,
    "plan_next_wake": plan_next_wake,
    "list_views": list_views,
    "preview": lambda ledger, now_ms: preview(ledger, now_ms, 3),
    "find_occurrence": lambda ledger, now_ms: [
        find_occurrence(record.scheduled_at_ms, 300, now_ms) for record in ledger.records.values()
    ],
}


@law(
    times=1 / 6,
    name={name: st.just(name) for name in _GAPPED},
    years=st.integers(1000, 7000),
    late_ms=st.integers(0, _YEAR_MS),
)
def a_gap_of_a_thousand_years_costs_what_one_interval_costs(
    name: str, years: int, late_ms: int
) -> None:
    """The interpreter runs the same number of steps for one missed interval and for 100 million."""
    ledger, long_ms = hold(0, 300), years * _YEAR_MS + late_ms
    _GAPPED[name](ledger, long_ms)  # what is cached is cached
    short = count_steps(lambda: _GAPPED[name](ledger, 300_000))
    assert 0 < short == count_steps(lambda: _GAPPED[name](ledger, long_ms))
