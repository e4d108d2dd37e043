"""Every session of a directory tree in one process, each with an owner, an agent and a door of its own.

One session's fault never stops another's: it is told once, and that session stays closed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import anyio

from wakefold_shell.errors import CompositionError, ShellError, explain_os_error, show_path
from wakefold_shell.runners import Runner
from wakefold_shell.stores.journal_store import OwnedError
from wakefold_shell.stores.journals import FILE_NAMES

#: How often a supervisor looks for sessions that have come.
#:
#: :shape: a float
#: :units: seconds
#: :errors: none
#: :source: ours, docs/running.md
SCAN_SECONDS: Final = 1.0

_DEPTH_MAX: Final = 3  # <root>/<anything>/<session id>
_ATTEMPTS_QUIET: Final = 3  # a command may hold a session for a moment


class Supervisor:
    """Owns the sessions below a root, those that come later too, until `stop`.

    A session that another process owns is left to it, and taken once it is free; child sessions have
    no reminders and are left alone. Of each session that stays closed `tell` hears, once.

    :shape: `live` has the runners by directory; `tell` hears sentences
    :units: `failures` counts sessions that stay closed
    :errors: `run` raises `ShellError` if the root cannot be read at the start, and nothing for a
        session's sake
    :source: spec section 13; ours, docs/command-line.md
    """

    def __init__(
        self,
        root: Path,
        make_runner: Callable[[Path], Runner],
        *,
        once: bool = False,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        """The root, how a session is lived in, and whether to end when nothing is due."""
        self.live: dict[Path, Runner] = {}
        self.failures = 0
        self._root, self._make_runner, self._once, self._tell = root, make_runner, once, tell
        self._closed: set[Path] = set()
        self._attempts: dict[Path, int] = {}
        self._stopping = anyio.Event()

    async def run(self) -> None:
        """Own what is there and what comes, until `stop`, or `once` nothing is due."""
        try:
            found = list(find_sessions(self._root))
        except OSError as error:
            raise ShellError(
                f"{show_path(self._root)}: {explain_os_error(error)}; give a directory of sessions."
            ) from error
        async with anyio.create_task_group() as tasks:
            while not self._stopping.is_set():
                for directory in found:
                    if directory not in self.live and directory not in self._closed:
                        self.live[directory] = runner = self._make_runner(directory)
                        tasks.start_soon(self._own, runner)
                if self._once:
                    return
                with anyio.move_on_after(SCAN_SECONDS):
                    await self._stopping.wait()
                try:
                    found = list(find_sessions(self._root))
                except OSError:  # for a moment, as it may be: those that live go on
                    found = []

    def stop(self) -> None:
        """Ask every session to end."""
        self._stopping.set()
        for runner in self.live.values():
            runner.stop()

    async def _own(self, runner: Runner) -> None:
        directory = runner.directory
        try:
            await runner.run()
            self._closed.add(directory)
        except OwnedError as error:
            self._attempts[directory] = self._attempts.get(directory, 0) + 1
            if self._attempts[directory] == _ATTEMPTS_QUIET or self._once:
                self._tell(str(error))
        except CompositionError:
            self._closed.add(directory)
        except ShellError as error:
            if directory.exists():  # else it was taken back while it was opened
                self._close(directory, str(error))
        except Exception as error:  # noqa: BLE001 - one session's fault never stops another's
            self._close(directory, f"{show_path(directory)}: closed ({type(error).__name__}).")
        finally:
            del self.live[directory]

    def _close(self, directory: Path, sentence: str) -> None:
        self.failures += 1
        self._closed.add(directory)
        self._tell(sentence)


def find_sessions(root: Path, depth: int = _DEPTH_MAX) -> Iterator[Path]:
    """The session directories at or below a root, none inside another.

    A directory below it that cannot be read is given, too: whoever tries to live in it is told why.

    :shape: paths, as they are found
    :units: `depth` counts directories below the root
    :errors: `OSError` as the system says, for the root
    :source: ours, docs/records.md
    """
    inner: list[Path] = []
    with os.scandir(root) as entries:
        for entry in entries:
            if entry.name in FILE_NAMES:
                yield root
                return
            if depth > 0 and entry.is_dir(follow_symlinks=False):
                inner.append(root / entry.name)
    for directory in inner:
        try:
            yield from find_sessions(directory, depth - 1)
        except FileNotFoundError:
            continue  # gone meanwhile
        except OSError:
            yield directory
