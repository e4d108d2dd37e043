"""`wakefold mcp` by its raw pipes, as a client that knows nothing of any library."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, Queue
from typing import Any

from command import EXECUTABLE
from wakefold_shell.stores.journal_store import hold_lock

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "pipes", "version": "0"},
    },
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}

ENDS_SECONDS_MAX = 10.0
"""How long a server may take to end on a machine that is busy with other things; at rest it is 2."""


class Piped:
    """A server by its pipes: raw lines in, raw lines out."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.lines: list[bytes] = []
        self.errors = b""
        self._arrived: Queue[bytes] = Queue()
        self._number = 0
        threading.Thread(target=self._listen, daemon=True).start()
        threading.Thread(target=self._overhear, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            self._arrived.put(line)

    def _overhear(self) -> None:
        assert self.process.stderr is not None
        while chunk := os.read(self.process.stderr.fileno(), 65_536):
            self.errors += chunk

    def send(self, message: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def greet(self) -> None:
        self.send(INITIALIZE)
        self.receive(0)
        self.send(INITIALIZED)

    def receive(self, number: int) -> dict[str, Any]:
        """The answer of a number; what comes before it is passed over."""
        deadline = time.monotonic() + 30
        while True:
            with suppress(Empty):
                message: dict[str, Any] = json.loads(self._arrived.get(timeout=0.2))
                if message.get("id") == number:
                    return message
            assert time.monotonic() < deadline
            assert self.process.poll() is None

    def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        """The result of a tool call."""
        self._number += 1
        params = {"name": tool, "arguments": arguments}
        self.send({"jsonrpc": "2.0", "id": self._number, "method": "tools/call", "params": params})
        result: dict[str, Any] = self.receive(self._number)["result"]
        return result

    def close_input(self) -> float:
        """Close the server's input; how many seconds it takes to end."""
        assert self.process.stdin is not None
        began = time.monotonic()
        self.process.stdin.close()
        self.process.wait(timeout=30)
        return time.monotonic() - began


@contextmanager
def piping(*arguments: str | Path, **environment: str) -> Iterator[Piped]:
    """`wakefold mcp` as long as the block lasts; killed if it has not ended by then."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    process = subprocess.Popen(
        [EXECUTABLE, "mcp", *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**inherited, **environment},
    )
    try:
        with process:
            try:
                yield Piped(process)
            finally:
                if process.poll() is None:
                    process.kill()
    except BrokenPipeError:
        pass  # what was meant for a process that is gone


def is_free(session: Path) -> bool:
    """Whether nobody holds a session's lock, and its door is gone."""
    with suppress(Exception), hold_lock(session):
        return not (session / "session.sock").exists()
    return False
