"""Performing what a tool's program asks for, step by step: one match, no decision.

The same runs the reaper's program. A barrier is awaited here and nowhere else, by the one worker that
gives turns (`owner`).
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final, assert_never

import anyio
import anyio.lowlevel
from returns.result import Failure

from wakefold import signals as fact
from wakefold import tools as step
from wakefold.conversations import draft_change
from wakefold.reaping import Reaped, ReapProgram
from wakefold.rejections import InternalError
from wakefold.tools import ToolAnswer
from wakefold_shell.performer import Performer

BARRIER_SECONDS_MAX: Final = 30.0
"""How long a barrier may take before it counts as not acknowledged."""


class Call:
    """One tool call in the FIFO: `submit` gives it, `cancel` takes it back as far as that goes."""

    def __init__(self) -> None:
        """A call that waits; `program` is what runs when its turn comes."""
        self.program: step.Program | ReapProgram | None = None
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


class ToolPerformer(Performer):
    """A performer that runs tools' programs, too."""

    @property
    def durable_length(self) -> int:
        """How many events of the log are known to be durable."""
        return max(self._confirmed_position, 0)

    async def wait_confirmed(self) -> None:
        """Return once all that is in the log by now is durable; it asks for no barrier of its own."""
        position = self._position
        while self._confirmed_position < position:
            await self._confirmed.wait()

    def recompute(self) -> None:
        """Have the owner look again, after a tool's barrier."""
        self.signal(fact.Nudged())

    async def _run_call(self, call: Call, program: step.Program | ReapProgram) -> None:
        answer: step.StepAnswer | None = None
        sampled = False
        while True:
            try:
                wanted = program.send(answer) if answer else next(program)
            except StopIteration as end:
                self._finish(call, end.value)
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

    def _finish(self, call: Call, answer: ToolAnswer | Reaped) -> None:
        if not isinstance(answer, Reaped):
            call.finish(answer)
        elif answer.stop is not None:
            self.tell_stop(answer)
            self.signal(fact.StopTold(answer.stop.key))

    async def _confirm(self) -> step.StepAnswer:
        """A tool's barrier: then the owner looks again, and the tool sees the log."""
        if not await self._flush():
            return step.Refused()
        with suppress(Exception):  # a recompute that fails never changes an answer
            self.recompute()
        return step.Confirmed(log=self._see_log(), guard=self.owner.guard)

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
