"""Commands that list what a journal has delivered and what is to come: `receipts` and `next`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer
from msgspec import Struct

from wakefold import (
    SCHEDULE_CHANGE,
    CorruptScheduleLog,
    Event,
    either,
    format_instant,
    list_receipts,
    preview,
)
from wakefold.conversations import CONVERSATION_TYPES
from wakefold.deliveries import (
    UNKNOWN_DELIVERY,
    Delivery,
    describe_failure,
    encode_delivery,
    trace_deliveries,
)
from wakefold.receipts import DispatchReceipt, encode_receipt
from wakefold.wakes import Upcoming
from wakefold_shell.cli.options import (
    LINE_BYTES_DEFAULT,
    JournalArgument,
    JsonOption,
    LineBytesOption,
    NowOption,
    ProfileName,
    ProfileOption,
    ZoneOption,
    choose_clock,
)
from wakefold_shell.cli.output import (
    name_local,
    print_json,
    print_table,
    show_duration,
    show_instant,
    show_local,
    show_text,
    warn,
)
from wakefold_shell.cli.progress import watch
from wakefold_shell.cli.speech import print_line
from wakefold_shell.errors import show_time
from wakefold_shell.stores.journals import explain_corruption, fold_journal, keep_events, open_journal

_FAILURE_CHARACTERS_MAX: Final = 300  # an error's own words, and whether there is another offer


def receipts(
    journal: JournalArgument,
    *,
    profile: ProfileOption = ProfileName.SEED,
    as_json: JsonOption = False,
    line_bytes_max: LineBytesOption = LINE_BYTES_DEFAULT,
) -> None:
    """List every dispatch: when, what, and how late. A receipt says queued, not answered or read."""
    found = read_receipts(journal, profile, line_bytes_max)
    if as_json:
        print_json({"receipts": encode_receipts(found)})
        return
    print_receipts(found)


def next_(
    journal: JournalArgument,
    *,
    count: Annotated[
        int, typer.Option("--count", "-n", min=1, max=10_000, help="How many deliveries.")
    ] = 10,
    zone: ZoneOption = None,
    now: NowOption = None,
    profile: ProfileOption = ProfileName.SEED,
    as_json: JsonOption = False,
    line_bytes_max: LineBytesOption = LINE_BYTES_DEFAULT,
) -> None:
    """List the coming deliveries, UTC and local, as a runner makes them with an idle agent.

    A fixed rate is elapsed time: across a clock change its local reading moves.
    """
    with open_journal(journal, line_bytes_max) as opened:
        ledger = fold_journal(opened, profile.profile, watch(opened, opened.read_events()))
    warn(opened)
    zone = zone or opened.header.time_zone
    coming = preview(ledger, choose_clock(now).read_ms(), count)
    if as_json:
        print_json({"timeZone": zone, "next": [_encode_upcoming(entry, zone) for entry in coming]})
        return
    _print_upcoming(coming, zone)


def print_receipts(found: tuple[Delivered, ...]) -> None:
    """The receipts as a table for people."""
    print_table(
        ("seq", "dispatched (UTC)", "occurrence (UTC)", "late", "delivery", "took", "id", "prompt"),
        [
            (
                str(each.entry.seq),
                show_instant(each.entry.dispatched_at_ms),
                show_instant(each.entry.receipt.occurrence_ms),
                show_duration(each.entry.dispatched_at_ms - each.entry.receipt.occurrence_ms),
                _show_delivery(each.delivery),
                _show_took(each.delivery),
                show_text(each.entry.receipt.schedule_id),
                show_text(each.entry.receipt.prompt),
            )
            for each in found
        ],
    )
    print_line("session-local; handed-over: a turn took it and ended well, which is not to say read")


def _show_delivery(delivery: Delivery) -> str:
    return show_text(describe_failure(delivery) or delivery.outcome, _FAILURE_CHARACTERS_MAX)


def _show_took(delivery: Delivery) -> str:
    return "-" if delivery.duration_ms is None else show_duration(delivery.duration_ms)


class Delivered(Struct, frozen=True):
    """A receipt, and what the log tells of its message's way to the agent."""

    entry: DispatchReceipt
    delivery: Delivery


def read_receipts(path: Path, profile: ProfileName, line_bytes_max: int) -> tuple[Delivered, ...]:
    """Every receipt of a sound journal, inherited ones included; `JournalError` with the place."""
    told: list[Event] = []  # what tells of turns: few among the events of a session
    with open_journal(path, line_bytes_max) as opened:
        events = opened.read_events(CONVERSATION_TYPES | {SCHEDULE_CHANGE})
        looked_at = keep_events(watch(opened, events), told, CONVERSATION_TYPES)
        fold_journal(opened, profile.profile, looked_at)
        warn(opened)
    with open_journal(path, line_bytes_max) as opened:
        found = list_receipts(watch(opened, opened.read_events()), opened.header.seed_length)

        def refuse(fault: CorruptScheduleLog) -> tuple[DispatchReceipt, ...]:
            raise explain_corruption(opened, fault)

        entries = either(found, lambda receipts: receipts, refuse)
    traced = trace_deliveries(told, opened.header.seed_length)
    keys = ((entry.receipt.schedule_id, entry.receipt.occurrence_ms) for entry in entries)
    deliveries = (traced.get(key, UNKNOWN_DELIVERY) for key in keys)
    return tuple(map(Delivered, entries, deliveries))


def encode_receipts(found: tuple[Delivered, ...]) -> list[dict[str, object]]:
    """The receipts as the commands' JSON has them."""
    return [
        {
            "seq": each.entry.seq,
            **encode_receipt(each.entry.receipt),
            "dispatchedAt": show_time(each.entry.dispatched_at_ms),
            "lateMs": each.entry.dispatched_at_ms - each.entry.receipt.occurrence_ms,
            **encode_delivery(each.delivery),
        }
        for each in found
    ]


def _encode_upcoming(entry: Upcoming, zone: str | None) -> dict[str, object]:
    return {
        "scheduleId": entry.record.id,
        "prompt": entry.record.prompt,
        "occurrenceAt": format_instant(entry.occurrence_ms),
        "deliveredAt": format_instant(entry.delivered_at_ms),
        "local": None if zone is None else f"{show_local(entry.occurrence_ms, zone)} {zone}",
    }


def _print_upcoming(coming: tuple[Upcoming, ...], zone: str | None) -> None:
    print_table(
        ("delivered (UTC)", "occurrence (UTC)", name_local(zone), "id", "prompt"),
        [
            (
                show_instant(entry.delivered_at_ms),
                show_instant(entry.occurrence_ms),
                show_local(entry.occurrence_ms, zone),
                show_text(entry.record.id),
                show_text(entry.record.prompt),
            )
            for entry in coming
        ],
    )
