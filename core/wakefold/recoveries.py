"""Recoveries: what a session writes first after a crash (spec sections 8 and 13).

This module decides what closes a turn that was cut off, whether its input waits again, and which
dispatches were lost behind their messages. It refuses to know how the crash came, and what else is due.
"""

from __future__ import annotations

from wakefold.conversations import Conversation, Draft, draft_change, end_turn
from wakefold.edits import StatedDispatch
from wakefold.events import SCHEDULE_CHANGE, Dispatch, Event, Record, encode_change
from wakefold.ledger import Ledger, accept_dispatch, evolve
from wakefold.occurrences import can_evaluate, state_dispatch
from wakefold.offers import offer_again
from wakefold.outcomes import either
from wakefold.records import is_recurring
from wakefold.rejections import LogFault


def clear_up(conversation: Conversation, ledger: Ledger) -> tuple[Draft, ...]:
    """The end of an open turn, whose input waits again if there is another offer, and dispatches."""
    return (
        *offer_again(conversation),
        *end_turn(conversation, "interrupted"),
        *map(draft_change, list_missing_dispatches(conversation, ledger)),
    )


def list_missing_dispatches(
    conversation: Conversation, ledger: Ledger
) -> tuple[Dispatch | StatedDispatch, ...]:
    """The dispatches that a crash cut off behind their messages, which wait in the inbox (section 8).

    Such a message is not queued a second time. Where a dispatch would not stand for the occurrence
    that the message names, it is left out: the owner decides, as if the message were not there.
    """
    missing: list[Dispatch | StatedDispatch] = []
    for given in conversation.inbox:
        for schedule_id, occurrence_ms in given.occurrences:
            restored = _restore_dispatch(ledger, schedule_id, occurrence_ms, given.queued_at_ms)
            if restored is not None:
                dispatch, ledger = restored
                missing.append(dispatch)
    return tuple(missing)


def _restore_dispatch(
    ledger: Ledger, schedule_id: str, occurrence_ms: int, queued_at_ms: int
) -> tuple[Dispatch | StatedDispatch, Ledger] | None:
    """The dispatch of a queued message that stands for the occurrence named, and the ledger after it.

    A batch was accepted when it was queued or, as foreign clocks tell it, when its first dispatch says.
    """
    record = ledger.records.get(schedule_id)
    if record is None or not can_evaluate(record):
        return None
    accepted_ms = [queued_at_ms]
    if is_recurring(record) and ledger.last_accepted_at_ms is not None:
        accepted_ms.append(ledger.last_accepted_at_ms)
    for accepted_at_ms in accepted_ms:
        dispatch = state_dispatch(record, accepted_at_ms)
        if not _delivers(record, dispatch, occurrence_ms):
            continue
        event = Event(SCHEDULE_CHANGE, ledger.position, queued_at_ms, encode_change(dispatch))
        after = either(evolve(ledger, event), lambda grown: grown, lambda _: None)
        if after is not None:
            return dispatch, after
    return None


def _delivers(record: Record, dispatch: Dispatch | StatedDispatch, occurrence_ms: int) -> bool:
    try:
        return accept_dispatch(record, dispatch).occurrence_ms == occurrence_ms
    except LogFault:
        return False
