"""What an owner can be told: facts from outside, closed (spec section 8).

A shell reports each as it happens. This module is the vocabulary alone; `lifecycle` decides.
"""

from __future__ import annotations

from msgspec import Struct

from wakefold.events import Event
from wakefold.guard import StopKey


class Nudged(Struct, frozen=True, tag=True):
    """Start, a durable change by a tool, or the timer: look again."""


class WentIdle(Struct, frozen=True, tag=True):
    """The agent became idle."""


class TurnCame(Struct, frozen=True, tag=True):
    """The turn that was asked for has come."""


class Recorded(Struct, frozen=True, tag=True):
    """An event has entered the log, whoever wrote it."""

    event: Event


class LogLost(Struct, frozen=True, tag=True):
    """The log cannot be read."""


class Flushed(Struct, frozen=True, tag=True):
    """The barrier is acknowledged; `now_ms` is a fresh clock sample (epoch ms)."""

    now_ms: int


class FlushRefused(Struct, frozen=True, tag=True):
    """The barrier is not acknowledged: refused, failed or timed out."""


class ClaimGranted(Struct, frozen=True, tag=True):
    """The host's idle phase is held; `now_ms` is a fresh clock sample (epoch ms)."""

    now_ms: int


class ClaimBusy(Struct, frozen=True, tag=True):
    """The agent is busy."""


class HandedOver(Struct, frozen=True, tag=True):
    """The message is queued and every change is appended."""


class FollowupFailed(Struct, frozen=True, tag=True):
    """The message was not queued; nothing was appended."""


class AppendFailed(Struct, frozen=True, tag=True):
    """The message may be queued, but not every change was appended."""


class Broke(Struct, frozen=True, tag=True):
    """Anything else that a shell's effect raised."""


class IdleCame(Struct, frozen=True, tag=True):
    """The idle wait is over: the agent is idle."""


class IdleFailed(Struct, frozen=True, tag=True):
    """The idle wait failed."""


class Detached(Struct, frozen=True, tag=True):
    """Another owner has taken the session."""


class DisposeAsked(Struct, frozen=True, tag=True):
    """The session or its plugin is being shut down."""


class StopTold(Struct, frozen=True, tag=True):
    """The operator has been told of a stop by the guard."""

    key: StopKey


Signal = (
    Nudged
    | WentIdle
    | TurnCame
    | Recorded
    | LogLost
    | Flushed
    | FlushRefused
    | ClaimGranted
    | ClaimBusy
    | HandedOver
    | FollowupFailed
    | AppendFailed
    | Broke
    | IdleCame
    | IdleFailed
    | Detached
    | DisposeAsked
    | StopTold
)
