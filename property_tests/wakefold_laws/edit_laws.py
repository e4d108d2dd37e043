"""Laws of version 2: editing, pausing, snoozing, skipping, and what a dispatch states.

This module decides what must hold of every log that callers and an owner write with version 2, by
counting and comparing. It refuses to know which local times a rule names: `calendar_laws` does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace
from returns.pipeline import is_successful

from wakefold.edit_requests import Unchanged, make_edit, read_update_request
from wakefold.edits import Pause, Resume, Skip, Snooze, StatedDispatch, Update
from wakefold.events import (
    SCHEDULE_CHANGE,
    CalendarRecord,
    Change,
    Create,
    Dispatch,
    Event,
    Json,
    Record,
    decode_change,
    encode_change,
)
from wakefold.implied_zones import NO_ZONE
from wakefold.instants import format_instant
from wakefold.json_text import format_json, parse_json
from wakefold.ledger import Ledger, accept_dispatch, evolve, fold, list_active
from wakefold.occurrences import evaluate, find_following, state_dispatch
from wakefold.option_requests import NOTHING_ASKED, read_options, resolve_options
from wakefold.records import find_due, is_recurring
from wakefold.rejections import Rejection
from wakefold.transitions import measure_lateness
from wakefold.wakes import plan_next_wake
from wakefold_laws.drawing import assume, st
from wakefold_laws.edit_logs import EditedLog, Writer, edited_logs, options_changed, place_until
from wakefold_laws.laws import law
from wakefold_laws.zone_changes import NO_ZONE_ANYWHERE, move_nowhere

_HOUR_MS: Final = 3_600_000

_picks = st.integers(0, 2519)
_pauses = st.sampled_from((0, 1, 60_000, _HOUR_MS, 100 * _HOUR_MS, 10_000 * _HOUR_MS))
_lengths = st.sampled_from((1, 60_000, 299_999, 300_000, _HOUR_MS, 20 * _HOUR_MS))

_Step = tuple[Ledger, Change, Ledger]


def _list_steps(log: EditedLog) -> Iterator[_Step]:
    """Each change of a log's own part, between what was before and what came of it."""
    ledger = Ledger(profile=log.profile, seed_length=log.seed_length)
    for event in log.events:
        before, ledger = ledger, evolve(ledger, event).unwrap()
        if event.type == SCHEDULE_CHANGE and event.seq >= log.seed_length:
            yield before, decode_change(event.data).unwrap(), ledger


def _pick(log: EditedLog, pick: int, *, paused: bool) -> Record:
    """One of the active records, paused or not."""
    found = [one for one in list_active(log.ledger) if one.standing.paused == paused]
    assume(found)
    return found[pick % len(found)]


def _ask(log: EditedLog, now_ms: int, arguments: Json) -> object:
    """What a caller's update comes to: a change, nothing, or a rejection."""
    made = read_update_request(arguments).bind(
        lambda request: make_edit(request, log.ledger, now_ms, NO_ZONE)
    )
    return made.unwrap() if is_successful(made) else made.failure()


def _can_follow(log: EditedLog, change: Change) -> bool:
    event = Event(SCHEDULE_CHANGE, log.ledger.position, log.now_ms, encode_change(change))
    return is_successful(evolve(log.ledger, event))


def _go_on(log: EditedLog, now_ms: int) -> Writer:
    return Writer(log.ledger, now_ms)


@law(log=edited_logs())
def an_edited_log_folds_to_what_its_writers_saw(log: EditedLog) -> None:
    """Whoever folds the log at once has the ledger that grew event by event, and every change reads
    back as it was.
    """
    folded = fold(log.events, log.seed_length, log.profile).unwrap()
    assert folded == log.ledger
    assert [step[1] for step in _list_steps(log)] == list(log.changes)
    for change in log.changes:
        assert decode_change(parse_json(format_json(encode_change(change)))).unwrap() == change


@law(log=edited_logs())
def no_fold_asks_for_a_zone(log: EditedLog) -> None:
    """Where no tz database knows the zones of a log, it folds to the same but for their names."""

    def move(event: Event) -> Event:
        return move_nowhere(event) if event.seq >= log.seed_length else event

    def rename(record: Record) -> Record:
        if not isinstance(record, CalendarRecord):
            return record
        return replace(record, rule=replace(record.rule, time_zone=NO_ZONE_ANYWHERE))

    moved = fold(map(move, log.events), log.seed_length, log.profile).unwrap()
    assert moved.last_accepted_at_ms == log.ledger.last_accepted_at_ms
    assert list(moved.records.values()) == [rename(one) for one in log.ledger.records.values()]


