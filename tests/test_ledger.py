"""What a log means: every rule of the fold, on both sides of every bound."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from returns.pipeline import is_successful
from returns.result import Result

from core_logs import (
    FIRST_MS,
    GATE_MS,
    LAST_MS,
    T,
    after,
    at,
    at_record,
    created,
    deleted,
    dispatched,
    event,
    every,
    every_record,
    ledger_of,
    log,
    ok,
    refused,
)
from wakefold.events import AfterRecord, AtRecord, Dispatch, Event, EveryRecord, Record
from wakefold.json_text import parse_json
from wakefold.ledger import (
    EMPTY,
    Ledger,
    accept_dispatch,
    evolve,
    find_active,
    find_shortest_interval,
    fold,
    list_active,
    validate,
)
from wakefold.recurrence import PUBLISHED, SEED, Occurrence, Profile
from wakefold.rejections import CorruptScheduleLog, LogFault
from wakefold.transitions import Accepted, accept_occurrence

CREATE_A = created(after("a"))
CREATE_T = created(at("t"))
CREATE_E = created(every("e"))
CREATE_F = created(every("f"))


def test_a_log_without_events_has_an_empty_ledger() -> None:
    """Nothing active, nothing seen, no batch, under SEED."""
    assert ok(fold([])) == EMPTY == Ledger()
    assert (EMPTY.profile, EMPTY.seed_length, EMPTY.position) == (SEED, 0, 0)
    assert (dict(EMPTY.records), dict(EMPTY.seen_ids), EMPTY.last_accepted_at_ms) == ({}, {}, None)
    assert list_active(EMPTY) == ()


def test_a_ledger_is_made_by_names() -> None:
    """Its six fields cannot be given by place."""
    with pytest.raises(TypeError, match="positional"):
        Ledger(SEED)  # type: ignore[call-arg]


def test_creates_are_kept_in_their_order() -> None:
    """Active records and seen ids stand as they were created, whatever their targets."""
    ledger = ledger_of(CREATE_T, CREATE_E, CREATE_A)
    assert list_active(ledger) == (
        AtRecord("t", "p t", T),
        EveryRecord("e", "p e", 300, T),
        AfterRecord("a", "p a", 30, T),
    )
    assert list(ledger.seen_ids.items()) == [("t", None), ("e", None), ("a", None)]
    assert (ledger.position, ledger.last_accepted_at_ms) == (3, None)


@pytest.mark.parametrize(
    ("end", "create"),
    [(deleted("a"), CREATE_A), (dispatched("a"), CREATE_A), (deleted("e"), CREATE_E)],
)
def test_an_ended_record_is_gone_but_its_id_was_seen(end: object, create: object) -> None:
    """A delete ends any record, a dispatch a one-shot."""
    ledger = ledger_of(CREATE_T, create, end)
    assert list_active(ledger) == (AtRecord("t", "p t", T),)
    assert len(ledger.seen_ids) == 2


def test_a_dispatch_of_a_repeating_record_keeps_its_place() -> None:
    """The record goes on with its next target, in create order."""
    ledger = ledger_of(CREATE_E, CREATE_T, dispatched("e", T + 599_999))
    assert list_active(ledger) == (
        every_record(target_ms=T + 600_000, runs=1),
        AtRecord("t", "p t", T),
    )
    assert ledger.last_accepted_at_ms == T + 599_999


CORRUPT = [
    ("id_reused", "$.schedule.id", "a", [CREATE_A, CREATE_A]),
    ("id_reused", "$.schedule.id", "a", [CREATE_A, created(every("a"))]),
    ("id_reused", "$.schedule.id", "a", [CREATE_A, deleted("a"), CREATE_A]),
    ("id_reused", "$.schedule.id", "a", [CREATE_A, dispatched("a"), CREATE_A]),
    ("id_not_active", "$.id", "a", [deleted("a")]),
    ("id_not_active", "$.id", "a", [CREATE_A, deleted("a"), deleted("a")]),
    ("id_not_active", "$.id", "a", [CREATE_A, dispatched("a"), deleted("a")]),
    ("id_not_active", "$.id", "a", [dispatched("a")]),
    ("id_not_active", "$.id", "a", [CREATE_A, dispatched("a"), dispatched("a")]),
    ("id_not_active", "$.id", "e", [CREATE_E, deleted("e"), dispatched("e", T)]),
    ("one_shot_with_accepted_at", "$.acceptedAt", "a", [CREATE_A, dispatched("a", T)]),
    ("one_shot_with_accepted_at", "$.acceptedAt", "t", [CREATE_T, dispatched("t", T)]),
    ("every_without_accepted_at", "$", "e", [CREATE_E, dispatched("e")]),
    ("accepted_before_target", "$.acceptedAt", "e", [CREATE_E, dispatched("e", T - 1)]),
    (
        "accepted_before_target",
        "$.acceptedAt",
        "e",
        [CREATE_E, dispatched("e", T + 1), dispatched("e", T + 1)],
    ),
    (
        "batches_too_close",
        "$.acceptedAt",
        "f",
        [CREATE_E, CREATE_F, dispatched("e", T), dispatched("f", T + 299_999)],
    ),
    (
        "batches_too_close",
        "$.acceptedAt",
        "f",
        [CREATE_E, CREATE_F, dispatched("e", T), dispatched("f", T + 1)],
    ),
    (
        "batches_too_close",
        "$.acceptedAt",
        "f",
        [CREATE_E, CREATE_F, dispatched("e", T + 1), dispatched("f", T)],
    ),
    ("unknown_version", "$.version", None, [CREATE_A, {"version": 3}]),
    ("bad_instant", "$.acceptedAt", None, [CREATE_E, {**dispatched("e", T), "acceptedAt": 1}]),
]


@pytest.mark.parametrize(("rule", "path", "schedule_id", "changes"), CORRUPT)
def test_the_first_violation_makes_the_log_corrupt(
    rule: str, path: str, schedule_id: str | None, changes: list[object]
) -> None:
    """The failure names the rule, the event's place, the path in it and the id, folded or evolved."""
    *sound, last = log(*changes)
    fault = refused(fold([*sound, last, event("not looked at")]))
    assert (fault.rule, fault.path, fault.schedule_id) == (rule, path, schedule_id)
    assert fault.index == len(sound)
    before = ok(fold(sound))
    assert refused(evolve(before, last)) == fault
    assert refused(validate(before, last)) == fault


