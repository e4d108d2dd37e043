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

from wakefold import (
    SEED,
    Profile,
)
from wakefold import signals as fact
from wakefold.owners import Phase
from wakefold.rejections import InternalError
from wakefold.tools import (
    Append,
    Barrier,
    Confirmed,
    LogRead,
    Program,
    ReadClock,
    ReadLog,
    Refused,
    Sampled,
    StepAnswer,
    ToolAnswer,
    ToolName,
    open_call,
)
from wakefold_shell.errors import ShellError
from wakefold_shell.performer import Performer
from wakefold_shell.protocols import Clock, Host, Store

BARRIER_SECONDS_MAX: Final = 30.0
"""How long a barrier may take before it counts as not acknowledged."""


class UnavailableError(ShellError):
    """The session is gone: a tool was called after its disposal, or its tasks have ended."""


class Call:
    """One tool call in the FIFO: `submit` gives it, `cancel` takes it back as far as that goes."""

    def __init__(self) -> None:
        """A call that waits; `program` is what runs when its turn comes."""
        self.program: Program | None = None
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
    instant (epoch ms) that it waits for (`None`: nothing is planned). With `once` the session ends when
    nothing is due.
    """

    def __init__(
        self,
        store: Store,
        host: Host,
        clock: Clock,
        *,
        profile: Profile = SEED,
        once: bool = False,
        on_warning: Callable[[str], None] = lambda _: None,
        on_wait: Callable[[int | None], None] = lambda _: None,
    ) -> None:
        """The session's world, and who is told of what goes on."""
        super().__init__(store, host, clock, profile)
        self._once, self._tell_warning, self._tell_wait = once, on_warning, on_wait
        self._queue: deque[Call | None] = deque()  # None: a turn for the owner
        self._stirred = anyio.Event()
        self._running: Call | None = None
        self._closed = False

    def on_turn(self) -> None:
        """A turn for the owner, after what waits already."""
        self._queue.append(None)
        self._stirred.set()

    def on_warning(self, kind: str) -> None:
        """Pass the warning on."""
        self._tell_warning(kind)

    def on_end(self) -> None:
        """Let the worker see that the owner is gone."""
        self._stirred.set()

    async def run(self) -> None:
        """Own the session until it is disposed or cancelled; a bad log faults the owner, told once."""
        try:
            async with anyio.create_task_group() as self._tasks:
                self._load()
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
        """Put a call into the FIFO; refusals that need no queue are answered already."""
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

    async def _work(self) -> None:
        """Give turns, one at a time, until the owner is gone."""
        while self.owner.phase is not Phase.GONE:
            if not self._queue and self._once:
                self.dispose()
            if not self._queue:
                self._tell_wait(self._armed_for_ms if self._timer else None)
                self._stirred = anyio.Event()
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

    async def _run_call(self, call: Call, program: Program) -> None:
        answer: StepAnswer | None = None
        sampled = False
        while True:
            try:
                step = program.send(answer) if answer else next(program)
            except StopIteration as end:
                call.finish(end.value)
                return
            match step:
                case Barrier():
                    answer = await self._confirm()
                case ReadClock():
                    answer = self._sample()
                    sampled = isinstance(answer, Sampled)
                case ReadLog():
                    answer = self._read_log()
                case Append(change=change):
                    if call.cancelled:
                        call.finish(Failure(InternalError()))
                        return
                    if not sampled:
                        self._sample()  # a delete needs no clock but for the event's own time
                    answer = self._append([change])
                case _:
                    assert_never(step)

    async def _confirm(self) -> StepAnswer:
        """A tool's barrier: then the owner looks again, and the tool sees the log."""
        if not await self._flush():
            return Refused()
        with suppress(Exception):  # a recompute that fails never changes an answer
            self.recompute()
        return Confirmed(log=self._see_log())

    async def _flush(self) -> bool:
        """The barrier, never cancelled before its deadline; anything but true is a refusal."""
        confirmed = False
        with anyio.move_on_after(BARRIER_SECONDS_MAX, shield=True):
            try:
                confirmed = await self._store.flush() is True
            except Exception as trouble:  # noqa: BLE001 - whatever the store raises means uncertain
                self.trouble = trouble
        await anyio.lowlevel.checkpoint()  # a session that was cancelled meanwhile ends here
        return confirmed

    def _read_log(self) -> StepAnswer:
        try:
            return LogRead(self._store.time_zone, list(self._store.read_events(0)))
        except Exception as trouble:  # noqa: BLE001 - the core decides what an unreadable log means
            self.trouble = trouble
            return Refused()
