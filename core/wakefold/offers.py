"""Offers: whether and when an input is offered again whose turn came to nothing (spec section 8).

This module decides how a turn ends, how often an agent is offered one input, and how long it is left in
peace before it is offered that input again. It refuses to know why a turn failed, and which agents may
be asked twice. Count and pause are read from the log: the input goes back to the head of the inbox, and
the event that puts it there tells when. A restart forgets neither.
"""

from __future__ import annotations

from typing import Final

from wakefold.conversations import (
    Answer,
    Conversation,
    Draft,
    Input,
    answer_turn,
    end_turn,
    queue_input,
)
from wakefold.wakes import Wake

#: How long each offer but the first waits after the one before it.
PAUSES_SECONDS: Final = (10, 60, 300, 1800)

#: How often one input is offered in all.
OFFERS_MAX: Final = len(PAUSES_SECONDS) + 1


def offer_again(conversation: Conversation) -> tuple[Draft, ...]:
    """What puts the open turn's input back, before all others; nothing once it has had its offers.

    Nor for an agent that would not know it again: the turn's start says which (`repeatable`).
    Whoever writes it lets the turn's end follow in the same batch: where a crash cuts the batch, the
    input waits or its turn is open, so that it is not lost, and asking again puts it back once. A
    message without an id is never put back: nothing would tell how often it was offered.
    """
    given = conversation.current if conversation.repeatable else None
    if given is None or not given.matches(given) or given.earlier_offers + 1 >= OFFERS_MAX:
        return ()
    if any(given.matches(waiting) for waiting in conversation.inbox):
        return ()
    return (queue_input(conversation, given.message, first=True),)


def conclude_turn(conversation: Conversation, answer: Answer, message_id: str) -> tuple[Draft, ...]:
    """What the open turn comes to: the agent's words, of that id, another offer, and its end."""
    said = () if answer.text is None else (answer_turn(conversation, message_id, answer.text),)
    again = offer_again(conversation) if answer.kind == "failed" else ()
    ended = end_turn(conversation, answer.kind, answer.detail, answer.duration_ms)
    return (*said, *again, *ended)


def find_offer_ms(given: Input) -> int | None:
    """The instant (epoch ms) before which a waiting input is not offered again; `None`: no such."""
    if given.earlier_offers == 0:
        return None
    return given.queued_at_ms + _find_pause_ms(given)


def plan_offer(given: Input, now_ms: int) -> Wake | None:
    """What to wait for before a waiting input is offered; `None`: it may be offered now.

    Where the clock was set back meanwhile, no more than the pause is waited for.
    """
    at_ms = find_offer_ms(given)
    if at_ms is None or at_ms <= now_ms:
        return None
    return Wake(at_ms, min(at_ms - now_ms, _find_pause_ms(given)))


def _find_pause_ms(given: Input) -> int:
    return PAUSES_SECONDS[min(given.earlier_offers, len(PAUSES_SECONDS)) - 1] * 1000
