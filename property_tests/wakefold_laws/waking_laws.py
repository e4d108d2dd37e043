"""Laws of wakings: a session that is looked at now and then lives like one with an owner.

This module decides what a look owes to the session, whoever looked before it. It refuses to know where
the log is kept, and what keeps two looks apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from wakefold.checkpoints import begin_checkpoint, extend_checkpoint
from wakefold.conversations import Answer, EndKind, draft_change
from wakefold.effects import Effect, HandOver
from wakefold.events import Event
from wakefold.guard import UNTIL_A_WORD, find_not_before
from wakefold.guard_config import GuardConfig
from wakefold.lifecycle import advance
from wakefold.offers import OFFERS_MAX, find_offer_ms
from wakefold.owners import Owner, resume_owner
from wakefold.signals import ClaimGranted, Flushed, HandedOver, Nudged, Recorded, Signal, TurnCame
from wakefold.wakes import plan_next_wake, preview
from wakefold.wakeups import RESET_KINDS
from wakefold.wakings import Waking, look, open_waking, plan_look, write_turn
from wakefold_laws.drawing import st
from wakefold_laws.guard_laws import configs
from wakefold_laws.host_model import HostModel
from wakefold_laws.laws import law
from wakefold_laws.session_strategies import hosts

_WAKES_MAX: Final = 12

_limits = st.none() | configs
_ends: st.SearchStrategy[list[EndKind]] = st.lists(
    st.sampled_from(("completed", "failed", "failed")), min_size=1, max_size=8
)


def open_host(host: HostModel, config: GuardConfig | None = None) -> Waking:
    """The session of a host in which nobody lives any more."""
    kinds = RESET_KINDS if config is None else config.reset_kinds
    begun = begin_checkpoint(host.seed_length, host.profile, kinds)
    return open_waking(extend_checkpoint(begun, host.events).unwrap(), host.clock_ms, config)


def come_back(waking: Waking, now_ms: int) -> Waking:
    """The same session, looked at again when all that was written is durable."""
    return open_waking(waking.checkpoint, now_ms, waking.limits)


def take_turn(waking: Waking, end: EndKind = "completed") -> Waking:
    """The first message's turn, from an agent that may be asked again."""
    assert waking.waiting is not None
    ids = (f"r{waking.checkpoint.ledger.position}", f"a{waking.checkpoint.ledger.position}")
    answer = Answer("done", end)
    return write_turn(waking, waking.waiting, answer, waking.now_ms, ids, repeatable=True)


def look_now(waking: Waking) -> Waking:
    """A look, with an id that no other message has."""
    return look(waking, f"m{waking.checkpoint.ledger.position}")


@law(host=hosts(), config=_limits)
def looking_twice_writes_nothing_more(host: HostModel, config: GuardConfig | None) -> None:
    """Whoever looks again at the same instant writes nothing, and waits for the same instant."""
    once = look_now(open_host(host, config))
    twice = look_now(come_back(once, once.now_ms))
    assert not twice.events
    assert plan_look(twice) == plan_look(once)


@law(host=hosts(), config=_limits)
def nothing_is_handed_over_while_something_waits(host: HostModel, config: GuardConfig | None) -> None:
    """Where a message waits, or a turn was cut off that is asked for again, a look adds none."""
    opened = open_host(host, config)
    looked = look_now(opened)
    assert not looked.checkpoint.conversation.turn_open
    if opened.waiting is not None:
        assert looked.events == opened.events


@law(host=hosts(), config=_limits)
def the_next_look_is_never_late(host: HostModel, config: GuardConfig | None) -> None:
    """An idle agent's next look is where the planner says, and a message's when it may be offered."""
    looked = look_now(open_host(host, config))
    planned_ms = plan_look(looked)
    if looked.waiting is not None:
        assert planned_ms is not None
        assert looked.now_ms <= planned_ms <= max(looked.now_ms, find_offer_ms(looked.waiting) or 0)
        return
    guard = looked.guard
    not_before_ms = None if guard is None else find_not_before(guard, looked.now_ms)
    wake = plan_next_wake(looked.checkpoint.ledger, looked.now_ms, not_before_ms)
    assert planned_ms == (None if wake is None or wake.at_ms == UNTIL_A_WORD else wake.at_ms)


