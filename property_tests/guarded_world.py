"""A session under guard and its agent, driven by hand: the core alone, a clock moved from wake to wake.

An owner through `advance`, tools and reaper as programs, an inbox whose inputs have their turns before
the agent is idle. Nothing fails here, and no time goes by but in waits and turns.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Final, TypeVar

from msgspec import Struct
from returns.pipeline import is_successful

from wakefold.conversations import REMINDER_SOURCE
from wakefold.effects import Arm, AwaitIdle, Claim, Disarm, Effect, Flush, HandOver, TakeTurn, Warn
from wakefold.events import (
    SCHEDULE_CHANGE,
    AfterRecord,
    Create,
    Event,
    EveryRecord,
    Json,
    encode_change,
)
from wakefold.guard import Guard, Refusal, Stop, find_not_before, reap
from wakefold.guard_config import GuardConfig
from wakefold.ledger import Ledger, list_active
from wakefold.lifecycle import advance
from wakefold.owners import open_owner
from wakefold.reaping import reap_reminders
from wakefold.recurrence import SEED
from wakefold.rejections import Rejection
from wakefold.requests import allocate_id
from wakefold.signals import (
    ClaimBusy,
    ClaimGranted,
    Flushed,
    HandedOver,
    IdleCame,
    Nudged,
    Recorded,
    Signal,
    StopTold,
    TurnCame,
    WentIdle,
)
from wakefold.tools import (
    Append,
    Appended,
    Barrier,
    Confirmed,
    ReadClock,
    Sampled,
    StepAnswer,
    ToolStep,
    open_call,
)
from wakefold.wakeups import DAY_MS, HOUR_MS

START_MS: Final = 1_801_440_000_000  # 2027-02-01T00:00:00Z

_Answer = TypeVar("_Answer")


class Delivery(Struct, frozen=True):
    """One hand-over: when, of how many records, what stood before it and what was left."""

    time_ms: int
    size: int
    repeating: bool
    streak_before: int
    one_shots_left: int
    reaped_too_fast: bool


class World:
    """A session under guard and its agent. `act` is what the agent does in each of its turns.

    It begins at `start_ms` with a log. After `wakes_max` deliveries the agent does nothing any more,
    and the simulation comes to its end. `refused` and `stopped` tell when, too, `held_ms` from when to
    when something overdue waited for the guard.
    """

    def __init__(
        self,
        config: GuardConfig | None,
        act: Callable[[World], None],
        turn_ms: int = 0,
        wakes_max: int = 9999,
        log: Sequence[Event] = (),
        start_ms: int = START_MS,
    ) -> None:
        self.now_ms = start_ms
        self.events: list[Event] = list(log)
        self.deliveries: list[Delivery] = []
        self.stopped: list[tuple[int, Stop]] = []
        self.refused: list[tuple[int, Refusal | Rejection]] = []
        self.held_ms: list[tuple[int, int]] = []
        self._act, self._turn_ms, self._wakes_max = act, turn_ms, wakes_max
        self._owner = open_owner(log, 0, SEED, config, start_ms).unwrap()
        self.timer_ms: int | None = None
        self._awaits_idle = self._reaped_too_fast = False
        self.streak = 0
        self._words: deque[int] = deque()
        self._cut_ms = start_ms
        self.inbox: deque[Json] = deque()  # the sources of what waits for its turn, or has it
        self._signals: deque[Signal] = deque()

    @property
    def ledger(self) -> Ledger:
        """What the log has come to; it is never corrupt here."""
        assert self._owner.ledger is not None
        return self._owner.ledger

    @property
    def guard(self) -> Guard:
        """What the guard knows."""
        assert self._owner.guard is not None
        return self._owner.guard

    @property
    def stops(self) -> list[Stop]:
        """The stops that were told."""
        return [stop for _, stop in self.stopped]

    @property
    def refusals(self) -> list[Refusal | Rejection]:
        """Why creates were refused."""
        return [refusal for _, refusal in self.refused]

    @property
    def times_ms(self) -> list[int]:
        """When each wakeup was, by the log."""
        return [
            one.time_ms
            for one in self.events
            if isinstance(one.data, dict) and one.data.get("operation") == "dispatch"
        ]

    def run(self, days: float, words: Iterable[float] = ()) -> World:
        """Let time go by; a person speaks after so many hours, first of all at the beginning."""
        spoken = [START_MS + int(hours * HOUR_MS) for hours in words]
        return self.live(START_MS + int(days * DAY_MS), spoken)

    def live(self, end_ms: int, words_ms: Iterable[int]) -> World:
        """The same until an instant, that instant included; a person speaks at the others."""
        self._words = deque(words_ms)
        self._cut_ms = end_ms + DAY_MS  # an agent whose turns are too long is never idle again
        self._listen()
        self._signals.append(Nudged())
        self._settle()
        while len(self.deliveries) < self._wakes_max:
            words_ms = list(self._words)[:1]
            ahead = words_ms if self.timer_ms is None else [self.timer_ms, *words_ms]
            self._rest(min([*ahead, end_ms + 1]))
            if not ahead or min(ahead) > end_ms:
                break
            self.now_ms = max(self.now_ms, min(ahead))
            if not self._listen():
                self.timer_ms = None
                self._signals.append(Nudged())
            self._settle()
        return self

    def _rest(self, until_ms: int) -> None:
        """Note whether something overdue is held."""
        held = self._owner.guard is not None and find_not_before(self.guard, self.now_ms) is not None
        if held and any(record.scheduled_at_ms <= self.now_ms for record in list_active(self.ledger)):
            self.held_ms.append((self.now_ms, until_ms))

    def _listen(self) -> bool:
        """Whether people have spoken by now; it goes into the inbox."""
        before = len(self.inbox)
        while self._words and self._words[0] <= self.now_ms:
            self._words.popleft()
            self.inbox.append({"kind": "user"})
        return len(self.inbox) > before

    def call(self, tool_arguments: Json) -> None:
        """A `schedule_create` by the tool route."""
        opened = open_call("schedule_create", tool_arguments, self._owner.guard, self.now_ms)
        answer = self._drive(opened.unwrap()()) if is_successful(opened) else opened
        if not is_successful(answer):
            self.refused.append((self.now_ms, answer.failure()))

    def slip(self, seconds: int, *, repeating: bool) -> None:
        """A create around the tool route: the log has it, and nobody is asked."""
        name, target_ms = allocate_id(self.ledger), self.now_ms + 1000 * seconds
        kind = EveryRecord if repeating else AfterRecord
        self.append(encode_change(Create(kind(name, "around", seconds, target_ms))))

    def append(self, data: object, kind: str = SCHEDULE_CHANGE) -> None:
        """Write an event, and report it."""
        self.events.append(Event(kind, len(self.events), self.now_ms, data))
        self._owner, effects = advance(self._owner, Recorded(self.events[-1]))
        assert effects == ()

    def _settle(self) -> None:
        """Let everything run that needs no time, and the agent's turns."""
        while (self._signals or self.inbox) and self.now_ms <= self._cut_ms:
            while self._signals:
                self._owner, effects = advance(self._owner, self._signals.popleft())
                for effect in effects:
                    self._perform(effect)
            if self.inbox:
                self._take_turn()

    def _take_turn(self) -> None:
        """The turn of the first input; the agent is idle once none is left."""
        self.append({"source": self.inbox[0]}, "user/message")
        if self.inbox[0] != REMINDER_SOURCE:
            self.streak = 0
        self.now_ms += self._turn_ms
        self._listen()
        if len(self.deliveries) <= self._wakes_max:
            self._act(self)
        self.inbox.popleft()
        if not self.inbox:
            self._idle()

    def _idle(self) -> None:
        """The agent becomes idle: the reaper first, then the owner."""
        if self._owner.guard is not None:
            self._reap()
        self._signals.append(WentIdle())
        if self._awaits_idle:
            self._awaits_idle = False
            self._signals.append(IdleCame())

    def _reap(self) -> None:
        before = self.ledger
        trip = reap(self.guard.wakeups, before, self.guard.config, self.now_ms)
        reaped = self._drive(reap_reminders())
        if reaped.stop is not None:
            self.stopped.append((reaped.now_ms, reaped.stop))
            self._signals.append(StopTold(reaped.stop.key))
        left = set(self.ledger.records)
        assert left == set(before.records) - {r.id for r in (trip.to_delete if trip else ())}
        self._reaped_too_fast = trip is not None and bool(trip.offending_seconds)

    def _perform(self, effect: Effect) -> None:
        match effect:
            case TakeTurn():
                self._signals.append(TurnCame())
            case Flush():
                self._signals.append(Flushed(self.now_ms))
            case Arm(delay_ms=delay_ms):
                self.timer_ms = self.now_ms + delay_ms
            case Disarm():
                self.timer_ms = None
            case Claim():
                self._signals.append(ClaimBusy() if self.inbox else ClaimGranted(self.now_ms))
            case AwaitIdle():
                self._awaits_idle = True
            case HandOver():
                self._deliver(effect)
            case Warn(kind=kind):
                raise AssertionError(kind)
            case _:
                return

    def _deliver(self, order: HandOver) -> None:
        streak, size = self.streak, len(order.changes)
        repeating = order.changes[0].accepted_at_ms is not None
        for change in order.changes:
            self.append(encode_change(change))
        self.streak += size
        shots = sum(not isinstance(record, EveryRecord) for record in list_active(self.ledger))
        self.deliveries.append(
            Delivery(self.now_ms, size, repeating, streak, shots, self._reaped_too_fast)
        )
        self.inbox.append(REMINDER_SOURCE)
        self._signals.append(HandedOver())

    def _drive(self, program: Generator[ToolStep, StepAnswer, _Answer]) -> _Answer:
        step = next(program)
        while True:
            try:
                step = program.send(self._answer(step))
            except StopIteration as end:
                answer: _Answer = end.value
                return answer

    def _answer(self, step: ToolStep) -> StepAnswer:
        match step:
            case Barrier():
                self._signals.append(Nudged())
                return Confirmed(self._owner.ledger, self._owner.guard)
            case ReadClock():
                return Sampled(self.now_ms)
            case Append(change=change):
                self.append(encode_change(change))
                return Appended()
            case _:
                raise AssertionError(step)
