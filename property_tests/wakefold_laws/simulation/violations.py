"""What comes out where a shell breaks an invariant, and how it names what it was about.

This module refuses to know the invariants.
"""

from __future__ import annotations

from collections.abc import Callable

from wakefold import format_instant


class Violation(BaseException):  # a shell may catch every Exception
    """A shell has broken an invariant."""

    def __init__(self, invariant: Callable[..., None], detail: str) -> None:
        """Which, and how."""
        super().__init__(f"{(invariant.__doc__ or '').strip()} But {detail}")
        self.invariant = invariant.__name__


def show_key(key: object) -> str:
    """An occurrence, or the id of something."""
    if isinstance(key, tuple):
        return f"{key[0]} of {format_instant(key[1])}"
    return str(key)
