"""The host of an agent that takes turns, with its inbox and its turns in the session's own log.

What is handed over goes into the inbox in one batch with its dispatches. Once that is durable the agent
is offered it, one turn at a time, until the turn has begun; after a crash again, with the same ids and
occurrences (spec sections 8 and 13). What to write is the core's decision (`conversations`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, Protocol
from uuid import uuid4

import anyio
import anyio.lowlevel
from returns.pipeline import is_successful

from wakefold import Event
from wakefold.conversations import (
    Answer,
    Conversation,
    Draft,
    Input,
    begin_turn,
    follow,
    make_message,
    name_person,
    queue_input,
    queue_reminder,
)
from wakefold.offers import conclude_turn, plan_offer
from wakefold.recoveries import clear_up
from wakefold_shell.errors import ShellError, UnavailableError, UnconfirmedError
from wakefold_shell.owner import Session
from wakefold_shell.protocols import Followup

__all__ = [
    "ANSWER_BYTES_MAX",
    "Agent",
    "Answer",
    "Hearing",
    "InboxHost",
    "RepeatableAgent",
    "describe_trouble",
    "give_turn",
    "load_conversation",
]

#: How much of what an agent says from outside the log keeps as its answer.
#:
#: :shape: an integer
#: :units: bytes
#: :errors: none
#: :source: ours, docs/running.md
ANSWER_BYTES_MAX: Final = 64 * 1024

_CUT: Final = "\n[... cut]"
_ERROR_CHARACTERS_MAX: Final = 200


class Hearing:
    """What an agent outside says, as far as the log keeps it; of the rest, only how much it was.

    :shape: chunks of bytes in, text out, read as UTF-8
    :units: bytes
    :errors: none: what is no UTF-8 is replaced
    :source: ours, docs/running.md
    """

    def __init__(self) -> None:
        """Nothing is said yet."""
        self.size_bytes = 0
        self._kept = bytearray()

    def hear(self, chunk: bytes) -> None:
        """Some more."""
        self.size_bytes += len(chunk)
        self._kept.extend(chunk[: ANSWER_BYTES_MAX - len(self._kept)])

    @property
    def text(self) -> str | None:
        """What was said, cut with a mark where it was too long; nothing for silence."""
        cut = _CUT if self.size_bytes > ANSWER_BYTES_MAX else ""
        return f"{self._kept.decode('utf-8', 'replace')}{cut}" or None


class Agent(Protocol):
    """Whatever takes a turn for each input.

    :shape: an `Input` goes in, an `Answer` comes out
    :units: `queued_at_ms` and occurrences in epoch milliseconds UTC
    :errors: an exception before `begin`: the agent cannot be reached, which ends the session with the
        input kept; after it, the turn has failed
    :source: spec section 8; ours, docs/writing-a-host.md
    """

    async def answer(self, given: Input, begin: Callable[[], None]) -> Answer:
        """Take one turn, and call `begin` once it has begun: until then a crash offers it again."""
        ...


class RepeatableAgent:
    """The base of an agent that knows a message which it is given again, so that nothing is done twice.

    :shape: as `Agent`; a turn that failed, or that a crash cut off, is offered again as the core says
        (`offers`)
    :units: none
    :errors: as `Agent`
    :source: spec section 8; ours, docs/webhooks.md
    """


class InboxHost:
    """One agent, one turn at a time. `run` it with its session.

    `on_idle` hears whenever no input is left, or none may be offered before `paused_until_ms`.
    `make_id` gives each message its id, unique in the session.

    :shape: as `Host`; `inbox` holds each `Input` that waits, the first one first
    :units: `paused_until_ms` in epoch milliseconds UTC
    :errors: `trouble` is why the agent could not be reached, or why the log was not written; the
        session is over then
    :source: spec sections 8 and 13; ours, docs/decisions/inbox-in-the-log.md
    """

    def __init__(
        self,
        agent: Agent,
        on_idle: Callable[[], None] = lambda: None,
        make_id: Callable[[], str] = lambda: str(uuid4()),
    ) -> None:
        """The agent, who hears that it is idle, and where the ids of messages come from."""
        self.trouble: Exception | None = None
        self.paused_until_ms: int | None = None
        self._agent, self._tell_idle, self._make_id = agent, on_idle, make_id
        self._conversation = Conversation()
        self._taking_turns = False
        self._became_idle = anyio.Event()
        self._start: Callable[[], None] = lambda: None

    @property
    def busy(self) -> bool:
        """Whether a turn is under way or an input waits for one."""
        return self._taking_turns or bool(self._conversation.inbox)

    @property
    def inbox(self) -> tuple[Input, ...]:
        """What waits for a turn."""
        return self._conversation.inbox

    def claim(self) -> bool:
        """Granted while nothing waits for the agent and no turn is under way."""
        return not self.busy

    def hand_over(self, followup: Followup) -> Sequence[Draft]:
        """The splice that puts the message into the inbox."""
        return (queue_reminder(self._conversation, self._make_id(), followup.message),)

    def release(self) -> None:
        """Let the agent have what is in the inbox, as soon as it is durable."""
        self._start()

    async def wait_idle(self) -> None:
        """Return once no turn is under way and the inbox is empty."""
        while self.busy:
            await self._became_idle.wait()

    async def say(self, session: Session, text: str, client_time_zone: str | None) -> str:
        """Put a person's word into the inbox; the message's id, once the word is durable.

        `client_time_zone` must be canonical (`canonicalize_zone`). Raises what the store raises,
        `UnconfirmedError`, `ReentryError`, and `UnavailableError` from a session that has ended or
        cannot be read.
        """
        self.follow(session)
        message_id = self._make_id()
        message = make_message(message_id, text, name_person(self._make_id(), client_time_zone))
        barrier = session.submit("schedule_list", {})  # refused before anything is written
        session.record([queue_input(self._conversation, message)])
        self._start()
        await barrier.done.wait()
        if not is_successful(barrier.answer):
            raise UnconfirmedError
        return message_id

    def follow(self, session: Session) -> None:
        """Have the session load its log, and tell of every event; `run` sees to it, too."""
        if session.tell_event != self._observe:
            self._conversation = load_conversation(session)
            session.tell_event = self._observe

    async def run(self, session: Session) -> None:
        """Own the session and give the agent its turns until the session ends.

        First what a crash left behind: an open turn is closed as interrupted, a message whose dispatch
        is missing gets it, and what waits in the inbox is offered.
        """
        self.follow(session)
        try:
            self._clear_up(session)
        except Exception as trouble:  # noqa: BLE001 - as for a turn that cannot be written
            self.trouble = trouble
            session.dispose()
        async with anyio.create_task_group() as tasks:
            self._start = lambda: self._begin_turns(tasks.start_soon, session)
            self._start()
            await session.run()
            tasks.cancel_scope.cancel()

    def _observe(self, event: Event) -> None:
        self._conversation = follow(self._conversation, event)

    def _clear_up(self, session: Session) -> None:
        """Write what a crash cut off; a log that cannot be read is left as it is."""
        ledger = session.owner.ledger
        drafts = () if ledger is None else clear_up(self._conversation, ledger)
        if drafts:
            session.record(drafts)

    def _begin_turns(self, start: Callable[..., object], session: Session) -> None:
        readable = session.owner.ledger is not None
        if readable and self._conversation.inbox and not self._taking_turns:
            self._taking_turns = True
            start(self._take_turns, session)

    async def _take_turns(self, session: Session) -> None:
        """Give turns while there are inputs; then the agent is idle."""
        try:
            while self._conversation.inbox:
                await self._pause(session)
                await session.wait_confirmed()
                if session.owner.disposing:
                    return  # what waits is for the next life
                await self._take_turn(session)
                if self._conversation.inbox:
                    # Its own barrier came before this turn's end: nobody else may ask for one.
                    with suppress(UnavailableError):
                        await session.confirm()
        except Exception as trouble:  # noqa: BLE001 - whatever it is, the input stays in the inbox
            self.trouble = trouble
            session.dispose()
            return
        self._taking_turns = False
        self._became_idle.set()
        self._became_idle = anyio.Event()
        session.went_idle()
        session.recompute()  # a session without reminders has words to make durable, too
        self._tell_idle()

    async def _pause(self, session: Session) -> None:
        """Leave the agent in peace until the first input may be offered, if it was offered before."""
        wake = plan_offer(self._conversation.inbox[0], session.clock.read_ms())
        if wake is not None:
            self.paused_until_ms = wake.at_ms
            self._tell_idle()
            await session.clock.plan_sleep(wake.at_ms, wake.delay_ms)()
            self.paused_until_ms = None

    async def _take_turn(self, session: Session) -> None:
        """One turn of the first input; raises where it has not begun, or cannot be written."""
        given = self._conversation.inbox[0]

        def begin() -> None:
            now_ms, reading_id = session.clock.read_ms(), self._make_id()
            repeatable = isinstance(self._agent, RepeatableAgent)
            session.record(begin_turn(self._conversation, now_ms, reading_id, repeatable=repeatable))

        answer = await give_turn(self._agent, given, begin)
        session.record(conclude_turn(self._conversation, answer, self._make_id()))


async def give_turn(agent: Agent, given: Input, begin: Callable[[], None]) -> Answer:
    """How the agent's turn ended.

    :shape: as `Agent`; the agent calls `begin`
    :units: none
    :errors: before it has begun, what the agent raises (`ShellError` where it cancels itself), and
        `UnavailableError` if it never does; afterwards a failed `Answer`
    :source: ours, docs/writing-a-host.md
    """
    begun = False

    def note() -> None:
        nonlocal begun
        begin()
        begun = True

    try:
        try:
            answer = await agent.answer(given, note)
        except anyio.get_cancelled_exc_class() as stray:
            await anyio.lowlevel.checkpoint()  # ends here if it is the caller that is cancelled
            raise ShellError("the agent's work was cancelled.") from stray
    except Exception as trouble:
        if not begun:
            raise
        return Answer(kind="failed", detail={"error": describe_trouble(trouble)})
    if not begun:
        raise UnavailableError("the agent ended a turn that it did not begin.")
    return answer


def load_conversation(session: Session) -> Conversation:
    """Have a session load its log: where its conversation stood then; nowhere in an unreadable log.

    :shape: a `Conversation`
    :units: none
    :errors: none
    :source: spec section 13
    """
    session.load()
    checkpoint = session.checkpoint
    return Conversation() if checkpoint is None else checkpoint.conversation


def describe_trouble(trouble: Exception) -> str:
    """An exception of the agent's, for the log: the one that matters of a group of one, and why.

    :shape: `kind: words`
    :units: characters, 200 at most
    :errors: none
    :source: ours, docs/webhooks.md
    """
    while isinstance(trouble, ExceptionGroup) and len(trouble.exceptions) == 1:
        trouble = trouble.exceptions[0]
    why: BaseException | None = trouble
    while why is not None and not str(why):  # a library may leave the words to what was the cause
        why = why.__cause__ or why.__context__
    return f"{type(trouble).__name__}: {why or ''}"[:_ERROR_CHARACTERS_MAX]
