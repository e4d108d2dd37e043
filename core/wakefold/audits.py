"""What the guard would have done with a log under given limits (spec section 12).

This module replays a session's own suffix: each create is offered to admission, each end of a turn to
the reaper, and what was refused or deleted wakes nobody any more, so that its later dispatches count as
prevented. It decides nothing that `guard` does not decide, and refuses to change a log.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import Literal

from msgspec import Struct
from returns.result import Result

from wakefold.active_records import index_records
from wakefold.conversations import TURN_END
from wakefold.edits import NewRule, Skip, StatedDispatch, Update
from wakefold.events import (
    SCHEDULE_CHANGE,
    Change,
    Create,
    Delete,
    Dispatch,
    Event,
    Json,
    Record,
    read_change,
)
from wakefold.guard import Guard, Refusal, Stop, admit, note_told, reap, watch
from wakefold.guard_config import GuardConfig
from wakefold.ledger import Ledger, accept_dispatch, fold
from wakefold.records import find_interval, is_recurring
from wakefold.recurrence import SEED, Profile, find_gate
from wakefold.rejections import CorruptScheduleLog, LogFault
from wakefold.seen_ids import index_ids
from wakefold.transitions import accept_edit
from wakefold.wakeups import HOUR_MS, find_day_start

#: The limits as an audit names them: the two of admission, then the three of the reaper.
Limit = Literal["hourly", "floor", "consecutive", "per_day", "interval"]


class Refused(Struct, frozen=True, tag="refused"):
    """A create, or an edit, that admission refuses."""

    seq: int
    time_ms: int
    schedule_id: str
    refusal: Refusal


class Stopped(Struct, frozen=True, tag="stopped"):
    """A stop at an end of a turn; `told` says whether the owner is told of it, or was before."""

    seq: int
    time_ms: int
    stop: Stop
    told: bool


class Prevented(Struct, frozen=True, tag="prevented"):
    """A wakeup that does not happen, since its reminder was refused or deleted by a limit."""

    seq: int
    time_ms: int
    schedule_id: str
    limit: Limit


#: What an audit tells of: what is refused, a stop, a dispatch that is prevented.
Finding = Refused | Stopped | Prevented


class Audit(Struct, frozen=True):
    """What a replay came to: the findings in order, and totals of the log as it is.

    The busiest hour slides, the busiest day begins at the configured boundary; both count wakeups.
    """

    findings: tuple[Finding, ...]
    wakeups: int
    longest_streak: int
    busiest_hour: int
    busiest_day: int
    prevented: dict[Limit, int]


def audit(
    events: Iterable[Event], config: GuardConfig, seed_length: int = 0, profile: Profile = SEED
) -> Result[Audit, CorruptScheduleLog]:
    """Replay a whole log under limits, in one pass. Fails where the log does not fold."""
    replay = _Replay(config, seed_length, profile)

    def show(event: Event) -> Event:
        replay.take(event)
        return event

    return fold(map(show, events), seed_length, profile).map(lambda _: replay.conclude())


class _Replay:
    """A log while it is replayed: as it is, and as it would have been under the guard."""

    def __init__(self, config: GuardConfig, seed_length: int, profile: Profile) -> None:
        self._profile, self._seed_length = profile, seed_length
        self._place = 0
        self._records: dict[str, Record] = {}
        self._left, self._seen_ids = index_records({}), index_ids({})  # under the guard
        self._last_accepted_at_ms: int | None = None
        self._actual = Guard(config=config, seed_length=seed_length)
        self._guarded = self._actual
        self._gone: dict[str, Limit] = {}  # what wakes nobody any more, and by which limit
        self._findings: list[Finding] = []
        self._times_ms: list[int] = []

    def take(self, event: Event) -> None:
        """One more event; what makes the log corrupt is the fold's to find."""
        self._place += 1
        if self._place <= self._seed_length:
            return
        self._actual = watch(self._actual, event)
        if event.type == SCHEDULE_CHANGE:
            try:
                if self._is_prevented(event, read_change(event.data)):
                    return
            except LogFault:
                return
        self._guarded = watch(self._guarded, event)
        if event.type == TURN_END:
            self._reap(event)

    def conclude(self) -> Audit:
        """The totals."""
        prevented: dict[Limit, int] = {}
        for finding in self._findings:
            if isinstance(finding, Prevented):
                prevented[finding.limit] = prevented.get(finding.limit, 0) + 1
        offset_minutes = self._actual.config.day_boundary_offset_minutes
        days: dict[int, int] = {}
        for time_ms in self._times_ms:
            start_ms = find_day_start(time_ms, offset_minutes)
            days[start_ms] = days.get(start_ms, 0) + 1
        return Audit(
            findings=tuple(self._findings),
            wakeups=self._actual.wakeups.total,
            longest_streak=self._actual.wakeups.max_consecutive,
            busiest_hour=_count_busiest_hour(self._times_ms),
            busiest_day=max(days.values(), default=0),
            prevented=prevented,
        )

    def _is_prevented(self, event: Event, change: Change) -> bool:
        """Whether a change does not happen under the guard: its reminder is refused, or gone."""
        if isinstance(change, Create):
            self._records[change.schedule.id] = change.schedule
            self._offer(event, change)
        elif isinstance(change, Delete):
            self._records.pop(change.id, None)
            self._end(change.id)
        elif isinstance(change, Dispatch | StatedDispatch):
            self._dispatch(change)
            self._times_ms.append(event.time_ms)
            limit = self._gone.get(change.id)
            if limit is not None:
                self._findings.append(Prevented(event.seq, event.time_ms, change.id, limit))
                return True
        elif change.id in self._records:
            gate_ms = find_gate(self._profile, self._last_accepted_at_ms)
            edited = accept_edit(self._records[change.id], change, gate_ms)
            if not isinstance(change, Skip):
                ruled = isinstance(change, Update) and isinstance(change.changes.rule, NewRule)
                self._ask(event, "schedule_update", change.id, edited if ruled else None)
            self._keep(change.id, edited)
        return False

    def _dispatch(self, dispatch: Dispatch | StatedDispatch) -> None:
        record = self._records.get(dispatch.id)
        if record is None:
            return
        if is_recurring(record) and dispatch.accepted_at_ms is not None:
            self._last_accepted_at_ms = dispatch.accepted_at_ms
        self._keep(dispatch.id, accept_dispatch(record, dispatch).remaining)

    def _keep(self, schedule_id: str, remaining: Record | None) -> None:
        """What a reminder has come to, in the log and under the guard."""
        if remaining is None:
            del self._records[schedule_id]
            self._end(schedule_id)
            return
        self._records[schedule_id] = remaining
        if schedule_id in self._left:
            self._left = self._left.put(remaining)

    def _end(self, schedule_id: str) -> None:
        if schedule_id in self._left:
            self._left = self._left.end(schedule_id)

    def _offer(self, event: Event, change: Create) -> None:
        record = change.schedule
        refusal = self._ask(event, "schedule_create", record.id, record)
        if refusal is not None:
            hourly = refusal.code == "SCHEDULE_HOURLY_CAP"
            self._gone[record.id] = "hourly" if hourly else "floor"
        if record.id not in self._gone:
            self._left = self._left.put(record)
            self._seen_ids = self._seen_ids.add(record.id)

    def _ask(self, event: Event, tool: str, schedule_id: str, ruled: Record | None) -> Refusal | None:
        """Offer a call, with the record where it gave a rule; what a refused edit wakes is let be."""
        arguments: Json = {}
        if ruled is not None and is_recurring(ruled):
            arguments["every_seconds"] = find_interval(ruled)
        wakeups, config = self._guarded.wakeups, self._guarded.config
        refusal = admit(wakeups, config, tool, arguments, event.time_ms)
        if refusal is not None:
            self._findings.append(Refused(event.seq, event.time_ms, schedule_id, refusal))
        return refusal

    def _reap(self, event: Event) -> None:
        guarded = Ledger(
            profile=self._profile,
            records=self._left,
            seen_ids=self._seen_ids,
            last_accepted_at_ms=self._last_accepted_at_ms,
        )
        stop = reap(self._guarded.wakeups, guarded, self._guarded.config, event.time_ms)
        if stop is None:
            return
        known = stop.key in self._guarded.told
        self._guarded = note_told(self._guarded, stop.key)
        for record in stop.to_delete:
            self._gone[record.id] = stop.key.reason
            self._end(record.id)
        if stop.to_delete or not known:
            self._findings.append(Stopped(event.seq, event.time_ms, stop, told=not known))


def _count_busiest_hour(times_ms: list[int]) -> int:
    ordered = sorted(times_ms)
    return max(
        (place + 1 - bisect_left(ordered, time_ms - HOUR_MS) for place, time_ms in enumerate(ordered)),
        default=0,
    )
