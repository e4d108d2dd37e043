"""`wakefold mcp`: the reminders of a session, or of many, for an MCP client."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import anyio
import typer

from wakefold_shell.cli.delivering import (
    Deliver,
    Delivery,
    Limits,
    TargetArgument,
    choose_target,
)
from wakefold_shell.cli.option_groups import spread_groups
from wakefold_shell.cli.options import Ownership
from wakefold_shell.cli.running import OneSessionOption, choose_runner, require_one_place
from wakefold_shell.cli.waiting import StatusLine
from wakefold_shell.cli.web import (
    BodyBytesOption,
    HostsOption,
    HttpOption,
    OriginsOption,
    RequestSecondsOption,
    TokenFileOption,
    choose_endpoint,
)
from wakefold_shell.clocks import SystemClock
from wakefold_shell.errors import ShellError
from wakefold_shell.hosts.clients import ClientAgent
from wakefold_shell.hosts.inboxes import Agent
from wakefold_shell.mcp.endpoints import BODY_BYTES_MAX, REQUEST_SECONDS_MAX, Endpoint
from wakefold_shell.mcp.sessions import Place, Sessions, open_sessions
from wakefold_shell.stores.rows import Header


class Receiver(StrEnum):
    """Who gets the messages."""

    INBOX = "inbox"
    EXEC = "exec"
    HTTP = "http"


_RECEIVERS: Final = {  # to nobody here but the inbox: what `run` would print
    Receiver.INBOX: Deliver.STDOUT,
    Receiver.EXEC: Deliver.EXEC,
    Receiver.HTTP: Deliver.HTTP,
}


class LogLevel(StrEnum):
    """How much the protocol's library tells on standard error."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


RootOption = Annotated[
    Path | None,
    typer.Option(
        "--root",
        metavar="DIR",
        help="Sessions below a directory: each call names one by the key session, "
        "or WAKEFOLD_SESSION does for all.",
    ),
]
ReceiverOption = Annotated[
    Receiver,
    typer.Option(
        "--deliver",
        help="inbox: the client's next call shows what is due, until it is acknowledged. "
        "exec: a command per message, on its standard input. http: a signed POST per message.",
    ),
]
LogLevelOption = Annotated[
    LogLevel, typer.Option("--log-level", help="How much is logged on standard error.")
]


@spread_groups
def mcp_(  # noqa: PLR0913 - one option for each thing to choose
    ownership: Ownership,
    limits: Limits,
    target: TargetArgument = None,
    *,
    session: OneSessionOption = None,
    root: RootOption = None,
    http: HttpOption = None,
    token_file: TokenFileOption = None,
    allow_origin: OriginsOption = None,
    allow_host: HostsOption = None,
    body_bytes_max: BodyBytesOption = BODY_BYTES_MAX,
    request_seconds_max: RequestSecondsOption = REQUEST_SECONDS_MAX,
    deliver: ReceiverOption = Receiver.INBOX,
    log_level: LogLevelOption = LogLevel.WARNING,
) -> None:
    """Serve a session's reminders to an MCP client on standard streams, or over HTTP to many."""
    line = StatusLine()
    place = _choose_place(session, root, ownership)
    endpoint = choose_endpoint(
        http, token_file, allow_host, allow_origin, body_bytes_max, request_seconds_max
    )
    chosen = choose_target(_RECEIVERS[deliver], target or [], limits)
    make_agent = Delivery(chosen, limits, line, as_json=False).choose_agent if chosen else _wait
    make_runner = choose_runner(ownership, root, make_agent, SystemClock(), line)
    _serve(open_sessions(place, make_runner), endpoint, line, log_level)


def _choose_place(session: Path | None, root: Path | None, ownership: Ownership) -> Place:
    directory = require_one_place(session, root)
    return Place(
        Path(os.path.abspath(directory)),  # noqa: PTH100 - links stay as clients may name them
        root is not None,
        (os.environ.get("WAKEFOLD_SESSION") or None) if root is not None else None,
        ownership.store or "journal",
        ownership.profile.profile,
        ownership.line_bytes_max,
        ownership.protocol.number,
    )


def _wait(_: Path, __: Header) -> Agent:
    """The agent of a session whose clients come to the inbox."""
    return ClientAgent()


def _serve(
    sessions: AbstractAsyncContextManager[Sessions],
    endpoint: Endpoint | None,
    line: StatusLine,
    log_level: LogLevel,
) -> None:
    _require_sdk()
    # Whatever handlers there are by now may write to standard output.
    logging.basicConfig(stream=sys.stderr, level=log_level.upper(), force=True)
    if endpoint is None:
        from wakefold_shell.mcp.stdio import serve_stdio  # noqa: PLC0415 - imports the extra

        if sys.stdin.isatty():
            line.say("speaking the protocol with the terminal, for clients; Ctrl-D ends it.")
        anyio.run(serve_stdio, sessions, line.say)
    else:
        from wakefold_shell.mcp.http import serve_http  # noqa: PLC0415 - as above

        anyio.run(serve_http, sessions, endpoint, line.say)


def _require_sdk() -> None:
    try:
        import mcp  # noqa: F401, PLC0415 - an extra
    except ImportError as error:
        raise ShellError(
            "the MCP server needs the extra 'mcp': pip install 'wakefold[mcp]'."
        ) from error
