"""The owner as a decider: the whole product of phases and signals, and what must never happen."""

from __future__ import annotations

from itertools import product

import pytest

from journal_files import NOON_MS
from lifecycle_cells import LEDGER, SIGNALS, list_cells, make_signal
from make_lifecycle_page import DIAGRAM, PAGE, list_moves, read_moves, replace_part
from wakefold import (
    SCHEDULE_CHANGE,
    AtRecord,
    Create,
    Event,
    Ledger,
    encode_change,
    evolve,
    fold,
    format_instant,
)
from wakefold.edits import Skip
from wakefold.effects import (
    Arm,
    Claim,
    Disarm,
    Disposed,
    EndTurn,
    Flush,
    HandOver,
    PassOver,
    Release,
    TakeTurn,
    Warn,
)
from wakefold.events import Dispatch
from wakefold.lifecycle import advance
from wakefold.owners import Owner, Phase, with_marks
from wakefold.records import EDITABLE, Options
from wakefold.signals import (
    Broke,
    ClaimBusy,
    ClaimGranted,
    DisposeAsked,
    Flushed,
    FlushRefused,
    IdleFailed,
    Recorded,
    TurnCame,
    WentIdle,
)

PLAIN = Owner(ledger=LEDGER)
LOST = {
    "version": 2,
    "operation": "create",
    "schedule": {
        "id": "b",
        "kind": "daily",
        "prompt": "x",
        "time": "12:00:00.000",
        "timeZone": "Mars/Base",
        "scheduledAt": format_instant(NOON_MS),
    },
}
STRAY = "<same>"

# What each phase decides for each signal that means something there; everything else changes nothing,
# except that a turn or a grant which nobody asked for is given back, and marks are kept (below).
DECISIONS = {
    "resting": {
        "Nudged": "queued > TakeTurn",
        "WentIdle": "queued > TakeTurn",
        "IdleCame": "queued > TakeTurn",
        "Broke": "resting +faulted > Disarm Warn",
        "DisposeAsked": "queued +disposing > Disarm TakeTurn",
    },
    "queued": {
        "Nudged": "queued +again",
        "WentIdle": "queued +again",
        "IdleCame": "queued +again",
        "TurnCame": "checking > Disarm Flush",
        "Broke": "queued +faulted > Disarm Warn",
        "DisposeAsked": "queued +disposing > Disarm",
    },
    "checking": {
        "Nudged": "checking +again",
        "WentIdle": "checking +again",
        "IdleCame": "checking +again",
        "Flushed": "claiming > Claim",
        "FlushRefused": "resting > Warn EndTurn",
        "Broke": "resting +faulted > Warn EndTurn",
        "DisposeAsked": "checking +disposing > Disarm",
    },
    "claiming": {
        "Nudged": "claiming +again",
        "WentIdle": "claiming +again",
        "IdleCame": "claiming +again",
        "ClaimGranted": "handing > HandOver",
        "ClaimBusy": "resting +waits_for_idle > AwaitIdle EndTurn",
        "Broke": "resting +faulted > Warn EndTurn",
        "DisposeAsked": "claiming +disposing > Disarm",
    },
    "handing": {
        "Nudged": "handing +again",
        "WentIdle": "handing +again",
        "IdleCame": "handing +again",
        "HandedOver": "confirming > Release Flush",
        "FollowupFailed": "resting > Warn Release EndTurn",
        "AppendFailed": "resting +faulted > Warn Release EndTurn",
        "Broke": "resting +faulted > Warn Release EndTurn",
        "DisposeAsked": "handing +disposing > Disarm",
    },
    "confirming": {
        "Nudged": "confirming +again",
        "WentIdle": "confirming +again",
        "IdleCame": "confirming +again",
        "Flushed": "queued > EndTurn TakeTurn",
        "FlushRefused": "resting > Warn EndTurn",
        "Broke": "resting +faulted > Warn EndTurn",
        "DisposeAsked": "confirming +disposing > Disarm",
    },
    "gone": {},
}
STRAYS = {
    "TurnCame": "<same> > EndTurn",
    "ClaimGranted": "<same> > Release",
    "LogLost": "<same> +lost",
    "Detached": "<same> +replaced",
}


def test_every_phase_has_a_decision_for_every_signal() -> None:
    """The whole product, cell by cell; a new phase or signal without a decision fails here."""
    cells = list_cells(PLAIN)
    assert len(cells) == len(Phase) * len(SIGNALS) == 126
    assert set(DECISIONS) == {phase.value for phase in Phase}
    for phase, signal, what in cells:
        stray = STRAYS.get(signal, STRAY).replace(STRAY, phase.value)
        assert what == DECISIONS[phase.value].get(signal, stray), (phase, signal)


