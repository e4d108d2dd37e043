"""How a request to change a reminder is refused, to the word, and when it needs a zone."""

from __future__ import annotations

import pytest

from wakefold.edit_requests import make_edit, read_update_request, wants_zone
from wakefold.edits import Changes, Update
from wakefold.events import SCHEDULE_CHANGE, AtRecord, Create, Event, EveryRecord, Record, encode_change
from wakefold.implied_zones import NO_ZONE
from wakefold.instants import format_instant
from wakefold.ledger import Ledger, fold
from wakefold.rejections import InvalidRule, InvalidSelector, NotFuture, Rejection
from wakefold.requests import read_create_request

T = 1_800_000_000_000
LOCAL = {"date": "2027-02-01", "time": "09:00"}
ZONED = {**LOCAL, "time_zone": "Europe/Berlin"}
BOTH = {"after_seconds": 1, "every_seconds": 300}


def hold(record: Record) -> Ledger:
    return fold([Event(SCHEDULE_CHANGE, 0, 0, encode_change(Create(record)))]).unwrap()


@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [
        ({"id": "s"}, InvalidSelector(keys=(), wanted="update")),
        ({"id": "s", "revision": 1}, InvalidSelector(keys=("revision",), wanted="update")),
        ({"id": "s", **BOTH}, InvalidSelector(keys=tuple(BOTH), wanted="update")),
        (
            {"id": "s", "paused": True, "prompt": "x"},
            InvalidSelector(keys=("paused", "prompt"), wanted="update"),
        ),
        ({"id": " s", "paused": True}, InvalidRule(fault="not_trimmed_id", value='" s"')),
        ({"id": "s", "revision": -1, "paused": True}, InvalidRule(fault="revision", value="-1")),
        ({"id": "s", "revision": "1", "paused": True}, InvalidRule(fault="revision", value='"1"')),
        ({"id": "s", "paused": "no"}, InvalidRule(fault="paused", value='"no"')),
        ({"id": "s", "title": " "}, InvalidRule(fault="title", value='" "')),
        ({"id": "s", "max_runs": 0}, InvalidRule(fault="max_runs", value="0")),
        ({"id": "s", "missed": "x"}, InvalidRule(fault="missed", value='"x"')),
        ({"id": "s", "grace_seconds": 1}, InvalidRule(fault="grace_seconds", value="1")),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_was_given(
    arguments: dict[str, object], refusal: Rejection
) -> None:
    assert read_update_request(arguments).failure() == refusal


@pytest.mark.parametrize("name", ["title", "max_runs", "until", "missed", "grace_seconds"])
def test_only_an_update_takes_an_option_away(name: str) -> None:
    """After one that is taken away the others are still read."""
    made = read_create_request({"prompt": "x", "after_seconds": 1, name: None})
    assert made.failure() == InvalidRule(fault="option_null", value=name)
    taken = read_update_request({"id": "s", name: None, "grace_seconds": 1})
    assert taken.failure() == InvalidRule(fault="grace_seconds", value="1")


@pytest.mark.parametrize("revision", [{}, {"revision": 0}, {"revision": 7}])
def test_the_revision_that_was_seen_is_kept(revision: dict[str, int]) -> None:
    """Or that none was."""
    request = read_update_request({"id": "s", "paused": True, **revision}).unwrap()
    assert request.revision == revision.get("revision")


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ({"paused": True}, False),
        ({"snooze_until": LOCAL}, True),
        ({"snooze_until": ZONED}, False),
        ({"snooze_until": "2027-02-01T09:00:00Z"}, False),
        ({"at": LOCAL}, True),
        ({"at": ZONED}, False),
        ({"daily": {"time": "09:00:00"}}, True),
        ({"daily": {"time": "09:00:00", "time_zone": "UTC"}}, False),
        ({"after_seconds": 1, "until": LOCAL}, True),
        ({"after_seconds": 1, "until": ZONED}, False),
        ({"title": "x"}, False),
        ({"title": "x", "until": LOCAL}, True),
    ],
)
def test_a_local_time_without_a_zone_wants_one(arguments: dict[str, object], *, wanted: bool) -> None:
    """In a rule, an end or a snooze; a create is asked as an update is."""
    assert wants_zone(read_update_request({"id": "s", **arguments}).unwrap()) is wanted
    create = read_create_request({"prompt": "x", **arguments})
    assert create.map(wants_zone).value_or(wanted) is wanted


@pytest.mark.parametrize("given", ["at", "snooze_until", "until"])
def test_a_time_that_is_past_is_told_beside_the_clock(given: str) -> None:
    """At the sample itself it is past."""
    ledger = hold(EveryRecord("s", "x", 300, T))
    request = read_update_request({"id": "s", given: format_instant(T + 7)}).unwrap()
    refused = make_edit(request, ledger, T + 7, NO_ZONE).failure()
    assert refused == NotFuture(target_ms=T + 7, now_ms=T + 7)


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({"max_runs": 1}, "option_of_recurring"),
        ({"missed": "skip"}, "grace_without_skip"),
    ],
)
def test_options_that_may_not_stand_together_name_the_reminder(
    arguments: dict[str, object], fault: str
) -> None:
    ledger = hold(AtRecord("s", "x", T))
    request = read_update_request({"id": "s", **arguments}).unwrap()
    refused = make_edit(request, ledger, T - 1, NO_ZONE).failure()
    assert isinstance(refused, InvalidRule)
    assert (refused.fault, refused.value) == (fault, '"s"')


def test_what_is_not_asked_for_stays_out_of_the_change() -> None:
    """A title alone leaves the rule alone."""
    request = read_update_request({"id": "s", "title": "x"}).unwrap()
    made = make_edit(request, hold(AtRecord("s", "x", T)), T - 1, NO_ZONE)
    assert made.unwrap() == Update("s", Changes(title="x"))
