"""A runner that lives in the test's own process: its agent, its door, and what it leaves."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from journal_files import HEADER, NOON_MS
from wakefold import SEED
from wakefold.conversations import Input
from wakefold.events import Json
from wakefold_shell.clocks import FixedClock
from wakefold_shell.hosts.callbacks import CallbackAgent
from wakefold_shell.hosts.inboxes import Agent
from wakefold_shell.protocols import Clock
from wakefold_shell.runners import Runner
from wakefold_shell.sockets import ask
from wakefold_shell.stores.journals import fold_journal, open_journal
from wakefold_shell.stores.rows import Header

LIST: Json = {"tool": "schedule_list", "arguments": {}}


class Crew:
    """An agent that keeps what it is given; while `hold` is unset, its turns do not end."""

    def __init__(self, reply: str | None = None) -> None:
        self.given: list[Input] = []
        self.hold = anyio.Event()
        self.hold.set()
        self._reply = reply

    @property
    def texts(self) -> list[str]:
        return [given.text for given in self.given]

    def make(self, directory: Path, header: Header) -> Agent:
        assert directory.is_dir()
        assert header.id == HEADER["id"]
        return CallbackAgent(self._take_turn)

    async def _take_turn(self, given: Input) -> str | None:
        self.given.append(given)
        await self.hold.wait()
        return self._reply


def make_runner(
    directory: Path, crew: Crew, clock: Clock | None = None, *, once: bool = False
) -> Runner:
    return Runner(directory, crew.make, clock or FixedClock(NOON_MS), once=once)


@asynccontextmanager
async def living(runner: Runner) -> AsyncIterator[None]:
    """A runner with an open door, as long as the block lasts."""
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runner.run)
            await until_open(runner.directory)
            yield
            runner.stop()


async def put(directory: Path, request: Json) -> Any:  # noqa: ANN401 - parsed JSON
    """The answer of a runner that lives."""
    answer = await ask(directory, request)
    assert answer is not None
    return answer


async def until_open(directory: Path) -> None:
    while await ask(directory, LIST) is None:
        await anyio.sleep(0.01)


def read_rows(directory: Path) -> list[dict[str, Any]]:
    """Every line of a journal that is sound to its last byte."""
    content = (directory / "session.jsonl").read_bytes()
    assert content.endswith(b"\n")
    with open_journal(directory) as journal:
        fold_journal(journal, SEED)
        assert journal.warning is None
    return [json.loads(row) for row in content.splitlines()]
