"""A shell without tasks: the core's owner and tools driven by plain calls.

The example of another shell. It shows all that a shell has to do: keep one FIFO for the owner's runs
and the tools, report every event before the answer that follows it, perform effects in order, and send
back what came of them. Time, disk and the agent are a `VirtualWorld`.
"""

from __future__ import annotations

from collections import deque
from typing import Any, assert_never

from returns.pipeline import is_successful
from returns.result import Failure

from wakefold import SCHEDULE_CHANGE, Event, encode_change, fold
from wakefold import effects as order
from wakefold import signals as fact
from wakefold import tools as tool
from wakefold.events import Change
from wakefold.lifecycle import advance
from wakefold.owners import Owner
from wakefold.rejections import InternalError
from wakefold_laws.virtual_world import VirtualWorld


class Call:
    """One tool call in the FIFO."""

    def __init__(self, label: str, program: tool.Program) -> None:
        self.label, self.program, self.cancelled = label, program, False


class SynchronousShell:
    """One session's owner and tools; every method returns once nothing moves."""

    def __init__(self, world: VirtualWorld) -> None:
        self.world = world
        world.driver = self
        self.owner = Owner(ledger=None)
        self.calls: dict[str, Call] = {}
        self._reported = 0
        self._idle_waits = 0
        self._facts: deque[fact.Signal] = deque()
        self._queue: deque[Call | None] = deque()  # None: a turn for the owner
        self._turn: Call | bool | None = False  # whose turn it is; False: nobody's
        self._unavailable = self._settling = False

    def start(self) -> None:
        """Fold the log and look at it for the first time."""
        self._reported = len(self.world.events)
        ledger = None if self.world.unreadable else fold(*self._log()).value_or(None)
        self.owner = Owner(ledger=ledger)
        self.signal(fact.Nudged())

    def signal(self, signal: fact.Signal) -> None:
        self._facts.append(signal)
        self._settle()

    def fire_timer(self) -> None:
        self.signal(fact.Nudged())

    def end_idle_waits(self, *, failed: bool) -> None:
        waits, self._idle_waits = self._idle_waits, 0
        for _ in range(waits):
            self.signal(fact.IdleFailed() if failed else fact.IdleCame())

    def start_call(self, label: str, name: Any, arguments: object) -> None:  # noqa: ANN401 - JSON
        if self._unavailable:
            self.world.note_result(label, {"unavailable": True})
            return
        opened = tool.open_call(name, arguments, protocol=1)
        if not is_successful(opened):
            self.world.note_result(label, tool.answer_value(Failure(opened.failure())))
            return
        self.calls[label] = Call(label, opened.unwrap()())
        self._queue.append(self.calls[label])
        self._settle()

    def cancel_call(self, label: str) -> None:
        self.calls[label].cancelled = True

    def dispose(self) -> None:
        self._unavailable, self._idle_waits = True, 0
        for call in self.calls.values():
            call.cancelled = True
        self.signal(fact.DisposeAsked())

    def complete_flush(self, outcome: str) -> None:
        """The barrier that the turn's holder waits for is answered."""
        if isinstance(self._turn, Call):
            if outcome == "ok":
                self._facts.append(fact.Nudged())
            self._step(self._turn, self._see() if outcome == "ok" else tool.Refused())
        elif outcome == "ok":
            self._report()
            self._facts.append(fact.Flushed(self.world.read_ms()))
        else:
            self._facts.append(fact.FlushRefused())
        self._settle()

    def _settle(self) -> None:
        if self._settling:
            return
        self._settling = True
        while self._facts or (self._turn is False and self._queue):
            if self._facts:
                self.owner, effects = advance(self.owner, self._facts.popleft())
                for effect in effects:
                    self._perform(effect)
                continue
            self._turn = self._queue.popleft()
            if self._turn is None:
                self._facts.append(fact.TurnCame())
            elif self._turn.cancelled:
                self._finish(self._turn, Failure(InternalError()))
            else:
                self._step(self._turn, None)
        self._settling = False

    def _perform(self, effect: order.Effect) -> None:
        match effect:
            case order.TakeTurn():
                self._queue.append(None)
            case order.EndTurn():
                self._turn = False
            case order.Flush():
                self.world.begin_flush()
            case order.Arm(delay_ms=delay_ms):
                self.world.arm(delay_ms)
            case order.Disarm():
                self.world.timer_ms = None
            case order.Claim():
                self._facts.extend(self._claim())
            case order.HandOver():
                self._facts.extend(self._hand_over(effect))
            case order.Release():
                self.world.release()
            case order.AwaitIdle():
                self.world.note_idle_wait()
                self._idle_waits += 1
            case order.Warn(kind=kind):
                self.world.warn(kind)
            case order.PassOver():
                pass  # for the operator, and no part of a transcript
            case order.Disposed():
                self.world.note_disposed()
            case _:
                assert_never(effect)

    def _claim(self) -> list[fact.Signal]:
        try:
            granted = self.world.claim()
        except OSError:
            return [fact.Broke()]
        self._report()
        return [fact.ClaimGranted(self.world.read_ms()) if granted else fact.ClaimBusy()]

    def _hand_over(self, handed: order.HandOver) -> list[fact.Signal]:
        try:
            if handed.message is not None:
                self.world.queue(handed.message)
        except OSError:
            return [fact.FollowupFailed()]
        appended = all(self._append(change) == tool.Appended() for change in handed.changes)
        self._report()
        return [fact.HandedOver() if appended else fact.AppendFailed()]

    def _report(self) -> None:
        """Tell the owner of every event that it has not seen."""
        if self.world.unreadable:
            self._facts.append(fact.LogLost())
            return
        self._facts.extend(map(fact.Recorded, self.world.events[self._reported :]))
        self._reported = len(self.world.events)

    def _step(self, call: Call, answer: tool.StepAnswer | None) -> None:
        """Run a tool's program until it waits for a barrier or is done."""
        while True:
            try:
                step = call.program.send(answer) if answer else next(call.program)
            except StopIteration as end:
                self._finish(call, end.value)
                return
            match step:
                case tool.Barrier():
                    self.world.begin_flush()
                    return
                case tool.ReadClock():
                    answer = tool.Sampled(self.world.read_ms())
                case tool.ReadLog():
                    answer = tool.LogRead(self.world.time_zone, self.world.events)
                case tool.Append(change=change):
                    if call.cancelled:
                        self._finish(call, Failure(InternalError()))
                        return
                    answer = self._append(change)
                case _:
                    assert_never(step)

    def _append(self, change: Change) -> tool.StepAnswer:
        place = len(self.world.events)
        event = Event(SCHEDULE_CHANGE, place, self.world.read_ms(), encode_change(change))
        try:
            self.world.append([event])
        except OSError:
            return tool.Refused()
        return tool.Appended()

    def _see(self) -> tool.StepAnswer:
        if self.world.unreadable:
            return tool.Confirmed(log=None)
        folded = fold(*self._log())
        return tool.Confirmed(folded.unwrap() if is_successful(folded) else folded.failure())

    def _log(self) -> tuple[list[Event], int]:
        return self.world.events, self.world.seed_length

    def _finish(self, call: Call, answer: tool.ToolAnswer) -> None:
        self._turn = False
        del self.calls[call.label]
        self.world.note_result(call.label, tool.answer_value(answer))
