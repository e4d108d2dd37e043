"""What is the OpenAI Agents SDK's own: its function tools, its sessions, and its tracing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, RunConfig, SQLiteSession, set_trace_processors
from agents.testing import ScriptedModel, assistant_message
from agents.tracing import Span, Trace, TracingProcessor
from pydantic import BaseModel
from returns.result import Success

from memory_world import Life, MemoryStore, at, data_of, living, until
from wakefold.tool_schemas import TOOL_DEFINITIONS
from wakefold.tools import ToolAnswer, ToolName
from wakefold_shell.hosts.openai_agents import OpenAIAgent, make_tools

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Tracer(TracingProcessor):
    """Notes the traces that would be sent; it takes the place of what sends them."""

    def __init__(self) -> None:
        self.traces: list[str] = []

    def on_trace_start(self, trace: Trace) -> None:
        self.traces.append(trace.name)

    def on_trace_end(self, trace: Trace) -> None:
        pass

    def on_span_start(self, span: Span[Any]) -> None:
        pass

    def on_span_end(self, span: Span[Any]) -> None:
        pass

    def shutdown(self) -> None:
        pass

    def force_flush(self) -> None:
        pass


@pytest.fixture
def tracer() -> Iterator[Tracer]:
    tracer = Tracer()
    set_trace_processors([tracer])
    yield tracer
    set_trace_processors([])


async def no_call(tool: ToolName, arguments: object) -> ToolAnswer:
    return Success([tool, arguments])


def test_the_tools_are_told_by_the_core_s_own_schemas() -> None:
    """Not strict, where every property would be required, and none of them the core's own dict."""
    for tool, definition in zip(make_tools(no_call), TOOL_DEFINITIONS, strict=True):
        assert (tool.name, tool.description) == (definition.name, definition.description)
        assert tool.params_json_schema == definition.input_schema
        assert tool.params_json_schema is not definition.input_schema
        assert tool.strict_json_schema is False


@pytest.mark.parametrize("disabled", [False, True])
async def test_tracing_is_what_the_run_config_says(tracer: Tracer, disabled: bool) -> None:
    """The adapter switches nothing, neither off nor on."""
    model = ScriptedModel([[assistant_message("ok")]])
    agent = OpenAIAgent(
        Agent("stub", model=model), SQLiteSession("s"), run_config=RunConfig(tracing_disabled=disabled)
    )
    async with living(Life(MemoryStore(at("a")), agent)) as life:
        await life.rest()
    model.assert_complete()
    assert len(tracer.traces) == (0 if disabled else 1)


async def test_a_history_that_cannot_be_had_keeps_the_message_in_the_inbox() -> None:
    """The turn has not begun."""
    store = MemoryStore(at("a"))
    history = SQLiteSession("s")
    history.close()
    async with living(Life(store, OpenAIAgent(Agent("stub"), history))) as life:
        await until(lambda: life.host.trouble is not None)
    assert life.host.busy
    assert data_of(store.events, "turn/start") == []


class Verdict(BaseModel):
    good: bool


async def test_an_answer_that_is_no_text_stays_in_the_history(tmp_path: Path, tracer: Tracer) -> None:
    """The log has the turn, and no words of it."""
    store = MemoryStore(at("a"))
    history = SQLiteSession("s", tmp_path / "history")
    model = ScriptedModel([[assistant_message('{"good":true}')]])
    agent = OpenAIAgent(Agent("stub", model=model, output_type=Verdict), history)
    async with living(Life(store, agent)) as life:
        await life.rest()
    assert data_of(store.events, "assistant/message") == []
    assert data_of(store.events, "turn/end") == [{"turn": 1, "reason": {"kind": "completed"}}]
    assert '{"good":true}' in str(await history.get_items())
    assert len(tracer.traces) == 1
    history.close()
