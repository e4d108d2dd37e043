"""What the core can be asked over a pipe, protocol 1: every request with its fields.

The vocabulary alone; `questions` and `services` answer. A field of the type `Ledger` or `Guard` is the
name under which one is kept, which may be an owner's.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from wakefold.events import Event, Json
from wakefold.guard import Guard
from wakefold.ledger import Ledger
from wakefold.signals import Signal
from wakefold.tools import StepAnswer, ToolName

#: The name of a profile, as the core has it.
ProfileName = Literal["seed", "published"]
#: Events of a log, in its order.
Events = tuple[Event, ...]


class Request(Struct, frozen=True, kw_only=True, tag_field="op"):
    """What all requests share: the name of the operation, their tag."""


class Hello(Request, frozen=True, tag="hello"):
    """The first request of a conversation."""

    protocol: int


class Fold(Request, frozen=True, tag="fold"):
    """Fold a whole log, and keep the ledger."""

    as_: str
    events: Events
    seed_length: int = 0
    profile: ProfileName = "seed"


class Evolve(Request, frozen=True, tag="evolve"):
    """Read on from a ledger, and keep what it has come to."""

    as_: str
    of: Ledger
    events: Events


class Show(Request, frozen=True, tag="show"):
    """All that a ledger holds."""

    of: Ledger


class Validate(Request, frozen=True, tag="validate"):
    """Whether an event may be appended."""

    of: Ledger
    event: Event


class Decide(Request, frozen=True, tag="decide"):
    """What is due, with its message and the changes to append, or how long to wait."""

    of: Ledger
    now_ms: int
    not_before_ms: int | None = None


class Plan(Request, frozen=True, tag="plan"):
    """When to look again."""

    of: Ledger
    now_ms: int
    not_before_ms: int | None = None


class ListViews(Request, frozen=True, tag="list"):
    """The active reminders as managing callers read them."""

    of: Ledger
    now_ms: int
    not_before_ms: int | None = None


class Present(Request, frozen=True, tag="present"):
    """The receipt of one event, null if it is no dispatch."""

    events: Events
    dispatch_seq: int
    seed_length: int = 0


class Receipts(Request, frozen=True, tag="receipts"):
    """The receipts of all dispatches."""

    events: Events
    seed_length: int = 0


class Count(Request, frozen=True, tag="count"):
    """Count a log's wakeups, and keep a guard that knows them."""

    as_: str
    events: Events
    seed_length: int = 0
    limits: Json | None = None


class Admit(Request, frozen=True, tag="admit"):
    """Why the guard refuses a tool call, null if it does not."""

    guard: Guard
    tool: str
    arguments: object
    now_ms: int


class Reap(Request, frozen=True, tag="reap"):
    """The stop that an idle session has come to, null if none."""

    of: Ledger
    guard: Guard
    now_ms: int


class Hold(Request, frozen=True, tag="hold"):
    """The instant before which the guard lets nothing go, null if there is no hold."""

    guard: Guard
    now_ms: int


class Open(Request, frozen=True, tag="open"):
    """Keep the live owner of a log; null events stand for a log that cannot be read.

    With limits it has a guard, which needs `now_ms`.
    """

    as_: str
    events: Events | None
    seed_length: int = 0
    profile: ProfileName = "seed"
    limits: Json | None = None
    now_ms: int | None = None


class Advance(Request, frozen=True, tag="advance"):
    """Report facts to an owner, in order; the effects of all of them come back, in order."""

    of: str
    signals: tuple[Signal, ...]


class Call(Request, frozen=True, tag="call"):
    """Keep the program of a tool call, or answer at once what needs no queue.

    A guard's admission needs `now_ms`.
    """

    as_: str
    tool: ToolName
    arguments: object
    guard: Guard | None = None
    now_ms: int | None = None


class Reaper(Request, frozen=True, tag="reaper"):
    """Keep the reaper's program, to be run in the FIFO when the agent has become idle."""

    as_: str
    guard: Guard


class Step(Request, frozen=True, tag="step"):
    """Tell a program what its last step came to."""

    of: str
    answer: StepAnswer


class Cancel(Request, frozen=True, tag="cancel"):
    """End a program before it is done; a call is answered as a cancelled one is."""

    of: str


class Tools(Request, frozen=True, tag="tools"):
    """The tools' definitions for a model."""


class Drop(Request, frozen=True, tag="drop"):
    """Forget what is kept under a name."""

    of: str


Question = (
    Show | Validate | Decide | Plan | ListViews | Present | Receipts | Admit | Reap | Hold | Tools
)
"""What changes nothing that is kept."""

Order = Hello | Fold | Evolve | Count | Open | Advance | Call | Reaper | Step | Cancel | Drop
"""What keeps something, moves it or forgets it."""

#: Every request that the core serves.
CoreRequest = Question | Order