def every_owner() -> list[Owner]:
    """Every phase with every combination of marks, with and without a ledger."""
    marks = product([False, True], repeat=5)
    return [
        Owner(
            ledger=ledger,
            phase=phase,
            again=again,
            waits_for_idle=waits,
            faulted=faulted,
            live=live,
            disposing=disposing,
        )
        for (again, waits, faulted, live, disposing), phase, ledger in product(
            marks, Phase, [LEDGER, Ledger(), None]
        )
    ]


@pytest.mark.parametrize("kind", SIGNALS)
@pytest.mark.parametrize("now_ms", [NOON_MS - 1, NOON_MS, 253_402_300_800_000])
def test_what_must_never_happen_never_does(kind: type, now_ms: int) -> None:
    """In every reachable and unreachable state: the rules that hold the lifecycle together."""
    for owner in every_owner():
        after, effects = advance(owner, make_signal(kind, now_ms))
        orders = [type(effect) for effect in effects]
        able = owner.live and not owner.faulted and not owner.disposing
        assert orders.count(TakeTurn) <= 1
        if not owner.live:
            assert Warn not in orders
        if not able:
            assert not {HandOver, Claim, Flush, Arm} & set(orders)
            assert TakeTurn not in orders or kind is DisposeAsked
        if HandOver in orders:
            assert (owner.phase, kind) == (Phase.CLAIMING, ClaimGranted)
            assert orders == [HandOver]
        if owner.phase is Phase.GONE:
            assert after.phase is Phase.GONE
            assert not {TakeTurn, Flush, Disposed, Warn} & set(orders)
        if Disposed in orders:
            assert after.phase is Phase.GONE
            assert owner.disposing
        if owner.phase is Phase.HANDING and after.phase is not Phase.HANDING:
            assert orders.count(Release) == 1
        if owner.faulted:
            assert after.faulted


def test_nothing_due_arms_the_timer_and_rests() -> None:
    """The planner's wait becomes the timer's delay."""
    checking = Owner(ledger=LEDGER, phase=Phase.CHECKING)
    after, effects = advance(checking, Flushed(NOON_MS - 1))
    assert effects == (Arm(until_ms=NOON_MS, delay_ms=1), EndTurn())
    assert after == PLAIN
    _, effects = advance(checking, Flushed(NOON_MS - 2**31))
    assert effects[0] == Arm(until_ms=NOON_MS, delay_ms=2_147_483_647)


def test_a_delete_that_won_the_race_is_not_dispatched() -> None:
    """The decision is made again inside the claim."""
    claiming = Owner(ledger=Ledger(), phase=Phase.CLAIMING)
    assert advance(claiming, ClaimGranted(NOON_MS))[1] == (Release(), EndTurn())


def test_idleness_is_ignored_while_there_is_no_schedule() -> None:
    """A session that never scheduled anything costs nothing."""
    resting = Owner(ledger=Ledger())
    assert advance(resting, WentIdle()) == (resting, ())


def test_a_broken_event_loses_the_log_for_good() -> None:
    """Later events do not bring it back."""
    broken = Event("schedule/change", 1, 1, {"version": 2})
    lost, _ = advance(PLAIN, Recorded(broken))
    assert lost.ledger is None
    assert advance(lost, Recorded(Event("plan/create", 2, 1, None)))[0].ledger is None
    _, effects = advance(Owner(ledger=None, phase=Phase.CHECKING), Flushed(NOON_MS))
    assert effects == (Warn("corrupt_log"), EndTurn())


@pytest.mark.parametrize("phase", [phase for phase in Phase if phase is not Phase.GONE])
def test_whatever_breaks_is_told_as_the_owner_s_failure(phase: Phase) -> None:
    """In every phase alike, and no further run is asked for."""
    after, effects = advance(Owner(ledger=LEDGER, phase=phase, again=True), Broke())
    assert [effect for effect in effects if isinstance(effect, Warn)] == [Warn("owner_failed")]
    assert (after.faulted, after.again) == (True, False)


def test_a_turn_that_comes_too_late_cancels_the_timer() -> None:
    """A replaced or faulted owner leaves no timer behind."""
    for owner in (
        Owner(ledger=LEDGER, phase=Phase.QUEUED, live=False),
        Owner(ledger=LEDGER, phase=Phase.QUEUED, faulted=True),
    ):
        after, effects = advance(owner, TurnCame())
        assert effects == (Disarm(), EndTurn())
        assert after.phase is Phase.RESTING


