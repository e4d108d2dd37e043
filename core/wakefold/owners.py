"""The state of a session's live owner (spec section 8).

What an owner is and which marks it carries; how it moves is `lifecycle`'s business alone.
"""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from wakefold.ledger import Ledger


class Phase(Enum):
    """Where the owner's run stands."""

    RESTING = "resting"
    """No run is asked for."""
    QUEUED = "queued"
    """A run waits for its turn in the FIFO."""
    CHECKING = "checking"
    """The barrier before the decision is outstanding."""
    CLAIMING = "claiming"
    """Something is due and the host's idle phase is asked for."""
    HANDING = "handing"
    """The claim is held and the message is being handed over."""
    CONFIRMING = "confirming"
    """The barrier after the hand-over is outstanding."""
    GONE = "gone"
    """Disposed; nothing happens any more."""


class Owner(Struct, frozen=True, kw_only=True):
    """The owner of one session. `ledger` is `None` once the log is corrupt or unreadable.

    `again` asks for one more run after this one; `waits_for_idle` says that an idle wait is
    outstanding; `faulted` is for good; `live` ends when another owner takes the session.
    """

    ledger: Ledger | None
    phase: Phase = Phase.RESTING
    again: bool = False
    waits_for_idle: bool = False
    faulted: bool = False
    live: bool = True
    disposing: bool = False


def may_run(owner: Owner) -> bool:
    """Whether the owner may begin or go on with a run."""
    return owner.live and not owner.faulted and not owner.disposing


def has_schedule(owner: Owner) -> bool:
    """Whether the own suffix holds any schedule event."""
    return owner.ledger is None or bool(owner.ledger.seen_ids)


def with_marks(
    owner: Owner,
    *,
    phase: Phase | None = None,
    again: bool | None = None,
    waits_for_idle: bool | None = None,
    faulted: bool | None = None,
    live: bool | None = None,
    disposing: bool | None = None,
) -> Owner:
    """The owner with some of its marks set; built by constructor, so that types are checked."""
    return Owner(
        ledger=owner.ledger,
        phase=owner.phase if phase is None else phase,
        again=owner.again if again is None else again,
        waits_for_idle=owner.waits_for_idle if waits_for_idle is None else waits_for_idle,
        faulted=owner.faulted if faulted is None else faulted,
        live=owner.live if live is None else live,
        disposing=owner.disposing if disposing is None else disposing,
    )


def with_ledger(owner: Owner, ledger: Ledger | None) -> Owner:
    """The owner with another ledger; `None` for a log that is lost."""
    return Owner(
        ledger=ledger,
        phase=owner.phase,
        again=owner.again,
        waits_for_idle=owner.waits_for_idle,
        faulted=owner.faulted,
        live=owner.live,
        disposing=owner.disposing,
    )
