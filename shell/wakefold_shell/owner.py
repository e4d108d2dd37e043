"""The live owner of one session, and its tools, on anyio: it performs what the core decides.

One FIFO gives turns to the owner's runs and to tool calls, and its worker is the only place where a
barrier is awaited. There is no decision in this module.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Literal

import anyio
from returns.pipeline import is_successful
from returns.result import Failure

from wakefold import SEED, Profile
from wakefold import signals as fact
from wakefold import tools as step
from wakefold.guard import ADMITTED_TOOLS
from wakefold.guard_config import GuardConfig
from wakefold.owners import Phase
from wakefold.reaping import reap_reminders
from wakefold.rejections import InternalError
from wakefold.tools import ToolAnswer, ToolName, open_call
from wakefold_shell.calls import Call, ToolPerformer
from wakefold_shell.errors import CompositionError, ReentryError, UnavailableError
from wakefold_shell.protocols import Clock, Host, Store


class Session(ToolPerformer):
    """One live session. `run` it in a task; `call` its tools from others.

    `on_warning` is told the kind of each warning; `on_wait`, whenever the session comes to rest, the
    instant that it waits for (`None`: nothing is planned). Under protocol 1 its tools write version 1
    of the durable change alone, and refuse what needs more.

    :shape: tools take and answer JSON values; a refusal is a `Failure`
    :units: instants in epoch milliseconds UTC
    :errors: `CompositionError` without a store, and for a child session; later `UnavailableError` after
        the end, `ReentryError` from inside
    :source: spec sections 8, 11 and 13; ours, docs/tools.md
    """

    def __init__(  # noqa: PLR0913 - a session's world
        self,
        store: Store | None,
        host: Host,
        clock: Clock,
        *,
        profile: Profile = SEED,
        guard: GuardConfig | None = None,
        on_warning: Callable[[str], None] = lambda _: None,
        on_wait: Callable[[int | None], None] = lambda _: None,
        protocol: Literal[1, 2] = 2,
    ) -> None:
        """The session's world, and who is told of what goes on."""
        if store is None:
            raise CompositionError("reminders need a store for the session's log: open one first.")
        if store.delegation_depth > 0:
            raise CompositionError(
                f"this is a child session (delegationDepth {store.delegation_depth}), which has no "
                "reminders: use those of the session that a person speaks to."
            )
        super().__init__(store, host, clock, profile, guard)
        self.tell_warning, self._tell_wait = on_warning, on_wait
        self._queue: deque[Call | None] = deque()  # None: a turn for the owner
        self._stirred = anyio.Event()
        self._running: Call | None = None
        self._worker: int | None = None  # the task that awaits barriers
        self._closed = False
        self._protocol: Literal[1, 2] = protocol

    def on_turn(self) -> None:
        """A turn for the owner, after what waits already."""
        self._queue.append(None)
        self._stirred.set()

    def on_end(self) -> None:
        """Let the worker see that the owner is gone."""
        self._stirred.set()

    @property
    def resting(self) -> bool:
        """Whether nothing is under way or queued: the session waits for an instant or for somebody."""
        return self._running is None and not self._queue and not self.owner_has_turn

    async def run(self) -> None:
        """Own the session until it is disposed or cancelled; a bad log faults the owner, told once."""
        try:
            async with anyio.create_task_group() as self._tasks:
                self.load()
                self.signal(fact.Nudged())
                await self._work()
                self._tasks.cancel_scope.cancel()
        finally:
            self._closed, self._worker = True, None
            for call in (self._running, *self._queue):
                if call is not None:
                    call.finish(Failure(InternalError()))

    async def call(self, tool: ToolName, arguments: object) -> ToolAnswer:
        """The answer of a tool, in its turn. A cancelled caller leaves at once (spec section 11)."""
        call = self.submit(tool, arguments)
        try:
            await call.done.wait()
        finally:
            call.cancel()
        return call.answer

    def submit(self, tool: ToolName, arguments: object) -> Call:
        """Put a call into the FIFO; what is refused before it is answered already. Raises as `call`."""
        if self._closed:
            raise UnavailableError("this session is closed: open it again.")
        self.refuse_reentry()
        call = Call()
        guarded = self.owner.guard if tool in ADMITTED_TOOLS else None
        sample = step.Sampled(0) if guarded is None else self._sample()
        if not isinstance(sample, step.Sampled):
            call.finish(Failure(InternalError()))  # without a clock nothing is admitted
            return call
        opened = open_call(tool, arguments, guarded, sample.now_ms, self._protocol)
        if is_successful(opened):
            call.program = opened.unwrap()()
            self._queue.append(call)
            self._stirred.set()
        else:
            call.finish(Failure(opened.failure()))
        return call

    def refuse_reentry(self) -> None:
        """`ReentryError` if the caller is being called by this session, a barrier included."""
        super().refuse_reentry()
        if self._worker is not None and anyio.get_current_task().id == self._worker:
            raise ReentryError("the session was called from inside its own barrier.")

    def went_idle(self) -> None:
        """The host tells that the agent has become idle: the reaper looks first, then the owner."""
        if self.owner.guard is not None and not self._closed:
            reaping = Call()
            reaping.program = reap_reminders()
            self._queue.append(reaping)
            self._stirred.set()
        super().went_idle()

    def dispose(self) -> None:
        """Ask the session to end: later calls are unavailable, waiting ones count as cancelled."""
        self._closed = True
        for call in (self._running, *self._queue):
            if call is not None:
                call.cancel()
        self.signal(fact.DisposeAsked())

    async def confirm(self) -> bool:
        """Have a barrier in the FIFO: whether all that is in the log by now is durable."""
        return is_successful(await self.call("schedule_list", {}))

    async def _work(self) -> None:
        """Give turns, one at a time, until the owner is gone."""
        self._worker = anyio.get_current_task().id
        while self.owner.phase is not Phase.GONE:
            if not self._queue:
                self._stirred = anyio.Event()
                self._tell_wait(self._armed_for_ms if self._timer else None)
                await self._stirred.wait()
                continue
            self._running = self._queue.popleft()
            if self._running is None:
                await self._give_turn()
            elif self._running.cancelled or self._running.program is None:
                self._running.finish(Failure(InternalError()))
            else:
                await self._run_call(self._running, self._running.program)
            self._running = None

    async def _give_turn(self) -> None:
        self.owner_has_turn = True
        self.signal(fact.TurnCame())
        while self.owner_has_turn and self.barrier_wanted:
            self.barrier_wanted = False
            if await self._flush():
                self._answer_with_clock(fact.Flushed)
            else:
                self.signal(fact.FlushRefused())
