"""Every phase of an owner under every signal: what the decider does, as rows.

A cell is looked at with an owner whose ledger holds one reminder, due at `NOON_MS`, and a signal whose
clock sample is at that instant. The diagram in the docs and the table in the tests come from here.
"""

from __future__ import annotations

from itertools import product
from typing import get_args

from journal_files import NOON_MS
from wakefold import SCHEDULE_CHANGE, Create, Event, encode_change, fold
from wakefold.events import AtRecord
from wakefold.guard import StopKey
from wakefold.lifecycle import advance
from wakefold.owners import Owner, Phase
from wakefold.signals import ClaimGranted, Flushed, Recorded, Signal, StopTold

CREATED = Event(SCHEDULE_CHANGE, 0, 1, encode_change(Create(schedule=AtRecord("a", "x", NOON_MS))))
LEDGER = fold([CREATED]).unwrap()
SIGNALS: tuple[type[Signal], ...] = get_args(Signal)


def make_signal(kind: type[Signal], now_ms: int = NOON_MS) -> Signal:
    """A signal of a kind."""
    if kind is Flushed:
        return Flushed(now_ms)
    if kind is ClaimGranted:
        return ClaimGranted(now_ms)
    if kind is Recorded:
        return Recorded(Event("plan/create", 1, 1, None))
    if kind is StopTold:
        return StopTold(StopKey("consecutive"))
    return kind()  # type: ignore[call-arg]


def describe_step(owner: Owner, signal: Signal) -> str:
    """The phase, the marks and the effects after a signal, in words."""
    after, effects = advance(owner, signal)
    marks = [
        name
        for name in ("again", "waits_for_idle", "faulted", "disposing")
        if getattr(after, name) and not getattr(owner, name)
    ]
    if not after.live:
        marks.append("replaced")
    if after.ledger is None and owner.ledger is not None:
        marks.append("lost")
    orders = [type(effect).__name__ for effect in effects]
    return " ".join([after.phase.value, *(f"+{mark}" for mark in marks), ">", *orders]).removesuffix(
        " >"
    )


def list_cells(owner: Owner, now_ms: int = NOON_MS) -> list[tuple[Phase, str, str]]:
    """(phase, signal, what happens) for the whole product, other marks as the owner has them."""
    rows = []
    for phase, kind in product(Phase, SIGNALS):
        placed = Owner(
            ledger=owner.ledger,
            guard=owner.guard,
            phase=phase,
            again=owner.again,
            waits_for_idle=owner.waits_for_idle,
            faulted=owner.faulted,
            live=owner.live,
            disposing=owner.disposing or phase is Phase.GONE,
        )
        rows.append((phase, kind.__name__, describe_step(placed, make_signal(kind, now_ms))))
    return rows
