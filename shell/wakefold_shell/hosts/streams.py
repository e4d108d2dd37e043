"""An agent that is whoever reads a text stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import TextIO

from wakefold.conversations import Input
from wakefold.instants import format_instant
from wakefold.json_text import format_json
from wakefold_shell.hosts.inboxes import Answer


class StreamAgent:
    """Writes each reminder as one piece ended by LF; a person's words are not written back.

    The turn has begun once the piece is flushed: killed in between, it is written again by the next
    runner, with the same id and occurrence, so that a reader can drop it.

    :shape: `render` makes the piece; `render_frame` and `render_json` are such
    :units: none
    :errors: `OSError` before the turn begins if the reader has gone (`BrokenPipeError`) or the stream
        fails
    :source: ours, docs/command-line.md
    """

    def __init__(self, stream: TextIO, render: Callable[[Input], str]) -> None:
        """The stream to write to, standard output as a rule, and how a message reads."""
        self._stream = stream
        self._render = render

    async def answer(self, given: Input, begin: Callable[[], None]) -> Answer:
        """Write one message; `OSError` if the reader has gone."""
        if given.occurrences:
            self._stream.write(f"{self._render(given)}\n")
            self._stream.flush()
        begin()
        return Answer()


def render_frame(given: Input) -> str:
    """The frame alone, as the agent reads it."""
    return given.text


def render_json(given: Input) -> str:
    """One JSON line: `{message, occurrences: [{id, occurrenceAt}]}`."""
    return format_json({"message": given.text, "occurrences": list_occurrences(given)})


def list_occurrences(given: Input) -> list[dict[str, str]]:
    """The reminders that a message delivers, as JSON names them."""
    return [
        {"id": schedule_id, "occurrenceAt": format_instant(occurrence_ms)}
        for schedule_id, occurrence_ms in given.occurrences
    ]
