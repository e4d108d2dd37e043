"""The strategies draw what they say: each claim has an example, and each drawn value is sound."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeVar
from zoneinfo import ZoneInfo

import pytest
from hypothesis import Phase, given, settings

from wakefold.events import (
    SCHEDULE_CHANGE,
    AfterRecord,
    AtRecord,
    Change,
    Create,
    Delete,
    Dispatch,
    Event,
    EveryRecord,
    decode_change,
)
from wakefold.instants import is_trimmed
from wakefold.recurrence import PUBLISHED, SEED, Profile
from wakefold_laws.clock_scripts import ClockReading, ClockScript
from wakefold_laws.clock_strategies import ZONES, clock_scripts, clocked_ledgers
from wakefold_laws.drawing import st
from wakefold_laws.log_model import BROKEN_RULES, STATE_RULES, BrokenLog, Log, join_surrogates
from wakefold_laws.session_model import SessionLog
from wakefold_laws.session_strategies import session_logs
from wakefold_laws.strategies import attacks, broken_logs, changes, ids, logs, prompts, records
from wakefold_laws.zone_changes import EPOCH, MS, list_moves

_Drawn = TypeVar("_Drawn")


def draw_sample(strategy: st.SearchStrategy[_Drawn], count: int = 150) -> list[_Drawn]:
    """So many values that a strategy draws, the same on each run."""
    drawn: list[_Drawn] = []

    @settings(max_examples=count, derandomize=True, database=None, phases=[Phase.generate])
    @given(value=strategy)
    def keep(value: _Drawn) -> None:
        drawn.append(value)

    keep()
    return drawn


@cache
def draw_logs(profile: Profile | None) -> list[Log]:
    return draw_sample(logs(profile), 150 if profile else 20)


@cache
def draw_broken_logs() -> list[BrokenLog]:
    return draw_sample(broken_logs())


@cache
def draw_attacks() -> list[str]:
    return draw_sample(attacks(), 600)


@cache
def draw_sessions() -> list[SessionLog]:
    return draw_sample(session_logs())


@cache
def draw_scripts() -> list[ClockScript]:
    return draw_sample(clock_scripts(), 500)


@pytest.mark.parametrize("kind", [AfterRecord, AtRecord, EveryRecord])
def test_records_of_each_kind_are_drawn(kind: type[object]) -> None:
    assert any(isinstance(record, kind) for record in draw_sample(records(), 50))


@pytest.mark.parametrize("kind", [Create, Delete, Dispatch])
def test_changes_of_each_kind_are_drawn(kind: type[object]) -> None:
    assert any(isinstance(change, kind) for change in draw_sample(changes(), 50))


def list_changes(log: Log) -> list[tuple[Event, Change]]:
    own = [event for event in log.events if event.type == SCHEDULE_CHANGE]
    return [(event, decode_change(event.data).unwrap()) for event in own]


def uses_an_id_again(log: Log) -> bool:
    made = [change.schedule.id for _, change in list_changes(log) if isinstance(change, Create)]
    return len(set(made)) < len(made)


def has_a_batch_of_two(log: Log) -> bool:
    accepted = [
        change.accepted_at_ms
        for event, change in list_changes(log)
        if isinstance(change, Dispatch)
        if event.seq >= log.seed_length
        if change.accepted_at_ms is not None
    ]
    return len(set(accepted)) < len(accepted)


LOG_CLAIMS: Final[dict[str, Callable[[Log], bool]]] = {
    "nothing": lambda log: not log.events,
    "a fork": lambda log: 0 < log.seed_length < len(log.events),
    "a fork without events of its own": lambda log: 0 < log.seed_length == len(log.events),
    "an id used again after a fork": uses_an_id_again,
    "a batch of two": has_a_batch_of_two,
    "two batches": lambda log: len({seq for seq, _ in log.occurrences if seq >= log.seed_length}) > 1,
    "foreign events": lambda log: any(event.type != SCHEDULE_CHANGE for event in log.events),
    "an ended record": lambda log: len(log.ledger.seen_ids) > len(log.ledger.records) > 0,
}


@pytest.mark.parametrize("profile", [SEED, PUBLISHED], ids=lambda profile: profile.name)
@pytest.mark.parametrize("claim", LOG_CLAIMS)
def test_logs_hold_what_they_claim(claim: str, profile: Profile) -> None:
    """Under either profile."""
    assert any(map(LOG_CLAIMS[claim], draw_logs(profile)))


def test_logs_are_drawn_under_the_profile_asked_for_or_under_either() -> None:
    for profile in (SEED, PUBLISHED):
        assert {log.profile for log in draw_logs(profile)} == {profile}
    assert {log.profile for log in draw_logs(None)} == {SEED, PUBLISHED}


def test_broken_logs_break_any_rule() -> None:
    """Those of the shape, and those of the state; the law of the planted fault tries each one."""
    drawn = {log.rule for log in draw_broken_logs()}
    assert len(drawn) > len(BROKEN_RULES) // 2
    assert drawn - set(STATE_RULES)
    assert drawn & set(STATE_RULES)


def test_broken_logs_are_forks_too_and_go_on_behind_their_fault() -> None:
    assert any(log.seed_length > 0 and log.index < len(log.events) - 1 for log in draw_broken_logs())


@pytest.mark.parametrize("profile", [SEED, PUBLISHED], ids=lambda profile: profile.name)
def test_broken_logs_are_drawn_under_each_profile(profile: Profile) -> None:
    assert any(log.profile == profile for log in draw_broken_logs())


@given(text=prompts() | ids() | attacks())
def test_prompts_ids_and_attacks_are_fit_to_be_stored(text: str) -> None:
    """They are their own trim, and no surrogate pair stands as two."""
    assert is_trimmed(text)
    assert join_surrogates(text) == text


BREAKS: Final = ("\n", "\r", "\v", "\f", "\x1c", "\x85", "\u2028", "\u2029", "\\n", "\\u000a")


@pytest.mark.parametrize("line_break", BREAKS, ids=ascii)
def test_attacks_break_lines_in_every_way(line_break: str) -> None:
    """With any line of a frame behind the break."""
    for line in (
        "[SCHEDULE REMINDER]",
        "[SCHEDULE REMINDER BATCH]",
        "reminders_json: [",
        "occurrence_at: ",
    ):
        assert any(f"{line_break}{line}" in text for text in draw_attacks())


@pytest.mark.parametrize("end", ['"', '"}]', "\\", "\ud83d"], ids=ascii)
def test_attacks_close_what_is_open(end: str) -> None:
    """Quotes, brackets, escapes and half a character."""
    assert any(f"{end}\n" in text for text in draw_attacks())


def read(event: Event) -> Any:  # noqa: ANN401 - JSON
    return event.data


def list_open_turns(log: SessionLog) -> list[list[Event]]:
    """What each turn of a session holds, its beginning aside and its end included."""
    turns: list[list[Event]] = []
    for event in log.events:
        if event.type == "turn/start":
            turns.append([])
        elif turns:
            turns[-1].append(event)
    return turns


def list_words(turn: list[Event]) -> list[Event]:
    """The words in a turn that stand after its time-context reading and before its end."""
    ends = [place for place, event in enumerate(turn) if event.type == "turn/end"]
    inside = [event for event in turn[: ends[0] if ends else None] if event.type == "user/message"]
    return inside[2:]


def has_word(kind: str) -> Callable[[SessionLog], bool]:
    return lambda log: any(
        read(event)["source"]["kind"] == kind
        for turn in list_open_turns(log)
        for event in list_words(turn)
    )


def has_end(kind: str) -> Callable[[SessionLog], bool]:
    return lambda log: any(
        event.type == "turn/end" and read(event)["reason"]["kind"] == kind for event in log.events
    )


SESSION_CLAIMS: Final[dict[str, Callable[[SessionLog], bool]]] = {
    "a person's word inside a turn": has_word("user"),
    "a coordinator's word inside a turn": has_word("a2a"),
    "a plugin's word inside a turn": has_word("plugin"),
    "a second step": lambda log: any(
        read(e)["step"] == 2 for e in log.events if e.type == "step/start"
    ),
    "an answer": lambda log: any(e.type == "assistant/message" for e in log.events),
    "a turn that ended well": has_end("completed"),
    "a turn that failed": has_end("failed"),
    "a turn that was interrupted": has_end("interrupted"),
    "two that wait": lambda log: any(len(state.inbox) > 1 for state in log.tell_states()),
    "a streak of three": lambda log: any(state.consecutive > 2 for state in log.tell_states()),
    "a streak below the highest": lambda log: any(
        0 < state.consecutive < state.max_consecutive for state in log.tell_states()
    ),
    "two zones in a turn": lambda log: any(
        len(state.client_time_zones) > 1 for state in log.tell_states()
    ),
    "a zone that is the header's": lambda log: any(
        state.time_told and state.client_time_zones == (log.time_zone,) for state in log.tell_states()
    ),
    "a header without a zone": lambda log: log.time_zone is None,
    "a step without a reading": lambda log: any(
        s.step_open and not s.time_told for s in log.tell_states()
    ),
    "a fork cut inside a turn": lambda log: log.seed_length > 0 and log.tell_states()[0].turn_open,
    "a fork of a session that had something waiting": lambda log: any(
        event.type == "agent/inbox/spliced" for event in log.events[: log.seed_length]
    ),
}


@pytest.mark.parametrize("claim", SESSION_CLAIMS)
def test_session_logs_hold_what_they_claim(claim: str) -> None:
    assert any(map(SESSION_CLAIMS[claim], draw_sessions()))


def test_a_session_log_tells_a_state_for_each_of_its_lengths() -> None:
    """Seqs count from 0, times never go back, and each own event has one state behind it."""
    for log in draw_sessions():
        assert [event.seq for event in log.events] == list(range(len(log.events)))
        times_ms = [event.time_ms for event in log.events]
        assert times_ms == sorted(times_ms)
        states = log.tell_states()
        own = log.events[log.seed_length :]
        for event, before, after in zip(own, states, states[1:], strict=False):
            counted = len(after.dispatch_times_ms) - len(before.dispatch_times_ms)
            is_change = event.type == SCHEDULE_CHANGE
            assert counted == (is_change and read(event)["operation"] == "dispatch")
        assert len(states) == len(own) + 1


def show(reading: ClockReading, zone: str) -> str:
    """What a clock on the wall shows, without its offset."""
    at = (EPOCH + MS * reading.wall_ms).astimezone(ZoneInfo(zone))
    return at.replace(tzinfo=None).isoformat()


def jumps_back_over_a_fold(script: ClockScript) -> bool:
    """A jump back by less than it seems: the local clock was set back in between."""
    return any(
        step.deed == "jump" and step.ms < 0 and show(after, script.zone) > show(before, script.zone)
        for step, before, after in script.list_moves()
    )


def passes(deed: str, *, forward: bool) -> Callable[[ClockScript], bool]:
    """Whether a script goes over a change of its zone's clocks, by a deed, to a gap or to a fold."""

    def wanted(script: ClockScript) -> bool:
        moves = [move for year in (2011, 2026, 2027, 2028) for move in list_moves(script.zone, year)]
        starts = {start.isoformat() for start, length in moves if (length > 0 * length) == forward}
        for step, before, after in script.list_moves():
            low, high = sorted((show(before, script.zone), show(after, script.zone)))
            if step.deed == deed and any(low < start < high for start in starts):
                return True
        return False

    return wanted


