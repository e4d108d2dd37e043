"""The coming days of a session whose owner is always live: wakeups, refusals, stops, time held.

This module lets a model of the agent and its people (`habits`) loose on what a log has come to, and
counts. It decides nothing itself: what is due, what is admitted, what a stop deletes and how long a
hold lasts are the planner's and the guard's answers, asked for in a shell's order (spec sections 8 and
12). Time goes from wake to wake and never by ticks. It refuses to know a clock, and what a turn costs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, assert_never

from msgspec import Struct

from wakefold.conversations import (
    REMINDER_SOURCE,
    USER_MESSAGE,
    Conversation,
    name_person,
)
from wakefold.events import (
    SCHEDULE_CHANGE,
    Change,
    Create,
    Delete,
    Event,
    Json,
    Record,
    encode_change,
)
from wakefold.guard import UNTIL_A_WORD, Guard, Stop, admit, find_not_before, note_told, reap, watch
from wakefold.habits import Habits, list_words
from wakefold.implied_zones import NO_ZONE
from wakefold.instants import MAX_INSTANT_MS
from wakefold.ledger import EMPTY, Ledger, evolve, list_active
from wakefold.outcomes import either
from wakefold.owners import Owner
from wakefold.records import is_recurring
from wakefold.recoveries import list_missing_dispatches
from wakefold.requests import make_record, read_create_request
from wakefold.views import View, list_views
from wakefold.wakes import (
    BatchDue,
    OneShotDue,
    SkipDue,
    Wait,
    decide_due,
    list_dispatches,
    plan_next_wake,
)
from wakefold.wakeups import DAY_MS, HOUR_MS, find_day_start, forget_wakeups

_PROMPT: Final = "again"
_WORD: Final = name_person("forecast", None)


class ToldStop(Struct, frozen=True):
    """A stop of which the owner is told, as of `time_ms`."""

    time_ms: int
    stop: Stop


class Day(Struct, frozen=True, kw_only=True):
    """What comes in one day; it begins at `start_ms`, by the guard's boundary, and may be cut.

    `deliveries` counts messages: a batch is one, with a wakeup for each of its reminders. `refused`
    counts the creates that were not made, by code. `deleted` counts the repeats that the reaper ended,
    also where its stop was told before. `held_ms` is how long something was due and waited for the
    guard alone.
    """

    start_ms: int
    wakeups: int = 0
    deliveries: int = 0
    words: int = 0
    created: int = 0
    refused: dict[str, int] = {}
    stops: tuple[ToldStop, ...] = ()
    deleted: int = 0
    held_ms: int = 0


class Forecast(Struct, frozen=True):
    """The days from `start_ms` on and before `end_ms`, and how the session stands then.

    `next_wake_ms` is `None` where nothing but an external word would wake it.
    """

    start_ms: int
    end_ms: int
    days: tuple[Day, ...]
    active: tuple[View, ...]
    next_wake_ms: int | None


def forecast(
    owner: Owner,
    conversation: Conversation,
    habits: Habits,
    *,
    start_ms: int,
    days: int,
    on_day: Callable[[Day], None] = lambda _: None,
) -> Forecast:
    """What comes in so many days of 24 hours, if the owner lives and the agent keeps to its habits.

    `owner` and `conversation` are those of the whole log; what waits in the inbox has its turns first.
    A log that is lost wakes nobody. `on_day` hears of each day as it is over. The days end with the
    calendar.
    """
    run = _Run(owner, habits, start_ms, min(start_ms + days * DAY_MS, MAX_INSTANT_MS), on_day)
    return run.run(conversation)


class _Run:
    """A session while its days go by."""

    def __init__(
        self,
        owner: Owner,
        habits: Habits,
        start_ms: int,
        end_ms: int,
        on_day: Callable[[Day], None],
    ) -> None:
        ledger = EMPTY if owner.ledger is None else owner.ledger
        self._now_ms, self._start_ms, self._end_ms = start_ms, start_ms, end_ms
        self._habits, self._tell_day = habits, on_day
        self._seen, self._number = ledger.seen_ids, len(ledger.seen_ids)
        self._ledger, self._guard = _forget_ids(ledger), owner.guard
        self._inbox: list[object] = []  # the sources of what waits for a turn
        self._words = list_words(habits, start_ms, end_ms)
        self._word_ms = next(self._words, None)
        self._days: list[Day] = []
        self._day = self._open_day()

    def run(self, conversation: Conversation) -> Forecast:
        """The whole of it, once."""
        for dispatch in list_missing_dispatches(conversation, self._ledger):
            self._append(dispatch)
            self._day.wakeups += 1
        self._inbox = [given.message.get("source") for given in conversation.inbox]
        self._hear()
        while self._now_ms < self._end_ms:
            if self._inbox:
                self._take_turn()
            else:
                self._look()
        if self._day.start_ms < self._end_ms:
            self._close_day()
        not_before_ms = self._find_not_before()
        wake = plan_next_wake(self._ledger, self._now_ms, not_before_ms)
        return Forecast(
            start_ms=self._start_ms,
            end_ms=self._end_ms,
            days=tuple(self._days),
            active=list_views(self._ledger, self._now_ms, not_before_ms),
            next_wake_ms=None if wake is None or wake.at_ms == UNTIL_A_WORD else wake.at_ms,
        )

    def _look(self) -> None:
        """The owner's run while the agent is idle: hand over what is due, or wait."""
        not_before_ms = self._find_not_before()
        # A batch fails past year 9999 alone, where no day of a forecast lies.
        decision = decide_due(self._ledger, self._now_ms, not_before_ms).value_or(Wait(None))
        match decision:
            case Wait(until_ms=until_ms):
                views = list_views(self._ledger, self._now_ms, not_before_ms)
                held = any(view.held_until_ms is not None for view in views)
                ahead_ms = (ms for ms in (until_ms, self._word_ms) if ms is not None)
                self._pass_time(min(ahead_ms, default=self._end_ms), held=held)
            case SkipDue():
                for skip in list_dispatches(decision):
                    self._append(skip)
            case OneShotDue() | BatchDue():
                dispatches = list_dispatches(decision)
                for dispatch in dispatches:
                    self._append(dispatch)
                self._day.wakeups += len(dispatches)
                self._day.deliveries += 1
                self._inbox.append(REMINDER_SOURCE)
            case _:
                assert_never(decision)

    def _take_turn(self) -> None:
        """The turn of the first input; after the last one the agent is idle: the reaper comes first."""
        self._record(USER_MESSAGE, {"source": self._inbox.pop(0)})
        self._pass_time(self._now_ms + self._habits.turn_ms)
        if self._now_ms == self._end_ms:
            return
        self._act()
        if not self._inbox:
            self._reap()

    def _act(self) -> None:
        """What the agent asks for in a turn."""
        every, after = self._habits.every_seconds, self._habits.after_seconds
        repeats = any(is_recurring(record) for record in list_active(self._ledger))
        if every is not None and not repeats:
            self._ask({"prompt": _PROMPT, "every_seconds": every})
        if after is not None:
            self._ask({"prompt": _PROMPT, "after_seconds": after})

    def _ask(self, arguments: Json) -> None:
        """A create by the tool route: admission, then the request's own checks."""
        if self._guard is not None:
            wakeups, config = self._guard.wakeups, self._guard.config
            refusal = admit(wakeups, config, "schedule_create", arguments, self._now_ms)
            if refusal is not None:
                self._refuse(refusal.code)
                return
        number = self._number + 1
        while f"schedule-{number}" in self._seen:
            number += 1

        def create(record: Record) -> None:
            self._append(Create(schedule=record))
            self._ledger = _forget_ids(self._ledger)
            self._number = number
            self._day.created += 1

        # The gate is exhausted only where no interval is left before the calendar's end.
        made = read_create_request(arguments).bind(
            lambda request: make_record(request, f"schedule-{number}", self._now_ms, NO_ZONE)
        )
        either(made, create, lambda rejection: self._refuse(rejection.code))

    def _refuse(self, code: str) -> None:
        self._day.refused[code] = self._day.refused.get(code, 0) + 1

    def _reap(self) -> None:
        if self._guard is None:
            return
        stop = reap(self._guard.wakeups, self._ledger, self._guard.config, self._now_ms)
        if stop is None:
            return
        for record in stop.to_delete:
            self._append(Delete(id=record.id))
        self._day.deleted += len(stop.to_delete)
        if stop.key not in self._guard.told:
            self._guard = note_told(self._guard, stop.key)
            self._day.stops.append(ToldStop(self._now_ms, stop))

    def _find_not_before(self) -> int | None:
        return None if self._guard is None else find_not_before(self._guard, self._now_ms)

    def _append(self, change: Change) -> None:
        self._record(SCHEDULE_CHANGE, encode_change(change))

    def _record(self, kind: str, data: object) -> None:
        event = Event(kind, self._ledger.position, self._now_ms, data)
        self._ledger = evolve(self._ledger, event).unwrap()
        if self._guard is not None:
            self._guard = watch(self._guard, event)

    def _pass_time(self, until_ms: int, *, held: bool = False) -> None:
        """Let time go by, to the end at most; on the way days end, and people speak."""
        until_ms = min(until_ms, self._end_ms)
        while self._now_ms < until_ms:
            word_ms = until_ms if self._word_ms is None else self._word_ms
            stop_ms = min(until_ms, word_ms, self._day.end_ms)
            self._day.held_ms += stop_ms - self._now_ms if held else 0
            self._now_ms = stop_ms
            if stop_ms == self._day.end_ms:
                self._close_day()
                self._day = self._open_day()
            self._hear()

    def _hear(self) -> None:
        """What people say now waits for the agent."""
        while self._word_ms is not None and self._word_ms <= self._now_ms:
            self._inbox.append(_WORD)
            self._day.words += 1
            self._word_ms = next(self._words, None)

    def _open_day(self) -> _Tally:
        """Count from nothing; of the wakeups only those that a limit can still ask for are kept."""
        guard = self._guard
        if guard is None:
            return _Tally(find_day_start(self._now_ms))
        start_ms = find_day_start(self._now_ms, guard.config.day_boundary_offset_minutes)
        self._guard = Guard(
            config=guard.config,
            seed_length=guard.seed_length,
            wakeups=forget_wakeups(guard.wakeups, min(start_ms, self._now_ms - HOUR_MS)),
            told=guard.told,
        )
        return _Tally(start_ms)

    def _close_day(self) -> None:
        self._days.append(self._day.close())
        self._tell_day(self._days[-1])


class _Tally:
    """One day while it goes on."""

    def __init__(self, start_ms: int) -> None:
        self.start_ms, self.end_ms = start_ms, start_ms + DAY_MS
        self.wakeups = self.deliveries = self.words = self.created = self.deleted = self.held_ms = 0
        self.refused: dict[str, int] = {}
        self.stops: list[ToldStop] = []

    def close(self) -> Day:
        """The day as it was."""
        return Day(
            start_ms=self.start_ms,
            wakeups=self.wakeups,
            deliveries=self.deliveries,
            words=self.words,
            created=self.created,
            refused=self.refused,
            stops=tuple(self.stops),
            deleted=self.deleted,
            held_ms=self.held_ms,
        )


def _forget_ids(ledger: Ledger) -> Ledger:
    """The ledger without the ids of what has ended: they are numbered on, and would only pile up."""
    return Ledger(
        profile=ledger.profile,
        seed_length=ledger.seed_length,
        position=ledger.position,
        records=ledger.records,
        seen_ids=dict.fromkeys(ledger.records),
        last_accepted_at_ms=ledger.last_accepted_at_ms,
    )
