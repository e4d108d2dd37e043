"""A second, plain model of the schedule stream, for strategies to write logs with.

This module decides what a log that it has written comes to, by the words of spec section 4 and not by
the core's fold, so that a law which compares the two can fail. It draws nothing and refuses nothing:
whoever writes sees to it that each change is lawful.

Shapes: every name in `_ms` is epoch milliseconds, every name in `_seconds` whole seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import UNSET, Struct

from wakefold.events import (
    SCHEDULE_CHANGE,
    AfterRecord,
    AtRecord,
    Change,
    Create,
    Delete,
    Dispatch,
    Event,
    EveryRecord,
    Json,
    Record,
    decode_change,
    encode_change,
    encode_record,
)
from wakefold.instants import MAX_INSTANT_MS
from wakefold.ledger import Ledger
from wakefold.log_rules import LogRule
from wakefold.outcomes import either
from wakefold.records import Standing
from wakefold.recurrence import SEED, Profile

WHITE_SPACE: Final = "\t\n\v\f\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
    map(chr, range(0x2000, 0x200B))
)
"""What `trim` removes (spec section 2), written down a second time."""


class Log(Struct, frozen=True):
    """A valid log, of which the first `seed_length` events are inherited (they are valid too).

    `ledger` is what the log comes to under `profile`; `occurrences` are those of every dispatch,
    inherited ones included.

    :shape: `occurrences`: (seq, occurrence) pairs in the order of the log, inherited ones first
    :units: `seq` from 0, contiguous; `seed_length` in events; event times and occurrences in epoch
        milliseconds UTC
    :errors: none: nothing is checked, `retrace_log` makes one that is
    :source: spec section 4
    """

    events: tuple[Event, ...]
    seed_length: int
    profile: Profile
    ledger: Ledger
    occurrences: tuple[tuple[int, int], ...]


class BrokenLog(Struct, frozen=True):
    """A log valid up to the event at `index`, which breaks `rule`; any events may follow."""

    events: tuple[Event, ...]
    seed_length: int
    profile: Profile
    index: int
    rule: LogRule


def join_surrogates(text: str) -> str:
    """The text with each surrogate pair as the one character that it is to ECMAScript."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def renew(record: Record, schedule_id: str, target_ms: int) -> Record:
    """The same reminder under another id, due at another time."""
    match record:
        case EveryRecord(prompt=prompt, every_seconds=seconds):
            return EveryRecord(schedule_id, prompt, seconds, target_ms)
        case AfterRecord(prompt=prompt, after_seconds=seconds):
            return AfterRecord(schedule_id, prompt, seconds, target_ms)
        case AtRecord(prompt=prompt):
            return AtRecord(schedule_id, prompt, target_ms)
        case _:
            raise LookupError  # version 2 has laws of its own


class ShapeFault(Struct, frozen=True):
    """What breaks a rule at a path of a repeating record's create; `UNSET` takes the key away."""

    rule: LogRule
    path: tuple[str, ...]
    values: tuple[object, ...]

    def plant(self, record: EveryRecord, value: object) -> object:
        """The data of a create of `record` that one of the values makes wrong."""
        if not self.path:
            return value
        schedule = encode_record(record)
        data: Json = {"version": 1, "operation": "create", "schedule": schedule}
        holder = data if len(self.path) == 1 else schedule
        holder[self.path[-1]] = value
        if value is UNSET:
            del holder[self.path[-1]]
        return data


_BAD_TEXTS: Final = ("", " x", "x\ufeff", "\u2028", "x\n", 7, None, ["x"])
_BAD_INSTANTS: Final = (
    "2027-02-01T09:00:00Z",
    "2027-02-29T09:00:00.000Z",
    "2027-02-01t09:00:00.000Z",
    "2027-02-01T09:00:00.000+00:00",
    "2027-02-01T09:00:60.000Z",
    "0000-01-01T00:00:00.000Z",
    "2027-02-01T09:00:00.000Z\n",
    1_801_472_400_000,
    None,
)

#: What can be wrong with a create by its shape alone, at least one fault for each rule.
#:
#: :meta hide-value:
SHAPE_FAULTS: Final = (
    ShapeFault("not_an_object", (), (None, True, 1, "x", [])),
    ShapeFault("not_an_object", ("schedule",), (None, True, 1, "x", [])),
    ShapeFault("unknown_version", ("version",), (3, 0, 1.5, True, "1", None, UNSET)),
    ShapeFault("unknown_operation", ("operation",), ("update", "Create", 1, None, [], UNSET)),
    ShapeFault("unknown_kind", ("schedule", "kind"), ("cron", "EVERY", 1, None, [], UNSET)),
    ShapeFault("wrong_keys", ("note",), (None, "x")),
    ShapeFault("wrong_keys", ("schedule",), (UNSET,)),
    ShapeFault("wrong_keys", ("schedule", "note"), (None, "x")),
    ShapeFault("wrong_keys", ("schedule", "afterSeconds"), (300,)),
    ShapeFault("wrong_keys", ("schedule", "prompt"), (UNSET,)),
    ShapeFault("bad_id", ("schedule", "id"), _BAD_TEXTS),
    ShapeFault("bad_prompt", ("schedule", "prompt"), _BAD_TEXTS),
    ShapeFault(
        "bad_seconds",
        ("schedule", "everySeconds"),
        (299, 0, -300, 300.5, "300", True, None, 9_007_199_254_741, 2**53, 1e400),
    ),
    ShapeFault("bad_instant", ("schedule", "scheduledAt"), _BAD_INSTANTS),
)

