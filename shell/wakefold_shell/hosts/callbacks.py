"""An agent that is an async function of this program."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from wakefold.conversations import Input
from wakefold_shell.hosts.inboxes import Answer


class CallbackAgent:
    """Calls a function for each input; what it returns is what the agent answered, if it is text.

    The turn has begun when the function is called. It may call the session's tools, which then see an
    open turn; an exception is a failed turn, kept in the log.

    :shape: an `Input` goes in; text is kept as the answer, anything else is none
    :units: none
    :errors: an exception of the function is a failed turn
    :source: ours, docs/writing-a-host.md
    """

    def __init__(self, take_turn: Callable[[Input], Awaitable[str | None]]) -> None:
        """The function that is the agent's turn."""
        self._take_turn = take_turn

    async def answer(self, given: Input, begin: Callable[[], None]) -> Answer:
        """Begin, and await the function; raises what it raises."""
        begin()
        said = await self._take_turn(given)
        return Answer(said if isinstance(said, str) else None)
