"""Holding a simulated session against the invariants, as things happen.

This module decides which invariants are looked at when. It refuses to know what they say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from returns.pipeline import is_successful

from wakefold import SCHEDULE_CHANGE, Event
from wakefold.conversations import INBOX_SPLICED, TURN_START, Input
from wakefold.tools import ToolName
from wakefold_laws.simulation import edit_invariants as edit_law
from wakefold_laws.simulation import invariants as law
from wakefold_laws.simulation.chronicles import read_ms, read_occurrences
from wakefold_laws.simulation.histories import History, list_keys
from wakefold_laws.simulation.plain_guard import find_refusal
from wakefold_laws.simulation.worlds import Home, World


class Judge:
    """One session's judge. Whatever breaks an invariant comes out as a `Violation`."""

    def __init__(self, world: World) -> None:
        """The world whose session it is."""
        self.history = History(world)

    def may_follow(self, event: Event) -> bool:
        """Whether a lawful writer could append this event now."""
        return self.history.may_follow(event)

    def see_append(self, home: Home, events: Sequence[Event]) -> None:
        """Events have entered the log."""
        for event in events:
            self.history.turn_begun = self.history.turn_begun or event.type == TURN_START
            if event.type == INBOX_SPLICED:
                self._see_hand_over(event)
            elif event.type == SCHEDULE_CHANGE and home.disposed:
                law.check_end_is_quiet(event)
            self._take(event)

    def see_offer(self, given: Input) -> None:
        """The agent is offered an input."""
        law.check_given_is_durable(self.history, given)
        law.check_nothing_is_given_again(self.history, given)
        self.history.offered.update(list_keys(given))

    def see_call(self, tool: ToolName, arguments: Any) -> str | None:  # noqa: ANN401 - JSON
        """A tool is called: why the guard has to refuse it, if it has to."""
        if tool not in {"schedule_create", "schedule_update"}:
            return None
        world, chronicle = self.history.world, self.history.chronicle
        return find_refusal(world.limits, chronicle, world.now_ms, arguments)

    def see_answer(self, arguments: Any, answer: Any, refusable: str | None) -> bool:  # noqa: ANN401
        """A tool has answered: whether it says that its barriers were acknowledged."""
        if isinstance(answer, dict) and "state" in answer:
            law.check_admission(answer["id"], refusable)
            if "id" not in arguments:
                law.check_answer_is_durable(self.history, "created", answer["id"])
                return True
            edited = f"{answer['id']} revision {answer['revision']}"
            law.check_answer_is_durable(self.history, "edited", edited)
            edit_law.check_revision(answer["id"], arguments.get("revision"), answer["revision"])
            return True
        if isinstance(answer, dict) and "deleted" in answer:
            if answer["deleted"] is True:
                law.check_answer_is_durable(self.history, "deleted", arguments["id"])
            return True
        return isinstance(answer, list) or (isinstance(answer, dict) and "updated" in answer)

    def see_word(self, message_id: str) -> None:
        """The host has answered for a person's word."""
        law.check_answer_is_durable(self.history, "said", message_id)

    def see_life(self) -> None:
        """A life of the session begins, on what the last one left."""
        world = self.history.world
        self.history.forget()
        for event in world.events[world.seed_length :]:
            self._take(event)

    def see_fork(self) -> None:
        """The session is a fork from now on: what was its parent's is nothing to it."""
        self.history.confirmed = {}

    def see_quiet(self, home: Home) -> None:
        """Nothing can go on by itself."""
        if home.excused:
            self.history.reapable = []  # a reaper that was refused comes again when the agent is idle
        if home.disposed or home.dead or home.barriers or home.turns or home.excused:
            return
        law.check_calls_are_answered(home)
        law.check_nothing_is_stuck(self.history, home)
        law.check_timer_is_armed(self.history, home)
        law.check_reaper_has_been(self.history)

    def see_end(self) -> None:
        """A session that was left in peace for long enough comes to its end."""
        law.check_messages_arrived(self.history)
        edit_law.check_fold_needs_no_zone(self.history)
        edit_law.check_audit_agrees(self.history)

    def _see_hand_over(self, event: Event) -> None:
        data: Any = event.data
        for message in data["inserted"]:
            occurrences = read_occurrences(message)
            if occurrences:
                law.check_guard_holds(self.history, event.seq)
            for occurrence in occurrences:
                edit_law.check_ends_in_time(self.history, occurrence)
                edit_law.check_is_not_paused(self.history, occurrence[0])
                law.check_is_active(self.history, occurrence)
                law.check_is_due(self.history, occurrence)
                law.check_handed_over_once(self.history, occurrence)

    def _take(self, event: Event) -> None:
        chronicle = self.history.chronicle
        if event.type == SCHEDULE_CHANGE:
            self._see_change(event)
        last_ms, before = chronicle.last_accepted_ms, len(chronicle.dispatched)
        grown = self.history.take(event)
        if len(chronicle.dispatched) > before:
            dispatched = next(reversed(chronicle.dispatched.values()))
            law.check_dispatch_has_its_message(self.history, dispatched)
            law.check_gate(dispatched, last_ms)
        if not is_successful(grown):
            law.check_log_is_sound(event)

    def _see_change(self, event: Event) -> None:
        """A change is about to be read: what it says of the reminder as it was."""
        data: Any = event.data
        edit_law.check_keeps_its_sequence(self.history, event)
        if data["operation"] == "snooze":
            edit_law.check_snooze_is_short(self.history, event)
        elif data["operation"] in {"dispatch", "skip"}:
            edit_law.check_ends_in_time(self.history, (data["id"], read_ms(data, "occurrenceAt") or 0))
            edit_law.check_is_not_paused(self.history, data["id"])
            edit_law.check_grace(self.history, event)
