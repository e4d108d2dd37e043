"""What can happen next in an owner's world: everything that a lawful shell can meet.

This module decides which moves there are: answers that come, are refused or break, tools, events from
elsewhere, a clock that jumps, a replaced owner, disposal, crashes and restarts from what was durable.
It refuses to choose one: `owner_model` makes every move in every state, `owner_machine` random ones for
longer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from msgspec import Struct

from wakefold.events import Create, Delete
from wakefold.signals import (
    AppendFailed,
    Broke,
    ClaimBusy,
    Detached,
    DisposeAsked,
    FlushRefused,
    FollowupFailed,
    HandedOver,
    IdleCame,
    IdleFailed,
    WentIdle,
)
from wakefold_laws.owner_world import OwnerWorld


class Move(Struct, frozen=True):
    """One thing that can happen: in words, and what it does to a world."""

    label: str
    act: Callable[[OwnerWorld], None]

    def __repr__(self) -> str:
        """In words, as Hypothesis shows what it drew."""
        return self.label

    def make(self, world: OwnerWorld) -> None:
        """Let it happen; raises `BrokenInvariant`."""
        world.may_break = False
        self.act(world)
        world.check_rest()


def list_moves(world: OwnerWorld) -> list[Move]:
    """Everything that can happen now; a hand-over that is ordered is done before all else."""
    if world.order is not None:
        return [*list_answers(world), *list_faults(world)]
    return [
        *list_answers(world),
        *list_faults(world),
        *list_activities(world),
        *list_writes(world),
        *list_ends(world),
        *list_crashes(world),
    ]


def list_answers(world: OwnerWorld) -> Iterator[Move]:
    """What is outstanding comes, as it should."""
    answer = OwnerWorld.answer
    if world.order is not None:
        count = len(world.order.changes)
        well = partial(OwnerWorld.hand_over, written=count, answer=HandedOver())
        yield Move("the hand-over goes well", well)
        return
    if world.turn == "asked":
        yield Move("the turn comes", OwnerWorld.give_turn)
    if world.timer_ms is not None:
        yield Move("the timer runs out", OwnerWorld.fire)
    if world.waits and not world.busy:
        yield Move("the idle wait ends", partial(OwnerWorld.end_wait, answer=IdleCame()))
    if world.awaited == "flush":
        yield Move("the barrier is acknowledged", OwnerWorld.flush)
    elif world.awaited == "claim" and world.busy:
        yield Move("the claim is busy", partial(answer, answer=ClaimBusy()))
    elif world.awaited == "claim":
        yield Move("the claim is granted", OwnerWorld.grant)
    elif world.awaited is not None:
        yield Move("the hand-over is answered", OwnerWorld.answer_order)


def list_faults(world: OwnerWorld) -> Iterator[Move]:
    """What is outstanding is refused or breaks."""
    answer, hand_over = OwnerWorld.answer, OwnerWorld.hand_over
    if world.order is not None:
        refused = partial(hand_over, written=0, answer=FollowupFailed())
        yield Move("the message is not queued", refused)
        yield Move("the hand-over breaks", partial(hand_over, written=0, answer=Broke()))
        for written in range(len(world.order.changes) + 1):
            label = f"the append fails after {written} of {len(world.order.changes)}"
            yield Move(label, partial(hand_over, written=written, answer=AppendFailed()))
        return
    if world.may_break:
        yield Move("the release breaks", partial(OwnerWorld.tell, signal=Broke()))
    if world.waits:
        yield Move("the idle wait fails", partial(OwnerWorld.end_wait, answer=IdleFailed()))
    if world.awaited == "flush":
        yield Move("the barrier is refused", partial(answer, answer=FlushRefused()))
        yield Move("the barrier breaks", partial(answer, answer=Broke()))
    elif world.awaited == "claim":
        yield Move("the claim breaks", partial(answer, answer=Broke()))


def list_activities(world: OwnerWorld) -> Iterator[Move]:
    """What the agent, the clock and a tool that only reads do."""
    set_busy = OwnerWorld.set_busy
    yield Move("the agent becomes idle", partial(set_busy, busy=False, signal=WentIdle()))
    if world.busy:
        yield Move("the agent becomes idle and does not say so", partial(set_busy, busy=False))
    elif not world.claimed:
        yield Move("the agent is busy", partial(set_busy, busy=True))
    for now_ms in world.scenario.clock_ms:
        if now_ms != world.now_ms:
            yield Move(f"the clock shows {now_ms}", partial(OwnerWorld.set_clock, now_ms=now_ms))
    if world.turn != "held" and not world.disposing:
        yield Move("a tool has its barrier", OwnerWorld.run_tool)


def list_writes(world: OwnerWorld) -> Iterator[Move]:
    """What enters the log: by tools, which wait for their turn, and from elsewhere."""
    run_tool, fail_tool = OwnerWorld.run_tool, OwnerWorld.fail_tool
    if world.lost or world.closed:
        return  # what is written now is nothing to this owner
    if world.reported < len(world.log):
        yield Move("the log is reported", OwnerWorld.report)
    if world.scenario.guard is not None and world.reminders.streak and not world.claimed:
        yield Move("a person speaks", OwnerWorld.hear_word)
    deletes = [Delete(reminder.id) for reminder in world.reminders.active]
    for delete in deletes:
        label = f"{delete.id} is deleted elsewhere"
        yield Move(label, partial(OwnerWorld.write, change=delete))
    if world.turn == "held":
        return
    for delete in deletes:
        label = f"a tool deletes {delete.id}"
        yield Move(label, partial(run_tool, change=delete))
        yield Move(f"{label}, unconfirmed", partial(fail_tool, change=delete))
    for record in world.scenario.later:
        if record.id not in world.reminders.seen:
            label, create = f"a tool creates {record.id}", Create(record)
            yield Move(label, partial(run_tool, change=create))
            yield Move(f"{label}, unconfirmed", partial(fail_tool, change=create))


def list_ends(world: OwnerWorld) -> Iterator[Move]:
    """What ends an owner, or makes its log unreadable."""
    yield Move("another owner takes the session", partial(OwnerWorld.tell, signal=Detached()))
    yield Move("disposal is asked for", partial(OwnerWorld.tell, signal=DisposeAsked()))
    if not world.lost:
        yield Move("the log becomes unreadable", OwnerWorld.lose_log)


def list_crashes(world: OwnerWorld) -> Iterator[Move]:
    """A crash, and a new owner from what survived: all that was durable, and any part of the rest."""
    for survived in range(world.durable, len(world.log) + 1):
        yield Move(f"a crash keeps {survived} events", partial(OwnerWorld.begin, survived=survived))
    if world.lost:
        yield Move("a restart cannot read the log", partial(OwnerWorld.begin, survived=None))
