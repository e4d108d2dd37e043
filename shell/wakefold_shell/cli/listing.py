"""Commands that list what a journal has delivered and what is to come: `receipts` and `next`."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from wakefold import format_instant, preview
from wakefold.deliveries import Delivery, describe_failure
from wakefold.local_readings import (
    LocalReading,
    describe_clock_change,
    encode_reading,
    read_occurrence,
)
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
    print_columns,
    print_json,
    print_table,
    show_duration,
    show_instant,
    show_local,
    show_text,
    warn,
)
from wakefold_shell.cli.progress import watch
from wakefold_shell.cli.screens.deliveries import show_deliveries
from wakefold_shell.cli.screens.dispatches import show_receipts
from wakefold_shell.cli.screens.terminals import find_screen
from wakefold_shell.cli.speech import print_line, say
from wakefold_shell.dispatches import Delivered, encode_receipts, read_receipts
from wakefold_shell.inspections import list_zone_warnings
from wakefold_shell.stores.journals import fold_journal, open_journal

_WHAT_IT_SAYS: Final = (
    "session-local; handed-over: a turn took it and ended well, which is not to say read"
)
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

    A fixed rate is elapsed time: across a clock change its local reading moves. Of a calendar rule it
    is told which local time a clock change skips, and which it shows twice.
    """
    with open_journal(journal, line_bytes_max) as opened:
        ledger = fold_journal(opened, profile.profile, watch(opened, opened.read_events()))
    warn(opened)
    for warning in list_zone_warnings(ledger):
        say(warning)
    zone = zone or opened.header.time_zone
    now_ms = choose_clock(now).read_ms()
    coming = preview(ledger, now_ms, count)
    if as_json:
        print_json({"timeZone": zone, "next": [_encode_upcoming(entry, zone) for entry in coming]})
        return
    _print_upcoming(coming, zone, now_ms)


def print_receipts(found: tuple[Delivered, ...]) -> None:
    """The receipts as a table for people."""
    screen = find_screen()
    if screen is not None:
        show_receipts(screen, found, lambda d: (_show_delivery(d.delivery), _show_took(d.delivery)))
        screen.print(_WHAT_IT_SAYS)
        return
    print_table(
        ("seq", "dispatched (UTC)", "occurrence (UTC)", "late", "delivery", "took", "id", "prompt"),
        [
            (
                str(each.entry.seq),
                show_instant(each.entry.dispatched_at_ms),
                show_instant(each.entry.receipt.occurrence_ms),
                show_duration(each.entry.late_ms),
                _show_delivery(each.delivery),
                _show_took(each.delivery),
                show_text(each.entry.receipt.schedule_id),
                show_text(each.entry.receipt.prompt),
            )
            for each in found
        ],
    )
    print_line(_WHAT_IT_SAYS)


def _show_delivery(delivery: Delivery) -> str:
    return show_text(describe_failure(delivery) or delivery.outcome, _FAILURE_CHARACTERS_MAX)


def _show_took(delivery: Delivery) -> str:
    return "-" if delivery.duration_ms is None else show_duration(delivery.duration_ms)


def _encode_upcoming(entry: Upcoming, zone: str | None) -> dict[str, object]:
    reading = read_occurrence(entry.record, entry.occurrence_ms)
    return {
        "scheduleId": entry.record.id,
        "prompt": entry.record.prompt,
        "occurrenceAt": format_instant(entry.occurrence_ms),
        "deliveredAt": format_instant(entry.delivered_at_ms),
        "local": None if zone is None else f"{show_local(entry.occurrence_ms, zone)} {zone}",
        "rule": None if reading is None else encode_reading(reading),
    }


def _print_upcoming(coming: tuple[Upcoming, ...], zone: str | None, now_ms: int) -> None:
    times = {
        "delivered (UTC)": [show_instant(entry.delivered_at_ms) for entry in coming],
        "occurrence (UTC)": [show_instant(entry.occurrence_ms) for entry in coming],
    }
    more = {name_local(zone): [show_local(entry.occurrence_ms, zone) for entry in coming]}
    readings = [read_occurrence(entry.record, entry.occurrence_ms) for entry in coming]
    if any(readings):
        more["by its rule"] = [_show_reading(reading) for reading in readings]
    more["id"] = [show_text(entry.record.id) for entry in coming]
    more["prompt"] = [show_text(entry.record.prompt) for entry in coming]
    screen = find_screen()
    if screen is None:
        print_columns(times | more)
    else:
        show_deliveries(screen, coming, more, now_ms)


def _show_reading(reading: LocalReading | None) -> str:
    if reading is None:
        return "-"
    note = describe_clock_change(reading)
    return f"{reading.local} {reading.time_zone}{'' if note is None else f', {note}'}"
