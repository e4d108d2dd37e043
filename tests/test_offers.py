"""Whether and when an input is offered again whose turn came to nothing."""

from __future__ import annotations

from functools import reduce

import pytest

from core_logs import T, every_record
from memory_world import number
from wakefold import Event
from wakefold.conversations import (
    REMINDER_SOURCE,
    Conversation,
    Draft,
    Input,
    begin_turn,
    end_turn,
    follow,
    make_message,
    queue_input,
)
from wakefold.deliveries import Delivery, describe_failure, encode_delivery, trace_deliveries
from wakefold.events import Json
from wakefold.framing import frame_batch
from wakefold.offers import OFFERS_MAX, PAUSES_SECONDS, find_offer_ms, offer_again, plan_offer
from wakefold.wakes import BatchEntry, Wake

MESSAGE = make_message("m", frame_batch([BatchEntry(every_record("e"), T)]), REMINDER_SOURCE)
OTHER = make_message("n", "hello", {"kind": "user", "rpcId": "r"})
DOWN: Json = {"httpStatus": 503}


class Talk:
    """A log that grows, all of it at the instant `now_ms`."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.now_ms = T

    @property
    def conversation(self) -> Conversation:
        return reduce(follow, self.events, Conversation())

    @property
    def told(self) -> Delivery:
        return trace_deliveries(self.events)["e", T]

    def write(self, *drafts: Draft) -> None:
        self.events += number(drafts, len(self.events), self.now_ms)

    def queue(self, message: Json) -> None:
        self.write(queue_input(self.conversation, message))

    def begin(self, *, repeatable: bool = True) -> Input:
        reading_id = f"reading {len(self.events)}"
        drafts = begin_turn(self.conversation, self.now_ms, reading_id, repeatable=repeatable)
        self.write(*drafts)
        assert self.conversation.current is not None
        return self.conversation.current

    def fail(self) -> None:
        self.begin()
        self.write(
            *offer_again(self.conversation), *end_turn(self.conversation, "failed", DOWN, duration_ms=7)
        )


def test_an_input_is_offered_five_times_with_growing_pauses() -> None:
    """Each pause begins with the event that puts the input back; then it is given up, others go on."""
    talk = Talk()
    talk.queue(MESSAGE)
    talk.queue(OTHER)
    for number_of_offers, pause_seconds in enumerate(PAUSES_SECONDS, 1):
        talk.fail()
        first, second = talk.conversation.inbox
        assert (first.message, second.message) == (MESSAGE, OTHER)
        assert (first.earlier_offers, second.earlier_offers) == (number_of_offers, 0)
        again_ms = talk.now_ms + pause_seconds * 1000
        assert find_offer_ms(first) == again_ms
        assert plan_offer(first, talk.now_ms) == Wake(again_ms, pause_seconds * 1000)
        assert plan_offer(first, again_ms - 1) == Wake(again_ms, 1)
        assert plan_offer(first, again_ms) is None
        talk.now_ms = again_ms
    talk.fail()
    assert [given.message for given in talk.conversation.inbox] == [OTHER]
    assert plan_offer(talk.conversation.inbox[0], 0) is None
    assert talk.told == Delivery("failed", {"kind": "failed", **DOWN}, 4, duration_ms=7)
    assert talk.told.offers == OFFERS_MAX == 5


def test_a_clock_that_was_set_back_waits_for_the_pause_and_no_longer() -> None:
    talk = Talk()
    talk.queue(MESSAGE)
    talk.fail()
    assert plan_offer(talk.conversation.inbox[0], 0) == Wake(T + 10_000, 10_000)


def test_without_an_open_turn_nothing_is_put_back() -> None:
    talk = Talk()
    talk.queue(MESSAGE)
    assert offer_again(talk.conversation) == ()
    talk.begin()
    assert len(offer_again(talk.conversation)) == 1
    talk.write(*end_turn(talk.conversation, "completed"))
    assert offer_again(talk.conversation) == ()


def test_an_agent_that_would_not_know_it_again_is_asked_once() -> None:
    """The turn's start says so, whoever reads the log later; only `true` says that it may be."""
    talk = Talk()
    talk.queue(MESSAGE)
    talk.begin(repeatable=False)
    assert offer_again(talk.conversation) == ()
    assert "repeatable" not in str(talk.events)
    for claim in (1, "true", None, False):
        claimed = Event("turn/start", 0, T, {"turn": 1, "repeatable": claim})
        assert not follow(Conversation(), claimed).repeatable


def test_what_may_be_offered_again_is_known_as_long_as_the_turn_is_open() -> None:
    """Through its steps and words; the next turn says it anew."""
    talk = Talk()
    talk.queue(MESSAGE)
    talk.begin()
    talk.write(Draft("step/end", {"turn": 1, "step": 1}), Draft("step/start", {"turn": 1, "step": 2}))
    talk.queue(OTHER)
    states = [talk.conversation]
    talk.write(*end_turn(talk.conversation, "completed"))
    states.append(talk.conversation)
    talk.begin(repeatable=False)
    states.append(talk.conversation)
    assert [state.repeatable for state in states] == [True, False, False]


