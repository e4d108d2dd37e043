"""Performing what the core orders, and reporting what came of it: one match, no decision.

Effects are plain calls, done when they return: claim, hand-over and release are not interrupted. What
takes time is only begun here (a sleep, the wait for an idle agent) or noted (a turn, a barrier) for the
session's worker, which is the one place where a barrier is awaited.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, assert_never

import anyio
from anyio.abc import TaskGroup
from returns.pipeline import is_successful
from returns.result import Result

from wakefold import CorruptScheduleLog, Event, Ledger, Profile, fold
from wakefold import effects as order
from wakefold import signals as fact
from wakefold.checkpoints import Checkpoint, begin_checkpoint, extend_checkpoint
from wakefold.conversations import Draft, draft_change
from wakefold.guard_config import GuardConfig
from wakefold.lifecycle import advance
from wakefold.owners import Owner, resume_owner
from wakefold.reaping import Reaped
from wakefold.records import CalendarRecord
from wakefold.tools import Appended, Refused, Sampled, StepAnswer
from wakefold.wakeups import RESET_KINDS
from wakefold_shell.errors import ReentryError, UnavailableError
from wakefold_shell.protocols import Clock, Followup, Host, Store


class Performer:
    """One owner with its world.

    The worker of a subclass sees to the turns that are asked for (`on_turn`) and to `barrier_wanted`
    while `owner_has_turn`. `tell_warning` hears of each warning, `tell_event` of each event of the log
    as it is first seen, `tell_stop` of each stop by the guard, `tell_passed_over` of reminders whose
    zones are unknown here; none of them may raise. `checkpoint` may be set before the log is loaded:
    then only the rest is read. Afterwards it is what the log had come to.

    `fault` is what makes the log corrupt, `trouble` the last exception that store, host or clock
    raised: the core is told that one came, never which.
    """

    def __init__(
        self, store: Store, host: Host, clock: Clock, profile: Profile, guard: GuardConfig | None
    ) -> None:
        """The world to perform in, the profile to fold under, and the guard's limits, if it is on."""
        self.owner = Owner(ledger=None)
        self.fault: CorruptScheduleLog | None = None
        self.trouble: Exception | None = None
        self.owner_has_turn = self.barrier_wanted = False
        self.store, self.host, self.clock, self._profile = store, host, clock, profile
        self.guard = guard
        self.checkpoint: Checkpoint | None = None
        self._position = 0
        self._now_ms = 0  # the last clock sample, which stamps what is appended after it
        self._signals: deque[fact.Signal] = deque()
        self._advancing = self._publishing = self._unreadable = False
        self._loaded = False
        self.tell_event: Callable[[Event], None] = lambda _: None
        self.tell_warning: Callable[[str], None] = lambda _: None
        self.tell_stop: Callable[[Reaped], None] = lambda _: None
        self.tell_passed_over: Callable[[Sequence[CalendarRecord]], None] = lambda _: None
        self._timer: anyio.CancelScope | None = None
        self._armed_for_ms = 0
        self._confirmed = anyio.Event()
        self._confirmed_position = -1
        self._tasks: TaskGroup | None = None

    def on_turn(self) -> None:
        """The owner asks for a turn in the FIFO."""
        raise NotImplementedError

    def on_end(self) -> None:
        """The owner is gone."""
        raise NotImplementedError

    def signal(self, signal: fact.Signal) -> None:
        """Report a fact to the owner, and perform what it orders."""
        self._signals.append(signal)
        if self._advancing:
            return  # reported from inside an effect: heard once the effects beside it are done
        self._advancing = True
        try:
            while self._signals:
                self.owner, effects = advance(self.owner, self._signals.popleft())
                for effect in effects:
                    self.perform(effect)
        finally:
            self._advancing = False

    def went_idle(self) -> None:
        """The host tells that the agent has become idle."""
        self.signal(fact.WentIdle())

    def detach(self) -> None:
        """Another owner has taken the session: this one stops and warns of nothing."""
        self.signal(fact.Detached())

    def record(self, drafts: Sequence[Draft]) -> None:
        """Write what else happened in the session: turns, words. Durable with the next barrier.

        Raises what the store or the clock raises, and `ReentryError` from inside a publication.
        """
        self.refuse_reentry()
        if self.owner.ledger is None:
            raise UnavailableError("the log of this session cannot be read: nothing is written to it.")
        self._now_ms = self.clock.read_ms()
        self._write(drafts)

    def refuse_reentry(self) -> None:
        """`ReentryError` if the caller is being called by this session."""
        if self._advancing or self._publishing:
            raise ReentryError(
                "the session was called from inside one of its own calls: return from it first, then "
                "call from a task of your own."
            )

    def load(self) -> None:
        """Fold the whole log, once; from here on it grows event by event. `run` sees to it, too."""
        if self._loaded:
            return
        self._loaded = self._publishing = True
        if self.guard is not None:
            self._sample()
        if self.checkpoint is not None:
            self._position = self.checkpoint.ledger.position
        self.fault = self._read(self._open, self._position)
        self._publishing = False

    def _open(self, log: Iterable[Event]) -> Result[None, CorruptScheduleLog]:
        kinds = RESET_KINDS if self.guard is None else self.guard.reset_kinds
        begun = self.checkpoint or begin_checkpoint(self.store.seed_length, self._profile, kinds)
        return extend_checkpoint(begun, map(self._show, log)).map(self._settle)

    def _show(self, event: Event) -> Event:
        self.tell_event(event)
        return event

    def _settle(self, checkpoint: Checkpoint) -> None:
        self.checkpoint = checkpoint
        self.owner = resume_owner(checkpoint, self.guard, self._now_ms)
        self._position = checkpoint.ledger.position

    def _read(
        self, look: Callable[[Iterable[Event]], Result[object, CorruptScheduleLog]], start: int = 0
    ) -> CorruptScheduleLog | None:
        """Look at the log; why it is corrupt, if it is. A log that cannot be read is noted."""
        try:
            found = look(self.store.read_events(start))
        except Exception as trouble:  # noqa: BLE001 - the core decides what an unreadable log means
            self.trouble, self._unreadable = trouble, True
            return None
        return None if is_successful(found) else found.failure()

    def _report(self) -> None:
        """Tell the owner of every event that it has not seen, or that the log cannot be read."""
        if self.owner.ledger is None:
            return  # lost for good: nothing more is read, so that a reader stands at the fault
        try:
            events = list(self.store.read_events(self._position))
        except Exception as trouble:  # noqa: BLE001 - whatever the store raises, the log is unreadable
            self.trouble, self._unreadable = trouble, True
            self.signal(fact.LogLost())
            return
        self._position += len(events)
        self._publishing, before = True, self._publishing
        for event in events:
            self.tell_event(event)
            self.signal(fact.Recorded(event))
        self._publishing = before

    def _see_log(self) -> Ledger | CorruptScheduleLog | None:
        """What a tool sees: the ledger, why the log is corrupt, or `None` where it cannot be read."""
        self._report()
        if self.owner.ledger is not None:
            return self.owner.ledger
        if self.fault is None and not self._unreadable:
            # An event since the start has broken it: look which.
            self.fault = self._read(lambda log: fold(log, self.store.seed_length, self._profile))
        return self.fault

    def _append(self, drafts: Sequence[Draft]) -> StepAnswer:
        return Appended() if self._attempt(lambda: self._write(drafts)) else Refused()

    def _write(self, drafts: Sequence[Draft]) -> None:
        """Append events as one batch, stamped by the last clock sample, and tell the owner of them."""
        self._publishing = True
        try:
            self.store.append(
                [
                    Event(draft.type, self._position + index, self._now_ms, draft.data)
                    for index, draft in enumerate(drafts)
                ]
            )
        finally:
            self._publishing = False
            self._report()

    def _sample(self) -> StepAnswer:
        def read() -> None:
            self._now_ms = self.clock.read_ms()

        return Sampled(self._now_ms) if self._attempt(read) else Refused()

    def _attempt(self, action: Callable[[], object]) -> bool:
        """Whether an action of the world went well; what it raised is the core's to decide on."""
        try:
            action()
        except Exception as trouble:  # noqa: BLE001 - see above
            self.trouble = trouble
            return False
        return True

    def _answer_with_clock(self, kind: type[fact.Flushed | fact.ClaimGranted]) -> None:
        """Answer the owner with a fresh clock sample, every event reported before."""
        self._report()
        sample = self._sample()
        if kind is fact.ClaimGranted and not isinstance(sample, Sampled):
            self._release()  # the owner hears of no grant, so that it would never give it back
        self.signal(kind(sample.now_ms) if isinstance(sample, Sampled) else fact.Broke())

    def perform(self, effect: order.Effect) -> None:
        """Do one effect; what takes time is only begun here."""
        match effect:
            case order.TakeTurn():
                self.on_turn()
            case order.EndTurn():
                self.owner_has_turn = False
            case order.Flush():
                self.barrier_wanted = True
            case order.Arm(until_ms=until_ms, delay_ms=delay_ms):
                self._arm(until_ms, delay_ms)
            case order.Disarm():
                self._disarm()
            case order.Claim():
                self._claim()
            case order.HandOver():
                self._hand_over(effect)
            case order.Release():
                self._release()
            case order.AwaitIdle():
                self._start(self._wait_idle)
            case order.Warn(kind=kind):
                self.tell_warning(kind)
            case order.PassOver(records=records):
                self.tell_passed_over(records)
            case order.Disposed():
                self.on_end()
            case _:
                assert_never(effect)

    def _claim(self) -> None:
        try:
            granted = self.host.claim()
        except Exception as trouble:  # noqa: BLE001 - the core decides what a broken claim means
            self.trouble = trouble
            self.signal(fact.Broke())
            return
        if granted:
            self._answer_with_clock(fact.ClaimGranted)
        else:
            self.signal(fact.ClaimBusy())

    def _hand_over(self, handed: order.HandOver) -> None:
        """Queue the message, if any, then append, without giving up control in between."""
        inbox: Sequence[Draft] = ()
        try:
            if handed.message is not None:
                inbox = self.host.hand_over(Followup(handed.message, handed.occurrences))
        except Exception as trouble:  # noqa: BLE001 - the core decides what a failed message means
            self.trouble = trouble
            self.signal(fact.FollowupFailed())
            return
        drafts = (*inbox, *map(draft_change, handed.changes))
        appended = isinstance(self._append(drafts), Appended)
        self.signal(fact.HandedOver() if appended else fact.AppendFailed())

    def _release(self) -> None:
        if not self._attempt(self.host.release):
            self.signal(fact.Broke())

    def _arm(self, until_ms: int, delay_ms: int) -> None:
        self._disarm()
        self._armed_for_ms = until_ms
        sleep = self.clock.plan_sleep(until_ms, delay_ms)
        self._timer = scope = anyio.CancelScope()

        async def wake() -> None:
            with scope:
                await sleep()
                self._timer = None
                self.signal(fact.Nudged())

        self._start(wake)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _wait_idle(self) -> None:
        try:
            await self.host.wait_idle()
        except Exception as trouble:  # noqa: BLE001 - the core decides what a failed wait means
            self.trouble = trouble
            self.signal(fact.IdleFailed())
        else:
            self.signal(fact.IdleCame())

    def _start(self, task: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if self._tasks is not None:  # effects come only while `run` runs
            self._tasks.start_soon(task)
