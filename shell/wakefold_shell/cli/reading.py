"""Commands that read a journal and change nothing: `inspect` and `validate`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from wakefold import (
    Profile,
    format_instant,
    list_active,
)
from wakefold.checkpoints import Checkpoint, begin_checkpoint
from wakefold.events import kind_of
from wakefold.guard import UNTIL_A_WORD
from wakefold.guard_config import GuardConfig
from wakefold.views import NEXT_WORD, View
from wakefold_shell.cli.options import (
    LINE_BYTES_DEFAULT,
    ConfigOption,
    JournalArgument,
    JsonOption,
    LineBytesOption,
    NoCheckpointOption,
    NowOption,
    ProfileName,
    ProfileOption,
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
from wakefold_shell.cli.screens.inspections import (
    NO_REMINDERS,
    print_lanes,
    print_meters,
    print_reminders,
)
from wakefold_shell.cli.screens.terminals import find_screen
from wakefold_shell.cli.speech import print_line, say
from wakefold_shell.configurations import find_config_beside
from wakefold_shell.errors import JournalError, show_path
from wakefold_shell.inspections import (
    Inspection,
    encode_inspection,
    inspect_session,
    list_zone_warnings,
)
from wakefold_shell.stores.checkpoints import Reading, recall_checkpoint
from wakefold_shell.stores.journals import Journal, fold_journal, open_journal, read_on
from wakefold_shell.stores.logs import PARSED_TYPES


def inspect(
    journal: JournalArgument,
    *,
    config: ConfigOption = None,
    now: NowOption = None,
    profile: ProfileOption = ProfileName.SEED,
    no_checkpoint: NoCheckpointOption = False,
    as_json: JsonOption = False,
    line_bytes_max: LineBytesOption = LINE_BYTES_DEFAULT,
) -> None:
    """Show a session's active reminders, its next wake, and how often it woke itself."""
    limits = find_config_beside(config, journal)
    now_ms = choose_clock(now).read_ms()
    warnings: list[str] = []
    with open_journal(journal, line_bytes_max) as opened:
        read = _read(opened, profile.profile, limits, None if no_checkpoint else warnings.append)
    ledger, counted = read.ledger, read.wakeups
    warnings += [] if opened.warning is None else [opened.warning]
    warnings += list_zone_warnings(ledger)
    found = inspect_session(ledger, counted, limits, now_ms)
    if as_json:
        head = {"session": opened.header.id, "profile": profile.value, "now": format_instant(now_ms)}
        print_json({**head, **encode_inspection(found), "warnings": warnings})
        return
    facts = [f"session {show_text(opened.header.id)}", f"profile {profile.value}"]
    screen = find_screen()
    if screen is None:
        print_line(", ".join(facts))
        _print_inspection(found, opened.header.time_zone, now_ms)
    else:
        screen.print_facts([*facts, f"as of {show_instant(now_ms)} UTC"])
        print_reminders(screen, *_arrange_views(found.views, opened.header.time_zone))
        print_lanes(screen, found.views, now_ms)
        print_meters(screen, found.wakeups, limits, counted, now_ms)
        screen.print_parts(_tell_wake(found, now_ms))
    for warning in warnings:
        say(warning)


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


def _read(
    opened: Journal, profile: Profile, limits: GuardConfig, tell: Callable[[str], None] | None
) -> Checkpoint:
    """What a journal has come to; from its checkpoint, if somebody hears why it may not serve."""
    before = begin_checkpoint(opened.header.seed_length, profile, limits.reset_kinds)
    if tell is not None:
        before = recall_checkpoint(opened, Reading.under(profile, limits), tell) or before
    return read_on(opened, before, watch(opened, opened.read_events(PARSED_TYPES)))


def _print_inspection(found: Inspection, zone: str | None, now_ms: int) -> None:
    columns, rows = _arrange_views(found.views, zone)
    if rows:
        print_table(columns, rows)
    else:
        print_line(NO_REMINDERS)
    print_line(" ".join(_tell_wake(found, now_ms)))
    print_line(
        "wakeups: {total} in all, {today} today, {lastHour} in the last hour; "
        "{consecutive} in a row without an external word (most {maxConsecutive})".format(
            **found.wakeups
        )
    )


def _arrange_views(
    views: tuple[View, ...], zone: str | None
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The columns and rows of the reminders."""
    columns = ("id", "kind", "state", "target (UTC)", name_local(zone), "not before (UTC)", "prompt")
    return columns, [
        (
            show_text(view.record.id),
            kind_of(view.record),
            view.state if view.held_until_ms is None else "held",
            show_instant(view.record.scheduled_at_ms),
            show_local(view.record.scheduled_at_ms, zone),
            _show_not_before(view),
            show_text(view.record.prompt),
        )
        for view in views
    ]


def _show_not_before(view: View) -> str:
    return NEXT_WORD if view.not_before_ms == UNTIL_A_WORD else show_instant(view.not_before_ms)


def _tell_wake(found: Inspection, now_ms: int) -> tuple[str, ...]:
    """The parts of a sentence."""
    if found.next_wake_ms is None:
        return ("next wake: none planned",)
    if found.next_wake_ms <= now_ms:
        return ("next wake: now,", "something is due")
    in_ms = found.next_wake_ms - now_ms
    return f"next wake: {format_instant(found.next_wake_ms)}", f"(in {show_duration(in_ms)})"