@pytest.mark.parametrize("waits", [False, True])
def test_disposal_gives_up_what_was_waited_for(waits: bool) -> None:
    """The idle wait is abandoned and no further run is owed, in the end as at once."""
    checking = Owner(ledger=LEDGER, phase=Phase.CHECKING, again=True, waits_for_idle=waits)
    disposing, effects = advance(checking, DisposeAsked())
    assert effects == (Disarm(),)
    assert disposing == Owner(ledger=LEDGER, phase=Phase.CHECKING, disposing=True)
    gone, effects = advance(disposing, Flushed(NOON_MS))
    assert effects == (EndTurn(), Disposed())
    assert gone == Owner(ledger=LEDGER, phase=Phase.GONE, disposing=True)


def test_an_owner_at_rest_owes_no_run() -> None:
    """A replaced owner forgets that it was asked, and so does one that is gone."""
    replaced = Owner(ledger=LEDGER, phase=Phase.CHECKING, again=True, live=False)
    assert advance(replaced, FlushRefused())[0] == Owner(ledger=LEDGER, live=False)
    leaving = Owner(ledger=LEDGER, phase=Phase.CHECKING, again=True, disposing=True)
    gone = Owner(ledger=LEDGER, phase=Phase.GONE, disposing=True)
    assert advance(leaving, FlushRefused())[0] == gone


def test_a_hand_over_names_its_occurrences() -> None:
    """A host that runs a command for each message needs them beside the words."""
    (order,) = advance(Owner(ledger=LEDGER, phase=Phase.CLAIMING), ClaimGranted(NOON_MS))[1]
    assert isinstance(order, HandOver)
    assert order.occurrences == (("a", NOON_MS),)
    assert order.changes == (Dispatch("a"),)


def test_what_is_too_late_is_handed_over_without_a_message() -> None:
    """The changes say that it is left out; nobody is told a reminder."""
    record = AtRecord("a", "x", NOON_MS, Options(missed="skip", grace_seconds=300), EDITABLE)
    created = Event(SCHEDULE_CHANGE, 0, 1, encode_change(Create(record)))
    late_ms = NOON_MS + 300_001
    owner = Owner(ledger=fold([created]).unwrap(), phase=Phase.CLAIMING)
    (order,) = advance(owner, ClaimGranted(late_ms))[1]
    assert order == HandOver(message=None, changes=(Skip("a", late_ms, NOON_MS),), occurrences=())


def test_a_failed_idle_wait_is_warned_of_once() -> None:
    """Without a wait there is nothing to warn of."""
    waiting = Owner(ledger=LEDGER, waits_for_idle=True)
    after, effects = advance(waiting, IdleFailed())
    assert effects == (Warn("idle_wait_failed"),)
    assert advance(after, IdleFailed())[1] == ()


def test_a_second_disposal_changes_nothing() -> None:
    """It is asked for once."""
    owner, _ = advance(PLAIN, DisposeAsked())
    assert advance(owner, DisposeAsked()) == (owner, ())
    assert advance(owner, TurnCame())[0].phase is Phase.GONE


def test_a_second_busy_claim_does_not_wait_twice() -> None:
    """One idle wait at a time."""
    claiming = Owner(ledger=LEDGER, phase=Phase.CLAIMING, waits_for_idle=True)
    after, effects = advance(claiming, ClaimBusy())
    assert effects == (EndTurn(),)
    assert after.waits_for_idle


def test_the_page_shows_what_the_code_does() -> None:
    """The generated part is up to date: run `python tests/make_lifecycle_page.py`."""
    page = PAGE.read_text("utf-8")
    assert replace_part(page) == page
    assert read_moves(DIAGRAM.read_text("utf-8")) == list_moves()


def test_a_due_reminder_of_an_unknown_zone_is_told_once_and_nothing_waits_for_it() -> None:
    """The owner goes on to what is due beside it, and is silent when it looks again."""
    ledger = evolve(LEDGER, Event(SCHEDULE_CHANGE, 1, 1, LOST)).unwrap()
    owner = Owner(ledger=ledger, phase=Phase.CHECKING)
    early, effects = advance(owner, Flushed(NOON_MS - 1))
    assert effects == (Arm(until_ms=NOON_MS, delay_ms=1), EndTurn())
    assert early.passed_over == ()
    told, effects = advance(owner, Flushed(NOON_MS))
    passed, claim = effects
    assert isinstance(passed, PassOver)
    assert passed.records == (ledger.records["b"],)
    assert claim == Claim()
    assert told.phase is Phase.CLAIMING
    again = with_marks(told, phase=Phase.CHECKING)
    assert advance(again, Flushed(NOON_MS))[1] == (Claim(),)
