"""The tools as a client sees them: the core's, what this server adds to them, and the inbox.

This module decides names, descriptions and JSON schemas, which are constants for a place. It refuses
to do anything: `answers` does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal, Union, get_args

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from wakefold.edit_requests import UnchangedCode
from wakefold.events import Json
from wakefold.tool_answers import DeleteAnswer, ReminderView
from wakefold.tool_schemas import TOOL_DEFINITIONS, VERSION_1_DEFINITIONS, derive_object

_Zone = Annotated[
    str, Meta(description="UTC or an IANA name such as Europe/Berlin, for the local readings.")
]
_Local = Annotated[str, Meta(description="the same instant as a clock in the zone shows it")]
_Replaced = (
    Annotated[int, Meta(description="characters that no text can hold, shown as U+FFFD")] | UnsetType
)


class ListArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """One reminder by its id, or a page of all of them."""

    id: Annotated[str, Meta(description="Only this reminder, its prompt whole.")] | UnsetType = UNSET
    cursor: (
        Annotated[str, Meta(description="The nextCursor of the page before; leave it out to begin.")]
        | UnsetType
    ) = UNSET
    time_zone: _Zone | UnsetType = UNSET


class ReadArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """Which message, and from where in its text."""

    id: Annotated[str, Meta(description="The message's id; by default the first.")] | UnsetType = UNSET
    offset: Annotated[int, Meta(ge=0, description="The nextOffset of the answer before.")] = 0


class AcknowledgeArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """Which message has been taken care of."""

    id: Annotated[str, Meta(min_length=1, description="The message's id, as the inbox shows it.")]


class Occurrence(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A reminder that a message delivers, and the instant that it was due at."""

    id: str
    occurrence_at: str
    local: _Local | UnsetType = UNSET


