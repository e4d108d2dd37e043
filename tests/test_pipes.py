"""The core at one end of a pipe: what it is asked, what it answers, and that nothing breaks it."""

from __future__ import annotations

import io
import json
import re
import subprocess
import time
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from command import EXECUTABLE
from wakefold import (
    Create,
    Delete,
    Dispatch,
    Event,
    EveryRecord,
    Ledger,
    encode_change,
    fold,
    plan_next_wake,
)
from wakefold.effects import Arm, Effect, HandOver, Warn
from wakefold.events import AtRecord
from wakefold.guard import StopKey
from wakefold.json_text import format_json, parse_json
from wakefold.rejections import CorruptScheduleLog
from wakefold.signals import ClaimGranted, Flushed, Recorded, Signal, StopTold
from wakefold.tools import Append, Confirmed, LogRead, Sampled, StepAnswer, ToolStep
from wakefold_laws import shell_messages as say
from wakefold_laws.strategies import json_values, logs
from wakefold_shell.pipes import messages, streams
from wakefold_shell.pipes.requests import CoreRequest, Order, Question
from wakefold_shell.pipes.services import CoreService
from wakefold_shell.pipes.spelling import Reader, list_fields, spell

PAGE = Path(__file__).parents[1] / "docs" / "other-languages.md"
NOON_MS = 1_799_064_000_000

Json = dict[str, Any]


def encode(change: Create | Delete | Dispatch, seq: int = 0) -> Json:
    """A change as an event on a pipe."""
    return {"type": "schedule/change", "seq": seq, "time": 1, "data": encode_change(change)}


def tea(name: str = "tea", at_ms: int = NOON_MS) -> Json:
    """The create of a one-shot, as the first event of a log."""
    return encode(Create(schedule=AtRecord(name, "make tea", at_ms)))


class Conversation:
    """A greeted service, and what it is asked."""

    def __init__(self) -> None:
        self.service = CoreService()
        self.ask("hello", protocol=1)

    def reply(self, op: str, **fields: object) -> Json:
        """The reply as it goes over the pipe."""
        asked = parse_json(format_json({"id": "q", "op": op, **fields}))
        assert isinstance(asked, dict)
        reply: Json = json.loads(format_json(self.service.answer(asked)))
        assert reply["id"] == "q"
        assert reply.keys() in ({"id", "ok"}, {"id", "error"})
        return reply

    def ask(self, op: str, **fields: object) -> Any:  # noqa: ANN401 - parsed JSON
        reply = self.reply(op, **fields)
        assert "error" not in reply, reply
        return reply["ok"]

    def fail(self, op: str, **fields: object) -> Json:
        error: Json = self.reply(op, **fields)["error"]
        return error


@pytest.fixture
def core() -> Conversation:
    """A conversation after its hello."""
    return Conversation()


# The page.


def test_the_conversation_of_the_page_is_held() -> None:
    """Each request of the page has the reply that stands below it, and no operation is left out."""
    service = CoreService()
    rows = PAGE.read_text("utf-8").split("## A shell on trial")[0].splitlines()
    asked: set[str] = set()
    for row, following in pairwise(rows):
        if not row.startswith("> "):
            continue
        request: Any = parse_json(row[2:])
        asked.add(request["op"])
        reply = format_json(service.answer(request))
        if following.startswith("< "):
            assert f"< {reply}" == following
        else:
            assert "ok" in json.loads(reply)
    assert asked == {kind.__struct_config__.tag for kind in get_args(CoreRequest)}


@pytest.mark.parametrize("kind", get_args(CoreRequest), ids=lambda kind: kind.__name__)
def test_every_field_of_every_operation_is_on_the_page(kind: type[Struct]) -> None:
    """In the row of its operation."""
    tag = str(kind.__struct_config__.tag)
    rows = re.findall(rf"^\| `{tag}` \|.*$", PAGE.read_text("utf-8"), re.MULTILINE)
    for name in list_fields(kind):
        assert f"`{name}`" in rows[0]


