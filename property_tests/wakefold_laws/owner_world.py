"""A small world for an owner to live in: shell, host, log and clock, reduced to what an owner notices.

This module decides what comes of each thing that can happen; `owner_moves` lists them. A method raises
`BrokenInvariant` where the owner's orders break one. It refuses to perform anything: a log is a tuple,
a clock an integer, an answer outstanding until somebody gives it.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from msgspec import Struct

from wakefold.events import SCHEDULE_CHANGE, Change, Create, Event, Json, Record, encode_change
from wakefold.guard_config import GuardConfig
from wakefold.lifecycle import advance
from wakefold.owners import Owner, open_owner
from wakefold.recurrence import SEED
from wakefold.signals import (
    ClaimGranted,
    Flushed,
    HandedOver,
    LogLost,
    Nudged,
    Recorded,
    Signal,
    TurnCame,
)
from wakefold_laws.owner_watch import Advance, WatchedOwner

_WORD: Final[Json] = {"source": {"kind": "user"}}


class Scenario(Struct, frozen=True):
    """A bounded world: the instants its clock can show, its reminders, and the guard, if it is on.

    The `later` reminders are made by a tool at any time. Of the guard's limits only the streak with
    `hold` is understood.

    :shape: records as the core has them; the clock begins at the first of `clock_ms`, which may not be
        empty
    :units: `clock_ms` in epoch milliseconds UTC
    :errors: none: nothing is checked
    :source: ours, docs/testing.md
    """

    name: str
    clock_ms: tuple[int, ...]
    at_start: tuple[Record, ...] = ()
    later: tuple[Record, ...] = ()
    guard: GuardConfig | None = None


class OwnerWorld(WatchedOwner):
    """An owner with its world, right after its start."""

    def __init__(self, scenario: Scenario, decider: Advance = advance) -> None:
        """The bounds of the world, and the decider under test."""
        streak_max = None if scenario.guard is None else scenario.guard.max_consecutive_wakeups
        super().__init__(decider, scenario.clock_ms[0], streak_max)
        self.scenario = scenario
        self.log: tuple[Event, ...] = ()
        for record in scenario.at_start:
            self.write(Create(record))
        self.opened: dict[Hashable, Owner] = {}  # shared by the copies
        self.begin(len(self.log))

    def begin(self, survived: int | None) -> None:
        """A new owner from what survived of the log; `None`: it cannot be read."""
        self.start(Owner(ledger=None) if survived is None else self._open(survived))
        self.durable = self.reported = len(self.log)
        self.busy = False
        self.tell(Nudged())

    def _open(self, survived: int) -> Owner:
        """The owner of what survived; equal histories at one instant open alike."""
        self.log, self.history = self.log[:survived], self.history[: survived + 1]
        place = (self.history, self.now_ms)
        if place not in self.opened:
            opened = open_owner(self.log, 0, SEED, self.scenario.guard, self.now_ms)
            self.opened[place] = opened.unwrap()
        return self.opened[place]

    def copy(self) -> OwnerWorld:
        """The same world, to go on from apart."""
        twin = object.__new__(OwnerWorld)  # `copy.copy` takes four times as long
        twin.__dict__.update(self.__dict__)
        return twin

    def key(self) -> Hashable:
        """What the future depends on: worlds of one key have one future."""
        place: tuple[Hashable, ...] = ()
        if not self.closed:
            told = self.history[self.reported]
            place = (self.now_ms, self.history[self.durable :], told, *self.known_key())
        return (*self.owner_key(), *self.outstanding_key(), self.busy, *place)

    def set_clock(self, now_ms: int) -> None:
        """The wall clock is set, forward or back."""
        self.now_ms = now_ms

    def set_busy(self, busy: bool, signal: Signal | None = None) -> None:
        """The agent begins a turn, or ends one; its host may say so."""
        self.busy = busy
        if signal is not None:
            self.tell(signal)

    def lose_log(self) -> None:
        """The log cannot be read any more; the owner hears of it with the next answer."""
        self.lost = True

    def give_turn(self) -> None:
        """The turn that was asked for comes."""
        self.turn = "held"
        self.tell(TurnCame())

    def flush(self) -> None:
        """The barrier is acknowledged."""
        self.durable = len(self.log)
        self.report()
        self.answer(Flushed(self.now_ms))

    def grant(self) -> None:
        """The claim is granted."""
        self.claimed = True
        self.report()
        self.answer(ClaimGranted(self.now_ms))

    def hand_over(self, written: int, answer: Signal) -> None:
        """The order is carried out as far as some of its changes; the answer is on its way."""
        changes = () if self.order is None else self.order.changes
        for change in changes[:written]:
            self.write(change)
        self.awaited, self.order, self.reply = "answer", None, answer

    def answer_order(self) -> None:
        """The owner hears what came of its order."""
        reply, self.reply = self.reply, None
        if reply is not None:
            self.report()
            self.answer(reply)

    def answer(self, answer: Signal) -> None:
        """What the turn's holder waits for comes."""
        self.awaited = None
        self.handed = self.handed or isinstance(answer, HandedOver)
        self.tell(answer)

    def fire(self) -> None:
        """The timer runs out."""
        self.timer_ms = None
        self.tell(Nudged())

    def end_wait(self, answer: Signal) -> None:
        """The idle wait ends."""
        self.waits = False
        self.tell(answer)

    def hear_word(self) -> None:
        """A person speaks, which begins a turn; its end is the next activity."""
        self.busy = self.slack = True
        self.write(None)

    def run_tool(self, change: Change | None = None) -> None:
        """A tool writes between two barriers that are acknowledged, or has only one."""
        if change is not None:
            self.write(change)
        self.durable = len(self.log)
        self.report()
        self.tell(Nudged())

    def fail_tool(self, change: Change) -> None:
        """A tool writes, and its second barrier is refused."""
        self.run_tool()
        self.write(change)
        self.report()
        self.slack = True

    def write(self, change: Change | None) -> None:
        """One more event, unreported so far; `None` is an external word."""
        reminders, kind, data = self.reminders.hear_word(), "user/message", _WORD
        if change is not None:
            reminders, kind = self.reminders.follow(change), SCHEDULE_CHANGE
            data = encode_change(change)
        self.history = (*self.history, reminders)
        self.log = (*self.log, Event(kind, len(self.log), self.now_ms, data))

    def report(self) -> None:
        """Tell the owner of every event that it has not seen, or that the log cannot be read."""
        if self.lost:
            self.tell(LogLost())
            return
        while self.reported < len(self.log):
            self.reported += 1
            self.tell(Recorded(self.log[self.reported - 1]))