@pytest.mark.parametrize(
    "changes",
    [
        [CREATE_A, dispatched("a")],
        [created(at("t", LAST_MS)), dispatched("t")],
        [CREATE_E, dispatched("e", T)],
        [CREATE_E, dispatched("e", T + 1)],
        [CREATE_E, CREATE_F, dispatched("e", T), dispatched("f", T)],
        [CREATE_E, CREATE_F, dispatched("e", T), dispatched("f", T + 300_000)],
        [CREATE_E, CREATE_F, dispatched("e", T), dispatched("f", T + 300_001)],
        [CREATE_E, CREATE_A, dispatched("e", T), dispatched("a")],
        [CREATE_E, dispatched("e", T), dispatched("e", T + 300_000), dispatched("e", T + 600_000)],
    ],
)
def test_what_the_rules_allow_folds(changes: list[object]) -> None:
    """An acceptance at the target, a batch at its exact distance, a one-shot before its time."""
    assert is_successful(fold(log(*changes)))


@pytest.mark.parametrize("seconds", [299, 301])
def test_a_profile_brings_its_own_distance(seconds: int) -> None:
    """The distance is the profile's, to the millisecond."""
    profile = Profile(name="other", batch_distance_ms=seconds * 1_000)
    start = [CREATE_E, CREATE_F, dispatched("e", T)]
    near, far = (dispatched("f", T + seconds * 1_000 - early) for early in (1, 0))
    assert refused(fold(log(*start, near), 0, profile)).rule == "batches_too_close"
    assert ok(fold(log(*start, far), 0, profile)).profile == profile


@pytest.mark.parametrize("second_ms", [T, T + 1, T + 299_999, T + 5_000_000])
def test_published_batches_may_stand_anywhere(second_ms: int) -> None:
    """Without the gate rules two batches may be close, and may go backwards."""
    changes = [CREATE_E, CREATE_F, dispatched("e", T + 1_000_000), dispatched("f", second_ms)]
    ledger = ledger_of(*changes, profile=PUBLISHED)
    assert ledger.last_accepted_at_ms == second_ms


def test_a_delete_does_not_reset_the_gate() -> None:
    """The last batch still counts when its record is gone."""
    changes = [CREATE_E, CREATE_F, dispatched("e", T), deleted("e")]
    assert ledger_of(*changes).last_accepted_at_ms == T
    near = fold(log(*changes, dispatched("f", T + 299_999)))
    assert refused(near).rule == "batches_too_close"
    assert is_successful(fold(log(*changes, dispatched("f", T + 300_000))))


