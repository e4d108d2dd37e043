"""The agents of both frameworks under one roof: a brain for their stub models, and what it sees.

A brain is asked whenever a model would be, and sees the conversation as (kind, text) pairs: `system`,
`user`, `said`, `call` and `result`. What it thinks is text to say or a tool to use; it may raise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import agents
import anyio
import pydantic_ai
from agents.testing import ModelCall, ModelStep, ScriptedModel, assistant_message, function_call
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelResponse,
    RetryPromptPart,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from wakefold.json_text import format_json
from wakefold_shell.hosts.frameworks import CallTool
from wakefold_shell.hosts.inboxes import Agent
from wakefold_shell.hosts.openai_agents import OpenAIAgent, make_tools
from wakefold_shell.hosts.pydantic_agents import PydanticAgent, ScheduleToolset

pydantic_ai.models.ALLOW_MODEL_REQUESTS = False

Seen = list[tuple[str, str]]
Options = Mapping[str, Any]
NONE: Options = {}
Thought = str | tuple[str, object]
INSTRUCTIONS = "Be brief."


class Brain:
    """Thinks by a rule; while `hold` is unset, it does not come to an end."""

    def __init__(self, think: Callable[[Seen], Thought]) -> None:
        self.seen: list[Seen] = []
        self.hold = anyio.Event()
        self.hold.set()
        self._think = think

    async def answer(self, seen: Seen) -> Thought:
        self.seen.append(seen)
        await self.hold.wait()
        return self._think(seen)


def follow(*script: Thought | Exception) -> Brain:
    """A brain that thinks one thing after the other."""
    steps: Iterator[Thought | Exception] = iter(script)

    def think(_: Seen) -> Thought:
        step = next(steps)
        if isinstance(step, Exception):
            raise step
        return step

    return Brain(think)


def _spell(arguments: object) -> str:
    """The arguments of a call as a model writes them; text is written as it is, sound JSON or not."""
    return arguments if isinstance(arguments, str) else format_json(arguments)


class Kit(Protocol):
    """What a test needs of a framework."""

    name: str

    def make_agent(self, brain: Brain, call: CallTool, history: Path, options: Options = NONE) -> Agent:
        """The agent of a framework, whose model is a brain."""
        ...

    async def read_history(self, history: Path) -> Seen:
        """What is kept."""
        ...

    def limit(self, requests: int) -> Options:
        """The option that bounds a run to a number of requests."""
        ...


class PydanticKit:
    """Pydantic AI on its function model."""

    name = "Pydantic AI"

    def make_agent(self, brain: Brain, call: CallTool, history: Path, options: Options = NONE) -> Agent:
        async def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            assert {tool.name for tool in info.function_tools} >= {"schedule_create"}
            thought = await brain.answer(_read_messages(messages))
            if isinstance(thought, str):
                return ModelResponse(parts=[TextPart(thought)])
            name, arguments = thought
            return ModelResponse(parts=[ToolCallPart(name, _spell(arguments))])

        agent = pydantic_ai.Agent(
            FunctionModel(respond), system_prompt=INSTRUCTIONS, toolsets=[ScheduleToolset(call)]
        )
        return PydanticAgent(agent, history, **options)

    async def read_history(self, history: Path) -> Seen:
        content = await anyio.Path(history).read_bytes()
        return _read_messages(ModelMessagesTypeAdapter.validate_json(content))

    def limit(self, requests: int) -> Options:
        return {"usage_limits": pydantic_ai.UsageLimits(request_limit=requests)}


def _read_messages(messages: list[ModelMessage]) -> Seen:
    seen: Seen = []
    for part in (part for message in messages for part in message.parts):
        match part:
            case SystemPromptPart(content=text):
                seen.append(("system", text))
            case UserPromptPart(content=str(text)):
                seen.append(("user", text))
            case TextPart(content=text):
                seen.append(("said", text))
            case ToolCallPart(tool_name=name):
                seen.append(("call", name))
            case ToolReturnPart(content=text) | RetryPromptPart(content=text):
                seen.append(("result", str(text)))
            case _:
                raise AssertionError(part)
    return seen


class OpenAIKit:
    """The OpenAI Agents SDK on its scripted model."""

    name = "the OpenAI Agents SDK"

    def make_agent(self, brain: Brain, call: CallTool, history: Path, options: Options = NONE) -> Agent:
        async def respond(asked: ModelCall) -> ModelStep:
            model.enqueue(step)
            thought = await brain.answer(
                [("system", str(asked.system_instructions)), *_read_items(asked.input)]
            )
            if isinstance(thought, str):
                return ModelStep([assistant_message(thought)])
            name, arguments = thought
            call_id = f"call-{len(brain.seen)}"
            return ModelStep([function_call(name, _spell(arguments), call_id=call_id)])

        step = ModelStep.respond(respond)
        model = ScriptedModel([step])
        agent = agents.Agent(
            "stub", instructions=INSTRUCTIONS, model=model, tools=list(make_tools(call))
        )
        options = {"run_config": agents.RunConfig(tracing_disabled=True), **options}
        return OpenAIAgent(agent, agents.SQLiteSession("session", history), **options)

    async def read_history(self, history: Path) -> Seen:
        session = agents.SQLiteSession("session", history)
        items = await session.get_items()
        session.close()
        return _read_items(items)

    def limit(self, requests: int) -> Options:
        return {"max_turns": requests}


def _read_items(items: Iterable[Any]) -> Seen:
    seen: Seen = []
    for item in items:
        match item:
            case {"role": "user", "content": text}:
                seen.append(("user", text))
            case {"role": "assistant", "content": [{"text": text}]}:
                seen.append(("said", text))
            case {"type": "function_call", "name": name}:
                seen.append(("call", name))
            case {"type": "function_call_output", "output": text}:
                seen.append(("result", text))
            case _:
                raise AssertionError(item)
    return seen


KITS: tuple[Kit, ...] = (PydanticKit(), OpenAIKit())
