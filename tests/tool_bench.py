"""One session with the owner replaced by a counter: the reader of tools.jsonl."""

from __future__ import annotations

from typing import Any

from returns.pipeline import is_successful
from returns.result import Failure

from wakefold import SCHEDULE_CHANGE, Event, encode_change, fold
from wakefold.events import Change
from wakefold.rejections import InternalError
from wakefold.tools import (
    Append,
    Appended,
    Barrier,
    Confirmed,
    LogRead,
    Program,
    ReadClock,
    ReadLog,
    Refused,
    Sampled,
    StepAnswer,
    ToolAnswer,
    answer_value,
    open_call,
)

Json = dict[str, Any]


class ToolBench:
    """Runs one call after the other and counts what each asked for."""

    def __init__(self, session: Json) -> None:
        header = session["header"]
        self._seed_length: int = header.get("seedLength") or 0
        self._zone: str | None = header.get("timeZone")
        self._unreadable = bool(session.get("unreadable"))
        self._events = [
            Event(e["type"], seq, e.get("time", 0), e.get("data"))
            for seq, e in enumerate(session["events"])
        ]

    def run(self, step: Json) -> Json:
        """One call: its value, what it appended, and how often it asked for what."""
        self._flushes = self._notifications = 0
        self._appended: list[Json] = []
        self._step = step
        self._outcomes = list(step.get("flush", []))
        self._samples = step["now"] if isinstance(step["now"], list) else [step["now"]]
        value = answer_value(self._call(step["call"]["tool"], step["call"]["arguments"]))
        if isinstance(value, dict):
            value = {key: part for key, part in value.items() if key != "message"}
        return {
            "value": value,
            "appended": self._appended,
            "flushes": self._flushes,
            "notifications": self._notifications,
        }

    def _call(self, tool: Any, arguments: object) -> ToolAnswer:  # noqa: ANN401 - parsed JSON
        opened = open_call(tool, arguments, protocol=1)
        if not is_successful(opened):
            return Failure(opened.failure())
        if self._step.get("cancelled") == "before":
            return Failure(InternalError())
        return self._drive(opened.unwrap()())

    def _drive(self, program: Program) -> ToolAnswer:
        answer: StepAnswer | None = None
        while True:
            try:
                step = program.send(answer) if answer else next(program)
            except StopIteration as end:
                result: ToolAnswer = end.value
                return result
            match step:
                case Barrier():
                    answer = self._flush()
                case ReadClock():
                    answer = self._sample()
                case ReadLog():
                    answer = LogRead(self._zone, self._events)
                case Append(change=change):
                    if self._cancelled():
                        return Failure(InternalError())
                    answer = self._append(change)

    def _cancelled(self) -> bool:
        """Whether the call was cancelled while one of its barriers so far was outstanding."""
        when = self._step.get("cancelled", "never")
        return bool(when == f"flush{self._flushes}")

    def _flush(self) -> StepAnswer:
        self._flushes += 1
        if (self._outcomes.pop(0) if self._outcomes else True) is not True:
            return Refused()
        self._notifications += 1
        if self._unreadable:
            return Confirmed(log=None)
        folded = fold(self._events, self._seed_length)
        log = folded.unwrap() if is_successful(folded) else folded.failure()
        return Confirmed(log)

    def _sample(self) -> StepAnswer:
        if self._step.get("clock") == "throw":
            return Refused()
        return Sampled(self._samples.pop(0) if len(self._samples) > 1 else self._samples[0])

    def _append(self, change: Change) -> StepAnswer:
        if self._step.get("append") == "throw":
            return Refused()
        data = encode_change(change)
        self._events.append(Event(SCHEDULE_CHANGE, len(self._events), 0, data))
        self._appended.append({"type": SCHEDULE_CHANGE, "data": data})
        return Appended()
