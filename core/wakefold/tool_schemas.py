"""The tools as a model sees them: names, descriptions, and JSON schemas derived from types.

The definitions are constants, byte-identical across calls and sessions, so that a model's prompt cache
survives. This module decides how the tools are described; what they do is `tools`' business, and their
programs check arguments themselves: a schema that a host does not enforce changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from wakefold.events import Json
from wakefold.tool_answers import (
    DeleteAnswer,
    ErrorAnswer,
    RecordAnswer,
    RefusalAnswer,
    ReminderView,
    UnchangedAnswer,
)
from wakefold.tool_arguments import (
    CreateArguments,
    DeleteArguments,
    EditableArguments,
    ListArguments,
    UpdateArguments,
)
from wakefold.tools import ToolName


class ToolDefinition(Struct, frozen=True):
    """One tool: what a model is told, and the JSON schemas of what goes in and comes out."""

    name: ToolName
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

#: The three tools that version 1 of the durable change is enough for, in a fixed order.
#:
#: :meta hide-value:
#:
#: :shape: `ToolDefinition` of `schedule_create`, `schedule_list` and `schedule_delete`
#: :units: seconds and instants, as each schema says
#: :errors: none
#: :source: spec section 11
VERSION_1_DEFINITIONS: Final = (
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

_CREATE, _LIST, _DELETE = VERSION_1_DEFINITIONS

#: The four tools, in a fixed order.
#:
#: :meta hide-value:
TOOL_DEFINITIONS: Final = (
    ToolDefinition(
        name="schedule_create",
        description=(
            "Set a reminder that wakes you in this session: once after a delay in seconds, once at an "
            "absolute time, or repeatedly, at a fixed interval in seconds (at least 300) or by the "
            "calendar (daily, weekly, cron). Give the prompt and exactly one of after_seconds, at, "
            "every_seconds, daily, weekly and cron; the other keys are options. Times are UTC unless a "
            "zone is named. Delivery is session-local: on time while the session is live, late "
            "otherwise. Answers with the reminder; its scheduledAt is in UTC."
        ),
        input_schema=derive_object(EditableArguments),
        output_schema=_derive_output(ReminderView, RefusalAnswer),
    ),
    ToolDefinition(
        name="schedule_list",
        description=_LIST.description,
        input_schema=_LIST.input_schema,
        output_schema=_derive_output(list[ReminderView], RefusalAnswer),
    ),
    ToolDefinition(
        name="schedule_update",
        description=(
            "Change an active reminder of this session by its id: any of prompt, one selector and the "
            "options, or paused alone, or snooze_until alone. What is left out stays, null takes an "
            "option away. Give the revision that you saw, so that nobody's change is overwritten. "
            "Answers with the reminder, or updated: false with a code and nothing changed."
        ),
        input_schema=derive_object(UpdateArguments),
        output_schema=_derive_output(ReminderView, UnchangedAnswer, RefusalAnswer),
    ),
    ToolDefinition(
        name="schedule_delete",
        description=_DELETE.description,
        input_schema=_DELETE.input_schema,
        output_schema=_derive_output(DeleteAnswer, RefusalAnswer),
    ),
)


def list_openai_tools(tools: Sequence[ToolDefinition] = TOOL_DEFINITIONS) -> list[Json]:
    """The definitions as chat-completions APIs take them.

    :shape: `[{type: "function", function: {name, description, parameters}}]`
    :units: none
    :errors: none
    :source: ours, docs/tools.md
    """
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.input_schema,
            },
        }
        for tool in tools
    ]


def list_anthropic_tools(tools: Sequence[ToolDefinition] = TOOL_DEFINITIONS) -> list[Json]:
    """The definitions as the messages API takes them.

    :shape: `[{name, description, input_schema}]`
    :units: none
    :errors: none
    :source: ours, docs/tools.md
    """
    return [
        {
            "name": tool.name,
            "description": tool.description,
            "input_schema": tool.input_schema,
        }
        for tool in tools
    ]
