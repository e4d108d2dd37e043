"""Which reminder and which occurrence a dispatch stands for."""

from __future__ import annotations

from pathlib import Path

import pytest
from returns.pipeline import is_successful

from core_logs import (
    LAST_MS,
    T,
    after,
    at,
    created,
    deleted,
    dispatched,
    event,
    every,
    log,
    ok,
    refused,
)
from wakefold.events import Event, decode_change
from wakefold.json_text import format_json, parse_json
from wakefold.log_rules import LogRule
from wakefold.outcomes import either
from wakefold.receipts import (
    DispatchReceipt,
    Receipt,
    encode_receipt,
    list_receipts,
    present_dispatch,
)
from wakefold.rejections import CorruptScheduleLog

CREATE_A = created(after("a", T + 5))
CREATE_E = created(every("e"))
FOREIGN = event(CREATE_A, kind="user/message")
MALFORMED = {"version": 3}


def _at_their_places(events: list[Event]) -> list[Event]:
    return [event(e.data, seq, e.type, e.time_ms) for seq, e in enumerate(events)]


@pytest.mark.parametrize(
    ("changes", "seq", "receipt"),
    [
        ([CREATE_A, dispatched("a")], 1, Receipt("a", "p a", T + 5)),
        ([created(at("t")), dispatched("t")], 1, Receipt("t", "p t", T)),
        ([CREATE_E, dispatched("e", T)], 1, Receipt("e", "p e", T)),
        ([CREATE_E, dispatched("e", T + 299_999)], 1, Receipt("e", "p e", T)),
        ([CREATE_E, dispatched("e", T + 300_000)], 1, Receipt("e", "p e", T + 300_000)),
        ([CREATE_E, dispatched("e", T), dispatched("e", T + 300_000)], 1, Receipt("e", "p e", T)),
        (
            [CREATE_E, dispatched("e", T), dispatched("e", T + 300_000)],
            2,
            Receipt("e", "p e", T + 300_000),
        ),
        (
            [CREATE_E, dispatched("e", T + 1), CREATE_A, dispatched("a"), dispatched("e", T + 900_000)],
            4,
            Receipt("e", "p e", T + 900_000),
        ),
        (
            [CREATE_E, CREATE_A, deleted("a"), dispatched("e", T), CREATE_A, dispatched("a")],
            5,
            Receipt("a", "p a", T + 5),
        ),
    ],
)
def test_a_dispatch_stands_for_an_occurrence_of_its_nearest_create(
    changes: list[object], seq: int, receipt: Receipt
) -> None:
    """Everything between for that id is replayed; other ids do not matter."""
    assert ok(present_dispatch(log(*changes), seq)) == receipt


def test_the_distance_between_batches_is_not_looked_at() -> None:
    """A receipt of a published journal is a receipt."""
    changes = [CREATE_E, dispatched("e", T), created(every("f")), dispatched("f", T + 1)]
    assert ok(present_dispatch(log(*changes), 3)) == Receipt("f", "p f", T)
    assert len(ok(list_receipts(log(*changes)))) == 2


@pytest.mark.parametrize("seq", [0, 2, 3])
def test_any_other_event_has_no_receipt(seq: int) -> None:
    """Neither a create, nor a delete, nor a foreign event that looks like a change."""
    events = _at_their_places([*log(CREATE_A, dispatched("a"), deleted("a")), FOREIGN])
    assert ok(present_dispatch(events, seq)) is None
    assert ok(present_dispatch(events, 1)) == Receipt("a", "p a", T + 5)


NOT_LIVE: list[tuple[LogRule, str, list[object]]] = [
    ("id_not_active", "$.id", [dispatched("a")]),
    ("id_not_active", "$.id", [CREATE_E, dispatched("a")]),
    ("id_not_active", "$.id", [CREATE_A, deleted("a"), dispatched("a")]),
    ("id_not_active", "$.id", [CREATE_A, dispatched("a"), dispatched("a")]),
    (
        "id_not_active",
        "$.id",
        [created(every("a", LAST_MS)), dispatched("a", LAST_MS), dispatched("a")],
    ),
    ("one_shot_with_accepted_at", "$.acceptedAt", [CREATE_A, dispatched("a", T + 9)]),
    ("every_without_accepted_at", "$", [created(every("a")), dispatched("a")]),
    ("accepted_before_target", "$.acceptedAt", [created(every("a")), dispatched("a", T - 1)]),
    (
        "accepted_before_target",
        "$.acceptedAt",
        [created(every("a")), dispatched("a", T), dispatched("a", T + 299_999)],
    ),
]


@pytest.mark.parametrize(("rule", "path", "changes"), NOT_LIVE)
def test_a_dispatch_without_a_live_create_is_corrupt(
    rule: LogRule, path: str, changes: list[object]
) -> None:
    """The failure names the rule, the dispatch's place, the path and the id."""
    seq = len(changes) - 1
    fault = CorruptScheduleLog(rule, path, seq, "a")
    assert refused(present_dispatch(log(*changes), seq)) == fault
    assert refused(list_receipts(log(*changes))) == fault


