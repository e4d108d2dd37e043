"""A session directory, lived in: store, owner, agent and door put together.

The first warning ends it: a barrier that is not acknowledged or an agent that cannot be reached is for
the operator to mend, and nothing that waits is lost meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final, Literal

import anyio
from anyio.abc import TaskGroup, TaskStatus

from wakefold import SEED, Profile
from wakefold.events import Json
from wakefold.guard_config import GuardConfig
from wakefold.reaping import Reaped
from wakefold.records import CalendarRecord
from wakefold.rejections import shorten
from wakefold.tools import ToolAnswer, ToolName
from wakefold_shell.doors import Door
from wakefold_shell.errors import LostAnswerError, ShellError, UnavailableError, show_path
from wakefold_shell.guarding import Watchman
from wakefold_shell.hosts.inboxes import Agent, InboxHost
from wakefold_shell.owner import Session
from wakefold_shell.protocols import Clock
from wakefold_shell.sockets import open_door, serve
from wakefold_shell.stores.checkpoints import CheckpointKeeper, Reading
from wakefold_shell.stores.journal_store import choose_store, open_store
from wakefold_shell.stores.journals import StoreKind, explain_corruption
from wakefold_shell.stores.lines import LINE_BYTES_MAX
from wakefold_shell.stores.logs import LogStore
from wakefold_shell.stores.rows import Header

_SENTENCES: Final = {
    "owner_failed": "the owner of this session failed: look at the clock and the host, then run again",
    "idle_wait_failed": "waiting for the agent failed: run again",
    "corrupt_log": "the log cannot be read: restore it from a backup",
    "preflight_failed": "the store does not confirm that the log is durable: check the disk, run again",
    "followup_failed": "the reminder could not be handed over and stays due: run again",
    "append_failed": "a dispatch could not be written, the reminder may come again: check the disk",
    "barrier_failed": "a dispatch is not confirmed, the reminder may come again: check the disk",
}


class Runner:
    """One session of a directory. `run` it in a task; `call`, `say` and `stop` from any other.

    With `once` it ends when nothing is due and no turn is left. `watchman` is the guard, if it is on;
    `checkpoint` says whether the log may be read from one, and whether one is kept. Under protocol 1
    its tools refuse what needs version 2 of the durable change.

    :shape: `make_agent` is given the directory and the header; `tell` hears sentences such as that of a
        torn tail; `on_wait` hears what the session waits for whenever it comes to rest, `None` for
        nothing
    :units: `on_wait` in epoch milliseconds UTC; `line_bytes_max` in bytes
    :errors: `run` raises what ends it: `OwnedError`, `JournalError`, `ConfigError`, `CompositionError`
        for a child session, `ShellError` for the first warning or an agent that cannot be reached;
        those of a call or a word are their own
    :source: spec sections 8 and 13; ours, docs/running.md
    """

    def __init__(  # noqa: PLR0913 - the parts of a session
        self,
        directory: Path,
        make_agent: Callable[[Path, Header], Agent],
        clock: Clock,
        *,
        profile: Profile = SEED,
        store: StoreKind | None = None,
        watchman: Watchman | None = None,
        once: bool = False,
        checkpoint: bool = True,
        protocol: Literal[1, 2] = 2,
        line_bytes_max: int = LINE_BYTES_MAX,
        tell: Callable[[str], None] = lambda _: None,
        on_wait: Callable[[int | None], None] = lambda _: None,
    ) -> None:
        """The directory, and how to live in it."""
        self.directory = directory
        self._make_agent, self._clock, self._profile = make_agent, clock, profile
        self._once, self._line_bytes_max, self._tell = once, line_bytes_max, tell
        self._store, self._checkpoint, self._protocol = store, checkpoint, protocol
        self._tell_wait, self._watchman = on_wait, watchman
        self._notices = 0  # that are under way
        self._warning: str | None = None
        self._session: Session | None = None
        self._host: InboxHost | None = None
        self._door: Door | None = None
        self._stopped = False

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Own the session until it is stopped, or `once` all is done. `ShellError` for what ends it.

        It has started (`await tasks.start(runner.run)`) once it takes calls and words.
        """
        place = choose_store(self.directory, self._store)
        with open_store(place, self._line_bytes_max, self._tell) as store:
            if store.delegation_depth > 0 and self._watchman is not None:
                self._watchman.tell_inert(store.journal.header.id)
            agent = self._make_agent(self.directory, store.journal.header)
            host = self._host = InboxHost(agent, on_idle=lambda: self._note_idle(host))
            limits = None if self._watchman is None else self._watchman.find_limits(self.directory)
            reading = Reading.under(self._profile, limits)
            keeper = CheckpointKeeper(store, reading, self._tell, wanted=self._checkpoint)
            session = self._session = self._begin(store, host, limits, keeper)
            session_id = store.journal.header.id
            async with open_door(self.directory) as listener, anyio.create_task_group() as tasks:
                session.tell_stop = partial(self._stand_by, tasks, session, host, session_id)
                task_status.started()
                if not self._stopped:
                    self._door = Door(store, session, host, agent, tasks)
                    tasks.start_soon(serve, listener, self._door.answer)
                    try:
                        await host.run(session)
                    finally:
                        self._door = None
                tasks.cancel_scope.cancel()
            self._session = None
            keeper.renew()
            if host.trouble is not None:
                raise explain_trouble(host.trouble)
            if self._warning is not None:
                raise explain_warning(session, store, self._warning)

    async def ask(self, request: Json) -> Json | None:
        """The answer to a request of the door's, without going there; as `sockets.ask` gives it.

        `None` where the session does not live, `LostAnswerError` where it ended over the request.
        """
        if self._door is None:
            return None
        reply = await self._door.ask(request)
        if reply is None:
            raise LostAnswerError(self.directory)
        return reply

    async def call(self, tool: ToolName, arguments: object) -> ToolAnswer:
        """The answer of a tool; `UnavailableError` where the session does not live."""
        session, _ = self._find_life()
        return await session.call(tool, arguments)

    async def say(self, text: str, client_time_zone: str | None = None) -> str:
        """Put a person's word into the inbox, see `InboxHost.say`; `UnavailableError` out of a life."""
        session, host = self._find_life()
        return await host.say(session, text, client_time_zone)

    def stop(self) -> None:
        """Ask the session to end: an outstanding barrier is awaited, nothing more is written."""
        self._stopped = True
        if self._session is not None:
            self._session.dispose()

    def _find_life(self) -> tuple[Session, InboxHost]:
        if self._session is None or self._host is None:
            raise UnavailableError("this session does not live: run it first.")
        return self._session, self._host

    def _begin(
        self, store: LogStore, host: InboxHost, limits: GuardConfig | None, keeper: CheckpointKeeper
    ) -> Session:
        """The session with its log loaded, before the first wait: the log's file is let go again."""

        def rest(until_ms: int | None) -> None:
            keeper.renew()
            self._rest(host, until_ms)

        session = Session(
            store,
            host,
            self._clock,
            profile=self._profile,
            guard=limits,
            on_warning=self._note_warning,
            on_wait=rest,
            protocol=self._protocol,
        )
        session.tell_passed_over = self._tell_passed_over
        session.checkpoint = keeper.recall()
        host.follow(session)
        keeper.keep(session.checkpoint)
        if limits is not None and self._watchman is not None and session.owner.ledger is not None:
            self._watchman.greet(store.journal.header.id, limits)
        return session

    def _tell_passed_over(self, records: Sequence[CalendarRecord]) -> None:
        for record in records:
            self._tell(explain_passed_over(self.directory, record))

    def _note_warning(self, kind: str) -> None:
        self._warning = self._warning or kind
        self.stop()

    def _rest(self, host: InboxHost, until_ms: int | None) -> None:
        self._settle(host)
        if not self._once:
            self._tell_wait(until_ms if host.paused_until_ms is None else host.paused_until_ms)

    def _note_idle(self, host: InboxHost) -> None:
        if host.paused_until_ms is None:
            self._settle(host)
        else:
            self._rest(host, host.paused_until_ms)

    def _settle(self, host: InboxHost) -> None:
        session = self._session
        at_work = host.busy and host.paused_until_ms is None
        if session is None or not self._once or self._notices or at_work:
            return
        if session.resting:
            self.stop()

    def _stand_by(
        self, tasks: TaskGroup, session: Session, host: InboxHost, session_id: str, reaped: Reaped
    ) -> None:
        """A stop: tell the operator, and let the owner be told while the session goes on."""

        async def notify(watchman: Watchman, limits: GuardConfig) -> None:
            await watchman.tell_stop(session_id, limits, reaped)
            self._notices -= 1
            self._settle(host)

        if self._watchman is not None and session.guard is not None:
            self._notices += 1
            tasks.start_soon(notify, self._watchman, session.guard)


def explain_warning(session: Session, store: LogStore, kind: str) -> ShellError:
    """A warning as the sentence of an error, in the log's or the store's own words if there are any."""
    if session.fault is not None:
        return explain_corruption(store.journal, session.fault)
    if isinstance(session.trouble, ShellError):
        return session.trouble
    return ShellError(f"{_SENTENCES[kind]}.")


def explain_passed_over(place: Path, record: CalendarRecord) -> str:
    """Why a due reminder is passed over, as a sentence; `place` is its session's."""
    return (
        f"{show_path(place)}: reminder {shorten(record.id)} is due and passed over, "
        f"since this tz database lacks its zone, {record.rule.time_zone}: install a newer "
        "tzdata and run again, or update the reminder's zone."
    )


def explain_trouble(trouble: Exception) -> ShellError:
    """Why the agent could not be reached, as the sentence of an error."""
    if isinstance(trouble, ShellError):
        return trouble
    if isinstance(trouble, BrokenPipeError):
        return ShellError(
            "nobody reads standard output any more; the reminder stays in the inbox, run again."
        )
    return ShellError(
        f"the agent could not be given its turn ({type(trouble).__name__}); "
        "the message stays in the inbox, run again."
    )
