"""A host that writes each message to a text stream: the simplest agent is whoever reads it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TextIO

from wakefold.instants import format_instant
from wakefold.json_text import format_json
from wakefold_shell.protocols import Followup


class AlwaysIdle:
    """What hosts without turns share: their idle phase is always free."""

    def claim(self) -> bool:
        """Nothing is ever under way."""
        return True

    def release(self) -> None:
        """Nothing was held."""

    async def wait_idle(self) -> None:
        """Return at once."""


class StreamHost(AlwaysIdle):
    """Writes each message as one piece ended by LF, flushed before it counts as handed over."""

    def __init__(self, stream: TextIO, render: Callable[[Followup], str]) -> None:
        """The stream to write to, standard output as a rule, and how a message reads."""
        self._stream = stream
        self._render = render

    def hand_over(self, followup: Followup) -> None:
        """Write one message; `OSError` if the reader has gone."""
        self._stream.write(f"{self._render(followup)}\n")
        self._stream.flush()


def render_frame(followup: Followup) -> str:
    """The frame alone, as the agent reads it."""
    return followup.message


def render_json(followup: Followup) -> str:
    """One JSON line: `{message, occurrences: [{id, occurrenceAt}]}`."""
    occurrences = [
        {"id": schedule_id, "occurrenceAt": format_instant(occurrence_ms)}
        for schedule_id, occurrence_ms in followup.occurrences
    ]
    return format_json({"message": followup.message, "occurrences": occurrences})
