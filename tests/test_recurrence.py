"""Fixed-rate arithmetic and the shared gate, to the millisecond."""

from __future__ import annotations

import pytest

from core_logs import LAST_MS, T
from wakefold.recurrence import (
    MIN_EVERY_SECONDS,
    PROFILES,
    PUBLISHED,
    SEED,
    Occurrence,
    Profile,
    find_gate,
    find_occurrence,
    is_exhausted,
)


def test_the_constants_are_those_of_the_page() -> None:
    """300 s is the least interval and, under SEED, the least distance between batches."""
    assert MIN_EVERY_SECONDS == 300
    assert Profile(name="seed", batch_distance_ms=300_000) == SEED
    assert Profile(name="published", batch_distance_ms=None) == PUBLISHED
    assert PROFILES == (SEED, PUBLISHED)


@pytest.mark.parametrize(
    ("late_ms", "occurrence_ms"),
    [
        (0, 0),
        (1, 0),
        (299_999, 0),
        (300_000, 300_000),
        (300_001, 300_000),
        (599_999, 300_000),
        (600_000, 600_000),
        (300_000 * 1_000_000 - 1, 300_000 * 999_999),
        (300_000 * 1_000_000, 300_000 * 1_000_000),
    ],
)
def test_the_latest_occurrence_at_or_before_an_acceptance_is_delivered(
    late_ms: int, occurrence_ms: int
) -> None:
    """On a multiple of the interval the multiple itself occurs, a millisecond before it the last."""
    assert find_occurrence(T, 300, T + late_ms) == Occurrence(
        occurrence_ms=T + occurrence_ms, next_target_ms=T + occurrence_ms + 300_000
    )


@pytest.mark.parametrize("target_ms", [-62_135_596_800_000, -300_001, -1, 0, 1])
def test_targets_before_the_epoch_count_alike(target_ms: int) -> None:
    """The anchor may lie anywhere: steps are counted from it, not from the epoch."""
    assert find_occurrence(target_ms, 301, target_ms + 301_000) == Occurrence(
        occurrence_ms=target_ms + 301_000, next_target_ms=target_ms + 602_000
    )
    assert find_occurrence(target_ms, 301, target_ms + 300_999) == Occurrence(
        occurrence_ms=target_ms, next_target_ms=target_ms + 301_000
    )


@pytest.mark.parametrize(
    ("target_ms", "next_target_ms"),
    [
        (LAST_MS - 300_001, LAST_MS - 1),
        (LAST_MS - 300_000, LAST_MS),
        (LAST_MS - 299_999, None),
        (LAST_MS, None),
    ],
)
def test_a_record_ends_when_its_next_target_would_leave_the_years(
    target_ms: int, next_target_ms: int | None
) -> None:
    """The very last instant is still a target, the millisecond after it is none."""
    assert find_occurrence(target_ms, 300, target_ms) == Occurrence(
        occurrence_ms=target_ms, next_target_ms=next_target_ms
    )


def test_the_longest_interval_stays_exact() -> None:
    """Integers carry it: no double rounds a target."""
    seconds = 9_007_199_254_740
    assert find_occurrence(T, seconds, T + 1) == Occurrence(occurrence_ms=T, next_target_ms=None)
    found = find_occurrence(T - seconds * 1_000, seconds, T)
    assert found == Occurrence(occurrence_ms=T, next_target_ms=None)


@pytest.mark.parametrize(
    ("profile", "last_ms", "gate_ms"),
    [
        (SEED, None, None),
        (SEED, T, T + 300_000),
        (SEED, 0, 300_000),
        (SEED, LAST_MS, LAST_MS + 300_000),
        (Profile(name="short", batch_distance_ms=1), T, T + 1),
        (Profile(name="none at all", batch_distance_ms=0), T, T),
        (PUBLISHED, None, None),
        (PUBLISHED, T, None),
        (PUBLISHED, LAST_MS, None),
    ],
)
def test_the_gate_opens_a_distance_after_the_last_batch(
    profile: Profile, last_ms: int | None, gate_ms: int | None
) -> None:
    """Without a batch, and under a profile without a distance, it is always open."""
    assert find_gate(profile, last_ms) == gate_ms


@pytest.mark.parametrize(
    ("profile", "last_ms", "expected"),
    [
        (SEED, None, False),
        (SEED, T, False),
        (SEED, LAST_MS - 300_001, False),
        (SEED, LAST_MS - 300_000, False),
        (SEED, LAST_MS - 299_999, True),
        (SEED, LAST_MS, True),
        (PUBLISHED, None, False),
        (PUBLISHED, LAST_MS, False),
    ],
)
def test_the_gate_is_exhausted_when_it_opens_only_past_the_years(
    profile: Profile, last_ms: int | None, expected: bool
) -> None:
    """A gate at the very last instant still opens, one a millisecond later never does."""
    assert is_exhausted(profile, last_ms) is expected
