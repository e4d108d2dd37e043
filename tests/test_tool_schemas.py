"""What a model is told of the tools: derived from types that fit the real answers."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from returns.pipeline import is_successful
from returns.result import Failure

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
from wakefold.tool_answers import (
    AfterView,
    CronView,
    DailyView,
    DeleteAnswer,
    ErrorAnswer,
    EveryView,
    RecordAnswer,
    RefusalAnswer,
    ReminderView,
    UnchangedAnswer,
    WeeklyView,
)
from wakefold.tool_arguments import (
    CreateArguments,
    DeleteArguments,
    EditableArguments,
    ListArguments,
    UpdateArguments,
)
from wakefold.tool_schemas import (
    TOOL_DEFINITIONS,
    VERSION_1_DEFINITIONS,
    list_anthropic_tools,
    list_openai_tools,
)
from wakefold.tools import ToolName, answer_value, open_call, refuse_version_2

VERSION_1_DIGEST = "0a797c3b9fa2ead93efd0892390afdcac8e1797fb749cabbc4eacf1013d821d2"
ZONED = {"time": "09:00:00", "time_zone": "Europe/Berlin"}
CASES = [
    json.loads(line, parse_float=lambda text: int(float(text)))  # 300.0 is an integer to a schema
    for line in (Path(__file__).parent / "vectors" / "update.jsonl").read_text().splitlines()
]
ANSWERED = [case for case in CASES if "view" in case["expect"]]
UNCHANGED = [case["expect"]["value"] for case in CASES if "value" in case["expect"]]


def test_the_definitions_are_the_four_tools_in_order() -> None:
    """The same names as the programs, in the same order always."""
    names = [tool.name for tool in TOOL_DEFINITIONS]
    assert names == list(get_args(ToolName))
    assert format_json(list_openai_tools()) == format_json(list_openai_tools())


def test_the_definitions_of_version_1_are_as_they_always_were() -> None:
    """To the byte: whoever asks for no more than version 1 keeps a warm prompt cache."""
    told = msgspec.json.encode(VERSION_1_DEFINITIONS)
    assert (
        sha256(told).hexdigest() == "0a797c3b9fa2ead93efd0892390afdcac8e1797fb749cabbc4eacf1013d821d2"
    )
    assert [tool["name"] for tool in list_anthropic_tools(VERSION_1_DEFINITIONS)] == [
        "schedule_create",
        "schedule_list",
        "schedule_delete",
    ]
    assert "daily" not in format_json(list_openai_tools(VERSION_1_DEFINITIONS))


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
    selectors = ["after_seconds", "at", "every_seconds", "daily", "weekly", "cron"]
    options = ["title", "max_runs", "until", "missed", "grace_seconds"]
    assert list(schema["properties"]) == ["prompt", *selectors, *options]
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
        ("schedule_create", EditableArguments, {"prompt": "x", "daily": ZONED}),
        ("schedule_create", EditableArguments, {"prompt": "x", "daily": {"time": "09:00:00"}}),
        ("schedule_create", EditableArguments, {"prompt": "x", "weekly": {"weekdays": [7], **ZONED}}),
        ("schedule_create", EditableArguments, {"prompt": "x", "cron": {"expression": "0 9 * * MON"}}),
        (
            "schedule_create",
            EditableArguments,
            {
                "prompt": "x",
                "every_seconds": 300,
                "title": "t",
                "max_runs": 1,
                "until": "2027-02-01T09:00:00Z",
                "missed": "skip",
                "grace_seconds": 300,
            },
        ),
        ("schedule_list", ListArguments, {}),
        ("schedule_update", UpdateArguments, {"id": "schedule-1", "revision": 0, "paused": True}),
        ("schedule_update", UpdateArguments, {"id": "schedule-1", "snooze_until": "2027-02-01T09:00Z"}),
        (
            "schedule_update",
            UpdateArguments,
            {
                "id": "schedule-1",
                "prompt": "y",
                "weekly": {"weekdays": [1, 2], **ZONED},
                "title": None,
                "max_runs": None,
                "until": None,
                "missed": None,
                "grace_seconds": None,
            },
        ),
        ("schedule_delete", DeleteArguments, {"id": "schedule-1"}),
    ],
)
def test_what_the_schema_takes_the_program_takes(
    tool: ToolName, kind: type[msgspec.Struct], arguments: Json
) -> None:
    """The types behind the schemas and the shape checks agree on good arguments."""
    msgspec.convert(arguments, kind)
    open_call(tool, arguments).unwrap()


@pytest.mark.parametrize(
    ("tool", "kind", "arguments"),
    [
        ("schedule_create", EditableArguments, {"prompt": "x", "daily": {}}),
        ("schedule_create", EditableArguments, {"prompt": "x", "daily": "09:00"}),
        ("schedule_create", EditableArguments, {"prompt": "x", "weekly": {"weekdays": [], **ZONED}}),
        ("schedule_create", EditableArguments, {"prompt": "x", "weekly": {"weekdays": [8], **ZONED}}),
        ("schedule_create", EditableArguments, {"prompt": "x", "cron": {}}),
        ("schedule_create", EditableArguments, {"prompt": "x", "after_seconds": 1, "title": ""}),
        ("schedule_create", EditableArguments, {"prompt": "x", "after_seconds": 1, "title": "t" * 121}),
        ("schedule_create", EditableArguments, {"prompt": "x", "after_seconds": 1, "title": None}),
        ("schedule_create", EditableArguments, {"prompt": "x", "every_seconds": 300, "max_runs": 0}),
        ("schedule_create", EditableArguments, {"prompt": "x", "every_seconds": 300, "missed": "x"}),
        ("schedule_create", EditableArguments, {"prompt": "x", "at": "x", "grace_seconds": 299}),
        ("schedule_create", EditableArguments, {"prompt": "x", "at": "x", "paused": True}),
        ("schedule_update", UpdateArguments, {"paused": True}),
        ("schedule_update", UpdateArguments, {"id": "a", "paused": 1}),
        ("schedule_update", UpdateArguments, {"id": "a", "paused": None}),
        ("schedule_update", UpdateArguments, {"id": "a", "revision": -1, "paused": True}),
        ("schedule_update", UpdateArguments, {"id": "a", "prompt": None}),
        ("schedule_update", UpdateArguments, {"id": "a", "until": "x", "zone": "UTC"}),
    ],
)
def test_what_the_schema_refuses_the_program_refuses(
    tool: ToolName, kind: type[msgspec.Struct], arguments: Json
) -> None:
    """Wherever a schema can say it at all."""
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(arguments, kind)
    open_call(tool, arguments).failure()


@pytest.mark.parametrize("case", ANSWERED, ids=[case["name"] for case in ANSWERED])
def test_every_vector_s_arguments_and_view_fit_their_types(case: Any) -> None:  # noqa: ANN401 - parsed JSON
    """What the vectors say is taken, and what they say is answered, edited and paused ones too."""
    kind = EditableArguments if case["tool"] == "schedule_create" else UpdateArguments
    msgspec.convert(case["arguments"], kind)
    view = case["expect"]["view"]
    assert msgspec.to_builtins(msgspec.convert(view, ReminderView)) == view


def test_the_vectors_know_every_view_and_every_code() -> None:
    """So that the test above has seen them."""
    views = [msgspec.convert(case["expect"]["view"], ReminderView) for case in ANSWERED]
    kinds = {type(view) for view in views}
    assert {AfterView, EveryView, DailyView, WeeklyView, CronView} <= kinds
    assert any(view.state == "paused" for view in views)
    codes = {msgspec.convert(value, UnchangedAnswer).code for value in UNCHANGED}
    assert codes == {"schedule_not_found", "schedule_ended", "schedule_conflict"}


@pytest.mark.parametrize(
    ("tool", "arguments", "wanted"),
    [
        ("schedule_create", {"prompt": "x", "after_seconds": 1, "title": "t"}, True),
        ("schedule_create", {"prompt": "x", "daily": ZONED}, True),
        ("schedule_update", {"id": "a", "paused": True}, True),
        ("schedule_create", {"prompt": "x", "after_seconds": 1}, False),
        ("schedule_create", {"prompt": "x"}, False),
        ("schedule_create", {"prompt": "", "after_seconds": 1}, False),
    ],
)
def test_protocol_1_refuses_what_version_1_has_no_words_for(
    tool: ToolName, arguments: Json, *, wanted: bool
) -> None:
    """In a sentence that advises nothing of version 2; other faults read as they do."""
    assert (refuse_version_2(tool, arguments) is not None) == wanted
    opened = open_call(tool, arguments, protocol=1)
    if is_successful(opened):
        assert arguments == {"prompt": "x", "after_seconds": 1}
        return
    told = str(answer_value(Failure(opened.failure())))
    assert ("Only version 1" in told) == (arguments.get("prompt") != "")
    assert "daily," not in told


def test_real_views_fit_the_answers_type() -> None:
    """Every kind, scheduled and overdue, with and without the gate."""
    records: list[Record] = [
        AfterRecord("a", "x", 1, NOON_MS),
        AtRecord("b", "y", 0),
        EveryRecord("c", "z", 300, 0),
    ]
    ledger = Ledger(records={record.id: record for record in records}, last_accepted_at_ms=NOON_MS - 1)
    views = [encode_view(view) for view in list_views(ledger, NOON_MS)]
    for kind in (RecordAnswer, ReminderView):
        read = msgspec.convert(views, list[kind])  # type: ignore[valid-type]  # either union
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
    for kind in (RecordAnswer, ReminderView):
        read = msgspec.convert(views, list[kind])  # type: ignore[valid-type]  # either union
        assert msgspec.to_builtins(read) == views


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
    for kind in (ErrorAnswer, RefusalAnswer):
        assert msgspec.to_builtins(msgspec.convert(value, kind)) == value


def test_an_update_that_is_not_confirmed_fits_the_answers_type() -> None:
    """Which version 1 knows nothing of."""
    value = error_value(PersistenceUncertain("update", "schedule-1"))
    assert msgspec.to_builtins(msgspec.convert(value, RefusalAnswer)) == value
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(value, ErrorAnswer)


@pytest.mark.parametrize("kind", [ErrorAnswer, RefusalAnswer])
def test_the_error_answer_knows_every_code(kind: type[msgspec.Struct]) -> None:
    """The closed set, and nothing beside it."""
    schema = msgspec.json.schema(kind)["$defs"][kind.__name__]["properties"]["code"]
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
