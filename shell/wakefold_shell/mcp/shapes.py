"""How reminders, receipts and messages are shown: bounded, with local readings, nothing cut in silence.

This module decides what a client reads of a view or of the inbox. It refuses to know where they come
from; `schemas` has the shapes as a client is told them.
"""

from __future__ import annotations

from typing import Any, Final

from wakefold import parse_instant
from wakefold.events import Json
from wakefold.zones import format_local
from wakefold_shell.mcp.texts import cut

PAGE_LENGTH: Final = 25
"""How many things one answer, or one page of a resource, holds."""

PROMPT_CHARACTERS_MAX: Final = 200
"""How much of a prompt is shown where the whole one was not asked for."""

TEXT_CHARACTERS_MAX: Final = 8_000
"""How much of a message's text one answer holds."""

MESSAGES_MAX: Final = 3
"""How many messages of the inbox are shown with their texts."""

_OCCURRENCES_MAX: Final = 20


def show_reminder(
    view: Json, zone: str | None, *, named: str | None = None, whole: bool = False
) -> Json:
    """A view as a client reads it, with its local reading where a zone is known.

    That is one that the client has `named`, or the rule's own, or `zone`.
    """
    own: Any = view.get("timeZone")
    remedy = "schedule_list with its id has the whole prompt"
    prompt = {} if whole else _cut_prompt(view, remedy)
    return {**view, **prompt, **_read_local(view["scheduledAt"], named or own or zone)}


def show_receipt(receipt: Json, zone: str | None, *, whole: bool = False) -> Json:
    """A receipt as a client reads it, in the same way."""
    prompt = {} if whole else _cut_prompt(receipt, "the receipt alone has the whole prompt")
    return {**receipt, **prompt, **_read_local(receipt["occurrenceAt"], zone)}


def show_message(message: Json, zone: str | None, *, offset: int = 0, whole: bool = False) -> Json:
    """A message as a client reads it, its text from an offset on, as far as one answer goes."""
    text = str(message["text"])
    occurrences: Any = message["occurrences"]
    shown = occurrences if whole else occurrences[:_OCCURRENCES_MAX]
    remedy = f"inbox_read with offset {offset + TEXT_CHARACTERS_MAX} has more"
    return {
        **message,
        "text": text if whole else cut(text[offset:], TEXT_CHARACTERS_MAX, remedy),
        "textCharacters": len(text),
        "occurrences": [{**one, **_read_local(one["occurrenceAt"], zone)} for one in shown],
        "occurrencesTotal": len(occurrences),
    }


def show_inbox(messages: list[Json], zone: str | None) -> Json:
    """What waits: how many messages, and the first ones."""
    shown = [show_message(message, zone) for message in messages[:MESSAGES_MAX]]
    return {"total": len(messages), "messages": shown}


def describe_inbox(inbox: Json) -> str | None:
    """The same as text for a model; `None` where nothing waits."""
    total: Any = inbox["total"]
    messages: Any = inbox["messages"]
    if not messages:
        return None
    counted = "1 message waits" if total == 1 else f"{total} messages wait"
    pieces = [f"[INBOX] {counted} for you, each until you call inbox_acknowledge with its id."]
    pieces += [f"id: {message['id']}\n{message['text']}" for message in messages]
    if total > len(messages):
        pieces.append(f"The other {total - len(messages)} are shown once these are acknowledged.")
    return "\n\n".join(pieces)


def _cut_prompt(value: Json, remedy: str) -> Json:
    prompt = str(value["prompt"])
    if len(prompt) <= PROMPT_CHARACTERS_MAX:
        return {}
    return {
        "prompt": cut(prompt, PROMPT_CHARACTERS_MAX, remedy),
        "promptCharacters": len(prompt),
    }


def _read_local(instant: object, zone: str | None) -> Json:
    """The local reading of an instant; nothing without a zone, or off the calendar."""
    instant_ms = parse_instant(instant)
    if zone is None or instant_ms is None:
        return {}
    try:
        return {"local": format_local(instant_ms, zone)}
    except ValueError:
        return {}
