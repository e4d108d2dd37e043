"""The life of each reminder, from its create to its end, as a report shows it."""

from __future__ import annotations

import pytest
from hypothesis import given

from core_logs import T, after, at, created, deleted, dispatched, every, log
from journal_files import NOON_MS
from test_explanations import GRACE, HOUR, ONCE, REPEAT, lay
from wakefold import list_receipts
from wakefold.calendar_rules import DailyRule
from wakefold.edits import Changes, Pause, Resume, Skip, Snooze, StatedDispatch, Update
from wakefold.events import (
    AtRecord,
    CalendarRecord,
    Change,
    Create,
    Delete,
    Dispatch,
    EveryRecord,
)
from wakefold.ledger import fold
from wakefold.lives import ENDINGS, Ending, list_lives
from wakefold.records import EDITABLE, Options
from wakefold.rejections import LogFault
from wakefold_laws.log_model import Log
from wakefold_laws.strategies import logs


def test_a_life_has_its_changes_in_order_and_what_it_was_at_last() -> None:
    """Every change of its id, none of another's; the record as the last one left it."""
    changes: list[Change] = [
        REPEAT,
        Create(AtRecord("b", "other", NOON_MS)),
        Update("a", Changes(prompt="y")),
        Pause("a"),
        Delete("b"),
        Resume("a", NOON_MS),
        Snooze("a", NOON_MS + 60_000),
    ]
    first, second = list_lives(lay(*changes))
    assert (first.id, first.seq, first.time_ms, first.ending, first.inherited) == (
        "a", 0, 0, None, False,
    )  # fmt: skip
    assert [(p.seq, p.time_ms, p.change) for p in first.passages] == [
        (seq, 1000 * seq, changes[seq]) for seq in (2, 3, 5, 6)
    ]
    assert first.prompts == ((0, "x"), (2, "y"))
    assert (first.record.prompt, first.record.standing.revision) == ("y", 4)
    assert (second.id, second.ending, second.prompts) == ("b", "deleted", ((1, "other"),))


@pytest.mark.parametrize(
    ("changes", "ending"),
    [
        ([ONCE, Delete("a")], "deleted"),
        ([ONCE, Dispatch("a")], "delivered"),
        (
            [Create(AtRecord("a", "x", NOON_MS, GRACE, EDITABLE)), Skip("a", NOON_MS + HOUR, NOON_MS)],
            "skipped",
        ),
        (
            [
                Create(EveryRecord("a", "x", 3600, NOON_MS, Options(max_runs=1), EDITABLE)),
                StatedDispatch("a", NOON_MS, NOON_MS, NOON_MS + HOUR),
            ],
            "max_runs",
        ),
        (
            [
                Create(EveryRecord("a", "x", 3600, NOON_MS, Options(until_ms=NOON_MS), EDITABLE)),
                StatedDispatch("a", NOON_MS, NOON_MS, NOON_MS + HOUR),
            ],
            "until",
        ),
        ([REPEAT, Pause("a")], None),
    ],
)
def test_a_life_ends_in_one_way_or_goes_on(changes: list[Change], ending: Ending | None) -> None:
    """As `explain` tells it."""
    (life,) = list_lives(lay(*changes))
    assert life.ending == ending
    assert ending is None or ENDINGS[ending].startswith("it")


def test_a_rule_without_a_further_occurrence_ends_its_reminder() -> None:
    """Past the calendar's end there is none."""
    daily = CalendarRecord("a", "x", DailyRule("09:00:00.000", "UTC"), NOON_MS, standing=EDITABLE)
    (life,) = list_lives(lay(Create(daily), StatedDispatch("a", NOON_MS, NOON_MS)))
    assert life.ending == "no_next"


def test_members_of_a_batch_share_its_name_and_a_one_shot_has_none() -> None:
    """Two repeats accepted at one instant, and a one-shot between them."""
    events = log(
        created(every("e", T)),
        created(every("f", T)),
        created(at("t", T)),
        dispatched("e", T + 5),
        dispatched("t"),
        dispatched("f", T + 5),
    )
    assert [life.passages[0].batch_ms for life in list_lives(events)] == [T + 5, T + 5, None]


def test_what_a_fork_inherited_is_told_apart_and_left_as_it_was() -> None:
    """Its own suffix may use an id again."""
    events = log(created(after("a")), created(every("e", T)), dispatched("a"), created(after("e")))
    parent, repeat, own = list_lives(events, seed_length=3)
    assert (parent.inherited, parent.ending) == (True, "delivered")
    assert (repeat.inherited, repeat.ending, repeat.passages) == (True, None, ())
    assert (own.inherited, own.id, own.seq) == (False, "e", 3)


def test_an_inherited_part_that_does_not_fold_is_read_as_far_as_can_be() -> None:
    """What is no change and what does not fit is passed over there; an own one is a fault."""
    events = log(
        created(every("e", T)), {"version": 9}, dispatched("e", T - 1), deleted("x"), deleted("e")
    )
    (life,) = list_lives(events, seed_length=5)
    assert [passage.seq for passage in life.passages] == [4]
    with pytest.raises(LogFault):
        list_lives(events, seed_length=1)


@given(logs())
def test_every_receipt_belongs_to_a_life_and_every_active_record_is_the_last_one_of_its(
    log: Log,
) -> None:
    """What receipts and the fold tell is found in the lives, and nothing else."""
    lives = list_lives(log.events, log.seed_length)
    dispatches = [
        passage.seq
        for life in lives
        for passage in life.passages
        if isinstance(passage.change, Dispatch | StatedDispatch)
    ]
    receipts = list_receipts(log.events, log.seed_length).unwrap()
    assert sorted(dispatches) == [entry.seq for entry in receipts]
    ledger = fold(log.events, log.seed_length, log.profile).unwrap()
    left = {life.id: life.record for life in lives if life.ending is None and not life.inherited}
    assert left == dict(ledger.records)
