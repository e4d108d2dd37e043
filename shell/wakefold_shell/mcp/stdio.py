"""The server over standard input and output, for the one client that started it.

Nothing but the protocol reaches standard output, whoever prints or logs. The end of the input ends the
server, and so does a signal; either way the sessions are let go first.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, redirect_stdout
from typing import Any

import anyio
from mcp.server import Server
from mcp.server.stdio import stdio_server

from wakefold_shell.mcp.server import make_server
from wakefold_shell.mcp.sessions import Sessions

_log = logging.getLogger(__name__)


async def serve_stdio(
    sessions: AbstractAsyncContextManager[Sessions], tell: Callable[[str], None]
) -> None:
    """Serve the sessions until the input ends or SIGINT or SIGTERM comes; `tell` hears of a signal.

    Where the input has not ended, its reader would keep the process: then it exits from here.
    """
    status: int | None = 1
    async with stdio_server() as streams:
        with redirect_stdout(sys.stderr):  # what is printed and buffered would come out at the end
            try:
                async with sessions as opened:
                    by_signal = await _serve(make_server(opened), streams, tell)
                status = 0 if by_signal else None
            except Exception:  # noqa: BLE001 - told here, or never: see below
                _log.exception("the server failed")
            finally:
                if status is not None:
                    sys.stderr.flush()
                    os._exit(status)


async def _serve(server: Server[Any], streams: tuple[Any, Any], tell: Callable[[str], None]) -> bool:
    """Serve until the input ends; whether a signal came before that."""
    signalled = False

    async def watch() -> None:
        nonlocal signalled
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async for number in signals:
                tell(f"stopped by {number.name}.")
                signalled = True
                tasks.cancel_scope.cancel()
                return

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        await server.run(*streams, server.create_initialization_options())
        tasks.cancel_scope.cancel()
    return signalled