def test_a_one_shot_is_no_batch() -> None:
    """Its dispatch neither closes the gate nor is held by it."""
    ledger = ledger_of(CREATE_E, CREATE_A, CREATE_T, dispatched("a"), dispatched("e", T))
    assert ledger.last_accepted_at_ms == T
    assert ok(evolve(ledger, event(dispatched("t")))).last_accepted_at_ms == T
    assert ledger_of(CREATE_A, dispatched("a")).last_accepted_at_ms is None


@pytest.mark.parametrize(
    ("target_ms", "remaining"),
    [
        (LAST_MS - 300_000, (every_record(target_ms=LAST_MS, runs=1),)),
        (LAST_MS - 299_999, ()),
        (LAST_MS, ()),
    ],
)
def test_a_record_whose_next_target_leaves_the_years_ends(
    target_ms: int, remaining: tuple[Record, ...]
) -> None:
    """The last instant of year 9999 is a target, what lies after it ends the record."""
    changes = [created(every("e", target_ms)), dispatched("e", target_ms)]
    assert list_active(ledger_of(*changes, profile=PUBLISHED)) == remaining


@pytest.mark.parametrize(
    ("accepted_at_ms", "profile", "active"),
    [
        (LAST_MS - 300_000, SEED, ["f", "t"]),
        (LAST_MS - 299_999, SEED, ["t"]),
        (LAST_MS - 299_999, PUBLISHED, ["f", "t"]),
    ],
)
def test_an_exhausted_gate_ends_every_repeating_record(
    accepted_at_ms: int, profile: Profile, active: list[str]
) -> None:
    """A gate that opens at the last instant still does; one that opens later ends them, under SEED."""
    changes = [
        created(every("e", accepted_at_ms, 301)),
        created(every("f", LAST_MS)),
        CREATE_T,
        dispatched("e", accepted_at_ms),
    ]
    ledger = ledger_of(*changes, profile=profile)
    assert ledger.last_accepted_at_ms == accepted_at_ms
    assert [record.id for record in list_active(ledger)] == active
    assert [name for name in "eft" if find_active(ledger, name) is not None] == active
    assert find_shortest_interval(ledger) == (300 if "f" in active else None)


def test_the_shortest_interval_is_that_of_an_active_record() -> None:
    """One-shots have none, and what has ended counts no more."""
    start = [CREATE_T, created(every("e", T, 900)), created(every("f", T, 600))]
    assert find_shortest_interval(ledger_of(*start[:1])) is None
    assert find_shortest_interval(ledger_of(*start)) == 600
    assert find_shortest_interval(ledger_of(*start, deleted("f"))) == 900


def test_exhaustion_is_looked_at_only_at_the_end() -> None:
    """While the log grows, the same batch, a delete and a create may still name what was ended."""
    accepted_at_ms = LAST_MS - 1
    start = [created(every(name, accepted_at_ms)) for name in "efgh"]
    ledger = ledger_of(*start, dispatched("e", accepted_at_ms))
    assert list_active(ledger) == ()
    assert list(ledger.records) == ["f", "g", "h"]
    same_batch = ok(evolve(ledger, event(dispatched("f", accepted_at_ms))))
    assert list(same_batch.records) == ["g", "h"]
    fewer = ok(evolve(same_batch, event(deleted("g"))))
    assert list(fewer.records) == ["h"]
    more = ok(evolve(fewer, event(CREATE_A)))
    assert list_active(ok(evolve(more, event(created(every("n")))))) == (
        AfterRecord("a", "p a", 30, T),
    )
    assert refused(evolve(fewer, event(dispatched("h", LAST_MS)))).rule == "batches_too_close"


@pytest.mark.parametrize(
    "foreign",
    [
        event(None, kind="user/message"),
        event({"version": 2}, kind="plan/create"),
        event(CREATE_A, kind="schedule/changed"),
        event(CREATE_A, kind="Schedule/Change"),
        event(CREATE_A, kind=""),
    ],
)
def test_other_events_are_passed_over(foreign: Event) -> None:
    """Whatever they hold, they only take up a place."""
    ledger = ok(fold([foreign, event(CREATE_T), foreign]))
    assert list(ledger.seen_ids) == ["t"]
    assert ledger.position == 3
    assert refused(fold([foreign, event(CREATE_T), event(CREATE_T)])).index == 2


