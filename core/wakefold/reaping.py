"""The reaper as a pure program, run in the FIFO whenever the agent becomes idle (spec section 12).

It goes like a tool's program (`tools`): a barrier first, then what the guard decides, then the deletes
as ordinary events, then a barrier. This module decides what is told of a stop, and that once; it
refuses to tell it.
"""

from __future__ import annotations

from collections.abc import Generator

from msgspec import Struct

from wakefold.events import Delete
from wakefold.guard import Stop, reap
from wakefold.ledger import Ledger
from wakefold.tools import (
    Append,
    Appended,
    Barrier,
    Confirmed,
    ReadClock,
    Sampled,
    StepAnswer,
    ToolStep,
)


class Reaped(Struct, frozen=True):
    """What came of it: a stop that is to be told, if there is one, as of `now_ms`.

    Whoever tells it reports `StopTold`. `confirmed` says whether the deletes are known to be durable.
    """

    stop: Stop | None = None
    now_ms: int = 0
    confirmed: bool = True


#: One look of the reaper, to be driven step by step.
ReapProgram = Generator[ToolStep, StepAnswer, Reaped]


def reap_reminders() -> ReapProgram:
    """Delete what a passed limit demands.

    Where the log cannot be read or is not durable, where the clock or an append fails, nothing is told:
    the next idle tries again.
    """
    answer = yield Barrier()
    if not isinstance(answer, Confirmed) or not isinstance(answer.log, Ledger):
        return Reaped()
    sampled = yield ReadClock()
    guard = answer.guard
    if guard is None or not isinstance(sampled, Sampled):
        return Reaped()
    stop = reap(guard.wakeups, answer.log, guard.config, sampled.now_ms)
    if stop is None:
        return Reaped()
    for record in stop.to_delete:
        if not isinstance((yield Append(Delete(id=record.id))), Appended):
            return Reaped()
    confirmed = not stop.to_delete or isinstance((yield Barrier()), Confirmed)
    return Reaped() if stop.key in guard.told else Reaped(stop, sampled.now_ms, confirmed)
