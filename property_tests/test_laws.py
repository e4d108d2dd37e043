"""Every law holds, under the profile of this folder; and how laws are listed and tried."""

from __future__ import annotations

import ast
import inspect
import itertools
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final
from unittest.mock import patch

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from msgspec.structs import force_setattr, replace
from returns.primitives.exceptions import UnwrapFailedError
from returns.result import Result
from whenever import Date, PlainDateTime

from wakefold import calendars
from wakefold.calendars import find_latest, find_next
from wakefold.conversations import Conversation, follow
from wakefold.cron_expressions import CronExpression, CronFault, parse_cron
from wakefold.edit_requests import Revision, Unchanged, UpdateRequest, make_edit
from wakefold.edits import Edit, Snooze, StatedDispatch, Update
from wakefold.events import (
    SCHEDULE_CHANGE,
    Change,
    Dispatch,
    Event,
    Json,
    OneShotRecord,
    Record,
    encode_change,
)
from wakefold.framing import frame_one_shot
from wakefold.implied_zones import RequestZone, find_request_zone
from wakefold.ledger import Ledger, evolve, fold
from wakefold.occurrences import can_evaluate, find_following, state_dispatch
from wakefold.option_requests import resolve_options
from wakefold.recurrence import PUBLISHED, SEED, Profile
from wakefold.rejections import InternalError, Rejection, TimeOutOfRange
from wakefold.wakes import Decision, Wake, decide_due, delay_wake, plan_next_wake
from wakefold.wakeups import Wakeups, count_wakeups, follow_wakeups
from wakefold.wall_patterns import (
    DAY_MS,
    WallPattern,
    comes_closer,
    find_spacing,
    list_dates,
)
from wakefold.zones import Resolution, Resolved, Skipped, resolve_local
from wakefold_laws import (
    calendar_laws,
    clock_laws,
    edit_laws,
    framing_laws,
    guard_laws,
    ledger_laws,
    session_laws,
    wake_laws,
)
from wakefold_laws.edit_logs import Writer
from wakefold_laws.laws import ROOMS, Law, check_law, law, list_laws
from wakefold_laws.ledger_laws import Folded
from wakefold_laws.log_model import Log, retrace_log
from wakefold_laws.strategies import logs
from wakefold_shell.stores.journals import open_journal

LAWS: Final = Path(__file__).with_name("wakefold_laws")
JOURNALS: Final = Path(__file__).resolve().parents[1] / "tests" / "journals"
OF_A_LOG: Final = [
    found
    for found in list_laws()
    if list(found.strategies) == ["log"]
    if re.search(r"\bLog\b", inspect.get_annotations(found.function)["log"])
]


def test_a_law_holds(core_law: Callable[[], None]) -> None:
    """By its own share of the profile's examples."""
    core_law()


def test_every_room_has_laws_and_no_name_stands_for_two() -> None:
    """Rooms in their order, the laws of a room in its module's order."""
    found = list_laws()
    assert list(dict.fromkeys(one.room for one in found)) == list(ROOMS)
    assert len({(one.room, one.name) for one in found}) == len(found) > 90
    assert found == list_laws()
    for one in found:
        assert one.function.__module__ == f"wakefold_laws.{one.room}_laws"
    starts = [inspect.getsourcelines(one.function)[1] for one in found if one.room == "wake"]
    assert starts == sorted(starts)


def test_no_function_of_a_room_is_a_law_that_was_forgotten() -> None:
    """Whatever asserts with nothing to give back is a law, or a step that a law calls."""
    for room in ROOMS:
        source = (LAWS / f"{room}_laws.py").read_text("utf-8")
        functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
        plain = [
            node for node in functions if not any("law(" in ast.unparse(d) for d in node.decorator_list)
        ]
        for node in plain:
            if any(isinstance(part, ast.Assert) for part in ast.walk(node)):
                assert len(re.findall(rf"\b{node.name}\b", source)) > 1, node.name


