"""The laws of a store, for every store there is and for those that users write.

`check_store(open_store)` runs them all; each law is a function of its own whose docstring is the law.
`open_store()` must give a context that opens one and the same session, empty at first, as its writer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Final

from wakefold import Event
from wakefold.events import Json
from wakefold_shell.protocols import Store

OpenStore = Callable[[], AbstractContextManager[Store]]
"""Opens the session that is under test, for writing."""

AWKWARD: Final[tuple[Json, ...]] = (
    {"text": "\ud83d alone, \U0001f600 whole, \u2028, \x85, \x00, \x7f"},
    {"numbers": [300.0, 2**53 - 1, -(2**53 - 1), 0.1, 1e300]},
    {"nested": [[[{"a": [None, True, False, {}]}]]], "": "", "__proto__": 1},
    {"long": "x" * 100_000},
)
"""Data that storage tends to change on its way."""


def make_events(first: int, count: int, kind: str = "schedule/change") -> list[Event]:
    """Events that follow a log of a length, their data awkward."""
    return [
        Event(kind, seq, 1_799_064_000_000 + seq, {**AWKWARD[seq % len(AWKWARD)], "seq": seq})
        for seq in range(first, first + count)
    ]


def read_all(store: Store) -> list[Event]:
    """The whole log, as a writer reads it first."""
    return list(store.read_events(0))


async def check_store(open_store: OpenStore, *, durable: bool = True) -> None:
    """Every law below, in one life after another of the same session; `AssertionError` names one.

    A store that forgets when it is closed is checked with `durable=False`, in one life.
    """
    with open_store() as store:
        length = await check_appends(store)
        check_refusals(store, length)
        assert await store.flush() is True, "a barrier over nothing new is acknowledged"
    if not durable:
        return
    await check_durability(open_store, length)
    check_lease(open_store)


async def check_appends(store: Store) -> int:
    """What was appended is read from any place on, unchanged, before and after the barrier.

    Gives the log's length afterwards.
    """
    expected = read_all(store)
    for count in (1, 3, 1):
        batch = make_events(len(expected), count)
        store.append(batch)
        expected += batch
        check_reading(store, expected)
        assert await store.flush() is True, "a healthy store acknowledges"
        check_reading(store, expected)
    store.append([])
    check_reading(store, expected)
    return len(expected)


def check_reading(store: Store, expected: Sequence[Event]) -> None:
    """The log from every place on is the rest of the log."""
    for start in range(len(expected) + 1):
        found = list(store.read_events(start))
        assert found == list(expected[start:]), f"the log from {start} on is not what was appended"


def check_refusals(store: Store, length: int) -> None:
    """An append at another place than the log's end is refused, and changes nothing."""
    before = read_all(store)
    for first in (0, length - 1, length + 1):
        try:
            store.append(make_events(first, 2))
        except Exception:  # noqa: BLE001 - a store has its own errors; it must have one
            check_reading(store, before)
        else:
            raise AssertionError(f"an append at {first} of a log of {length} was taken")


async def check_durability(open_store: OpenStore, length: int) -> None:
    """What a barrier acknowledged is there in the next life, and can be built on."""
    with open_store() as store:
        found = read_all(store)
        assert found == make_events(0, length), "the next life reads something else"
        store.append(make_events(length, 2))
        assert await store.flush() is True, "the next life can write"
    with open_store() as store:
        assert read_all(store) == make_events(0, length + 2), "the life after that reads it"


def check_lease(open_store: OpenStore) -> None:
    """While one writer has the session, a second one is refused in words, and loses nothing."""
    with open_store() as store:
        before = read_all(store)
        try:
            with open_store() as second:
                read_all(second)
        except Exception as error:  # noqa: BLE001 - as above
            said = str(error)
        else:
            raise AssertionError("a second writer was let in")
        assert said, "a refusal says why"
        check_reading(store, before)
