"""An owner with what it has asked for: each of its orders is checked as it comes, then noted.

This module decides which order breaks an invariant, and what must hold whenever nothing moves. It
refuses to answer an order: that is `owner_world`'s business, which says what time it is and what the
log has come to.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from operator import attrgetter
from typing import Final, Literal, assert_never

from msgspec.structs import replace

from wakefold import effects as order
from wakefold import signals as fact
from wakefold.lifecycle import Step
from wakefold.owners import Owner
from wakefold.records import FRESH
from wakefold_laws.owner_invariants import require
from wakefold_laws.reminder_model import Reminders

Advance = Callable[[Owner, fact.Signal], Step]
"""The decider under test."""

_OUTSTANDING: Final = attrgetter(
    *("timer_ms", "turn", "awaited", "order", "reply", "claimed", "handed", "may_break", "waits"),
    *("detached", "disposing", "disposed", "lost", "faulted", "asked", "slack", "passed_over"),
)

_BAD_NEWS: Final = (
    fact.FlushRefused,
    fact.FollowupFailed,
    fact.AppendFailed,
    fact.Broke,
    fact.IdleFailed,
)


class WatchedOwner:
    """An owner under watch; `start` begins with a new one.

    `awaited` is the one answer that the held turn waits for, `reply` what came of a hand-over. `asked`
    says that a look is owed, `slack` that none is owed until later activity. `streak_max` is the
    streak at which the guard holds, `history` what each prefix of the log comes to.
    """

    def __init__(self, decider: Advance, now_ms: int, streak_max: float | None) -> None:
        """The decider under test, what its clock shows, and its guard's limit, if there is one."""
        self.decider, self.now_ms, self.streak_max = decider, now_ms, streak_max
        self.history: tuple[Reminders, ...] = (Reminders(),)
        self.reported = 0  # events of the log that the owner was told of

    def start(self, owner: Owner) -> None:
        """Watch a new owner, which has asked for nothing."""
        self.owner = owner
        self.timer_ms: int | None = None
        self.turn: Literal["free", "asked", "held"] = "free"
        self.awaited: Literal["flush", "claim", "order", "answer"] | None = None
        self.order: order.HandOver | None = None
        self.reply: fact.Signal | None = None
        self.claimed = self.handed = self.may_break = self.waits = False
        self.detached = self.disposing = self.disposed = False
        self.passed_over: frozenset[str] = frozenset()
        self.lost = self.faulted = owner.ledger is None
        self.asked = self.slack = False

    @property
    def reminders(self) -> Reminders:
        """What the whole log has come to."""
        return self.history[-1]

    @property
    def closed(self) -> bool:
        """Whether this owner will never deliver again, whatever is in the log."""
        return self.detached or self.disposing

    def owner_key(self) -> tuple[Hashable, ...]:
        """Phase and marks of the owner."""
        owner = self.owner
        marks = (owner.again, owner.waits_for_idle, owner.faulted, owner.live, owner.disposing)
        return (owner.phase, *marks, owner.passed_over, owner.ledger is None)

    def outstanding_key(self) -> tuple[Hashable, ...]:
        """What is outstanding, owed or over."""
        found: tuple[Hashable, ...] = _OUTSTANDING(self)
        return found

    def known_key(self) -> tuple[Hashable, ...]:
        """What the owner knows of the log; a sound one knows what it was told."""
        ledger, guard = self.owner.ledger, self.owner.guard
        streak = None if guard is None else guard.wakeups.consecutive
        if ledger is None:
            return (streak,)
        # How often a record was dispatched is nothing that a future of version 1 depends on.
        records = (replace(record, standing=FRESH) for record in ledger.records.values())
        return (streak, ledger.last_accepted_at_ms, *records)

    def tell(self, signal: fact.Signal) -> None:
        """The owner learns a fact, and its orders are performed or noted."""
        self._note(signal)
        self.owner, effects = self.decider(self.owner, signal)
        if isinstance(signal, _BAD_NEWS):
            warnings = sum(isinstance(effect, order.Warn) for effect in effects)
            abandoned = self.disposing and isinstance(signal, fact.IdleFailed)
            heard = not (self.detached or self.disposed or abandoned)
            require(warnings == heard, "warning", f"{warnings} of {signal}")
        looks = isinstance(signal, fact.Flushed) and not self.handed
        for effect in effects:
            require(not self.disposed, "gone", f"{effect}")
            self._perform(effect)
        if looks and not (self.closed or self.faulted or self.lost):
            due = self.reminders.list_passed_over(self.now_ms)
            require(self.passed_over.issuperset(due), "told", f"{self.passed_over} of {due}")

    def check_rest(self) -> None:
        """What must hold whenever nothing moves."""
        require((self.turn == "held") == (self.awaited is not None), "answer", f"{self.awaited}")
        require(not self.asked or self.turn != "free", "asked", "a rest")
        if self.disposing and not self.disposed:
            require(self.turn != "free", "disposal", "a rest")
        if self.turn != "free" or self.closed or self.faulted or self.lost or self.slack:
            return
        owed = self.reminders.leave_out(self.passed_over)
        if self._is_held() or owed.find_look(self.now_ms) is None:
            return
        require(self.timer_ms is not None or self.waits, "stuck", f"rest at {self.now_ms}")

    def _note(self, signal: fact.Signal) -> None:
        match signal:
            case fact.Detached():
                self.detached = True
            case fact.DisposeAsked():
                self.disposing = True
            case fact.AppendFailed() | fact.Broke() | fact.LogLost():
                self.faulted = True
            case fact.FlushRefused() | fact.FollowupFailed() | fact.IdleFailed():
                self.slack = True
            case fact.Nudged() | fact.IdleCame():
                self.asked = True
            case fact.WentIdle():
                self.asked = self.asked or bool(self.history[self.reported].seen)
            case fact.Flushed():
                self.asked = self.asked or self.handed
            case _:
                pass
        self.asked = self.asked and not (self.closed or self.faulted)

    def _perform(self, effect: order.Effect) -> None:
        match effect:
            case order.TakeTurn():
                require(self.turn == "free", "turn", f"a second turn while one is {self.turn}")
                self.turn = "asked"
            case order.EndTurn():
                require(self.turn == "held", "turn", "the end of a turn that is not held")
                require(not self.claimed, "claim", "a turn ended with the claim held")
                self.turn, self.awaited, self.handed = "free", None, False
            case order.Flush():
                self._await("flush")
                require(self.timer_ms is None, "look", f"a timer for {self.timer_ms}")
                self.slack = False
                self.asked = self.asked and self.handed
            case order.Arm():
                require(self.timer_ms is None, "timer", "armed twice")
                self.reminders.check_timer(effect, self.now_ms)
                self.timer_ms = effect.until_ms
            case order.Disarm():
                self.timer_ms = None
            case order.Claim():
                self._await("claim")
            case order.HandOver():
                self._await("order")
                self._check_order(effect)
                self.order = effect
            case order.Release():
                require(self.claimed, "claim", "a release of what is not held")
                self.claimed, self.may_break = False, True
            case order.AwaitIdle():
                require(not self.waits, "idle-wait", "a second one")
                self.waits = True
            case order.Warn():
                require(not self.detached, "warning", f"{effect}")
            case order.PassOver(records=records):
                ids, due = {one.id for one in records}, self.reminders.list_passed_over(self.now_ms)
                require(ids <= {*due} - self.passed_over, "told", f"{ids} of {due}")
                self.passed_over |= ids
            case order.Disposed():
                idle = self.turn == "free" and self.timer_ms is None and not self.claimed
                require(self.disposing and idle, "disposal", f"turn {self.turn}, {self.timer_ms}")
                self.disposed = True
            case _:
                assert_never(effect)

    def _check_order(self, handed: order.HandOver) -> None:
        require(self.claimed, "claim", "a hand-over without a claim")
        require(not (self.closed or self.faulted), "stopped", f"{handed.occurrences}")
        require(not self._is_held(), "held", f"a streak of {self.reminders.streak}")
        self.reminders.check_hand_over(handed, self.now_ms)

    def _await(self, what: Literal["flush", "claim", "order"]) -> None:
        waiting = self.turn == "held" and self.awaited is None
        require(waiting, "answer", f"{what} with a turn {self.turn} and {self.awaited} awaited")
        self.awaited = what

    def _is_held(self) -> bool:
        return self.streak_max is not None and self.reminders.streak >= self.streak_max
