"""A hand-over tried on a store that keeps an outbox, whichever it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from journal_files import NOON_MS
from wakefold import Event
from wakefold.conversations import REMINDER_SOURCE, make_message
from wakefold_shell.protocols import Store
from wakefold_shell.stores.logs import StaleWriterError

Rows = tuple[int, list[tuple[str, int, int | None]]]
"""The length of the log, and what is owed to the agent: id, occurrence, and the event that took it."""


async def check_hand_over(store: Store, count_rows: Callable[[], Rows]) -> None:
    """Message, dispatch and outbox are one transaction; before the barrier there is nothing."""
    frame = (
        '[SCHEDULE REMINDER]\nx\nschedule_id_json: "a"\n'
        'occurrence_at: 2027-01-04T12:00:00.000Z\nreminder_prompt_json: "tea"'
    )
    message = make_message("m1", frame, REMINDER_SOURCE)
    splice = {"target": "next-turn", "start": 0, "inserted": [message]}
    hand_over = [
        Event("agent/inbox/spliced", 0, NOON_MS, splice),
        Event("schedule/change", 1, NOON_MS, {"version": 1, "operation": "dispatch", "id": "a"}),
    ]
    assert list(store.read_events(0)) == []
    store.append(hand_over)
    assert count_rows() == (0, [])
    assert await store.flush() is True
    assert count_rows() == (2, [('"a"', NOON_MS, None)])
    store.append([Event("user/message", 2, NOON_MS, message)])
    assert await store.flush() is True
    assert count_rows() == (3, [('"a"', NOON_MS, 2)])
    store.append([Event("agent/inbox/spliced", 3, NOON_MS, splice)])
    assert await store.flush() is True
    assert count_rows() == (4, [('"a"', NOON_MS, None)]), "it was put back, to be offered again"
    other = {**splice, "inserted": [{**message, "id": "m2"}]}
    store.append([Event("agent/inbox/spliced", 4, NOON_MS, other)])
    with pytest.raises(StaleWriterError, match="twice"):
        await store.flush()
    assert count_rows() == (4, [('"a"', NOON_MS, None)])
