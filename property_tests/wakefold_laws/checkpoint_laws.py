"""Laws of checkpoints: a log that is read on from one comes to what the whole log comes to.

This module decides what folding on, writing down and reading back owe the fold of a whole log. It
refuses to know files, and what a log begins with.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Final

from returns.pipeline import is_successful
from returns.result import Failure, Result

from wakefold.checkpoints import Checkpoint, begin_checkpoint, extend_checkpoint
from wakefold.conversations import Conversation, follow
from wakefold.events import Event
from wakefold.guard_config import GuardConfig
from wakefold.ledger import fold
from wakefold.owners import open_owner, resume_owner
from wakefold.recurrence import PROFILES, Profile
from wakefold.snapshots import (
    Prefix,
    Snapshot,
    SnapshotFault,
    SnapshotRule,
    decode_checkpoint,
    encode_checkpoint,
)
from wakefold.wakeups import count_wakeups
from wakefold_laws.conversation_laws import journals, lengths, number
from wakefold_laws.drawing import st
from wakefold_laws.guard_laws import broken_stories, configs, stories
from wakefold_laws.laws import law
from wakefold_laws.log_model import BrokenLog, Log
from wakefold_laws.session_model import SessionLog
from wakefold_laws.session_strategies import session_logs
from wakefold_laws.strategies import ids

_ANY_PREFIX: Final = Prefix("session-1", 4096, 17, "00ff")

_kinds = st.sampled_from((("user", "a2a"), ("user",), ()))
_prefixes = st.builds(Prefix, ids(), st.integers(0, 2**53), st.integers(0, 2**53), ids())
_places = st.integers(0, 2**16)


def keep(checkpoint: Checkpoint, prefix: Prefix = _ANY_PREFIX) -> Snapshot:
    """A checkpoint that was written down and read back."""
    return read_back(encode_checkpoint(checkpoint, prefix), checkpoint, prefix.session_id).unwrap()


def read_back(
    content: bytes, wanted: Checkpoint, session_id: str = _ANY_PREFIX.session_id
) -> Result[Snapshot, SnapshotFault]:
    """What was written down, if it serves whoever wants a checkpoint such as this one."""
    return decode_checkpoint(
        content,
        session_id=session_id,
        seed_length=wanted.ledger.seed_length,
        profile=wanted.ledger.profile,
        reset_kinds=wanted.reset_kinds,
    )


@law(times=0.5, log=stories() | broken_stories() | session_logs(), reset_kinds=_kinds)
def reading_on_from_a_checkpoint_is_reading_the_whole_log(
    log: Log | BrokenLog | SessionLog, reset_kinds: tuple[str, ...]
) -> None:
    """Cut anywhere, kept and read on, a log, valid or broken in its rest, comes to the same ledger,
    conversation and wakeups, or to the same fault at the same place, as in one reading.
    """
    start = begin_checkpoint(log.seed_length, log.profile, reset_kinds)
    whole = extend_checkpoint(start, log.events)
    end = log.index if isinstance(log, BrokenLog) else len(log.events)
    for place in range(log.seed_length, end + 1):
        kept = keep(extend_checkpoint(start, log.events[:place]).unwrap()).checkpoint
        resumed = extend_checkpoint(kept, iter(log.events[place:]))
        assert resumed == whole
        if is_successful(resumed):
            same_order(resumed.unwrap(), whole.unwrap())


def same_order(one: Checkpoint, other: Checkpoint) -> None:
    """What equality does not tell: the create order of records and of ids."""
    assert list(one.ledger.records) == list(other.ledger.records)
    assert list(one.ledger.seen_ids) == list(other.ledger.seen_ids)


@law(log=stories() | session_logs(), reset_kinds=_kinds)
def a_checkpoint_is_what_each_reader_makes_of_the_log(
    log: Log | SessionLog, reset_kinds: tuple[str, ...]
) -> None:
    """Its ledger is the fold, its conversation the one followed, and its wakeups are those counted."""
    start = begin_checkpoint(log.seed_length, log.profile, reset_kinds)
    checkpoint = extend_checkpoint(start, log.events).unwrap()
    assert checkpoint.ledger == fold(log.events, log.seed_length, log.profile).unwrap()
    before = Conversation(seed_length=log.seed_length)
    assert checkpoint.conversation == reduce(follow, log.events, before)
    assert checkpoint.wakeups == count_wakeups(log.events[log.seed_length :], reset_kinds)


@law(log=stories(), config=configs, place=_places)
def an_owner_begins_with_a_checkpoint_as_with_the_log(
    log: Log, config: GuardConfig, place: int
) -> None:
    """Guard on or off, an owner resumed from a kept checkpoint is the one opened over the log."""
    place = log.seed_length + place % (len(log.events) - log.seed_length + 1)
    now_ms = log.events[-1].time_ms if log.events else 0
    start = begin_checkpoint(log.seed_length, log.profile, config.reset_kinds)
    kept = keep(extend_checkpoint(start, log.events[:place]).unwrap()).checkpoint
    whole = extend_checkpoint(kept, log.events[place:]).unwrap()
    for limits in (config, None):
        opened = open_owner(log.events, log.seed_length, log.profile, limits, now_ms).unwrap()
        assert resume_owner(whole, limits, now_ms) == opened


@law(rows=journals, seed_length=lengths, profile=st.sampled_from(PROFILES), prefix=_prefixes)
def a_checkpoint_comes_back_as_it_was_written(
    rows: list[tuple[str, object]], seed_length: int, profile: Profile, prefix: Prefix
) -> None:
    """Whatever waits in the inbox, and whatever was measured of the log, is read back as it was."""
    events: Sequence[Event] = number(rows)
    seed_length = min(seed_length, len(events))
    checkpoint = extend_checkpoint(begin_checkpoint(seed_length, profile), events).unwrap()
    assert keep(checkpoint, prefix) == Snapshot(checkpoint, prefix)


@law(log=stories() | session_logs(), place=_places, flip=st.integers(1, 255), rest=st.binary())
def a_damaged_snapshot_is_refused(log: Log | SessionLog, place: int, flip: int, rest: bytes) -> None:
    """With one byte changed anywhere, cut anywhere, or with something behind it, it is not believed."""
    start = begin_checkpoint(log.seed_length, log.profile)
    content = encode_checkpoint(extend_checkpoint(start, log.events).unwrap(), _ANY_PREFIX)
    place %= len(content)
    changed = bytes((content[place] ^ flip,))
    damaged = [
        content[:place] + changed + content[place + 1 :],
        content[:place],
        content + b"\n" + rest,
    ]
    for one in damaged:
        assert not is_successful(read_back(one, start))


@law(log=stories(), reset_kinds=_kinds)
def a_snapshot_serves_one_kind_of_reading(log: Log, reset_kinds: tuple[str, ...]) -> None:
    """It is refused for another session, seed length or profile, and for other `resetKinds`."""
    start = begin_checkpoint(log.seed_length, log.profile, reset_kinds)
    content = encode_checkpoint(extend_checkpoint(start, log.events).unwrap(), _ANY_PREFIX)
    (other_profile,) = set(PROFILES) - {log.profile}
    length = log.seed_length
    wanted: list[tuple[Checkpoint, SnapshotRule]] = [
        (begin_checkpoint(length + 1, log.profile, reset_kinds), "other_session"),
        (begin_checkpoint(length, other_profile, reset_kinds), "other_profile"),
        (begin_checkpoint(length, log.profile, ("ci",)), "other_reset_kinds"),
    ]
    for other, rule in wanted:
        assert read_back(content, other) == Failure(SnapshotFault(rule))
    assert read_back(content, start, "session-2") == Failure(SnapshotFault("other_session"))
    in_another_order = begin_checkpoint(length, log.profile, reversed(reset_kinds))
    assert is_successful(read_back(content, in_another_order))
