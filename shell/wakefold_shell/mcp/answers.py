"""What a tool call is answered with: a value and the inbox, or a refusal that a model can read.

Whatever goes wrong becomes a refusal `{code, message}`; nothing escapes. This module refuses to know
the protocol's own types.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final, TypeVar

import msgspec
from msgspec import UNSET, Struct
from returns.pipeline import is_successful

from wakefold import error_value
from wakefold.events import Json
from wakefold.instants import is_trimmed
from wakefold.rejections import InternalError, InvalidRule, InvalidTimeZone, shorten
from wakefold.tools import open_call, refuse_version_2
from wakefold.zones import canonicalize_zone
from wakefold_shell.errors import ShellError
from wakefold_shell.mcp.schemas import AcknowledgeArguments, ListArguments, ReadArguments
from wakefold_shell.mcp.sessions import Attachment, Sessions
from wakefold_shell.mcp.shapes import (
    PAGE_LENGTH,
    TEXT_CHARACTERS_MAX,
    show_inbox,
    show_message,
    show_reminder,
)
from wakefold_shell.mcp.texts import clean, cut_page

_NOT_FOR_MODELS: Final = ("content", "isError", "error")  # of the guard's refusals: for registries

_log = logging.getLogger(__name__)
_Arguments = TypeVar("_Arguments", bound=Struct)


class Answered(Struct, frozen=True):
    """The value of a call, or of its refusal; the inbox, where it is shown and could be looked into."""

    value: Json
    refused: bool = False
    inbox: Json | None = None

    @property
    def structured(self) -> Json:
        """Both in one, as the schemas have it."""
        return self.value if self.inbox is None else {**self.value, "inbox": self.inbox}


class RefusedError(Exception):
    """Carries a refusal out of a call's middle; a model reads its `value`."""

    def __init__(self, value: Json) -> None:
        """The refusal, `{code, message, ...}`."""
        super().__init__(value.get("code"))
        self.value = value


async def answer_call(sessions: Sessions, tool: str, arguments: Mapping[str, Any]) -> Answered:
    """Do what a tool does, in the session that is meant, and look into its inbox."""
    try:
        return await _answer(sessions, tool, dict(arguments))
    except RefusedError as refusal:
        value = refusal.value
    except ShellError as error:
        value = {"code": error.code, "message": str(error)}
    except Exception:  # noqa: BLE001 - whatever it is, the client reads a refusal
        _log.exception("a call of %s failed", tool)
        value = error_value(InternalError())
    return Answered(clean(value), refused=True)


async def _answer(sessions: Sessions, tool: str, fields: dict[str, Any]) -> Answered:
    perform = _PERFORMANCES.get(tool)
    if perform is None:
        message = f"There is no such tool: call one of {', '.join(_PERFORMANCES)}."
        raise RefusedError({"code": "unknown_tool", "message": message})
    name = _take_session(sessions, fields)
    beyond = refuse_version_2(tool, fields) if sessions.place.protocol == 1 else None
    if beyond is not None:  # whatever the owner of the session would write
        raise RefusedError(error_value(beyond))
    make = perform is _create and is_successful(open_call("schedule_create", fields))
    attachment = sessions.find(name, make=make)
    try:
        value, refused = await perform(attachment, fields), False
    except RefusedError as refusal:
        value, refused = refusal.value, True
    if perform is _read and not refused:  # the inbox is what it answers with
        return Answered(clean(value))
    messages, reply = await read_inbox(attachment)
    return Answered(clean(value), refused, clean(show_inbox(messages, read_zone(reply))))


async def read_inbox(attachment: Attachment) -> tuple[list[Json], Json]:
    """The messages that wait, durable, and the whole reply; `ShellError`, `RefusedError`."""
    reply = await attachment.ask({"show": "inbox"}, looks_only=True)
    messages: Any = _require_value(reply)
    return messages, reply


async def list_reminders(attachment: Attachment) -> tuple[list[Json], str | None]:
    """The views of all active reminders, and the session's zone; raises as above."""
    request: Json = {"tool": "schedule_list", "arguments": {}}
    reply = await attachment.ask(request, looks_only=True)
    views: Any = _require_value(reply)
    return views, read_zone(reply)


async def _create(attachment: Attachment, fields: Json) -> Json:
    reply = await attachment.ask({"tool": "schedule_create", "arguments": fields})
    view: Any = _require_value(reply)
    return {"reminder": show_reminder(view, read_zone(reply), named=_find_named_zone(fields))}


