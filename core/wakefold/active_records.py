"""The active records of one session, by id and by when they are due.

This module decides how records are kept so that a change and the question what comes next cost no more
than the logarithm of their number, while every earlier state stays as it was. It refuses to know which
changes are lawful and what the gate lets through.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from math import inf
from typing import Final, cast

from msgspec import Struct
from rpds import HashTrieMap

from wakefold.calendar_rules import find_spacing_floor
from wakefold.records import (
    CalendarRecord,
    EveryRecord,
    OneShotRecord,
    Record,
    RecurringRecord,
    find_due,
)
from wakefold.trees import Tree, plant


class _Node(Struct, frozen=True, gc=False):
    """The least due instants and the shortest interval beneath a node, `inf` where there is none.

    `late_ms` is the least instant from which on an occurrence may be too late to be delivered.
    """

    one_shot_ms: float
    repeat_ms: float
    late_ms: float
    every_seconds: float
    record: Record | None = None
    left: _Node | None = None
    right: _Node | None = None


_NOTHING: Final = _Node(inf, inf, inf, inf)


class ActiveRecords(Mapping[str, Record]):
    """Records by id, in create order; never changed in place."""

    __slots__ = ("_numbers", "_tree")

    def __init__(self, numbers: HashTrieMap[str, int], tree: Tree[_Node]) -> None:
        self._numbers = numbers
        self._tree = tree

    def put(self, record: Record) -> ActiveRecords:
        """The records with one more, or with another in the place of the one of that id."""
        number = self._numbers.get(record.id)
        if number is not None:
            return ActiveRecords(self._numbers, self._tree.place(number, _make_leaf(record)))
        numbers = self._numbers.insert(record.id, self._tree.end)
        return ActiveRecords(numbers, self._tree.append(_make_leaf(record)))

    def end(self, schedule_id: str) -> ActiveRecords:
        """The records without the one of an id."""
        tree = self._tree.place(self._numbers[schedule_id], _NOTHING)
        return ActiveRecords(self._numbers.remove(schedule_id), tree)

    @property
    def one_shot_ms(self) -> int | None:
        """When the first of the one-shots is due."""
        return _read_sum(self._tree.root.one_shot_ms)

    @property
    def repeat_ms(self) -> int | None:
        """When the first of the recurring records is due."""
        return _read_sum(self._tree.root.repeat_ms)

    @property
    def every_seconds(self) -> int | None:
        """An interval that no recurring record comes faster than."""
        return _read_sum(self._tree.root.every_seconds)

    def find_one_shot(self, until_ms: int) -> OneShotRecord | None:
        """The one-shot that is due first, if that is not after an instant; of several the oldest."""
        node = self._tree.root
        if node.one_shot_ms > until_ms:
            return None
        while node.left is not None and node.right is not None:
            node = node.left if node.left.one_shot_ms <= node.right.one_shot_ms else node.right
        return None if isinstance(node.record, EveryRecord | CalendarRecord) else node.record

    def list_repeats(self, until_ms: int) -> list[RecurringRecord]:
        """The recurring records that are due by an instant, the first first, then the oldest."""
        leaves = self._tree.list_leaves(lambda node: node.repeat_ms <= until_ms)
        records = [leaf.record for leaf in leaves]
        recurring = [one for one in records if isinstance(one, EveryRecord | CalendarRecord)]
        return sorted(recurring, key=find_due)

    def list_late(self, at_ms: int) -> list[Record]:
        """Those whose occurrence may be too late by an instant, the one due first first."""
        leaves = self._tree.list_leaves(lambda node: node.late_ms < at_ms)
        return sorted((leaf.record for leaf in leaves if leaf.record is not None), key=find_due)

    def __getitem__(self, schedule_id: str) -> Record:
        """The record of an id that is active."""
        return cast(Record, self._tree.find(self._numbers[schedule_id]).record)

    def __iter__(self) -> Iterator[str]:
        """The ids, in create order."""
        return (record.id for record in self.list())

    def __len__(self) -> int:
        """How many are active."""
        return len(self._numbers)

    def __contains__(self, schedule_id: object) -> bool:
        """Whether an id is active."""
        return schedule_id in self._numbers

    def values(self) -> ValuesView[Record]:
        """The records in create order, without a search for each."""
        return _Values(self)

    def items(self) -> ItemsView[str, Record]:
        """The records in create order, each with its id."""
        return _Items(self)

    def __repr__(self) -> str:
        """As a dict's, so that a ledger reads the same however it was made."""
        return repr(dict(self))

    def __reduce__(self) -> tuple[object, ...]:
        """As plain values, from which the rest is worked out again."""
        return index_records, (dict(self),)

    def list(self) -> list[Record]:
        """The records in create order."""
        return [leaf.record for leaf in self._tree.list_leaves() if leaf.record is not None]


class _Values(ValuesView[Record]):
    __slots__ = ()
    _mapping: ActiveRecords

    def __iter__(self) -> Iterator[Record]:
        return iter(self._mapping.list())


class _Items(ItemsView[str, Record]):
    __slots__ = ()
    _mapping: ActiveRecords

    def __iter__(self) -> Iterator[tuple[str, Record]]:
        return ((record.id, record) for record in self._mapping.list())


def index_records(records: Mapping[str, Record]) -> ActiveRecords:
    """The same records, in the same order, as this module keeps them."""
    if isinstance(records, ActiveRecords):
        return records
    numbers = HashTrieMap({schedule_id: number for number, schedule_id in enumerate(records)})
    return ActiveRecords(numbers, plant(map(_make_leaf, records.values()), _join, _NOTHING))


def _make_leaf(record: Record) -> _Node:
    due_ms: float = inf if record.standing.paused else find_due(record)
    grace_seconds = record.options.grace_seconds
    late_ms = inf if grace_seconds is None else due_ms + 1000 * grace_seconds
    if isinstance(record, EveryRecord):
        return _Node(inf, due_ms, late_ms, record.every_seconds, record)
    if isinstance(record, CalendarRecord):
        return _Node(inf, due_ms, late_ms, find_spacing_floor(record.rule), record)
    return _Node(due_ms, inf, late_ms, inf, record)


def _join(left: _Node, right: _Node) -> _Node:
    # `min` would cost a call each, ten times and more for every event: a fifth of what one takes.
    one_ms, repeat_ms, late_ms = left.one_shot_ms, left.repeat_ms, left.late_ms
    seconds = left.every_seconds
    return _Node(
        one_ms if one_ms <= right.one_shot_ms else right.one_shot_ms,  # noqa: FURB136
        repeat_ms if repeat_ms <= right.repeat_ms else right.repeat_ms,  # noqa: FURB136
        late_ms if late_ms <= right.late_ms else right.late_ms,  # noqa: FURB136
        seconds if seconds <= right.every_seconds else right.every_seconds,  # noqa: FURB136
        None,
        left,
        right,
    )


def _read_sum(least: float) -> int | None:
    return None if least == inf else int(least)
