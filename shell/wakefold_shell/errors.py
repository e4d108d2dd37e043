"""What the shell tells people when something outside is wrong: one sentence, and no traceback."""

from __future__ import annotations

import os
from pathlib import Path


class ShellError(Exception):
    """Something outside the program is wrong (a file, a lock, a missing extra).

    It is never this program's fault; the command line shows the text and exits with 1.

    :shape: the text is one sentence: what, where and what to do; `code` is what a tool answers with
        where it stands in the tool's way
    :units: none
    :errors: `code` is `persistence_uncertain`, where a subclass says nothing else
    :source: ours, docs/command-line.md; ours, docs/rejections.md
    """

    code = "persistence_uncertain"


class UnavailableError(ShellError):
    """The session cannot serve: it is disposed, its tasks have ended, or its log cannot be read.

    :shape: as `ShellError`
    :units: none
    :errors: raised by calls and words after a session's end or before its life, by `record` on a log
        that cannot be read, and for an agent that ends a turn which it did not begin
    :source: spec section 8
    """


class LostAnswerError(ShellError):
    """Whoever owns the session ended before it answered: nobody knows what came of the request.

    :shape: as `ShellError`, with the directory in its sentence
    :units: none
    :errors: raised where a request went out by the door or to a runner, and the session ended over it
    :source: ours, docs/command-line.md
    """

    def __init__(self, directory: Path) -> None:
        """The session's directory."""
        super().__init__(
            f"{show_path(directory)}: the runner ended before it answered; look with 'wakefold list'."
        )


class UnconfirmedError(ShellError):
    """A word is written, but the store does not confirm that it is durable.

    :shape: as `ShellError`, the same sentence each time
    :units: none
    :errors: raised by a host's `say` where the barrier is refused
    :source: spec section 1
    """

    def __init__(self) -> None:
        """Its sentence is always the same."""
        super().__init__("the store does not confirm that the word is durable: check the disk.")


class ReentryError(ShellError):
    """A host, a store or an observer calls the session from inside a call of the session's own.

    :shape: as `ShellError`
    :units: none
    :errors: raised at once, where waiting for the answer would never end
    :source: ours, docs/writing-a-host.md
    """


class CompositionError(ShellError):
    """The parts do not make a session: no store, or a child session that has no reminders.

    :shape: as `ShellError`
    :units: none
    :errors: raised when a `Session` is made
    :source: spec section 13
    """


class JournalError(ShellError):
    """A journal cannot be read or written.

    :shape: the text is `path:line (byte offset): problem; remedy.`; `line` and `offset_bytes` are
        `None` where the whole file is meant
    :units: `line` counts from 1, `offset_bytes` bytes from 0; for a compressed journal the offset is
        that of the frame, in the file
    :errors: `code` is `corrupt_schedule_log` where a line is named, else `persistence_uncertain`
    :source: spec section 4; ours, docs/recovering.md
    """

    def __init__(
        self,
        path: Path,
        problem: str,
        remedy: str,
        *,
        line: int | None = None,
        offset_bytes: int | None = None,
    ) -> None:
        """What is wrong with which file, where in it, and what to do."""
        where = show_path(path)
        if line is not None:
            where = f"{where}:{line}"
        if offset_bytes is not None:
            where = f"{where} (byte {offset_bytes})"
        super().__init__(f"{where}: {problem}; {remedy}.")
        self.path = path
        if line is not None:  # what stands in the log, and not the way to it, is wrong
            self.code = "corrupt_schedule_log"
        self.line = line
        self.offset_bytes = offset_bytes


def show_path(path: Path) -> str:
    """A path as text that any stream can print, on one line whatever it holds."""
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")


def show_time(time_ms: int) -> str:
    """An event's time (epoch ms) as an instant; past the calendar, which a log may hold, as it is."""
    from wakefold.instants import format_instant, is_representable  # noqa: PLC0415 - no help needs the core

    return format_instant(time_ms) if is_representable(time_ms) else f"{time_ms} ms"


def explain_os_error(error: OSError) -> str:
    """The system's own words for what went wrong, without errno and path."""
    return (error.strerror or type(error).__name__).lower()
