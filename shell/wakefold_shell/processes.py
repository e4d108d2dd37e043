"""Starting and ending commands: each with a group of its own, of which nothing is left behind."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from typing import IO, Final

import anyio
import anyio.lowlevel
from anyio.abc import Process

GRACE_SECONDS: Final = 1.0
"""How long a command has between being asked to end and being ended."""

_LOOK_SECONDS: Final = 0.01


async def start_process(
    command: Sequence[str],
    stdin: IO[bytes],
    *,
    stdout: int,
    stderr: int | None = None,
    environment: Mapping[str, str] | None = None,
) -> Process:
    """A command, started as the leader of its own group. `OSError` or `ValueError` if it cannot be.

    It is not cancelled half-way: what it had started by then would be left.
    """
    with anyio.CancelScope(shield=True):
        process = await anyio.open_process(
            command,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env=environment,
            start_new_session=True,
        )
    return process  # noqa: RET504 - the type checker thinks that a scope may end without it


async def end_process(process: Process) -> None:
    """See that a command and all that it started are gone, whatever happens meanwhile.

    A command that has ended by itself may leave others running: that was its wish.
    """
    with anyio.CancelScope(shield=True):
        if process.returncode is None:
            _kill(process, signal.SIGTERM)
            with anyio.move_on_after(GRACE_SECONDS):
                await process.wait()
                while _kill(process, 0):  # noqa: ASYNC110 - children end when they do, and tell nobody
                    await anyio.sleep(_LOOK_SECONDS)
            _kill(process, signal.SIGKILL)
            with anyio.move_on_after(GRACE_SECONDS):
                await process.wait()
        with anyio.move_on_after(GRACE_SECONDS):
            await process.aclose()


def _kill(process: Process, number: int) -> bool:
    """Signal a command and what it started; whether anybody was there."""
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True
