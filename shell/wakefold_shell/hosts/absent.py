"""A host that is not there: whoever only manages reminders delivers none."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

import anyio

from wakefold import Event
from wakefold.conversations import (
    Conversation,
    Draft,
    follow,
    make_message,
    name_person,
    record_word,
)
from wakefold.offers import offer_again
from wakefold_shell.errors import UnconfirmedError
from wakefold_shell.hosts.inboxes import load_conversation
from wakefold_shell.owner import Session
from wakefold_shell.protocols import Followup


class AbsentHost:
    """Always busy, so that nothing is handed over; what is due stays due for a runner.

    :shape: as `Host`
    :units: none
    :errors: `hand_over` raises `NotImplementedError`, and is never called; those of `say` are its own
    :source: ours, docs/tools.md
    """

    def __init__(self) -> None:
        """Nobody, who follows nothing."""
        self._conversation = Conversation()

    def follow(self, session: Session) -> None:
        """Have the session load its log, and tell of every event, for `say`."""
        self._conversation = load_conversation(session)
        session.tell_event = self._observe

    def claim(self) -> bool:
        """Never granted."""
        return False

    def hand_over(self, followup: Followup) -> Sequence[Draft]:
        """Refuse; a claim that is never granted is followed by no message."""
        del followup
        raise NotImplementedError

    def release(self) -> None:
        """Nothing was held."""

    async def wait_idle(self) -> None:
        """Wait for ever."""
        await anyio.sleep_forever()

    async def say(self, session: Session, text: str, client_time_zone: str | None) -> str:
        """Write a person's word as a turn that nobody answers; its id, once it is durable.

        A turn that a crash left open ends with it, and what it took waits again if it may.

        The session must be running, and be followed; the zone must be canonical. Raises what store and
        clock raise, `UnconfirmedError`, `ReentryError`, and `UnavailableError` where the log cannot be
        read or the session has ended.
        """
        message_id = str(uuid4())
        message = make_message(message_id, text, name_person(str(uuid4()), client_time_zone))
        now_ms = session.clock.read_ms()
        session.record(
            [
                *offer_again(self._conversation),
                *record_word(self._conversation, message, now_ms, str(uuid4())),
            ]
        )
        if not await session.confirm():
            raise UnconfirmedError
        return message_id

    def _observe(self, event: Event) -> None:
        self._conversation = follow(self._conversation, event)
