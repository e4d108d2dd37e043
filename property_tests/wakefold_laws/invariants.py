"""What no shell may do, whatever goes wrong around it: the invariants of a simulation.

Each is a function of one sentence, which is handed what it needs and raises `Violation`. `Invariants`
holds a world against them as things happen. This module judges by the log as `chronicles` reads it, by
what the agent was given and by what tools answered; it refuses to know how a shell works inside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

from wakefold import Event, Ledger, evolve, format_instant, plan_next_wake
from wakefold.conversations import Input
from wakefold.guard import UNTIL_A_WORD, Guard, find_not_before, watch
from wakefold.guard_config import DEFAULT_CONFIG, GuardConfig
from wakefold_laws.chronicles import HOUR_MS, Chronicle, Dispatched, Occurrence, read_occurrences
from wakefold_laws.simulated_worlds import STRETCH_MS, Home, World

_GATE_MS: Final = 300_000
_DAY_MS: Final = 86_400_000


class Violation(BaseException):  # a shell may catch every Exception
    """A shell has broken an invariant."""

    def __init__(self, invariant: Callable[..., None], detail: str) -> None:
        """Which, and how."""
        super().__init__(f"{(invariant.__doc__ or '').strip()} But {detail}")
        self.invariant = invariant.__name__


class Invariants:
    """One session's history, held against every invariant as it goes on."""

    def __init__(self, world: World) -> None:
        """The world whose history it is; nothing has happened yet."""
        self.world = world
        self.offered: set[Occurrence | str] = set()
        """What the agent was ever offered: occurrences, and the ids of words."""
        self.confirmed: dict[tuple[str, str], None] = {}
        """What tools and the host have answered for: (`created`, `deleted` or `said`, id)."""
        self.reread()

    def reread(self) -> None:
        """Read the log anew: after a crash, and for a fork."""
        world = self.world
        config = world.limits or DEFAULT_CONFIG
        self.chronicle = Chronicle(config.reset_kinds)
        self.guard = None if world.limits is None else Guard(config=world.limits)
        self.ledger = Ledger(seed_length=world.seed_length, position=world.seed_length)
        self._turn_begun = False
        self.reapable: list[str] = []
        """The repeating reminders that the reaper found when the agent became idle, a limit passed."""
        for event in world.events[world.seed_length :]:
            self._take(event)

    def may_follow(self, event: Event) -> bool:
        """Whether the log with one more event is sound."""
        return evolve(self.ledger, event).map(lambda _: True).value_or(False)

    def see_append(self, home: Home, events: Sequence[Event]) -> None:
        """Events have entered the log."""
        for event in events:
            self._turn_begun = self._turn_begun or event.type == "turn/start"
            if event.type == "agent/inbox/spliced":
                self._judge_hand_over(event)
            elif event.type == "schedule/change" and home.disposed:
                check_end_is_quiet(event)
            self._take(event)

    def see_offer(self, given: Input) -> None:
        """The agent is offered an input."""
        check_given_is_durable(self, given)
        check_nothing_is_given_again(self, given)
        self.offered.update(list_keys(given))

    def see_answer(self, arguments: Any, answer: Any, *, refusable: str | None) -> None:  # noqa: ANN401 - JSON
        """A tool has answered; `refusable` is why the guard had to refuse, as of the call."""
        if not isinstance(answer, dict):
            return
        if "state" in answer:
            check_admission(answer["id"], refusable)
            check_answer_is_durable(self, "created", answer["id"])
        elif answer.get("deleted") is True:
            check_answer_is_durable(self, "deleted", arguments["id"])

    def see_word(self, message_id: str) -> None:
        """The host has answered for a person's word."""
        check_answer_is_durable(self, "said", message_id)

    def see_life(self) -> None:
        """A life of the session begins, on what the last one left."""
        self.reread()

    def see_fork(self) -> None:
        """The session is a fork from now on: what was its parent's is nothing to it."""
        self.confirmed = {}

    def see_quiet(self, home: Home) -> None:
        """Nothing can go on by itself."""
        if home.disposed or home.dead or home.barriers or home.turns or home.excused:
            return
        check_calls_are_answered(home)
        check_nothing_is_stuck(self, home)
        check_timer_is_armed(self, home)
        check_reaper_has_been(self)

    def see_end(self) -> None:
        """A session that was left in peace for long enough comes to its end."""
        check_messages_arrived(self)

    def hold_until(self) -> int | None:
        """Until when the guard holds what is due, by the core."""
        return None if self.guard is None else find_not_before(self.guard, self.world.now_ms)

    def _judge_hand_over(self, event: Event) -> None:
        data: Any = event.data
        for message in data["inserted"]:
            occurrences = read_occurrences(message)
            if occurrences:
                check_guard_holds(self, event.seq)
            for occurrence in occurrences:
                check_is_active(self, occurrence)
                check_is_due(self, occurrence)
                check_handed_over_once(self, occurrence)

    def _take(self, event: Event) -> None:
        last_ms, before = self.chronicle.last_accepted_ms, len(self.chronicle.dispatched)
        self.chronicle.take(event)
        if len(self.chronicle.dispatched) > before:
            dispatched = next(reversed(self.chronicle.dispatched.values()))
            check_dispatch_has_its_message(self, dispatched)
            check_gate(dispatched, last_ms)
        elif not self.chronicle.streak:
            self.reapable = []
        elif event.type == "turn/end" and self._turn_begun:  # what a crash cut off is no idle agent
            self.reapable = _list_reapable(self.world, self.chronicle)
        check_log_is_sound(self, event)
        self.ledger = evolve(self.ledger, event).unwrap()
        self.guard = None if self.guard is None else watch(self.guard, event)


