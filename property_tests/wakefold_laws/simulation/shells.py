"""What a shell must offer to be simulated, and this project's own.

A shell is whatever lives in a `Home`: it owns one session with the store, the clock and the agent that
it finds there. This module refuses to know what becomes of it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from wakefold.tools import ToolName, answer_value
from wakefold_laws.simulation.worlds import Home
from wakefold_shell.errors import ShellError, UnavailableError
from wakefold_shell.hosts.inboxes import InboxHost
from wakefold_shell.owner import Session


class Shell(Protocol):
    """One life of a session in a shell under test.

    :shape: tools answer the JSON value that a model would read
    :units: none
    :errors: an exception that ends `run` breaks an invariant
    :source: ours, docs/simulator.md
    """

    async def run(self) -> None:
        """Own the session until it is disposed or cancelled."""
        ...

    async def call(self, tool: ToolName, arguments: object) -> object:
        """The JSON value that a tool answers with; `None` where the session has ended."""
        ...

    async def say(self, text: str, time_zone: str | None) -> str | None:
        """Give a person's word to the agent: its id once it is durable, `None` where it is not."""
        ...

    def repeat_idle(self) -> None:
        """Tell the session that its agent has become idle, though it may have been before."""
        ...

    def dispose(self) -> None:
        """Ask the session to end."""
        ...


#: Begins a life in a home: with its store, its clock, its agent and its limits.
#:
#: :shape: a function: a `Home` goes in, a `Shell` comes out
#: :units: none
#: :errors: what it raises ends the simulation
#: :source: ours, docs/simulator.md
OpenShell = Callable[[Home], Shell]


class OwnShell:
    """This project's shell: the performer, the FIFO and the inbox, in a home.

    :shape: as `Shell`; `session` and `host` may be replaced by those under test before it runs
    :units: none
    :errors: `call` and `say` answer `None` where the session has ended or a store refuses
    :source: ours, docs/simulator.md
    """

    def __init__(self, home: Home) -> None:
        """A life in a home."""
        self.host = ClaimingHost(home)
        self.session = Session(
            home.store, self.host, home.clock, guard=home.limits, on_warning=home.warn
        )

    async def run(self) -> None:
        """Own the session until it is disposed or cancelled."""
        await self.host.run(self.session)

    async def call(self, tool: ToolName, arguments: object) -> object:
        """The JSON value that a tool answers with; `None` where the session has ended."""
        try:
            return answer_value(await self.session.call(tool, arguments))
        except UnavailableError:
            return None

    async def say(self, text: str, time_zone: str | None) -> str | None:
        """Give a person's word to the agent: its id once it is durable, `None` where it is not."""
        with suppress(ShellError, OSError):
            return await self.host.say(self.session, text, time_zone)
        return None

    def repeat_idle(self) -> None:
        """Tell the session that its agent has become idle."""
        self.session.went_idle()

    def dispose(self) -> None:
        """Ask the session to end."""
        self.session.dispose()


class ClaimingHost(InboxHost):
    """The inbox of `OwnShell`, in which something may happen while the idle phase is asked for."""

    def __init__(self, home: Home) -> None:
        """The inbox of a home's agent."""
        super().__init__(home.agent, make_id=home.make_id)
        self._home = home

    def claim(self) -> bool:
        """As ever, after what the script has happen."""
        self._home.at_claim()
        return super().claim()
