"""The state of a session's live owner (spec section 8).

What an owner is, which marks it carries, and how one begins with a log; how it moves is `lifecycle`'s
business alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from msgspec import Struct
from returns.result import Result

from wakefold.checkpoints import Checkpoint, begin_checkpoint, extend_checkpoint
from wakefold.events import Event
from wakefold.guard import Guard, resume_guard
from wakefold.guard_config import GuardConfig
from wakefold.ledger import Ledger
from wakefold.recurrence import Profile
from wakefold.rejections import CorruptScheduleLog
from wakefold.wakeups import RESET_KINDS


class Phase(Enum):
    """Where the owner's run stands."""

    #: No run is asked for.
    RESTING = "resting"
    #: A run waits for its turn in the FIFO.
    QUEUED = "queued"
    #: The barrier before the decision is outstanding.
    CHECKING = "checking"
    #: Something is due and the host's idle phase is asked for.
    CLAIMING = "claiming"
    #: The claim is held and the message is being handed over.
    HANDING = "handing"
    #: The barrier after the hand-over is outstanding.
    CONFIRMING = "confirming"
    #: Disposed; nothing happens any more.
    GONE = "gone"


class Owner(Struct, frozen=True, kw_only=True):
    """The owner of one session. `ledger` is `None` once the log is corrupt or unreadable.

    `again` asks for one more run after this one; `waits_for_idle` says that an idle wait is
    outstanding; `faulted` is for good; `live` ends when another owner takes the session. `guard` is
    what the guard knows of the log, `None` where none is set up. `passed_over` are the ids of due
    reminders that were told of, since this tz database lacks their zones.
    """

    ledger: Ledger | None
    guard: Guard | None = None
    phase: Phase = Phase.RESTING
    again: bool = False
    waits_for_idle: bool = False
    faulted: bool = False
    live: bool = True
    disposing: bool = False
    passed_over: tuple[str, ...] = ()


def open_owner(
    events: Iterable[Event],
    seed_length: int,
    profile: Profile,
    limits: GuardConfig | None = None,
    now_ms: int = 0,
) -> Result[Owner, CorruptScheduleLog]:
    """The owner of a whole log, folded in one pass, with the guard's limits where it is on.

    `now_ms` is for the guard alone: a stop that is nothing new after a restart is not told again.
    """
    kinds = RESET_KINDS if limits is None else limits.reset_kinds
    whole = extend_checkpoint(begin_checkpoint(seed_length, profile, kinds), events)
    return whole.map(lambda checkpoint: resume_owner(checkpoint, limits, now_ms))


def resume_owner(checkpoint: Checkpoint, limits: GuardConfig | None = None, now_ms: int = 0) -> Owner:
    """The same for a log that has been read already, counted with the `reset_kinds` of the limits."""
    ledger = checkpoint.ledger
    if limits is None:
        return Owner(ledger=ledger)
    guard = Guard(config=limits, seed_length=ledger.seed_length, wakeups=checkpoint.wakeups)
    return Owner(ledger=ledger, guard=resume_guard(guard, ledger, now_ms))


def may_run(owner: Owner) -> bool:
    """Whether the owner may begin or go on with a run."""
    return owner.live and not owner.faulted and not owner.disposing


def has_schedule(owner: Owner) -> bool:
    """Whether the own suffix holds any schedule event."""
    return owner.ledger is None or bool(owner.ledger.seen_ids)


def with_marks(  # noqa: PLR0913 - one for each mark
    owner: Owner,
    *,
    phase: Phase | None = None,
    again: bool | None = None,
    waits_for_idle: bool | None = None,
    faulted: bool | None = None,
    live: bool | None = None,
    disposing: bool | None = None,
    passed_over: tuple[str, ...] | None = None,
) -> Owner:
    """The owner with some of its marks set; built by constructor, so that types are checked."""
    return Owner(
        ledger=owner.ledger,
        guard=owner.guard,
        phase=owner.phase if phase is None else phase,
        again=owner.again if again is None else again,
        waits_for_idle=owner.waits_for_idle if waits_for_idle is None else waits_for_idle,
        faulted=owner.faulted if faulted is None else faulted,
        live=owner.live if live is None else live,
        disposing=owner.disposing if disposing is None else disposing,
        passed_over=owner.passed_over if passed_over is None else passed_over,
    )


def with_log(owner: Owner, ledger: Ledger | None, guard: Guard | None) -> Owner:
    """The owner after more of its log; `None` is the ledger of a log that is lost."""
    return Owner(
        ledger=ledger,
        guard=guard,
        phase=owner.phase,
        again=owner.again,
        waits_for_idle=owner.waits_for_idle,
        faulted=owner.faulted,
        live=owner.live,
        disposing=owner.disposing,
        passed_over=owner.passed_over,
    )