@pytest.mark.parametrize("found", list_laws(), ids=lambda found: f"{found.room}/{found.name}")
def test_a_law_says_one_sentence_and_draws_all_that_it_takes(found: Law[...]) -> None:
    """From its capital, or from a name in backquotes, to its full stop."""
    assert re.fullmatch(r"[A-Z`].*\.", found.sentence)
    assert not re.search(r"\.\s+[A-Z]", found.sentence)
    assert found.strategies.keys() == inspect.signature(found.function).parameters.keys()


@pytest.mark.parametrize("path", sorted(JOURNALS.glob("*/*/session.jsonl")), ids=lambda p: p.parts[-2])
@pytest.mark.parametrize("found", OF_A_LOG, ids=lambda found: found.name)
def test_a_law_of_a_log_holds_of_a_real_one(found: Law[...], path: Path) -> None:
    """Of the journals of released packages, retraced by the model, as of what strategies draw."""
    with open_journal(path) as journal:
        events = tuple(journal.read_events())
    profile = SEED if path.parts[-3] == "seed" else PUBLISHED
    found(retrace_log(events, journal.header.seed_length or 0, profile))


@given(log=logs())
def test_a_log_is_retraced_as_it_was_written(log: Log) -> None:
    """The model reads what it wrote, inherited levels as one, and comes to the same ledger."""
    assert retrace_log(log.events, log.seed_length, log.profile) == log


def test_a_log_that_cannot_be_is_not_retraced() -> None:
    """A dispatch of nothing and a change that is none are named by their place."""
    for data in (encode_change(Dispatch("schedule-1")), {"version": 2}):
        events = [Event("turn/start", 0, 0, {"turn": 1}), Event(SCHEDULE_CHANGE, 1, 0, data)]
        with pytest.raises(ValueError, match=r"^event 1 cannot follow: laws take a valid log\.$"):
            retrace_log(events)


@contextmanager
def profile_of(other: settings) -> Iterator[None]:
    """Another profile, for a while."""
    before = settings.get_current_profile_name()
    settings.register_profile("other", other)
    settings.load_profile("other")
    try:
        yield
    finally:
        settings.load_profile(before)


numbers = st.integers(0, 2**64)


def test_the_profile_of_the_moment_says_how_many_examples() -> None:
    """Not that of the import; a law multiplies it, and a caller may say another number."""
    seen: list[int] = []

    @law(times=2, number=numbers)
    def counts(number: int) -> None:
        """It only counts."""
        seen.append(number)

    for examples, given_examples, tried in ((3, None, 6), (5, None, 10), (5, 50, 100)):
        seen.clear()
        with profile_of(settings(max_examples=examples)):
            check_law(counts, given_examples)
        assert len(seen) == tried


def test_a_slow_machine_breaks_no_law() -> None:
    """Whatever deadline a profile has."""

    @law(number=numbers)
    def takes_its_time(number: int) -> None:
        """It only waits."""
        time.sleep(number % 2 / 100)

    with profile_of(settings(max_examples=20, deadline=1)):
        check_law(takes_its_time)


def test_a_small_share_of_few_examples_is_one() -> None:
    """No law is passed over."""
    seen: list[int] = []

    @law(times=1 / 20, number=numbers)
    def counts(number: int) -> None:
        """It only counts."""
        seen.append(number)

    check_law(counts, 3)
    assert len(seen) == 1


def test_each_strategy_of_a_mapping_is_tried_on_its_own() -> None:
    """And all of those of two mappings with each other."""
    seen: list[tuple[str, int]] = []

    @law(
        word={word: st.just(word) for word in ("a", "b")}, number={"one": st.just(1), "two": st.just(2)}
    )
    def pairs(word: str, number: int) -> None:
        """It only counts."""
        seen.append((word, number))

    check_law(pairs)
    assert seen == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]


