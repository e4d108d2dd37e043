"""Receipts: what a dispatch event delivered (spec section 9).

This module decides which reminder and which occurrence a dispatch in a log stands for, inherited ones
of a fork included. It refuses to know what became of the message: a receipt says that it was queued,
never that a model answered or a person read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct
from returns.result import Failure, Result, Success

from wakefold.edits import Edit, StatedDispatch
from wakefold.events import (
    SCHEDULE_CHANGE,
    Change,
    Create,
    Delete,
    Dispatch,
    Event,
    Record,
    read_change,
)
from wakefold.instants import format_instant, read_safe_integer
from wakefold.ledger import accept_dispatch
from wakefold.rejections import CorruptScheduleLog, LogFault
from wakefold.transitions import accept_edit

#: What may follow on a create.
_Following = Delete | Dispatch | Edit


class Receipt(Struct, frozen=True):
    """One delivered occurrence. Renderers for people add the label `session-local`.

    :shape: `{scheduleId, prompt, occurrenceAt}` (`encode_receipt`)
    :units: `occurrence_ms` is epoch milliseconds UTC
    :errors: none when it is made, which checks nothing; `present_dispatch` makes a checked one
    :source: spec section 9
    """

    schedule_id: str
    prompt: str
    occurrence_ms: int


class DispatchReceipt(Struct, frozen=True):
    """A receipt with the dispatch event that it belongs to; `dispatched_at_ms` is that event's time."""

    seq: int
    dispatched_at_ms: int
    receipt: Receipt

    @property
    def late_ms(self) -> int:
        """How long after its occurrence it was dispatched; negative where a clock was set back."""
        return self.dispatched_at_ms - self.receipt.occurrence_ms


def present_dispatch(
    events: Sequence[Event], dispatch_seq: int, seed_length: int = 0
) -> Result[Receipt | None, CorruptScheduleLog]:
    """The receipt of the event at `dispatch_seq`; `None` if that event is no dispatch.

    The create is the nearest preceding one of that id; for a dispatch of the fork's own suffix the
    search stops at `seed_length`.

    :shape: `events` is the whole log, so that `events[dispatch_seq].seq == dispatch_seq`
    :units: `dispatch_seq` and `seed_length` count events from 0
    :errors: `Failure` of `corrupt_schedule_log`: `bad_seed_length`, `bad_dispatch_seq`, a malformed
        change on the way, a dispatch without a live create or one that does not fit it
    :source: spec section 9; calendar.md section 3
    """
    length = read_safe_integer(seed_length)
    if length is None or not 0 <= length <= len(events):
        return Failure(CorruptScheduleLog(rule="bad_seed_length"))
    seq = read_safe_integer(dispatch_seq)
    if seq is None or not 0 <= seq < len(events) or events[seq].seq != seq:
        return Failure(CorruptScheduleLog(rule="bad_dispatch_seq"))
    try:
        selected = _read(events[seq], seq)
        if not isinstance(selected, Dispatch | StatedDispatch):
            return Success(None)
        life = _find_life(events, selected.id, seq, length if seq >= length else 0)
        return Success(_accept(life, selected)[0])
    except LogFault as fault:
        return Failure(fault.located(seq))


