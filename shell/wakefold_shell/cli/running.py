"""`wakefold run`: own a session and deliver to standard output."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Coroutine
from typing import Annotated, Any

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
)
from wakefold_shell.cli.output import say, show_duration
from wakefold_shell.clocks import FixedClock, SystemClock
from wakefold_shell.errors import ShellError
from wakefold_shell.hosts.streams import FrameStream, JsonStream
from wakefold_shell.owner import CorruptLogError, own_session
from wakefold_shell.protocols import Clock
from wakefold_shell.stores.journal_store import open_store
from wakefold_shell.stores.journals import explain_corruption


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
    clock: Clock = SystemClock() if now is None else FixedClock(now)
    host = JsonStream(sys.stdout) if as_json else FrameStream(sys.stdout)

    def announce(until_ms: int | None) -> None:
        say(_describe_wait(until_ms, clock.read_ms()))

    with open_store(session, line_bytes_max, say) as store:

        async def own() -> None:
            await own_session(store, host, clock, profile=profile.profile, once=once, on_wait=announce)

        try:
            anyio.run(_until_signal, own)
        except CorruptLogError as error:
            raise explain_corruption(store.journal, error.fault) from error
        except BrokenPipeError as error:
            message = "nobody reads standard output any more; the reminder stays due, run again."
            raise ShellError(message) from error


async def _until_signal(own: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run until done, or until SIGINT or SIGTERM ends it between two deliveries."""
    failure: Exception | None = None
    async with anyio.create_task_group() as group:
        group.start_soon(_cancel_on_signal, group.cancel_scope)
        try:
            await own()
        except Exception as error:  # noqa: BLE001 - raised again below, alone and not in a group
            failure = error
        group.cancel_scope.cancel()
    if failure is not None:
        raise failure


async def _cancel_on_signal(scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for number in signals:
            say(f"stopped by {number.name}.")
            scope.cancel()
            return


def _describe_wait(until_ms: int | None, now_ms: int) -> str:
    if until_ms is None:
        return "nothing planned; waiting until stopped."
    return f"waiting until {format_instant(until_ms)} ({show_duration(until_ms - now_ms)})."
