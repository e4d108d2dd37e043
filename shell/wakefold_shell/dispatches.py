"""What a journal has dispatched, read whole: receipts, and what became of their messages.

It reads and never writes, so that nobody's lock is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from wakefold import SCHEDULE_CHANGE, CorruptScheduleLog, Event, Profile, either, list_receipts
from wakefold.conversations import CONVERSATION_TYPES
from wakefold.deliveries import UNKNOWN_DELIVERY, Delivery, encode_delivery, trace_deliveries
from wakefold.receipts import DispatchReceipt, encode_receipt
from wakefold_shell.errors import show_time
from wakefold_shell.stores.journals import (
    Journal,
    explain_corruption,
    fold_journal,
    keep_events,
    open_journal,
)

LATE_MS: Final = 60_000
"""From here on people are shown a dispatch as late; each is told with its milliseconds all the same."""

#: Looks on while a journal's events are read, and passes each of them on.
Watch = Callable[[Journal, Iterator[Event]], Iterator[Event]]


class Delivered(Struct, frozen=True):
    """A receipt, and what the log tells of its message's way to the agent."""

    entry: DispatchReceipt
    delivery: Delivery


def read_receipts(
    path: Path,
    profile: Profile,
    line_bytes_max: int,
    watch: Watch = lambda _, events: events,
    tell: Callable[[str], None] = lambda _: None,
) -> tuple[Delivered, ...]:
    """Every receipt of a sound journal, inherited ones included; `JournalError` with the place.

    `watch` looks on while events are read; `tell` hears of a torn tail.
    """
    told: list[Event] = []  # what tells of turns: few among the events of a session
    with open_journal(path, line_bytes_max) as opened:
        events = opened.read_events(CONVERSATION_TYPES | {SCHEDULE_CHANGE})
        looked_at = keep_events(watch(opened, events), told, CONVERSATION_TYPES)
        fold_journal(opened, profile, looked_at)
        if opened.warning is not None:
            tell(opened.warning)
    with open_journal(path, line_bytes_max) as opened:
        found = list_receipts(watch(opened, opened.read_events()), opened.header.seed_length)

        def refuse(fault: CorruptScheduleLog) -> tuple[DispatchReceipt, ...]:
            raise explain_corruption(opened, fault)

        entries = either(found, lambda receipts: receipts, refuse)
    return match_deliveries(entries, told, opened.header.seed_length)


def match_deliveries(
    entries: Iterable[DispatchReceipt], told: Iterable[Event], seed_length: int
) -> tuple[Delivered, ...]:
    """Each receipt with what became of its message, by the events that tell of turns."""
    traced = trace_deliveries(told, seed_length)

    def match(entry: DispatchReceipt) -> Delivered:
        key = (entry.receipt.schedule_id, entry.receipt.occurrence_ms)
        return Delivered(entry, traced.get(key, UNKNOWN_DELIVERY))

    return tuple(map(match, entries))


def encode_receipts(found: tuple[Delivered, ...]) -> list[dict[str, object]]:
    """The receipts as JSON has them."""
    return [
        {
            "seq": each.entry.seq,
            **encode_receipt(each.entry.receipt),
            "dispatchedAt": show_time(each.entry.dispatched_at_ms),
            "lateMs": each.entry.late_ms,
            **encode_delivery(each.delivery),
        }
        for each in found
    ]