async def _list(attachment: Attachment, fields: Json) -> Json:
    wanted = _read_arguments(ListArguments, fields)
    named = None if wanted.time_zone is UNSET else _require_zone(wanted.time_zone)
    views, own_zone = await list_reminders(attachment)
    show = partial(show_reminder, zone=own_zone, named=named)
    if wanted.id is not UNSET:
        found = [show(view, whole=True) for view in views if view["id"] == wanted.id]
        code = {} if found else {"code": "schedule_not_found"}
        return {"reminders": found, "total": len(views), **code}
    cursor = None if wanted.cursor is UNSET else wanted.cursor
    page = cut_page(views, [str(view["id"]) for view in views], cursor, PAGE_LENGTH)
    if page is None:
        message = "The list has changed since, or the cursor is none: list again without a cursor."
        raise RefusedError({"code": "invalid_cursor", "message": message})
    shown, following = page
    more = {} if following is None else {"nextCursor": following}
    return {"reminders": [show(view) for view in shown], "total": len(views), **more}


async def _update(attachment: Attachment, fields: Json) -> Json:
    reply = await attachment.ask({"tool": "schedule_update", "arguments": fields})
    value: Any = _require_value(reply)
    if "updated" in value:
        return dict(value)
    shown = show_reminder(value, read_zone(reply), named=_find_named_zone(fields))
    return {"id": value["id"], "updated": True, "reminder": shown}


async def _delete(attachment: Attachment, fields: Json) -> Json:
    reply = await attachment.ask({"tool": "schedule_delete", "arguments": fields})
    value: Any = _require_value(reply)
    return dict(value)


async def _read(attachment: Attachment, fields: Json) -> Json:
    wanted = _read_arguments(ReadArguments, fields)
    messages, reply = await read_inbox(attachment)
    asked = [message for message in messages if wanted.id in {UNSET, message["id"]}]
    if not asked:
        return {"total": len(messages), "code": "message_not_found"}
    message = show_message(asked[0], read_zone(reply), offset=wanted.offset)
    end = wanted.offset + TEXT_CHARACTERS_MAX
    more = {"nextOffset": end} if end < len(str(asked[0]["text"])) else {}
    return {"total": len(messages), "message": message, "offset": wanted.offset, **more}


async def _acknowledge(attachment: Attachment, fields: Json) -> Json:
    wanted = _read_arguments(AcknowledgeArguments, fields)
    value: Any = _require_value(await attachment.ask({"acknowledge": wanted.id}))
    return dict(value)


_PERFORMANCES: Final[Mapping[str, Callable[[Attachment, Json], Awaitable[Json]]]] = {
    "schedule_create": _create,
    "schedule_list": _list,
    "schedule_update": _update,
    "schedule_delete": _delete,
    "inbox_read": _read,
    "inbox_acknowledge": _acknowledge,
}


def _take_session(sessions: Sessions, fields: dict[str, Any]) -> str | None:
    """The name of the session that is meant, taken out of the arguments where it is one of them."""
    if not sessions.place.is_root or "session" not in fields:
        return None
    name = fields.pop("session")
    if not isinstance(name, str):
        raise RefusedError(error_value(InvalidRule(fault="not_trimmed_id", value=shorten(name))))
    return name


def _read_arguments(kind: type[_Arguments], fields: Json) -> _Arguments:
    whole = {
        name: int(value) if isinstance(value, float) and value.is_integer() else value
        for name, value in fields.items()
    }
    try:
        read = msgspec.convert(whole, kind)
    except msgspec.ValidationError as error:
        keys = " and ".join(kind.__struct_fields__)
        message = f"The only keys are {keys} (given: {shorten(fields)})."
        raise RefusedError({"code": "invalid_selector", "message": message}) from error
    own = getattr(read, "id", UNSET)
    if own is not UNSET and not is_trimmed(own):
        raise RefusedError(error_value(InvalidRule(fault="not_trimmed_id", value=shorten(own))))
    return read


def _find_named_zone(fields: Json) -> str | None:
    """The zone that an absolute time was given in."""
    at = fields.get("at")
    named = at.get("time_zone") if isinstance(at, dict) else None
    return None if named is None else canonicalize_zone(named)


def _require_zone(name: str) -> str:
    zone = canonicalize_zone(name)
    if zone is None:
        raise RefusedError(error_value(InvalidTimeZone(value=shorten(name))))
    return zone


def _require_value(reply: Json) -> object:
    """The value of a reply; a refusal in its place is raised."""
    value = reply["value"]
    if isinstance(value, dict) and "message" in value:
        raise RefusedError({key: told for key, told in value.items() if key not in _NOT_FOR_MODELS})
    return value


def read_zone(reply: Json) -> str | None:
    """The session's own zone, as an owner tells it."""
    zone = reply.get("timeZone")
    return zone if isinstance(zone, str) else None
