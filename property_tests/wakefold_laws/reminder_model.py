"""A plain model of what a log has come to, to hold an owner's orders against.

This module decides what is due, when something can go next and which hand-over is lawful, by the words
of spec sections 4 and 7 and by none of the core's arithmetic, so that a check can fail. It refuses to
know owners, phases and profiles: the gate is SEED's.

Shapes: every name in `_ms` is epoch milliseconds, an interval aside.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from msgspec import Struct

from wakefold.effects import Arm, HandOver
from wakefold.events import Change, Create, Delete, Dispatch, EveryRecord, Record
from wakefold.records import CalendarRecord
from wakefold_laws.owner_invariants import BrokenInvariant, require

_BATCH_DISTANCE_MS: Final = 300_000
_MAX_DELAY_MS: Final = 2_147_483_647


class Reminder(Struct, frozen=True):
    """One active reminder: its next target, and its interval if it comes again.

    A calendar rule is in a zone that is unknown here, and never goes.
    """

    id: str
    target_ms: int
    interval_ms: int | None
    zone_unknown: bool = False


class Reminders(Struct, frozen=True):
    """What a log has come to: active reminders and all ids in create order, last batch, streak."""

    active: tuple[Reminder, ...] = ()
    seen: tuple[str, ...] = ()
    last_batch_ms: int | None = None
    streak: int = 0

    def follow(self, change: Change) -> Reminders:
        """After a change, which must be lawful."""
        match change:
            case Create(schedule=record):
                return self._create(record)
            case Delete(id=schedule_id):
                return self.leave_out({schedule_id})
            case Dispatch(id=schedule_id, accepted_at_ms=accepted_ms):
                accepted = None if accepted_ms is None else int(accepted_ms)
                return self._dispatch(schedule_id, accepted)
            case _:
                raise LookupError  # version 2 has laws of its own

    def hear_word(self) -> Reminders:
        """After an external word."""
        return Reminders(self.active, self.seen, self.last_batch_ms)

    def leave_out(self, ids: Collection[str]) -> Reminders:
        """The same without some reminders."""
        rest = tuple(r for r in self.active if r.id not in ids)
        return Reminders(rest, self.seen, self.last_batch_ms, self.streak)

    def check_hand_over(self, order: HandOver, now_ms: int) -> None:
        """Exactly what is due goes, once, no batch too soon after another."""
        for name, at_ms in order.occurrences:
            require(at_ms <= now_ms, "early", f"{name} of {at_ms} at {now_ms}")
            coming = any(r.id == name and r.target_ms <= at_ms for r in self.active)
            require(coming, "once", f"{name} of {at_ms}")
        after = self
        for change in order.changes:
            after = after.follow(change)
        due = self.list_due(now_ms)
        named = [change.id for change in order.changes]
        right = list(order.occurrences) == due and named == [name for name, _ in due]
        require(right, "due", f"{order.occurrences} where {due} is due")

    def check_timer(self, order: Arm, now_ms: int) -> None:
        """It is armed for the next look, by the delay until then or the longest that there is."""
        look_ms = self.find_look(now_ms)
        require(order.until_ms == look_ms, "timer", f"{order} where {look_ms} is the next")
        delay_ms = min(order.until_ms - now_ms, _MAX_DELAY_MS)
        require(0 < order.delay_ms == delay_ms, "timer", f"{order} at {now_ms}")

    def list_due(self, now_ms: int) -> list[tuple[str, int]]:
        """Id and occurrence of what one message may deliver now, in its order."""
        due = [r for r in self.active if r.target_ms <= now_ms and not r.zone_unknown]
        due.sort(key=lambda r: r.target_ms)
        one_shots = [(r.id, r.target_ms) for r in due if r.interval_ms is None]
        if one_shots:
            return one_shots[:1]
        if now_ms < self._gate_ms():
            return []
        return [(r.id, now_ms - (now_ms - r.target_ms) % (r.interval_ms or 1)) for r in due]

    def list_passed_over(self, now_ms: int) -> list[str]:
        """The ids of what is due and cannot go, since nobody here knows its zone."""
        return [r.id for r in self.active if r.target_ms <= now_ms and r.zone_unknown]

    def find_look(self, now_ms: int) -> int | None:
        """When something can go: now, at a target, or when the gate opens for what waits behind it."""
        if self.list_due(now_ms):
            return now_ms
        going = self.leave_out(self.list_passed_over(now_ms)).active
        if all(r.target_ms > now_ms for r in going):
            return min((r.target_ms for r in going), default=None)
        return min([self._gate_ms(), *(r.target_ms for r in going if r.interval_ms is None)])

    def _create(self, record: Record) -> Reminders:
        interval_ms = record.every_seconds * 1000 if isinstance(record, EveryRecord) else None
        zone_unknown = isinstance(record, CalendarRecord)
        made = Reminder(record.id, record.scheduled_at_ms, interval_ms, zone_unknown)
        seen = (*self.seen, record.id)
        return Reminders((*self.active, made), seen, self.last_batch_ms, self.streak)

    def _dispatch(self, schedule_id: str, accepted_ms: int | None) -> Reminders:
        found = next((r for r in self.active if r.id == schedule_id), None)
        if found is None:
            raise BrokenInvariant("once", f"a dispatch of {schedule_id}, which has ended")
        place, streak = self.active.index(found), self.streak + 1
        before, behind = self.active[:place], self.active[place + 1 :]
        if accepted_ms is None or found.interval_ms is None:
            return Reminders((*before, *behind), self.seen, self.last_batch_ms, streak)
        late_ms = accepted_ms - found.target_ms
        require(late_ms >= 0, "once", f"a second dispatch of {schedule_id} before {found.target_ms}")
        apart = accepted_ms == self.last_batch_ms or accepted_ms >= self._gate_ms()
        require(apart, "distance", f"batches at {self.last_batch_ms} and {accepted_ms}")
        next_ms = found.target_ms + (late_ms // found.interval_ms + 1) * found.interval_ms
        moved = Reminder(schedule_id, next_ms, found.interval_ms)
        return Reminders((*before, moved, *behind), self.seen, accepted_ms, streak)

    def _gate_ms(self) -> int:
        return 0 if self.last_batch_ms is None else self.last_batch_ms + _BATCH_DISTANCE_MS
