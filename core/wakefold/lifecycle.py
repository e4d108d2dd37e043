"""The live owner of one session's reminders, as a decider (spec section 8).

`advance` takes the owner as it stands and one signal (a fact from outside), and gives the owner as it
stands then and the effects (orders) to perform, in order. It decides the whole delivery: when to look,
when to wait, what to hand over, when to give up. It refuses to know tasks, files and clocks, so that
any shell can be driven by it, and every phase meets every signal with an answer.

What a shell must keep: every event of the own suffix is reported as `Recorded` before the next
`Flushed`, `ClaimGranted` or `HandedOver`; `HandOver` queues the message and then appends every change
without giving up control; one FIFO, shared with the tools, gives the turns.
"""

from __future__ import annotations

from typing import assert_never

from wakefold.effects import (
    Arm,
    AwaitIdle,
    Claim,
    Disarm,
    Disposed,
    Effect,
    EndTurn,
    Flush,
    HandOver,
    PassOver,
    Release,
    TakeTurn,
    Warn,
    WarningKind,
)
from wakefold.framing import frame_decision
from wakefold.guard import (
    UNTIL_A_WORD,
    find_not_before,
    note_told,
    watch,
)
from wakefold.ledger import evolve
from wakefold.outcomes import either
from wakefold.owners import Owner, Phase, has_schedule, may_run, with_log, with_marks
from wakefold.signals import (
    AppendFailed,
    Broke,
    ClaimBusy,
    ClaimGranted,
    Detached,
    DisposeAsked,
    Flushed,
    FlushRefused,
    FollowupFailed,
    HandedOver,
    IdleCame,
    IdleFailed,
    LogLost,
    Nudged,
    Recorded,
    Signal,
    StopTold,
    TurnCame,
    WentIdle,
)
from wakefold.wakes import (
    BatchDue,
    Decision,
    OneShotDue,
    SkipDue,
    Wait,
    decide_due,
    delay_wake,
    list_dispatches,
    list_occurrences,
    list_passed_over,
)

#: The owner as it stands after a signal, and the effects to perform, in order.
Step = tuple[Owner, tuple[Effect, ...]]


def advance(owner: Owner, signal: Signal) -> Step:  # noqa: C901, PLR0911, PLR0912 - one each
    """The owner after one signal, and what to perform, in order. No signal is an error.

    :shape: an owner and a `Signal` in, the next owner and a tuple of `Effect` out
    :units: clock samples and instants are epoch milliseconds UTC, delays milliseconds
    :errors: none: what goes wrong outside comes in as a signal, what is wrong inside goes out as `Warn`
    :source: spec section 8
    """
    match signal:
        case Nudged():
            return _ask_run(owner)
        case WentIdle():
            return _ask_run(owner) if has_schedule(owner) else (owner, ())
        case TurnCame():
            return _begin(owner)
        case Recorded() | LogLost() | StopTold():
            return _learn(owner, signal), ()
        case Flushed(now_ms=now_ms):
            return _flushed(owner, now_ms)
        case FlushRefused():
            return _flush_refused(owner)
        case ClaimGranted(now_ms=now_ms):
            return _claim_granted(owner, now_ms)
        case ClaimBusy():
            return _claim_busy(owner)
        case HandedOver():
            return _handed_over(owner)
        case FollowupFailed() | AppendFailed():
            return _hand_over_failed(owner, signal)
        case Broke():
            return _broke(owner)
        case IdleCame() | IdleFailed():
            return _idle_wait_ended(owner, signal)
        case Detached():
            return with_marks(owner, live=False), ()
        case DisposeAsked():
            return _dispose(owner)
        case _:
            assert_never(signal)


def _ask_run(owner: Owner) -> Step:
    """One run at a time; while one is queued or under way, one more after it."""
    if not may_run(owner) or owner.phase is Phase.GONE:
        return owner, ()
    if owner.phase is Phase.RESTING:
        return with_marks(owner, phase=Phase.QUEUED), (TakeTurn(),)
    return with_marks(owner, again=True), ()


def _begin(owner: Owner) -> Step:
    if owner.phase is not Phase.QUEUED:
        return owner, (EndTurn(),)
    if not may_run(owner):
        return _end(owner, Disarm())
    return with_marks(owner, phase=Phase.CHECKING), (Disarm(), Flush())


def _flushed(owner: Owner, now_ms: int) -> Step:
    if owner.phase is Phase.CHECKING:
        if not may_run(owner):
            return _end(owner)
        owner, told = _pass_over(owner, now_ms)
        after, effects = _check(owner, now_ms)
        return after, (*told, *effects)
    if owner.phase is Phase.CONFIRMING:
        return _end(with_marks(owner, again=True))
    return owner, ()


def _pass_over(owner: Owner, now_ms: int) -> Step:
    """Tell, once each, of what is due in a zone that this tz database lacks."""
    passed = () if owner.ledger is None else list_passed_over(owner.ledger, now_ms)
    new = tuple(record for record in passed if record.id not in owner.passed_over)
    if not new:
        return owner, ()
    told = (*owner.passed_over, *(record.id for record in new))
    return with_marks(owner, passed_over=told), (PassOver(new),)


def _check(owner: Owner, now_ms: int) -> Step:
    """Decide after the barrier: wait, or ask for the host's idle phase."""
    decision = _decide(owner, now_ms)
    match decision:
        case str():
            return _fault(owner, decision)
        case Wait():
            return _end(owner, *_arm(decision, now_ms))
        case OneShotDue() | BatchDue() | SkipDue():
            return with_marks(owner, phase=Phase.CLAIMING), (Claim(),)
        case _:
            assert_never(decision)


