"""An agent of Pydantic AI: the tools as its toolset, and a run for each message, with one history.

The history lies in a file of the framework's own messages. The message is in it before the turn begins,
and whatever comes of the run is in it afterwards, so that neither a model that is down nor a restart
takes anything from the agent's memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any, Final, cast

from returns.pipeline import is_successful

from wakefold.conversations import Input
from wakefold.tool_schemas import TOOL_DEFINITIONS
from wakefold.tools import ToolName, render_answer
from wakefold_shell.errors import ShellError, explain_os_error, show_path
from wakefold_shell.files import put_file
from wakefold_shell.hosts.frameworks import CallTool, call_tool, clean_text, require_asyncio
from wakefold_shell.hosts.inboxes import Answer

try:
    from pydantic_ai import Agent, RunContext, ToolFailed, capture_run_messages
    from pydantic_ai.capabilities import ReinjectSystemPrompt
    from pydantic_ai.messages import (
        ModelMessage,
        ModelMessagesTypeAdapter,
        ModelRequest,
        UserPromptPart,
        repair_messages,
    )
    from pydantic_ai.tools import ToolDefinition
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
    from pydantic_core import SchemaValidator, core_schema
except ImportError as error:
    raise ImportError(
        "this host needs the extra 'pydantic-ai': pip install 'wakefold[pydantic-ai]'."
    ) from error

_ANY_OBJECT: Final = SchemaValidator(
    core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema())
)


class ScheduleToolset(AbstractToolset[Any]):
    """The tools for `Agent(..., toolsets=[...])`.

    :shape: JSON objects as arguments, JSON text as answer
    :units: those of the tools, docs/tools.md
    :errors: a refusal is `ToolFailed` with the answer's JSON, never a retry; a session that has ended
        answers `internal_error`
    :source: spec section 11; ours, docs/frameworks.md
    """

    def __init__(self, call: CallTool) -> None:
        """The `call` of a session or of a runner."""
        self._call = call

    @property
    def id(self) -> str:
        """Its name among an agent's toolsets."""
        return "wakefold"

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """The tools, with the core's own schemas; the core checks the arguments, too."""
        del ctx
        return {
            tool.name: ToolsetTool(
                toolset=self,
                tool_def=ToolDefinition(
                    name=tool.name,
                    description=tool.description,
                    parameters_json_schema=deepcopy(tool.input_schema),
                    sequential=True,
                ),
                max_retries=1,
                args_validator=_ANY_OBJECT,
            )
            for tool in TOOL_DEFINITIONS
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> str:
        """What the tool answers, as JSON; `ToolFailed` with the same for a refusal."""
        del ctx, tool
        answer = await call_tool(self._call, cast("ToolName", name), tool_args)
        if not is_successful(answer):
            raise ToolFailed(render_answer(answer))
        return render_answer(answer)


class PydanticAgent:
    """Runs an agent for each message, on asyncio. A run that fails is a failed turn.

    What it said is kept in the log if it is text; everything, tool calls too, in the history.

    :shape: the history is a JSON file of Pydantic AI's messages, made if it is not there
    :units: none
    :errors: `ShellError` outside asyncio, or where the file cannot be read or written or holds
        something else, before the turn begins; what the run raises is a failed turn; importing the
        module, `ImportError` without the extra
    :source: ours, docs/frameworks.md
    """

    def __init__(self, agent: Agent[Any, Any], history: Path, **options: Any) -> None:  # noqa: ANN401 - those of `run`
        """The agent, its history's file, and options of every `agent.run`, such as `usage_limits`."""
        added = options.pop("capabilities", ())
        self._options = {**options, "capabilities": [ReinjectSystemPrompt(), *added]}
        self._agent, self._history = agent, history

    async def answer(self, given: Input, begin: Callable[[], None]) -> Answer:
        """Run the agent on its history, the message at the end."""
        require_asyncio("Pydantic AI")
        request = ModelRequest(
            parts=[UserPromptPart(clean_text(given.text))],
            metadata={"messageId": given.message.get("id"), "queuedAtMs": given.queued_at_ms},
        )
        history = self._load()
        if not history or history[-1].metadata != request.metadata:  # else it is offered again
            history.append(request)
        self._save(history)
        begin()
        with capture_run_messages() as messages:
            try:
                done = await self._agent.run(message_history=history, **self._options)
            finally:  # nothing is captured of a run that did not come to its first step
                self._save(repair_messages(messages or history))
        return Answer(done.output if isinstance(done.output, str) else None)

    def _load(self) -> list[ModelMessage]:
        try:
            return ModelMessagesTypeAdapter.validate_json(self._history.read_bytes())
        except FileNotFoundError:
            return []
        except OSError as error:
            raise self._refuse(explain_os_error(error)) from error
        except ValueError as error:
            raise self._refuse("these are no messages of Pydantic AI") from error

    def _save(self, messages: list[ModelMessage]) -> None:
        values = ModelMessagesTypeAdapter.dump_python(messages, mode="json")
        text = clean_text(json.dumps(values, ensure_ascii=False))
        try:
            put_file(self._history, text.encode(), durable=True)
        except OSError as error:
            raise self._refuse(explain_os_error(error)) from error

    def _refuse(self, problem: str) -> ShellError:
        return ShellError(
            f"{show_path(self._history)}: {problem}; mend the file or name another for the history."
        )