def list_keys(given: Input) -> tuple[Occurrence | str, ...]:
    """What an input is known by: the occurrences it delivers, or the id of a word."""
    return given.occurrences or (str(given.message["id"]),)


def check_is_due(history: Invariants, occurrence: Occurrence) -> None:
    """No reminder is handed over before its target."""
    now_ms = history.world.now_ms
    if occurrence[1] > now_ms:
        raise Violation(
            check_is_due,
            f"{_show(occurrence)} was handed over at {format_instant(now_ms)}.",
        )


def check_is_active(history: Invariants, occurrence: Occurrence) -> None:
    """Only an active reminder of the session's own is handed over, no deleted or inherited one."""
    if occurrence[0] not in history.chronicle.active:
        raise Violation(check_is_active, f"{_show(occurrence)} was handed over.")


def check_handed_over_once(history: Invariants, occurrence: Occurrence) -> None:
    """An occurrence is handed over and dispatched once, as far as the log goes."""
    if occurrence in history.chronicle.queued or occurrence in history.chronicle.dispatched:
        raise Violation(check_handed_over_once, f"{_show(occurrence)} was handed over again.")


def check_dispatch_has_its_message(history: Invariants, dispatched: Dispatched) -> None:
    """A dispatch enters the log behind its message, never before it."""
    if dispatched.occurrence not in history.chronicle.queued:
        raise Violation(
            check_dispatch_has_its_message,
            f"seq {dispatched.seq} dispatches {_show(dispatched.occurrence)}, which no message has.",
        )


def check_gate(dispatched: Dispatched, last_ms: int | None) -> None:
    """Two batches of repeating reminders stand 300 s apart."""
    accepted_ms = dispatched.accepted_ms
    if accepted_ms is None or last_ms is None or accepted_ms == last_ms:
        return
    if accepted_ms - last_ms < _GATE_MS:
        raise Violation(
            check_gate,
            f"seq {dispatched.seq} was accepted {accepted_ms - last_ms} ms after the last one.",
        )


def check_log_is_sound(history: Invariants, event: Event) -> None:
    """Every change that is written may follow what the log holds."""
    if not history.may_follow(event):
        raise Violation(check_log_is_sound, f"seq {event.seq} may not follow: {event.data}.")


def check_guard_holds(history: Invariants, seq: int) -> None:
    """While the guard holds, nothing is handed over: hour, day, streak and quiet hours."""
    limits, now_ms, chronicle = history.world.limits, history.world.now_ms, history.chronicle
    if limits is None:
        return
    reason = _find_reason_to_hold(limits, chronicle, now_ms)
    if reason is not None:
        raise Violation(check_guard_holds, f"seq {seq} is a hand-over although {reason}.")