@pytest.mark.parametrize(
    "between", [[deleted("a"), deleted("a")], [dispatched("a"), deleted("a")], [dispatched("a", T)]]
)
def test_a_fault_between_is_told_at_the_selected_dispatch(between: list[object]) -> None:
    """What lies between create and dispatch is replayed, and must be sound for that id."""
    changes = [CREATE_A, *between, dispatched("a")]
    fault = refused(present_dispatch(log(*changes), len(changes) - 1))
    assert (fault.index, fault.schedule_id) == (len(changes) - 1, "a")


def test_a_second_create_of_an_id_is_the_nearest() -> None:
    """A receipt does not judge that an id was used twice."""
    changes = [CREATE_A, created(at("a", T + 77)), dispatched("a")]
    assert ok(present_dispatch(log(*changes), 2)) == Receipt("a", "p a", T + 77)
    assert ok(list_receipts(log(*changes)))[0].receipt == Receipt("a", "p a", T + 77)


@pytest.mark.parametrize(
    ("seed_length", "found"),
    [
        (0, [5, 9]),
        (1, ["id_not_active", 9]),
        (2, [5, 9]),
        (3, [5, "id_not_active"]),
        (4, [5, 9]),
    ],
)
def test_the_seed_length_is_a_wall_for_the_own_suffix(seed_length: int, found: list[object]) -> None:
    """A create at it is found, one before it is not; an inherited dispatch searches the prefix."""
    events = log(CREATE_A, dispatched("a"), created(at("a", T + 9)), dispatched("a"))

    def present(seq: int) -> object:
        result = present_dispatch(events, seq, seed_length)
        return either(result, lambda receipt: receipt and receipt.occurrence_ms - T, _rule_of)

    assert [present(1), present(3)] == found


def _rule_of(fault: CorruptScheduleLog) -> object:
    return fault.rule


@pytest.mark.parametrize("seed_length", [-1, 3, 2**53, 0.5, None, True, "0", float("nan")])
def test_a_bad_seed_length_is_corrupt(seed_length: object) -> None:
    """It is a safe integer from 0 to the log's length."""
    events = log(CREATE_A, dispatched("a"))
    fault = CorruptScheduleLog("bad_seed_length", "$", None, None)
    assert refused(present_dispatch(events, 1, seed_length)) == fault  # type: ignore[arg-type]
    assert refused(list_receipts(events, seed_length)) == fault  # type: ignore[arg-type]


@pytest.mark.parametrize("seed_length", [0, 2, 0.0, 2.0])
def test_the_ends_of_the_log_are_seed_lengths(seed_length: int) -> None:
    """Nothing inherited, and everything."""
    events = log(CREATE_A, dispatched("a"))
    assert ok(present_dispatch(events, 1, seed_length)) == Receipt("a", "p a", T + 5)
    assert len(ok(list_receipts(events, seed_length))) == 1


@pytest.mark.parametrize(
    "seq", [-1, 2, 2**53, 0.5, None, True, False, "1", float("nan"), float("inf"), [1]]
)
def test_a_bad_dispatch_seq_is_corrupt(seq: object) -> None:
    """It is a safe integer that names an event of the log."""
    events = log(CREATE_A, dispatched("a"))
    fault = CorruptScheduleLog("bad_dispatch_seq", "$", None, None)
    assert refused(present_dispatch(events, seq)) == fault  # type: ignore[arg-type]


def test_a_seq_is_a_number_with_a_zero_fraction_too() -> None:
    """`1.0` names event 1."""
    assert ok(present_dispatch(log(CREATE_A, dispatched("a")), 1.0))  # type: ignore[arg-type]


@pytest.mark.parametrize("seq", [0, 2, -1])
def test_the_event_must_stand_at_its_own_seq(seq: int) -> None:
    """A log that was cut or shifted names other events; those around it are not asked."""
    events = [event(CREATE_A, 9), event(dispatched("a"), seq)]
    assert refused(present_dispatch(events, 1)).rule == "bad_dispatch_seq"
    assert ok(present_dispatch([event(CREATE_A, 9), event(dispatched("a"), 1)], 1))
    assert refused(present_dispatch([], 0)).rule == "bad_dispatch_seq"
    assert refused(present_dispatch([event(CREATE_A, -1)], -1)).rule == "bad_dispatch_seq"


def test_the_search_of_an_inherited_dispatch_ends_at_the_start() -> None:
    """A create behind it is not its own."""
    events = log(dispatched("a"), CREATE_A)
    assert refused(present_dispatch(events, 0, 1)) == CorruptScheduleLog(
        "id_not_active", "$.id", 0, "a"
    )


