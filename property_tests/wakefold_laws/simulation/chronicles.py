"""What a simulated session's log says, read a second time and plainly, to judge shells by.

This module follows the session's own suffix event by event: which reminders are active, what was handed
over and dispatched, how often the session woke itself. It uses none of the core's folding, planning or
counting, so that a fault there shows; it refuses to judge what it reads.

Every name in `_ms` is epoch milliseconds.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from wakefold import SCHEDULE_CHANGE, Event, format_instant, parse_instant
from wakefold.framing import read_frame
from wakefold_laws.simulation.plain_calendars import Rule, read_rule

GATE_MS: Final = 300_000
"""How far two batches of repeating reminders stand apart."""

_OPTIONS: Final = ("title", "maxRuns", "until", "missed", "graceSeconds")

Occurrence = tuple[str, int]
"""A reminder's id and the epoch ms at which it is due."""


class Reminder(Struct, frozen=True, kw_only=True):
    """An active reminder: its target, and how its occurrences follow each other if it comes again.

    `options` are those of version 2 as the log spells them; `due_ms` is when it may go at the earliest.
    """

    target_ms: int
    interval_ms: int | None = None
    rule: Rule | None = None
    options: dict[str, Any] = {}
    paused: bool = False
    snoozed_ms: int | None = None
    runs: int = 0
    revision: int = 0

    @property
    def repeats(self) -> bool:
        """Whether it may come again."""
        return self.interval_ms is not None or self.rule is not None

    @property
    def due_ms(self) -> int:
        """Its target, or the end of its snooze."""
        return self.target_ms if self.snoozed_ms is None else self.snoozed_ms

    @property
    def until_ms(self) -> int | None:
        """The last instant at which it may occur, if there is one."""
        return parse_instant(self.options.get("until"))


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
        self.edited: dict[str, int] = {}
        """The seq of each edit, by the id and the revision that it came to."""
        self.ended: dict[str, str] = {}
        """The reminders that an option of theirs has ended, and how."""
        self.deleted: dict[str, int] = {}
        self.taken: set[Occurrence] = set()
        """What was handed over or dispatched by the rule that its reminder has."""
        self.queued: dict[Occurrence, int] = {}
        """The seq at which the message of each occurrence was put into the inbox."""
        self.words: dict[str, int] = {}
        """The seq at which each message was put into the inbox, by the message's id."""
        self.begun: dict[Occurrence | str, int] = {}
        """The seq at which each message was taken for its turn, by what it delivers and by its id."""
        self.dispatched: dict[Occurrence, Dispatched] = {}
        self.last_accepted_ms: int | None = None
        self._before_ms: int | None = None
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
                occurrences = read_occurrences(message)
                self.queued |= dict.fromkeys(occurrences, event.seq)
                self.taken |= set(occurrences)
            taken = data["start"] + data.get("removedCount", 0)
            for message in self._inbox[data["start"] : taken]:
                self.begun |= dict.fromkeys((*read_occurrences(message), message["id"]), event.seq)
            self._inbox[data["start"] : taken] = data["inserted"]

    def list_due(self, now_ms: int) -> list[str]:
        """The active reminders that may go by now."""
        active = self.active.items()
        return [name for name, found in active if found.due_ms <= now_ms and not found.paused]

    def find_next_ms(self) -> int | None:
        """The earliest instant at which a reminder can go, the gate kept; `None`: none can."""
        gate_ms = self.find_gate_ms()
        return min(
            (
                max(found.due_ms, gate_ms) if found.repeats and gate_ms is not None else found.due_ms
                for found in self.active.values()
                if not found.paused
            ),
            default=None,
        )

    def find_gate_ms(self, accepted_ms: int | None = None) -> int | None:
        """When the next batch may go, or could before the one that was accepted at an instant."""
        inside = accepted_ms is not None and accepted_ms == self.last_accepted_ms
        last_ms = self._before_ms if inside else self.last_accepted_ms
        return None if last_ms is None else last_ms + GATE_MS

    def count_wakeups(self, since_ms: int) -> int:
        """The wakeups at or after an instant."""
        return sum(time_ms >= since_ms for time_ms in self.wakeups_ms)

    def _take_change(self, event: Event, data: Any) -> None:  # noqa: ANN401 - JSON
        operation = data["operation"]
        if operation == "create":
            record = data["schedule"]
            self.active[record["id"]] = read_reminder(record)
            self.created[record["id"]] = event.seq
            return
        name: str = data["id"]
        found = self.active.get(name)
        if operation == "delete":
            self.deleted[name] = event.seq
            self.active.pop(name, None)
            return
        if operation == "dispatch":
            self.streak += 1
            self.wakeups_ms.append(event.time_ms)
        if found is None:
            return
        if operation == "dispatch":
            self._dispatch(event.seq, data, found)
        elif operation == "skip":
            self._move(name, found, read_ms(data, "nextScheduledAt"))
        else:
            self._edit(event.seq, data, found)

    def _dispatch(self, seq: int, data: Any, found: Reminder) -> None:  # noqa: ANN401 - JSON
        name: str = data["id"]
        accepted_ms = read_ms(data, "acceptedAt") if found.repeats else None
        if data["version"] != 1:
            due_ms, next_ms = read_ms(data, "occurrenceAt") or 0, read_ms(data, "nextScheduledAt")
        elif found.interval_ms is None:
            due_ms, next_ms = found.target_ms, None
        else:
            missed = ((accepted_ms or 0) - found.target_ms) // found.interval_ms
            due_ms = found.target_ms + missed * found.interval_ms
            next_ms = due_ms + found.interval_ms
        if accepted_ms is not None and accepted_ms != self.last_accepted_ms:
            self._before_ms, self.last_accepted_ms = self.last_accepted_ms, accepted_ms
        self._move(name, replace(found, runs=found.runs + 1), next_ms)
        self.dispatched[name, due_ms] = Dispatched((name, due_ms), seq, accepted_ms)
        self.taken.add((name, due_ms))

    def _move(self, name: str, found: Reminder, next_ms: int | None) -> None:
        """To the next target, unless there is none or an option ends it there."""
        runs_max, until_ms = found.options.get("maxRuns"), found.until_ms
        if runs_max is not None and found.runs >= runs_max:
            self.ended[name] = f"{found.runs} of {runs_max} runs are over"
        elif next_ms is not None and until_ms is not None and next_ms > until_ms:
            self.ended[name] = f"it ends at {format_instant(until_ms)}"
        elif next_ms is not None:
            self.active[name] = replace(found, target_ms=next_ms, snoozed_ms=None)
            return
        del self.active[name]

    def _edit(self, seq: int, data: Any, found: Reminder) -> None:  # noqa: ANN401 - JSON
        name: str = data["id"]
        edited = _edit_reminder(found, data)
        if "rule" in data.get("changes", ()):  # where the clock was set back it may name the same again
            renewed = edited.target_ms
            self.taken = {key for key in self.taken if key[0] != name or key[1] < renewed}
        edited = replace(edited, revision=found.revision + 1)
        self.active[name] = edited
        self.edited[f"{name} revision {edited.revision}"] = seq


