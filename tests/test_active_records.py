"""Active records by id and by when they are due, beside a plain dict of them."""

from __future__ import annotations

import copy
import pickle
import random

import pytest

from wakefold.active_records import ActiveRecords, index_records
from wakefold.calendar_rules import DailyRule
from wakefold.events import AfterRecord, AtRecord, EveryRecord, Record
from wakefold.ledger import Ledger
from wakefold.records import EDITABLE, CalendarRecord, Options, Standing

A = AtRecord("a", "x", 30)
B = AfterRecord("b", "y", 1, 20)
C = AtRecord("c", "z", 20)
E = EveryRecord("e", "r", 600, 25)
F = EveryRecord("f", "s", 300, 25)
G = EveryRecord("g", "t", 900, 10)
LATE = Options(missed="skip", grace_seconds=300)
LATE_SHOT = AtRecord("l", "x", 30, LATE, EDITABLE)
LATE_RATE = EveryRecord("m", "x", 300, 20, LATE, EDITABLE)
LATE_DAILY = CalendarRecord("d", "x", DailyRule("08:00:00.000", "UTC"), 25, LATE, EDITABLE)


def index(*records: Record) -> ActiveRecords:
    return index_records({record.id: record for record in records})


def test_it_reads_like_the_dict_it_was_made_of() -> None:
    """In order, by id, by length, in comparison and as text."""
    plain = {record.id: record for record in (E, A, B)}
    records = index_records(plain)
    assert records == plain == records
    assert plain == records
    assert (list(records), list(records.values())) == (["e", "a", "b"], [E, A, B])
    assert list(records.items()) == list(plain.items())
    assert (records["a"], records.get("b"), records.get("c"), len(records)) == (A, B, None, 3)
    assert ("a" in records, "c" in records) == (True, False)
    assert (A in records.values(), ("a", A) in records.items(), C in records.values()) == (
        True,
        True,
        False,
    )
    assert repr(records) == repr(plain)
    assert repr(Ledger(records=records)) == repr(Ledger(records=plain))
    assert records != index(E, A)
    with pytest.raises(KeyError, match="c"):
        records["c"]


def test_what_is_indexed_is_not_indexed_again() -> None:
    """The same value comes back."""
    records = index(A)
    assert index_records(records) is records


@pytest.mark.parametrize("records", [index(), index(A, E, F).end("a").put(B)], ids=["none", "some"])
def test_it_survives_being_stored_and_copied(records: ActiveRecords) -> None:
    """With its order, and fit to go on."""
    for again in (pickle.loads(pickle.dumps(records)), copy.deepcopy(records)):
        assert (again, list(again), type(again)) == (records, list(records), ActiveRecords)
        assert list(again.put(C)) == [*records, "c"]
        assert again.put(C).find_one_shot(20) == records.put(C).find_one_shot(20)


def test_a_record_is_put_last_or_in_its_place() -> None:
    """One that has ended and comes again is a new one."""
    records = index(A, E, B)
    later = EveryRecord("e", "r", 600, 625)
    assert list(records.put(C).values()) == [A, E, B, C]
    assert list(records.put(later).values()) == [A, later, B]
    assert list(records.end("e").values()) == [A, B]
    assert list(records.end("a").put(A).values()) == [E, B, A]
    assert list(records.values()) == [A, E, B]
    assert len(records.end("a")) == 2
    with pytest.raises(KeyError, match="c"):
        records.end("c")


def test_the_least_of_each_kind_is_known() -> None:
    """Targets of one-shots and of repeating records, and the shortest interval."""
    none, some = index(), index(A, E, B, F)
    assert (none.one_shot_ms, none.repeat_ms, none.every_seconds) == (None, None, None)
    assert (some.one_shot_ms, some.repeat_ms, some.every_seconds) == (20, 25, 300)
    fewer = some.end("b").end("f")
    assert (fewer.one_shot_ms, fewer.repeat_ms, fewer.every_seconds) == (30, 25, 600)
    assert isinstance(some.one_shot_ms, int)
    more = some.put(G).put(C)
    assert (more.one_shot_ms, more.repeat_ms, more.every_seconds) == (20, 10, 300)


