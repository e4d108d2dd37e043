"""`wakefold run`: own a session and deliver to standard output."""

from __future__ import annotations

import sys
from functools import partial
from typing import Annotated

import anyio
import typer

from wakefold import format_instant
from wakefold_shell.cli.options import (
    LINE_BYTES_DEFAULT,
    JsonOption,
    LineBytesOption,
    NowOption,
    ProfileName,
    ProfileOption,
    SessionOption,
    choose_clock,
)
from wakefold_shell.cli.output import say, show_duration
from wakefold_shell.cli.owning import own
from wakefold_shell.hosts.streams import StreamHost, render_frame, render_json
from wakefold_shell.stores.journal_store import open_store


def run(
    session: SessionOption,
    *,
    once: Annotated[
        bool, typer.Option("--once", help="Deliver what is due and end, instead of waiting.")
    ] = False,
    now: NowOption = None,
    profile: ProfileOption = ProfileName.SEED,
    as_json: JsonOption = False,
    line_bytes_max: LineBytesOption = LINE_BYTES_DEFAULT,
) -> None:
    """Own a session: write each due reminder's frame to standard output and record its dispatch.

    Waits for the next one until SIGINT or SIGTERM. Everything but frames goes to standard error.
    """
    clock = choose_clock(now)
    host = StreamHost(sys.stdout, render_json if as_json else render_frame)

    def announce(until_ms: int | None) -> None:
        say(_describe_wait(until_ms, clock.read_ms()))

    with open_store(session, line_bytes_max, say) as store:
        anyio.run(
            partial(own, store, host, clock, profile=profile.profile, once=once, on_wait=announce)
        )


def _describe_wait(until_ms: int | None, now_ms: int) -> str:
    if until_ms is None:
        return "nothing planned; waiting until stopped."
    return f"waiting until {format_instant(until_ms)} ({show_duration(until_ms - now_ms)})."