def test_an_input_that_is_back_already_is_not_put_back_twice() -> None:
    """A crash may cut the batch behind the splice: the turn is open, the input waits."""
    talk = Talk()
    talk.queue(MESSAGE)
    talk.begin()
    talk.write(*offer_again(talk.conversation))
    assert offer_again(talk.conversation) == ()
    talk.write(*end_turn(talk.conversation, "interrupted"))
    (given,) = talk.conversation.inbox
    assert given.earlier_offers == 1


@pytest.mark.parametrize("message", [{}, {"id": None}, {"id": 7}, {"id": ["m"]}])
def test_a_message_without_an_id_is_never_put_back(message: Json) -> None:
    """Nothing would tell how often it was offered; whatever such an id is, it matches nothing."""
    talk = Talk()
    talk.queue({**MESSAGE, "id": None, **message})
    talk.begin()
    assert offer_again(talk.conversation) == ()
    talk.queue({**MESSAGE, "id": None, **message})
    assert [given.earlier_offers for given in talk.conversation.inbox] == [0]


def test_only_the_message_of_the_open_turn_comes_back() -> None:
    """A word in the middle of a turn is a first offer, and so is the same id between turns."""
    talk = Talk()
    talk.queue(MESSAGE)
    talk.begin()
    talk.queue(OTHER)
    assert talk.conversation.inbox[0].earlier_offers == 0
    talk.write(*end_turn(talk.conversation, "failed"))
    talk.queue(MESSAGE)
    assert [given.earlier_offers for given in talk.conversation.inbox] == [0, 0]


def test_receipts_tell_of_each_offer() -> None:
    """What waits again says why, how often and when; a turn under way and the last one count on."""
    talk = Talk()
    talk.queue(MESSAGE)
    assert encode_delivery(talk.told) == {"delivery": "waiting"}
    assert (talk.told.offers, describe_failure(talk.told)) == (0, None)
    talk.fail()
    again_at = "2027-01-15T08:00:10.000Z"
    assert encode_delivery(talk.told) == {
        "delivery": "waiting",
        "failure": f"failed with HTTP status 503, 1 of 5 offers, again at {again_at}",
        "offers": 1,
        "againAt": again_at,
        "durationMs": 7,
    }
    talk.begin()
    assert encode_delivery(talk.told) == {"delivery": "under-way", "offers": 2}
    talk.write(*end_turn(talk.conversation, "completed", duration_ms=9))
    assert encode_delivery(talk.told) == {"delivery": "handed-over", "offers": 2, "durationMs": 9}


def test_what_is_offered_once_is_not_counted() -> None:
    """As for a command, which is never run again."""
    failed = Delivery("failed", {"exitStatus": 3})
    assert describe_failure(failed) == "failed with exit status 3"
    assert encode_delivery(failed) == {"delivery": "failed", "failure": "failed with exit status 3"}


def test_a_turn_that_a_crash_cut_off_is_told_as_such() -> None:
    talk = Talk()
    talk.queue(MESSAGE)
    talk.begin()
    talk.write(*offer_again(talk.conversation), *end_turn(talk.conversation, "interrupted"))
    failure = describe_failure(talk.told)
    assert failure == "was interrupted, 1 of 5 offers, again at 2027-01-15T08:00:10.000Z"


def test_a_message_that_names_no_known_reason_is_told_all_the_same() -> None:
    """A log may hold what no host writes: here the turn of one message put another one back."""
    talk = Talk()
    talk.queue({**OTHER, "id": "m"})
    talk.begin()
    talk.queue(MESSAGE)
    assert describe_failure(talk.told) == "failed, 1 of 5 offers, again at 2027-01-15T08:00:10.000Z"


def test_an_offer_past_the_calendar_has_no_instant_to_show() -> None:
    delivery = Delivery("waiting", {}, 1, 10**15)
    assert describe_failure(delivery) == "failed, 1 of 5 offers"
    assert encode_delivery(delivery) == {
        "delivery": "waiting",
        "failure": "failed, 1 of 5 offers",
        "offers": 1,
    }


@pytest.mark.parametrize("duration", [None, "7", 1.5, True])
def test_a_duration_that_is_none_is_not_told(duration: object) -> None:
    talk = Talk()
    talk.queue(MESSAGE)
    talk.begin()
    talk.write(
        Draft("step/end", {"turn": 1, "step": 1, "durationMs": duration}),
        Draft("turn/end", {"turn": 1, "reason": {"kind": "completed"}}),
    )
    assert talk.told.duration_ms is None
