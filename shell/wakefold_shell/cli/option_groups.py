"""Options that stand together: a command takes one value, and typer sees each option of its own.

A group is a Struct whose fields are options. This module decides nothing about any of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, get_type_hints

import msgspec
from msgspec import Struct


class OptionGroup(Struct, frozen=True, kw_only=True):
    """Options that several commands share; each field has a default, and its option in its type."""


def spread_groups(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer wants it: each option of its groups is a parameter."""
    signature = inspect.signature(command, eval_str=True)
    groups = {
        name: parameter.annotation
        for name, parameter in signature.parameters.items()
        if isinstance(parameter.annotation, type) and issubclass(parameter.annotation, OptionGroup)
    }

    @wraps(command)
    def spread(**values: Any) -> None:  # noqa: ANN401 - whatever the options are
        gathered = {
            name: kind(**{field: values.pop(field) for field in kind.__struct_fields__})
            for name, kind in groups.items()
        }
        command(**values, **gathered)

    single = [parameter for name, parameter in signature.parameters.items() if name not in groups]
    parameters = [*single, *(one for kind in groups.values() for one in _list_options(kind))]
    spread.__dict__["__signature__"] = signature.replace(parameters=parameters)
    spread.__annotations__ = {one.name: one.annotation for one in parameters}
    return spread


def _list_options(group: type[OptionGroup]) -> Iterator[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    for field in msgspec.structs.fields(group):
        yield inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=field.default,
            annotation=hints[field.name],
        )
