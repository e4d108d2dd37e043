"""What a simulated session's log says, read a second time and plainly, to judge shells by.

This module follows the session's own suffix event by event: which reminders are active, what was handed
over and dispatched, how often the session woke itself. It uses none of the core's folding, planning or
counting, so that a fault there shows; it refuses to judge what it reads.

Every name in `_ms` is epoch milliseconds.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

from wakefold import SCHEDULE_CHANGE, Event, parse_instant
from wakefold.framing import read_frame

GATE_MS: Final = 300_000
"""How far two batches of repeating reminders stand apart."""

Occurrence = tuple[str, int]
"""A reminder's id and the epoch ms at which it is due."""


class Reminder(Struct, frozen=True):
    """An active reminder: its target, and how far its occurrences lie apart if it comes again."""

    target_ms: int
    interval_ms: int | None


class Dispatched(Struct, frozen=True):
    """One dispatch: which occurrence, where in the log, and what was accepted."""

    occurrence: Occurrence
    seq: int
    accepted_ms: int | None


class Chronicle:
    """The own suffix of a log so far; `take` its events in order."""

    def __init__(self, reset_kinds: tuple[str, ...]) -> None:
        """What a log without events says; a word of `reset_kinds` ends a streak."""
        self._reset_kinds = reset_kinds
        self.active: dict[str, Reminder] = {}
        self.created: dict[str, int] = {}
        """The seq at which each id was created."""
        self.deleted: dict[str, int] = {}
        self.queued: dict[Occurrence, int] = {}
        """The seq at which the message of each occurrence was put into the inbox."""
        self.words: dict[str, int] = {}
        """The seq at which each message was put into the inbox, by the message's id."""
        self.begun: dict[Occurrence | str, int] = {}
        """The seq at which each message was taken for its turn, by what it delivers or by its id."""
        self.dispatched: dict[Occurrence, Dispatched] = {}
        self.last_accepted_ms: int | None = None
        self.wakeups_ms: list[int] = []
        self.streak = 0
        self._inbox: list[Any] = []

    def take(self, event: Event) -> None:
        """One more event; what it says of ids that are not active is left out."""
        data: Any = event.data
        if event.type == SCHEDULE_CHANGE:
            self._take_change(event, data)
        elif event.type == "user/message" and data["source"].get("kind") in self._reset_kinds:
            self.streak = 0
        elif event.type == "agent/inbox/spliced":
            for message in data["inserted"]:
                self.words[message["id"]] = event.seq
                self.queued |= dict.fromkeys(read_occurrences(message), event.seq)
            taken = data["start"] + data.get("removedCount", 0)
            for message in self._inbox[data["start"] : taken]:
                self.begun |= dict.fromkeys(read_occurrences(message) or (message["id"],), event.seq)
            self._inbox[data["start"] : taken] = data["inserted"]

    def list_due(self, now_ms: int) -> list[str]:
        """The active reminders whose target has come."""
        return [name for name, found in self.active.items() if found.target_ms <= now_ms]

    def find_next_ms(self) -> int | None:
        """The earliest instant at which a reminder can go, the gate kept; `None`: none can."""
        gate_ms = None if self.last_accepted_ms is None else self.last_accepted_ms + GATE_MS
        targets_ms = (
            found.target_ms
            if found.interval_ms is None or gate_ms is None
            else max(found.target_ms, gate_ms)
            for found in self.active.values()
        )
        return min(targets_ms, default=None)

    def count_wakeups(self, since_ms: int) -> int:
        """The wakeups at or after an instant."""
        return sum(time_ms >= since_ms for time_ms in self.wakeups_ms)

    def _take_change(self, event: Event, data: Any) -> None:  # noqa: ANN401 - JSON
        if data["operation"] == "create":
            record = data["schedule"]
            every = record.get("everySeconds")
            target_ms = parse_instant(record["scheduledAt"]) or 0
            self.active[record["id"]] = Reminder(target_ms, every and every * 1000)
            self.created[record["id"]] = event.seq
            return
        found = self.active.get(data["id"])
        if data["operation"] == "delete":
            self.deleted[data["id"]] = event.seq
            self.active.pop(data["id"], None)
            return
        self.streak += 1
        self.wakeups_ms.append(event.time_ms)
        if found is not None:
            self._dispatch(event.seq, data, found)

    def _dispatch(self, seq: int, data: Any, found: Reminder) -> None:  # noqa: ANN401 - JSON
        name: str = data["id"]
        if found.interval_ms is None:
            due_ms, accepted_ms = found.target_ms, None
            del self.active[name]
        else:
            accepted_ms = parse_instant(data["acceptedAt"]) or 0
            missed = (accepted_ms - found.target_ms) // found.interval_ms
            due_ms = found.target_ms + missed * found.interval_ms
            self.active[name] = Reminder(due_ms + found.interval_ms, found.interval_ms)
            self.last_accepted_ms = accepted_ms
        self.dispatched[name, due_ms] = Dispatched((name, due_ms), seq, accepted_ms)


def read_occurrences(message: Any) -> tuple[Occurrence, ...]:  # noqa: ANN401 - JSON
    """The occurrences that a message in the inbox delivers; none for a person's word."""
    if message["source"].get("plugin") != "tool-schedule":
        return ()
    return read_frame("\n".join(block["text"] for block in message["content"]))
