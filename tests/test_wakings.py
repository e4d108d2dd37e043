"""What is written of a session in which nobody lives, look by look."""

from __future__ import annotations

from typing import Any, Final

import pytest

from core_logs import T, at, created, dispatched, every, ok, refused
from wakefold.checkpoints import Checkpoint, begin_checkpoint, extend_checkpoint
from wakefold.conversations import INBOX_SPLICED, TURN_START, Answer, queue_reminder
from wakefold.events import SCHEDULE_CHANGE, Event, Json
from wakefold.guard import Refusal
from wakefold.guard_config import DEFAULT_CONFIG, GuardConfig, read_guard_config
from wakefold.instants import MAX_INSTANT_MS
from wakefold.recurrence import SEED
from wakefold.rejections import InvalidSelector, TimezoneConfirmationRequired
from wakefold.wakings import (
    Waking,
    call_tool,
    look,
    open_waking,
    plan_look,
    take_word,
    write_turn,
)

MINUTE_MS: Final = 60_000
HOUR_MS: Final = 60 * MINUTE_MS
DONE: Final = Answer()
TIRED: Final = ok(read_guard_config({"maxConsecutiveWakeups": 1, "minRepeatingIntervalSeconds": 300}))


def checkpoint_of(*changes: Json) -> Checkpoint:
    """What a log of these changes comes to."""
    events = [Event(SCHEDULE_CHANGE, seq, T, change) for seq, change in enumerate(changes)]
    return ok(extend_checkpoint(begin_checkpoint(0, SEED), events))


def opened(*changes: Json, now_ms: int = T, limits: GuardConfig | None = None) -> Waking:
    """A session with these changes that is looked at."""
    return open_waking(checkpoint_of(*changes), now_ms, limits, "Europe/Berlin")


def later(waking: Waking, now_ms: int) -> Waking:
    """The session after all that was written, looked at again."""
    return open_waking(waking.checkpoint, now_ms, waking.limits, waking.time_zone)


def answered(waking: Waking, answer: Answer = DONE, *, repeatable: bool = False) -> Waking:
    """The turn of the first message, written."""
    assert waking.waiting is not None
    ids = (f"r{waking.now_ms}", f"a{waking.now_ms}")
    return write_turn(waking, waking.waiting, answer, waking.now_ms, ids, repeatable=repeatable)


def kinds(waking: Waking) -> list[str]:
    """What was written, by its type or its operation."""
    return [
        str(one.data["operation"]) if one.type == SCHEDULE_CHANGE else one.type
        for one in waking.events
        if isinstance(one.data, dict)
    ]


def test_nothing_due_writes_nothing_and_says_when_to_look() -> None:
    early = look(opened(created(at()), now_ms=T - 5), "m")
    assert early.events == ()
    assert plan_look(early) == T
    assert plan_look(look(opened(), "m")) is None


def test_what_is_due_is_one_message_with_its_dispatches() -> None:
    found = look(opened(created(every("e")), created(every("f"))), "m")
    assert kinds(found) == [INBOX_SPLICED, "dispatch", "dispatch"]
    assert found.waiting is not None
    assert found.waiting.message["id"] == "m"
    assert found.waiting.occurrences == (("e", T), ("f", T))
    assert [one.seq for one in found.events] == [2, 3, 4]
    assert {one.time_ms for one in found.events} == {T}
    assert plan_look(found) == T  # the message may be given at once


def test_what_comes_due_while_the_agent_is_busy_is_one_message_after_its_turn() -> None:
    busy = look(opened(created(every("e"))), "m")
    still = look(later(busy, T + 900_000), "m2")
    assert still.events == ()
    idle = look(answered(later(still, T + 900_001), Answer("done")), "m3")
    assert kinds(idle)[:3] == [TURN_START, INBOX_SPLICED, "step/start"]
    assert kinds(idle)[-2:] == [INBOX_SPLICED, "dispatch"]
    assert idle.waiting is not None
    assert idle.waiting.occurrences == (("e", T + 900_000),)


def test_what_is_too_late_is_left_out_before_something_is_handed_over() -> None:
    late = {**created({**at("l", T - HOUR_MS), "missed": "skip", "graceSeconds": 600}), "version": 2}
    found = look(opened(late, created(at("t"))), "m")
    assert kinds(found) == ["skip", INBOX_SPLICED, "dispatch"]
    only = look(opened(late), "m")
    assert kinds(only) == ["skip"]
    assert plan_look(only) is None


def test_a_turn_that_came_to_nothing_is_offered_again_after_its_pause() -> None:
    failed = look(
        answered(later(look(opened(created(at())), "m"), T), Answer(kind="failed"), repeatable=True),
        "m2",
    )
    assert failed.waiting is not None
    assert failed.waiting.earlier_offers == 1
    assert plan_look(failed) == T + 10_000
    assert plan_look(later(failed, T + 60_000)) == T + 60_000
    assert plan_look(later(failed, T - HOUR_MS)) == T - HOUR_MS + 10_000  # its clock was set back


def test_only_the_message_that_was_given_is_taken() -> None:
    given = look(opened(created(at())), "m").waiting
    assert given is not None
    nothing = opened(created(at()))
    assert write_turn(nothing, given, Answer(), T, ("r", "a"), repeatable=False) is nothing


