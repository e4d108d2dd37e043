"""Facts as a page takes them: columns of numbers, texts told once, and nothing that is not shown.

This module decides the shape of what a page holds; `web/source/data.ts` reads it. It refuses to count:
where a command prints a number, the page has that very number. Of rising numbers the differences stand
here, which are short.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, assert_never

from wakefold.counters import StepLine
from wakefold.edits import Pause, Resume, Skip, Snooze, StatedDispatch, Update, encode_edit
from wakefold.events import Delete, Dispatch, encode_record
from wakefold.guard_config import config_values
from wakefold.json_text import format_json
from wakefold.lives import ENDINGS, Life, Passage
from wakefold.views import View
from wakefold_shell.dispatches import LATE_MS, encode_receipts
from wakefold_shell.inspections import encode_audit, encode_inspection
from wakefold_shell.report.facts import Facts
from wakefold_shell.report.texts import share_characters, show_name, show_text

#: A JSON object of the page's data.
Json = dict[str, Any]


def arrange_columns(facts: Facts) -> Json:
    """The whole of what a page holds, as JSON."""
    lanes = {
        passage.seq: (number, passage)
        for number, life in enumerate(facts.lives)
        for passage in life.passages
    }
    texts = _Texts()
    return {
        "session": _describe_session(facts),
        **_show_names(_omit_prompts(encode_inspection(facts.inspection))),
        "audit": _show_names(encode_audit(facts.audit, facts.terms.limits)),
        "limits": _describe_limits(facts),
        "lateMs": LATE_MS,
        "endings": dict(ENDINGS),
        "lanes": _arrange_lanes(facts, texts),
        "dispatches": _arrange_dispatches(facts, lanes),
        "changes": _arrange_changes(lanes),
        "counters": {
            "streak": _arrange_line(facts.counters.streak),
            "hour": _arrange_line(facts.counters.hour),
            "day": _arrange_line(facts.counters.day),
        },
        "turns": [
            [turn.number, turn.start_ms, turn.end_ms, turn.ended and show_name(turn.ended)]
            for turn in facts.turns
        ],
        "words": [[word.seq, word.time_ms, show_name(word.kind)] for word in facts.words],
        "upcoming": _arrange_upcoming(facts),
        "texts": texts.close(),
    }


class _Texts:
    """The prompts, each told once."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def place(self, text: str) -> int:
        """The number under which a text is told."""
        return self._places.setdefault(text, len(self._places))

    def close(self) -> list[list[object]]:
        """Each text as it is shown, and how long it is."""
        share = share_characters(len(self._places))
        return [[show_text(text, share), len(text)] for text in self._places]


def _describe_session(facts: Facts) -> Json:
    header = facts.header
    return {
        "id": show_name(header.id),
        "createdAt": header.created_at_ms,
        "timeZone": header.time_zone and show_name(header.time_zone),
        "seedLength": header.seed_length,
        "now": facts.terms.now_ms,
        "events": facts.events,
        "first": facts.first_ms,
        "last": facts.last_ms,
        "warnings": [show_text(warning) for warning in facts.warnings],
    }


def _omit_prompts(inspection: Json) -> Json:
    """The inspection without what the lanes tell."""
    active = [
        {name: value for name, value in view.items() if name != "prompt"}
        for view in inspection["active"]
    ]
    return {**inspection, "active": active}


def _describe_limits(facts: Facts) -> Json:
    """The limits in force; a command, and what it is given, is nobody's business but its owner's."""
    values = config_values(facts.terms.limits)
    return {name: _show_names(value) for name, value in values.items() if not name.startswith("notify")}


def _arrange_lanes(facts: Facts, texts: _Texts) -> Json:
    views = {view.record.id: view for view in facts.inspection.views}
    lives = facts.lives
    records = [encode_record(life.record) for life in lives]
    return {
        "id": [show_name(life.id) for life in lives],
        "title": [show_name(str(record.get("title", ""))) for record in records],
        "kind": [record["kind"] for record in records],
        "rule": [_describe_rule(record) for record in records],
        "status": [_find_status(life, views) for life in lives],
        "seq": _take_differences(life.seq for life in lives),
        "created": _take_differences(life.time_ms for life in lives),
        "prompts": [[[seq, texts.place(text)] for seq, text in life.prompts] for life in lives],
    }