def test_the_least_one_shot_is_the_oldest_of_its_target() -> None:
    """None before its target."""
    records = index(E, A, C, B)
    assert (records.find_one_shot(19), records.find_one_shot(20)) == (None, C)
    assert records.end("c").find_one_shot(20) == B
    assert records.end("c").end("b").find_one_shot(30) == A
    assert index(E, F).find_one_shot(10**15) is index().find_one_shot(10**15) is None


def test_due_repeats_come_by_target_then_as_created() -> None:
    """One-shots are not among them."""
    records = index(E, A, F, G, B)
    assert records.list_repeats(9) == index().list_repeats(9) == []
    assert records.list_repeats(10) == records.list_repeats(24) == [G]
    assert records.list_repeats(25) == [G, E, F]
    assert index(B).list_repeats(25) == []
    assert index(E).list_repeats(25) == [E]


def test_it_holds_what_a_dict_holds() -> None:
    """After each of six hundred random changes, of which a third end a record."""
    draw = random.Random(11)
    plain: dict[str, Record] = {}
    records = index()
    for number in range(600):
        if draw.random() < 0.35 and plain:
            ended = draw.choice(list(plain))
            del plain[ended]
            records = records.end(ended)
        else:
            name = draw.choice(list(plain)) if draw.random() < 0.3 and plain else f"schedule-{number}"
            target_ms, seconds = draw.randrange(50), draw.choice((300, 600))
            made = AtRecord(name, "p", target_ms), EveryRecord(name, "p", seconds, target_ms)
            plain[name] = draw.choice(made)
            records = records.put(plain[name])
        now_ms = draw.randrange(50)
        assert list(records.items()) == list(plain.items())
        repeats = [record for record in plain.values() if isinstance(record, EveryRecord)]
        one_shots = [record for record in plain.values() if not isinstance(record, EveryRecord)]
        due = sorted(
            (r for r in repeats if r.scheduled_at_ms <= now_ms), key=lambda r: r.scheduled_at_ms
        )
        assert records.list_repeats(now_ms) == due
        first = min(one_shots, key=lambda record: record.scheduled_at_ms, default=None)
        assert records.find_one_shot(50) == first
        assert records.one_shot_ms == (None if first is None else first.scheduled_at_ms)
        assert records.repeat_ms == min((r.scheduled_at_ms for r in repeats), default=None)
        assert records.every_seconds == min((r.every_seconds for r in repeats), default=None)


def test_what_may_be_late_is_found_by_its_grace() -> None:
    """Later than its grace, the one due first first; what has none is never late."""
    records = index(A, LATE_SHOT, E, LATE_RATE, LATE_DAILY)
    assert records.list_late(300_020) == []
    assert records.list_late(300_021) == [LATE_RATE]
    assert records.list_late(300_026) == [LATE_RATE, LATE_DAILY]
    assert records.list_late(300_031) == [LATE_RATE, LATE_DAILY, LATE_SHOT]
    assert records.end("m").list_late(300_031) == [LATE_DAILY, LATE_SHOT]
    assert index(A, E).list_late(10**9) == []


def test_what_is_snoozed_is_due_later_and_what_is_paused_never() -> None:
    """By the due instant, which is not the target."""
    snoozed = AtRecord("l", "x", 30, LATE, Standing(2, revision=1, snoozed_until_ms=99))
    assert index(snoozed).one_shot_ms == 99
    assert index(snoozed).list_late(300_099) == []
    assert index(snoozed).list_late(300_100) == [snoozed]
    paused = EveryRecord("m", "x", 300, 20, LATE, Standing(2, revision=1, paused=True))
    assert (index(paused).repeat_ms, index(paused).every_seconds) == (None, 300)
    assert index(paused).list_late(10**9) == []


def test_a_calendar_rule_counts_as_recurring() -> None:
    """With the spacing that its times could have."""
    records = index(A, LATE_DAILY)
    assert (records.one_shot_ms, records.repeat_ms, records.every_seconds) == (30, 25, 86_400)
    assert records.list_repeats(25) == [LATE_DAILY]
    assert index(LATE_DAILY).find_one_shot(10**9) is None