@law(log=edited_logs(), pick=_picks, title=st.none() | st.just("another"))
def a_text_edit_moves_nothing(log: EditedLog, pick: int, title: str | None) -> None:
    """Another prompt or title leaves rule, target, snooze, pause and runs as they were, and counts as
    one edit.
    """
    active = list_active(log.ledger)
    assume(active)
    record = active[pick % len(active)]
    writer = _go_on(log, log.now_ms)
    writer.edit({"id": record.id, "prompt": "another", "title": title})
    edited = writer.ledger.records[record.id]
    standing = record.standing
    assert edited.prompt == "another"
    assert edited.options == replace(record.options, title=title)
    assert edited.standing == replace(standing, version=2, revision=standing.revision + 1)
    kept = replace(edited, prompt=record.prompt, options=record.options, standing=standing)
    assert kept == record


@law(log=edited_logs(), pick=_picks, pause_ms=_pauses, later_ms=_pauses)
def a_pause_piles_nothing_up(log: EditedLog, pick: int, pause_ms: int, later_ms: int) -> None:
    """However long a reminder is paused, nothing of it is delivered meanwhile, nothing recurring at the
    moment when it goes on, and one message at most at the next look, whenever that is.
    """
    record = _pick(log, pick, paused=False)
    writer = _go_on(log, log.now_ms)
    writer.edit({"id": record.id, "paused": True})
    writer.now_ms += pause_ms
    assert all(change.id != record.id for change in writer.deliver() if not isinstance(change, Create))
    writer.edit({"id": record.id, "paused": False})
    going_on = writer.ledger.records[record.id]
    assume(not going_on.standing.paused)  # past `until` nothing is left to go on with
    at_once = _count(writer.deliver(), record.id)
    assert at_once == 0 or not is_recurring(record)
    if is_recurring(record):
        assert going_on.scheduled_at_ms > writer.now_ms
    writer.now_ms += later_ms
    assert at_once + _count(writer.deliver(), record.id) <= 1


def _count(changes: list[Change], schedule_id: str) -> int:
    return sum(not isinstance(one, Create) and one.id == schedule_id for one in changes)


@law(log=edited_logs(), pick=_picks, length_ms=_lengths, late_ms=_lengths)
def a_snooze_loses_nothing_of_the_sequence(
    log: EditedLog, pick: int, length_ms: int, late_ms: int
) -> None:
    """A snoozed reminder is delivered later, for the same occurrence as without the snooze, and what
    comes after it comes when it would have come.
    """
    record = _pick(log, pick, paused=False)
    until_ms = max(log.now_ms, record.scheduled_at_ms) + length_ms
    edit = _ask(log, log.now_ms, {"id": record.id, "snooze_until": format_instant(until_ms)})
    assume(edit == Snooze(record.id, until_ms))
    writer = _go_on(log, log.now_ms)
    writer.append(Snooze(record.id, until_ms))
    snoozed = writer.ledger.records[record.id]
    assert (find_due(snoozed), snoozed.scheduled_at_ms) == (until_ms, record.scheduled_at_ms)
    at_ms = max(until_ms, find_due(record)) + late_ms
    left = [accept_dispatch(one, state_dispatch(one, at_ms)) for one in (record, snoozed)]
    assert left[0].occurrence_ms == left[1].occurrence_ms
    targets = [None if one.remaining is None else find_due(one.remaining) for one in left]
    assert targets[0] == targets[1]


@law(times=2, log=edited_logs())
def no_reminder_outlives_its_limits(log: EditedLog) -> None:
    """No dispatch is one too many for `maxRuns` or for an occurrence after `until`, and what is active
    has a run and a target left; `runs` counts dispatches alone.
    """
    runs: Counter[str] = Counter()
    for before, change, after in _list_steps(log):
        if isinstance(change, Dispatch | StatedDispatch):
            options = before.records[change.id].options
            assert options.max_runs is None or runs[change.id] < options.max_runs
            stated_ms = change.occurrence_ms if isinstance(change, StatedDispatch) else None
            if options.until_ms is not None and stated_ms is not None:
                assert stated_ms <= options.until_ms
            runs[change.id] += 1
        for record in after.records.values():
            max_runs, until_ms = record.options.max_runs, record.options.until_ms
            assert record.standing.runs == runs[record.id]
            assert max_runs is None or runs[record.id] < max_runs
            assert until_ms is None or record.scheduled_at_ms <= until_ms


