"""What a client can read by a URI: a session's reminders, receipts and inbox, as JSON.

`wakefold://sessions/NAME/reminders`, `.../receipts` and `.../inbox` are pages; the same with an id
behind it is one thing, whole. This module decides which URIs there are and what they hold. It refuses
to know who subscribes to them.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final
from urllib.parse import quote, unquote

import anyio
from msgspec import Struct

from wakefold.events import Json
from wakefold_shell.dispatches import encode_receipts, read_receipts
from wakefold_shell.errors import ShellError
from wakefold_shell.mcp.answers import RefusedError, list_reminders, read_inbox, read_zone
from wakefold_shell.mcp.sessions import Attachment, Sessions
from wakefold_shell.mcp.shapes import PAGE_LENGTH, show_message, show_receipt, show_reminder
from wakefold_shell.mcp.texts import clean, cut_page

KINDS: Final = ("reminders", "receipts", "inbox")
"""What there is to read of a session."""

BASE_URI: Final = "wakefold://sessions/"
"""How every URI begins."""

_URI: Final = re.compile(
    rf"{BASE_URI}(?P<name>[^/?#]+)/(?P<kind>{'|'.join(KINDS)})"
    r"(?:/(?P<item>[^/?#]+)|\?cursor=(?P<cursor>[0-9a-f]+))?"
)


class UnknownResourceError(ShellError):
    """A URI that names nothing that can be read, or whose cursor has had its day."""

    code = "resource_not_found"


class Address(Struct, frozen=True):
    """What a URI names: a page of a kind, or the one thing of that id."""

    name: str
    kind: str
    item: str | None = None
    cursor: str | None = None


class _Things(Struct, frozen=True):
    """All things of a kind under their ids, and how one is shown: in a page, or `whole`."""

    values: list[Json]
    names: list[str]
    show: Callable[..., Json]


def name_uri(name: str, kind: str, item: str | None = None) -> str:
    """The URI of a kind of things in a session, or of one of them."""
    rest = "" if item is None else f"/{quote(item, safe='', errors='replace')}"
    return f"{BASE_URI}{name}/{kind}{rest}"


def list_templates() -> list[str]:
    """Every form that a URI may have (RFC 6570)."""
    forms = ("{?cursor}", "/{id}")
    return [f"{BASE_URI}{{session}}/{kind}{form}" for kind in KINDS for form in forms]


def read_uri(uri: str) -> Address:
    """What a URI names; `UnknownResourceError`."""
    found = _URI.fullmatch(uri)
    if found is None:
        raise UnknownResourceError("no resource has such a URI: list the resources or their templates.")
    item = found["item"]
    return Address(found["name"], found["kind"], item and unquote(item), found["cursor"])


def find_session(sessions: Sessions, address: Address) -> Attachment:
    """The session that an address means, taken up; `ShellError`."""
    attachment = sessions.find(address.name)
    if attachment.name != address.name:  # a place of one session is asked for another
        raise UnknownResourceError("no session has that name: list the resources.")
    return attachment


async def list_uris(sessions: Sessions) -> list[str]:
    """The pages of every session, and each reminder of those that are taken up.

    Raises `ShellError` and `RefusedError`; below a root one session's fault hides no other.
    """
    uris = [name_uri(name, kind) for name in sessions.list_names() for kind in KINDS]
    for attachment in list(sessions.attached.values()):
        try:
            views, _ = await list_reminders(attachment)
        except (ShellError, RefusedError):
            if not sessions.place.is_root:
                raise
            continue
        uris += [name_uri(attachment.name, "reminders", str(view["id"])) for view in views]
    return uris


async def read_resource(sessions: Sessions, uri: str) -> Json:
    """What a URI holds; `ShellError`, `RefusedError`."""
    address = read_uri(uri)
    attachment = find_session(sessions, address)
    things = await _READERS[address.kind](sessions, attachment)
    own = name_uri(address.name, address.kind)
    if address.item is not None:
        if address.item not in things.names:
            raise UnknownResourceError(f"nothing has that id: read {own} for what there is.")
        return clean(things.show(things.values[things.names.index(address.item)], whole=True))
    page = cut_page(things.values, things.names, address.cursor, PAGE_LENGTH)
    if page is None:
        raise UnknownResourceError("what the cursor stood for is gone: read again without it.")
    values, following = page
    more = {} if following is None else {"next": f"{own}?cursor={following}"}
    shown = [things.show(value) for value in values]
    return clean({address.kind: shown, "total": len(things.values), **more})


async def _read_reminders(_: Sessions, attachment: Attachment) -> _Things:
    views, zone = await list_reminders(attachment)
    return _gather(views, "id", partial(show_reminder, zone=zone))


async def _read_inbox(_: Sessions, attachment: Attachment) -> _Things:
    messages, reply = await read_inbox(attachment)
    return _gather(messages, "id", partial(show_message, zone=read_zone(reply)))


async def _read_receipts(sessions: Sessions, attachment: Attachment) -> _Things:
    """The receipts that are durable, the newest first."""
    _, reply = await read_inbox(attachment)
    place = sessions.place
    read = partial(read_receipts, attachment.directory, place.profile, place.line_bytes_max)
    receipts: list[Any] = encode_receipts(await anyio.to_thread.run_sync(read))
    durable = [receipt for receipt in reversed(receipts) if receipt["seq"] < reply["events"]]
    return _gather(durable, "seq", partial(show_receipt, zone=read_zone(reply)))


def _gather(values: list[Json], key: str, show: Callable[..., Json]) -> _Things:
    return _Things(values, [str(value[key]) for value in values], show)


_READERS: Final[Mapping[str, Callable[[Sessions, Attachment], Awaitable[_Things]]]] = {
    "reminders": _read_reminders,
    "receipts": _read_receipts,
    "inbox": _read_inbox,
}
