"""Laws of offers: how often and how late an input is offered again whose turn came to nothing.

This module decides what is owed to an agent that may be asked twice, however its turns end and wherever
the log is cut. It refuses to know how such an agent is reached.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from msgspec import Struct

from wakefold.conversations import TURN_END, USER_MESSAGE, EndKind, Input
from wakefold.deliveries import describe_failure, trace_deliveries
from wakefold.instants import format_instant
from wakefold.offers import OFFERS_MAX, PAUSES_SECONDS, find_offer_ms, plan_offer
from wakefold_laws.conversation_laws import read
from wakefold_laws.drawing import st
from wakefold_laws.host_model import DAY_MS, HostModel
from wakefold_laws.laws import law
from wakefold_laws.session_strategies import hosts
from wakefold_laws.strategies import instants


class Attempt(Struct, frozen=True):
    """One turn as the world has it: the host dies in it, or it ends so; then a moment goes by."""

    end: EndKind | None
    cut: int
    late_ms: int


_ENDS: Final[tuple[EndKind | None, ...]] = ("failed", "failed", "failed", "completed", None)
_attempts = st.lists(
    st.builds(
        Attempt,
        st.sampled_from(_ENDS),
        st.integers(0, 12),
        st.sampled_from((0, 1, 5_000, DAY_MS, -DAY_MS)),
    ),
    min_size=1,
    max_size=24,
)


def live_on(host: HostModel, script: list[Attempt]) -> Iterator[tuple[HostModel, Input]]:
    """Give the agent its turns, each at its time, with a crash where the script has one.

    What comes is the host as it is before each turn, and the input that is offered.
    """
    host.clear_up()
    for attempt in script:
        if not host.conversation.inbox:
            host.say(None)
        given = host.conversation.inbox[0]
        wake = plan_offer(given, host.clock_ms)
        if wake is not None:
            host.clock_ms += wake.delay_ms
        yield host, given
        host.begin(repeatable=True)
        before = len(host.events)
        if attempt.end == "failed":
            host.come_to_nothing("failed")
        elif attempt.end is not None:
            host.end(attempt.end)
        if attempt.end is None or attempt.cut < len(host.events) - before:
            messages = host.messages
            host = host.reopen(before if attempt.end is None else before + attempt.cut)
            host.messages = messages
            host.clear_up()
        host.clock_ms = max(host.clock_ms + attempt.late_ms, 0)


def count_turns(host: HostModel) -> tuple[Counter[object], set[object]]:
    """By the log: how many turns each input of the own part had, and which ended well once."""
    turns, well = Counter[object](), set[object]()
    under_way: object = None
    for event in host.events[host.seed_length :]:
        if event.type == USER_MESSAGE and read(event)["id"] in host.messages:
            under_way = read(event)["id"]
            turns[under_way] += 1
        if event.type == TURN_END and read(event)["reason"]["kind"] == "completed":
            well.add(under_way)
    return turns, well


@law(times=2, host=hosts(), script=_attempts)
def no_input_is_offered_more_than_five_times(host: HostModel, script: list[Attempt]) -> None:
    """However turns end and whenever the host dies, each input has five turns at most, all of one
    message, one after the other and never two at once, and none of another input in between.
    """
    counts: dict[object, int] = {}  # of each input in the order of its first offer here
    for living, given in live_on(host, script):
        name = given.message["id"]
        assert not living.conversation.turn_open
        assert name not in counts or name == list(counts)[-1]
        assert given.earlier_offers == counts.get(name, given.earlier_offers) < OFFERS_MAX
        counts[name] = given.earlier_offers + 1


@law(times=2, host=hosts(), script=_attempts)
def no_input_is_lost_before_its_last_offer(host: HostModel, script: list[Attempt]) -> None:
    """Whatever was offered waits once, or a turn of it ended well, or it has had its offers."""
    names: set[object] = set()
    for living, given in live_on(host, script):
        host = living
        names.add(given.message["id"])
        assert sum(given.matches(waiting) for waiting in host.conversation.inbox) == 1
    host.clear_up()
    waiting = [given.message["id"] for given in host.conversation.inbox]
    assert len(waiting) == len(set(waiting))
    turns, well = count_turns(host)
    assert all(turns[name] == OFFERS_MAX for name in names - well - set(waiting))


@law(host=hosts(), script=_attempts)
def pauses_grow_and_outlast_a_restart(host: HostModel, script: list[Attempt]) -> None:
    """An input that came to nothing waits longer each time, for no other reason than what the log says;
    whoever opens the session again waits for the same instant.
    """
    pauses_ms: dict[object, list[int]] = {}
    for living, given in live_on(host, script):
        at_ms = find_offer_ms(given)
        assert (at_ms is None) == (given.earlier_offers == 0)
        assert living.reopen(len(living.events)).conversation.inbox[0] == given
        if at_ms is not None:
            pauses_ms.setdefault(given.message["id"], []).append(at_ms - given.queued_at_ms)
    for pauses in pauses_ms.values():
        assert pauses == [seconds * 1000 for seconds in PAUSES_SECONDS[: len(pauses)]]
        assert all(short < long for short, long in pairwise(pauses))


@law(failed_at_ms=instants(), now_ms=instants(), earlier=st.integers(0, 9))
def a_set_clock_neither_skips_nor_stretches_a_pause(
    failed_at_ms: int, now_ms: int, earlier: int
) -> None:
    """Before its instant an input is not offered; a clock set back is waited for no longer than the
    pause, and one set forward past the instant ends it.
    """
    given = Input({}, failed_at_ms, "", (), earlier)
    at_ms, wake = find_offer_ms(given), plan_offer(given, now_ms)
    assert (wake is None) == (at_ms is None or now_ms >= at_ms)
    if wake is not None and at_ms is not None:
        assert wake.at_ms == at_ms
        assert 0 < wake.delay_ms == min(at_ms - now_ms, at_ms - failed_at_ms)


@law(host=hosts(), script=_attempts)
def receipts_count_the_offers(host: HostModel, script: list[Attempt]) -> None:
    """What waits for another offer is told so: how its last turn ended, how often, and when again."""
    for living, given in live_on(host, script):
        found = trace_deliveries(iter(living.events), living.seed_length)
        at_ms = find_offer_ms(given)
        for key in given.occurrences:
            failure = describe_failure(found[key])
            assert found[key].outcome == "waiting"
            assert found[key].offers == given.earlier_offers
            assert (failure is None) == (at_ms is None)
            if failure is not None and at_ms is not None:
                offers = f"{given.earlier_offers} of {OFFERS_MAX} offers"
                assert failure.endswith(f", {offers}, again at {format_instant(at_ms)}")
