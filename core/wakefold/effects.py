"""What an owner can order: effects for a shell to perform, in order, closed (spec section 8).

Each says what it is answered with. This module is the vocabulary alone; `lifecycle` decides.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from wakefold.edits import Skip, StatedDispatch
from wakefold.events import Dispatch
from wakefold.records import CalendarRecord

#: What an owner warns of.
#:
#: :shape: text; all but `idle_wait_failed`, `preflight_failed`, `followup_failed` and `barrier_failed`
#:     fault the owner for good
#: :units: none
#: :errors: none, these tell of them
#: :source: spec section 8
WarningKind = Literal[
    "owner_failed",
    "idle_wait_failed",
    "corrupt_log",
    "preflight_failed",
    "followup_failed",
    "append_failed",
    "barrier_failed",
]


class TakeTurn(Struct, frozen=True, tag=True):
    """Ask for a turn in the FIFO that the tools share.

    :shape: no fields; answer `TurnCame`
    :units: none
    :errors: none: a turn comes, late if need be
    :source: spec section 8
    """


class EndTurn(Struct, frozen=True, tag=True):
    """The turn is over; the FIFO goes on.

    :shape: no fields; no answer
    :units: none
    :errors: none: it cannot be refused
    :source: spec section 8
    """


class Flush(Struct, frozen=True, tag=True):
    """Ask for the barrier.

    :shape: no fields; answer `Flushed` or `FlushRefused`
    :units: none
    :errors: whatever is no acknowledgement is `FlushRefused`; a clock that fails after one is `Broke`
    :source: spec section 8
    """


class Arm(Struct, frozen=True, tag=True):
    """Set the timer, once, to `delay_ms` from now.

    :shape: `{type: "Arm", untilMs, delayMs}` over a pipe, `until_ms` is what it is for; answer `Nudged`
    :units: `until_ms` epoch milliseconds UTC, `delay_ms` milliseconds from 0 to 2,147,483,647
    :errors: an exception is `Broke`
    :source: spec sections 7 and 8
    """

    until_ms: int
    delay_ms: int


class Disarm(Struct, frozen=True, tag=True):
    """Cancel the timer, if one is set.

    :shape: no fields; no answer
    :units: none
    :errors: an exception is `Broke`
    :source: spec section 8
    """


class Claim(Struct, frozen=True, tag=True):
    """Ask for the host's idle phase.

    :shape: no fields; answer `ClaimGranted` or `ClaimBusy`
    :units: none
    :errors: an exception is `Broke`, which faults the owner for good
    :source: spec section 8
    """


class HandOver(Struct, frozen=True, tag=True):
    """Queue the message, then append every change, one order that is not interrupted.

    Without a message nothing is queued: what was too late is left out, and the changes say so.

    :shape: `{type: "HandOver", message, changes, occurrences}` over a pipe; `message` is a frame,
        `occurrences` are (id, occurrence) in its order; answer `HandedOver`, `FollowupFailed` or
        `AppendFailed`
    :units: occurrences are epoch milliseconds UTC
    :errors: `FollowupFailed` where nothing was queued, `AppendFailed` where the message may be queued
    :source: spec section 8; calendar.md section 3
    """

    message: str | None
    changes: tuple[Dispatch | StatedDispatch | Skip, ...]
    occurrences: tuple[tuple[str, int], ...]


class Release(Struct, frozen=True, tag=True):
    """Give the host's idle phase back.

    :shape: no fields; no answer
    :units: none
    :errors: an exception is `Broke`
    :source: spec section 8
    """


class AwaitIdle(Struct, frozen=True, tag=True):
    """Wait until the agent is idle.

    :shape: no fields; answer `IdleCame` or `IdleFailed`
    :units: none
    :errors: an exception is `IdleFailed`
    :source: spec section 8
    """


class Warn(Struct, frozen=True, tag=True):
    """Tell the operator.

    :shape: `{type: "Warn", kind}` over a pipe; no answer
    :units: none
    :errors: an exception is `Broke`
    :source: spec section 8
    """

    kind: WarningKind


class PassOver(Struct, frozen=True, tag=True):
    """Tell the operator of reminders that are due in zones which this tz database lacks.

    Each is told once in the life of an owner; nothing else waits for it.

    :shape: `{type: "PassOver", records}` over a pipe; no answer
    :units: targets are epoch milliseconds UTC
    :errors: an exception is `Broke`
    :source: spec section 8; calendar.md section 2
    """

    records: tuple[CalendarRecord, ...]


class Disposed(Struct, frozen=True, tag=True):
    """The owner is gone; nothing it started is outstanding.

    :shape: no fields; no answer
    :units: none
    :errors: none: nothing comes after it
    :source: spec section 8
    """


#: What an owner can order, closed.
#:
#: :shape: a union; over a pipe each is an object with its name as `type` and its fields in lower camel
#:     case
#: :units: instants are epoch milliseconds UTC, delays milliseconds
#: :errors: none; how an effect went comes back as a `Signal`
#: :source: spec section 8; ours, docs/writing-a-shell.md
Effect = (
    TakeTurn
    | EndTurn
    | Flush
    | Arm
    | Disarm
    | Claim
    | HandOver
    | Release
    | AwaitIdle
    | Warn
    | PassOver
    | Disposed
)
