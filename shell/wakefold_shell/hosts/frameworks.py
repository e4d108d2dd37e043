"""What agent frameworks have in common: how tools are called for them, what text and loop they take.

A framework ends its whole run at a tool that raises, and its client at a text that is no Unicode:
neither may come from here. What a tool does and how a refusal reads is the core's business.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from returns.result import Failure

from wakefold.rejections import InternalError
from wakefold.tools import ToolAnswer, ToolName
from wakefold_shell.errors import ShellError

CallTool: TypeAlias = Callable[[ToolName, object], Awaitable[ToolAnswer]]
"""A session's `call`, or a runner's."""


async def call_tool(call: CallTool, name: ToolName, arguments: object) -> ToolAnswer:
    """The answer of a tool; `internal_error` where the session does not give one."""
    try:
        return await call(name, arguments)
    except Exception:  # noqa: BLE001 - the session has ended, or is under the caller's own feet
        return Failure(InternalError())


def clean_text(text: str) -> str:
    """Text that every client can send: halves of a character become U+FFFD, or one where they meet."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def require_asyncio(framework: str) -> None:
    """`ShellError` on any other event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise ShellError(
            f"{framework} runs on asyncio only: run the session with anyio.run(..., backend='asyncio')."
        ) from None
