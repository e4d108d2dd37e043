"""What became of each message that was handed over (spec section 13).

This module reads from a log which turn took a message and how that turn ended. It refuses to claim
more: no log tells that anybody read a reminder.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from msgspec import Struct

from wakefold.conversations import TURN_END, Conversation, Input, follow
from wakefold.events import Event, Json

Outcome = Literal["waiting", "under-way", "handed-over", "failed", "unknown"]


class Delivery(Struct, frozen=True):
    """What the log tells of a message's way to the agent; `detail` is the turn's reason to end.

    `handed-over` says that a turn took it and ended well, never that anybody read it.
    """

    outcome: Outcome
    detail: Json


UNKNOWN_DELIVERY: Final = Delivery("unknown", {})
"""What is said of a dispatch of which no turn tells."""


def trace_deliveries(events: Iterable[Event], seed_length: int = 0) -> dict[tuple[str, int], Delivery]:
    """What became of every occurrence whose message went through the inbox, by (id, epoch ms).

    What a fork inherited is traced as far as its parent had come; what waited there is the parent's.
    """
    conversation = Conversation()
    found: dict[tuple[str, int], Delivery] = {}

    def note(given: Input | None, outcome: Outcome, detail: Json) -> None:
        for key in () if given is None else given.occurrences:
            found[key] = Delivery(outcome, detail)

    for event in events:
        if conversation.seed_length < seed_length <= event.seq:
            conversation = Conversation(seed_length=seed_length, turn=conversation.turn)
        before = conversation
        conversation = follow(before, event)
        if event.type == TURN_END and before.turn_open and not conversation.turn_open:
            reason = _read_reason(event.data)
            note(before.current, _OUTCOMES.get(str(reason.get("kind")), "unknown"), reason)
    if conversation.seed_length == seed_length:
        note(conversation.current, "under-way", {})
        for given in conversation.inbox:
            note(given, "waiting", {})
    return found


_OUTCOMES: Final[dict[str, Outcome]] = {"completed": "handed-over", "failed": "failed"}


def describe_end(detail: Json) -> str:
    """A failed turn's reason to end, as the rest of a sentence: `failed with exit status 3`."""
    if "secondsMax" in detail:
        return f"was ended after its {detail['secondsMax']} s"
    if "exitStatus" in detail:
        return f"failed with exit status {detail['exitStatus']}"
    return f"failed ({detail['error']})" if "error" in detail else "failed"


def _read_reason(data: object) -> Json:
    reason = data.get("reason") if isinstance(data, dict) else None
    return reason if isinstance(reason, dict) else {}
