"""Messages on a pipe: JSON Lines, requests and their replies, protocol 1.

A request has an `id` and an `op`, its reply the same `id` and either `ok` or an `error`. Both ends may
ask. This module decides what is a message and how a refusal is spelt; it refuses to know what any
request means, and it reads no stream.
"""

from __future__ import annotations

from typing import Final

from wakefold.events import Json
from wakefold.instants import read_safe_integer
from wakefold.json_text import parse_json
from wakefold.rejections import shorten

PROTOCOL: Final = 1
"""The version of everything that is said on a pipe; what is added later keeps it."""

LINE_BYTES_MAX: Final = 64 * 1024 * 1024
"""How long a line may be, its end included."""


class MessageFault(Exception):
    """Why a message is refused: a closed code, one sentence, and what else a program may want."""

    def __init__(self, code: str, sentence: str, **details: object) -> None:
        """Of the details, those that are `None` are left out."""
        super().__init__(sentence)
        self.code, self.sentence = code, sentence
        self.details = {name: value for name, value in details.items() if value is not None}


def parse_message(line: bytes) -> Json:
    """The object that a line holds; `MessageFault` if it is none."""
    if len(line) > LINE_BYTES_MAX:
        raise MessageFault("bad_line", f"The line is longer than {LINE_BYTES_MAX} bytes: split it.")
    try:
        value = parse_json(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise MessageFault("bad_line", f"The line is not UTF-8 (at its byte {error.start}).") from error
    except ValueError as error:
        raise MessageFault("bad_line", f"The line is no JSON ({error}).") from error
    except RecursionError as error:
        raise MessageFault("bad_line", "The line nests too deeply to be read.") from error
    if not isinstance(value, dict):
        raise MessageFault("bad_line", f"A message is a JSON object (given {shorten(value)}).")
    return value


def read_id(message: Json) -> object:
    """The id of a request, any JSON scalar but null; `MessageFault` if there is none."""
    request_id = message.get("id")
    if request_id is None or isinstance(request_id, dict | list):
        raise MessageFault("bad_request", "A request needs an id, a text or a number.", path="$.id")
    return request_id


def require_protocol(greeting: Json) -> None:
    """`MessageFault` unless a greeting, or the answer to one, names the protocol of this program."""
    version = read_safe_integer(greeting.get("protocol"))
    if version != PROTOCOL:
        given = shorten(greeting.get("protocol"))
        raise MessageFault(
            "unknown_version", f"Protocol {given} is unknown here: this program speaks {PROTOCOL}."
        )


def accept(request_id: object, value: object) -> Json:
    """The reply to a request that went well."""
    return {"id": request_id, "ok": value}


def refuse(request_id: object, fault: MessageFault) -> Json:
    """The reply to a request that did not; the id is null where none could be read."""
    return {
        "id": request_id,
        "error": {"code": fault.code, "message": fault.sentence, **fault.details},
    }
