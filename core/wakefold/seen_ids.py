"""The ids that one session ever created, in order.

This module decides how a set that only grows, as long as the log does, takes one more id at the cost of
a few steps: what a fold read stays one plain table, and what came since stands beside it. It refuses to
know what the ids name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import itemgetter

from rpds import HashTrieMap


class SeenIds(Mapping[str, None]):
    """Ids in create order, as the keys of a mapping; never changed in place."""

    __slots__ = ("_folded", "_later")

    def __init__(self, folded: dict[str, None], later: HashTrieMap[str, int]) -> None:
        self._folded = folded
        self._later = later

    def add(self, schedule_id: str) -> SeenIds:
        """The ids with one more; one that is among them keeps its place."""
        if schedule_id in self:
            return self
        return SeenIds(self._folded, self._later.insert(schedule_id, len(self._later)))

    def __contains__(self, schedule_id: object) -> bool:
        """Whether an id was seen."""
        return schedule_id in self._folded or schedule_id in self._later

    def __getitem__(self, schedule_id: str) -> None:
        """Nothing, for an id that was seen."""
        if schedule_id not in self:
            raise KeyError(schedule_id)

    def __iter__(self) -> Iterator[str]:
        """The ids, in create order."""
        yield from self._folded
        yield from (name for name, _ in sorted(self._later.items(), key=itemgetter(1)))

    def __len__(self) -> int:
        """How many were seen."""
        return len(self._folded) + len(self._later)

    def __repr__(self) -> str:
        """As a dict's, so that a ledger reads the same however it was made."""
        return repr(dict(self))

    def __reduce__(self) -> tuple[object, ...]:
        """As plain values, from which the rest is worked out again."""
        return freeze_ids, (dict(self),)


def freeze_ids(ids: dict[str, None]) -> SeenIds:
    """The keys of a table that nobody changes any more."""
    return SeenIds(ids, HashTrieMap())


def index_ids(ids: Mapping[str, None]) -> SeenIds:
    """The same ids, in the same order, as this module keeps them."""
    return ids if isinstance(ids, SeenIds) else freeze_ids(dict(ids))
