"""Checkpoints written down: the format, what survives it, and what is not believed."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest

from core_logs import T, at, created, dispatched, event, every, ok, refused
from wakefold import PUBLISHED, SEED, Event, Profile, evolve, fold
from wakefold.checkpoints import Checkpoint, begin_checkpoint, extend_checkpoint
from wakefold.conversations import INBOX_SPLICED, REMINDER_SOURCE, TURN_START, make_message
from wakefold.instants import MAX_INSTANT_MS, are_trimmed
from wakefold.json_text import format_json, parse_json
from wakefold.ledger import fold_on
from wakefold.snapshots import Prefix, Snapshot, SnapshotRule, decode_checkpoint, encode_checkpoint
from wakefold.wakeups import Wakeups, count_wakeups

PREFIX = Prefix("session-1", 4096, 17, "00ff")


def splice(message: object, seq: int, removed: int = 0) -> Event:
    data = {"target": "next-turn", "start": 0, "removedCount": removed, "inserted": [message]}
    return Event(INBOX_SPLICED, seq, 5, data)


def checkpoint_of(*events: Event, seed_length: int = 0, profile: Profile = SEED) -> Checkpoint:
    return ok(extend_checkpoint(begin_checkpoint(seed_length, profile), events))


def rich() -> Checkpoint:
    """One of everything."""
    message = make_message("m", "hello", REMINDER_SOURCE)
    return checkpoint_of(
        event({"what": "ever"}, kind="foreign"),
        event(created(at())),
        event(created(every())),
        event(created(at("done"))),
        event(dispatched("done"), time_ms=7),
        event(dispatched("e", T)),
        event({"source": {"kind": "user"}}, seq=6, kind="user/message"),
        Event(TURN_START, 7, 5, {"turn": 3}),
        splice(message, 8),
        splice(message, 9, removed=1),
    )


def decode(content: bytes, session_id: str = "session-1", **wanted: Any) -> Any:  # noqa: ANN401
    asked_for = {"seed_length": 0, "profile": SEED, "reset_kinds": ("user", "a2a"), **wanted}
    return decode_checkpoint(content, session_id=session_id, **asked_for)


def rule_of(content: bytes) -> SnapshotRule:
    rule: SnapshotRule = refused(decode(content)).rule
    return rule


def seal(body: bytes) -> bytes:
    """A body under a checksum that is right."""
    return f"wakefold-checkpoint 2 {sha256(body).hexdigest()}\n".encode() + body


def forge(**changes: object) -> bytes:
    """A checkpoint of which somebody has changed some fields, and the checksum with them."""
    document: Any = json.loads(encode_checkpoint(rich(), PREFIX).partition(b"\n")[2])
    return seal(json.dumps({**document, **changes}).encode())


def test_the_format_of_version_2_stays_as_it_is() -> None:
    """Field by field; whoever changes one counts the version up."""
    head, _, body = encode_checkpoint(rich(), PREFIX).partition(b"\n")
    assert head + b"\n" == f"wakefold-checkpoint 2 {sha256(body).hexdigest()}\n".encode()
    message = (
        '{"content":[{"type":"text","text":"hello"}],'
        '"source":{"kind":"plugin","plugin":"tool-schedule"},"role":"user","id":"m"}'
    )
    assert json.loads(body) == {
        "session_id": "session-1",
        "length_bytes": 4096,
        "lines": 17,
        "digest": "00ff",
        "profile": {"name": "seed", "batch_distance_ms": 300_000},
        "seed_length": 0,
        "position": 10,
        "records": [
            {"kind": "at", "id": "t", "prompt": "p t", "scheduled_at_ms": T},
            {
                "kind": "every",
                "id": "e",
                "prompt": "p e",
                "every_seconds": 300,
                "scheduled_at_ms": T + 300_000,
                "standing": {"runs": 1},
            },
        ],
        "seen_ids": ["t", "e", "done"],
        "last_accepted_at_ms": T,
        "inbox": [{"message": message, "queued_at_ms": 5, "earlier_offers": 0}],
        "turn": 3,
        "turn_open": True,
        "step": None,
        "current": {"message": message, "queued_at_ms": 5, "earlier_offers": 0},
        "repeatable": False,
        "reset_kinds": ["user", "a2a"],
        "wakeups": {
            "consecutive": 0,
            "max_consecutive": 2,
            "dispatch_times_ms": [7, 0],
            "total": 2,
            "word_seq": 6,
        },
    }


def test_what_is_written_is_read_back() -> None:
    """With what it was made of; kinds may be asked for in any order, or not at all."""
    content = encode_checkpoint(rich(), PREFIX)
    assert ok(decode(content)) == Snapshot(rich(), PREFIX)
    assert ok(decode(content, reset_kinds=["a2a", "user"])) == Snapshot(rich(), PREFIX)
    assert ok(decode(content, reset_kinds=None)) == Snapshot(rich(), PREFIX)


def test_half_an_emoji_survives() -> None:
    """In ids, prompts, messages and the session's own id; so do numbers of any size."""
    half, message = "x\ud83d", {"id": "\ude00", "content": [{"text": "\ud83d"}], "n": [10**30, 1.5]}
    checkpoint = checkpoint_of(event(created({**at(half), "prompt": half})), splice(message, 1))
    prefix = Prefix(half, 1, 1, "")
    content = encode_checkpoint(checkpoint, prefix)
    content.decode("ascii")
    assert ok(decode(content, half)) == Snapshot(checkpoint, prefix)
    (given,) = ok(decode(content, half)).checkpoint.conversation.inbox
    assert given.message == message


