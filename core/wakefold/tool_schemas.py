"""The tools as a model sees them: names, descriptions, and JSON schemas derived from types.

The definitions are constants, byte-identical across calls and sessions, so that a model's prompt cache
survives. This module decides how the tools are described; what they do is `tools`' business, and their
programs check arguments themselves: a schema that a host does not enforce changes nothing.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from wakefold.events import Json
from wakefold.recurrence import MIN_EVERY_SECONDS

_Instant = Annotated[str, Meta(description="UTC instant, 2027-02-01T09:00:00.000Z")]
_State = Annotated[
    Literal["scheduled", "overdue"], Meta(description="overdue from scheduledAt on, until delivered")
]
_Mode = Annotated[
    Literal["session-local"],
    Meta(description="delivered only while this session has a live runner; late rather than never"),
]
_Held = (
    Annotated[str, Meta(description="only while the guard holds it: an instant, or next-external-word")]
    | UnsetType
)


class LocalTime(Struct, frozen=True, forbid_unknown_fields=True):
    """A local time, read in time_zone."""

    date: Annotated[str, Meta(description="YYYY-MM-DD")]
    time: Annotated[str, Meta(description="HH:mm:ss, 24 hours, at most three digits of fraction")]
    time_zone: (
        Annotated[
            str,
            Meta(
                description="UTC or an IANA name such as Europe/Berlin. Leave it out only if the "
                "user's zone is certain from this conversation; otherwise ask for it."
            ),
        ]
        | UnsetType
    ) = UNSET


class CreateArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """The prompt and exactly one of after_seconds, at and every_seconds."""

    prompt: Annotated[str, Meta(min_length=1, description="What to be reminded of; plain text.")]
    after_seconds: (
        Annotated[int, Meta(ge=1, description="Remind once, this many seconds from now.")] | UnsetType
    ) = UNSET
    at: (
        Annotated[
            str | LocalTime,
            Meta(
                description="Remind once, at an absolute time strictly in the future: text with an "
                "offset (2027-02-01T09:00:00+01:00, or ...Z), or an object of local fields. No other "
                "words."
            ),
        ]
        | UnsetType
    ) = UNSET
    every_seconds: (
        Annotated[
            int,
            Meta(
                ge=MIN_EVERY_SECONDS,
                description="Remind again and again, this many seconds apart, first after one "
                "interval. Elapsed time, not calendar time: a clock change moves the local hour.",
            ),
        ]
        | UnsetType
    ) = UNSET


class ListArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """No arguments."""


class DeleteArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """The id of the reminder to end."""

    id: Annotated[str, Meta(min_length=1, description="As schedule_create or schedule_list gave it.")]


class AfterAnswer(
    Struct, frozen=True, tag_field="kind", tag="after", rename="camel", forbid_unknown_fields=True
):
    """A one-shot made by a delay."""

    id: str
    prompt: str
    after_seconds: int
    scheduled_at: _Instant
    state: _State
    delivery_mode: _Mode
    held_until: _Held = UNSET


class AtAnswer(
    Struct, frozen=True, tag_field="kind", tag="at", rename="camel", forbid_unknown_fields=True
):
    """A one-shot made by an absolute time."""

    id: str
    prompt: str
    scheduled_at: _Instant
    state: _State
    delivery_mode: _Mode
    held_until: _Held = UNSET


class EveryAnswer(
    Struct, frozen=True, tag_field="kind", tag="every", rename="camel", forbid_unknown_fields=True
):
    """A repeating reminder; scheduledAt is its earliest target not yet delivered."""

    id: str
    prompt: str
    every_seconds: int
    scheduled_at: _Instant
    state: _State
    delivery_mode: _Mode
    delivery_not_before: (
        Annotated[
            str, Meta(description="only while overdue: repeats are delivered at least 300 s apart")
        ]
        | UnsetType
    ) = UNSET
    held_until: _Held = UNSET


class DeleteAnswer(Struct, frozen=True, forbid_unknown_fields=True):
    """Whether a reminder was ended; the code says that no such one is active."""

    id: str
    deleted: bool
    code: Literal["schedule_not_found"] | UnsetType = UNSET


class ErrorAnswer(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A refusal: read the message, it says what to do instead."""

    code: Literal[
        "invalid_prompt",
        "invalid_selector",
        "invalid_rule",
        "invalid_time_zone",
        "timezone_confirmation_required",
        "not_future",
        "time_out_of_range",
        "frequency_too_high",
        "corrupt_schedule_log",
        "persistence_uncertain",
        "internal_error",
    ]
    message: str
    session_time_zone: str | UnsetType = UNSET
    client_time_zones: list[str] | UnsetType = UNSET
    operation: Literal["create", "list", "delete"] | UnsetType = UNSET
    id: str | UnsetType = UNSET


