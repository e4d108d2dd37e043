"""A worker of a fleet: it wakes sessions at their time, and gives their messages to an agent.

Any number of workers share a database; the queue (pgqueuer) says which job is whose, takes over those
of a worker that died, and holds those that failed. This module decides what a job is answered with:
done, again later, or held. It refuses to know what is due.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial
from typing import Final, TypeAlias, cast
from uuid import uuid4

import anyio
from anyio.abc import TaskGroup, TaskStatus
from msgspec import Struct
from pgqueuer.core.qm import QueueManager
from pgqueuer.domain.errors import RetryRequested
from pgqueuer.domain.models import Job
from pgqueuer.domain.types import Channel

from wakefold.conversations import Answer
from wakefold.wakings import Waking, write_turn
from wakefold_shell.errors import ShellError
from wakefold_shell.fleet.databases import Connection, Pool, open_pool, refusals
from wakefold_shell.fleet.drivers import Anchor, SteadyDriver, persist
from wakefold_shell.fleet.leases import name_place
from wakefold_shell.fleet.schema import QUEUE_NAMES, check_schema, find_queue
from wakefold_shell.fleet.sweeps import sweep_overdue
from wakefold_shell.fleet.tails import Policy
from wakefold_shell.fleet.transactions import (
    FOLLOWUP,
    WAKE,
    Act,
    UnknownSessionError,
    Visit,
    do_nothing,
    read_key,
    visit_session,
)
from wakefold_shell.guarding import Watchman
from wakefold_shell.hosts.inboxes import Agent, RepeatableAgent, give_turn
from wakefold_shell.runners import explain_passed_over, explain_trouble
from wakefold_shell.stores.journal_store import OwnedError
from wakefold_shell.stores.rows import Header

#: How many agents a worker asks at once, by default.
#:
#: :shape: an integer
#: :units: agents
#: :errors: none
#: :source: ours, docs/fleet.md
CONCURRENCY: Final = 4

_WAKES_AT_ONCE: Final = 10
_QUEUE_CONNECTIONS: Final = 4  # which job is whose: one that is begun again does no harm
_PATIENCE: Final = timedelta(seconds=1)  # with a session whose agent another worker is asking
_TOLD_MAX: Final = 10_000

_Handler: TypeAlias = Callable[[Job], Awaitable[None]]


class Pace(Struct, frozen=True):
    """How quickly a worker does what waits for nobody.

    What a worker did that died is taken over after `heartbeat_seconds` and `dequeue_seconds` at the
    latest. Whoever is asked to stop gives its agents `drain_seconds`.

    :shape: numbers that may have a fraction
    :units: seconds
    :errors: none
    :source: ours, docs/fleet.md
    """

    heartbeat_seconds: float = 6.0
    dequeue_seconds: float = 3.0
    sweep_seconds: float = 60.0
    drain_seconds: float = 30.0
    restart_seconds: float = 1.0


DEFAULT_PACE: Final = Pace()
"""Takeover in less than ten seconds."""


class Worker:
    """One worker. `run` it in a task, and `stop` it from another one of the same loop.

    `make_agent` is given a session's header, once for each message. `watchman` tells of the guard's
    stops; `tell` hears sentences such as why a job is held.

    :shape: `dsn` is `postgresql://user@host/database`; `tell` hears sentences
    :units: `concurrency` counts agents
    :errors: `run` raises `FleetError` where the database cannot be used, `ShellError` where nobody
        reads what is delivered; a job that fails is told and held
    :source: ours, docs/fleet.md
    """

    def __init__(
        self,
        dsn: str,
        policy: Policy,
        make_agent: Callable[[Header], Agent],
        *,
        concurrency: int = CONCURRENCY,
        watchman: Watchman | None = None,
        tell: Callable[[str], None] = lambda _: None,
        pace: Pace = DEFAULT_PACE,
    ) -> None:
        """Where the database is, how sessions are read, who answers, and how many at once."""
        self._dsn, self._policy, self._make_agent = dsn, policy, make_agent
        self._concurrency, self._watchman, self._tell, self._pace = concurrency, watchman, tell, pace
        self._stopping = asyncio.Event()
        self._anchor = Anchor(dsn, self._stopping)
        self._limiter = anyio.CapacityLimiter(concurrency)
        self._asking: set[anyio.CancelScope] = set()
        self._told: set[tuple[str, str]] = set()
        self._trouble: ShellError | None = None
        self._pool: Pool
        self._queue_pool: Pool
        self._tasks: TaskGroup

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Work until `stop`; `ShellError` where there is no database, or nobody to deliver to.

        It has started (`await tasks.start(worker.run)`) once it has seen the database.
        """
        size = _WAKES_AT_ONCE + self._concurrency
        async with (
            open_pool(self._dsn, size) as self._pool,
            open_pool(self._dsn, _QUEUE_CONNECTIONS, waits_for_disk=False) as self._queue_pool,
        ):
            with refusals():
                async with self._pool.acquire() as pooled:
                    await check_schema(cast("Connection", pooled))
            await self._anchor.open()
            try:
                async with anyio.create_task_group() as self._tasks:
                    for task in (self._anchor.keep, self._keep_sweeping, self._drain):
                        self._tasks.start_soon(task)
                    task_status.started()
                    async with anyio.create_task_group() as managers:
                        managers.start_soon(self._manage, WAKE, self._wake, 2 * _WAKES_AT_ONCE)
                        managers.start_soon(self._manage, FOLLOWUP, self._follow_up, self._concurrency)
                    self._tasks.cancel_scope.cancel()
            finally:
                self._anchor.close()
        if self._trouble is not None:
            raise self._trouble

    def stop(self) -> None:
        """Ask for the end: nothing more is begun. Asked again, agents are not waited for."""
        if self._stopping.is_set():
            self._leave()
        self._stopping.set()

    async def _drain(self) -> None:
        await self._stopping.wait()
        await anyio.sleep(self._pace.drain_seconds)
        self._leave()

    def _leave(self) -> None:
        """Cancel the agents that still answer; their messages are for other workers."""
        for scope in self._asking:
            scope.cancel()

    async def _manage(self, kind: str, handler: _Handler, at_once: int) -> None:
        """Answer the jobs of one kind; where the queue's own work fails, take it up again."""
        driver_of = partial(SteadyDriver, self._queue_pool, self._anchor, self._stopping)
        while not self._stopping.is_set():
            queue = find_queue(driver_of(tell_away=self._tell_away))
            manager = QueueManager(queue, Channel(QUEUE_NAMES.channel))
            manager.shutdown = self._stopping
            manager.entrypoint(kind, on_failure="hold")(partial(self._answer, handler))
            try:
                await manager.run(
                    dequeue_timeout=timedelta(seconds=self._pace.dequeue_seconds),
                    heartbeat_timeout=timedelta(seconds=self._pace.heartbeat_seconds),
                    batch_size=max(1, at_once // 2),
                    max_concurrent_tasks=max(2, at_once),
                )
            except Exception as error:  # noqa: BLE001 - a worker goes on, whatever the queue met
                if not self._stopping.is_set():
                    self._tell(f"the queue failed ({type(error).__name__}); it is taken up again.")
                with anyio.move_on_after(self._pace.restart_seconds):
                    await self._stopping.wait()

    async def _keep_sweeping(self) -> None:
        while True:
            try:
                await persist(lambda: sweep_overdue(self._pool), self._stopping)
            except ShellError as error:
                if self._stopping.is_set():
                    return
                self._tell(str(error))
            await anyio.sleep(self._pace.sweep_seconds)

    async def _answer(self, handler: _Handler, job: Job) -> None:
        """One job; of what holds it a sentence is told."""
        try:
            await handler(job)
        except RetryRequested:
            raise
        except Exception as trouble:
            if not self._stopping.is_set():
                self._tell(f"{str(explain_trouble(trouble)).removesuffix('.')}; the job is held.")
            raise

    async def _wake(self, job: Job) -> None:
        visit = await self._visit(job, do_nothing)
        if visit is not None and visit.come_back_ms is not None:
            raise RetryRequested(timedelta(milliseconds=visit.come_back_ms), "early")

    async def _follow_up(self, job: Job) -> None:
        """Give the agent the message, unless another worker is asking it just now."""
        key = read_key(_read_name(job))
        async with self._limiter:
            if self._stopping.is_set():
                raise RetryRequested(timedelta(0), "the worker leaves")
            if not await self._anchor.hold(key):
                raise RetryRequested(_PATIENCE, "another worker has the session")
            try:
                await self._deliver(job)
            finally:
                with anyio.CancelScope(shield=True):
                    await self._anchor.let_go(key)

    async def _deliver(self, job: Job) -> None:
        visit = await self._visit(job, do_nothing)
        if visit is None or visit.come_back_ms is None:
            return  # the message is taken, or for another job
        if visit.come_back_ms > 0:
            raise RetryRequested(timedelta(milliseconds=visit.come_back_ms), "its pause is not over")
        given, begun_ms = visit.waking.waiting, visit.waking.now_ms
        assert given is not None  # noqa: S101 - a job of this name stands for a message
        agent, answers = self._make_agent(visit.header), list[Answer]()
        with anyio.CancelScope() as scope:
            self._asking.add(scope)
            try:
                answers.append(await give_turn(agent, given, lambda: None))
            except BrokenPipeError as trouble:  # for good: the reader of this worker is gone
                self._trouble = explain_trouble(trouble)
                self.stop()
            finally:
                self._asking.discard(scope)
        if not answers:
            raise RetryRequested(timedelta(0), "the worker had to leave")

        def act(waking: Waking) -> tuple[Waking, None]:
            ids = (str(uuid4()), str(uuid4()))
            repeatable = isinstance(agent, RepeatableAgent)
            return write_turn(waking, given, answers[0], begun_ms, ids, repeatable=repeatable), None

        ended = await self._visit(job, act)
        if ended is not None:
            self._tell_stop(ended)
            if ended.come_back_ms is not None:
                raise RetryRequested(timedelta(milliseconds=ended.come_back_ms), "it is offered again")

    async def _visit(self, job: Job, act: Act[None]) -> Visit[None] | None:
        """A visit for a job; `None` where the session is not the fleet's, or not there any more."""
        name = _read_name(job)
        key = read_key(name)
        try:
            visit = await persist(
                lambda: visit_session(self._pool, key, self._policy, act, name),
                self._stopping,
                self._tell_away,
            )
        except (OwnedError, UnknownSessionError):
            return None
        for record in visit.waking.passed_over:
            if (key, record.id) not in self._told and len(self._told) < _TOLD_MAX:
                self._told.add((key, record.id))
                self._tell(explain_passed_over(name_place(key), record))
        return visit

    def _tell_stop(self, visit: Visit[None]) -> None:
        limits, reaped = self._policy.limits, visit.waking.reaped
        if self._watchman is not None and limits is not None and reaped.stop is not None:
            self._tasks.start_soon(self._watchman.tell_stop, visit.header.id, limits, reaped)

    def _tell_away(self) -> None:
        self._tell("the database cannot be reached; the worker goes on when it comes back.")


def _read_name(job: Job) -> str:
    return (job.payload or b"").decode()