def test_walking_back_ends_at_the_create() -> None:
    """A malformed change after it is corrupt, one before it is not looked at."""
    fault = CorruptScheduleLog("unknown_version", "$.version", 1, None)
    assert refused(present_dispatch(log(CREATE_A, MALFORMED, dispatched("a")), 2)) == fault
    assert ok(present_dispatch(log(MALFORMED, CREATE_A, dispatched("a")), 2))
    assert ok(present_dispatch(log(CREATE_A, dispatched("a"), MALFORMED), 1))
    assert refused(present_dispatch(log(CREATE_A, MALFORMED), 1)) == fault
    missing = present_dispatch(log(MALFORMED, CREATE_E, dispatched("a")), 2)
    assert refused(missing) == CorruptScheduleLog("unknown_version", "$.version", 0, None)
    behind_the_wall = present_dispatch(log(MALFORMED, CREATE_E, dispatched("a")), 2, 1)
    assert refused(behind_the_wall) == CorruptScheduleLog("id_not_active", "$.id", 2, "a")


def test_foreign_events_in_between_are_passed_over() -> None:
    """Whatever they hold."""
    events = _at_their_places([*log(CREATE_A), FOREIGN, FOREIGN, *log(dispatched("a"))])
    assert ok(present_dispatch(events, 3)) == Receipt("a", "p a", T + 5)
    assert [found.seq for found in ok(list_receipts(events))] == [3]


def test_all_receipts_are_listed_with_their_events() -> None:
    """In the order of the log, each with the dispatch's own seq and time."""
    events = [
        event(CREATE_E, 10, time_ms=1),
        event(CREATE_A, 11, time_ms=2),
        event(dispatched("e", T), 12, time_ms=T + 3),
        event(dispatched("a"), 13, time_ms=T + 4),
        event(dispatched("e", T + 600_000), 20, time_ms=T + 5),
    ]
    assert ok(list_receipts(iter(events))) == (
        DispatchReceipt(12, T + 3, Receipt("e", "p e", T)),
        DispatchReceipt(13, T + 4, Receipt("a", "p a", T + 5)),
        DispatchReceipt(20, T + 5, Receipt("e", "p e", T + 600_000)),
    )
    assert [found.late_ms for found in ok(list_receipts(events))] == [3, -1, 5 - 600_000]
    assert ok(list_receipts([])) == ()
    assert refused(list_receipts([], 1)).rule == "bad_seed_length"


@pytest.mark.parametrize("seed_length", [0, 1, 2, 3, 4, 5, 6])
def test_listing_stands_at_the_same_wall(seed_length: int) -> None:
    """A list is what each event's own presentation says, up to the first that fails."""
    events = log(
        CREATE_A, dispatched("a"), CREATE_E, dispatched("e", T), CREATE_A, dispatched("e", T + 600_000)
    )
    _agree(events, seed_length)


def test_listing_agrees_with_presenting() -> None:
    """On every log of the presentation vectors whose events stand at their seq."""
    path = Path(__file__).parent / "vectors" / "presentation.jsonl"
    agreed = 0
    for line in path.read_text("ascii").splitlines():
        case = parse_json(line)
        assert isinstance(case, dict)
        events = [event(e.get("data"), e["seq"], e["type"]) for e in case["events"]]
        length = case.get("seedLength", 0)
        if all(e.seq == place for place, e in enumerate(events)) and type(length) is int:
            _agree(events, length)
            agreed += 1
    assert agreed > 100


def _agree(events: list[Event], seed_length: int) -> None:
    """The list holds each dispatch's receipt; a malformed inherited change is no dispatch."""
    one_by_one = [
        present_dispatch(events, seq, seed_length)
        for seq in range(len(events))
        if seq >= seed_length or _is_readable(events[seq])
    ]
    faults = [refused(result) for result in one_by_one if not is_successful(result)]
    listed = list_receipts(events, seed_length)
    if faults or not 0 <= seed_length <= len(events):
        assert refused(listed).code == "corrupt_schedule_log"
        assert [refused(listed)] == faults[:1] or refused(listed).rule == "bad_seed_length"
    else:
        assert [found.receipt for found in ok(listed)] == [
            receipt for receipt in map(ok, one_by_one) if receipt is not None
        ]


def _is_readable(found: Event) -> bool:
    return found.type != "schedule/change" or is_successful(decode_change(found.data))


def test_a_malformed_inherited_change_hides_what_was_created_before_it() -> None:
    """A create after it and a fork's own records do not suffer from it."""
    events = log(CREATE_A, {"version": 7}, CREATE_E, dispatched("e", T), dispatched("a"))
    assert [found.seq for found in ok(list_receipts(events[:4], 4))] == [3]
    assert refused(list_receipts(events, 5)).index == 1
    assert [found.seq for found in ok(list_receipts(events[:4], 2))] == [3]
    assert refused(list_receipts(events[:4], 1)).index == 1
    for seed_length in range(6):
        _agree(events, seed_length)
        _agree(events[:4], seed_length)


def test_a_receipt_is_written_with_its_keys_in_order() -> None:
    """As the page names them."""
    assert format_json(encode_receipt(Receipt("e", "p\ud83d", T))) == (
        '{"scheduleId":"e","prompt":"p\\ud83d","occurrenceAt":"2027-01-15T08:00:00.000Z"}'
    )
