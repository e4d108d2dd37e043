"""What an owner can be told: facts from outside, closed (spec section 8).

A shell reports each as it happens. This module is the vocabulary alone; `lifecycle` decides.
"""

from __future__ import annotations

from msgspec import Struct

from wakefold.events import Event
from wakefold.guard import StopKey


class Nudged(Struct, frozen=True, tag=True):
    """Start, a durable change by a tool, or the timer: look again.

    :shape: no fields
    :units: none
    :errors: none when it is made, which checks nothing
    :source: spec section 8
    """


class WentIdle(Struct, frozen=True, tag=True):
    """The agent became idle.

    :shape: no fields; ignored while the own suffix holds no schedule event
    :units: none
    :errors: none when it is made, which checks nothing
    :source: spec section 8
    """


class TurnCame(Struct, frozen=True, tag=True):
    """The turn that was asked for has come.

    :shape: no fields; answers `TakeTurn`
    :units: none
    :errors: none when it is made, which checks nothing
    :source: spec section 8
    """


class Recorded(Struct, frozen=True, tag=True):
    """An event has entered the log, whoever wrote it.

    :shape: `{type: "Recorded", event}` over a pipe; the event stands at the place that the ledger has
        come to
    :units: of an `Event`
    :errors: none: a change that may not follow makes the log corrupt, and the next run warns of it
    :source: spec section 8
    """

    event: Event


class LogLost(Struct, frozen=True, tag=True):
    """The log cannot be read.

    :shape: no fields
    :units: none
    :errors: none: the next run warns of it, and the owner is faulted for good
    :source: spec section 8
    """


class Flushed(Struct, frozen=True, tag=True):
    """The barrier is acknowledged; `now_ms` is a fresh clock sample.

    :shape: `{type: "Flushed", nowMs}` over a pipe; answers `Flush`
    :units: `now_ms` is epoch milliseconds UTC
    :errors: none when it is made, which checks nothing
    :source: spec section 8
    """

    now_ms: int


class FlushRefused(Struct, frozen=True, tag=True):
    """The barrier is not acknowledged: refused, failed or timed out.

    :shape: no fields; answers `Flush`
    :units: none
    :errors: none when it is made, which checks nothing
    :source: spec section 8
    """


class ClaimGranted(Struct, frozen=True, tag=True):
    """The host's idle phase is held; `now_ms` is a fresh clock sample.

    :shape: `{type: "ClaimGranted", nowMs}` over a pipe; answers `Claim`
    :units: `now_ms` is epoch milliseconds UTC
    :errors: none when it is made, which checks nothing
    :source: spec section 8
    """

    now_ms: int


class ClaimBusy(Struct, frozen=True, tag=True):
    """The agent is busy.

    :shape: no fields; answers `Claim`
    :units: none
    :errors: none when it is made, which checks nothing
    :source: spec section 8
    """


class HandedOver(Struct, frozen=True, tag=True):
    """The message is queued and every change is appended.

    :shape: no fields; answers `HandOver`
    :units: none
    :errors: none when it is made, which checks nothing
    :source: spec section 8
    """


class FollowupFailed(Struct, frozen=True, tag=True):
    """The message was not queued; nothing was appended.

    :shape: no fields; answers `HandOver`
    :units: none
    :errors: none when it is made, which checks nothing
    :source: spec section 8
    """


class AppendFailed(Struct, frozen=True, tag=True):
    """The message may be queued, but not every change was appended.

    :shape: no fields; answers `HandOver`
    :units: none
    :errors: none: the owner is faulted for good
    :source: spec section 8
    """


class Broke(Struct, frozen=True, tag=True):
    """Anything else that a shell's effect raised.

    :shape: no fields; answers any effect
    :units: none
    :errors: none: the owner is faulted for good
    :source: spec section 8
    """


class IdleCame(Struct, frozen=True, tag=True):
    """The idle wait is over: the agent is idle.

    :shape: no fields; answers `AwaitIdle`
    :units: none
    :errors: none when it is made, which checks nothing
    :source: spec section 8
    """


class IdleFailed(Struct, frozen=True, tag=True):
    """The idle wait failed.

    :shape: no fields; answers `AwaitIdle`
    :units: none
    :errors: none when it is made, which checks nothing
    :source: spec section 8
    """


class Detached(Struct, frozen=True, tag=True):
    """Another owner has taken the session.

    :shape: no fields
    :units: none
    :errors: none when it is made, which checks nothing
    :source: spec section 8
    """


class DisposeAsked(Struct, frozen=True, tag=True):
    """The session or its plugin is being shut down.

    :shape: no fields
    :units: none
    :errors: none when it is made, which checks nothing
    :source: spec section 8
    """


class StopTold(Struct, frozen=True, tag=True):
    """The operator has been told of a stop by the guard.

    :shape: `{type: "StopTold", key}` over a pipe, the key of the stop, so that it is told once
    :units: of a `StopKey`
    :errors: none when it is made, which checks nothing
    :source: spec section 12
    """

    key: StopKey


#: What an owner can be told, closed.
#:
#: :shape: a union; over a pipe each is an object with its name as `type` and its fields in lower camel
#:     case
#: :units: clock samples are epoch milliseconds UTC
#: :errors: none: each says what has happened, a failure included
#: :source: spec section 8; ours, docs/writing-a-shell.md
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