def test_seq_and_time_are_not_looked_at() -> None:
    """The place in the log is what counts."""
    changes = [event(CREATE_A, 7, time_ms=9), event(CREATE_T, 7, time_ms=-1), event(deleted("t"), -1)]
    assert list(ok(fold(changes)).records) == ["a"]


@pytest.mark.parametrize(
    ("seed_length", "active"),
    [(0, ["a", "t"]), (1, ["t"]), (2, []), (2.0, []), (1.0, ["t"])],
)
def test_only_the_own_suffix_counts(seed_length: int, active: list[str]) -> None:
    """The event at the seed length is the first of the suffix, the one before it is inherited."""
    ledger = ok(fold(log(CREATE_A, CREATE_T), seed_length))
    assert list(ledger.records) == active
    assert (ledger.seed_length, ledger.position) == (seed_length, 2)
    assert type(ledger.seed_length) is int


def test_the_inherited_part_is_not_even_read() -> None:
    """A change that is corrupt at the seed length is none before it, folded or evolved."""
    events = log({"version": 2}, CREATE_A)
    assert list(ok(fold(events, 1)).records) == ["a"]
    assert refused(fold(events, 0)).index == 0
    fork = Ledger(seed_length=1)
    inherited = ok(evolve(fork, events[0]))
    assert (inherited.position, inherited.records) == (1, {})
    assert refused(evolve(inherited, events[0])).index == 1
    assert ok(evolve(inherited, events[1])) == ok(fold(events, 1))


@pytest.mark.parametrize(
    "seed_length", [-1, 3, 2**53, 0.5, None, True, False, "0", [], float("nan"), float("inf"), 2.5]
)
def test_a_bad_seed_length_makes_the_log_corrupt(seed_length: object) -> None:
    """It is a safe integer from 0 to the log's length, and no event is to blame for it."""
    fault = refused(fold(log(CREATE_A, CREATE_T), seed_length))  # type: ignore[arg-type]
    assert fault == CorruptScheduleLog("bad_seed_length", "$", None, None)


def test_an_empty_log_has_only_the_seed_length_zero() -> None:
    """Its length is its greatest seed length."""
    assert is_successful(fold([], 0))
    assert refused(fold([], 1)).rule == "bad_seed_length"


def test_events_may_come_from_a_generator() -> None:
    """One pass, in order; nothing is asked for after the first violation."""
    asked: list[int] = []

    def read() -> Iterator[Event]:
        for one in log(CREATE_A, deleted("x"), CREATE_T):
            asked.append(one.seq)
            yield one

    assert refused(fold(read())).index == 1
    assert asked == [0, 1]
    assert ok(fold(iter(log(CREATE_A, CREATE_T)))) == ledger_of(CREATE_A, CREATE_T)


@pytest.mark.parametrize(
    "following",
    [created(at("n")), deleted("e"), dispatched("e", T), dispatched("a"), deleted("x"), {}],
)
def test_evolving_leaves_the_ledger_as_it_was(following: object) -> None:
    """A ledger is a value: neither a success nor a failure changes it."""
    ledger = ledger_of(CREATE_A, CREATE_E)
    before = copy.deepcopy(ledger)
    evolve(ledger, event(following))
    assert ledger == before
    assert list(ledger.records) == list(before.records)
    with pytest.raises(AttributeError, match="immutable"):
        ledger.position = 0  # type: ignore[misc]


def test_a_candidate_that_may_follow_is_given_back() -> None:
    """`validate` answers with the very event."""
    candidate = event(deleted("a"), 1)
    assert ok(validate(ledger_of(CREATE_A), candidate)) is candidate
    assert ok(validate(EMPTY, event("any", kind="user/message"))).data == "any"


def _evolve(one: Event, ledger: Ledger) -> Result[Ledger, CorruptScheduleLog]:
    return evolve(ledger, one)


def test_one_algorithm_two_speeds() -> None:
    """Event by event or in one loop, each vector log comes to the same ledger or the same fault."""
    for line in (Path(__file__).parent / "vectors" / "fold.jsonl").read_text("ascii").splitlines():
        case = parse_json(line)
        assert isinstance(case, dict)
        if "seedLength" in case:
            continue
        events = [event(e.get("data"), e["seq"], e["type"]) for e in case["events"]]
        result = fold([])
        for one in events:
            result = result.bind(partial(_evolve, one))
        assert result == fold(events), case["name"]


RECORD = every_record()


