"""`wakefold export`: a session's reminders in a file for other programs."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Annotated, Any

import typer

from wakefold import format_instant
from wakefold.calendar_exports import Entry, list_entries
from wakefold.events import kind_of
from wakefold.retargets import list_zoneless
from wakefold_shell.cli.options import (
    LINE_BYTES_DEFAULT,
    JournalArgument,
    JsonOption,
    LineBytesOption,
    NowOption,
    OutputOption,
    ProfileName,
    ProfileOption,
    choose_clock,
)
from wakefold_shell.cli.output import print_json, put_output, show_text
from wakefold_shell.cli.progress import watch
from wakefold_shell.cli.speech import print_line, say
from wakefold_shell.errors import ShellError, show_path
from wakefold_shell.stores.journals import fold_journal, open_journal

OccurrencesOption = Annotated[
    int,
    typer.Option(
        "--occurrences",
        metavar="N",
        min=1,
        max=10_000,
        help="Single events of a reminder that no rule of iCalendar says.",
    ),
]


def export(  # noqa: PLR0913 - one per option
    journal: JournalArgument,
    *,
    ics: Annotated[bool, typer.Option("--ics", help="As an iCalendar file.")] = False,
    output: OutputOption = None,
    occurrences: OccurrencesOption = 50,
    now: NowOption = None,
    profile: ProfileOption = ProfileName.SEED,
    as_json: JsonOption = False,
    line_bytes_max: LineBytesOption = LINE_BYTES_DEFAULT,
) -> None:
    """Write the active reminders as an iCalendar file, for the calendars of people."""
    exports = _load_exports()
    if not ics:
        raise typer.BadParameter("say --ics: it is the only format")
    now_ms = choose_clock(now).read_ms()
    with open_journal(journal, line_bytes_max) as opened:
        ledger = fold_journal(opened, profile.profile, watch(opened, opened.read_events()))
    warnings = [] if opened.warning is None else [opened.warning]
    entries, session_id = list_entries(ledger, now_ms, occurrences), opened.header.id
    left_out = [record.id for record in list_zoneless(ledger)]
    warnings += [f"{show_text(name)} is left out: its zone is unknown here." for name in left_out]
    text = exports.write_calendar(entries, session_id, now_ms)
    if output is not None:
        put_output(output, text)
    for sentence in () if as_json else warnings:
        say(sentence)
    if as_json:
        written = {"calendar": text.decode()} if output is None else {"file": show_path(output)}
        rows = [_encode(entry, session_id, exports) for entry in entries]
        print_json({**written, "reminders": rows, "leftOut": left_out, "warnings": warnings})
    elif output is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(text)
    else:
        print_line(f"{len(entries)} of {len(entries) + len(left_out)} reminders in {show_path(output)}")


def _load_exports() -> ModuleType:
    """What writes the file, or one sentence that names the extra."""
    try:
        from wakefold_shell import exports  # noqa: PLC0415 - imports the extra
    except ModuleNotFoundError as error:
        raise ShellError(
            "a calendar file needs the extra 'ics': pip install 'wakefold[ics]'."
        ) from error
    return exports


def _encode(entry: Entry, session_id: str, exports: ModuleType) -> dict[str, Any]:
    """What the file says of a reminder: a rule with its first occurrence, or each of several."""
    repeat, moved_ms = entry.repeat, entry.moved_ms
    return {
        "id": entry.record.id,
        "uids": exports.name_events(entry, session_id),
        "kind": kind_of(entry.record),
        "occurrences": list(map(format_instant, entry.occurrences_ms)),
        "timeZone": entry.zone,
        "rule": None if repeat is None else exports.show_rule(repeat),
        "skipped": [] if repeat is None else list(repeat.skipped),
        "movedTo": None if moved_ms is None else format_instant(moved_ms),
    }
