"""A bench for the guard: an owner whose log is written as it goes, without a shell or a clock.

This module decides how facts reach the owner and its reaper. It refuses to judge what they make of it.
"""

from __future__ import annotations

from typing import Final

from wakefold.events import SCHEDULE_CHANGE, Change, Dispatch, Event, EveryRecord, encode_change
from wakefold.guard import StopKey
from wakefold.guard_config import GuardConfig
from wakefold.ledger import Ledger, list_active
from wakefold.lifecycle import advance
from wakefold.owners import Owner, open_owner
from wakefold.reaping import Reaped, reap_reminders
from wakefold.recurrence import PUBLISHED
from wakefold.signals import Recorded, StopTold
from wakefold.tools import Append, Appended, Barrier, Confirmed, Sampled, StepAnswer, ToolStep

#: When a bench begins (epoch ms): 2027-02-01T09:00:00Z.
START_MS: Final = 1_801_472_400_000


class Bench:
    """An owner whose log is written as it goes, and whose agent becomes idle now and then."""

    def __init__(self, config: GuardConfig) -> None:
        """An empty session under these limits."""
        self.now_ms = START_MS
        self.events: list[Event] = []
        self.told: list[StopKey] = []
        self.owner: Owner = open_owner((), 0, PUBLISHED, config).unwrap()

    @property
    def ledger(self) -> Ledger:
        """What the log has come to; it is never corrupt here."""
        assert self.owner.ledger is not None
        return self.owner.ledger

    def append(self, data: object, kind: str = SCHEDULE_CHANGE) -> None:
        """Write an event, and report it."""
        self.events.append(Event(kind, len(self.events), self.now_ms, data))
        self.owner, _ = advance(self.owner, Recorded(self.events[-1]))

    def change(self, change: Change) -> None:
        """Write a schedule change."""
        self.append(encode_change(change))

    def dispatch(self, place: int) -> None:
        """Let one of the active records go, if there is any."""
        active = list_active(self.ledger)
        if active:
            record = active[place % len(active)]
            accepted_ms = max(self.now_ms, record.scheduled_at_ms)
            self.change(Dispatch(record.id, accepted_ms if isinstance(record, EveryRecord) else None))

    def idle(self) -> Reaped:
        """Run the reaper, and tell what it finds."""
        program = reap_reminders()
        step = next(program)
        while True:
            try:
                step = program.send(self._answer(step))
            except StopIteration as end:
                reaped = end.value
                assert isinstance(reaped, Reaped)
                if reaped.stop is not None:
                    self.told.append(reaped.stop.key)
                    self.owner, _ = advance(self.owner, StopTold(reaped.stop.key))
                return reaped

    def _answer(self, step: ToolStep) -> StepAnswer:
        if isinstance(step, Barrier):
            return Confirmed(self.owner.ledger, self.owner.guard)
        if isinstance(step, Append):
            self.change(step.change)
            return Appended()
        return Sampled(self.now_ms)