def read_reminder(record: Any) -> Reminder:  # noqa: ANN401 - JSON
    """The reminder that a stored record, or a new rule, begins."""
    every = record.get("everySeconds")
    return Reminder(
        target_ms=read_ms(record, "scheduledAt") or 0,
        interval_ms=every and every * 1000,
        rule=read_rule(record),
        options={key: record[key] for key in _OPTIONS if key in record},
    )


def _edit_reminder(found: Reminder, data: Any) -> Reminder:  # noqa: ANN401 - JSON
    match data["operation"]:
        case "pause":
            return replace(found, paused=True)
        case "resume" if found.repeats:
            target_ms = read_ms(data, "scheduledAt") or 0
            return replace(found, paused=False, target_ms=target_ms, snoozed_ms=None)
        case "resume":
            return replace(found, paused=False)
        case "snooze":
            return replace(found, snoozed_ms=read_ms(data, "until"))
        case _:
            return _update_reminder(found, data["changes"])


def _update_reminder(found: Reminder, changes: Any) -> Reminder:  # noqa: ANN401 - JSON
    given = {key: changes[key] for key in _OPTIONS if key in changes}
    options = {key: value for key, value in {**found.options, **given}.items() if value is not None}
    if options.get("missed") != "skip" and "graceSeconds" not in given:
        options.pop("graceSeconds", None)
    if "rule" not in changes:
        return replace(found, options=options)
    new = read_reminder(changes["rule"])
    return replace(
        found,
        options=options,
        target_ms=new.target_ms,
        interval_ms=new.interval_ms,
        rule=new.rule,
        snoozed_ms=None,
    )


def read_ms(data: Any, key: str) -> int | None:  # noqa: ANN401 - JSON
    """The instant that stands under a key, if one does."""
    return parse_instant(data.get(key))


def read_occurrences(message: Any) -> tuple[Occurrence, ...]:  # noqa: ANN401 - JSON
    """The occurrences that a message in the inbox delivers; none for a person's word."""
    if message["source"].get("plugin") != "tool-schedule":
        return ()
    return read_frame("\n".join(block["text"] for block in message["content"]))
