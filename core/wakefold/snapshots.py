"""Snapshots: a checkpoint written down, and when a written one is not believed.

This module decides the format, with its version and its checksum, and refuses whatever is broken,
unknown, of another version, session or profile, or counted by other words. It refuses to judge whether
the log still begins as it did: whoever has the log says what it began with (`Prefix`).

The names in `_Document` and in records are the format of version 2; another format is
another version.
"""

from __future__ import annotations

from collections.abc import Collection
from hashlib import sha256
from typing import Final, Literal, NoReturn

import msgspec
from msgspec import Struct
from returns.result import Failure, Result, Success

from wakefold.checkpoints import Checkpoint
from wakefold.conversations import Conversation, Input, read_input
from wakefold.events import EveryRecord, Record
from wakefold.instants import MAX_SAFE_INTEGER, are_trimmed, is_representable
from wakefold.json_text import format_json, parse_json
from wakefold.ledger import Ledger
from wakefold.recurrence import MIN_EVERY_SECONDS, Profile
from wakefold.transitions import is_reachable
from wakefold.wakeups import Wakeups

#: The version of the format that is written, and the only one that is read.
VERSION: Final = 2

_NAME: Final = "wakefold-checkpoint"


class Prefix(Struct, frozen=True):
    """What a checkpoint was made of, as the holder of the log measures it; here it is only kept.

    :shape: whatever tells one beginning of a log from another; `digest` is text
    :units: `length_bytes` bytes, `lines` lines, both from 0
    :errors: none when it is made, which checks nothing
    :source: ours, docs/decisions/checkpoints.md
    """

    session_id: str
    length_bytes: int
    lines: int
    digest: str


class Snapshot(Struct, frozen=True):
    """A checkpoint as it was written down, and the beginning of the log that it stands for."""

    checkpoint: Checkpoint
    prefix: Prefix


#: Each way in which a written checkpoint is not believed.
SnapshotRule = Literal[
    "not_a_checkpoint",
    "unknown_version",
    "bad_checksum",
    "malformed",
    "other_session",
    "other_profile",
    "other_reset_kinds",
]

_REASONS: Final[dict[SnapshotRule, str]] = {
    "not_a_checkpoint": "it is no checkpoint",
    "unknown_version": f"it is not of version {VERSION}",
    "bad_checksum": "it is damaged",
    "malformed": "it holds what no log comes to",
    "other_session": "it is another session's",
    "other_profile": "it was made under another profile",
    "other_reset_kinds": "its wakeups were counted with other resetKinds",
}


class SnapshotFault(Struct, frozen=True):
    """Why a checkpoint is not believed. It is nobody's loss: the whole log is read instead."""

    rule: SnapshotRule

    @property
    def reason(self) -> str:
        """The same in words, to follow the file's name."""
        return _REASONS[self.rule]


class _Waiting(Struct, frozen=True, forbid_unknown_fields=True):
    """A message of the inbox: its JSON text, for it may hold any value."""

    message: str
    queued_at_ms: int
    earlier_offers: int


class _Counts(Struct, frozen=True, forbid_unknown_fields=True):
    """Wakeups."""

    consecutive: int
    max_consecutive: int
    dispatch_times_ms: list[int]
    total: int
    word_seq: int | None


