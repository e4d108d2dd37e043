"""What an owner can order: effects for a shell to perform, in order, closed (spec section 8).

Each says what it is answered with. This module is the vocabulary alone; `lifecycle` decides.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from wakefold.edits import Skip, StatedDispatch
from wakefold.events import Dispatch
from wakefold.records import CalendarRecord

WarningKind = Literal[
    "owner_failed",
    "idle_wait_failed",
    "corrupt_log",
    "preflight_failed",
    "followup_failed",
    "append_failed",
    "barrier_failed",
]
"""What an owner warns of."""


class TakeTurn(Struct, frozen=True, tag=True):
    """Ask for a turn in the FIFO; answer `TurnCame`."""


class EndTurn(Struct, frozen=True, tag=True):
    """The turn is over; the FIFO goes on."""


class Flush(Struct, frozen=True, tag=True):
    """Ask for the barrier; answer `Flushed` or `FlushRefused`."""


class Arm(Struct, frozen=True, tag=True):
    """Set the timer, once, to `delay_ms` from now; answer `Nudged`. `until_ms` is what it is for."""

    until_ms: int
    delay_ms: int


class Disarm(Struct, frozen=True, tag=True):
    """Cancel the timer, if one is set."""


class Claim(Struct, frozen=True, tag=True):
    """Ask for the host's idle phase; answer `ClaimGranted`, `ClaimBusy` or `Broke`."""


class HandOver(Struct, frozen=True, tag=True):
    """Queue the message, then append every change; answer as it went. One order, not interrupted.

    Without a message nothing is queued: what was too late is left out, and the changes say so.
    """

    message: str | None
    changes: tuple[Dispatch | StatedDispatch | Skip, ...]
    occurrences: tuple[tuple[str, int], ...]


class Release(Struct, frozen=True, tag=True):
    """Give the host's idle phase back."""


class AwaitIdle(Struct, frozen=True, tag=True):
    """Wait until the agent is idle; answer `IdleCame` or `IdleFailed`."""


class Warn(Struct, frozen=True, tag=True):
    """Tell the operator."""

    kind: WarningKind


class PassOver(Struct, frozen=True, tag=True):
    """Tell the operator of reminders that are due in zones which this tz database lacks.

    Each is told once in the life of an owner; nothing else waits for it (calendar.md section 2).
    """

    records: tuple[CalendarRecord, ...]


class Disposed(Struct, frozen=True, tag=True):
    """The owner is gone; nothing it started is outstanding."""


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
