"""The sessions that a server reaches: each is owned here, or served through its owner's door.

This module decides which session a name means, and when ownership is tried again. It refuses to know
the protocol, and what a request says.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final, Literal
from urllib.parse import quote
from uuid import uuid4

import anyio
from anyio.abc import TaskGroup
from msgspec import Struct

from wakefold import SEED, Profile
from wakefold.events import Json
from wakefold_shell.clocks import SystemClock
from wakefold_shell.errors import LostAnswerError, ShellError, explain_os_error, show_path
from wakefold_shell.runners import Runner
from wakefold_shell.sockets import ask
from wakefold_shell.stores.journal_store import OwnedError, create_session
from wakefold_shell.stores.journals import FILE_NAMES, StoreKind, open_journal
from wakefold_shell.stores.lines import LINE_BYTES_MAX
from wakefold_shell.stores.rows import Header
from wakefold_shell.stores.sources import refusals
from wakefold_shell.supervisors import find_sessions

PATIENCE_SECONDS: Final = 5.0
"""How long a session without an owner that answers is waited for: it is about to come, or to go."""

_log = logging.getLogger(__name__)
_LOOK_SECONDS: Final = 0.25  # between two tries to own what somebody else owns
_PAUSE_SECONDS: Final = 0.02
_END_SECONDS_MAX: Final = 1.5  # a client that closes its end waits for two seconds at most


class UnknownSessionError(ShellError):
    """A name that means no session, or more than one.

    :shape: as `ShellError`
    :units: none
    :errors: `code` is `session_not_found`
    :source: ours, docs/mcp.md
    """

    code = "session_not_found"


class Place(Struct, frozen=True):
    """Where the sessions are: one directory, or a root below which each has a name.

    `name` is the session that a call means which names none; `store` is what a new one is kept in.
    `profile` and `line_bytes_max` are for whoever reads a log without owning it. Under `protocol` 1 no
    tool writes version 2 of the durable change.

    :shape: `directory` is a session's, or a root; `store` is `journal`, `zstd` or `sqlite`
    :units: `line_bytes_max` in bytes
    :errors: none: nothing is looked at
    :source: ours, docs/mcp.md
    """

    directory: Path
    is_root: bool = False
    name: str | None = None
    store: StoreKind = "journal"
    profile: Profile = SEED
    line_bytes_max: int = LINE_BYTES_MAX
    protocol: Literal[1, 2] = 2


class Attachment:
    """A session that this server has taken up. `live` in it in a task; `ask` from any other.

    Where another process owns it, its door is asked, and ownership is tried until it is free.
    """

    def __init__(self, directory: Path, name: str, make_runner: Callable[[Path], Runner]) -> None:
        """The directory, the name that clients read, and how the session is lived in."""
        self.directory, self.name = directory, name
        self._make_runner = make_runner
        self._runner: Runner | None = None
        self._trouble: ShellError | None = None
        self._wanted = anyio.Event()
        self._stopped = False

    async def live(self) -> None:
        """Own the session whenever nobody else does, until `stop`; askers are told what goes wrong."""
        while not self._stopped:
            self._runner = self._make_runner(self.directory)
            self._wanted = anyio.Event()
            try:
                await self._runner.run()
                self._trouble = None
            except OwnedError as error:
                self._trouble = error
                await anyio.sleep(_LOOK_SECONDS)
            except ShellError as error:
                await self._rest(error)
            except Exception as error:  # noqa: BLE001 - one session's fault ends no server
                name = type(error).__name__
                await self._rest(ShellError(f"{show_path(self.directory)}: closed ({name})."))

    async def ask(self, request: Json, *, looks_only: bool = False) -> Json:
        """The answer of whoever owns the session. `ShellError` if nobody can answer.

        A request that only looks is repeated where an owner ended over it, any other is not.
        """
        if not isinstance(self._trouble, OwnedError):
            self._trouble = None  # it may have been mended since: tried again, once for each asker
            self._wanted.set()
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            trouble = self._trouble
            try:
                reply = await self._ask_owner(request)
            except LostAnswerError:
                if not looks_only:
                    raise
                reply = None
            if reply is not None and not reply.get("undone"):
                if "error" in reply:
                    raise _read_error(reply)
                return reply
            if trouble is not None and not isinstance(trouble, OwnedError):
                raise trouble
            if time.monotonic() > deadline:
                raise trouble or ShellError(f"{show_path(self.directory)}: nobody answers; ask again.")
            await anyio.sleep(_PAUSE_SECONDS)

    async def _ask_owner(self, request: Json) -> Json | None:
        """The answer of this process, if it owns the session, else of the owner; `None` of nobody."""
        reply = None if self._runner is None else await self._runner.ask(request)
        return await ask(self.directory, request) if reply is None else reply

    def stop(self) -> None:
        """Ask the session to end: what is asked for is finished, nothing more is begun."""
        self._stopped = True
        self._wanted.set()
        if self._runner is not None:
            self._runner.stop()

    def stamp(self) -> tuple[tuple[int, int], ...]:
        """What changes whenever anybody writes to the log."""
        return tuple(_stamp(self.directory))

    async def _rest(self, error: ShellError) -> None:
        """Keep what went wrong for askers, and begin again once somebody asks."""
        _log.warning("%s", error)
        self._trouble = error
        await self._wanted.wait()


class Sessions:
    """The sessions of a place, each taken up once it is asked for. Made by `open_sessions`."""

    def __init__(
        self,
        place: Place,
        make_runner: Callable[[Path], Runner],
        lives: TaskGroup,
        watches: TaskGroup,
    ) -> None:
        """The place, how a session is lived in, where that runs, and where whatever looks on does."""
        self.place, self.watches = place, watches
        self.attached: dict[Path, Attachment] = {}
        self._make_runner, self._lives = make_runner, lives
        self._found: dict[str | None, Path] = {}  # a root is not searched for every call

    def find(self, name: str | None, *, make: bool = False) -> Attachment:
        """The session of a name, taken up. `ShellError` if there is none, or more than one.

        With `make` a place that is one directory becomes a session, if it is none.
        """
        wanted = (name or self.place.name) if self.place.is_root else None
        directory = self._found.get(wanted)
        if directory is None or not _holds_session(directory):
            directory = self._found[wanted] = self._locate(wanted, make=make)
        if directory not in self.attached:
            attachment = Attachment(directory, self._name(directory), self._make_runner)
            self.attached[directory] = attachment
            self._lives.start_soon(attachment.live)
        return self.attached[directory]

    def list_names(self) -> list[str]:
        """The names of all sessions, taken up or not; `ShellError` where a root cannot be read."""
        return [self._name(directory) for directory in self._list_directories()]

    def _name(self, directory: Path) -> str:
        inside = self.place.is_root and directory != self.place.directory
        path = directory.relative_to(self.place.directory) if inside else Path(directory.name)
        return quote(os.fsencode(path), safe="")

    def _list_directories(self) -> list[Path]:
        if not self.place.is_root:
            return [self.place.directory]
        try:
            return sorted(find_sessions(self.place.directory))
        except OSError as error:
            problem = f"{show_path(self.place.directory)}: {explain_os_error(error)}"
            raise ShellError(f"{problem}; give a directory of sessions.") from error

    def _locate(self, name: str | None, *, make: bool) -> Path:
        if not self.place.is_root:
            return self._require_session(make=make)
        if name is None:
            raise UnknownSessionError("many sessions may live here: name one by the key session.")
        directories = self._list_directories()
        found = [path for path in directories if name in self._list_paths(path)]
        found = found or [path for path in directories if name == _read_id(path)]
        if len(found) == 1:
            return found[0]
        problem = "more than one session has that name" if found else "no session has that name"
        raise UnknownSessionError(f"{problem}: give a session's id, or its directory below the root.")

    def _list_paths(self, directory: Path) -> tuple[str, ...]:
        """What a directory that is there may be called, so that no name leads anywhere else."""
        below = str(directory.relative_to(self.place.directory))
        return (self._name(directory), directory.name, below, str(directory))

    def _require_session(self, *, make: bool) -> Path:
        directory = self.place.directory
        if _holds_session(directory):
            return directory
        if not make:
            raise UnknownSessionError(
                f"{show_path(directory)}: no session is there yet; schedule_create makes one, "
                "if this is the directory that is meant."
            )
        header = Header(f"session-{uuid4()}", SystemClock().read_ms())
        create_session(directory, header, self.place.store)
        return directory


@asynccontextmanager
async def open_sessions(place: Place, make_runner: Callable[[Path], Runner]) -> AsyncIterator[Sessions]:
    """The sessions of a place as long as the block lasts; then each is let go, its lock freed.

    The one that is meant where none is named is taken up at once, if it is there.

    :shape: `make_runner` is given a session's directory; the block has the `Sessions`
    :units: none
    :errors: none at the opening: whoever asks for a session is told, by a `ShellError`
    :source: ours, docs/mcp.md
    """
    async with anyio.create_task_group() as lives:
        async with anyio.create_task_group() as watches:
            sessions = Sessions(place, make_runner, lives, watches)
            if place.name is not None or not place.is_root:
                with suppress(ShellError):  # whoever calls is told
                    sessions.find(None)
            yield sessions
            watches.cancel_scope.cancel()
        for attachment in sessions.attached.values():
            attachment.stop()
        lives.cancel_scope.deadline = anyio.current_time() + _END_SECONDS_MAX


def _holds_session(directory: Path) -> bool:
    with refusals(directory):
        return any((directory / name).exists() for name in FILE_NAMES)


def _read_id(directory: Path) -> str | None:
    with suppress(ShellError), open_journal(directory) as journal:
        return journal.header.id
    return None


def _read_error(reply: Json) -> ShellError:
    error = ShellError(str(reply["error"]))
    error.code = str(reply.get("code", error.code))
    return error


def _stamp(directory: Path) -> Iterator[tuple[int, int]]:
    for name in FILE_NAMES:
        for beside in ("", "-wal"):
            with suppress(OSError):
                found = (directory / f"{name}{beside}").stat()
                yield found.st_mtime_ns, found.st_size