CLOCK_CLAIMS: Final[dict[str, Callable[[ClockScript], bool]]] = {
    "a jump back over a fold": jumps_back_over_a_fold,
    "a jump over a gap": passes("jump", forward=True),
    "a suspend over a gap": passes("suspend", forward=True),
    "a suspend over a fold": passes("suspend", forward=False),
    "an hour that goes on over a fold": passes("go_on", forward=False),
    "a jump forward": lambda script: any(s.deed == "jump" and s.ms > 0 for s in script.steps),
    "a jump to before the start": lambda script: (
        min(reading.wall_ms for reading in script.list_readings()) < script.start_ms
    ),
}


@pytest.mark.parametrize("claim", CLOCK_CLAIMS)
def test_clock_scripts_hold_what_they_claim(claim: str) -> None:
    assert any(map(CLOCK_CLAIMS[claim], draw_scripts()))


def test_clock_scripts_are_drawn_in_every_zone() -> None:
    assert {script.zone for script in draw_scripts()} == set(ZONES)


def test_the_monotonic_clock_only_goes_on() -> None:
    """By what goes on, and by nothing else; the wall clock by everything."""
    for script in draw_scripts():
        readings = script.list_readings()
        assert readings[0] == ClockReading(script.start_ms, 0)
        for step, before, after in script.list_moves():
            assert after.wall_ms - before.wall_ms == step.ms
            gone_on_ms = step.ms if step.deed == "go_on" else 0
            assert after.monotonic_ms - before.monotonic_ms == gone_on_ms
        assert len(readings) == len(script.steps) + 1


def test_the_targets_of_a_clocked_ledger_are_met() -> None:
    """To the millisecond, and missed by one."""
    missed_ms = {
        record.scheduled_at_ms - reading.wall_ms
        for ledger, script in draw_sample(clocked_ledgers(), 100)
        for record in ledger.records.values()
        for reading in script.list_readings()
    }
    assert missed_ms >= {0, 1, -1}
