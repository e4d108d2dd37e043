"""A process for tests to kill: `stuck_agent.py DIR KIT` lives in a session until its model is asked.

It prints a line then, and the model never answers.
"""

from __future__ import annotations

import sys
from pathlib import Path

import anyio

from framework_agents import KITS, Brain, Seen, Thought
from journal_files import NOON_MS
from wakefold_shell.clocks import FixedClock
from wakefold_shell.hosts.inboxes import Agent
from wakefold_shell.runners import Runner
from wakefold_shell.stores.rows import Header


class StuckBrain(Brain):
    """Tells that it is asked, and thinks for ever."""

    def __init__(self) -> None:
        super().__init__(lambda _: "never")

    async def answer(self, seen: Seen) -> Thought:
        del seen
        sys.stdout.write("asked\n")
        sys.stdout.flush()
        await anyio.sleep_forever()
        raise AssertionError


def make_host(place: Path, header: Header) -> Agent:
    del header
    return KITS[int(sys.argv[2])].make_agent(StuckBrain(), runner.call, place / "history")


runner = Runner(Path(sys.argv[1]), make_host, FixedClock(NOON_MS))
anyio.run(runner.run)