class _Document(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A checkpoint as it is written down."""

    session_id: str
    length_bytes: int
    lines: int
    digest: str
    profile: Profile
    seed_length: int
    position: int
    records: list[Record]
    seen_ids: list[str]
    last_accepted_at_ms: int | None
    inbox: list[_Waiting]
    turn: int
    turn_open: bool
    step: int | None
    current: _Waiting | None
    repeatable: bool
    reset_kinds: tuple[str, ...]
    wakeups: _Counts


_ENCODER: Final = msgspec.json.Encoder()
_DECODER: Final = msgspec.json.Decoder(_Document)


def encode_checkpoint(checkpoint: Checkpoint, prefix: Prefix) -> bytes:
    """A checkpoint with its version, its checksum, and what it was made of.

    :shape: a line of ASCII with version and SHA-256, then JSON in UTF-8
    :units: as in a checkpoint
    :errors: raises `ValueError` where a message that waits holds a number that no JSON text tells, or
        nests too deeply
    :source: ours, docs/decisions/checkpoints.md
    """
    ledger, conversation = checkpoint.ledger, checkpoint.conversation
    current = conversation.current
    document = _Document(
        session_id=prefix.session_id,
        length_bytes=prefix.length_bytes,
        lines=prefix.lines,
        digest=prefix.digest,
        profile=ledger.profile,
        seed_length=ledger.seed_length,
        position=ledger.position,
        records=list(ledger.records.values()),
        seen_ids=list(ledger.seen_ids),
        last_accepted_at_ms=ledger.last_accepted_at_ms,
        inbox=[_write_down(given) for given in conversation.inbox],
        turn=conversation.turn,
        turn_open=conversation.turn_open,
        step=conversation.step,
        current=None if current is None else _write_down(current),
        repeatable=conversation.repeatable,
        reset_kinds=checkpoint.reset_kinds,
        wakeups=_write_counts(checkpoint.wakeups),
    )
    try:
        body = _ENCODER.encode(document)
    except UnicodeEncodeError:  # a lone surrogate, which JSON text escapes
        body = format_json(msgspec.to_builtins(document)).encode("utf-8")
    return f"{_NAME} {VERSION} {_sum(body)}\n".encode("ascii") + body


def decode_checkpoint(
    content: bytes,
    *,
    session_id: str,
    seed_length: int,
    profile: Profile,
    reset_kinds: Collection[str] | None = None,
) -> Result[Snapshot, SnapshotFault]:
    """What was written down for a session and its ways of reading, or why it is not believed.

    :shape: what `encode_checkpoint` gave, and what the checkpoint must be of; without `reset_kinds`
        nobody asks by which words the wakeups were counted
    :units: `seed_length` counts events from 0
    :errors: `Failure` of a `SnapshotFault`, for any bytes; the whole log is read instead
    :source: ours, docs/decisions/checkpoints.md
    """
    try:
        document = _read_document(content)
        _require(document.session_id == session_id, "other_session")
        _require(document.seed_length == seed_length, "other_session")
        _require(document.profile == profile, "other_profile")
        counted = reset_kinds is None or set(document.reset_kinds) == set(reset_kinds)
        _require(counted, "other_reset_kinds")
        return Success(_restore(document))
    except _Unbelievable as disbelief:
        return Failure(SnapshotFault(disbelief.rule))


class _Unbelievable(Exception):
    """Carries a rule up to where the whole checkpoint is refused."""

    def __init__(self, rule: SnapshotRule) -> None:
        super().__init__(rule)
        self.rule: SnapshotRule = rule


def _require(holds: bool, rule: SnapshotRule = "malformed") -> None:
    if not holds:
        raise _Unbelievable(rule)


def _refuse(cause: Exception) -> NoReturn:
    raise _Unbelievable("malformed") from cause


def _sum(body: bytes) -> str:
    return sha256(body).hexdigest()


def _read_document(content: bytes) -> _Document:
    head, _, body = content.partition(b"\n")
    name, *rest = head.split(b" ")
    _require(name == _NAME.encode("ascii") and len(rest) > 0, "not_a_checkpoint")
    _require(rest[0] == str(VERSION).encode("ascii"), "unknown_version")
    _require(rest[1:] == [_sum(body).encode("ascii")], "bad_checksum")
    try:
        return _DECODER.decode(body)
    except (msgspec.DecodeError, RecursionError):
        pass  # a lone surrogate, perhaps: the strict parser decides
    try:
        return msgspec.convert(parse_json(body.decode("utf-8")), _Document)
    except (ValueError, RecursionError) as error:  # which msgspec's own are, too
        _refuse(error)


def _restore_ledger(document: _Document) -> Ledger:
    """The ledger; refused if no log comes to it, as far as that can be told without the log."""
    kept, seen_ids = document.records, dict.fromkeys(document.seen_ids)
    records = {record.id: record for record in kept}
    instants_ms = [record.scheduled_at_ms for record in kept]
    instants_ms.append(document.last_accepted_at_ms or 0)
    seconds = [record.every_seconds for record in kept if isinstance(record, EveryRecord)]
    _require(document.seed_length <= document.position <= MAX_SAFE_INTEGER)
    _require(len(seen_ids) == len(document.seen_ids) and len(records) == len(kept))
    _require(list(records) == [one for one in document.seen_ids if one in records])
    _require(are_trimmed(document.seen_ids) and are_trimmed([record.prompt for record in kept]))
    _require(is_representable(min(instants_ms)) and is_representable(max(instants_ms)))
    _require(min(seconds, default=MIN_EVERY_SECONDS) >= MIN_EVERY_SECONDS)
    _require(max(seconds, default=0) * 1000 <= MAX_SAFE_INTEGER)
    _require(all(map(is_reachable, kept)))
    told = sum(1 + one.standing.runs + one.standing.revision for one in kept)  # an event for each
    _require(told <= document.position - document.seed_length)
    return Ledger(
        profile=document.profile,
        seed_length=document.seed_length,
        position=document.position,
        records=records,
        seen_ids=seen_ids,
        last_accepted_at_ms=document.last_accepted_at_ms,
    )


def _restore_wakeups(counted: _Counts) -> Wakeups:
    times_ms = tuple(counted.dispatch_times_ms)
    _require(counted.total == len(times_ms))
    _require(0 <= counted.consecutive <= counted.max_consecutive <= counted.total)
    return Wakeups(
        consecutive=counted.consecutive,
        max_consecutive=counted.max_consecutive,
        dispatch_times_ms=times_ms,
        total=counted.total,
        word_seq=counted.word_seq,
    )


def _restore(document: _Document) -> Snapshot:
    current = document.current
    checkpoint = Checkpoint(
        ledger=_restore_ledger(document),
        conversation=Conversation(
            seed_length=document.seed_length,
            inbox=tuple(_read_back(waiting) for waiting in document.inbox),
            turn=document.turn,
            turn_open=document.turn_open,
            step=document.step,
            current=None if current is None else _read_back(current),
            repeatable=document.repeatable,
        ),
        wakeups=_restore_wakeups(document.wakeups),
        reset_kinds=document.reset_kinds,
    )
    prefix = Prefix(document.session_id, document.length_bytes, document.lines, document.digest)
    return Snapshot(checkpoint, prefix)


def _write_down(given: Input) -> _Waiting:
    try:
        return _Waiting(format_json(given.message), given.queued_at_ms, given.earlier_offers)
    except RecursionError as error:
        raise ValueError("a message nests too deeply") from error


def _write_counts(counted: Wakeups) -> _Counts:
    return _Counts(
        counted.consecutive,
        counted.max_consecutive,
        list(counted.dispatch_times_ms),
        counted.total,
        counted.word_seq,
    )


def _read_back(waiting: _Waiting) -> Input:
    try:
        message = parse_json(waiting.message)
    except (ValueError, RecursionError) as error:
        _refuse(error)
    if not isinstance(message, dict):
        raise _Unbelievable("malformed")
    _require(waiting.earlier_offers >= 0)
    return read_input(message, waiting.queued_at_ms, waiting.earlier_offers)