def test_a_message_that_no_json_tells_is_not_written() -> None:
    """A number beyond all doubles, and one nesting deeper than anybody reads."""
    nested: object = {}
    for _ in range(100_000):
        nested = [nested]
    for message in (parse_json('{"n":1e999}'), {"n": nested}):
        with pytest.raises(ValueError, match=r"Out of range|nests too deeply"):
            encode_checkpoint(checkpoint_of(splice(message, 0)), PREFIX)


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (b"", "not_a_checkpoint"),
        (b"wakefold-checkpoint", "not_a_checkpoint"),
        (b'{"type":"session","version":0}\n', "not_a_checkpoint"),
        (b"wakefold-checkpoints 1 00\n{}", "not_a_checkpoint"),
        (b"wakefold-checkpoint 1 00\n{}", "unknown_version"),
        (b"wakefold-checkpoint 01 00\n{}", "unknown_version"),
        (b"wakefold-checkpoint 2\n{}", "bad_checksum"),
        (b"wakefold-checkpoint 2 00\n{}", "bad_checksum"),
        (seal(b"{}").replace(b"\n", b" more\n"), "bad_checksum"),
        (seal(b"{}") + b"\n", "bad_checksum"),
        (seal(b"{}"), "malformed"),
        (seal(b""), "malformed"),
        (seal(b"\xff"), "malformed"),
        (seal(b"[" * 100_000), "malformed"),
    ],
)
def test_what_is_no_checkpoint_is_not_believed(content: bytes, rule: str) -> None:
    """Nothing, something else, another version, another checksum, another content."""
    assert rule_of(content) == rule


RECORD = {"kind": "at", "id": "t", "prompt": "p", "scheduled_at_ms": T}
EVERY_E = {"kind": "every", "id": "e", "prompt": "p", "every_seconds": 300, "scheduled_at_ms": T}
EVERY = {**RECORD, "kind": "every", "every_seconds": 300}
EDITABLE = {"version": 2}
EDITED = {"version": 2, "revision": 1}
NINE = {"kind": "daily", "time": "09:00:00.000", "time_zone": "UTC"}
CRON = {"kind": "cron", "time_zone": "UTC"}
DAILY = {**RECORD, "kind": "calendar", "rule": NINE, "standing": EDITABLE}
WAKEUPS = {
    "consecutive": 0,
    "max_consecutive": 1,
    "dispatch_times_ms": [7],
    "total": 1,
    "word_seq": None,
}


