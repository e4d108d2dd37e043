"""What a live session answers to requests: of its socket, or of the process that it lives in.

A request is a tool's call, a person's word, a look into the inbox, or an acknowledgement of what waits
there. This module refuses to know how a request arrives, and what is done with an answer.
"""

from __future__ import annotations

from typing import Any, get_args

import anyio
from anyio.abc import TaskGroup

from wakefold.events import Json
from wakefold.tools import ToolName, answer_value
from wakefold.zones import canonicalize_zone
from wakefold_shell.errors import ShellError, UnavailableError
from wakefold_shell.hosts.clients import ClientAgent, encode_input, identify, was_taken
from wakefold_shell.hosts.inboxes import Agent, InboxHost
from wakefold_shell.owner import Session
from wakefold_shell.stores.journals import explain_corruption
from wakefold_shell.stores.logs import LogStore


class Door:
    """The way into one session, as long as its tasks run."""

    def __init__(
        self, store: LogStore, session: Session, host: InboxHost, agent: Agent, tasks: TaskGroup
    ) -> None:
        """The parts of the session, and the tasks that it lives in."""
        self._store, self._session, self._host, self._agent = store, session, host, agent
        self._tasks = tasks

    async def ask(self, request: Json) -> Json | None:
        """The answer; `None` if the session ended before there was one. Whoever leaves ends nothing."""
        replies: list[Json] = []
        done = anyio.Event()

        async def attend() -> None:
            try:
                replies.append(await self.answer(request))
            finally:
                done.set()

        self._tasks.start_soon(attend)
        await done.wait()
        return replies[0] if replies else None

    async def answer(self, request: Json) -> Json:
        """A tool's value, the id of a word, the inbox, what is acknowledged, or a sentence.

        A refusal is `undone` where nothing of what was asked for has happened, nor will.
        """
        try:
            if request.get("tool") in get_args(ToolName):
                return await self._call(request)
            if isinstance(request.get("say"), str):
                return await self._say(request)
            if request.get("show") == "inbox":
                return await self._show_inbox()
            if isinstance(name := request.get("acknowledge"), str):
                return await self._acknowledge(name)
        except ShellError as error:
            undone = isinstance(error, UnavailableError)
            return {"error": str(error), "code": error.code, "undone": undone}
        return {"error": "this runner does not know the request: use one of its own version."}

    async def _call(self, request: dict[str, Any]) -> Json:
        answer = await self._session.call(request["tool"], request.get("arguments"))
        self._require_log()
        return {"value": answer_value(answer), "timeZone": self._store.time_zone}

    async def _say(self, request: dict[str, Any]) -> Json:
        zone = request.get("clientTimeZone")
        if zone is not None and (not isinstance(zone, str) or canonicalize_zone(zone) != zone):
            raise ShellError("the zone of a word must be a canonical name such as Europe/Berlin.")
        message_id = await self._host.say(self._session, request["say"], zone)
        return {"value": {"id": message_id, "queued": True}}

    async def _show_inbox(self) -> Json:
        """What waits for a turn and is durable, and how much of the log is."""
        waiting = self._host.inbox
        await self._confirm()
        shown = [encode_input(given) for given in self._host.inbox if given in waiting]
        return {
            "value": shown,
            "events": self._session.durable_length,
            "timeZone": self._store.time_zone,
        }

    async def _acknowledge(self, name: str) -> Json:
        """Have the inbox's first message taken, once; any other is told, and nothing is written."""
        waiting = [identify(given) for given in self._host.inbox]
        if name in waiting[1:]:
            return {"value": {"code": "not_first", "message": f"Acknowledge {waiting[0]} first."}}
        if waiting and name == waiting[0]:
            if not isinstance(self._agent, ClientAgent):
                message = "The session has an agent of its own, which takes its messages."
                return {"value": {"code": "taken_elsewhere", "message": message}}
            await self._agent.acknowledge(name)
        taken = name in waiting or was_taken(self._store.read_events(0), name)
        await self._confirm()
        told = {} if taken else {"code": "message_not_found"}
        return {"value": {"id": name, "acknowledged": taken, **told}}

    async def _confirm(self) -> None:
        confirmed = await self._session.confirm()
        self._require_log()
        if not confirmed:
            raise ShellError(
                "the store does not confirm what it holds: check the disk, then ask again."
            )

    def _require_log(self) -> None:
        """`ShellError` where the log is corrupt or cannot be read, as precisely as anybody knows."""
        session = self._session
        if session.fault is not None:
            raise explain_corruption(self._store.journal, session.fault)
        if session.owner.ledger is None and isinstance(session.trouble, ShellError):
            raise session.trouble
