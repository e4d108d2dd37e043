"""The live owner of one session, and its tools, on anyio: it performs what the core decides.

One FIFO gives turns to the owner's runs and to tool calls, and its worker is the only place where a
barrier is awaited. Facts go to the core as signals, orders come back as effects; claim, hand-over and
release are plain calls, so that nothing comes between them. There is no decision in this module.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, Final, assert_never

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup
from returns.pipeline import is_successful
from returns.result import Failure

from wakefold import (
    SCHEDULE_CHANGE,
    SEED,
    CorruptScheduleLog,
    Event,
    Profile,
    encode_change,
    fold,
    validate,
)
from wakefold import effects as order
from wakefold import signals as fact
from wakefold.events import Change
from wakefold.lifecycle import advance
from wakefold.owners import Owner, Phase
from wakefold.rejections import InternalError
from wakefold.tools import (
    Append,
    Appended,
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
from wakefold_shell.protocols import Clock, Followup, Host, Store

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


class Session:
    """One live session. `run` it in a task; `call` its tools from others.

    `on_warning` is told the kind of each warning; `on_wait`, whenever the session
    comes to rest, the instant (epoch ms) that it waits for (`None`: nothing is planned).
    With `once` the session ends when nothing is due. `fault` is what makes the log corrupt, `trouble`
    the last exception that store, host or clock raised: the core is told that one came, never which.
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
        self.owner = Owner(ledger=None)
        self.fault: CorruptScheduleLog | None = None
        self.trouble: Exception | None = None
        self._store, self._host, self._clock = store, host, clock
        self._profile, self._on_warning, self._on_wait = profile, on_warning, on_wait
        self._once = once
        self._position = 0
        self._now_ms = 0  # the last clock sample, which stamps what is appended after it
        self._signals: deque[fact.Signal] = deque()
        self._advancing = False
        self._queue: deque[Call | None] = deque()  # None: a turn for the owner
        self._stirred = anyio.Event()
        self._running: Call | None = None
        self._owner_has_turn = self._barrier_wanted = self._closed = False
        self._timer: anyio.CancelScope | None = None
        self._armed_for_ms = 0
        self._tasks: TaskGroup | None = None

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

    def signal(self, signal: fact.Signal) -> None:
        """Report a fact to the owner, and perform what it orders."""
        self._signals.append(signal)
        if self._advancing:
            return  # reported from inside an effect: heard once the effects beside it are done
        self._advancing = True
        try:
            while self._signals:
                self.owner, effects = advance(self.owner, self._signals.popleft())
                for effect in effects:
                    self.perform(effect)
        finally:
            self._advancing = False

    def went_idle(self) -> None:
        """The host tells that the agent has become idle."""
        self.signal(fact.WentIdle())

    def detach(self) -> None:
        """Another owner has taken the session: this one stops and warns of nothing."""
        self.signal(fact.Detached())

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
                self._on_wait(self._armed_for_ms if self._timer else None)
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
        self._owner_has_turn = True
        self.signal(fact.TurnCame())
        while self._owner_has_turn and self._barrier_wanted:
            self._barrier_wanted = False
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
        if not self._report():
            return Confirmed(log=None)
        return Confirmed(log=self.owner.ledger or self.fault)

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

    def _load(self) -> None:
        """Fold the whole log once; from here on it grows event by event."""
        try:
            folded = fold(self._store.read_events(0), self._store.seed_length, self._profile)
        except Exception as trouble:  # noqa: BLE001 - the owner says so, at its first look
            self.trouble = trouble
            return
        if is_successful(folded):
            self.owner = Owner(ledger=folded.unwrap())
            self._position = folded.unwrap().position
        else:
            self.fault = folded.failure()

    def _report(self) -> bool:
        """Tell the owner of every event that it has not seen; whether the log could be read."""
        try:
            events = list(self._store.read_events(self._position))
        except Exception as trouble:  # noqa: BLE001 - whatever the store raises, the log is unreadable
            self.trouble = trouble
            self.signal(fact.LogLost())
            return False
        for event in events:
            self._position += 1
            if self.fault is None and self.owner.ledger is not None:
                self.fault = validate(self.owner.ledger, event).swap().value_or(None)
            self.signal(fact.Recorded(event))
        return True

    def _append(self, changes: Sequence[Change]) -> StepAnswer:
        try:
            self._store.append(
                [
                    Event(SCHEDULE_CHANGE, self._position + index, self._now_ms, encode_change(change))
                    for index, change in enumerate(changes)
                ]
            )
        except Exception as trouble:  # noqa: BLE001 - the core decides what a failed append means
            self.trouble = trouble
            return Refused()
        finally:
            self._report()
        return Appended()

    def _sample(self) -> StepAnswer:
        try:
            self._now_ms = self._clock.read_ms()
            return Sampled(self._now_ms)
        except Exception as trouble:  # noqa: BLE001 - the core decides what a failed clock means
            self.trouble = trouble
            return Refused()

    def _read_log(self) -> StepAnswer:
        try:
            return LogRead(self._store.time_zone, list(self._store.read_events(0)))
        except Exception as trouble:  # noqa: BLE001 - the core decides what an unreadable log means
            self.trouble = trouble
            return Refused()

    def _answer_with_clock(self, kind: type[fact.Flushed | fact.ClaimGranted]) -> None:
        """Answer the owner with a fresh clock sample, every event reported before."""
        self._report()
        sample = self._sample()
        self.signal(kind(sample.now_ms) if isinstance(sample, Sampled) else fact.Broke())

    def perform(self, effect: order.Effect) -> None:
        """Do one effect; what takes time is only begun here."""
        match effect:
            case order.TakeTurn():
                self._queue.append(None)
                self._stirred.set()
            case order.EndTurn():
                self._owner_has_turn = False
            case order.Flush():
                self._barrier_wanted = True
            case order.Arm(until_ms=until_ms, delay_ms=delay_ms):
                self._arm(until_ms, delay_ms)
            case order.Disarm():
                self._disarm()
            case order.Claim():
                self._claim()
            case order.HandOver():
                self._hand_over(effect)
            case order.Release():
                self._host.release()
            case order.AwaitIdle():
                self._start(self._wait_idle)
            case order.Warn(kind=kind):
                self._on_warning(kind)
            case order.Disposed():
                self._stirred.set()
            case _:
                assert_never(effect)

    def _claim(self) -> None:
        try:
            granted = self._host.claim()
        except Exception as trouble:  # noqa: BLE001 - the core decides what a broken claim means
            self.trouble = trouble
            self.signal(fact.Broke())
            return
        if granted:
            self._answer_with_clock(fact.ClaimGranted)
        else:
            self.signal(fact.ClaimBusy())

    def _hand_over(self, handed: order.HandOver) -> None:
        """Queue the message, then append every dispatch, without giving up control in between."""
        try:
            self._host.hand_over(Followup(handed.message, handed.occurrences))
        except Exception as trouble:  # noqa: BLE001 - the core decides what a failed message means
            self.trouble = trouble
            self.signal(fact.FollowupFailed())
            return
        appended = isinstance(self._append(handed.changes), Appended)
        self.signal(fact.HandedOver() if appended else fact.AppendFailed())

    def _arm(self, until_ms: int, delay_ms: int) -> None:
        self._disarm()
        self._armed_for_ms = until_ms
        sleep = self._clock.plan_sleep(until_ms, delay_ms)
        self._timer = scope = anyio.CancelScope()

        async def wake() -> None:
            with scope:
                await sleep()
                self._timer = None
                self.signal(fact.Nudged())

        self._start(wake)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _wait_idle(self) -> None:
        try:
            await self._host.wait_idle()
        except Exception as trouble:  # noqa: BLE001 - the core decides what a failed wait means
            self.trouble = trouble
            self.signal(fact.IdleFailed())
        else:
            self.signal(fact.IdleCame())

    def _start(self, task: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if self._tasks is not None:  # effects come only while `run` runs
            self._tasks.start_soon(task)