@law(host=hosts(), config=_limits)
def a_look_dispatches_what_a_live_owner_would(host: HostModel, config: GuardConfig | None) -> None:
    """To an idle agent a look hands over the changes and occurrences that an owner would now."""
    opened = open_host(host, config)
    if opened.waiting is not None:
        return
    looked = look_now(opened)
    orders = live(resume_owner(opened.checkpoint, config, opened.now_ms), opened)
    written = [event.data for event in looked.events[len(opened.events) :]]
    changes = [draft_change(change).data for order in orders for change in order.changes]
    assert [data for data in written if isinstance(data, dict) and "operation" in data] == changes
    handed = [order for order in orders if order.message is not None]
    waiting = looked.waiting
    assert (() if waiting is None else (waiting.text,)) == tuple(order.message for order in handed)
    assert (() if waiting is None else waiting.occurrences) == tuple(
        occurrence for order in handed for occurrence in order.occurrences
    )


@law(host=hosts(), script=_ends)
def a_turn_is_written_once(host: HostModel, script: Sequence[EndKind]) -> None:
    """Whoever comes second with the turn of a message writes nothing, and no offer is a sixth."""
    waking = open_host(host)
    for end in script:
        waking = come_back(look_now(waking), waking.now_ms)
        given = waking.waiting
        if given is None:
            return
        assert given.earlier_offers < OFFERS_MAX
        ended = take_turn(waking, end)
        assert len(ended.checkpoint.conversation.inbox) >= len(waking.checkpoint.conversation.inbox) - 1
        ids = ("again", "and again")
        late = write_turn(ended, given, Answer(), ended.now_ms, ids, repeatable=True)
        assert late == ended
        waking = come_back(ended, ended.now_ms)


@law(host=hosts())
def waking_by_the_plan_delivers_what_a_healthy_runner_would(host: HostModel) -> None:
    """Looked at whenever it asks to be, a session delivers, in order, the occurrences of a preview."""
    waking = open_host(host)
    while waking.waiting is not None:
        waking = take_turn(waking)
    ledger, now_ms = waking.checkpoint.ledger, waking.now_ms
    found: list[tuple[str, int]] = []
    for _ in range(_WAKES_MAX):
        waking = look_now(waking)
        if waking.waiting is not None:
            found.extend(waking.waiting.occurrences)
            waking = take_turn(waking)
        at_ms = plan_look(waking)
        if at_ms is None:
            break
        waking = come_back(waking, max(at_ms, waking.now_ms))
    coming = preview(ledger, now_ms, len(found))
    assert found == [(one.record.id, one.occurrence_ms) for one in coming]


def live(owner: Owner, opened: Waking) -> list[HandOver]:
    """What a live owner hands over in its runs at one instant, to an agent that stays idle.

    As soon as a message is among it, that is all: the agent has it then.
    """
    position = opened.checkpoint.ledger.position
    orders: list[HandOver] = []
    while True:
        owner, effects = _signal(owner, Nudged(), TurnCame(), Flushed(opened.now_ms))
        owner, effects = _signal(owner, ClaimGranted(opened.now_ms))
        order = next((effect for effect in effects if isinstance(effect, HandOver)), None)
        if order is None:
            return orders
        orders.append(order)
        if order.message is not None:
            return orders
        for change in order.changes:
            draft = draft_change(change)
            owner, _ = _signal(owner, Recorded(Event(draft.type, position, opened.now_ms, draft.data)))
            position += 1
        owner, _ = _signal(owner, HandedOver(), Flushed(opened.now_ms))


def _signal(owner: Owner, *signals: Signal) -> tuple[Owner, tuple[Effect, ...]]:
    effects: tuple[Effect, ...] = ()
    for signal in signals:
        owner, effects = advance(owner, signal)
    return owner, effects
