"""A shell without tasks: the core's owner and tools driven by plain calls.

It shows what any shell has to do: keep one FIFO, report every event before the answer that follows it,
perform effects in order, and send back what came of them. Time, files and the agent are its `World`.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol, assert_never

from returns.pipeline import is_successful
from returns.result import Failure

from wakefold import Event, fold
from wakefold.effects import (
    Arm,
    AwaitIdle,
    Claim,
    Disarm,
    Disposed,
    Effect,
    EndTurn,
    Flush,
    HandOver,
    Release,
    TakeTurn,
    Warn,
    WarningKind,
)
from wakefold.events import Change
from wakefold.lifecycle import advance
from wakefold.owners import Owner
from wakefold.rejections import InternalError
from wakefold.signals import (
    AppendFailed,
    Broke,
    ClaimBusy,
    ClaimGranted,
    DisposeAsked,
    Flushed,
    FlushRefused,
    FollowupFailed,
    HandedOver,
    LogLost,
    Nudged,
    Recorded,
    Signal,
    TurnCame,
)
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
    answer_value,
    open_call,
)


class World(Protocol):
    """What the shell stands on. A barrier is answered later, by `SynchronousShell.flushed`."""

    seed_length: int
    header_time_zone: str | None

    def read_events(self) -> list[Event]: ...
    def read_ms(self) -> int: ...
    def begin_flush(self) -> None: ...
    def append(self, change: Change) -> None: ...
    def queue(self, message: str) -> None: ...
    def claim(self) -> bool | None: ...
    def release(self) -> None: ...
    def await_idle(self) -> None: ...
    def arm(self, delay_ms: int) -> None: ...
    def disarm(self) -> None: ...
    def warn(self, kind: WarningKind) -> None: ...
    def disposed(self) -> None: ...
    def answer(self, label: str, value: object) -> None: ...


class Call:
    """One tool call in the FIFO."""

    def __init__(self, label: str, program: Program) -> None:
        self.label = label
        self.program = program
        self.cancelled = False


class SynchronousShell:
    """One session's owner and tools over a world. Every method returns once nothing moves."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.owner = Owner(ledger=None)
        self.calls: dict[str, Call] = {}
        self._reported = 0
        self._signals: deque[Signal] = deque()
        self._queue: deque[Call | None] = deque()  # None: the owner's turn
        self._busy: Call | bool | None = False  # whose turn it is; False: nobody's
        self._unavailable = False

    def start(self) -> None:
        """Fold the log and look at it for the first time."""
        try:
            events = self.world.read_events()
        except OSError:
            events = None
        if events is not None:
            self._reported = len(events)
            ledger = fold(events, self.world.seed_length).value_or(None)
            self.owner = Owner(ledger=ledger)
        self.signal(Nudged())

    def signal(self, signal: Signal) -> None:
        """Report a fact, and do all that follows from it."""
        self._signals.append(signal)
        self._settle()

    def signals_first(self, signal: Signal) -> None:
        """Report a fact from inside an effect: it is heard before the effect's own answer."""
        self._signals.append(signal)

    def call(self, label: str, tool: ToolName, arguments: object) -> None:
        """Start a tool call; its value is given to the world when it is done."""
        if self._unavailable:
            self.world.answer(label, {"unavailable": True})
            return
        opened = open_call(tool, arguments)
        if not is_successful(opened):
            self.world.answer(label, answer_value(Failure(opened.failure())))
            return
        self.calls[label] = Call(label, opened.unwrap()())
        self._queue.append(self.calls[label])
        self._settle()

    def dispose(self) -> None:
        """Shut down: later calls are unavailable, earlier ones count as cancelled."""
        self._unavailable = True
        for call in self.calls.values():
            call.cancelled = True
        self.signal(DisposeAsked())

    def flushed(self, acknowledged: bool) -> None:
        """The outstanding barrier is answered."""
        if isinstance(self._busy, Call):
            call = self._busy
            if acknowledged:
                self._signals.append(Nudged())
            self._step(call, self._confirm() if acknowledged else Refused())
        elif acknowledged:
            self._report()
            self._signals.append(Flushed(self.world.read_ms()))
        else:
            self._signals.append(FlushRefused())
        self._settle()

    def _settle(self) -> None:
        while self._signals or (self._busy is False and self._queue):
            if self._signals:
                self.owner, effects = advance(self.owner, self._signals.popleft())
                for effect in effects:
                    self._perform(effect)
                continue
            self._busy = self._queue.popleft()
            if self._busy is None:
                self._signals.append(TurnCame())
            elif self._busy.cancelled:
                self._finish(self._busy, Failure(InternalError()))
            else:
                self._step(self._busy, None)

    def _perform(self, effect: Effect) -> None:
        world = self.world
        match effect:
            case TakeTurn():
                self._queue.append(None)
            case EndTurn():
                self._busy = False
            case Flush():
                world.begin_flush()
            case Arm(delay_ms=delay_ms):
                world.arm(delay_ms)
            case Disarm():
                world.disarm()
            case Claim():
                self._claim()
            case HandOver():
                self._signals.append(self._hand_over(effect))
            case Release():
                world.release()
            case AwaitIdle():
                world.await_idle()
            case Warn(kind=kind):
                world.warn(kind)
            case Disposed():
                world.disposed()
            case _:
                assert_never(effect)

    def _claim(self) -> None:
        granted = self.world.claim()
        if granted is None:
            self._signals.append(Broke())
        elif granted:
            self._report()
            self._signals.append(ClaimGranted(self.world.read_ms()))
        else:
            self._signals.append(ClaimBusy())

    def _hand_over(self, order: HandOver) -> Signal:
        try:
            self.world.queue(order.message)
        except OSError:
            return FollowupFailed()
        try:
            for change in order.changes:
                self.world.append(change)
        except OSError:
            return AppendFailed()
        finally:
            self._report()
        return HandedOver()

    def _report(self) -> None:
        """Tell the owner of every event that it has not seen."""
        try:
            events = self.world.read_events()
        except OSError:
            self._signals.append(LogLost())
            return
        for index in range(self._reported, len(events)):
            self._signals.append(Recorded(events[index]))
        self._reported = len(events)

    def _confirm(self) -> Confirmed:
        try:
            events = self.world.read_events()
        except OSError:
            return Confirmed(log=None)
        folded = fold(events, self.world.seed_length)
        log = folded.unwrap() if is_successful(folded) else folded.failure()
        return Confirmed(log)

    def _step(self, call: Call, answer: StepAnswer | None) -> None:
        """Run a tool's program until it waits for a barrier or is done."""
        while True:
            try:
                step = call.program.send(answer) if answer else next(call.program)
            except StopIteration as end:
                self._finish(call, end.value)
                return
            match step:
                case Barrier():
                    self.world.begin_flush()
                    return
                case ReadClock():
                    answer = self._sample()
                case ReadLog():
                    answer = LogRead(self.world.header_time_zone, self.world.read_events())
                case Append(change=change):
                    if call.cancelled:
                        self._finish(call, Failure(InternalError()))
                        return
                    answer = self._append(change)
                case _:
                    assert_never(step)

    def _sample(self) -> StepAnswer:
        try:
            return Sampled(self.world.read_ms())
        except OSError:
            return Refused()

    def _append(self, change: Change) -> StepAnswer:
        try:
            self.world.append(change)
        except OSError:
            return Refused()
        return Appended()

    def _finish(self, call: Call, answer: ToolAnswer) -> None:
        self._busy = False
        del self.calls[call.label]
        self.world.answer(call.label, answer_value(answer))
