"""Who is told that a resource has changed, and when.

The log is looked at, whoever writes to it: this process, its owner in another, or a command. Clients of
both eras are told, by a stream that they listen to or by a session that they subscribed in. A notice
says that reading again is worth it, and no more: nothing wakes a client.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated
from mcp_types import (
    EmptyResult,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    UnsubscribeRequestParams,
)
from msgspec import Struct, field

from wakefold.events import Json
from wakefold_shell.errors import ShellError
from wakefold_shell.mcp.answers import RefusedError, list_reminders
from wakefold_shell.mcp.resources import KINDS, find_session, name_uri, read_uri
from wakefold_shell.mcp.sessions import Attachment, Sessions

LOOK_SECONDS: Final = 0.2
"""How often the logs are looked at."""

SUBSCRIBERS_MAX: Final = 64
"""How many clients of each era are told; of the older era those who subscribed last."""

URIS_MAX: Final = 1000
"""To how many resources one client may subscribe."""

_SEND_SECONDS_MAX: Final = 1.0  # a client that reads nothing is not waited for

_log = logging.getLogger(__name__)
_Context = ServerRequestContext[Any]
_Stamp = tuple[tuple[int, int], ...]


class _Subscriber(Struct):
    """A client of the older era: a session to tell it by, and of what; `greeting` is kept alive."""

    session: ServerSession
    greeting: object
    uris: set[str] = field(default_factory=set)


class Notices:
    """The subscribers of one server. `watch` the logs in a task."""

    def __init__(self, sessions: Sessions) -> None:
        """The sessions whose logs are looked at."""
        self._sessions = sessions
        self._bus = InMemorySubscriptionBus()
        self._listen = ListenHandler(self._bus, max_subscriptions=SUBSCRIBERS_MAX)
        self._subscribers: OrderedDict[int, _Subscriber] = OrderedDict()
        self._stamps: dict[Path, _Stamp] = {}
        self._known: dict[Path, dict[str, Json]] = {}

    async def subscribe(self, context: _Context, params: SubscribeRequestParams) -> EmptyResult:
        """A client of the older era wants to hear of a resource."""
        self._take_up(params.uri)
        key = _identify(context.session)
        fresh = _Subscriber(context.session, context.session.client_params)
        subscriber = self._subscribers.setdefault(key, fresh)
        if len(subscriber.uris) < URIS_MAX:
            subscriber.uris.add(params.uri)
        self._subscribers.move_to_end(key)
        if len(self._subscribers) > SUBSCRIBERS_MAX:
            self._subscribers.popitem(last=False)
        return EmptyResult()

    async def unsubscribe(self, context: _Context, params: UnsubscribeRequestParams) -> EmptyResult:
        """It has heard enough of it."""
        subscriber = self._subscribers.get(_identify(context.session))
        if subscriber is not None:
            subscriber.uris.discard(params.uri)
        return EmptyResult()

    async def listen(
        self, context: _Context, params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """A client of the newer era listens, as long as its request lasts."""
        uris = params.notifications.resource_subscriptions
        if uris is not None:
            del uris[URIS_MAX:]
            for uri in uris:
                self._take_up(uri)
        return await self._listen(context, params)

    async def watch(self) -> None:
        """Look at the logs for ever, and tell of what has changed."""
        while True:
            for attachment in list(self._sessions.attached.values()):
                stamp = attachment.stamp()
                if stamp != self._stamps.get(attachment.directory):
                    self._stamps[attachment.directory] = stamp  # whatever comes of it
                    await self._look(attachment)
            await anyio.sleep(LOOK_SECONDS)

    def _take_up(self, uri: str) -> None:
        """Look at the session of a resource from now on, if there is such a one."""
        with suppress(ShellError):
            find_session(self._sessions, read_uri(uri))

    async def _look(self, attachment: Attachment) -> None:
        try:
            await self._tell_change(attachment)
        except (ShellError, RefusedError):
            pass  # whoever reads is told
        except Exception:  # noqa: BLE001 - the other sessions are looked at all the same
            _log.exception("nobody could be told of a change")

    async def _tell_change(self, attachment: Attachment) -> None:
        views, _ = await list_reminders(attachment)
        now = {str(view["id"]): {**view, "state": None} for view in views}
        before = self._known.get(attachment.directory)
        self._known[attachment.directory] = now
        if before is None:
            return
        changed = [id_ for id_ in {**before, **now} if before.get(id_) != now.get(id_)]
        for kind in KINDS:
            await self._tell(name_uri(attachment.name, kind))
        for schedule_id in changed:
            await self._tell(name_uri(attachment.name, "reminders", schedule_id))
        if before.keys() != now.keys():
            await self._bus.publish(ResourcesListChanged())

    async def _tell(self, uri: str) -> None:
        await self._bus.publish(ResourceUpdated(uri=uri))
        for key, subscriber in list(self._subscribers.items()):
            if uri in subscriber.uris and not await _send(subscriber.session, uri):
                self._subscribers.pop(key, None)


async def _send(session: ServerSession, uri: str) -> bool:
    """Tell one client; whether it could be told, for it may have gone, or read nothing."""
    with suppress(Exception), anyio.move_on_after(_SEND_SECONDS_MAX):
        await session.send_resource_updated(uri)
        return True
    return False


def _identify(session: ServerSession) -> int:
    """What tells one connection from another: a session is made anew for each request."""
    return id(session.client_params)