@pytest.mark.parametrize(
    "changes",
    [
        {"unknown": 1},
        {"position": "10"},
        {"position": -1},
        {"records": [EVERY_E, RECORD]},
        {"position": 2**53},
        {"records": [{**RECORD, "kind": "weekly"}]},
        {"records": [RECORD, RECORD]},
        {"records": [RECORD], "seen_ids": ["e"]},
        {"records": [RECORD], "seen_ids": ["t", "t"]},
        {"records": [], "seen_ids": [" t"]},
        {"records": [], "seen_ids": [""]},
        {"records": [{**RECORD, "prompt": "p "}]},
        {"records": [{**RECORD, "prompt": ""}]},
        {"records": [{**RECORD, "scheduled_at_ms": MAX_INSTANT_MS + 1}]},
        {"records": [{**RECORD, "scheduled_at_ms": -(10**15)}]},
        {"records": [{**EVERY, "every_seconds": 299}]},
        {"records": [{**EVERY, "every_seconds": 2**53}]},
        {"last_accepted_at_ms": 10**15},
        {"inbox": [{"message": "{", "queued_at_ms": 5, "earlier_offers": 0}]},
        {"inbox": [{"message": "[]", "queued_at_ms": 5, "earlier_offers": 0}]},
        {"inbox": [{"message": "{}", "queued_at_ms": 5, "earlier_offers": -1}]},
        {"inbox": [{"message": "{}", "queued_at_ms": 5}]},
        {"inbox": [{"message": "[" * 100_000, "queued_at_ms": 5, "earlier_offers": 0}]},
        {"current": {"message": "{}"}},
        {"wakeups": {**WAKEUPS, "total": 2}},
        {"wakeups": {**WAKEUPS, "consecutive": 2}},
        {"wakeups": {**WAKEUPS, "max_consecutive": 2}},
        {"wakeups": {**WAKEUPS, "consecutive": -1}},
        {"session_id": "x\ud83d", "position": None},
        {"records": [{**RECORD, "standing": {"runs": 1}}]},
        {"records": [{**EVERY, "standing": {"runs": -1}}]},
        {"records": [{**EVERY, "standing": {"runs": 10}}]},
        {"records": [{**EVERY, "standing": {"version": 3}}]},
        {"records": [{**EVERY, "standing": {"revision": 1}}]},
        {"records": [{**EVERY, "standing": {"paused": True}}]},
        {"records": [{**EVERY, "standing": {"snoozed_until_ms": T + 1}}]},
        {"records": [{**EVERY, "options": {"title": "x"}}]},
        {"records": [{**RECORD, "standing": EDITABLE}]},
        {"records": [{**RECORD, "standing": {**EDITED, "runs": -1}}]},
        {"records": [{**RECORD, "standing": {**EDITED, "revision": 10}}]},
        {"records": [{**RECORD, "standing": {**EDITED, "snoozed_until_ms": T}}]},
        {"records": [{**RECORD, "standing": {**EDITED, "snoozed_until_ms": MAX_INSTANT_MS + 1}}]},
        {"records": [{**DAILY, "standing": {"runs": 1}}]},
        {"records": [{**DAILY, "standing": {**EDITABLE, "paused": True}}]},
        {"records": [{**DAILY, "standing": {**EDITABLE, "snoozed_until_ms": T + 1}}]},
        {"records": [{**DAILY, "rule": {**NINE, "time": "9:00"}}]},
        {"records": [{**DAILY, "rule": {**NINE, "time_zone": "Berlin"}}]},
        {"records": [{**DAILY, "rule": {**NINE, "kind": "weekly", "weekdays": [5, 1]}}]},
        {"records": [{**DAILY, "rule": {**CRON, "expression": "* * * * *"}}]},
        {"records": [{**DAILY, "rule": {**CRON, "expression": "0 9 30 2 *"}}]},
        *(
            {"records": [{**DAILY, "options": options}]}
            for options in (
                {"title": " x"},
                {"title": "x" * 121},
                {"max_runs": 0},
                {"until_ms": T - 1},
                {"until_ms": MAX_INSTANT_MS + 1},
                {"missed": "never"},
                {"missed": "skip"},
                {"grace_seconds": 300},
                {"missed": "skip", "grace_seconds": 299},
            )
        ),
        {
            "records": [
                {**DAILY, "options": {"max_runs": 2}, "standing": {**EDITABLE, "runs": 2}},
            ]
        },
        {"records": [{**RECORD, "options": {"max_runs": 2}, "standing": EDITABLE}]},
    ],
    ids=format_json,
)
def test_a_forged_checkpoint_holds_nothing_that_no_log_comes_to(changes: dict[str, object]) -> None:
    """Its checksum is right; what it says is looked at all the same, and never half taken."""
    assert ok(decode(forge())).checkpoint == rich()
    assert rule_of(forge(**changes)) == "malformed"


