"""What became of each message that was handed over (spec section 13).

This module reads from a log which turn took a message and how that turn ended. It refuses to claim
more: no log tells that anybody read a reminder.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from msgspec import Struct

from wakefold.conversations import STEP_END, TURN_END, Conversation, Input, follow
from wakefold.events import Event, Json
from wakefold.instants import format_instant, is_representable, read_safe_integer
from wakefold.offers import OFFERS_MAX, find_offer_ms

#: How far a message came, as far as the log tells.
Outcome = Literal["waiting", "under-way", "handed-over", "failed", "unknown"]


class Delivery(Struct, frozen=True):
    """What the log tells of a message's way to the agent; `detail` is its last turn's reason to end.

    `handed-over` says that a turn took it and ended well, never that anybody read it. What waits with
    `earlier_offers` was offered so often, came to nothing, and is offered again at `again_at_ms`.
    """

    outcome: Outcome
    detail: Json
    earlier_offers: int = 0
    again_at_ms: int | None = None
    duration_ms: int | None = None

    @property
    def offers(self) -> int:
        """How often the message was offered."""
        return self.earlier_offers + (0 if self.outcome == "waiting" else 1)


#: What is said of a dispatch of which no turn tells.
UNKNOWN_DELIVERY: Final = Delivery("unknown", {})


def trace_deliveries(events: Iterable[Event], seed_length: int = 0) -> dict[tuple[str, int], Delivery]:
    """What became of every occurrence whose message went through the inbox.

    What a fork inherited is traced as far as its parent had come; what waited there is the parent's.

    :shape: a `dict` from (id, occurrence) to `Delivery`; an occurrence that never went through the
        inbox is no key
    :units: occurrences are epoch milliseconds UTC, `seed_length` counts events from 0
    :errors: none: what is no event of a conversation is passed by
    :source: spec section 13; ours, docs/decisions/inbox-in-the-log.md
    """
    conversation = Conversation()
    found: dict[tuple[str, int], Delivery] = {}
    duration_ms: int | None = None

    def note(given: Input | None, delivery: Delivery) -> None:
        for key in () if given is None else given.occurrences:
            found[key] = delivery

    for event in events:
        if conversation.seed_length < seed_length <= event.seq:
            conversation = Conversation(seed_length=seed_length, turn=conversation.turn)
        before = conversation
        conversation = follow(before, event)
        if event.type == STEP_END:
            duration_ms = read_safe_integer(_object(event.data).get("durationMs"))
        if event.type == TURN_END and before.turn_open and not conversation.turn_open:
            note(before.current, _read_end(before.current, event.data, duration_ms))
            duration_ms = None
    if conversation.seed_length == seed_length:
        under_way = conversation.current
        note(under_way, Delivery("under-way", {}, 0 if under_way is None else under_way.earlier_offers))
        for given in conversation.inbox:
            note(given, _read_wait(given, found))
    return found


def _read_end(given: Input | None, data: object, duration_ms: int | None) -> Delivery:
    reason = _object(_object(data).get("reason"))
    outcome = _OUTCOMES.get(str(reason.get("kind")), "unknown")
    earlier_offers = 0 if given is None else given.earlier_offers
    return Delivery(outcome, reason, earlier_offers, duration_ms=duration_ms)


def _read_wait(given: Input, found: dict[tuple[str, int], Delivery]) -> Delivery:
    """What is told of an input in the inbox; of one that came back, how its last turn ended, too."""
    if given.earlier_offers == 0:
        return Delivery("waiting", {})
    last = next((found[key] for key in given.occurrences if key in found), UNKNOWN_DELIVERY)
    at_ms = find_offer_ms(given)
    return Delivery("waiting", last.detail, given.earlier_offers, at_ms, last.duration_ms)


_OUTCOMES: Final[dict[str, Outcome]] = {"completed": "handed-over", "failed": "failed"}


def describe_end(detail: Json) -> str:
    """A failed turn's reason to end, as the rest of a sentence: `failed with exit status 3`."""
    if detail.get("kind") == "interrupted":
        return "was interrupted"
    if "secondsMax" in detail:
        return f"was ended after its {detail['secondsMax']} s"
    if "outputBytesMax" in detail:
        return f"was ended after {detail['outputBytesMax']} bytes of output"
    if "httpStatus" in detail:
        return f"failed with HTTP status {detail['httpStatus']}"
    if "exitStatus" in detail:
        return f"failed with exit status {detail['exitStatus']}"
    return f"failed ({detail['error']})" if "error" in detail else "failed"


def describe_failure(delivery: Delivery) -> str | None:
    """What went wrong last, as the rest of a sentence, and whether there is another offer.

    `None` where nothing went wrong: `failed with HTTP status 503, 2 of 5 offers, again at ...`.
    """
    if delivery.outcome != "failed" and (delivery.outcome != "waiting" or not delivery.earlier_offers):
        return None
    words = [describe_end(delivery.detail)]
    if delivery.earlier_offers:
        words.append(f"{delivery.offers} of {OFFERS_MAX} offers")
    again_at = _name_again(delivery)
    return ", ".join(words if again_at is None else [*words, f"again at {again_at}"])


def encode_delivery(delivery: Delivery) -> Json:
    """What is told of a delivery, as JSON: more than its outcome only where there is more to tell."""
    told = {
        "failure": describe_failure(delivery),
        "offers": delivery.offers if delivery.earlier_offers else None,
        "againAt": _name_again(delivery),
        "durationMs": delivery.duration_ms,
    }
    return {"delivery": delivery.outcome, **{key: v for key, v in told.items() if v is not None}}


def _name_again(delivery: Delivery) -> str | None:
    """When there is another offer; past the calendar, which a log may hold, nothing."""
    at_ms = delivery.again_at_ms
    return None if at_ms is None or not is_representable(at_ms) else format_instant(at_ms)


def _object(value: object) -> Json:
    return value if isinstance(value, dict) else {}
