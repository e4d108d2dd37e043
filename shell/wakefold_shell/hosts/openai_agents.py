"""An agent of the OpenAI Agents SDK: the tools as its function tools, and a run for each message.

The history is a session of the SDK's own. The message is in it before the turn begins; the SDK keeps
there what comes of the run, whether or not it ends well. Tracing is the user's: what `run_config` says,
and otherwise what the SDK does by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import Any

from wakefold.conversations import Input
from wakefold.json_text import parse_json
from wakefold.tool_schemas import TOOL_DEFINITIONS
from wakefold.tools import ToolName, render_answer
from wakefold_shell.hosts.frameworks import CallTool, call_tool, clean_text, require_asyncio
from wakefold_shell.hosts.inboxes import Answer

try:
    from agents import Agent, FunctionTool, Runner, TResponseInputItem
    from agents.memory import Session
    from agents.tool_context import ToolContext
except ImportError as error:
    raise ImportError(
        "this host needs the extra 'openai-agents': pip install 'wakefold[openai-agents]'."
    ) from error


def make_tools(call: CallTool) -> list[FunctionTool]:
    """The tools for `Agent(tools=[...])`, on the `call` of a session or of a runner.

    The schemas are the core's own: strict mode would demand every property, and exactly one selector
    is wanted.

    :shape: a list of `FunctionTool`; each takes a JSON object as text and answers in JSON, refusals too
    :units: those of the tools, docs/tools.md
    :errors: none: a refusal is an answer, a session that has ended answers `internal_error`
    :source: spec section 11; ours, docs/frameworks.md
    """
    return [
        FunctionTool(
            name=tool.name,
            description=tool.description,
            params_json_schema=deepcopy(tool.input_schema),
            on_invoke_tool=partial(_invoke, call, tool.name),
            strict_json_schema=False,
        )
        for tool in TOOL_DEFINITIONS
    ]


async def _invoke(call: CallTool, name: ToolName, ctx: ToolContext[Any], arguments: str) -> str:
    del ctx
    try:
        value = parse_json(arguments or "{}")
    except (ValueError, RecursionError):
        value = arguments  # the core refuses text as it refuses every other value that is no object
    return render_answer(await call_tool(call, name, value))


class OpenAIAgent:
    """Runs an agent for each message, on asyncio. A run that fails is a failed turn.

    What it said is kept in the log if it is text; everything, tool calls too, in the history.

    :shape: the history is a session of the SDK; the message is its last item, `{role, content}`, when
        the turn begins
    :units: none
    :errors: `ShellError` outside asyncio, and what the history raises, before the turn begins; what the
        run raises is a failed turn; importing the module, `ImportError` without the extra
    :source: ours, docs/frameworks.md
    """

    def __init__(self, agent: Agent[Any], history: Session, **options: Any) -> None:  # noqa: ANN401 - those of `run`
        """The agent, its history, and options of every `Runner.run`: `run_config`, `max_turns`."""
        self._agent, self._history, self._options = agent, history, options

    async def answer(self, given: Input, begin: Callable[[], None]) -> Answer:
        """Run the agent on its history with the message at the end."""
        require_asyncio("the OpenAI Agents SDK")
        item: TResponseInputItem = {"role": "user", "content": clean_text(given.text)}
        if await self._history.get_items(limit=1) != [item]:  # else it waits there already
            await self._history.add_items([item])
        begin()
        done = await Runner.run(self._agent, [], session=self._history, **self._options)
        return Answer(done.final_output if isinstance(done.final_output, str) else None)