@law(times=2, log=edited_logs())
def no_occurrence_is_dropped_in_silence(log: EditedLog) -> None:
    """Whatever occurs from a target on is delivered, or left out by an event for being later than its
    grace, or followed by a later one that was due as well; the next target is the first after that.
    """
    gate_distance_ms = log.profile.batch_distance_ms
    for before, change, after in _list_steps(log):
        if not isinstance(change, StatedDispatch | Skip):
            continue
        record, at_ms = before.records[change.id], change.accepted_at_ms
        last_ms = before.last_accepted_at_ms
        assert record.scheduled_at_ms <= change.occurrence_ms <= at_ms
        if isinstance(change, Skip):
            grace_seconds = record.options.grace_seconds
            gate_ms = None
            if last_ms is not None and gate_distance_ms is not None:
                gate_ms = last_ms + gate_distance_ms
            late_ms = measure_lateness(record, change.occurrence_ms, at_ms, gate_ms)
            assert record.options.missed == "skip"
            assert grace_seconds is not None
            assert late_ms > 1000 * grace_seconds
        if not is_recurring(record):
            assert change.id not in after.records
            continue
        until_ms = record.options.until_ms
        end_ms = at_ms if until_ms is None else min(at_ms, until_ms)
        following_ms = find_following(record, max(change.occurrence_ms, record.scheduled_at_ms))
        assert following_ms is None or following_ms > end_ms
        assert change.next_ms == find_following(record, at_ms)
        if change.id in after.records:
            assert after.records[change.id].scheduled_at_ms == change.next_ms


@law(log=edited_logs())
def a_revision_counts_edits_alone(log: EditedLog) -> None:
    """A reminder's revision is the number of its updates, pauses, resumes and snoozes; dispatches and
    skips change none.
    """
    edits: Counter[str] = Counter()
    for _, change, after in _list_steps(log):
        if isinstance(change, Update | Pause | Resume | Snooze):
            edits[change.id] += 1
        for record in after.records.values():
            assert record.standing.revision == edits[record.id]


@law(times=2, log=edited_logs(), pick=_picks, wished=options_changed)
def a_caller_is_refused_what_would_be_corrupt(log: EditedLog, pick: int, wished: Json) -> None:
    """Options that a caller is refused for not standing together would make the log corrupt, and those
    that it may give would not; a pause of what is paused, or a resume of what is not, likewise.
    """
    active = list_active(log.ledger)
    assume(active)
    record = active[pick % len(active)]
    placed = place_until(wished, log.now_ms)
    if placed:
        asked = read_options(placed, nullable=True).value_or(NOTHING_ASKED)
        changes = resolve_options(asked, log.now_ms, NO_ZONE).unwrap()
        answer = _ask(log, log.now_ms, {"id": record.id, **placed})
        assert (answer == Update(record.id, changes)) == _can_follow(log, Update(record.id, changes))
        assert isinstance(answer, Update | Rejection)
    paused = record.standing.paused
    assert (_ask(log, log.now_ms, {"id": record.id, "paused": True}) == Pause(record.id)) != paused
    assert _can_follow(log, Pause(record.id)) != paused
    resumed = _ask(log, log.now_ms, {"id": record.id, "paused": False})
    assert isinstance(resumed, Unchanged) != paused
    target_ms = record.scheduled_at_ms if is_recurring(record) else None
    assert not isinstance(resumed, Resume) or _can_follow(log, resumed)
    assert paused or not _can_follow(log, Resume(record.id, target_ms))
    later = Snooze(record.id, record.scheduled_at_ms + 1)
    assert _can_follow(log, later) != paused


@law(log=edited_logs(), pick=_picks)
def a_dispatch_states_what_was_evaluated(log: EditedLog, pick: int) -> None:
    """What an owner writes of a due reminder may follow, and is the latest occurrence with the next
    target; stated a millisecond before it is due, it may not.
    """
    record = _pick(log, pick, paused=False)
    due_ms = find_due(record)
    last_ms = log.ledger.last_accepted_at_ms
    at_ms = max(due_ms, log.now_ms)
    if last_ms is not None and log.profile.batch_distance_ms is not None:
        at_ms = max(at_ms, last_ms + log.profile.batch_distance_ms)
    stated = state_dispatch(record, at_ms)
    assert _can_follow(log, stated)
    if isinstance(stated, StatedDispatch):
        found = evaluate(record, at_ms)
        assert (stated.occurrence_ms, stated.next_ms) == (found.occurrence_ms, found.next_target_ms)
        assert not _can_follow(log, replace(stated, accepted_at_ms=due_ms - 1))


@law(log=edited_logs())
def a_paused_reminder_wakes_nobody(log: EditedLog) -> None:
    """Where everything active is paused there is nothing to wait for, whatever was due before."""
    writer = _go_on(log, log.now_ms)
    for record in list_active(log.ledger):
        if not record.standing.paused:
            writer.edit({"id": record.id, "paused": True})
    assert plan_next_wake(writer.ledger, writer.now_ms) is None
    assert writer.deliver() == []