def test_a_turn_that_was_cut_off_is_closed_first_and_its_dispatches_are_made_up_for() -> None:
    lost = opened(created(at()))
    handed = look(lost, "m").waiting
    assert handed is not None
    splice = queue_reminder(lost.checkpoint.conversation, "m", handed.text)
    cut = ok(
        extend_checkpoint(
            lost.checkpoint,
            [
                Event(splice.type, 1, T, splice.data),
                Event(TURN_START, 2, T, {"turn": 1}),
            ],
        )
    )
    found = look(open_waking(cut, T + 1), "m2")
    assert kinds(found) == ["turn/end", "dispatch"]
    assert found.waiting is not None
    assert found.waiting.message["id"] == "m"


def test_a_tool_answers_and_appends() -> None:
    made, answer = call_tool(opened(), "schedule_create", {"prompt": "x", "after_seconds": 60})
    view: Any = ok(answer)
    assert view["id"] == "schedule-1"
    assert kinds(made) == ["create"]
    assert plan_look(look(made, "m")) == T + MINUTE_MS
    gone, answer = call_tool(made, "schedule_delete", {"id": "schedule-1"})
    assert ok(answer) == {"id": "schedule-1", "deleted": True}
    assert plan_look(look(gone, "m")) is None


def test_a_refused_call_writes_nothing() -> None:
    before = opened()
    after, answer = call_tool(before, "schedule_create", {"prompt": "x"})
    assert isinstance(refused(answer), InvalidSelector)
    assert after is before
    wish = {"prompt": "x", "at": {"date": "2027-02-01", "time": "09:00:00"}}
    after, answer = call_tool(before, "schedule_create", wish)
    rejection = refused(answer)
    assert isinstance(rejection, TimezoneConfirmationRequired)
    assert rejection.session_time_zone == "Europe/Berlin"
    assert after.events == ()


def test_the_guard_admits_and_holds() -> None:
    story = [created(at("a")), dispatched("a"), created(at("b"))]
    capped = ok(read_guard_config({"maxPerHour": 1, "hold": True}))
    busy = opened(*story, now_ms=T + 1, limits=capped)
    _, answer = call_tool(busy, "schedule_create", {"prompt": "x", "after_seconds": 60})
    assert isinstance(refused(answer), Refusal)
    held = look(busy, "m")
    assert held.events == ()
    assert plan_look(held) == T + 1 + HOUR_MS
    assert plan_look(held, heed_hold=False) == T + 1
    worn = ok(read_guard_config({"maxConsecutiveWakeups": 1, "hold": True}))
    silent = look(opened(*story, now_ms=T + 1, limits=worn), "m")
    assert silent.events == ()
    assert plan_look(silent) is None  # until an external word


def test_a_word_waits_behind_what_waits_and_its_turn_ends_the_streak() -> None:
    story = [created(at("a")), dispatched("a"), created(at("b"))]
    worn = ok(read_guard_config({"maxConsecutiveWakeups": 1, "hold": True}))
    said = look(take_word(opened(*story, limits=worn), "w", "r", "hi", "Asia/Tokyo"), "m")
    assert kinds(said) == [INBOX_SPLICED]
    assert said.waiting is not None
    assert said.waiting.text == "hi"
    heard = look(answered(later(said, T)), "m2")
    assert kinds(heard)[-2:] == [INBOX_SPLICED, "dispatch"]
    assert heard.checkpoint.wakeups.consecutive == 1


def test_a_stop_deletes_what_repeats_and_is_told_once_its_turn_has_ended() -> None:
    story = [created(every("e")), dispatched("e", T), created(at("t", T + 9 * HOUR_MS))]
    due = look(opened(*story, now_ms=T + 300_000, limits=TIRED), "m")
    assert due.reaped.stop is None
    ended = look(answered(later(due, T + 300_001)), "m2")
    assert kinds(ended)[-1] == "delete"
    stop = ended.reaped.stop
    assert stop is not None
    assert (stop.key.reason, stop.consecutive) == ("consecutive", 2)
    assert ended.reaped.confirmed
    assert plan_look(ended) == T + 9 * HOUR_MS


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"maxConsecutiveWakeups": 1}, "consecutive"),
        ({"maxPerDay": 1}, "per_day"),
    ],
)
def test_a_stop_that_deletes_nothing_is_told_when_it_comes_and_not_again(
    limits: Json, reason: str
) -> None:
    config = ok(read_guard_config(limits))
    shots = [created(at(name, T + place)) for place, name in enumerate("abcd")]
    waking = opened(*shots, limits=config)
    told = []
    for place in range(4):
        handed = look(later(waking, T + place), f"m{place}")
        waking = answered(later(handed, T + place))
        ended = look(waking, f"n{place}")
        told.append(None if ended.reaped.stop is None else ended.reaped.stop.key.reason)
    assert told == [None, reason, None, None]


def test_a_session_without_stops_is_reaped_of_nothing() -> None:
    ended = look(answered(look(opened(created(at()), limits=DEFAULT_CONFIG), "m")), "m2")
    assert ended.reaped.stop is None


def test_what_is_due_in_a_zone_that_nobody_knows_is_told_and_passed_over() -> None:
    rule = {"kind": "daily", "time": "08:00:00.000", "timeZone": "No/Such_Zone"}
    schedule: Json = {"id": "z", "prompt": "p", "scheduledAt": "2027-01-15T08:00:00.000Z", **rule}
    found = look(opened({**created(schedule), "version": 2}, created(at("t"))), "m")
    assert [record.id for record in found.passed_over] == ["z"]
    assert found.waiting is not None
    assert found.waiting.occurrences == (("t", T),)


def test_past_the_calendar_nothing_is_handed_over() -> None:
    found = look(opened(created(every()), now_ms=MAX_INSTANT_MS + 1), "m")
    assert found.events == ()