def list_receipts(
    events: Iterable[Event], seed_length: int = 0
) -> Result[tuple[DispatchReceipt, ...], CorruptScheduleLog]:
    """The receipts of all dispatches of a log, in one pass: `present_dispatch` of each, in order.

    The events may come from a generator and stand at the place that their `seq` names, as a journal
    reader sees to. A malformed change that is inherited hides what was created before it, as it does
    for one dispatch.

    :shape: `DispatchReceipt` of each dispatch, in the order of the log, inherited ones included
    :units: `seed_length` counts events from 0; `dispatched_at_ms` is epoch milliseconds UTC
    :errors: `Failure` of `corrupt_schedule_log`: the first dispatch that has no receipt, a malformed
        change of the own suffix, or `bad_seed_length`
    :source: spec section 9
    """
    length = read_safe_integer(seed_length)
    if length is None or length < 0:
        return Failure(CorruptScheduleLog(rule="bad_seed_length"))
    receipts: list[DispatchReceipt] = []
    lives = _Lives()
    index = -1
    try:
        for index, event in enumerate(events):
            if index == length:
                lives = _Lives()
            receipt = lives.take(event, index, inherited=index < length)
            if receipt is not None:
                receipts.append(DispatchReceipt(event.seq, event.time_ms, receipt))
    except LogFault as fault:
        return Failure(fault.located(index))
    if length > index + 1:
        return Failure(CorruptScheduleLog(rule="bad_seed_length"))
    return Success(tuple(receipts))


class _Lives:
    """By id, what its nearest create has come to, while a log is read forwards."""

    __slots__ = ("_hidden", "_records")

    def __init__(self) -> None:
        self._records: dict[str, Record | None] = {}
        self._hidden: LogFault | None = None  # the malformed change that a walk back would meet

    def take(self, event: Event, index: int, *, inherited: bool) -> Receipt | None:
        """The receipt of one more event, if it is a dispatch."""
        try:
            change = _read(event, index)
        except LogFault as fault:
            if not inherited:
                raise
            self._records, self._hidden = {}, fault
            return None
        if isinstance(change, Create):
            self._records[change.schedule.id] = change.schedule
        elif isinstance(change, Dispatch | StatedDispatch):
            if self._hidden is not None and change.id not in self._records:
                raise self._hidden
            receipt, remaining = _accept(self._records.get(change.id), change)
            self._records[change.id] = remaining
            return receipt
        elif change is not None and change.id in self._records:
            self._records[change.id] = _alter(self._records[change.id], change)
        return None


def encode_receipt(receipt: Receipt) -> dict[str, object]:
    """The receipt as spec section 9 writes it."""
    return {
        "scheduleId": receipt.schedule_id,
        "prompt": receipt.prompt,
        "occurrenceAt": format_instant(receipt.occurrence_ms),
    }


def _find_life(events: Sequence[Event], schedule_id: str, end: int, floor: int) -> Record | None:
    """What the nearest create of an id before place `end` has come to there; `None`: not live."""
    between: list[_Following] = []
    for index in range(end - 1, floor - 1, -1):
        change = _read(events[index], index)
        if isinstance(change, Create):
            if change.schedule.id == schedule_id:
                return _follow(change.schedule, reversed(between))
        elif change is not None and change.id == schedule_id:
            between.append(change)
    return None


def _follow(record: Record | None, changes: Iterable[_Following]) -> Record | None:
    """What changes of one id leave of its record."""
    for change in changes:
        if isinstance(change, Dispatch | StatedDispatch):
            _, record = _accept(record, change)
        else:
            record = _alter(_require(record, change.id), change)
    return record


def _alter(record: Record | None, change: Delete | Edit) -> Record | None:
    """What a change that delivers nothing leaves of the record that it names, if that is live."""
    if record is None or isinstance(change, Delete):
        return None
    return accept_edit(record, change, None)


def _accept(
    record: Record | None, dispatch: Dispatch | StatedDispatch
) -> tuple[Receipt, Record | None]:
    """The receipt of a dispatch, and what it leaves of the record that it names."""
    live = _require(record, dispatch.id)
    accepted = accept_dispatch(live, dispatch)
    return Receipt(live.id, live.prompt, accepted.occurrence_ms), accepted.remaining


def _require(record: Record | None, schedule_id: str) -> Record:
    if record is None:
        raise LogFault("id_not_active", "$.id", schedule_id)
    return record


def _read(event: Event, index: int) -> Change | None:
    if event.type != SCHEDULE_CHANGE:
        return None
    try:
        return read_change(event.data)
    except LogFault as fault:
        fault.index = index
        raise
