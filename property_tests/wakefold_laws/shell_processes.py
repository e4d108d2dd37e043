"""A shell in a process of its own: messages to and fro, within a time limit.

It decides when a program has hung, died or written what is no message, and says so in a sentence. It
refuses to know what the messages mean.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from typing import IO, Final

from wakefold.events import Json
from wakefold.rejections import shorten
from wakefold_shell.errors import ShellError, explain_os_error
from wakefold_shell.pipes.messages import LINE_BYTES_MAX, MessageFault, parse_message
from wakefold_shell.stores.rows import encode_line

GRACE_SECONDS: Final = 2.0
"""How long a program has to end after its input has."""

_CHUNK_BYTES: Final = 1024 * 1024
_SAID_LINES_MAX: Final = 20
_SAID_BYTES_MAX: Final = 16 * 1024


class Breach(Exception):
    """What a program did against the protocol, in one sentence. It is never the tester's fault."""


class ShellProcess:
    """One program under test; `ShellError` if it cannot be started."""

    def __init__(self, command: Sequence[str]) -> None:
        """Start it, with a group of its own and a pipe for each stream."""
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the command is the user's own
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            why = explain_os_error(error) if isinstance(error, OSError) else str(error)
            name = shorten(command[0])
            raise ShellError(f"the shell {name} cannot be started ({why}): mend --shell.") from error
        self.ids = count(1)
        self._selector = selectors.DefaultSelector()
        self._input, self._output, self._errors = self._streams()
        for stream in (self._output, self._errors):
            self._selector.register(stream, selectors.EVENT_READ)
        self._incoming: deque[bytes] = deque()  # whole lines
        self._begun = bytearray()  # a line whose end has not come
        self._outgoing = bytearray()
        self._said = bytearray()
        self._ended = False

    def send(self, message: Json) -> None:
        """Put a message on its way; it goes out while replies are waited for."""
        if not self._outgoing:
            self._selector.register(self._input, selectors.EVENT_WRITE)
        self._outgoing += encode_line(message)

    def receive(self, deadline: float) -> Json:
        """The next message; `TimeoutError` if none has come by a time of `time.monotonic`."""
        if time.monotonic() > deadline:  # however much of it waits to be read
            raise TimeoutError
        while not self._incoming:
            self._move(deadline)
        line = self._incoming.popleft()
        try:
            return parse_message(line)
        except MessageFault as fault:
            text = shorten(line.decode("utf-8", "backslashreplace").rstrip("\n"))
            why = fault.sentence.removesuffix(".")
            raise Breach(f"wrote {text}, which is no message ({why})") from fault

    def take_said(self) -> tuple[str, ...]:
        """The last lines on its standard error since this was asked before."""
        self._read_errors()
        text = self._said.decode("utf-8", "backslashreplace")
        self._said.clear()
        lines = [line for line in text.split("\n") if line.strip()]
        return tuple(lines[-_SAID_LINES_MAX:])

    def close(self) -> None:
        """End its input, and see that it is gone."""
        self._selector.close()
        with suppress(OSError):
            self._input.close()
        try:
            self._process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
        self._output.close()
        self._errors.close()

    def kill(self) -> None:
        """End it at once, with all that it started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _streams(self) -> list[IO[bytes]]:
        streams = [self._process.stdin, self._process.stdout, self._process.stderr]
        found = [stream for stream in streams if stream is not None]
        for stream in found:
            os.set_blocking(stream.fileno(), False)
        return found

    def _move(self, deadline: float) -> None:
        """Write and read whatever can be; `TimeoutError` at the deadline, `Breach` at the end."""
        if self._ended:
            raise Breach(self._explain_end())
        ready = self._selector.select(max(0.0, deadline - time.monotonic()))
        if not ready:
            raise TimeoutError
        for key, _ in ready:
            if key.fileobj is self._input:
                self._write()
            elif key.fileobj is self._errors:
                self._read_errors()
            else:
                self._read()

    def _write(self) -> None:
        try:
            sent = os.write(self._input.fileno(), self._outgoing)
        except BlockingIOError:
            return
        except OSError:  # it has closed its input: its output tells what became of it
            sent = len(self._outgoing)
        del self._outgoing[:sent]
        if not self._outgoing:
            self._selector.unregister(self._input)

    def _read(self) -> None:
        chunk = self._output.read(_CHUNK_BYTES)
        if chunk == b"":
            self._ended = True
            return
        *ends, rest = (chunk or b"").split(b"\n")
        for end in ends:
            self._incoming.append(bytes(self._begun + end))
            self._begun.clear()
        self._begun += rest
        if len(self._begun) > LINE_BYTES_MAX:
            raise Breach(f"wrote a line of more than {LINE_BYTES_MAX} bytes")

    def _read_errors(self) -> None:
        while chunk := self._errors.read(_CHUNK_BYTES):
            self._said += chunk
            del self._said[:-_SAID_BYTES_MAX]
        if chunk == b"":
            with suppress(KeyError):
                self._selector.unregister(self._errors)

    def _explain_end(self) -> str:
        try:
            status = self._process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            return "closed its standard output"
        name = f"signal {-status}" if status < 0 else f"exit status {status}"
        return f"ended ({name})"
