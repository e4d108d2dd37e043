"""Workers of a fleet as processes that may be killed, and what each of their agents was given.

Run by itself this module is such a worker: it notes each message when its agent begins and ends.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Final, Self

import anyio
from msgspec import Struct

from wakefold.conversations import Input
from wakefold_shell.fleet.clients import DEFAULT_POLICY
from wakefold_shell.fleet.workers import Worker
from wakefold_shell.hosts.callbacks import CallbackAgent
from wakefold_shell.hosts.inboxes import Agent
from wakefold_shell.stores.rows import Header

_TESTS: Final = Path(__file__).parent


class Note(Struct, frozen=True):
    """An agent began or ended its answer to a message, at an instant of this machine's clock."""

    worker: int
    at_seconds: float
    message_id: str
    begins: bool


class Crew:
    """Worker processes, each with a file of its notes; ended with the block."""

    def __init__(self, dsn: str, directory: Path, agent_seconds: float) -> None:
        """Whom they work for, where they note, and how long an agent takes."""
        self._dsn, self._directory, self._agent_seconds = dsn, directory, agent_seconds
        self._open = ExitStack()
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._number = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._open.close()

    @property
    def alive(self) -> list[int]:
        """The numbers of the workers."""
        return list(self._processes)

    def begin(self) -> int:
        """One worker more; its number."""
        number, self._number = self._number, self._number + 1
        notes = self._open.enter_context((self._directory / f"notes-{number}.jsonl").open("wb"))
        told = self._open.enter_context((self._directory / f"told-{number}.txt").open("wb"))
        command = [sys.executable, __file__, self._dsn, str(self._agent_seconds)]
        self._processes[number] = subprocess.Popen(command, cwd=_TESTS, stdout=notes, stderr=told)
        return number

    def kill(self, number: int) -> float:
        """End a worker at once; when, by this machine's clock."""
        process = self._processes.pop(number)
        assert process.poll() is None, self.read_told(number)  # nothing else may end it
        process.kill()
        killed_at_seconds = time.time()
        process.wait()
        return killed_at_seconds

    def read_told(self, number: int) -> str:
        """What a worker told people."""
        return (self._directory / f"told-{number}.txt").read_text()

    def read_notes(self, number: int) -> list[Note]:
        """What a worker has noted; a line that was cut off is none."""
        lines = (self._directory / f"notes-{number}.jsonl").read_text().splitlines(keepends=True)
        return [Note(number, *json.loads(line)) for line in lines if line.endswith("\n")]

    def list_under_way(self, number: int) -> list[str]:
        """The messages that a worker's agents have begun and not ended."""
        notes = self.read_notes(number)
        ended = [note.message_id for note in notes if not note.begins]
        begun = [note.message_id for note in notes if note.begins]
        return [name for name in begun if begun.count(name) > ended.count(name)]


async def main(dsn: str, agent_seconds: float) -> None:
    """Work until the process is told to stop."""

    def note(given: Input, *, begins: bool) -> None:
        line = json.dumps([time.time(), given.message.get("id"), begins])
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    async def take_turn(given: Input) -> str:
        note(given, begins=True)
        await anyio.sleep(agent_seconds)
        note(given, begins=False)
        return "done"

    def make_agent(_: Header) -> Agent:
        return CallbackAgent(take_turn)

    worker = Worker(dsn, DEFAULT_POLICY, make_agent, concurrency=8, tell=_tell)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_stop_on_signal, worker)
        await worker.run()
        tasks.cancel_scope.cancel()


async def _stop_on_signal(worker: Worker) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM) as signals:
        async for _ in signals:
            worker.stop()


def _tell(sentence: str) -> None:
    sys.stderr.write(sentence + "\n")
    sys.stderr.flush()


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], float(sys.argv[2]))
