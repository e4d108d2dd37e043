"""A persistent tree of numbered leaves, in which every node sums up what stands beneath it.

This module decides where the leaf of a number stands and which nodes a change makes anew: those on the
way to it, one for each doubling of the numbers given out. It refuses to know what a leaf holds and what
a sum is good for: who plants a tree joins its nodes, and walks down it by their sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, Protocol, Self, TypeVar

from msgspec import Struct


class Node(Protocol):
    """A leaf, which has nothing beneath it, or what two nodes were joined to."""

    @property
    def left(self) -> Self | None:
        """What has the lower numbers."""

    @property
    def right(self) -> Self | None:
        """What has the higher numbers."""


#: The nodes of one kind of tree.
N = TypeVar("N", bound=Node)


class Tree(Struct, Generic[N], frozen=True):
    """Leaves by number, in the order of their numbers; those below `end` have been given out.

    `empty` is the node of whatever has no leaf: joined with another it adds nothing to the sum.
    """

    join: Callable[[N, N], N]
    empty: N
    root: N
    height: int = 0
    end: int = 0

    def append(self, leaf: N) -> Tree[N]:
        """The tree with one leaf more, under the number `end`."""
        root, height = self.root, self.height
        if self.end >> height:
            root, height = self._join(root, self.empty), height + 1
        grown = Tree(self.join, self.empty, root, height, self.end + 1)
        return grown.place(self.end, leaf)

    def place(self, number: int, leaf: N) -> Tree[N]:
        """The tree with another leaf (`empty`: none) under a number that was given out."""
        return self._replace(number, leaf, keep_lower=True)

    def drop_before(self, number: int) -> Tree[N]:
        """The tree without the leaves of lower numbers than one that was given out."""
        return self._replace(number, self.find(number), keep_lower=False)

    def find(self, number: int) -> N:
        """The leaf of a number that was given out; `empty` where it was taken away."""
        node = self.root
        for level in range(self.height - 1, -1, -1):
            node = (node.right if number >> level & 1 else node.left) or self.empty
        return node

    def list_leaves(self, is_wanted: Callable[[N], bool] | None = None) -> list[N]:
        """The leaves, or those that are wanted, in the order of their numbers.

        A node is asked first, and where it is not wanted nothing beneath it is.
        """
        nodes = [self.root]
        for _ in range(self.height):
            asked = nodes if is_wanted is None else filter(is_wanted, nodes)
            nodes = [below for node in asked for below in (node.left, node.right) if below]
        leaves = nodes if is_wanted is None else filter(is_wanted, nodes)
        return [leaf for leaf in leaves if leaf is not self.empty]

    def _replace(self, number: int, leaf: N, *, keep_lower: bool) -> Tree[N]:
        path = []
        node = self.root
        for level in range(self.height - 1, -1, -1):
            path.append(node)
            node = (node.right if number >> level & 1 else node.left) or self.empty
        node = leaf
        for level in range(self.height):
            parent = path.pop()
            if number >> level & 1:
                lower = parent.left if keep_lower else None
                node = self._join(lower or self.empty, node)
            else:
                node = self._join(node, parent.right or self.empty)
        return Tree(self.join, self.empty, node, self.height, self.end)

    def _join(self, left: N, right: N) -> N:
        if left is self.empty and right is self.empty:
            return self.empty
        return self.join(left, right)


def plant(leaves: Iterable[N], join: Callable[[N, N], N], empty: N) -> Tree[N]:
    """The tree of leaves numbered from 0, each pair joined once."""
    nodes = list(leaves)
    end, height = len(nodes), 0
    while len(nodes) > 1:
        if len(nodes) % 2:
            nodes.append(empty)
        nodes = [join(nodes[at], nodes[at + 1]) for at in range(0, len(nodes), 2)]
        height += 1
    return Tree(join, empty, nodes[0] if nodes else empty, height, end)