@pytest.mark.parametrize(
    "kind",
    [*get_args(Signal), *get_args(Effect), *get_args(ToolStep), *get_args(StepAnswer)],
    ids=lambda kind: kind.__name__,
)
def test_every_signal_effect_step_and_answer_is_on_the_page(kind: type[Struct]) -> None:
    """Spelt with all of its fields."""
    row = re.search(rf"^\| `{kind.__name__}` \| `(.*)` \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert row is not None
    assert json.loads(row[1]).keys() == {"type", *list_fields(kind)}
    assert json.loads(row[1])["type"] == kind.__name__


@pytest.mark.parametrize(
    ("kind", "union"),
    [(kind, union) for union in (say.Happening, say.Wish) for kind in get_args(union)],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_every_message_of_a_trial_is_on_the_page(kind: type[Struct], union: object) -> None:
    """With an example that is read as what it is meant for."""
    tag = str(kind.__struct_config__.tag)
    (found,) = re.findall(
        rf'^\| `{tag}` \|.*\| `(\{{"id":\d+,"op":"{tag}".*)` \|$', PAGE.read_text("utf-8"), re.MULTILINE
    )
    example = json.loads(found)
    assert example.keys() == {"id", "op", *list_fields(kind)}
    del example["id"]
    assert isinstance(Reader(lambda *_: None).read(union, example, "$"), kind)


def test_every_code_of_an_error_is_on_the_page() -> None:
    """Those of the pipe itself, and those of the core that a request can meet."""
    sources = [path.read_text("utf-8") for path in Path(messages.__file__).parent.glob("*.py")]
    codes = set(re.findall(r'MessageFault\(\s*"(\w+)"', "".join(sources)))
    assert codes == {"bad_line", "bad_request", "unknown_version", "unknown_name", "log_lost"}
    for code in (*codes, "corrupt_schedule_log", "time_out_of_range", "internal_error"):
        assert f"\n| `{code}` |" in PAGE.read_text("utf-8")


# Spelling.

event = st.builds(Event, st.text(), st.integers(0, 99), st.integers(0, 99), json_values())
key = st.builds(StopKey, st.just("interval"), st.none() | st.integers(0, 9), st.frozensets(st.text()))
fault = st.builds(
    CorruptScheduleLog,
    st.just("id_reused"),
    st.text(),
    st.none() | st.integers(0, 9),
    st.none() | st.text(),
)
readable: dict[type[Struct], st.SearchStrategy[Any]] = {
    Recorded: st.builds(Recorded, event),
    StopTold: st.builds(StopTold, key),
    Confirmed: st.builds(Confirmed, st.none() | fault),
    LogRead: st.builds(LogRead, st.none() | st.text(), st.lists(event).map(tuple)),
    **{
        kind: st.builds(kind, st.integers(-(2**53) + 1, 2**53 - 1))
        for kind in (Flushed, ClaimGranted, Sampled)
    },
}
signals = st.one_of(*(readable.get(kind, st.builds(kind)) for kind in get_args(Signal)))
answers = st.one_of(*(readable.get(kind, st.builds(kind)) for kind in get_args(StepAnswer)))


@given(st.tuples(st.just(Signal), signals) | st.tuples(st.just(StepAnswer), answers))
def test_what_is_spelt_is_read_as_the_same_value(case: tuple[Any, Struct]) -> None:
    """Every signal and every answer, through JSON text and back."""
    kind, value = case
    text = format_json(spell(value))
    assert Reader(lambda *_: None).read(kind, parse_json(text), "$") == value


def test_changes_and_records_are_spelt_as_they_are_stored() -> None:
    """Wherever they stand in a value."""
    create = Create(schedule=EveryRecord("a", "x", 300, NOON_MS))
    assert spell(Append(create)) == {"type": "Append", "change": encode_change(create)}
    dispatch = Dispatch("a", NOON_MS)
    assert spell(HandOver("m", (dispatch,), (("a", 1),))) == {
        "type": "HandOver",
        "message": "m",
        "changes": [encode_change(dispatch)],
        "occurrences": [["a", 1]],
    }
    assert spell(Arm(until_ms=2, delay_ms=1)) == {"type": "Arm", "untilMs": 2, "delayMs": 1}
    assert spell(Warn("append_failed")) == {"type": "Warn", "kind": "append_failed"}


# Requests.


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        ({"op": "tools"}, "A request needs an id, a text or a number."),
        ({"id": None, "op": "tools"}, "A request needs an id, a text or a number."),
        ({"id": [1], "op": "tools"}, "A request needs an id, a text or a number."),
        ({"id": {}, "op": "tools"}, "A request needs an id, a text or a number."),
    ],
)
def test_a_request_without_an_id_is_answered_without_one(message: Json, sentence: str) -> None:
    """The id is a scalar."""
    reply: Any = CoreService().answer(message)
    assert (reply["id"], reply["error"]["message"]) == (None, sentence)