STATE_RULES: Final[tuple[LogRule, ...]] = (
    "id_reused",
    "id_not_active",
    "one_shot_with_accepted_at",
    "every_without_accepted_at",
    "accepted_before_target",
    "batches_too_close",
)
"""The rules that a readable change can break by its place alone."""

BROKEN_RULES: Final = (*dict.fromkeys(fault.rule for fault in SHAPE_FAULTS), *STATE_RULES)
"""The rules that `broken_logs` breaks: all that a single event can break in a fold."""


class Level:
    """A session's own events while they are written, beside what they have come to.

    The level begins at place `start` of its log, at `clock_ms`, with nothing seen. `active` has the
    records by id in create order, `seen` every id, `last_ms` the last batch, `occurrences` as in `Log`.
    """

    def __init__(self, profile: Profile, start: int, clock_ms: int) -> None:
        self.profile, self.start, self.clock_ms = profile, start, clock_ms
        self.events: list[Event] = []
        self.active: dict[str, Record] = {}
        self.seen: dict[str, None] = {}
        self.last_ms: int | None = None
        self.occurrences: list[tuple[int, int]] = []

    @property
    def end(self) -> int:
        """The place of the next event."""
        return self.start + len(self.events)

    @property
    def one_shots(self) -> list[Record]:
        """The active records that one dispatch ends."""
        return [record for record in self.active.values() if not isinstance(record, EveryRecord)]

    @property
    def repeating(self) -> list[EveryRecord]:
        """The active records that come again."""
        return [record for record in self.active.values() if isinstance(record, EveryRecord)]

    def append(self, data: object, kind: str = SCHEDULE_CHANGE) -> None:
        """Write any event, without looking at what it means."""
        self.events.append(Event(kind, self.end, self.clock_ms, data))

    def create(self, record: Record) -> None:
        """Write a create; the id is new here."""
        self.append(encode_change(Create(record)))
        self.active[record.id] = record
        self.seen[record.id] = None

    def delete(self, schedule_id: str) -> None:
        """Write the delete of an active id."""
        self.append(encode_change(Delete(schedule_id)))
        del self.active[schedule_id]

    def fire(self, record: Record) -> None:
        """Write the dispatch of an active one-shot."""
        self.occurrences.append((self.end, record.scheduled_at_ms))
        self.append(encode_change(Dispatch(record.id)))
        del self.active[record.id]

    def accept(self, record: EveryRecord, accepted_ms: int) -> None:
        """Write the dispatch of an active repeating record at a lawful instant."""
        interval_ms = record.every_seconds * 1000
        steps = (accepted_ms - record.scheduled_at_ms) // interval_ms
        occurrence_ms = record.scheduled_at_ms + steps * interval_ms
        self.occurrences.append((self.end, occurrence_ms))
        self.append(encode_change(Dispatch(record.id, accepted_ms)))
        self.last_ms = accepted_ms
        if occurrence_ms + interval_ms > MAX_INSTANT_MS:
            del self.active[record.id]
            return
        self.active[record.id] = EveryRecord(
            record.id,
            record.prompt,
            record.every_seconds,
            occurrence_ms + interval_ms,
            standing=Standing(runs=record.standing.runs + 1),
        )

    def retrace(self, event: Event) -> None:
        """Write what somebody else has written; `LookupError` where it cannot follow."""
        change: Change | None = None
        if event.type == SCHEDULE_CHANGE:
            change = either(decode_change(event.data), lambda read: read, lambda _: None)
            if change is None:
                raise LookupError
        match change:
            case None:
                self.append(event.data, event.type)
            case Create(schedule=record):
                self.create(record)
            case Delete(id=schedule_id):
                self.delete(schedule_id)
            case Dispatch(id=schedule_id, accepted_at_ms=accepted_ms):
                record = self.active[schedule_id]
                if isinstance(record, EveryRecord) and accepted_ms is not None:
                    self.accept(record, accepted_ms)
                else:
                    self.fire(record)
            case _:
                raise LookupError  # version 2 has laws of its own

    def freeze(self) -> Ledger:
        """The ledger that folding a log which ends with this level must give."""
        return Ledger(
            profile=self.profile,
            seed_length=self.start,
            position=self.end,
            records=dict(self.active),
            seen_ids=dict(self.seen),
            last_accepted_at_ms=self.last_ms,
        )


def retrace_log(events: Sequence[Event], seed_length: int = 0, profile: Profile = SEED) -> Log:
    """A valid log of your own as laws take it, with what this model says that it comes to.

    Only what the model cannot follow is refused; that an id is new, or a batch far enough from the one
    before, is the writer's business.

    :shape: events in the order of their log go in, changes of version 1; a `Log` comes out
    :units: `seed_length` in events; event times in epoch milliseconds UTC
    :errors: `ValueError` names by its place the first event that does not read, or that ends or
        dispatches what is not active
    :source: spec section 4; ours, docs/laws.md
    """
    inherited, own = Level(profile, 0, 0), Level(profile, seed_length, 0)
    for place, event in enumerate(events):
        level = own if place >= seed_length else inherited
        try:
            level.retrace(event)
        except LookupError:
            raise ValueError(f"event {place} cannot follow: laws take a valid log.") from None
    occurrences = (*inherited.occurrences, *own.occurrences)
    return Log(tuple(events), seed_length, profile, own.freeze(), occurrences)
