"""What a model is told of the tools: derived from types that fit the real answers."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest

from journal_files import NOON_MS
from wakefold import Ledger, encode_view, error_value, list_views
from wakefold.events import AfterRecord, AtRecord, EveryRecord, Json, Record
from wakefold.instants import MAX_INSTANT_MS
from wakefold.json_text import format_json
from wakefold.rejections import (
    InvalidPrompt,
    PersistenceUncertain,
    Rejection,
    TimezoneConfirmationRequired,
)
from wakefold.tool_schemas import (
    TOOL_DEFINITIONS,
    CreateArguments,
    DeleteAnswer,
    DeleteArguments,
    ErrorAnswer,
    ListArguments,
    RecordAnswer,
    list_anthropic_tools,
    list_openai_tools,
)
from wakefold.tools import ToolName, open_call


def test_the_definitions_are_the_three_tools_in_order() -> None:
    """The same names as the programs, in the same order always."""
    names = [tool.name for tool in TOOL_DEFINITIONS]
    assert names == list(get_args(ToolName))
    assert format_json(list_openai_tools()) == format_json(list_openai_tools())


def test_every_shape_is_ready_for_its_api() -> None:
    """An object at the top of each input, and nothing that such an API does not know."""
    for tool, openai, anthropic in zip(
        TOOL_DEFINITIONS, list_openai_tools(), list_anthropic_tools(), strict=True
    ):
        assert tool.input_schema["type"] == "object"
        assert tool.input_schema["additionalProperties"] is False
        assert openai == {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.input_schema,
            },
        }
        assert anthropic == {
            "name": tool.name,
            "description": tool.description,
            "input_schema": tool.input_schema,
        }


def test_the_descriptions_state_units_zone_rule_and_session_local_delivery() -> None:
    """What a model has to know before it calls."""
    told = format_json(list_openai_tools())
    for words in ("seconds", "session-local", "Europe/Berlin", "at least 300", "Elapsed time"):
        assert words in told
    schema: Any = TOOL_DEFINITIONS[0].input_schema
    assert schema["required"] == ["prompt"]
    assert list(schema["properties"]) == ["prompt", "after_seconds", "at", "every_seconds"]
    assert schema["properties"]["every_seconds"]["minimum"] == 300
    assert schema["$defs"]["LocalTime"]["required"] == ["date", "time"]


@pytest.mark.parametrize(
    ("tool", "kind", "arguments"),
    [
        ("schedule_create", CreateArguments, {"prompt": "x", "after_seconds": 1}),
        ("schedule_create", CreateArguments, {"prompt": "x", "every_seconds": 300}),
        ("schedule_create", CreateArguments, {"prompt": "x", "at": "2027-02-01T09:00:00Z"}),
        (
            "schedule_create",
            CreateArguments,
            {"prompt": "x", "at": {"date": "2027-02-01", "time": "09:00:00"}},
        ),
        ("schedule_list", ListArguments, {}),
        ("schedule_delete", DeleteArguments, {"id": "schedule-1"}),
    ],
)
def test_what_the_schema_takes_the_program_takes(
    tool: ToolName, kind: type[msgspec.Struct], arguments: Json
) -> None:
    """The types behind the schemas and the shape checks agree on good arguments."""
    msgspec.convert(arguments, kind)
    open_call(tool, arguments).unwrap()


def test_real_views_fit_the_answers_type() -> None:
    """Every kind, scheduled and overdue, with and without the gate."""
    records: list[Record] = [
        AfterRecord("a", "x", 1, NOON_MS),
        AtRecord("b", "y", 0),
        EveryRecord("c", "z", 300, 0),
    ]
    ledger = Ledger(records={record.id: record for record in records}, last_accepted_at_ms=NOON_MS - 1)
    views = [encode_view(view) for view in list_views(ledger, NOON_MS)]
    read = msgspec.convert(views, list[RecordAnswer])
    assert msgspec.to_builtins(read) == views
    assert "deliveryNotBefore" in views[2]


@pytest.mark.parametrize("until_ms", [NOON_MS + 1, MAX_INSTANT_MS + 1], ids=["instant", "word"])
def test_a_view_under_a_hold_fits_the_answers_type(until_ms: int) -> None:
    """Whatever kind is held says until when."""
    records: list[Record] = [
        AfterRecord("a", "x", 1, 0),
        AtRecord("b", "y", 0),
        EveryRecord("c", "z", 300, 0),
    ]
    ledger = Ledger(records={record.id: record for record in records})
    views = [encode_view(view) for view in list_views(ledger, NOON_MS, until_ms)]
    assert all("heldUntil" in view for view in views)
    assert msgspec.to_builtins(msgspec.convert(views, list[RecordAnswer])) == views


@pytest.mark.parametrize(
    "rejection",
    [
        InvalidPrompt(),
        TimezoneConfirmationRequired("UTC", ("UTC",)),
        PersistenceUncertain("delete", "schedule-1"),
    ],
)
def test_real_errors_fit_the_answers_type(rejection: Rejection) -> None:
    """Code, message, and what comes with them."""
    value = error_value(rejection)
    assert msgspec.to_builtins(msgspec.convert(value, ErrorAnswer)) == value


def test_the_error_answer_knows_every_code() -> None:
    """The closed set, and nothing beside it."""
    schema = msgspec.json.schema(ErrorAnswer)["$defs"]["ErrorAnswer"]["properties"]["code"]
    codes = {str(kind.__struct_config__.tag) for kind in get_args(Rejection)}
    assert set(schema["enum"]) == codes


@pytest.mark.parametrize(
    "value",
    [
        {"id": "a", "deleted": True},
        {"id": "a", "deleted": False, "code": "schedule_not_found"},
    ],
)
def test_real_delete_answers_fit_the_answers_type(value: Json) -> None:
    """Both of them."""
    assert msgspec.to_builtins(msgspec.convert(value, DeleteAnswer)) == value