@pytest.mark.parametrize("request_id", ["", "a", 0, 1.5, True, "\ud83d"])
def test_a_reply_has_the_id_of_its_request(request_id: object) -> None:
    """Any scalar, as it came."""
    reply = CoreService().answer({"id": request_id, "op": "hello", "protocol": 1})
    assert reply == {"id": request_id, "ok": {"protocol": 1}}


@pytest.mark.parametrize("version", [0, 2, "1", None, True, 1.5, [1]])
def test_an_unknown_protocol_is_refused(version: object) -> None:
    """Whatever else the hello holds, and nothing else is answered then."""
    service = CoreService()
    reply: Any = service.answer({"id": 1, "op": "hello", "protocol": version, "colour": "blue"})
    assert reply["error"]["code"] == "unknown_version"
    assert service.answer({"id": 2, "op": "tools"})["error"] == {
        "code": "bad_request",
        "message": 'Say hello first: {"id":0,"op":"hello","protocol":1}.',
        "path": "$.op",
    }


@pytest.mark.parametrize(
    ("fields", "path", "sentence"),
    [
        ({}, "$.op", "must be one of show, validate, decide, plan, list, present, receipts, admit, "),
        ({"op": "frob"}, "$.op", '(given "frob").'),
        ({"op": 7}, "$.op", "(given 7)."),
        ({"op": "fold"}, "$.as", "$.as is missing."),
        ({"op": "fold", "as": "a"}, "$.events", "$.events is missing."),
        ({"op": "fold", "as": 1, "events": []}, "$.as", "$.as must be a text (given 1)."),
        ({"op": "fold", "as": "a", "events": {}}, "$.events", "$.events must be a list (given {})."),
        ({"op": "fold", "as": "a", "events": [7]}, "$.events[0]", "$.events[0] must be an object"),
        (
            {"op": "fold", "as": "a", "events": [tea(), {"type": "x", "seq": 1.5, "time": 1}]},
            "$.events[1].seq",
            "$.events[1].seq must be a whole number (given 1.5).",
        ),
        (
            {"op": "fold", "as": "a", "events": [], "profile": "old"},
            "$.profile",
            '$.profile must be one of seed, published (given "old").',
        ),
        (
            {"op": "fold", "as": "a", "events": [], "seedlength": 1},
            "$.seedlength",
            "$.seedlength is no field here (known: as, events, seedLength, profile).",
        ),
        ({"op": "tools", "x": 1}, "$.x", "$.x is no field here (known: none)."),
        ({"op": "plan", "of": 1, "nowMs": 1}, "$.of", "$.of must be the name of a ledger (given 1)."),
        (
            {"op": "plan", "of": "a", "nowMs": 1},
            "$.of",
            '$.of names nothing that is kept here as a ledger (given "a").',
        ),
        (
            {"op": "hold", "guard": "a", "nowMs": 1},
            "$.guard",
            '$.guard names nothing that is kept here as a guard (given "a").',
        ),
        ({"op": "step", "of": "a", "answer": {"type": "Refused"}}, "$.of", "as a program"),
        ({"op": "advance", "of": "a", "signals": []}, "$.of", "as an owner"),
        ({"op": "drop", "of": "a"}, "$.of", "as anything"),
        (
            {"op": "advance", "of": "a", "signals": [{"type": "Nudge"}]},
            "$.signals[0].type",
            "$.signals[0].type must be one of Nudged, WentIdle, TurnCame, ",
        ),
        (
            {"op": "advance", "of": "a", "signals": [{"type": "Flushed"}]},
            "$.signals[0].nowMs",
            "$.signals[0].nowMs is missing.",
        ),
        (
            {"op": "advance", "of": "a", "signals": [{"type": "Nudged", "why": 1}]},
            "$.signals[0].why",
            "$.signals[0].why is no field here (known: none).",
        ),
        (
            {"op": "call", "as": "a", "tool": "schedule_edit", "arguments": {}},
            "$.tool",
            "schedule_create, schedule_list, schedule_update, schedule_delete (given",
        ),
        (
            {"op": "open", "as": "a", "events": [], "limits": {"hold": 1}},
            "$.limits.hold",
            "$.limits.hold must be true or false",
        ),
        (
            {"op": "open", "as": "a", "events": [], "limits": {}},
            "$.nowMs",
            "$.nowMs is missing: the guard needs it.",
        ),
        (
            {"op": "open", "as": "a", "events": [], "limits": []},
            "$.limits",
            "$.limits must be an object (given []).",
        ),
    ],
)
def test_a_bad_request_is_told_by_its_path(
    core: Conversation, fields: Json, path: str, sentence: str
) -> None:
    """One sentence, with what was given."""
    error = core.service.answer({"id": 1, **fields})["error"]
    assert isinstance(error, dict)
    assert error["path"] == path
    assert sentence in error["message"]
    assert error["message"].endswith(".")
    assert error["code"] in {"bad_request", "unknown_name"}


