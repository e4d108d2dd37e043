"""How values of the core are spelt on a pipe: derived from their Structs, written down nowhere twice.

A Struct is an object of its fields in lower camel case, told apart by its tag. Events and changes stand
as the journal stores them. A ledger and a guard are too large to be sent about: they stay where they
are, under a name. This module decides the spelling and names the place of whatever is wrong; it refuses
to know what the values are for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Struct
from msgspec.structs import FieldInfo

from wakefold.dispatch_times import DispatchTimes
from wakefold.events import Change, Event, Json, Record, encode_change, encode_record
from wakefold.guard import Guard
from wakefold.instants import read_safe_integer
from wakefold.ledger import Ledger
from wakefold.rejections import shorten
from wakefold_shell.pipes.messages import MessageFault

Find = Callable[[str, tuple[Any, ...], str], object]
"""What a name stands for, given the kinds that may stand there and the path of the name."""

_NAMED: Final = {Ledger: "a ledger", Guard: "a guard"}
_SCALARS: Final = {int: "a whole number", str: "a text", bool: "true or false"}


def spell(value: object) -> object:
    """A value of the core as JSON."""
    match value:
        case Event():
            return {"type": value.type, "seq": value.seq, "time": value.time_ms, "data": value.data}
        case Enum():
            return value.value
        case tuple() | list() | DispatchTimes():
            return [spell(item) for item in value]
        case frozenset():
            return sorted(value)
        case Struct():
            return _spell_struct(value)
        case _:
            return value


def _spell_struct(value: Struct) -> Json:
    if isinstance(value, Change):
        return encode_change(value)
    if isinstance(value, Record):
        return encode_record(value)
    config = value.__struct_config__
    head: Json = {} if config.tag is None else {str(config.tag_field): config.tag}
    fields = list_fields(type(value)).items()
    return head | {name: spell(getattr(value, field.name)) for name, field in fields}


@cache
def list_fields(kind: type[Struct]) -> dict[str, FieldInfo]:
    """The fields of a Struct by the names that they have on a pipe."""
    return {_name(field.name): field for field in msgspec.structs.fields(kind)}


def _name(attribute: str) -> str:
    first, *others = attribute.removesuffix("_").split("_")
    return first + "".join(map(str.capitalize, others))


class Reader:
    """Reads values of the core from JSON; `MessageFault` with the path of what is wrong."""

    def __init__(self, find: Find) -> None:
        """`find` looks up what stands under a name."""
        self._find = find

    def read(self, kind: Any, value: object, path: str) -> Any:  # noqa: ANN401 - any type's value
        """The value of a type, which may be a union, that stands at a path."""
        union = get_origin(kind) in (Union, UnionType)
        options: tuple[Any, ...] = get_args(kind) if union else (kind,)
        if value is None and NoneType in options:
            return None
        named = [option for option in options if option in _NAMED]
        if named and isinstance(value, str):
            return self._find(value, options, path)
        plain = [option for option in options if option not in (*_NAMED, NoneType)]
        if not plain:
            raise _refuse(path, f"the name of {_NAMED[named[0]]}", value)
        return (
            self._read_one(plain[0], value, path)
            if len(plain) == 1
            else self._choose(plain, value, path)
        )

    def _choose(self, options: Sequence[type[Struct]], value: object, path: str) -> object:
        """The member of a union that an object's tag names."""
        tag_field = str(options[0].__struct_config__.tag_field)
        tag = _read_object(value, path).get(tag_field)
        for option in options:
            if option.__struct_config__.tag == tag:
                return self._read_one(option, value, path)
        known = ", ".join(str(option.__struct_config__.tag) for option in options)
        raise _refuse(f"{path}.{tag_field}", f"one of {known}", tag)

    def _read_one(self, kind: Any, value: object, path: str) -> object:  # noqa: ANN401
        if kind is object:
            return value
        if kind in _SCALARS:
            return _read_scalar(kind, value, path)
        if kind is Event:
            return self._read_event(value, path)
        if isinstance(kind, type) and issubclass(kind, Struct):
            return self._read_struct(kind, _read_object(value, path), path)
        origin, arguments = get_origin(kind), get_args(kind)
        if origin is dict:
            return _read_object(value, path)
        if origin is Literal:
            if not isinstance(value, str) or value not in arguments:
                raise _refuse(path, f"one of {', '.join(arguments)}", value)
            return value
        items = _read_list(value, path)
        made = (self.read(arguments[0], item, f"{path}[{i}]") for i, item in enumerate(items))
        return frozenset(made) if origin is frozenset else tuple(made)

    def _read_event(self, value: object, path: str) -> Event:
        """An event; what else a journal's line holds is passed over."""
        fields = _read_object(value, path)
        return Event(
            type=_read_scalar(str, fields.get("type"), f"{path}.type"),
            seq=_read_scalar(int, fields.get("seq"), f"{path}.seq"),
            time_ms=_read_scalar(int, fields.get("time"), f"{path}.time"),
            data=fields.get("data"),
        )

    def _read_struct(self, kind: type[Struct], given: Json, path: str) -> object:
        known = list_fields(kind)
        for name in given.keys() - known.keys() - {kind.__struct_config__.tag_field}:
            fields = ", ".join(known) or "none"
            sentence = f"{path}.{shorten(name)[1:-1]} is no field here (known: {fields})."
            raise MessageFault("bad_request", sentence, path=f"{path}.{name}")
        values = {}
        for name, field in known.items():
            if name in given:
                values[field.name] = self.read(field.type, given[name], f"{path}.{name}")
            elif field.required:
                raise MessageFault("bad_request", f"{path}.{name} is missing.", path=f"{path}.{name}")
        return kind(**values)


def _read_scalar(kind: Any, value: object, path: str) -> Any:  # noqa: ANN401 - as in `read`
    whole = read_safe_integer(value) if kind is int else None
    if whole is not None:
        return whole
    if kind is int or not isinstance(value, kind):
        raise _refuse(path, _SCALARS[kind], value)
    return value


def _read_object(value: object, path: str) -> Json:
    if not isinstance(value, dict):
        raise _refuse(path, "an object", value)
    return value


def _read_list(value: object, path: str) -> list[object]:
    if not isinstance(value, list):
        raise _refuse(path, "a list", value)
    return value


def _refuse(path: str, wanted: str, value: object) -> MessageFault:
    sentence = f"{path} must be {wanted} (given {shorten(value)})."
    return MessageFault("bad_request", sentence, path=path)
