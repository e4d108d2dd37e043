"""Laws of receipts and views: what people are told of a dispatch, and of what is still to come.

This module decides what a receipt owes the log that it is read from. It refuses to know how a receipt
is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from returns.pipeline import is_successful
from returns.result import Failure, Success

from wakefold.events import (
    SCHEDULE_CHANGE,
    AtRecord,
    Change,
    Create,
    Delete,
    Dispatch,
    Event,
    EveryRecord,
    Json,
    decode_change,
    encode_change,
)
from wakefold.instants import MAX_INSTANT_MS
from wakefold.ledger import fold, list_active
from wakefold.receipts import DispatchReceipt, Receipt, list_receipts, present_dispatch
from wakefold.recurrence import SEED
from wakefold.rejections import CorruptScheduleLog
from wakefold.views import list_views
from wakefold_laws.drawing import assume, st
from wakefold_laws.laws import law
from wakefold_laws.log_model import BrokenLog, Log
from wakefold_laws.strategies import broken_logs, ids, instants, logs, moments


def list_dispatches(events: Iterable[Event]) -> list[tuple[int, Dispatch]]:
    """The readable dispatches with their seqs."""
    stream = (event for event in events if event.type == SCHEDULE_CHANGE)
    changes = ((event.seq, decode_change(event.data).value_or(None)) for event in stream)
    return [(seq, change) for seq, change in changes if isinstance(change, Dispatch)]


def present_all(events: Sequence[Event], seed_length: int) -> list[object]:
    """`present_dispatch` of every dispatch, up to the first failure, which is shown as its rule."""
    shown: list[object] = []
    for seq, _ in list_dispatches(events):
        result = present_dispatch(events, seq, seed_length)
        if not is_successful(result):
            return [*shown, result.failure().rule]
        receipt = result.unwrap()
        assert receipt is not None
        shown.append(DispatchReceipt(seq, events[seq].time_ms, receipt))
    return shown


@law(log=logs())
def the_list_of_receipts_is_each_dispatch_presented(log: Log) -> None:
    """One pass over a log gives what presenting each dispatch gives, inherited ones and forks that
    use ids again included.
    """
    assert list(list_receipts(iter(log.events), log.seed_length).unwrap()) == present_all(
        log.events, log.seed_length
    )


@law(log=logs())
def every_dispatch_has_the_receipt_of_its_occurrence(log: Log) -> None:
    """Exactly the dispatches of a valid log have receipts, for the occurrences that they stand for."""
    receipts = list_receipts(log.events, log.seed_length).unwrap()
    assert tuple((one.seq, one.receipt.occurrence_ms) for one in receipts) == log.occurrences
    dispatches = list_dispatches(log.events)
    assert [(one.seq, one.receipt.schedule_id) for one in receipts] == [
        (seq, dispatch.id) for seq, dispatch in dispatches
    ]


@law(log=logs())
def a_receipt_tells_what_the_record_said_when_it_was_dispatched(log: Log) -> None:
    """In a session's own part a receipt has the prompt of the folded record, and for a repeating one
    the latest occurrence at or before the acceptance.
    """
    for seq, dispatch in list_dispatches(log.events):
        if seq < log.seed_length:
            continue
        receipt = present_dispatch(log.events, seq, log.seed_length).unwrap()
        assert receipt is not None
        record = fold(log.events[:seq], log.seed_length, log.profile).unwrap().records[dispatch.id]
        assert receipt.prompt == record.prompt
        assert receipt.occurrence_ms >= record.scheduled_at_ms
        if isinstance(record, EveryRecord):
            accepted_ms = dispatch.accepted_at_ms
            assert accepted_ms is not None
            assert 0 <= accepted_ms - receipt.occurrence_ms < record.every_seconds * 1000
        else:
            assert receipt.occurrence_ms == record.scheduled_at_ms


@law(log=logs(steps_max=8))
def receipts_do_not_change_as_the_log_grows(log: Log) -> None:
    """What a dispatch's receipt says is settled by the events up to it."""
    for seq, _ in list_dispatches(log.events):
        if seq >= log.seed_length:
            early = present_dispatch(log.events[: seq + 1], seq, log.seed_length)
            assert early == present_dispatch(log.events, seq, log.seed_length)


@st.composite
def logs_and_strays(draw: st.DrawFn) -> tuple[Log, str]:
    """A log, and an id that is not live in it: one that has ended, or any."""
    log = draw(logs())
    ended = [name for name in log.ledger.seen_ids if name not in log.ledger.records]
    schedule_id = draw(st.sampled_from(ended) | ids() if ended else ids())
    assume(schedule_id not in log.ledger.records)
    return log, schedule_id


@law(stray=logs_and_strays(), accepted_ms=st.none() | instants())
def a_dispatch_without_a_live_create_has_no_receipt(
    stray: tuple[Log, str], accepted_ms: int | None
) -> None:
    """A dispatch whose id is not live in the session's own part is corrupt, whoever else had the id."""
    log, schedule_id = stray
    seq = len(log.events)
    dispatch = Dispatch(schedule_id, accepted_ms)
    events = [*log.events, Event(SCHEDULE_CHANGE, seq, 0, encode_change(dispatch))]
    fault = CorruptScheduleLog("id_not_active", "$.id", seq, schedule_id)
    assert present_dispatch(events, seq, log.seed_length) == Failure(fault)
    assert list_receipts(events, log.seed_length) == Failure(fault)


