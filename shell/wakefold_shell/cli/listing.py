"""Commands that list what a journal has delivered and what is to come: `receipts` and `next`."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from wakefold import format_instant, preview
from wakefold.deliveries import Delivery, describe_failure
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
from wakefold_shell.cli.speech import print_line, say
from wakefold_shell.dispatches import Delivered, encode_receipts, read_receipts
from wakefold_shell.stores.journals import fold_journal, open_journal

_FAILURE_CHARACTERS_MAX: Final = 300  # an error's own words, and whether there is another offer


def receipts(
    journal: JournalArgument,
    *,
    profile: ProfileOption = ProfileName.SEED,
    as_json: JsonOption = False,
    line_bytes_max: LineBytesOption = LINE_BYTES_DEFAULT,
) -> None:
    """List every dispatch: when, what, and how late. A receipt says queued, not answered or read."""
    found = read_receipts(journal, profile.profile, line_bytes_max, watch, say)
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
