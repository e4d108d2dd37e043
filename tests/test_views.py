"""What managing callers read of a record."""

from __future__ import annotations

import pytest

from core_logs import (
    LAST_MS,
    T,
    at,
    at_record,
    created,
    deleted,
    dispatched,
    every,
    every_record,
    ledger_of,
)
from wakefold.events import AfterRecord, Record
from wakefold.json_text import format_json
from wakefold.recurrence import PUBLISHED, SEED, Profile
from wakefold.views import View, encode_view, list_views, view_record

SHOT = at_record()
DELAY = AfterRecord("a", "p", 30, T)
REPEAT = every_record()


@pytest.mark.parametrize("record", [SHOT, DELAY, REPEAT])
@pytest.mark.parametrize(
    ("now_ms", "state"),
    [
        (T - 1, "scheduled"),
        (T, "overdue"),
        (T + 1, "overdue"),
        (LAST_MS + 1, "overdue"),
        (-(2**60), "scheduled"),
    ],
)
def test_a_record_is_overdue_from_its_target_on(record: Record, now_ms: int, state: str) -> None:
    """Until then it is scheduled, and without a batch nothing stands in its way."""
    view = view_record(record, now_ms, SEED, None)
    assert (view.record, view.state, view.delivery_not_before_ms) == (record, state, None)
    assert view.delivery_mode == "session-local"


@pytest.mark.parametrize(
    ("record", "now_ms", "profile", "last_ms", "not_before_ms"),
    [
        (REPEAT, T, SEED, T - 300_001, None),
        (REPEAT, T, SEED, T - 300_000, None),
        (REPEAT, T, SEED, T - 299_999, T + 1),
        (REPEAT, T, SEED, T, T + 300_000),
        (REPEAT, T + 299_999, SEED, T, T + 300_000),
        (REPEAT, T + 300_000, SEED, T, None),
        (REPEAT, T - 1, SEED, T - 1, None),
        (REPEAT, T, PUBLISHED, T, None),
        (REPEAT, T, Profile(name="short", batch_distance_ms=1), T, T + 1),
        (SHOT, T, SEED, T, None),
        (DELAY, T, SEED, T, None),
        (REPEAT, LAST_MS - 1, SEED, LAST_MS - 300_000, LAST_MS),
        (REPEAT, LAST_MS - 1, SEED, LAST_MS - 299_999, None),
    ],
)
def test_only_an_overdue_repeat_behind_the_gate_names_its_instant(
    record: Record, now_ms: int, profile: Profile, last_ms: int, not_before_ms: int | None
) -> None:
    """The gate must be closed at now and its instant representable."""
    view = view_record(record, now_ms, profile, last_ms)
    assert view.delivery_not_before_ms == not_before_ms


@pytest.mark.parametrize(
    ("view", "text"),
    [
        (
            View(at_record(), "scheduled"),
            (
                '{"id":"t","kind":"at","prompt":"p t","scheduledAt":"2027-01-15T08:00:00.000Z",'
                '"state":"scheduled","deliveryMode":"session-local"}'
            ),
        ),
        (
            View(AfterRecord("a", "p", 30, T), "overdue"),
            (
                '{"id":"a","kind":"after","prompt":"p","afterSeconds":30,'
                '"scheduledAt":"2027-01-15T08:00:00.000Z","state":"overdue",'
                '"deliveryMode":"session-local"}'
            ),
        ),
        (
            View(every_record(), "overdue", T + 1),
            (
                '{"id":"e","kind":"every","prompt":"p e","everySeconds":300,'
                '"scheduledAt":"2027-01-15T08:00:00.000Z","state":"overdue",'
                '"deliveryMode":"session-local","deliveryNotBefore":"2027-01-15T08:00:00.001Z"}'
            ),
        ),
        (
            View(every_record(), "overdue", 0),
            (
                '{"id":"e","kind":"every","prompt":"p e","everySeconds":300,'
                '"scheduledAt":"2027-01-15T08:00:00.000Z","state":"overdue",'
                '"deliveryMode":"session-local","deliveryNotBefore":"1970-01-01T00:00:00.000Z"}'
            ),
        ),
    ],
)
def test_a_view_is_written_with_its_keys_in_order(view: View, text: str) -> None:
    """The record's own fields first, then state, mode and, where set, the gate's instant."""
    assert format_json(encode_view(view)) == text


def test_all_active_records_are_listed_in_create_order() -> None:
    """Ended ones are not, and each is seen behind the session's gate."""
    names = {"t": T + 300_001, "e": T, "f": T + 1}
    creates = [created(every(name, target)) for name, target in names.items()]
    ledger = ledger_of(created(at("x")), *creates, created(at("u")), deleted("x"), dispatched("e", T))
    found = list_views(ledger, T + 9)
    assert [(view.record.id, view.state, view.delivery_not_before_ms) for view in found] == [
        ("t", "scheduled", None),
        ("e", "scheduled", None),
        ("f", "overdue", T + 300_000),
        ("u", "overdue", None),
    ]
    assert found[0] == View(every_record("t", T + 300_001), "scheduled")


def test_under_published_no_view_names_a_gate() -> None:
    """There is none."""
    changes = [created(every("e")), created(every("f", T + 1)), dispatched("e", T)]
    found = list_views(ledger_of(*changes, profile=PUBLISHED), T + 9)
    assert [view.delivery_not_before_ms for view in found] == [None, None]


def test_what_exhaustion_ended_is_not_listed() -> None:
    """The gate that never opens again has ended it."""
    late = LAST_MS - 299_999
    changes = [created(every("e", late)), created(every("f", late)), created(at("t"))]
    ledger = ledger_of(*changes, dispatched("e", late))
    assert [view.record.id for view in list_views(ledger, LAST_MS)] == ["t"]


@pytest.mark.parametrize(
    ("gate_ms", "held_ms", "later_ms"),
    [(None, None, None), (T, None, T), (None, T, T), (T, T + 1, T + 1), (T + 1, T, T + 1)],
)
def test_the_later_of_gate_and_hold_is_waited_for(
    gate_ms: int | None, held_ms: int | None, later_ms: int | None
) -> None:
    """And nothing where there is neither."""
    view = View(REPEAT, "overdue", delivery_not_before_ms=gate_ms, held_until_ms=held_ms)
    assert view.not_before_ms == later_ms
