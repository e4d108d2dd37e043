"""What tester and shell say to each other over a pipe, protocol 1: every request with its fields.

The tester plays the world: it tells the shell what happens. The shell's reply to that says that nothing
moves any more; before it replies, it asks the world for whatever it wants. The vocabulary alone;
`piped_shells` speaks it.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from wakefold_shell.pipes import requests
from wakefold_shell.pipes.requests import Request

#: Whether a session has an owner, or its tools alone.
Mode = Literal["owner", "tools"]
#: How a barrier ends.
FlushOutcome = Literal["ok", "false", "throw"]
#: The first request, as the core's pipe knows it.
Hello = requests.Hello


class Begin(Request, frozen=True, tag="begin"):
    """A session begins, and whatever was before is gone: read its log, and start its owner.

    In mode `tools` it has no owner: where one would be nudged after a tool's barrier, ask `recompute`.
    """

    mode: Mode
    seed_length: int
    time_zone: str | None


class TimerFired(Request, frozen=True, tag="timer_fired"):
    """The timer has run out."""


class WentIdle(Request, frozen=True, tag="went_idle"):
    """The agent tells that it has become idle."""


class IdleWaitEnded(Request, frozen=True, tag="idle_wait_ended"):
    """The idle wait that was asked for is over."""

    failed: bool


class FlushEnded(Request, frozen=True, tag="flush_ended"):
    """The outstanding barrier is answered; anything but `ok` is a refusal."""

    outcome: FlushOutcome


class Detached(Request, frozen=True, tag="detached"):
    """Another owner has taken the session. Comes also while the shell waits for a reply."""


class CallTool(Request, frozen=True, tag="call_tool"):
    """A tool is called, and not waited for; `cancelled` says that its caller has left already.

    After the session's end the reply is an error of the code `unavailable`.
    """

    label: str
    tool: str
    arguments: object
    cancelled: bool = False


class CancelCall(Request, frozen=True, tag="cancel_call"):
    """The caller of a tool has left."""

    label: str


class Dispose(Request, frozen=True, tag="dispose"):
    """The session ends."""


Happening = (
    Hello
    | Begin
    | TimerFired
    | WentIdle
    | IdleWaitEnded
    | FlushEnded
    | Detached
    | CallTool
    | CancelCall
    | Dispose
)
"""What the tester tells. One at a time, `detached` aside."""


class NewEvent(Struct, frozen=True):
    """An event to be; the log gives it its seq."""

    type: str
    time: int
    data: object


class ReadLog(Request, frozen=True, tag="read_log"):
    """The events of the log from a place on; fails if the log cannot be read."""

    start: int


class ReadClock(Request, frozen=True, tag="read_clock"):
    """The wall clock; may fail."""


class Append(Request, frozen=True, tag="append"):
    """Write events, in order; may fail, after some of them."""

    events: tuple[NewEvent, ...]


class Queue(Request, frozen=True, tag="queue"):
    """Queue a message for the agent; may fail."""

    message: str


class Claim(Request, frozen=True, tag="claim"):
    """Ask for the agent's idle phase; may fail."""


class Release(Request, frozen=True, tag="release"):
    """Give the idle phase back."""


class Flush(Request, frozen=True, tag="flush"):
    """Begin a barrier; `flush_ended` tells how it went."""


class Arm(Request, frozen=True, tag="arm"):
    """Set the timer to `delay_ms` from now; `until_ms` is what it is for."""

    until_ms: int
    delay_ms: int


class Disarm(Request, frozen=True, tag="disarm"):
    """Cancel the timer, if it is set."""


class AwaitIdle(Request, frozen=True, tag="await_idle"):
    """Begin to wait until the agent is idle; `idle_wait_ended` tells how it went."""


class Warn(Request, frozen=True, tag="warn"):
    """Tell the operator."""

    kind: str


class Answer(Request, frozen=True, tag="answer"):
    """What a tool call is answered with."""

    label: str
    value: object


class Recompute(Request, frozen=True, tag="recompute"):
    """Mode `tools`: an owner would be nudged now; may fail, which changes no answer."""


class Disposed(Request, frozen=True, tag="disposed"):
    """The session has ended."""


Wish = (
    ReadLog
    | ReadClock
    | Append
    | Queue
    | Claim
    | Release
    | Flush
    | Arm
    | Disarm
    | AwaitIdle
    | Warn
    | Answer
    | Recompute
    | Disposed
)
"""What the shell asks for. Each is replied to at once."""