@pytest.mark.parametrize(
    ("record", "dispatch", "accepted"),
    [
        (at_record(), Dispatch("t"), Accepted(T, None)),
        (AfterRecord("a", "p", 30, T), Dispatch("a"), Accepted(T, None)),
        (RECORD, Dispatch("e", T), Accepted(T, every_record(target_ms=T + 300_000, runs=1))),
        (RECORD, Dispatch("e", T + 299_999), Accepted(T, every_record(target_ms=T + 300_000, runs=1))),
        (
            RECORD,
            Dispatch("e", T + 300_000),
            Accepted(T + 300_000, every_record(target_ms=T + 600_000, runs=1)),
        ),
        (every_record(target_ms=LAST_MS), Dispatch("e", LAST_MS), Accepted(LAST_MS, None)),
    ],
)
def test_a_dispatch_delivers_an_occurrence_and_leaves_a_record(
    record: Record, dispatch: Dispatch, accepted: Accepted
) -> None:
    """A one-shot occurs at its target and ends; a repeating record goes on under its own name."""
    assert accept_dispatch(record, dispatch) == accepted


@pytest.mark.parametrize(
    ("record", "dispatch", "rule", "path"),
    [
        (at_record("x"), Dispatch("x", T), "one_shot_with_accepted_at", "$.acceptedAt"),
        (every_record("x"), Dispatch("x"), "every_without_accepted_at", "$"),
        (every_record("x"), Dispatch("x", T - 1), "accepted_before_target", "$.acceptedAt"),
        (every_record("x"), Dispatch("x", LAST_MS + 1), "bad_instant", "$.acceptedAt"),
    ],
)
def test_a_dispatch_must_fit_its_record(
    record: Record, dispatch: Dispatch, rule: str, path: str
) -> None:
    """The fault names the rule, the path and the record."""
    with pytest.raises(LogFault) as raised:
        accept_dispatch(record, dispatch)
    fault = raised.value.located()
    assert (fault.rule, fault.path, fault.schedule_id) == (rule, path, "x")


@pytest.mark.parametrize(
    ("accepted_at_ms", "occurrence"),
    [
        (T, Occurrence(T, T + 300_000)),
        (float(T), Occurrence(T, T + 300_000)),
        (T + 299_999.0, Occurrence(T, T + 300_000)),
        (T + 300_000, Occurrence(T + 300_000, T + 600_000)),
        (LAST_MS, Occurrence(LAST_MS - (LAST_MS - T) % 300_000, None)),
    ],
)
def test_an_acceptance_is_a_whole_number_of_milliseconds(
    accepted_at_ms: float, occurrence: Occurrence
) -> None:
    """A float with a zero fraction is that number, up to the last instant."""
    found = accept_occurrence(RECORD, accepted_at_ms)
    assert found == occurrence
    assert type(found.occurrence_ms) is int


@pytest.mark.parametrize(
    ("target_ms", "accepted_at_ms", "rule"),
    [
        (T, T - 1, "accepted_before_target"),
        (T, T + 0.5, "bad_instant"),
        (T, LAST_MS + 1, "bad_instant"),
        (T, 2**53, "bad_instant"),
        (T, float("nan"), "bad_instant"),
        (T, float("inf"), "bad_instant"),
        (T, True, "bad_instant"),
        (FIRST_MS, FIRST_MS - 1, "bad_instant"),
    ],
)
def test_no_other_acceptance_is_taken(target_ms: int, accepted_at_ms: float, rule: str) -> None:
    """Neither a fraction, nor what lies outside the years, nor what comes before the target."""
    with pytest.raises(LogFault) as raised:
        accept_occurrence(every_record("x", target_ms), accepted_at_ms)
    fault = raised.value.located()
    assert (fault.rule, fault.path, fault.schedule_id) == (rule, "$.acceptedAt", "x")


def test_the_first_instant_can_be_accepted() -> None:
    """The range holds its first end too."""
    found = accept_occurrence(every_record("x", FIRST_MS), FIRST_MS)
    assert found == Occurrence(FIRST_MS, FIRST_MS + GATE_MS)


@pytest.mark.parametrize("profile", [SEED, PUBLISHED])
def test_a_ledger_grows_under_its_own_profile(profile: Profile) -> None:
    """Whatever comes, and however often."""
    ledger = Ledger(profile=profile)
    for seq in range(2):
        ledger = ok(evolve(ledger, Event("user/message", seq, T, {})))
    assert (ledger.profile, ledger.position) == (profile, 2)
