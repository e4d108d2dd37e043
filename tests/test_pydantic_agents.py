"""What is Pydantic AI's own: its toolset, its failed tools, and the file with the history."""

from __future__ import annotations

import stat
from pathlib import Path

import anyio
import pytest
from pydantic_ai import Agent
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from returns.result import Failure, Success

from framework_agents import PydanticKit, follow
from journal_files import NOON_MS
from memory_world import Life, MemoryStore, at, data_of, living, until
from wakefold.rejections import InternalError
from wakefold.tool_schemas import TOOL_DEFINITIONS
from wakefold.tools import ToolAnswer, ToolName
from wakefold_shell.errors import ShellError
from wakefold_shell.hosts.pydantic_agents import PydanticAgent, ScheduleToolset

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Desk:
    """A session's `call` that notes what it is asked, and answers all alike."""

    def __init__(self, answer: ToolAnswer) -> None:
        self.asked: list[tuple[ToolName, object]] = []
        self._answer = answer

    async def call(self, tool: ToolName, arguments: object) -> ToolAnswer:
        self.asked.append((tool, arguments))
        return self._answer


async def test_the_test_model_finds_the_tools_by_their_schemas() -> None:
    """The core's schemas as they are: it fills in what they require."""
    desk = Desk(Success({"ok": True}))
    model = TestModel(call_tools=["schedule_create", "schedule_update", "schedule_delete"])
    await Agent(model, toolsets=[ScheduleToolset(desk.call)]).run("go")
    assert desk.asked == [
        ("schedule_create", {"prompt": "a"}),
        ("schedule_update", {"id": "a"}),
        ("schedule_delete", {"id": "a"}),
    ]
    shown = model.last_model_request_parameters
    assert shown is not None
    for tool, definition in zip(shown.function_tools, TOOL_DEFINITIONS, strict=True):
        assert tool.name == definition.name
        assert tool.description == definition.description
        assert tool.parameters_json_schema == definition.input_schema
        assert tool.parameters_json_schema is not definition.input_schema