def _describe_rule(record: Json) -> str:
    """The rule and the options as the log has them."""
    told = {name: value for name, value in record.items() if name not in _TOLD_ELSEWHERE}
    return ", ".join(f"{name} {_show_value(value)}" for name, value in told.items())


_TOLD_ELSEWHERE: Final = frozenset({"id", "kind", "prompt", "title"})


def _find_status(life: Life, views: dict[str, View]) -> str:
    """How a reminder stands, or how it ended."""
    if life.inherited:
        return "inherited"
    if life.ending is not None:
        return life.ending
    view = views.get(life.id)
    if view is None:
        return "exhausted"
    return view.state if view.held_until_ms is None else "held"


def _arrange_dispatches(facts: Facts, lanes: dict[int, tuple[int, Passage]]) -> Json:
    """The receipts; what is told of few of them stands beside, by place."""
    rows = encode_receipts(facts.delivered)
    found = [lanes[each.entry.seq] for each in facts.delivered]
    rare = ("failure", "offers", "againAt", "durationMs")
    return {
        "lane": [lane for lane, _ in found],
        "seq": _take_differences(each.entry.seq for each in facts.delivered),
        "at": _take_differences(each.entry.dispatched_at_ms for each in facts.delivered),
        "lateMs": [row["lateMs"] for row in rows],
        "delivery": [row["delivery"] for row in rows],
        "batch": _number_batches(passage for _, passage in found),
        "more": {
            place: _show_names({name: row[name] for name in rare if name in row})
            for place, row in enumerate(rows)
            if any(name in row for name in rare)
        },
    }


def _number_batches(passages: Iterable[Passage]) -> list[int]:
    """The batch of each dispatch, numbered as they come; -1 for a one-shot."""
    numbers: dict[int, int] = {}
    return [
        -1 if passage.batch_ms is None else numbers.setdefault(passage.batch_ms, len(numbers))
        for passage in passages
    ]


def _arrange_changes(lanes: dict[int, tuple[int, Passage]]) -> list[list[object]]:
    """What else happened to reminders: lane, seq, time, what, an instant if it names one, a note."""
    return [
        [lane, passage.seq, passage.time_ms, *told]
        for _, (lane, passage) in sorted(lanes.items())
        if (told := _tell(passage)) is not None
    ]


def _tell(passage: Passage) -> tuple[str, int | None, str] | None:
    match passage.change:
        case Dispatch() | StatedDispatch():
            return None
        case Delete():
            return ("deleted", None, "")
        case Skip(occurrence_ms=occurrence_ms):
            return ("skipped", occurrence_ms, "")
        case Pause():
            return ("paused", None, "")
        case Resume(scheduled_at_ms=scheduled_at_ms):
            return ("resumed", scheduled_at_ms, "")
        case Snooze(until_ms=until_ms):
            return ("snoozed", until_ms, "")
        case Update() as update:
            changes: Any = encode_edit(update)["changes"]
            note = ", ".join(f"{name} {_show_value(value)}" for name, value in changes.items())
            return ("updated", None, note)
        case _:
            assert_never(passage.change)


def _show_value(value: object) -> str:
    return show_name(value if isinstance(value, str) else format_json(value))


def _arrange_upcoming(facts: Facts) -> list[list[int]]:
    """The coming deliveries: lane, occurrence, and when a runner that is always live delivers it."""
    lanes = {life.id: number for number, life in enumerate(facts.lives)}
    return [
        [lanes[entry.record.id], entry.occurrence_ms, entry.delivered_at_ms] for entry in facts.upcoming
    ]


def _arrange_line(line: StepLine) -> Json:
    return {"at": _take_differences(line.at_ms), "counts": list(line.counts)}


def _take_differences(numbers: Iterable[int]) -> list[int]:
    def walk() -> Iterator[int]:
        before = 0
        for number in numbers:
            yield number - before
            before = number

    return list(walk())


def _show_names(value: Any) -> Any:  # noqa: ANN401 - JSON
    """The value with every text in it as a page shows names; keys are ours."""
    if isinstance(value, str):
        return show_name(value)
    if isinstance(value, dict):
        return {name: _show_names(told) for name, told in value.items()}
    return [_show_names(told) for told in value] if isinstance(value, list | tuple) else value