@pytest.mark.parametrize(
    "record",
    [
        RECORD,
        {**EVERY, "standing": {"runs": 9}},
        {**RECORD, "standing": EDITED},
        {**RECORD, "standing": {**EDITED, "runs": 8}},
        {**RECORD, "standing": {**EDITED, "paused": True, "snoozed_until_ms": T + 1}},
        {**RECORD, "options": {"title": "x" * 120}, "standing": EDITABLE},
        DAILY,
        {**DAILY, "standing": {**EDITABLE, "runs": 9}},
        {**DAILY, "rule": {**NINE, "kind": "weekly", "weekdays": [1, 5], "time_zone": "No/Such"}},
        {**DAILY, "rule": {**CRON, "expression": "0,30 9 * * 1-5"}},
        {**DAILY, "options": {"max_runs": 2, "until_ms": T}, "standing": {**EDITABLE, "runs": 1}},
        {**DAILY, "options": {"missed": "skip", "grace_seconds": 300}},
    ],
    ids=format_json,
)
def test_what_some_log_comes_to_is_believed(record: dict[str, object]) -> None:
    """Of version 2, too; whether a zone exists is asked of nobody."""
    restored = ok(decode(forge(records=[record]))).checkpoint
    ledger = restored.ledger
    assert list(ledger.records) == ["t"]
    written = encode_checkpoint(restored, PREFIX)
    assert json.loads(written.partition(b"\n")[2])["records"] == [record]


def test_another_reading_is_told_from_damage() -> None:
    """Each has a sentence of its own."""
    content = encode_checkpoint(rich(), PREFIX)
    asked = [
        refused(decode(content, "session-2")),
        refused(decode(content, seed_length=1)),
        refused(decode(content, profile=PUBLISHED)),
        refused(decode(content, reset_kinds=("user",))),
        refused(decode(content[:-1])),
    ]
    assert [fault.reason for fault in asked] == [
        "it is another session's",
        "it is another session's",
        "it was made under another profile",
        "its wakeups were counted with other resetKinds",
        "it is damaged",
    ]


def test_many_words_are_counted_as_they_come() -> None:
    """More than are held at once, in one reading and in two."""
    data = {"source": {"kind": "user"}}
    words = [event(data, seq, kind="user/message") for seq in range(5000)]
    log = [
        *words[:4500],
        event(created(at("a"))),
        event(dispatched("a"), 4501, time_ms=3),
        *words[4600:],
    ]
    whole = checkpoint_of(*log)
    assert whole.wakeups == count_wakeups(log) == Wakeups(0, 1, (3,), 1, 4999)
    assert ok(extend_checkpoint(checkpoint_of(*log[:4300]), log[4300:])) == whole


def test_folding_on_is_folding() -> None:
    """A violation has its place in the whole log."""
    half = ok(fold([event(created(at()))]))
    assert ok(fold_on(half, [event(created(every()))])).position == 2
    assert refused(fold_on(half, [event(created(at()))])).index == 1
    assert refused(fold_on(half, [event(created(at()))])) == refused(evolve(half, event(created(at()))))


@pytest.mark.parametrize("seed_length", [-1, 0.5, None, True, 2])
def test_a_bad_seed_length_is_corrupt_before_anything_is_read(seed_length: Any) -> None:  # noqa: ANN401
    """As it is for `fold`."""
    begun = begin_checkpoint(seed_length, SEED)
    fault = refused(extend_checkpoint(begun, [event(created(at()))]))
    assert (fault.rule, fault) == ("bad_seed_length", refused(fold([event(1)], seed_length)))


def test_many_texts_are_trimmed_or_not() -> None:
    """By the white space of ECMAScript, and none may be empty."""
    assert are_trimmed([])
    assert are_trimmed(["a", "b c", "\x1c"])
    for text in ("", " a", "a\ufeff"):
        assert not are_trimmed(["a", text])
