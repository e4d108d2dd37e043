"""The ids that a session ever created: in order, only growing, and never changed in place."""

from __future__ import annotations

import pickle

import pytest

from wakefold.seen_ids import SeenIds, index_ids


def test_ids_read_like_the_keys_of_a_dict() -> None:
    """In order, by length, in comparison and as text, whichever came first."""
    ids = index_ids({"b": None, "a": None}).add("\ud83d").add("c")
    plain = dict.fromkeys(("b", "a", "\ud83d", "c"))
    assert ids == plain
    assert (list(ids), len(ids), repr(ids)) == (list(plain), 4, repr(plain))
    assert [name in ids for name in ("a", "c", "d", 1)] == [True, True, False, False]
    assert (ids["a"], ids["c"], list(ids.values())) == (None, None, [None] * 4)
    with pytest.raises(KeyError, match="d"):
        ids["d"]


def test_one_more_id_leaves_the_old_ones_as_they_were() -> None:
    """Two may go on from one."""
    ids = index_ids({"a": None})
    assert (list(ids.add("b")), list(ids.add("c").add("d")), list(ids)) == (
        ["a", "b"],
        ["a", "c", "d"],
        ["a"],
    )


def test_an_id_that_was_seen_keeps_its_place() -> None:
    """Whichever way it came to be seen."""
    ids = index_ids({"a": None}).add("b").add("c")
    assert list(ids.add("b").add("a").add("d")) == ["a", "b", "c", "d"]


def test_many_later_ids_keep_their_order() -> None:
    """However they are hashed."""
    ids, names = index_ids({}), [f"schedule-{number}" for number in range(500)]
    for name in names:
        ids = ids.add(name)
    assert list(ids) == names


def test_a_table_of_somebody_else_is_copied() -> None:
    """What they do with it later is not seen; what is indexed is not indexed again."""
    table = {"a": None}
    ids = index_ids(table)
    table["b"] = None
    assert list(ids) == ["a"]
    assert index_ids(ids) is ids


def test_ids_survive_being_stored() -> None:
    """With their order."""
    ids = index_ids({"b": None}).add("a")
    again = pickle.loads(pickle.dumps(ids))
    assert (again, list(again), type(again)) == (ids, ["b", "a"], SeenIds)
