"""The door of a live session: a Unix socket in its directory, for the commands of the same user.

One connection, one request, one answer, each a JSON object on a line. The writer's lock says whether
somebody lives here; the socket only reaches them, so that one left behind by a dead process does no
harm: its successor, who holds the lock, replaces it.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import anyio
from anyio.abc import ByteStream, SocketAttribute, SocketListener
from anyio.streams.buffered import BufferedByteReceiveStream

from wakefold.events import Json
from wakefold.json_text import format_json, parse_json
from wakefold_shell.errors import JournalError, LostAnswerError, explain_os_error

#: The name of the socket in a session's directory.
SOCKET_NAME: Final = "session.sock"

_LINE_BYTES_MAX: Final = 16 * 1024 * 1024
_REQUEST_SECONDS_MAX: Final = 10.0
_ACCEPT_PAUSE_SECONDS: Final = 0.1
_PATH_BYTES_MAX: Final = 100  # a socket's address holds 104 to 108 bytes, by system

_BROKEN: Final = (
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
    anyio.DelimiterNotFound,
    anyio.EndOfStream,
    anyio.IncompleteRead,
    OSError,
)


@asynccontextmanager
async def open_door(directory: Path) -> AsyncIterator[SocketListener]:
    """The listening socket of a session whose writer's lock the caller holds; removed at the end."""
    place = directory / SOCKET_NAME
    try:
        with _shorten(place) as address:
            listener = await anyio.create_unix_listener(address, mode=0o600)
    except OSError as error:
        problem = f"the session's socket cannot be opened ({explain_os_error(error)})"
        raise JournalError(place, problem, "remove what stands in its place") from error
    try:
        async with listener:
            yield listener
    finally:
        with suppress(OSError):
            place.unlink()


async def serve(listener: SocketListener, answer: Callable[[Json], Awaitable[Json]]) -> None:
    """Answer requests, several at a time, until cancelled; a broken connection ends only itself."""

    async def attend(connection: ByteStream) -> None:
        with suppress(*_BROKEN):
            async with connection:
                with anyio.fail_after(_REQUEST_SECONDS_MAX):
                    request = await _receive(connection)
                reply: Json = {"error": "the request is no JSON object."}
                if request is not None:
                    reply = await answer(request)
                await connection.send(_encode(reply))

    async with anyio.create_task_group() as tasks:
        while True:
            # An accept that waits, and is cancelled as somebody comes, loses them in asyncio.
            await anyio.wait_readable(listener.extra(SocketAttribute.raw_socket))  # noqa: S610 - no database
            try:
                connection = await listener.accept()
            except anyio.BrokenResourceError:  # as a rule, no descriptor is left for a moment
                await anyio.sleep(_ACCEPT_PAUSE_SECONDS)
                continue
            tasks.start_soon(attend, connection)


async def ask(directory: Path, request: Json) -> Json | None:
    """A live session's answer; `None` if nobody listens. `LostAnswerError` if they end before it."""
    try:
        with _shorten(directory / SOCKET_NAME) as address:
            connection = await anyio.connect_unix(address)
    except OSError:
        return None
    reply = None
    with suppress(*_BROKEN):
        async with connection:
            await connection.send(_encode(request))
            reply = await _receive(connection)
    if reply is None:
        raise LostAnswerError(directory)
    return reply


async def _receive(connection: ByteStream) -> Json | None:
    line = await BufferedByteReceiveStream(connection).receive_until(b"\n", _LINE_BYTES_MAX)
    try:
        value = parse_json(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _encode(value: Json) -> bytes:
    return format_json(value).encode("utf-8") + b"\n"


@contextmanager
def _shorten(place: Path) -> Iterator[str]:
    """An address for a socket's path that may be longer than addresses are."""
    if len(os.fsencode(place)) <= _PATH_BYTES_MAX:
        yield str(place)
        return
    with TemporaryDirectory(prefix="wakefold-") as scratch:
        link = Path(scratch) / "d"
        link.symlink_to(place.parent.absolute())
        yield str(link / place.name)
