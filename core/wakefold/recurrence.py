"""Fixed-rate arithmetic and the shared gate (spec section 4).

This module decides which occurrence an acceptance stands for, where the next target lies, and how far
apart recurring batches must be. It refuses to know records, events and clocks: integers in, integers
out, and the work is the same for one missed interval and for a million.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from wakefold.instants import MAX_INSTANT_MS

#: The shortest fixed rate (spec section 3).
MIN_EVERY_SECONDS: Final = 300


class Profile(Struct, frozen=True):
    """Which rule stands between recurring batches. Every fold is made under one profile.

    `batch_distance_ms` is the least distance between two batches; `None` means that there is no gate.

    :shape: `{name, batch_distance_ms}` in a checkpoint, the name alone (`seed`, `published`) over a
        pipe and in options
    :units: `batch_distance_ms` in milliseconds
    :errors: none when it is made, which checks nothing
    :source: ours, docs/decisions/profiles.md
    """

    name: str
    batch_distance_ms: int | None


#: This project's contract: recurring batches stand at least 300 s apart.
#:
#: :shape: a `Profile`, the default wherever one can be given
#: :units: 300,000 milliseconds between batches
#: :errors: none
#: :source: spec section 4
SEED: Final = Profile(name="seed", batch_distance_ms=300_000)

#: What the released JavaScript package writes: no shared gate, no exhaustion.
#:
#: :shape: a `Profile`
#: :units: none
#: :errors: none
#: :source: spec section 4; ours, docs/decisions/profiles.md
PUBLISHED: Final = Profile(name="published", batch_distance_ms=None)

#: Every profile there is, the default first.
PROFILES: Final = (SEED, PUBLISHED)


class Occurrence(Struct, frozen=True):
    """One instant at which a recurring record is due, and the target after it.

    `next_target_ms` is `None` when the next target would leave year 9999: the record ends.
    """

    occurrence_ms: int
    next_target_ms: int | None


def find_occurrence(target_ms: int, every_seconds: int, accepted_at_ms: int) -> Occurrence:
    """The latest occurrence at or before an acceptance that is not before the target.

    The anchor never moves: every target is the first one plus a whole number of intervals.
    """
    interval_ms = every_seconds * 1000
    occurrence_ms = accepted_at_ms - (accepted_at_ms - target_ms) % interval_ms
    next_target_ms = occurrence_ms + interval_ms
    return Occurrence(
        occurrence_ms=occurrence_ms,
        next_target_ms=next_target_ms if next_target_ms <= MAX_INSTANT_MS else None,
    )


def find_gate(profile: Profile, last_accepted_at_ms: int | None) -> int | None:
    """From when (epoch ms, maybe past year 9999) a new batch may go; `None`: always open."""
    if profile.batch_distance_ms is None or last_accepted_at_ms is None:
        return None
    return last_accepted_at_ms + profile.batch_distance_ms


def is_exhausted(profile: Profile, last_accepted_at_ms: int | None) -> bool:
    """Whether the gate opens only past year 9999, which ends every recurring record."""
    gate_ms = find_gate(profile, last_accepted_at_ms)
    return gate_ms is not None and gate_ms > MAX_INSTANT_MS
