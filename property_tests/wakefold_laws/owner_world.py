"""A small world for an owner to live in: shell, host, log and clock, reduced to what an owner notices.

This module decides what comes of each thing that can happen (`owner_moves` lists them), and that every
invariant holds afterwards: a method raises `BrokenInvariant` where one does not. It refuses to perform
anything: a log is a tuple, a clock an integer, an answer outstanding until somebody gives it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final, Literal, assert_never

from msgspec import Struct

from wakefold.effects import (
    Arm,
    AwaitIdle,
    Claim,
    Disarm,
    Disposed,
    Effect,
    EndTurn,
    Flush,
    HandOver,
    Release,
    TakeTurn,
    Warn,
)
from wakefold.events import (
    SCHEDULE_CHANGE,
    Change,
    Create,
    Event,
    Json,
    Record,
    encode_change,
)
from wakefold.guard_config import GuardConfig
from wakefold.lifecycle import Step, advance
from wakefold.owners import Owner, open_owner
from wakefold.recurrence import SEED
from wakefold.signals import (
    AppendFailed,
    Broke,
    ClaimGranted,
    Detached,
    DisposeAsked,
    Flushed,
    FlushRefused,
    FollowupFailed,
    HandedOver,
    IdleCame,
    IdleFailed,
    LogLost,
    Nudged,
    Recorded,
    Signal,
    TurnCame,
    WentIdle,
)
from wakefold_laws.owner_invariants import require
from wakefold_laws.reminder_model import Reminders

Advance = Callable[[Owner, Signal], Step]
"""The decider under test."""

_WORD: Final[Json] = {"source": {"kind": "user"}}


class Scenario(Struct, frozen=True):
    """A bounded world: the instants its clock can show, its reminders, and the guard, if it is on.

    The `later` reminders are made by a tool at any time. Of the guard's limits only the streak with
    `hold` is understood.
    """

    name: str
    clock_ms: tuple[int, ...]
    at_start: tuple[Record, ...] = ()
    later: tuple[Record, ...] = ()
    guard: GuardConfig | None = None


class OwnerWorld:
    """An owner with its world, right after its start."""

    def __init__(self, scenario: Scenario, decider: Advance = advance) -> None:
        """The bounds of the world, and the decider under test."""
        self.scenario, self.decider = scenario, decider
        self.now_ms = scenario.clock_ms[0]
        self.log: tuple[Event, ...] = ()
        self.history: tuple[Reminders, ...] = (Reminders(),)  # what each prefix of the log comes to
        for record in scenario.at_start:
            self.write(Create(record))
        self.opened: dict[Hashable, Owner] = {}  # shared by the copies
        self.begin(len(self.log))

    def begin(self, survived: int | None) -> None:
        """A new owner from what survived of the log; `None`: it cannot be read."""
        self.owner = Owner(ledger=None) if survived is None else self._open(survived)
        self.durable = self.reported = len(self.log)
        self.timer_ms: int | None = None
        self.turn: Literal["free", "asked", "held"] = "free"
        self.awaited: Literal["flush", "claim", "order", "answer"] | None = None
        self.order: HandOver | None = None
        self.reply: Signal | None = None  # to the order
        self.claimed = self.handed = self.may_break = self.busy = self.waits = False
        self.detached = self.disposing = self.disposed = False
        self.lost = self.faulted = survived is None
        self.asked = self.slack = False  # a look is owed; nothing is owed until later activity
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

    @property
    def reminders(self) -> Reminders:
        """What the whole log has come to."""
        return self.history[-1]

    @property
    def closed(self) -> bool:
        """Whether this owner will never deliver again, whatever is in the log."""
        return self.detached or self.disposing

    def key(self) -> Hashable:
        """What the future depends on: worlds of one key have one future."""
        place = None
        if not self.closed:
            told = self.history[self.reported]
            place = (self.now_ms, self.history[self.durable :], told, *self._list_known())
        return (
            *self.owner_key(),
            place,
            self.timer_ms,
            self.turn,
            self.awaited,
            self.order,
            self.reply,
            self.claimed,
            self.handed,
            self.may_break,
            self.busy,
            self.waits,
            self.detached,
            self.disposing,
            self.disposed,
            self.lost,
            self.faulted,
            self.asked,
            self.slack,
        )

    def _list_known(self) -> tuple[Hashable, ...]:
        """What the owner knows of the log; a sound one knows what it was told."""
        ledger, guard = self.owner.ledger, self.owner.guard
        streak = None if guard is None else guard.wakeups.consecutive
        if ledger is None:
            return (streak,)
        return (streak, ledger.last_accepted_at_ms, *ledger.records.values())

    def owner_key(self) -> tuple[Hashable, ...]:
        """Phase and marks of the owner."""
        owner = self.owner
        marks = (owner.again, owner.waits_for_idle, owner.faulted, owner.live, owner.disposing)
        return (owner.phase.value, *marks, owner.ledger is None)

    # What can happen.

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

    def tell(self, signal: Signal) -> None:
        """The owner learns a fact, and its orders are performed or noted."""
        self._note(signal)
        self.owner, effects = self.decider(self.owner, signal)
        for effect in effects:
            require(not self.disposed, "gone", f"{effect}")
            self._perform(effect)

    def _note(self, signal: Signal) -> None:
        match signal:
            case Detached():
                self.detached = True
            case DisposeAsked():
                self.disposing = True
            case AppendFailed() | Broke() | LogLost():
                self.faulted = True
            case FlushRefused() | FollowupFailed() | IdleFailed():
                self.slack = True
            case Nudged() | IdleCame():
                self.asked = True
            case WentIdle():
                self.asked = self.asked or bool(self.history[self.reported].seen)
            case Flushed():
                self.asked = self.asked or self.handed
            case _:
                pass
        self.asked = self.asked and not (self.closed or self.faulted)

    def _perform(self, effect: Effect) -> None:
        match effect:
            case TakeTurn():
                require(self.turn == "free", "turn", f"a second turn while one is {self.turn}")
                self.turn = "asked"
            case EndTurn():
                require(self.turn == "held", "turn", "the end of a turn that is not held")
                require(not self.claimed, "claim", "a turn ended with the claim held")
                self.turn, self.awaited, self.handed = "free", None, False
            case Flush():
                self._await("flush")
                require(self.timer_ms is None, "look", f"a timer for {self.timer_ms}")
                self.slack = False
                self.asked = self.asked and self.handed
            case Arm():
                require(self.timer_ms is None, "timer", "armed twice")
                self.reminders.check_timer(effect, self.now_ms)
                self.timer_ms = effect.until_ms
            case Disarm():
                self.timer_ms = None
            case Claim():
                self._await("claim")
            case HandOver():
                self._await("order")
                require(self.claimed, "claim", "a hand-over without a claim")
                require(not (self.closed or self.faulted), "stopped", f"{effect.occurrences}")
                require(not self._is_held(), "held", f"a streak of {self.reminders.streak}")
                self.reminders.check_hand_over(effect, self.now_ms)
                self.order = effect
            case Release():
                require(self.claimed, "claim", "a release of what is not held")
                self.claimed, self.may_break = False, True
            case AwaitIdle():
                require(not self.waits, "idle-wait", "a second one")
                self.waits = True
            case Warn():
                require(not self.detached, "warning", f"{effect}")
            case Disposed():
                idle = self.turn == "free" and self.timer_ms is None and not self.claimed
                require(self.disposing and idle, "disposal", f"turn {self.turn}, {self.timer_ms}")
                self.disposed = True
            case _:
                assert_never(effect)

    def _await(self, what: Literal["flush", "claim", "order"]) -> None:
        waiting = self.turn == "held" and self.awaited is None
        require(waiting, "answer", f"{what} with a turn {self.turn} and {self.awaited} awaited")
        self.awaited = what

    def _is_held(self) -> bool:
        guard = self.scenario.guard
        return guard is not None and self.reminders.streak >= guard.max_consecutive_wakeups

    def check_rest(self) -> None:
        """What must hold whenever nothing moves."""
        require((self.turn == "held") == (self.awaited is not None), "answer", f"{self.awaited}")
        require(not self.asked or self.turn != "free", "asked", "a rest")
        if self.disposing and not self.disposed:
            require(self.turn != "free", "disposal", "a rest")
        if self.turn != "free" or self.closed or self.faulted or self.lost or self.slack:
            return
        if self._is_held() or self.reminders.find_look(self.now_ms) is None:
            return
        require(self.timer_ms is not None or self.waits, "stuck", f"rest at {self.now_ms}")
