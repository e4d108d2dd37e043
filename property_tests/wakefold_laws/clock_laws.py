"""Laws of clocks: what goes on, is set back and stands still makes nothing early and nothing lost.

This module decides what deciding and planning owe to a wall clock that may do anything, and to whoever
sleeps by a monotonic one. It refuses to know how a program sleeps: the sleeper here is as section 7 of
the specification has it, in stretches, with the wall clock read again after each.
"""

from __future__ import annotations

from typing import Final

from wakefold.events import SCHEDULE_CHANGE, Event, EveryRecord, encode_change
from wakefold.ledger import Ledger, evolve, list_active
from wakefold.recurrence import SEED
from wakefold.wakes import (
    BatchDue,
    OneShotDue,
    SkipDue,
    Wait,
    decide_due,
    list_dispatches,
    plan_next_wake,
)
from wakefold_laws.clock_scripts import ClockReading, ClockScript, ClockStep
from wakefold_laws.clock_strategies import clocked_ledgers
from wakefold_laws.laws import law

STRETCH_MS: Final = 60_000
"""The longest that a sleeper goes without a look at the wall clock."""


class Runner:
    """A session that is awake at some readings and dispatches what is due there; each is a check."""

    def __init__(self, ledger: Ledger) -> None:
        """The session's ledger, before anything has gone."""
        self.ledger = ledger
        self.gone: list[str] = []

    def dispatch_due(self, now_ms: int) -> None:
        """Everything that goes at this reading of the wall clock: in its time, once, batches apart."""
        while not isinstance(decision := decide_due(self.ledger, now_ms).unwrap(), Wait):
            last_ms = self.ledger.last_accepted_at_ms
            match decision:
                case OneShotDue(record=record):
                    assert record.scheduled_at_ms <= now_ms
                    assert record.id not in self.gone
                    self.gone.append(record.id)
                case BatchDue(entries=entries):
                    assert all(entry.record.scheduled_at_ms <= now_ms for entry in entries)
                    assert all(entry.occurrence_ms <= now_ms for entry in entries)
                    apart = last_ms is None or now_ms - last_ms >= STRETCH_MS * 5
                    assert apart or self.ledger.profile != SEED
                case SkipDue(entries=late):
                    assert all(entry.record.options.missed == "skip" for entry in late)
            for change in list_dispatches(decision):
                event = Event(SCHEDULE_CHANGE, self.ledger.position, now_ms, encode_change(change))
                self.ledger = evolve(self.ledger, event).unwrap()
        assert decision.until_ms is None or decision.until_ms > now_ms


@law(times=2, clocked=clocked_ledgers())
def no_clock_makes_a_reminder_early_or_double(clocked: tuple[Ledger, ClockScript]) -> None:
    """Whatever the wall clock does, what is dispatched is due by it, no one-shot goes twice, no batch
    comes within 300 s of the last, and every change may be appended.
    """
    ledger, script = clocked
    runner = Runner(ledger)
    for reading in script.list_readings():
        runner.dispatch_due(reading.wall_ms)
        one_shots = [r.id for r in list_active(runner.ledger) if not isinstance(r, EveryRecord)]
        assert set(one_shots).isdisjoint(runner.gone)


@law(times=2, clocked=clocked_ledgers())
def a_clock_set_back_brings_nothing_back(clocked: tuple[Ledger, ClockScript]) -> None:
    """At any earlier reading than one at which everything due has gone, nothing is due."""
    ledger, script = clocked
    runner = Runner(ledger)
    readings = script.list_readings()
    latest_ms = max(reading.wall_ms for reading in readings)
    runner.dispatch_due(latest_ms)
    for reading in readings:
        assert isinstance(decide_due(runner.ledger, reading.wall_ms).unwrap(), Wait)


class Sleeper:
    """One timer at a time, slept by the monotonic clock in stretches, and the runner that it wakes."""

    def __init__(self, ledger: Ledger, start: ClockReading) -> None:
        """Armed at the start for what is next."""
        self.runner, self.now = Runner(ledger), start
        self.until_ms: int | None = None
        self.end_ms = self.look_ms = 0
        self.wake()

    def wake(self) -> None:
        """Dispatch what is due by the wall clock, and arm for the next."""
        self.runner.dispatch_due(self.now.wall_ms)
        wake = plan_next_wake(self.runner.ledger, self.now.wall_ms)
        self.until_ms = None if wake is None else wake.at_ms
        if wake is not None:
            self.end_ms = self.now.monotonic_ms + wake.delay_ms
            self.look_ms = self.now.monotonic_ms + STRETCH_MS

    def go_on(self, ms: int) -> None:
        """Sleep for so long, and wake up whenever the timer says so."""
        end_ms = self.now.monotonic_ms + ms
        while self.until_ms is not None and min(self.end_ms, self.look_ms) <= end_ms:
            ahead_ms = min(self.end_ms, self.look_ms) - self.now.monotonic_ms
            self.now = self.now.follow(ClockStep("go_on", ahead_ms))
            if self.now.wall_ms >= self.until_ms or self.now.monotonic_ms >= self.end_ms:
                self.wake()
            else:
                self.look_ms = self.now.monotonic_ms + STRETCH_MS
        self.now = self.now.follow(ClockStep("go_on", end_ms - self.now.monotonic_ms))


@law(times=2, clocked=clocked_ledgers())
def a_planned_sleep_is_never_early_and_a_minute_late_at_most(
    clocked: tuple[Ledger, ClockScript],
) -> None:
    """Whoever sleeps as long as the plan says, in stretches of a minute, dispatches nothing before the
    wall clock shows its target, and once the clocks go on nothing later than a minute after it.
    """
    ledger, script = clocked
    sleeper = Sleeper(ledger, script.list_readings()[0])
    for step, _, after in script.list_moves():
        if step.deed == "go_on":
            sleeper.go_on(step.ms)
            if step.ms >= STRETCH_MS:
                minute_ago_ms = after.wall_ms - STRETCH_MS
                assert isinstance(decide_due(sleeper.runner.ledger, minute_ago_ms).unwrap(), Wait)
        else:
            sleeper.now = sleeper.now.follow(step)
        assert sleeper.now == after


@law(times=2, clocked=clocked_ledgers())
def a_timer_is_punctual_while_the_clocks_agree(clocked: tuple[Ledger, ClockScript]) -> None:
    """While both clocks only go on, a planned sleep ends on the very millisecond of its target."""
    ledger, script = clocked
    sleeper = Sleeper(ledger, script.list_readings()[0])
    for step in script.steps:
        sleeper.go_on(abs(step.ms) % (12 * 3_600_000))
        assert isinstance(decide_due(sleeper.runner.ledger, sleeper.now.wall_ms).unwrap(), Wait)
