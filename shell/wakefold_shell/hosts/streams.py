"""A host that writes each message to a text stream: the simplest agent is whoever reads it."""

from __future__ import annotations

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


class FrameStream(AlwaysIdle):
    """Writes frames alone, each ended by LF and flushed before it counts as handed over."""

    def __init__(self, stream: TextIO) -> None:
        """The stream to write to, standard output as a rule."""
        self._stream = stream

    def hand_over(self, followup: Followup) -> None:
        """Write one frame; `OSError` if the reader has gone."""
        self._stream.write(f"{followup.message}\n")
        self._stream.flush()


class JsonStream(AlwaysIdle):
    """Writes one JSON line for each message: `{message, occurrences: [{id, occurrenceAt}]}`."""

    def __init__(self, stream: TextIO) -> None:
        """The stream to write to, standard output as a rule."""
        self._stream = stream

    def hand_over(self, followup: Followup) -> None:
        """Write one line; `OSError` if the reader has gone."""
        value = {
            "message": followup.message,
            "occurrences": [
                {"id": schedule_id, "occurrenceAt": format_instant(occurrence_ms)}
                for schedule_id, occurrence_ms in followup.occurrences
            ],
        }
        self._stream.write(f"{format_json(value)}\n")
        self._stream.flush()
