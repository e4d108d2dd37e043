"""Commands that read a journal and change nothing: `inspect` and `validate`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final

import typer

from wakefold import (
    SCHEDULE_CHANGE,
    Event,
    count_wakeups,
    encode_view,
    format_instant,
    list_active,
    list_views,
    plan_next_wake,
)
from wakefold.events import kind_of
from wakefold.guard import HOUR_MS, Wakeups, find_day_start
from wakefold.views import View
from wakefold_shell.cli.options import (
    LINE_BYTES_DEFAULT,
    JournalArgument,
    JsonOption,
    LineBytesOption,
    NowOption,
    ProfileName,
    ProfileOption,
    choose_clock,
)
from wakefold_shell.cli.output import (
    name_local,
    print_json,
    print_line,
    print_table,
    say,
    show_duration,
    show_instant,
    show_local,
    show_text,
    warn,
)
from wakefold_shell.cli.progress import watch
from wakefold_shell.errors import JournalError, show_path
from wakefold_shell.stores.journals import fold_journal, open_journal

_COUNTED_TYPES: Final = frozenset({SCHEDULE_CHANGE, "user/message"})


def inspect(
    journal: JournalArgument,
    *,
    now: NowOption = None,
    profile: ProfileOption = ProfileName.SEED,
    as_json: JsonOption = False,
    line_bytes_max: LineBytesOption = LINE_BYTES_DEFAULT,
) -> None:
    """Show a session's active reminders, its next wake, and how often it woke itself."""
    now_ms = choose_clock(now).read_ms()
    kept: list[Event] = []
    with open_journal(journal, line_bytes_max) as opened:
        events = watch(opened, opened.read_events(_COUNTED_TYPES))
        own = _keep(events, kept, _COUNTED_TYPES, opened.header.seed_length)
        ledger = fold_journal(opened, profile.profile, own)
    wake = plan_next_wake(ledger, now_ms)
    next_wake_ms = None if wake is None else wake.at_ms
    wakeups = _encode_wakeups(count_wakeups(kept), now_ms)
    views = list_views(ledger, now_ms)
    if as_json:
        print_json(
            {
                "session": opened.header.id,
                "profile": profile.value,
                "now": format_instant(now_ms),
                "active": [encode_view(view) for view in views],
                "nextWake": None if next_wake_ms is None else format_instant(next_wake_ms),
                "wakeups": wakeups,
                "warnings": [] if opened.warning is None else [opened.warning],
            }
        )
        return
    print_line(f"session {show_text(opened.header.id)}, profile {profile.value}")
    _print_views(views, opened.header.time_zone)
    print_line(f"next wake: {_show_wake(next_wake_ms, now_ms)}")
    print_line(
        "wakeups: {total} in all, {today} today, {lastHour} in the last hour; "
        "{consecutive} in a row without an external word (most {maxConsecutive})".format(**wakeups)
    )
    warn(opened)


def validate(
    journals: Annotated[
        list[Path],
        typer.Argument(metavar="JOURNAL...", help="Journal files or session directories."),
    ],
    *,
    profile: ProfileOption = ProfileName.SEED,
    as_json: JsonOption = False,
    line_bytes_max: LineBytesOption = LINE_BYTES_DEFAULT,
) -> None:
    """Say of each journal that it is fine, or where it is not and why; exit 1 if any is not."""
    reports: list[dict[str, object]] = []
    for path in journals:
        report: dict[str, object] = {"journal": show_path(path)}
        try:
            with open_journal(path, line_bytes_max) as opened:
                ledger = fold_journal(opened, profile.profile, watch(opened, opened.read_events()))
        except JournalError as error:
            reports.append({**report, "fine": False, "error": str(error)})
            if not as_json:
                say(str(error))
            continue
        active = len(list_active(ledger))
        warnings = [] if opened.warning is None else [opened.warning]
        reports.append(
            {**report, "fine": True, "events": ledger.position, "active": active, "warnings": warnings}
        )
        if not as_json:
            print_line(f"{show_path(path)}: fine (events {ledger.position}, active {active})")
            warn(opened)
    if as_json:
        print_json({"journals": reports})
    if not all(report["fine"] for report in reports):
        raise typer.Exit(1)


def _keep(
    events: Iterator[Event], kept: list[Event], types: frozenset[str], seed_length: int
) -> Iterator[Event]:
    """Pass events on, and keep those of the own suffix that have one of the types."""
    for event in events:
        if event.seq >= seed_length and event.type in types:
            kept.append(event)
        yield event


def _print_views(views: tuple[View, ...], zone: str | None) -> None:
    if not views:
        print_line("no active reminders")
        return
    print_table(
        ("id", "kind", "state", "target (UTC)", name_local(zone), "not before (UTC)", "prompt"),
        [
            (
                show_text(view.record.id),
                kind_of(view.record),
                view.state,
                show_instant(view.record.scheduled_at_ms),
                show_local(view.record.scheduled_at_ms, zone),
                show_instant(view.delivery_not_before_ms),
                show_text(view.record.prompt),
            )
            for view in views
        ],
    )


def _show_wake(next_wake_ms: int | None, now_ms: int) -> str:
    if next_wake_ms is None:
        return "none planned"
    if next_wake_ms <= now_ms:
        return "now, something is due"
    return f"{format_instant(next_wake_ms)} (in {show_duration(next_wake_ms - now_ms)})"


def _encode_wakeups(wakeups: Wakeups, now_ms: int) -> dict[str, int]:
    return {
        "consecutive": wakeups.consecutive,
        "maxConsecutive": wakeups.max_consecutive,
        "today": wakeups.count_since(find_day_start(now_ms)),
        "lastHour": wakeups.count_since(now_ms - HOUR_MS),
        "total": wakeups.total,
    }