@pytest.mark.parametrize(
    ("answer", "outcome"), [(Success([]), "success"), (Failure(InternalError()), "failed")]
)
async def test_a_refusal_is_a_failed_tool_and_no_retry(answer: ToolAnswer, outcome: str) -> None:
    """The model sees it as JSON, and may ask as often as it likes."""
    returns: list[ToolReturnPart] = []

    async def respond(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        returns.extend(part for part in messages[-1].parts if isinstance(part, ToolReturnPart))
        if len(returns) == 5:
            return ModelResponse(parts=[TextPart("enough")])
        return ModelResponse(parts=[ToolCallPart("schedule_list", {})])

    desk = Desk(answer)
    await Agent(FunctionModel(respond), toolsets=[ScheduleToolset(desk.call)]).run("go")
    assert [part.outcome for part in returns] == 5 * [outcome]
    assert {str(part.content)[:1] for part in returns} == {"[" if outcome == "success" else "{"}


async def test_the_history_is_private_and_grows_by_whole_messages(tmp_path: Path) -> None:
    """Written under another name first, and readable with the framework's own adapter."""
    place = tmp_path / "messages.json"
    agent = PydanticKit().make_agent(follow("one", "two"), Desk(Success([])).call, place)
    async with living(Life(MemoryStore(at("a", NOON_MS - 1), at("b")), agent)) as life:
        await life.rest()
    messages = ModelMessagesTypeAdapter.validate_json(place.read_bytes())
    assert [message.kind for message in messages] == 2 * ["request", "response"]
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert [path async for path in anyio.Path(tmp_path).iterdir()] == [place]


@pytest.mark.parametrize("content", [b"[", b'{"a": 1}', b'[{"kind": "other"}]', None])
async def test_a_history_that_cannot_be_read_is_left_alone(
    tmp_path: Path, content: bytes | None
) -> None:
    """One sentence names the file, the message stays in the inbox, and nothing is written over."""
    place = tmp_path / "messages.json"
    place.mkdir() if content is None else place.write_bytes(content)
    agent = PydanticKit().make_agent(follow(), Desk(Success([])).call, place)
    async with living(Life(MemoryStore(at("a")), agent)) as life:
        await until(lambda: life.host.trouble is not None)
    problem = "is a directory" if content is None else "these are no messages of Pydantic AI"
    assert isinstance(life.host.trouble, ShellError)
    assert str(life.host.trouble) == (
        f"{place}: {problem}; mend the file or name another for the history."
    )
    assert life.host.busy
    assert place.is_dir() if content is None else place.read_bytes() == content


async def test_a_history_that_cannot_be_written_keeps_the_message_in_the_inbox(tmp_path: Path) -> None:
    """The turn has not begun."""
    agent = PydanticKit().make_agent(follow(), Desk(Success([])).call, tmp_path / "none" / "history")
    async with living(Life(MemoryStore(at("a")), agent)) as life:
        await until(lambda: life.host.trouble is not None)
    assert "no such file or directory; mend the file" in str(life.host.trouble)
    assert life.host.busy


async def test_what_a_stop_cuts_off_is_closed_as_interrupted(tmp_path: Path) -> None:
    """A call without a result would have the framework refuse the next message."""

    async def never(tool: ToolName, arguments: object) -> ToolAnswer:
        called.set()
        await anyio.sleep_forever()
        raise AssertionError(tool, arguments)

    called = anyio.Event()
    place = tmp_path / "messages.json"
    agent = PydanticKit().make_agent(follow(("schedule_list", {})), never, place)
    async with living(Life(MemoryStore(at("a")), agent)):
        await called.wait()
    content = await anyio.Path(place).read_bytes()
    *_, closed = ModelMessagesTypeAdapter.validate_json(content)
    (part,) = closed.parts
    assert isinstance(part, ToolReturnPart)
    assert (part.tool_name, part.outcome) == ("schedule_list", "interrupted")


async def test_a_run_that_does_not_begin_leaves_the_history_whole(tmp_path: Path) -> None:
    """Of such a run, here by an option that there is not, the framework captures nothing."""
    place = tmp_path / "messages.json"
    store = MemoryStore(at("a", NOON_MS - 1), at("b"))
    agent = PydanticAgent(Agent(TestModel()), place, no_option=True)
    async with living(Life(store, agent)) as life:
        await life.rest()
    messages = ModelMessagesTypeAdapter.validate_json(await anyio.Path(place).read_bytes())
    assert "prompt of a" in str(messages)
    assert "prompt of b" in str(messages)
    for end in data_of(store.events, "turn/end"):
        assert "no_option" in str(end["reason"])


async def test_capabilities_given_are_used_beside_the_host_s_own(tmp_path: Path) -> None:
    """Such as one that shortens what the model is sent; what it leaves out is gone for good."""

    async def shorten(messages: list[ModelMessage]) -> list[ModelMessage]:
        lengths.append(len(messages))
        return messages[-1:]

    lengths: list[int] = []
    place = tmp_path / "messages.json"
    agent = PydanticAgent(Agent(TestModel()), place, capabilities=[ProcessHistory(shorten)])
    async with living(Life(MemoryStore(at("a", NOON_MS - 1), at("b")), agent)) as life:
        await life.rest()
    assert lengths == [1, 3]
    messages = ModelMessagesTypeAdapter.validate_json(await anyio.Path(place).read_bytes())
    assert [message.kind for message in messages] == ["request", "response"]


async def test_an_answer_that_is_no_text_stays_in_the_history(tmp_path: Path) -> None:
    """The log has the turn, and no words of it."""
    store = MemoryStore(at("a"))
    place = tmp_path / "messages.json"
    agent = PydanticAgent(Agent(TestModel(), output_type=int), place)
    async with living(Life(store, agent)) as life:
        await life.rest()
    assert data_of(store.events, "assistant/message") == []
    assert data_of(store.events, "turn/end") == [{"turn": 1, "reason": {"kind": "completed"}}]
    assert b'"final_result"' in await anyio.Path(place).read_bytes()