RecordAnswer = AfterAnswer | AtAnswer | EveryAnswer


class ToolDefinition(Struct, frozen=True):
    """One tool: what a model is told, and the JSON schemas of what goes in and comes out."""

    name: Literal["schedule_create", "schedule_list", "schedule_delete"]
    description: str
    input_schema: Json
    output_schema: Json


def derive_object(kind: type[Struct]) -> Json:
    """The schema of an object, its own definition at the top, as tool APIs want it."""
    (reference,), definitions = msgspec.json.schema_components([kind], ref_template=_REFERENCE)
    name = str(reference["$ref"]).rpartition("/")[2]
    rest = {key: value for key, value in definitions.items() if key != name}
    return {**definitions[name], **({"$defs": rest} if rest else {})}


def _derive_output(*kinds: Any) -> Json:  # noqa: ANN401 - any type that a schema can be made of
    """The schema of any of several values."""
    schemas, definitions = msgspec.json.schema_components(kinds, ref_template=_REFERENCE)
    return {"anyOf": list(schemas), "$defs": definitions}


_REFERENCE: Final = "#/$defs/{name}"

TOOL_DEFINITIONS: Final = (
    ToolDefinition(
        name="schedule_create",
        description=(
            "Set a reminder that wakes you in this session: once after a delay in seconds, once at an "
            "absolute time, or repeatedly at a fixed interval in seconds (at least 300). Give the "
            "prompt and exactly one of after_seconds, at and every_seconds. Times are UTC unless a "
            "zone is named. Delivery is session-local: on time while the session is live, late "
            "otherwise. Answers with the reminder; its scheduledAt is in UTC."
        ),
        input_schema=derive_object(CreateArguments),
        output_schema=_derive_output(RecordAnswer, ErrorAnswer),
    ),
    ToolDefinition(
        name="schedule_list",
        description=(
            "List all active reminders of this session, in the order of their creation, with their "
            "state as of now. Instants are in UTC. Delivery is session-local."
        ),
        input_schema=derive_object(ListArguments),
        output_schema=_derive_output(list[RecordAnswer], ErrorAnswer),
    ),
    ToolDefinition(
        name="schedule_delete",
        description=(
            "End an active reminder of this session by its id. Answers deleted: false with code "
            "schedule_not_found if none of that id is active."
        ),
        input_schema=derive_object(DeleteArguments),
        output_schema=_derive_output(DeleteAnswer, ErrorAnswer),
    ),
)
"""The three tools, in a fixed order."""


def list_openai_tools() -> list[Json]:
    """The definitions as chat-completions APIs take them (`tools=[{type: "function", ...}]`)."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.input_schema,
            },
        }
        for tool in TOOL_DEFINITIONS
    ]


def list_anthropic_tools() -> list[Json]:
    """The definitions as the messages API takes them (`tools=[{name, description, input_schema}]`)."""
    return [
        {
            "name": tool.name,
            "description": tool.description,
            "input_schema": tool.input_schema,
        }
        for tool in TOOL_DEFINITIONS
    ]