def test_a_law_that_draws_nothing_is_looked_at_once() -> None:
    """Its data stand in itself."""
    seen: list[int] = []

    @law()
    def looks() -> None:
        """It only counts."""
        seen.append(1)

    check_law(looks)
    assert seen == [1]


def test_a_broken_law_is_named_with_its_sentence_and_its_example() -> None:
    """The example is the smallest; the case is that of the mapping."""

    @law(number={"small": st.integers(0, 9), "any": st.integers(0, 999)})
    def is_small(number: int) -> None:
        """A number has one digit,
        or two.
        """
        assert number < 100

    with pytest.raises(AssertionError) as caught:
        check_law(is_small)
    notes = "\n".join(caught.value.__notes__)
    assert "number=100," in notes
    assert "law test/is_small[any]: A number has one digit, or two." in notes
    is_small(99)
    with pytest.raises(AssertionError):
        is_small(100)


def test_where_asserts_are_left_out_no_law_is_held() -> None:
    """Under `python -O` nothing could fail, so that trying a law does."""
    program = "from wakefold_laws.laws import check_law, law; check_law(law()(print))"
    done = subprocess.run(
        [sys.executable, "-O", "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.endswith("RuntimeError: laws are assertions: run Python without -O.\n")


def fold_all(events: Iterable[Event], _seed_length: int = 0, profile: Profile = SEED) -> Folded:
    """A fork's inherited events are its own."""
    return fold(events, 0, profile)


def decide_early(ledger: Ledger, now_ms: int) -> Result[Decision, TimeOutOfRange]:
    """A reminder goes a millisecond before its time."""
    return decide_due(ledger, now_ms + 1)


def plan_late(ledger: Ledger, now_ms: int) -> Wake | None:
    """A timer is a millisecond too long."""
    wake = plan_next_wake(ledger, now_ms)
    return None if wake is None else Wake(wake.at_ms + 1, wake.delay_ms + 1)


def plan_only_what_is_soon(ledger: Ledger, now_ms: int) -> Wake | None:
    """A wait of more than an hour is not armed at all."""
    wake = plan_next_wake(ledger, now_ms)
    return wake if wake is not None and wake.delay_ms <= 3_600_000 else None


def count_reminders_as_words(events: Iterable[Event]) -> Wakeups:
    """A plugin's message ends a streak."""
    return count_wakeups(events, ("user", "a2a", "plugin"))


def follow_all(conversation: Conversation, event: Event) -> Conversation:
    """A fork has its parent's inbox."""
    return follow(conversation, Event(event.type, 2**50, event.time_ms, event.data))


def imply_what_was_said(
    zone: str | None, events: Sequence[Event]
) -> Result[RequestZone, InternalError]:
    """A zone stays implied when its turn is over."""
    last = max((e.seq for e in events if e.type == "user/message"), default=-1)
    return find_request_zone(zone, events[: last + 1])


def frame_as_it_is(record: OneShotRecord) -> str:
    """A prompt's line breaks are left alone."""
    return frame_one_shot(record).replace("\\n", "\n")


def decide_unheld(ledger: Ledger, now_ms: int, _: int | None) -> Result[Decision, TimeOutOfRange]:
    """Forgets that somebody holds delivery."""
    return decide_due(ledger, now_ms)


def evolve_in_place(ledger: Ledger, event: Event) -> Folded:
    """Writes into the ledger that it was given."""
    following = evolve(ledger, event)
    force_setattr(ledger, "records", following.unwrap().records)
    return following


def follow_in_time(wakeups: Wakeups, event: Event) -> Wakeups:
    """Puts a wakeup where the clock said that it was."""
    following = follow_wakeups(wakeups, event)
    force_setattr(following, "dispatch_times_ms", tuple(sorted(following.dispatch_times_ms)))
    return following


def fold_unedited(events: Iterable[Event], seed_length: int = 0, profile: Profile = SEED) -> Folded:
    """Forgets that a reminder is paused."""

    def wake(record: Record) -> Record:
        return replace(record, standing=replace(record.standing, paused=False))

    def change(ledger: Ledger) -> Ledger:
        return replace(ledger, records={name: wake(record) for name, record in ledger.records.items()})

    return fold(events, seed_length, profile).map(change)


def fold_by_the_zone(events: Iterable[Event], seed_length: int = 0, profile: Profile = SEED) -> Folded:
    """Leaves out what the tz database cannot place."""
    return fold(events, seed_length, profile).map(
        lambda ledger: replace(
            ledger,
            records={name: one for name, one in ledger.records.items() if can_evaluate(one)},
        )
    )


def evolve_with(alter: Callable[[Record, Record | None], Record | None]) -> Callable[..., Folded]:
    """A ledger that makes something else of the one record that an event changes."""

    def evolve_altered(ledger: Ledger, event: Event) -> Folded:
        following = evolve(ledger, event)

        def mend(grown: Ledger) -> Ledger:
            records = dict(grown.records)
            for name, before in ledger.records.items():
                if records.get(name) is not before:
                    altered = alter(before, records.get(name))
                    records = {**records, name: altered} if altered is not None else records
            return replace(grown, records=records)

        return following.map(mend)

    return evolve_altered


def keep_runs(before: Record, after: Record | None) -> Record | None:
    """A dispatch is not counted."""
    runs = before.standing.runs
    return None if after is None else replace(after, standing=replace(after.standing, runs=runs))


def count_all(_: Record, after: Record | None) -> Record | None:
    """Every event is an edit."""
    if after is None:
        return None
    revision = after.standing.revision + 1
    return replace(after, standing=replace(after.standing, revision=revision))


class CarelessWriter(Writer):
    """A pause of which the owner does not learn, and an edit that starts anew."""

    def edit(self, arguments: Json) -> None:
        """Ask as before; a pause is passed over, and text moves the target."""
        if arguments.get("paused") is True:
            self.pass_by("note", None)
            return
        super().edit(arguments)
        records = {
            name: replace(record, scheduled_at_ms=record.scheduled_at_ms + 1)
            for name, record in self.ledger.records.items()
        }
        self.ledger = replace(self.ledger, records=records)


def append_for_good(writer: Writer, change: Change) -> None:
    """A snooze that moves the sequence."""
    Writer.append(writer, change)
    if isinstance(change, Snooze):
        record = writer.ledger.records[change.id]
        moved = replace(record, scheduled_at_ms=change.until_ms)
        writer.ledger = replace(writer.ledger, records={**writer.ledger.records, change.id: moved})


class MovingWriter(Writer):
    """One whose snoozes move the sequence."""

    append = append_for_good


def make_any_edit(
    request: UpdateRequest, ledger: Ledger, now_ms: int, zone: RequestZone
) -> Result[Edit | Unchanged, Rejection]:
    """Asks nobody whether options may stand together."""
    wish = request.wish
    if not isinstance(wish, Revision):
        return make_edit(request, ledger, now_ms, zone)
    return resolve_options(wish.options, now_ms, zone).map(lambda changes: Update(request.id, changes))


def state_late(record: Record, accepted_at_ms: int) -> Dispatch | StatedDispatch:
    """States the acceptance for the occurrence."""
    stated = state_dispatch(record, accepted_at_ms)
    if isinstance(stated, Dispatch):
        return stated
    return replace(stated, occurrence_ms=accepted_at_ms)


def plan_paused(ledger: Ledger, now_ms: int) -> Wake | None:
    """Arms a timer for whatever is active."""
    targets = [record.scheduled_at_ms for record in ledger.records.values()]
    return delay_wake(min(targets), now_ms) if targets else None


def resolve_later(kind: type[Skipped | Resolved], local: PlainDateTime, zone: str) -> Resolution:
    """Reads local times of one kind by the clock as it is after its change."""
    found = resolve_local(local, zone)
    if not isinstance(found, kind):
        return found
    return Resolved(local.assume_tz(zone, disambiguation="later").timestamp(unit="millisecond"))


def find_next_shifted(pattern: WallPattern, zone: str, after_ms: int) -> int | None:
    """Makes up for a skipped time behind the gap."""
    with patch.object(calendars, "resolve_local", partial(resolve_later, Skipped)):
        return find_next(pattern, zone, after_ms)


def find_next_repeated(pattern: WallPattern, zone: str, after_ms: int) -> int | None:
    """Takes a repeated time where it comes again."""
    with patch.object(calendars, "resolve_local", partial(resolve_later, Resolved)):
        return find_next(pattern, zone, after_ms)


def find_latest_on_the_clock(pattern: WallPattern, zone: str, until_ms: int) -> int | None:
    """Looks back from what the clock shows, even just after it was set back."""
    with patch.object(calendars, "_read_ahead", lambda *_: PlainDateTime.MIN):
        return find_latest(pattern, zone, until_ms)


def find_latest_before(pattern: WallPattern, zone: str, until_ms: int) -> int | None:
    """An occurrence at the very instant is none."""
    return find_latest(pattern, zone, until_ms - 1)


def parse_any_star(text: str) -> Result[CronExpression, CronFault]:
    """A day field that comes to every day counts as one that begins with a star."""
    return parse_cron(text).map(
        lambda cron: replace(cron, day_star=cron.day_star or len(cron.days) == 31)
    )


def parse_past_the_range(text: str) -> Result[CronExpression, CronFault]:
    """A step leaves a range of one value, up to the end of the minutes."""
    return parse_cron(re.sub(r"^(\d+)-\1/", r"\1-59/", text))


def find_spacing_in_a_day(pattern: WallPattern) -> int | None:
    """Midnight parts the times of two dates."""
    spacing_ms = find_spacing(pattern)
    within_ms = [later - earlier for earlier, later in itertools.pairwise(pattern.times_ms)]
    return spacing_ms and min(within_ms, default=max(spacing_ms, DAY_MS))


def come_close_at_most(pattern: WallPattern, least_ms: int) -> bool:
    """What lies at the least distance comes too close."""
    return comes_closer(pattern, least_ms + 1)


def has_date_soon(pattern: WallPattern) -> bool:
    """Looks for a date in a year without a leap day."""
    return any(date.year == 2001 for date in itertools.islice(list_dates(pattern, Date(2001, 1, 1)), 1))


def follow_next_but_one(record: Record, after_ms: int) -> int | None:
    """Leaves every other occurrence out."""
    following_ms = find_following(record, after_ms)
    return None if following_ms is None else find_following(record, following_ms)


PLANTED: Final[tuple[tuple[Callable[..., object], str, Law[...]], ...]] = (
    (fold_all, "fold", ledger_laws.a_valid_log_folds_to_what_its_writer_did),
    (fold_all, "fold", ledger_laws.inherited_events_are_not_read),
    (decide_early, "decide_due", clock_laws.no_clock_makes_a_reminder_early_or_double),
    (decide_early, "decide_due", clock_laws.a_clock_set_back_brings_nothing_back),
    (plan_late, "plan_next_wake", clock_laws.a_timer_is_punctual_while_the_clocks_agree),
    (
        plan_only_what_is_soon,
        "plan_next_wake",
        clock_laws.a_planned_sleep_is_never_early_and_a_minute_late_at_most,
    ),
    (count_reminders_as_words, "count_wakeups", session_laws.a_session_is_counted_from_its_log_alone),
    (follow_all, "follow", session_laws.the_inbox_holds_what_no_turn_has_taken),
    (imply_what_was_said, "find_request_zone", session_laws.a_zone_is_implied_by_the_open_turn_alone),
    (decide_unheld, "decide_due", wake_laws.living_on_is_scanning_the_log),
    (evolve_in_place, "evolve", ledger_laws.an_earlier_ledger_stays_as_it_was),
    (follow_in_time, "follow_wakeups", guard_laws.looking_back_is_scanning_the_times),
    (fold_unedited, "fold", edit_laws.an_edited_log_folds_to_what_its_writers_saw),
    (fold_by_the_zone, "fold", edit_laws.no_fold_asks_for_a_zone),
    (CarelessWriter, "Writer", edit_laws.a_text_edit_moves_nothing),
    (CarelessWriter, "Writer", edit_laws.a_pause_piles_nothing_up),
    (CarelessWriter, "Writer", edit_laws.a_paused_reminder_wakes_nobody),
    (plan_paused, "plan_next_wake", edit_laws.a_paused_reminder_wakes_nobody),
    (MovingWriter, "Writer", edit_laws.a_snooze_loses_nothing_of_the_sequence),
    (evolve_with(keep_runs), "evolve", edit_laws.no_reminder_outlives_its_limits),
    (evolve_with(count_all), "evolve", edit_laws.a_revision_counts_edits_alone),
    (follow_next_but_one, "find_following", edit_laws.no_occurrence_is_dropped_in_silence),
    (make_any_edit, "make_edit", edit_laws.a_caller_is_refused_what_would_be_corrupt),
    (state_late, "state_dispatch", edit_laws.a_dispatch_states_what_was_evaluated),
    (
        find_next_shifted,
        "find_next",
        calendar_laws.an_expression_occurs_at_each_first_minute_that_matches,
    ),
    (
        find_next_repeated,
        "find_next",
        calendar_laws.an_expression_occurs_at_each_first_minute_that_matches,
    ),
    (find_next_shifted, "find_next", calendar_laws.a_timed_rule_occurs_once_on_each_of_its_dates),
    (find_next_repeated, "find_next", calendar_laws.a_timed_rule_occurs_once_on_each_of_its_dates),
    (
        find_latest_before,
        "find_latest",
        calendar_laws.the_latest_occurrence_is_the_one_before_the_next,
    ),
    (
        find_latest_on_the_clock,
        "find_latest",
        calendar_laws.the_latest_occurrence_is_the_one_before_the_next,
    ),
    (parse_any_star, "parse_cron", calendar_laws.an_expression_means_what_it_is_made_of),
    (parse_past_the_range, "parse_cron", calendar_laws.an_expression_means_what_it_is_made_of),
    (find_spacing_in_a_day, "find_spacing", calendar_laws.no_two_times_come_closer_than_the_spacing),
    (come_close_at_most, "comes_closer", calendar_laws.no_two_times_come_closer_than_the_spacing),
    (has_date_soon, "has_date", calendar_laws.no_two_times_come_closer_than_the_spacing),
    (frame_as_it_is, "frame_one_shot", framing_laws.no_prompt_makes_a_line_of_its_own),
)


@pytest.mark.parametrize(
    ("bug", "name", "broken"), PLANTED, ids=lambda value: getattr(value, "name", None)
)
def test_a_planted_bug_breaks_its_law(
    bug: Callable[..., object], name: str, broken: Law[...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each bug, in the place of what a law calls, is found, and the law is named."""
    monkeypatch.setattr(f"{broken.function.__module__}.{name}", bug)
    # What is drawn depends on what is loaded: the rare bug needs more than the usual examples then.
    found_unshrunk = profile_of(settings(phases=[Phase.generate], max_examples=2000))
    # A law that cannot unwrap what must be a success is as broken as one that compares.
    with pytest.raises((AssertionError, UnwrapFailedError)) as caught, found_unshrunk:
        check_law(broken)
    assert caught.value.__notes__[-1] == f"law {broken.room}/{broken.name}: {broken.sentence}"