def check_admission(schedule_id: str, refusable: str | None) -> None:
    """Where the guard refuses, no tool creates a reminder."""
    if refusable is not None:
        raise Violation(check_admission, f"{schedule_id} was created although {refusable}.")


def check_reaper_has_been(history: Invariants) -> None:
    """Once the agent is idle, no repeating reminder goes on that a limit ends."""
    left = [name for name in history.reapable if name in history.chronicle.active]
    if left:
        streak = history.chronicle.streak
        raise Violation(
            check_reaper_has_been, f"{left[0]} goes on after {streak} wakeups without a word."
        )


def check_given_is_durable(history: Invariants, given: Input) -> None:
    """The agent is given nothing that a crash could take back."""
    durable, chronicle = history.world.durable, history.chronicle
    for occurrence in given.occurrences:
        dispatched = chronicle.dispatched.get(occurrence)
        if dispatched is None or dispatched.seq >= durable:
            raise Violation(
                check_given_is_durable,
                f"{_show(occurrence)} was given before its dispatch was durable.",
            )
    if chronicle.words.get(str(given.message["id"]), durable) >= durable:
        raise Violation(check_given_is_durable, f"{given.message['id']} was given before it was.")


def check_nothing_is_given_again(history: Invariants, given: Input) -> None:
    """What has begun its turn is not given again, unless a crash took the turn's beginning back."""
    for key in list_keys(given):
        if key in history.chronicle.begun:
            raise Violation(check_nothing_is_given_again, f"{_show(key)} was.")


def check_answer_is_durable(history: Invariants, kind: str, name: str) -> None:
    """What a tool or the host answers for is durable, and stays in the log of every later life."""
    history.confirmed[kind, name] = None
    seq = _find(history.chronicle, kind).get(name)
    if seq is None or seq >= history.world.durable:
        raise Violation(check_answer_is_durable, f"{name} was {kind}, and a crash would undo it.")


def check_calls_are_answered(home: Home) -> None:
    """While the store is healthy, no call waits for ever."""
    if home.calls:
        raise Violation(check_calls_are_answered, f"{home.calls} have no answer.")


def check_nothing_is_stuck(history: Invariants, home: Home) -> None:
    """While the agent is idle and the store healthy, what is due goes at once, or at the next look."""
    now_ms = history.world.now_ms
    planned = plan_next_wake(history.ledger, now_ms, history.hold_until())
    if planned is None or planned.at_ms > now_ms:
        return
    world = history.world
    left_ms = [one.count_left_ms(world.monotonic_ms, world.offset_ms) for one in home.sleeps]
    if any(0 < left <= STRETCH_MS for left in left_ms):
        return
    due = ", ".join(history.chronicle.list_due(now_ms))
    raise Violation(check_nothing_is_stuck, f"at {format_instant(now_ms)} nobody will look: {due}.")


def check_timer_is_armed(history: Invariants, home: Home) -> None:
    """Whenever the session rests, its one timer is set to the earliest instant that matters."""
    world = history.world
    now_ms, hold_ms = world.now_ms, history.hold_until()
    planned = plan_next_wake(history.ledger, now_ms, hold_ms)
    if planned is None or planned.at_ms == now_ms or hold_ms == UNTIL_A_WORD:
        return
    for sleep in home.sleeps:
        if sleep.until_ms == planned.at_ms:
            return
        left_ms = sleep.count_left_ms(world.monotonic_ms, world.offset_ms)
        latest_ms = max(planned.at_ms, hold_ms or planned.at_ms) - now_ms + STRETCH_MS
        if sleep.offset_ms != world.offset_ms and left_ms <= latest_ms:
            return  # the clock was set meanwhile: the sleeper will look in time
    shown = ", ".join(format_instant(sleep.until_ms) for sleep in home.sleeps) or "nothing"
    raise Violation(
        check_timer_is_armed,
        f"at {format_instant(now_ms)} it is set to {shown} and not to {format_instant(planned.at_ms)}.",
    )


def check_shell_survives(problem: BaseException) -> None:
    """Nothing that goes wrong outside ends a life by an exception."""
    raise Violation(check_shell_survives, f"{problem!r} came out.") from problem