@given(st.data())
def test_no_message_breaks_the_service(data: st.DataObject) -> None:
    """Any operation with any values in its fields has a reply, which is no internal error."""
    core = Conversation()
    core.ask("fold", **{"as": "log"}, events=[tea()])
    core.ask("open", **{"as": "owner"}, events=[tea()], limits={"hold": True}, nowMs=NOON_MS)
    core.ask("call", **{"as": "call"}, tool="schedule_list", arguments={})
    words = st.sampled_from(["log", "owner", "call", "seed", "schedule_create"])
    spelt = st.one_of(signals, answers).map(spell)
    values = json_values() | words | spelt | st.lists(spelt) | st.integers()
    for _ in range(4):
        kind = data.draw(st.sampled_from(get_args(CoreRequest)))
        fields = {name: data.draw(values) for name in list_fields(kind)}
        reply = core.reply(str(kind.__struct_config__.tag), **fields)
        assert reply.get("error", {}).get("code") != "internal_error", reply


def test_a_request_that_breaks_the_core_is_an_error_and_no_end(
    core: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault of the program's own is told without a traceback, and the next request is answered."""

    def fall(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("wakefold_shell.pipes.questions.plan_next_wake", fall)
    core.ask("fold", **{"as": "a"}, events=[])
    error = core.fail("plan", of="a", nowMs=1)
    assert error == {
        "code": "internal_error",
        "message": "An internal error (ZeroDivisionError): report the request.",
    }
    assert core.ask("show", of="a")["active"] == []


# The core's own answers.


@given(logs(), st.integers(0, 2**45))
def test_a_log_is_folded_on_a_pipe_as_in_the_core(log: Any, now_ms: int) -> None:  # noqa: ANN401
    """Ledger, plan and decision of generated logs, whole and piece by piece."""
    core = Conversation()
    events = [spell(event) for event in log.events]
    ledger: Ledger = fold(log.events, log.seed_length, log.profile).unwrap()
    profile = "published" if ledger.profile.batch_distance_ms is None else "seed"
    core.ask("fold", **{"as": "a"}, events=events, seedLength=log.seed_length, profile=profile)
    shown = core.ask("show", of="a")
    assert shown["seenIds"] == json.loads(format_json(list(ledger.seen_ids)))
    assert (shown["position"], shown["profile"]) == (len(events), profile)
    assert core.ask("plan", of="a", nowMs=now_ms) == spell(plan_next_wake(ledger, now_ms))
    half = max(len(events) // 2, log.seed_length)
    core.ask("fold", **{"as": "b"}, events=events[:half], seedLength=log.seed_length, profile=profile)
    core.ask("evolve", **{"as": "b"}, of="b", events=events[half:])
    assert core.ask("show", of="b") == shown


def test_a_name_is_bound_again_and_its_old_value_is_not_changed(core: Conversation) -> None:
    """A ledger that has gone on under another name is still what it was."""
    core.ask("fold", **{"as": "a"}, events=[tea()])
    core.ask("evolve", **{"as": "b"}, of="a", events=[encode(Delete(id="tea"), 1)])
    assert [len(core.ask("show", of=name)["active"]) for name in "ab"] == [1, 0]
    core.fail("evolve", **{"as": "b"}, of="b", events=[encode(Delete(id="tea"), 2)])
    assert core.ask("show", of="b")["position"] == 2
    core.ask("fold", **{"as": "a"}, events=[])
    assert core.ask("show", of="a")["position"] == 0


def test_a_batch_past_the_calendar_is_refused_by_its_code(core: Conversation) -> None:
    """The core's own."""
    every = encode(Create(schedule=EveryRecord("e", "x", 300, NOON_MS)))
    core.ask("fold", **{"as": "a"}, events=[every])
    assert core.fail("decide", of="a", nowMs=253_402_300_800_000) == {
        "code": "time_out_of_range",
        "message": "The time lies outside the years 0001 to 9999.",
    }
    assert core.ask("decide", of="a", nowMs=NOON_MS)["kind"] == "recurring"


def test_an_owner_whose_log_is_corrupt_warns_once_and_names_the_rule(core: Conversation) -> None:
    """From the start, or by an event that comes later; its tools answer with it."""
    opened = core.ask("open", **{"as": "o"}, events=[encode(Delete(id="a"))])
    assert opened["fault"]["rule"] == "id_not_active"
    run = [{"type": "Nudged"}, {"type": "TurnCame"}, {"type": "Flushed", "nowMs": 1}]
    effects = core.ask("advance", of="o", signals=run)["effects"]
    assert {"type": "Warn", "kind": "corrupt_log"} in effects
    core.ask("open", **{"as": "o"}, events=[tea()])
    again = [{"type": "Recorded", "event": {**tea(), "seq": 1}}]
    core.ask("advance", of="o", signals=again)
    for fields in ({"log": "o"}, {"log": "o", "guard": "o"}):
        core.ask("call", **{"as": "c"}, tool="schedule_list", arguments={})
        ended = core.ask("step", of="c", answer={"type": "Confirmed", **fields})
        assert ended["answer"]["code"] == "corrupt_schedule_log"
        assert "id_reused at event 1" in ended["answer"]["message"]
    assert core.fail("plan", of="o", nowMs=1)["rule"] == "id_reused"


def test_an_owner_whose_log_is_lost_says_so(core: Conversation) -> None:
    """A log that cannot be read has no rule that is broken."""
    core.ask("open", **{"as": "o"}, events=None)
    assert core.fail("plan", of="o", nowMs=1) == {
        "code": "log_lost",
        "message": "$.of: the log of this owner cannot be read.",
        "path": "$.of",
    }
    core.ask("call", **{"as": "c"}, tool="schedule_list", arguments={})
    ended = core.ask("step", of="c", answer={"type": "Confirmed", "log": "o", "guard": "o"})
    assert ended["answer"]["code"] == "internal_error"
    assert "as a guard" in core.fail("hold", guard="o", nowMs=1)["message"]


def test_an_owner_stands_for_its_ledger_and_its_guard(core: Conversation) -> None:
    """Where limits are given it has one; a hold delays a decision."""
    core.ask("open", **{"as": "o"}, events=[tea()], limits={"hold": True, "maxPerDay": 0}, nowMs=1)
    until_ms = core.ask("hold", guard="o", nowMs=NOON_MS)
    decided = core.ask("decide", of="o", nowMs=NOON_MS, notBeforeMs=until_ms)
    assert decided == {"kind": "wait", "untilMs": until_ms}
    assert core.ask("reap", of="o", guard="o", nowMs=NOON_MS) is None


def test_a_call_is_admitted_by_the_guard_of_its_owner(core: Conversation) -> None:
    """As of the clock that comes with it, without which nothing is admitted."""
    core.ask("open", **{"as": "o"}, events=[], limits={}, nowMs=1)
    call = {"as": "c", "tool": "schedule_create", "arguments": {"prompt": "x", "every_seconds": 600}}
    refused = core.ask("call", **call, guard="o", nowMs=NOON_MS)
    assert (refused["failed"], refused["answer"]["code"]) == (True, "SCHEDULE_TOO_FREQUENT")
    assert core.fail("call", **call, guard="o")["path"] == "$.nowMs"
    assert core.ask("call", **call)["step"] == {"type": "Barrier"}


def test_a_program_is_used_up(core: Conversation) -> None:
    """Once it has answered, or is cancelled, there is none under its name."""
    core.ask("call", **{"as": "c"}, tool="schedule_list", arguments={})
    assert core.ask("step", of="c", answer={"type": "Refused"})["failed"] is True
    assert core.fail("step", of="c", answer={"type": "Refused"})["code"] == "unknown_name"
    core.ask("open", **{"as": "o"}, events=[], limits={}, nowMs=1)
    core.ask("reaper", **{"as": "r"}, guard="o")
    ended = core.ask("cancel", of="r")
    assert ended == {"reaped": {"stop": None, "nowMs": 0, "confirmed": True}, "report": []}
    assert core.fail("cancel", of="r")["code"] == "unknown_name"


def test_a_lone_surrogate_goes_through(core: Conversation) -> None:
    """In a prompt, an id, a name: as an escape, both ways."""
    core.ask("fold", **{"as": "\ud83d"}, events=[tea("tea\ude00")])
    decided = core.ask("decide", of="\ud83d", nowMs=NOON_MS)
    assert decided["changes"] == [{"version": 1, "operation": "dispatch", "id": "tea\ude00"}]


# The executable.


def serve(*lines: bytes) -> tuple[list[Json], str, int]:
    """What `wakefold serve-core` answers, what it says on standard error, and its exit status."""
    done = subprocess.run(
        [EXECUTABLE, "serve-core"], input=b"".join(lines), capture_output=True, timeout=30, check=False
    )
    return [json.loads(row) for row in done.stdout.splitlines()], done.stderr.decode(), done.returncode


HELLO = b'{"id":0,"op":"hello","protocol":1}\n'


def test_standard_output_carries_replies_alone() -> None:
    """Whatever comes in; and the end of the input is the end, with exit status 0."""
    deep = b'{"id":1,"op":"tools","x":' + b"[" * 2000 + b"]" * 2000 + b"}\n"
    replies, errors, status = serve(
        HELLO, b"\n", b"\xff\n", b"null\n", b"NaN\n", deep, b'{"id":2,"op":"x"}'
    )
    assert [reply.get("error", {}).get("code") for reply in replies] == [
        None,
        *["bad_line"] * 5,
        "bad_request",
    ]
    assert (errors, status) == ("", 0)
    assert serve() == ([], "", 0)


def test_each_request_is_answered_before_the_next_is_read() -> None:
    """Nothing waits in a buffer, and the program ends within two seconds of its input."""
    with subprocess.Popen(
        [EXECUTABLE, "serve-core"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(3):
            process.stdin.write(HELLO)
            process.stdin.flush()
            assert json.loads(process.stdout.readline()) == {"id": 0, "ok": {"protocol": 1}}
        ended = time.monotonic()
        process.stdin.close()
        assert process.wait(10) == 0
        assert time.monotonic() - ended < 2


def test_a_line_that_is_too_long_is_passed_over_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has one error for a reply, and the next line is read as if it had not been."""
    for module in (messages, streams):
        monkeypatch.setattr(module, "LINE_BYTES_MAX", 100)
    sink = io.BytesIO()
    source = io.BytesIO(b'"' + b"x" * 1000 + b'"\n' + HELLO + b"y" * 101 + b"\n" + b"z" * 500)
    streams.serve_lines(source, sink, CoreService().answer)
    replies = [json.loads(row) for row in sink.getvalue().splitlines()]
    long = {"code": "bad_line", "message": "The line is longer than 100 bytes: split it."}
    assert [reply.get("error") for reply in replies] == [long, None, long, long]


def test_questions_and_orders_are_all_requests() -> None:
    """No operation has two meanings."""
    tags = [kind.__struct_config__.tag for kind in (*get_args(Question), *get_args(Order))]
    assert len(tags) == len(set(tags)) == 22


def test_the_tools_are_those_of_version_1_and_refuse_more(core: Conversation) -> None:
    """Three are shown; what needs version 2 of the durable change is refused in one sentence."""
    shown = core.service.answer({"id": 1, "op": "tools"})["ok"]
    assert isinstance(shown, list)
    assert [tool["name"] for tool in shown] == ["schedule_create", "schedule_list", "schedule_delete"]
    daily = {"prompt": "x", "daily": {"time": "09:00:00", "time_zone": "UTC"}}
    for tool, arguments in (
        ("schedule_update", {"id": "a", "paused": True}),
        ("schedule_create", daily),
    ):
        request = {"id": 2, "op": "call", "as": "c", "tool": tool, "arguments": arguments}
        told = str(core.service.answer(request)["ok"])
        assert "invalid_selector" in told
        assert told.count("Only version 1 of the durable change is written here") == 1
