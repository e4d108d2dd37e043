"""Commands that list what a journal has delivered and what is to come: `receipts` and `next`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wakefold import (
    CorruptScheduleLog,
    either,
    format_instant,
    list_receipts,
    preview,
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
    choose_clock,
    parse_zone_option,
)
from wakefold_shell.cli.output import (
    name_local,
    print_json,
    print_line,
    print_table,
    show_duration,
    show_instant,
    show_local,
    show_text,
    warn,
)
from wakefold_shell.cli.progress import watch
from wakefold_shell.stores.journals import explain_corruption, fold_journal, open_journal


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
    zone: Annotated[
        str | None,
        typer.Option(
            "--zone",
            metavar="ZONE",
            parser=parse_zone_option,
            help="Local readings in this zone; by default the session's own.",
        ),
    ] = None,
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


def print_receipts(found: tuple[DispatchReceipt, ...]) -> None:
    """The receipts as a table for people."""
    print_table(
        ("seq", "dispatched (UTC)", "occurrence (UTC)", "late", "id", "prompt"),
        [
            (
                str(entry.seq),
                show_instant(entry.dispatched_at_ms),
                show_instant(entry.receipt.occurrence_ms),
                show_duration(entry.dispatched_at_ms - entry.receipt.occurrence_ms),
                show_text(entry.receipt.schedule_id),
                show_text(entry.receipt.prompt),
            )
            for entry in found
        ],
    )
    print_line("delivery: session-local; queued for the agent, which is not to say read")


def read_receipts(path: Path, profile: ProfileName, line_bytes_max: int) -> tuple[DispatchReceipt, ...]:
    """Every receipt of a sound journal, inherited ones included; `JournalError` with the place."""
    with open_journal(path, line_bytes_max) as opened:
        fold_journal(opened, profile.profile, watch(opened, opened.read_events()))
        warn(opened)
    with open_journal(path, line_bytes_max) as opened:
        found = list_receipts(watch(opened, opened.read_events()), opened.header.seed_length)

        def refuse(fault: CorruptScheduleLog) -> tuple[DispatchReceipt, ...]:
            raise explain_corruption(opened, fault)

        return either(found, lambda entries: entries, refuse)


def encode_receipts(found: tuple[DispatchReceipt, ...]) -> list[dict[str, object]]:
    """The receipts as the commands' JSON has them."""
    return [
        {
            "seq": entry.seq,
            **encode_receipt(entry.receipt),
            "dispatchedAt": format_instant(entry.dispatched_at_ms),
            "lateMs": entry.dispatched_at_ms - entry.receipt.occurrence_ms,
        }
        for entry in found
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
