"""Looking after sessions: `doctor`, `repair`, `convert`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wakefold_shell.cli.options import (
    LINE_BYTES_DEFAULT,
    JsonOption,
    LineBytesOption,
    NowOption,
    ProfileName,
    ProfileOption,
    StoreOption,
    choose_clock,
)
from wakefold_shell.cli.output import print_json
from wakefold_shell.cli.speech import print_line, say
from wakefold_shell.errors import show_path
from wakefold_shell.stores.care import convert_session, cut_torn_tail, examine
from wakefold_shell.stores.journal_store import choose_store
from wakefold_shell.stores.journals import StoreKind

SessionArgument = Annotated[
    Path, typer.Argument(metavar="SESSION", help="A session directory, or the file in one.")
]


def doctor(
    session: SessionArgument,
    *,
    store: StoreOption = None,
    now: NowOption = None,
    profile: ProfileOption = ProfileName.SEED,
    as_json: JsonOption = False,
    line_bytes_max: LineBytesOption = LINE_BYTES_DEFAULT,
) -> None:
    """Say what is wrong with a session, where, and what is safe to do; exit 1 for an error."""
    now_ms = choose_clock(now).read_ms()
    found = examine(choose_store(session, store), now_ms, profile.profile, line_bytes_max)
    if as_json:
        rows = [{"level": f.level, "what": f.what, "remedy": f.remedy or None} for f in found]
        print_json({"findings": rows})
    for finding in () if as_json else found:
        remedy = f" -> {finding.remedy}" if finding.remedy else ""
        print_line(f"{finding.level}: {finding.what.removesuffix('.')}{remedy}")
    if any(finding.level == "error" for finding in found):
        raise typer.Exit(1)


def repair(
    session: SessionArgument,
    *,
    torn_tail: Annotated[
        bool, typer.Option("--torn-tail", help="Cut what the last write left incomplete.")
    ] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
    line_bytes_max: LineBytesOption = LINE_BYTES_DEFAULT,
) -> None:
    """Cut a torn tail, and nothing else; the whole file is kept beside it first."""
    if not torn_tail:
        raise typer.BadParameter("say --torn-tail: it is the only thing that is safe to mend")
    backup = cut_torn_tail(choose_store(session, store), line_bytes_max)
    if as_json:
        print_json({"cut": backup is not None, "backup": None if backup is None else str(backup)})
    elif backup is None:
        print_line("nothing to cut: the log ends with a whole line.")
    else:
        print_line(f"cut; the file as it was is {show_path(backup)}")


def convert(
    session: SessionArgument,
    output: Annotated[
        Path, typer.Argument(metavar="OUTPUT", help="The new session directory; it holds no session.")
    ],
    *,
    to: Annotated[StoreKind, typer.Option("--to", help="What the new session is kept in.")],
    store: StoreOption = None,
    as_json: JsonOption = False,
    line_bytes_max: LineBytesOption = LINE_BYTES_DEFAULT,
) -> None:
    """Write a session into a new directory as another store, every line as it is."""
    path, warning = convert_session(choose_store(session, store), output, to, line_bytes_max)
    if warning is not None:
        say(warning)
    if as_json:
        print_json({"path": str(path), "store": to, "warnings": [] if warning is None else [warning]})
    else:
        print_line(f"written to {show_path(path)}; the session itself is as it was")
