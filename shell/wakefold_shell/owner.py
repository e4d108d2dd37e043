"""The live owner of one session, and its tools, on anyio: it performs what the core decides.

One FIFO gives turns to the owner's runs and to tool calls, and its worker is the only place where a
barrier is awaited. There is no decision in this module.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final, assert_never

import anyio
import anyio.lowlevel
from returns.pipeline import is_successful
from returns.result import Failure

from wakefold import SEED, Profile
from wakefold import signals as fact
from wakefold import tools as step
from wakefold.conversations import draft_change
from wakefold.owners import Phase
from wakefold.rejections import InternalError
from wakefold.tools import ToolAnswer, ToolName, open_call
from wakefold_shell.errors import CompositionError, ReentryError, UnavailableError
from wakefold_shell.performer import Performer
from wakefold_shell.protocols import Clock, Host, Store

BARRIER_SECONDS_MAX: Final = 30.0
"""How long a barrier may take before it counts as not acknowledged."""


class Call:
    """One tool call in the FIFO: `submit` gives it, `cancel` takes it back as far as that goes."""

    def __init__(self) -> None:
        """A call that waits; `program` is what runs when its turn comes."""
        self.program: step.Program | None = None
        self.cancelled = False
        self.answer: ToolAnswer = Failure(InternalError())
        self.done = anyio.Event()

    def finish(self, answer: ToolAnswer) -> None:
        """Answer the call, once."""
        self.answer = answer
        self.done.set()

    def cancel(self) -> None:
        """Stop it before it appends anything; a call with nothing more to append completes."""
        self.cancelled = True


class Session(Performer):
    """One live session. `run` it in a task; `call` its tools from others.

    `on_warning` is told the kind of each warning; `on_wait`, whenever the session comes to rest, the
    instant (epoch ms) that it waits for (`None`: nothing is planned). `CompositionError` without a
    store, and for a child session (spec section 13).
    """

    def __init__(
        self,
        store: Store | None,
        host: Host,
        clock: Clock,
        *,
        profile: Profile = SEED,
        on_warning: Callable[[str], None] = lambda _: None,
        on_wait: Callable[[int | None], None] = lambda _: None,
    ) -> None:
        """The session's world, and who is told of what goes on."""
        if store is None:
            raise CompositionError("reminders need a store for the session's log: open one first.")
        if store.delegation_depth > 0:
            raise CompositionError(
                f"this is a child session (delegationDepth {store.delegation_depth}), which has no "
                "reminders: use those of the session that a person speaks to."
            )
        super().__init__(store, host, clock, profile)
        self.tell_warning, self._tell_wait = on_warning, on_wait
        self._queue: deque[Call | None] = deque()  # None: a turn for the owner
        self._stirred = anyio.Event()
        self._running: Call | None = None
        self._worker: int | None = None  # the task that awaits barriers
        self._confirmed = anyio.Event()
        self._confirmed_position = -1
        self._closed = False

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
            self._closed = True
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
        """Put a call into the FIFO; refusals that need no queue are answered already.

        `UnavailableError` after the end, `ReentryError` from inside a publication or a barrier, where
        waiting for the answer would never end.
        """
        self.refuse_reentry()
        if self._closed:
            raise UnavailableError("this session is closed: open it again.")
        opened = open_call(tool, arguments)
        call = Call()
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

    def dispose(self) -> None:
        """Ask the session to end: later calls are unavailable, waiting ones count as cancelled."""
        self._closed = True
        for call in (self._running, *self._queue):
            if call is not None:
                call.cancel()
        self.signal(fact.DisposeAsked())

    def recompute(self) -> None:
        """Have the owner look again, after a tool's barrier."""
        self.signal(fact.Nudged())

    async def confirm(self) -> bool:
        """Have a barrier in the FIFO: whether all that is in the log by now is durable."""
        return is_successful(await self.call("schedule_list", {}))

    async def wait_confirmed(self) -> None:
        """Return once all that is in the log by now is durable; it asks for no barrier of its own."""
        position = self._position
        while self._confirmed_position < position:
            await self._confirmed.wait()

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

    async def _run_call(self, call: Call, program: step.Program) -> None:
        answer: step.StepAnswer | None = None
        sampled = False
        while True:
            try:
                wanted = program.send(answer) if answer else next(program)
            except StopIteration as end:
                call.finish(end.value)
                return
            match wanted:
                case step.Barrier():
                    answer = await self._confirm()
                case step.ReadClock():
                    answer = self._sample()
                    sampled = isinstance(answer, step.Sampled)
                case step.ReadLog():
                    answer = self._read_log()
                case step.Append(change=change):
                    if call.cancelled:
                        call.finish(Failure(InternalError()))
                        return
                    if not sampled:
                        self._sample()  # a delete needs no clock but for the event's own time
                    answer = self._append([draft_change(change)])
                case _:
                    assert_never(wanted)

    async def _confirm(self) -> step.StepAnswer:
        """A tool's barrier: then the owner looks again, and the tool sees the log."""
        if not await self._flush():
            return step.Refused()
        with suppress(Exception):  # a recompute that fails never changes an answer
            self.recompute()
        return step.Confirmed(log=self._see_log())

    async def _flush(self) -> bool:
        """The barrier, never cancelled before its deadline; anything but true is a refusal."""
        confirmed = False
        position = self._position
        with anyio.move_on_after(BARRIER_SECONDS_MAX, shield=True):
            try:
                confirmed = await self.store.flush() is True
            except Exception as trouble:  # noqa: BLE001 - whatever the store raises means uncertain
                self.trouble = trouble
        await anyio.lowlevel.checkpoint()  # a session that was cancelled meanwhile ends here
        if confirmed:
            self._confirmed_position = position
            self._confirmed.set()
            self._confirmed = anyio.Event()
        return confirmed

    def _read_log(self) -> step.StepAnswer:
        try:
            return step.LogRead(self.store.time_zone, list(self.store.read_events(0)))
        except Exception as trouble:  # noqa: BLE001 - the core decides what an unreadable log means
            self.trouble = trouble
            return step.Refused()