class Message(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """One message that waits; the first ones' texts only, each as far as it goes."""

    id: str
    queued_at: str
    source: Annotated[
        Literal["reminder", "message"],
        Meta(description="message: a person's word, or what another program queued"),
    ]
    text: str
    text_characters: Annotated[int, Meta(description="how long the whole text is")]
    occurrences: list[Occurrence]
    occurrences_total: int


class Inbox(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What waits for you, each message until you acknowledge it; the first comes first."""

    total: int
    messages: list[Message]
    characters_replaced: _Replaced = UNSET


_ADDED: Final = [
    ("local", _Local | UnsetType, UNSET),
    (
        "prompt_characters",
        Annotated[int, Meta(description="the prompt is cut, the whole one is this long")] | UnsetType,
        UNSET,
    ),
]

Reminder: Final[Any] = Union[  # noqa: UP007 - of types made below
    tuple(
        msgspec.defstruct(
            kind.__name__.removesuffix("View"),
            _ADDED,
            bases=(kind,),
            frozen=True,
            tag=kind.__struct_config__.tag,
            rename="camel",
            forbid_unknown_fields=True,
        )
        for kind in get_args(ReminderView)
    )
]
"""A reminder as the core answers with it, with its local reading where a zone is known."""


class CreateAnswer(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The reminder that was made."""

    reminder: Reminder
    inbox: Inbox
    characters_replaced: _Replaced = UNSET


class ListAnswer(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A page of the active reminders; total counts all of them, whatever the page holds."""

    reminders: list[Reminder]
    total: int
    inbox: Inbox
    next_cursor: (
        Annotated[str, Meta(description="there are more: list again with this as cursor")] | UnsetType
    ) = UNSET
    code: (
        Annotated[
            Literal["schedule_not_found"], Meta(description="no reminder of the id asked for is active")
        ]
        | UnsetType
    ) = UNSET
    characters_replaced: _Replaced = UNSET


class UpdateAnswer(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The reminder as it is now; or why nothing was changed, which is no error."""

    id: str
    updated: bool
    inbox: Inbox
    reminder: Reminder | UnsetType = UNSET
    code: (
        Annotated[
            UnchangedCode,
            Meta(description="nothing was changed: list the reminders again, then decide"),
        ]
        | UnsetType
    ) = UNSET
    characters_replaced: _Replaced = UNSET


class EndAnswer(DeleteAnswer, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Whether a reminder was ended; the code says that no such one is active."""

    inbox: Inbox
    characters_replaced: _Replaced = UNSET


class ReadAnswer(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A message from an offset on, as much of it as one answer holds."""

    total: Annotated[int, Meta(description="how many messages wait")]
    message: Message | UnsetType = UNSET
    offset: int = 0
    next_offset: (
        Annotated[int, Meta(description="there is more: read again with this as offset")] | UnsetType
    ) = UNSET
    code: (
        Annotated[Literal["message_not_found"], Meta(description="no such message waits")] | UnsetType
    ) = UNSET
    characters_replaced: _Replaced = UNSET


class AcknowledgeAnswer(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Whether the message is taken, now or before; the code says that none of that id ever waited."""

    id: str
    acknowledged: bool
    inbox: Inbox
    code: Literal["message_not_found"] | UnsetType = UNSET
    characters_replaced: _Replaced = UNSET


class ServedTool(Struct, frozen=True):
    """One tool: what a client is told of it, and whether it only looks."""

    name: str
    description: str
    input_schema: Json
    output_schema: Json
    looks_only: bool


_CREATE, _LIST, _UPDATE, _DELETE = TOOL_DEFINITIONS
_INBOX_NOTE: Final = (
    "Once it is due it waits in the session's inbox, which every answer shows until inbox_acknowledge."
)
_LOCAL_NOTE: Final = "Where a zone is known, local is the same time on its clocks: tell the user that."

#: The tools, in a fixed order.
#:
#: :meta hide-value:
SERVED_TOOLS: Final = (
    ServedTool(
        name="schedule_create",
        description=f"{_CREATE.description} {_INBOX_NOTE} {_LOCAL_NOTE}",
        input_schema=_CREATE.input_schema,
        output_schema=derive_object(CreateAnswer),
        looks_only=False,
    ),
    ServedTool(
        name="schedule_list",
        description=(
            f"{_LIST.description} Answers with a page: total counts all of them, a long prompt is cut "
            f"with a mark and whole by its id. {_LOCAL_NOTE}"
        ),
        input_schema=derive_object(ListArguments),
        output_schema=derive_object(ListAnswer),
        looks_only=True,
    ),
    ServedTool(
        name="schedule_update",
        description=f"{_UPDATE.description} {_LOCAL_NOTE}",
        input_schema=_UPDATE.input_schema,
        output_schema=derive_object(UpdateAnswer),
        looks_only=False,
    ),
    ServedTool(
        name="schedule_delete",
        description=_DELETE.description,
        input_schema=_DELETE.input_schema,
        output_schema=derive_object(EndAnswer),
        looks_only=False,
    ),
    ServedTool(
        name="inbox_read",
        description=(
            "Read a message of this session's inbox: a reminder that has come due, or a person's word. "
            "It stays there until you acknowledge it."
        ),
        input_schema=derive_object(ReadArguments),
        output_schema=derive_object(ReadAnswer),
        looks_only=True,
    ),
    ServedTool(
        name="inbox_acknowledge",
        description=(
            "Say that you have taken care of a message of the inbox, by its id: it is shown no more, "
            "and the next one may come. The first message goes first; twice does no harm."
        ),
        input_schema=derive_object(AcknowledgeArguments),
        output_schema=derive_object(AcknowledgeAnswer),
        looks_only=False,
    ),
)

_SESSION: Final[Json] = {
    "type": "string",
    "description": "The session: its id, or its directory below the root.",
}


def list_tools(
    *, choose_session: bool, required: bool, protocol: Literal[1, 2] = 2
) -> tuple[ServedTool, ...]:
    """The tools of a place; where a client chooses the session, each takes the key `session`.

    Under protocol 1 none is told of that needs version 2 of the durable change.
    """
    tools = tuple(_list_plain_tools()) if protocol == 1 else SERVED_TOOLS
    if not choose_session:
        return tools
    return tuple(_take_session(tool, required=required) for tool in tools)


def _list_plain_tools() -> Iterator[ServedTool]:
    for tool in SERVED_TOOLS:
        if tool.name == "schedule_create":
            plain = VERSION_1_DEFINITIONS[0]
            told = f"{plain.description} {_INBOX_NOTE} {_LOCAL_NOTE}"
            yield msgspec.structs.replace(tool, description=told, input_schema=plain.input_schema)
        elif tool.name != "schedule_update":
            yield tool


def _take_session(tool: ServedTool, *, required: bool) -> ServedTool:
    schema: dict[str, Any] = dict(tool.input_schema)
    schema["properties"] = {"session": _SESSION, **schema["properties"]}
    if required:
        schema["required"] = ["session", *schema.get("required", ())]
    return msgspec.structs.replace(tool, input_schema=schema)
