"""The instants at which one session woke itself, in the order of its log.

This module decides how they are kept so that one more, forgetting the oldest and counting those since
an instant take a few steps however many there are. A clock that was set back makes them no sequence in
time: each such place costs a few steps more. It refuses to know limits and days.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf
from typing import Final, overload

from msgspec import Struct

from wakefold.trees import Tree, plant


class _Node(Struct, frozen=True, gc=False):
    """How many times stand beneath a node, the least and the greatest."""

    count: int
    low_ms: float
    high_ms: float
    left: _Node | None = None
    right: _Node | None = None


_NOTHING: Final = _Node(0, inf, -inf)


class DispatchTimes(Sequence[int]):
    """Epoch milliseconds in log order, equal to the tuple of them; never changed in place."""

    __slots__ = ("_tree",)

    def __init__(self, tree: Tree[_Node]) -> None:
        self._tree = tree

    def append(self, time_ms: int) -> DispatchTimes:
        """The times with one more."""
        return DispatchTimes(self._tree.append(_Node(1, time_ms, time_ms)))

    def drop_before(self, horizon_ms: int) -> DispatchTimes:
        """The times from the first that is not before an instant."""
        root = self._tree.root
        if root.low_ms >= horizon_ms:
            return self
        if root.high_ms < horizon_ms:
            return index_times(())
        number, _ = self._find_first(horizon_ms)
        return DispatchTimes(self._tree.drop_before(number))

    def find_since(self, since_ms: int) -> int | None:
        """The first, in log order, that is at or after an instant."""
        if self._tree.root.high_ms < since_ms:
            return None
        _, leaf = self._find_first(since_ms)
        return int(leaf.low_ms)

    def count_since(self, since_ms: int) -> int:
        """How many are at or after an instant."""
        count, nodes = 0, [self._tree.root]
        while nodes:
            node = nodes.pop()
            if node.low_ms >= since_ms:
                count += node.count
            elif node.high_ms >= since_ms and node.left is not None and node.right is not None:
                nodes += (node.left, node.right)
        return count

    def list_since(self, since_ms: float) -> list[int]:
        """Those at or after an instant, in log order."""
        leaves = self._tree.list_leaves(lambda node: node.high_ms >= since_ms)
        return [int(leaf.low_ms) for leaf in leaves if leaf.low_ms >= since_ms]

    def _find_first(self, since_ms: int) -> tuple[int, _Node]:
        """The first leaf, of those at or after an instant, and its number; there is one."""
        node, number = self._tree.root, 0
        while node.left is not None and node.right is not None:
            later = node.left.high_ms < since_ms
            node, number = (node.right if later else node.left), number * 2 + later
        return number, node

    @overload
    def __getitem__(self, place: int) -> int: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[int, ...]: ...

    def __getitem__(self, place: int | slice) -> int | tuple[int, ...]:
        """As a tuple's."""
        return tuple(self)[place]

    def __iter__(self) -> Iterator[int]:
        """The times, in log order."""
        return iter(self.list_since(-inf))

    def __len__(self) -> int:
        """How many are kept."""
        return self._tree.root.count

    def __eq__(self, other: object) -> bool:
        """Whether the same times are kept in the same order."""
        if not isinstance(other, DispatchTimes | tuple):
            return NotImplemented
        return tuple(self) == tuple(other)

    def __hash__(self) -> int:
        """As the tuple's."""
        return hash(tuple(self))

    def __repr__(self) -> str:
        """As the tuple's, so that counts read the same however they were made."""
        return repr(tuple(self))

    def __reduce__(self) -> tuple[object, ...]:
        """As plain values, from which the rest is worked out again."""
        return index_times, (tuple(self),)


def index_times(times_ms: Iterable[int]) -> DispatchTimes:
    """The same times, in the same order, as this module keeps them."""
    if isinstance(times_ms, DispatchTimes):
        return times_ms
    leaves = (_Node(1, time_ms, time_ms) for time_ms in times_ms)
    return DispatchTimes(plant(leaves, _join, _NOTHING))


def _join(left: _Node, right: _Node) -> _Node:
    return _Node(
        left.count + right.count,
        min(left.low_ms, right.low_ms),
        max(left.high_ms, right.high_ms),
        left,
        right,
    )
