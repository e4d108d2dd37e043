"""A persistent tree of numbered leaves: where they stand, what is summed up, what stays as it was."""

from __future__ import annotations

import random
from typing import Final

import pytest
from msgspec import Struct

from wakefold.trees import Tree, plant


class Sum(Struct, frozen=True):
    """How many leaves, and what they add up to; `depth` of the longest way to one."""

    total: int
    depth: int = 0
    left: Sum | None = None
    right: Sum | None = None


NOTHING: Final = Sum(0)


def join(left: Sum, right: Sum) -> Sum:
    return Sum(left.total + right.total, max(left.depth, right.depth) + 1, left, right)


def grow(*totals: int) -> Tree[Sum]:
    return plant(map(Sum, totals), join, NOTHING)


def everything(node: Sum) -> bool:
    return node is not NOTHING


def list_totals(tree: Tree[Sum]) -> list[int]:
    leaves = tree.list_leaves()
    assert tree.list_leaves(everything) == leaves
    return [leaf.total for leaf in leaves]


@pytest.mark.parametrize("count", range(18))
def test_leaves_are_planted_and_appended_alike(count: int) -> None:
    """Numbered from 0, summed up, and no deeper than their number asks for."""
    planted = grow(*range(1, count + 1))
    appended = grow()
    for total in range(1, count + 1):
        appended = appended.append(Sum(total))
    for tree in (planted, appended):
        assert list_totals(tree) == list(range(1, count + 1))
        assert [tree.find(number).total for number in range(count)] == list_totals(tree)
        assert tree.root.total == sum(range(count + 1))
        assert (tree.end, tree.height) == (count, max(count - 1, 0).bit_length())
        assert tree.root.depth == tree.height


def test_a_changed_tree_leaves_the_old_one_as_it_was() -> None:
    """Placed, taken away, appended and cut: five trees, each with its own leaves."""
    tree = grow(1, 2, 3)
    assert list_totals(tree.place(1, Sum(7))) == [1, 7, 3]
    assert list_totals(tree.place(0, NOTHING)) == [2, 3]
    assert list_totals(tree.append(Sum(4)).append(Sum(5))) == [1, 2, 3, 4, 5]
    assert list_totals(tree.drop_before(2)) == [3]
    assert list_totals(tree.drop_before(0)) == list_totals(tree) == [1, 2, 3]


def test_a_number_that_lost_its_leaf_can_have_another() -> None:
    """Even where nothing is left around it."""
    tree = grow(1, 2, 3, 4, 5)
    for number in range(5):
        tree = tree.place(number, NOTHING)
    assert (tree.root, tree.find(3), tree.end) == (NOTHING, NOTHING, 5)
    assert list_totals(tree) == []
    tree = tree.place(3, Sum(9))
    assert (list_totals(tree), tree.find(3), tree.root.total) == ([9], Sum(9), 9)
    assert list_totals(tree.append(Sum(6))) == [9, 6]


def test_where_nothing_is_left_no_node_is() -> None:
    """An emptied half is the empty node itself, so that memory follows what is held."""
    tree = grow(1, 2, 3, 4).place(0, NOTHING).place(1, NOTHING)
    assert tree.root.left is NOTHING
    assert tree.drop_before(3).root.right == Sum(4, 1, NOTHING, Sum(4))


def test_only_wanted_leaves_are_listed_and_no_node_beneath_another() -> None:
    """What is asked: the root, and the nodes of each level under those that were wanted."""
    asked: list[int] = []

    def is_large(node: Sum) -> bool:
        asked.append(node.total)
        return node.total >= 5

    assert [leaf.total for leaf in grow(1, 2, 5, 6).list_leaves(is_large)] == [5, 6]
    assert asked == [14, 3, 11, 5, 6]
    assert grow(4).list_leaves(is_large) == []


def test_a_change_makes_one_node_for_each_level() -> None:
    """Of a thousand leaves ten are on the way; everything else is shared."""
    joined = 0

    def count(left: Sum, right: Sum) -> Sum:
        nonlocal joined
        joined += 1
        return join(left, right)

    tree = plant(map(Sum, range(1000)), count, NOTHING)
    joined = 0
    changed = tree.place(700, Sum(0))
    assert joined == tree.height == 10
    assert tree.root.left is changed.root.left


def test_it_holds_what_a_dict_holds() -> None:
    """After each of three hundred random changes."""
    draw = random.Random(7)
    tree, plain = grow(), dict[int, int]()
    for step in range(300):
        kind = draw.random()
        if kind < 0.5 or not plain:
            plain[tree.end] = step
            tree = tree.append(Sum(step))
        elif kind < 0.7:
            number = draw.randrange(tree.end)
            plain[number] = step
            tree = tree.place(number, Sum(step))
        elif kind < 0.98:
            number = draw.choice(list(plain))
            del plain[number]
            tree = tree.place(number, NOTHING)
        else:
            first = draw.randrange(tree.end)
            plain = {number: total for number, total in plain.items() if number >= first}
            tree = tree.drop_before(first)
        assert list_totals(tree) == [plain[number] for number in sorted(plain)]
        assert tree.root.total == sum(plain.values())
