"""What no shell may do, whatever goes wrong around it: the invariants of a simulation.

Each is a function of one sentence, which is handed what it needs and raises `Violation`. They judge by
the log as `histories` read it, by what the agent was given and by what tools answered. This module
refuses to know how a shell works inside, and when to look (`judges` does).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from wakefold import Event, format_instant, plan_next_wake
from wakefold.conversations import Input
from wakefold.guard import UNTIL_A_WORD
from wakefold_laws.simulation.chronicles import GATE_MS, Chronicle, Dispatched, Occurrence
from wakefold_laws.simulation.edit_invariants import EDIT_INVARIANTS
from wakefold_laws.simulation.histories import History, list_keys
from wakefold_laws.simulation.plain_guard import find_hold_reason
from wakefold_laws.simulation.violations import Violation, show_key
from wakefold_laws.simulation.worlds import STRETCH_MS, Home


def check_is_due(history: History, occurrence: Occurrence) -> None:
    """No reminder is handed over before its target, or before its snooze is over."""
    now_ms = history.world.now_ms
    found = history.chronicle.active.get(occurrence[0])
    if occurrence[1] > now_ms or (found is not None and found.due_ms > now_ms):
        raise Violation(
            check_is_due,
            f"{show_key(occurrence)} was handed over at {format_instant(now_ms)}.",
        )


def check_is_active(history: History, occurrence: Occurrence) -> None:
    """Only an active reminder of the session's own is handed over, no deleted or inherited one."""
    if occurrence[0] not in history.chronicle.active:
        raise Violation(check_is_active, f"{show_key(occurrence)} was handed over.")


def check_handed_over_once(history: History, occurrence: Occurrence) -> None:
    """An occurrence is handed over and dispatched once, as far as the log goes."""
    if occurrence in history.chronicle.taken:
        raise Violation(check_handed_over_once, f"{show_key(occurrence)} was handed over again.")


def check_dispatch_has_its_message(history: History, dispatched: Dispatched) -> None:
    """A dispatch enters the log behind its message, never before it."""
    if dispatched.occurrence not in history.chronicle.queued:
        raise Violation(
            check_dispatch_has_its_message,
            f"seq {dispatched.seq} dispatches {show_key(dispatched.occurrence)}, which no message has.",
        )


def check_gate(dispatched: Dispatched, last_ms: int | None) -> None:
    """Two batches of repeating reminders stand 300 s apart."""
    accepted_ms = dispatched.accepted_ms
    if accepted_ms is None or last_ms is None or accepted_ms == last_ms:
        return
    if accepted_ms - last_ms < GATE_MS:
        raise Violation(
            check_gate,
            f"seq {dispatched.seq} was accepted {accepted_ms - last_ms} ms after the last one.",
        )


def check_log_is_sound(event: Event) -> None:
    """Every change that is written may follow what the log holds."""
    raise Violation(check_log_is_sound, f"seq {event.seq} may not follow: {event.data}.")


def check_guard_holds(history: History, seq: int) -> None:
    """While the guard holds, nothing is handed over: hour, day, streak and quiet hours."""
    world = history.world
    reason = find_hold_reason(world.limits, history.chronicle, world.now_ms)
    if reason is not None:
        raise Violation(check_guard_holds, f"seq {seq} is a hand-over although {reason}.")


def check_admission(schedule_id: str, refusable: str | None) -> None:
    """Where the guard refuses, no tool creates a reminder or changes one."""
    if refusable is not None:
        raise Violation(check_admission, f"{schedule_id} was, although {refusable}.")


def check_reaper_has_been(history: History) -> None:
    """Once the agent is idle, no repeating reminder goes on that a limit ends."""
    left = [name for name in history.reapable if name in history.chronicle.active]
    if left:
        streak = history.chronicle.streak
        raise Violation(
            check_reaper_has_been, f"{left[0]} goes on after {streak} wakeups without a word."
        )


def check_given_is_durable(history: History, given: Input) -> None:
    """The agent is given nothing that a crash could take back."""
    durable, chronicle = history.world.durable, history.chronicle
    for occurrence in given.occurrences:
        dispatched = chronicle.dispatched.get(occurrence)
        if dispatched is None or dispatched.seq >= durable:
            raise Violation(
                check_given_is_durable,
                f"{show_key(occurrence)} was given before its dispatch was durable.",
            )
    if chronicle.words.get(str(given.message["id"]), durable) >= durable:
        raise Violation(check_given_is_durable, f"{given.message['id']} was given before it was.")


def check_nothing_is_given_again(history: History, given: Input) -> None:
    """What has begun its turn is not given again, unless a crash took the turn's beginning back."""
    if str(given.message["id"]) in history.chronicle.begun:
        shown = ", ".join(map(show_key, list_keys(given)))
        raise Violation(check_nothing_is_given_again, f"{shown} was.")


def check_answer_is_durable(history: History, kind: str, name: str) -> None:
    """What a tool or the host answers for is durable, and stays in the log of every later life."""
    history.confirmed[kind, name] = None
    seq = _find(history.chronicle, kind).get(name)
    if seq is None or seq >= history.world.durable:
        raise Violation(check_answer_is_durable, f"{name} was {kind}, and a crash would undo it.")


def check_calls_are_answered(home: Home) -> None:
    """While the store is healthy, no call waits for ever."""
    if home.calls:
        raise Violation(check_calls_are_answered, f"{home.calls} have no answer.")


def check_nothing_is_stuck(history: History, home: Home) -> None:
    """While the agent is idle and the store healthy, what is due goes at once, or at the next look."""
    now_ms = history.world.now_ms
    planned = plan_next_wake(history.ledger, now_ms, history.hold_until())
    if planned is None or planned.at_ms > now_ms:
        return
    world = history.world
    for sleep in home.sleeps:
        left_ms = sleep.count_left_ms(world.monotonic_ms, world.offset_ms)
        set_back = sleep.offset_ms > world.offset_ms  # its delay was for another instant of the clock
        if 0 < left_ms <= STRETCH_MS or (set_back and left_ms > 0):
            return
    due = ", ".join(history.chronicle.list_due(now_ms))
    raise Violation(check_nothing_is_stuck, f"at {format_instant(now_ms)} nobody will look: {due}.")


def check_timer_is_armed(history: History, home: Home) -> None:
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
        next_ms = history.chronicle.find_next_ms() or planned.at_ms
        latest_ms = max(next_ms, hold_ms or next_ms) + STRETCH_MS
        if sleep.offset_ms != world.offset_ms and now_ms + left_ms <= latest_ms:
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


def check_messages_arrived(history: History) -> None:
    """Left in peace, a session gives its agent all that is due, and every word that was confirmed."""
    begun = history.chronicle.begun.keys() & history.offered
    words = [name for kind, name in history.confirmed if kind == "said"]
    missing = [key for key in (*history.chronicle.dispatched, *words) if key not in begun]
    if missing:
        shown = ", ".join(map(show_key, missing))
        raise Violation(check_messages_arrived, f"{shown} never reached it.")


INVARIANTS: Final[tuple[Callable[..., None], ...]] = (
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
    *EDIT_INVARIANTS,
)
"""All of them, in the order of the documentation."""


def _find(chronicle: Chronicle, kind: str) -> dict[str, int]:
    kept = {"created": chronicle.created, "edited": chronicle.edited, "deleted": chronicle.deleted}
    return {**kept, "said": chronicle.words}[kind]