@st.composite
def lawless_logs(draw: st.DrawFn) -> tuple[list[Event], int]:
    """Events of few ids that keep no rule, with malformed changes among them, and a seed length."""
    events = [Event(SCHEDULE_CHANGE, seq, seq, data) for seq, data in enumerate(draw(_lawless_data))]
    return events, draw(st.sampled_from((len(events), 0)) | st.integers(0, len(events)))


_FEW: Final[tuple[Change, ...]] = (
    Create(EveryRecord("a", "p", 300, 0)),
    Create(EveryRecord("a", "q", 600, 300_000)),
    Create(AtRecord("b", "p", 0)),
    *(Delete(name) for name in "ab"),
    *(Dispatch("a", accepted_ms) for accepted_ms in (300_000, 900_000)),
    Dispatch("b"),
)
_malformed: Json = {"version": 2}
_lawless_data = st.lists(
    st.sampled_from([_malformed, *map(encode_change, _FEW), _malformed]), min_size=1, max_size=7
)


@law(times=10, drawn=lawless_logs())
def receipts_are_listed_alike_or_not_at_all(drawn: tuple[list[Event], int]) -> None:
    """Of any log the list of receipts is each dispatch presented; there is none exactly if one of them
    has none or a change of the session's own part is malformed.
    """
    events, seed_length = drawn
    shown = present_all(events, seed_length)
    listed = list_receipts(events, seed_length)
    if any(event.data == _malformed for event in events[seed_length:]):
        assert listed.failure().code == "corrupt_schedule_log"
    elif shown and isinstance(shown[-1], str):
        assert listed.failure().rule == shown[-1]
    else:
        assert list(listed.unwrap()) == shown


@law(log=broken_logs())
def receipts_are_total(log: BrokenLog) -> None:
    """A broken log has receipts or is corrupt; up to its fault it has the receipts of a valid log."""
    sound = log.events[: log.index]
    assert is_successful(list_receipts(sound, log.seed_length))
    listed = list_receipts(log.events, log.seed_length)
    if is_successful(listed):
        assert list(listed.unwrap()) == present_all(log.events, log.seed_length)
    else:
        assert listed.failure().code == "corrupt_schedule_log"


@law()
def a_malformed_inherited_change_takes_no_receipt_away() -> None:
    """A malformed change that no dispatch looks back upon leaves the list of receipts as it is."""
    record = AtRecord("schedule-1", "p", 0)
    data = ({"version": 2}, encode_change(Create(record)), encode_change(Dispatch(record.id)))
    events = [Event(SCHEDULE_CHANGE, seq, 0, held) for seq, held in enumerate(data)]
    receipt = Receipt(record.id, record.prompt, record.scheduled_at_ms)
    assert present_dispatch(events, 2, 1) == Success(receipt)
    assert list_receipts(events, 1) == Success((DispatchReceipt(2, 0, receipt),))


@law(log=logs(steps_max=6), beyond=st.integers(0, 9) | st.integers(min_value=0))
def a_place_outside_the_log_is_corrupt(log: Log, beyond: int) -> None:
    """A seq that names no event of the log, or an event of another seq, has no receipt."""
    fault = Failure(CorruptScheduleLog("bad_dispatch_seq"))
    for outside in (-1 - beyond, len(log.events) + beyond):
        assert present_dispatch(log.events, outside, log.seed_length) == fault
    if log.events:
        shifted = [Event(e.type, e.seq + 1, e.time_ms, e.data) for e in log.events]
        assert present_dispatch(shifted, 0, 0) == fault


@law(log=logs(steps_max=6), beyond=st.integers(1, 10))
def a_seed_length_beyond_the_log_is_corrupt(log: Log, beyond: int) -> None:
    """A seed length outside the log makes every receipt of it corrupt."""
    fault = Failure(CorruptScheduleLog("bad_seed_length"))
    for seed_length in (-beyond, len(log.events) + beyond):
        assert present_dispatch(log.events, 0, seed_length) == fault
        assert list_receipts(log.events, seed_length) == fault


@law(log=logs())
def events_that_are_no_dispatch_have_no_receipt(log: Log) -> None:
    """A create, a delete and every foreign event are presented as nothing."""
    dispatched = {seq for seq, _ in list_dispatches(log.events)}
    for event in log.events:
        if event.seq not in dispatched:
            assert present_dispatch(log.events, event.seq, log.seed_length) == Success(None)


@st.composite
def logs_and_moments(draw: st.DrawFn) -> tuple[Log, int]:
    """A log, and an instant (epoch ms) that may matter to it."""
    log = draw(logs())
    return log, draw(moments(log.ledger))


@law(moment=logs_and_moments())
def a_view_tells_what_is_overdue_and_what_the_gate_holds(moment: tuple[Log, int]) -> None:
    """A record is overdue from its target on; only a repeating one that is overdue while the gate is
    closed tells when it may go, and only if that instant has a text.
    """
    log, now_ms = moment
    last_ms = log.ledger.last_accepted_at_ms
    views = list_views(log.ledger, now_ms)
    assert [view.record for view in views] == list(list_active(log.ledger))
    for view in views:
        overdue = view.record.scheduled_at_ms <= now_ms
        assert view.state == ("overdue" if overdue else "scheduled")
        gate_ms = None if last_ms is None or log.profile != SEED else last_ms + 300_000
        held = gate_ms is not None and now_ms < gate_ms <= MAX_INSTANT_MS
        repeating = isinstance(view.record, EveryRecord)
        assert view.delivery_not_before_ms == (gate_ms if held and overdue and repeating else None)
