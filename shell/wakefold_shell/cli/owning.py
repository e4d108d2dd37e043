"""Running a session for a command, and what becomes of its warnings.

A command that owns a session has nobody to try again for it, so that the first warning ends it, in one
sentence with what the store, the host or the clock said.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Final

import anyio

from wakefold import Profile
from wakefold_shell.cli.output import say
from wakefold_shell.errors import ShellError
from wakefold_shell.owner import Session
from wakefold_shell.protocols import Clock, Host
from wakefold_shell.stores.journal_store import JournalStore
from wakefold_shell.stores.journals import explain_corruption

_SENTENCES: Final = {
    "owner_failed": "the owner of this session failed: look at the clock and the host, then run again",
    "idle_wait_failed": "waiting for the agent failed: run again",
    "corrupt_log": "the log cannot be read: restore it from a backup",
    "preflight_failed": "the store does not confirm that the log is durable: check the disk, run again",
    "followup_failed": "the reminder could not be handed over and stays due: run again",
    "append_failed": "a dispatch could not be written, the reminder may come again: check the disk",
    "barrier_failed": "a dispatch is not confirmed, the reminder may come again: check the disk",
}


async def own(
    store: JournalStore,
    host: Host,
    clock: Clock,
    *,
    profile: Profile,
    once: bool,
    on_wait: Callable[[int | None], None] = lambda _: None,
) -> None:
    """Own a session until SIGINT or SIGTERM, or `once` nothing is due.

    The first warning ends it as a `ShellError`. A signal ends it in order: an outstanding barrier is
    awaited, nothing more is handed over.
    """
    warnings: list[str] = []

    def stop(kind: str) -> None:
        warnings.append(kind)
        session.dispose()

    session = Session(store, host, clock, profile=profile, once=once, on_warning=stop, on_wait=on_wait)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_dispose_on_signal, session)
        await session.run()
        tasks.cancel_scope.cancel()
    if warnings:
        raise explain(session, store, warnings[0])


async def _dispose_on_signal(session: Session) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for number in signals:
            say(f"stopped by {number.name}.")
            session.dispose()


def explain(session: Session, store: JournalStore, kind: str) -> ShellError:
    """A warning as the sentence of an error, in the log's or the store's own words if there are any."""
    if session.fault is not None:
        return explain_corruption(store.journal, session.fault)
    if isinstance(session.trouble, ShellError):
        return session.trouble
    if isinstance(session.trouble, BrokenPipeError):
        return ShellError("nobody reads standard output any more; the reminder stays due, run again.")
    return ShellError(f"{_SENTENCES[kind]}.")