def _claim_granted(owner: Owner, now_ms: int) -> Step:
    """Decide again inside the claim: a delete or a clock that won the race must be seen."""
    if owner.phase is not Phase.CLAIMING:
        return owner, (Release(),)
    if not may_run(owner):
        return _end(owner, Release())
    decision = _decide(owner, now_ms)
    match decision:
        case str():
            return _fault(owner, decision, Release())
        case Wait():
            return _end(owner, *_arm(decision, now_ms), Release())
        case OneShotDue() | BatchDue() | SkipDue():
            order = HandOver(
                message=None if isinstance(decision, SkipDue) else frame_decision(decision),
                changes=list_dispatches(decision),
                occurrences=list_occurrences(decision),
            )
            return with_marks(owner, phase=Phase.HANDING), (order,)
        case _:
            assert_never(decision)


def _claim_busy(owner: Owner) -> Step:
    if owner.phase is not Phase.CLAIMING:
        return owner, ()
    if not may_run(owner) or owner.waits_for_idle:
        return _end(owner)
    return _end(with_marks(owner, waits_for_idle=True), AwaitIdle())


def _handed_over(owner: Owner) -> Step:
    if owner.phase is not Phase.HANDING:
        return owner, ()
    if not may_run(owner):
        return _end(owner, Release())
    return with_marks(owner, phase=Phase.CONFIRMING), (Release(), Flush())


def _hand_over_failed(owner: Owner, signal: FollowupFailed | AppendFailed) -> Step:
    if owner.phase is not Phase.HANDING:
        return owner, ()
    if isinstance(signal, AppendFailed):
        return _fault(owner, "append_failed", Release())
    return _end(owner, *_warn(owner, "followup_failed"), Release())


def _flush_refused(owner: Owner) -> Step:
    if owner.phase is Phase.CHECKING:
        return _end(owner, *_warn(owner, "preflight_failed"))
    if owner.phase is Phase.CONFIRMING:
        return _end(owner, *_warn(owner, "barrier_failed"))
    return owner, ()


def _broke(owner: Owner) -> Step:
    match owner.phase:
        case Phase.GONE:
            return owner, ()
        case Phase.RESTING | Phase.QUEUED:
            return with_marks(owner, faulted=True, again=False), (
                Disarm(),
                *_warn(owner, "owner_failed"),
            )
        case Phase.HANDING:
            return _fault(owner, "owner_failed", Release())
        case Phase.CHECKING | Phase.CLAIMING | Phase.CONFIRMING:
            return _fault(owner, "owner_failed")
        case _:
            assert_never(owner.phase)


def _idle_wait_ended(owner: Owner, signal: IdleCame | IdleFailed) -> Step:
    if isinstance(signal, IdleCame):
        return _ask_run(with_marks(owner, waits_for_idle=False))
    if not owner.waits_for_idle or owner.phase is Phase.GONE:
        return owner, ()
    return with_marks(owner, waits_for_idle=False), _warn(owner, "idle_wait_failed")


def _dispose(owner: Owner) -> Step:
    """Stop what can be stopped now; the turn in the FIFO, or the outstanding answer, does the rest."""
    if owner.disposing:
        return owner, ()
    owner = with_marks(owner, disposing=True, again=False, waits_for_idle=False)
    if owner.phase is Phase.RESTING:
        return with_marks(owner, phase=Phase.QUEUED), (Disarm(), TakeTurn())
    return owner, (Disarm(),)


def _fault(owner: Owner, kind: WarningKind, *effects: Effect) -> Step:
    """Give up for good, telling so once."""
    return _end(with_marks(owner, faulted=True), *_warn(owner, kind), *effects)


def _end(owner: Owner, *effects: Effect) -> Step:
    """Finish a run: then gone, or one more run, or rest."""
    if owner.disposing:
        return with_marks(owner, phase=Phase.GONE, again=False), (*effects, EndTurn(), Disposed())
    if owner.again and may_run(owner):
        again = with_marks(owner, phase=Phase.QUEUED, again=False)
        return again, (*effects, EndTurn(), TakeTurn())
    return with_marks(owner, phase=Phase.RESTING, again=False), (*effects, EndTurn())


def _learn(owner: Owner, signal: Recorded | LogLost | StopTold) -> Owner:
    """The owner that knows more, and does nothing about it; a log that is lost stays lost."""
    ledger, guard = owner.ledger, owner.guard
    match signal:
        case Recorded(event=event):
            ledger = None if ledger is None else evolve(ledger, event).value_or(None)
            guard = None if guard is None else watch(guard, event)
        case LogLost():
            ledger = None
        case StopTold(key=key):
            guard = None if guard is None else note_told(guard, key)
        case _:
            assert_never(signal)
    return with_log(owner, ledger, guard)


def _decide(owner: Owner, now_ms: int) -> Decision | WarningKind:
    """What is due, or what to warn of where nothing can be decided any more."""
    if owner.ledger is None:
        return "corrupt_log"

    def give_up(_: object) -> Decision | WarningKind:
        return "owner_failed"

    not_before_ms = None if owner.guard is None else find_not_before(owner.guard, now_ms)
    return either(decide_due(owner.ledger, now_ms, not_before_ms), _as_decided, give_up)


def _as_decided(decision: Decision) -> Decision | WarningKind:
    return decision


def _arm(wait: Wait, now_ms: int) -> tuple[Effect, ...]:
    if wait.until_ms is None or wait.until_ms == UNTIL_A_WORD:
        return ()
    wake = delay_wake(wait.until_ms, now_ms)
    return (Arm(until_ms=wake.at_ms, delay_ms=wake.delay_ms),)


def _warn(owner: Owner, kind: WarningKind) -> tuple[Effect, ...]:
    """A replaced owner warns of nothing; a disposing one still does."""
    return (Warn(kind),) if owner.live else ()
