"""One journal line, read (design.md section 5, version 0).

A line is an event, or a packed row that stands for several. Lines are read fast where the fast parser
takes them and by the strict standard parser where it does not (lone surrogates, numbers such as `3.0`).
This module knows one line at a time; what follows from their order is the journal's business.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Raw, Struct

from wakefold import Event
from wakefold.conversations import ASSISTANT_MESSAGE, USER_MESSAGE
from wakefold.instants import MAX_SAFE_INTEGER, read_safe_integer
from wakefold.json_text import format_json, parse_json

PACKED_TYPES: Final = frozenset({"text-chunks", "reasoning-chunks", "tool-call-chunks"})
"""Rows that stand for several events each, numbered from `seq0`."""

_SURFACE_TYPES: Final = frozenset({USER_MESSAGE, ASSISTANT_MESSAGE})
_COUNTED_TYPE: Final = "text-chunks"  # the one kind whose rows tell how many events they hold


class RowFault(Exception):
    """Carries what is wrong with one line, in words, up to where the file and the place are known."""


class Header(Struct, frozen=True):
    """The first line: which session this is.

    `seed_length` events were inherited by a fork; `delegation_depth` is above 0 for a child session.

    :shape: the journal has them as `id`, `createdAt`, `seedLength`, `timeZone` and `delegationDepth`;
        the id is text that is not empty, the zone a canonical name
    :units: `created_at_ms` in epoch milliseconds UTC; `seed_length` in events; `delegation_depth` from
        0
    :errors: none: nothing is checked, `read_header` refuses
    :source: spec section 13; ours, docs/records.md
    """

    id: str
    created_at_ms: int
    seed_length: int = 0
    time_zone: str | None = None
    delegation_depth: int = 0


class PackedRow(Struct, frozen=True):
    """One line that stands for events `seq`, `seq + 1`, ... of one type, whose data is not kept.

    `count` is how many, `None` where the next line's seq tells it.
    """

    type: str
    seq: int
    time_ms: int
    count: int | None


_SafeInteger = Annotated[int, Meta(ge=-MAX_SAFE_INTEGER, le=MAX_SAFE_INTEGER)]


class _Envelope(Struct, frozen=True, gc=False):
    type: str
    seq: _SafeInteger | None = None
    time: _SafeInteger | None = None
    seq0: _SafeInteger | None = None
    time0: _SafeInteger | None = None
    data: Raw = Raw(b"null")


class _Texts(Struct, frozen=True):
    texts: list[Raw]


_ENVELOPES: Final = msgspec.json.Decoder(_Envelope)
_TEXTS: Final = msgspec.json.Decoder(_Texts)
_ANYTHING: Final = msgspec.json.Decoder()


def read_header(content: bytes) -> Header:
    """The header that a first line holds; `RowFault` if it is none."""
    value = _parse_strictly(content)
    if not isinstance(value, dict) or value.get("type") != "session":
        raise RowFault("the first line is no session header")
    version = value.get("version")
    if read_safe_integer(version) != 0:
        raise RowFault(f"journal version {_brief(version)} is unknown, this program reads version 0")
    session_id, created_at = value.get("id"), read_safe_integer(value.get("createdAt"))
    if not isinstance(session_id, str) or session_id == "" or created_at is None:
        raise RowFault("the session header lacks a text id or a createdAt in epoch milliseconds")
    seed_length = value.get("seedLength")
    inherited = 0 if seed_length is None else read_safe_integer(seed_length)
    if inherited is None or inherited < 0:
        raise RowFault("the session header's seedLength is no whole number from 0")
    time_zone = value.get("timeZone")
    if time_zone is not None and not isinstance(time_zone, str):
        raise RowFault("the session header's timeZone is no text")
    depth = read_safe_integer(value.get("delegationDepth", 0))
    if depth is None or depth < 0:
        raise RowFault("the session header's delegationDepth is no whole number from 0")
    return Header(session_id, created_at, inherited, time_zone, depth)


def encode_header(header: Header, working_directory: str) -> bytes:
    """The first line of a new session's journal; nothing is inherited."""
    return encode_line(
        {
            "type": "session",
            "version": 0,
            "id": header.id,
            "createdAt": header.created_at_ms,
            "cwd": working_directory,
            "delegationDepth": header.delegation_depth,
            **({} if header.time_zone is None else {"timeZone": header.time_zone}),
        }
    )


def encode_event(event: Event) -> dict[str, object]:
    """An event as its line says it, keys in the journal's order.

    A message also says that it is appended to what the model sees, as the released package's does.
    """
    row = {"type": event.type, "seq": event.seq, "time": event.time_ms, "data": event.data}
    return {**row, "surfaceOp": "append"} if event.type in _SURFACE_TYPES else row


def encode_line(value: object) -> bytes:
    """One journal line: JSON as ECMAScript writes it, UTF-8, LF."""
    return format_json(value).encode("utf-8") + b"\n"


def read_row(content: bytes, parsed_types: frozenset[str]) -> Event | PackedRow:
    """What a line holds, an event's `data` parsed for the given types; `RowFault` if it is nothing.

    For other types `data` stays raw.
    """
    try:
        envelope = _ENVELOPES.decode(content)
    except (msgspec.DecodeError, RecursionError):
        return _read_strictly(content)
    kind, seq, time_ms, data = envelope.type, envelope.seq, envelope.time, envelope.data
    if seq is None and kind in PACKED_TYPES:
        seq, time_ms = envelope.seq0, envelope.time0
        if seq is not None and time_ms is not None:
            return PackedRow(kind, seq, time_ms, _count_texts(kind, data))
    if seq is None or time_ms is None:
        return _read_strictly(content)
    return Event(kind, seq, time_ms, _parse(data) if kind in parsed_types else data)


def _count_texts(kind: str, data: Raw) -> int | None:
    if kind != _COUNTED_TYPE:
        return None
    try:
        return len(_TEXTS.decode(data).texts)
    except msgspec.DecodeError as error:
        raise RowFault("a text-chunks row needs a list of texts") from error


def _parse(raw: Raw) -> object:
    try:
        value: object = _ANYTHING.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return _parse_strictly(bytes(raw))
    return value


def _read_strictly(content: bytes) -> Event | PackedRow:
    """The same as the fast path, for lines that it refuses."""
    value = _parse_strictly(content)
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        raise RowFault("the line is no event: it has no type")
    fields: dict[str, Any] = value
    kind: str = fields["type"]
    packed = kind in PACKED_TYPES and "seq" not in fields
    seq = read_safe_integer(fields.get("seq0" if packed else "seq"))
    time_ms = read_safe_integer(fields.get("time0" if packed else "time"))
    if seq is None or time_ms is None:
        raise RowFault("the event's seq or time is no safe integer")
    if not packed:
        return Event(kind, seq, time_ms, fields.get("data"))
    if kind != _COUNTED_TYPE:
        return PackedRow(kind, seq, time_ms, None)
    data = fields.get("data")
    texts = data.get("texts") if isinstance(data, dict) else None
    if not isinstance(texts, list):
        raise RowFault("a text-chunks row needs a list of texts")
    return PackedRow(kind, seq, time_ms, len(texts))


def _parse_strictly(content: bytes) -> object:
    try:
        return parse_json(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise RowFault(f"the line is not UTF-8 (at its byte {error.start})") from error
    except ValueError as error:
        if b"\0" in content:
            raise RowFault("the line holds NUL bytes") from error
        raise RowFault("the line is no JSON") from error
    except RecursionError as error:
        raise RowFault("the line nests too deeply to be read") from error


def _brief(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}..."  # noqa: PLR2004 - enough to recognise it
