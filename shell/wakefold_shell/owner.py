"""The live owner of one session: it does what the core decides, in the order that loses nothing.

One run: barrier, decide, hand the message over, append the dispatches, barrier. The message goes first,
so that a crash in between can repeat a reminder (with the same id and occurrence) but never lose one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

import anyio
import anyio.lowlevel
from returns.pipeline import is_successful
from returns.result import Result

from wakefold import (
    SCHEDULE_CHANGE,
    SEED,
    Change,
    CorruptScheduleLog,
    Event,
    Ledger,
    Profile,
    Rejection,
    decide_due,
    describe_rejection,
    encode_change,
    evolve,
    fold,
    frame_decision,
    list_dispatches,
)
from wakefold.wakes import BatchDue, OneShotDue, Wait, list_occurrences
from wakefold_shell.errors import ShellError
from wakefold_shell.protocols import Clock, Followup, Host, Store

BARRIER_SECONDS_MAX: Final = 30.0
"""How long a barrier may take before it counts as not acknowledged."""

_Value = TypeVar("_Value")


class CorruptLogError(ShellError):
    """The log breaks a rule. `fault` says which, and where in the log."""

    def __init__(self, fault: CorruptScheduleLog) -> None:
        """The fault as the core found it."""
        super().__init__(describe_rejection(fault))
        self.fault = fault


async def own_session(
    store: Store,
    host: Host,
    clock: Clock,
    *,
    profile: Profile = SEED,
    once: bool = False,
    on_wait: Callable[[int | None], None] = lambda _: None,
) -> None:
    """Deliver a session's reminders as they become due; until cancelled, or `once` none is due.

    `on_wait` is told each instant (epoch ms, `None`: nothing planned) that is waited for. Raises
    `CorruptLogError` before anything is delivered, and `ShellError` where the store or host fails.
    """
    ledger = read_ledger(store, profile)
    while True:
        await confirm(store)
        now_ms = clock.read_ms()
        decision = unwrap(decide_due(ledger, now_ms))
        if not isinstance(decision, Wait):
            ledger = _deliver(store, host, ledger, decision, now_ms)
        elif once:
            return
        else:
            on_wait(decision.until_ms)
            await clock.sleep_until(decision.until_ms)


async def confirm(store: Store) -> None:
    """The barrier; `ShellError` if the store does not acknowledge it in time.

    Whoever stops the owner waits for it: what was appended is not left half confirmed.
    """
    confirmed = False
    with anyio.move_on_after(BARRIER_SECONDS_MAX, shield=True):
        confirmed = await store.flush()
    if not confirmed:
        raise ShellError("the store did not confirm what was written: check the disk, then try again.")
    await anyio.lowlevel.checkpoint()  # whoever was told to stop meanwhile stops here


def read_ledger(store: Store, profile: Profile) -> Ledger:
    """The folded log of a store; `CorruptLogError` if it breaks a rule."""
    folded = fold(store.read_events(), store.seed_length, profile)
    if not is_successful(folded):
        raise CorruptLogError(folded.failure())
    return folded.unwrap()


def plan_events(
    ledger: Ledger, changes: Iterable[Change], now_ms: int
) -> tuple[tuple[Event, ...], Ledger]:
    """The events that append changes at their places in the log, and the ledger after them."""
    events: list[Event] = []
    for change in changes:
        event = Event(SCHEDULE_CHANGE, ledger.position, now_ms, encode_change(change))
        ledger = unwrap(evolve(ledger, event))
        events.append(event)
    return tuple(events), ledger


def unwrap(result: Result[_Value, Rejection]) -> _Value:
    """The value of a result; its rejection becomes a `ShellError`."""
    if is_successful(result):
        return result.unwrap()
    raise ShellError(describe_rejection(result.failure()))


def _deliver(
    store: Store, host: Host, ledger: Ledger, decision: OneShotDue | BatchDue, now_ms: int
) -> Ledger:
    """Hand one decision over, then append its dispatches; all that can fail is worked out before."""
    events, after = plan_events(ledger, list_dispatches(decision), now_ms)
    host.hand_over(Followup(frame_decision(decision), list_occurrences(decision)))
    store.append(events)
    return after