def check_end_is_quiet(event: Event) -> None:
    """A session that is disposed of changes no reminder any more."""
    raise Violation(check_end_is_quiet, f"seq {event.seq} came after it: {event.data}.")


def check_shell_ends(home: Home) -> None:
    """A session that is disposed ends within a barrier's deadline."""
    raise Violation(check_shell_ends, f"life {home.world.lives} goes on.")


def check_messages_arrived(history: Invariants) -> None:
    """Left in peace, a session gives its agent all that is due, and every word that was confirmed."""
    begun = history.chronicle.begun.keys() & history.offered
    words = [name for kind, name in history.confirmed if kind == "said"]
    missing = [key for key in (*history.chronicle.dispatched, *words) if key not in begun]
    if missing:
        raise Violation(check_messages_arrived, f"{', '.join(map(_show, missing))} never reached it.")


INVARIANTS: Final = (
    check_is_due,
    check_is_active,
    check_handed_over_once,
    check_dispatch_has_its_message,
    check_gate,
    check_log_is_sound,
    check_guard_holds,
    check_admission,
    check_reaper_has_been,
    check_given_is_durable,
    check_nothing_is_given_again,
    check_answer_is_durable,
    check_calls_are_answered,
    check_nothing_is_stuck,
    check_timer_is_armed,
    check_shell_survives,
    check_end_is_quiet,
    check_shell_ends,
    check_messages_arrived,
)
"""All of them, in the order of the documentation."""


def is_confirmed(answer: object) -> bool:
    """Whether an answer says that the tool's barriers were acknowledged."""
    return isinstance(answer, list) or (
        isinstance(answer, dict) and not {"state", "deleted"}.isdisjoint(answer)
    )


def find_refusal(history: Invariants, arguments: Any) -> str | None:  # noqa: ANN401 - JSON
    """Why the guard has to refuse a create as of now, in words; `None` if it must not."""
    limits = history.world.limits
    if limits is None:
        return None
    used = history.chronicle.count_wakeups(history.world.now_ms - HOUR_MS)
    if 0 < limits.max_per_hour <= used:
        return f"there were {used} wakeups in the last hour"
    every = arguments.get("every_seconds")
    if every is not None and every < limits.min_repeating_interval_seconds:
        return f"it comes every {every} s"
    return None


def _list_reapable(world: World, chronicle: Chronicle) -> list[str]:
    limits = world.limits
    if limits is None:
        return []
    day_ms = _find_day(limits, world.now_ms)
    over_day = chronicle.count_wakeups(day_ms) > limits.max_per_day
    if chronicle.streak <= limits.max_consecutive_wakeups and not over_day:
        return []
    return [name for name, found in chronicle.active.items() if found.interval_ms]


def _find_day(limits: GuardConfig, now_ms: int) -> int:
    offset_ms = int(limits.day_boundary_offset_minutes * 60_000)
    return now_ms - (now_ms + offset_ms) % _DAY_MS


def _find_reason_to_hold(limits: GuardConfig, chronicle: Chronicle, now_ms: int) -> str | None:
    if limits.hold:
        if chronicle.streak >= limits.max_consecutive_wakeups:
            return f"there were {chronicle.streak} wakeups without a word"
        if 0 < limits.max_per_hour <= chronicle.count_wakeups(now_ms - HOUR_MS):
            return "the hour is used up"
        if chronicle.count_wakeups(_find_day(limits, now_ms)) >= limits.max_per_day:
            return "the day is used up"
    quiet = limits.quiet_hours
    if quiet is None:
        return None
    local = datetime.fromtimestamp(now_ms / 1000, UTC).astimezone(ZoneInfo(quiet.time_zone))
    minutes = local.hour * 60 + local.minute
    into = (minutes - quiet.start_minutes) % 1440
    if into < (quiet.end_minutes - quiet.start_minutes) % 1440:
        return f"it is {local:%H:%M} in {quiet.time_zone}"
    return None


def _find(chronicle: Chronicle, kind: str) -> dict[str, int]:
    return {"created": chronicle.created, "deleted": chronicle.deleted, "said": chronicle.words}[kind]


def _show(key: object) -> str:
    if isinstance(key, tuple):
        return f"{key[0]} of {format_instant(key[1])}"
    return str(key)
