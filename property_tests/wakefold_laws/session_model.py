"""A second, plain reading of a session's log: inbox, turns, wakeups and zones, event by event.

This module decides what a log that a host wrote tells, by the words of spec sections 5.1, 12 and 13 and
not by the core's own reading, so that a law which compares the two can fail. It draws nothing, and it
trusts the events: a malformed one raises.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from wakefold.events import Event
from wakefold.recurrence import Profile


class SessionState(Struct, frozen=True):
    """What a log tells at one of its lengths.

    `inbox` has the ids of the messages that wait. The streak, its height, `word_seq` and the epoch ms
    of the dispatches are the guard's, with its default of who may end a streak. `client_time_zones`
    are those named since the open turn began, and `time_told` says whether the time was told since
    then; both are empty where no step is open.
    """

    inbox: tuple[object, ...]
    turn: int
    turn_open: bool
    step_open: bool
    consecutive: int
    max_consecutive: int
    dispatch_times_ms: tuple[int, ...]
    word_seq: int | None
    time_told: bool
    client_time_zones: tuple[str, ...]


class SessionLog(Struct, frozen=True):
    """A valid log as a host writes it, `seq` from 0, of which `seed_length` events are inherited.

    `time_zone` is that of the session's header.
    """

    events: tuple[Event, ...]
    seed_length: int
    profile: Profile
    time_zone: str | None

    def tell_states(self) -> list[SessionState]:
        """What the log tells when it is cut before its own events, and after each of them."""
        reader = _Reader(self.seed_length)
        for event in self.events[: self.seed_length]:
            reader.read(event)
        states = [reader.freeze()]
        for event in self.events[self.seed_length :]:
            reader.read(event)
            states.append(reader.freeze())
        return states


class _Reader:
    """What has been read so far. Inbox and wakeups are a session's own, turns run through a fork."""

    def __init__(self, seed_length: int) -> None:
        self._seed_length = seed_length
        self._inbox: list[object] = []
        self._turn = self._streak = self._height = 0
        self._turn_open = self._step_open = self._time_told = False
        self._times_ms: list[int] = []
        self._word_seq: int | None = None
        self._zones: set[str] = set()

    def freeze(self) -> SessionState:
        """The state, as a value."""
        return SessionState(
            inbox=tuple(self._inbox),
            turn=self._turn,
            turn_open=self._turn_open,
            step_open=self._step_open,
            consecutive=self._streak,
            max_consecutive=self._height,
            dispatch_times_ms=tuple(self._times_ms),
            word_seq=self._word_seq,
            time_told=self._step_open and self._time_told,
            client_time_zones=tuple(sorted(self._zones)) if self._step_open else (),
        )

    def read(self, event: Event) -> None:
        """One more event, own or inherited."""
        data: Any = event.data
        if event.seq >= self._seed_length:
            self._read_own(event, data)
        match event.type:
            case "turn/start":
                self._turn, self._turn_open = data["turn"], True
                self._zones, self._time_told = set(), False
            case "turn/end":
                self._turn_open = self._step_open = False
            case "step/start":
                self._step_open = True
            case "step/end":
                self._step_open = False
            case "user/message":
                self._hear(data["source"])
            case _:
                pass

    def _read_own(self, event: Event, data: Any) -> None:  # noqa: ANN401 - JSON
        if event.type == "agent/inbox/spliced":
            end = data["start"] + data.get("removedCount", 0)
            self._inbox[data["start"] : end] = [message["id"] for message in data["inserted"]]
        elif event.type == "schedule/change" and data["operation"] == "dispatch":
            self._streak += 1
            self._height = max(self._height, self._streak)
            self._times_ms.append(event.time_ms)
        elif event.type == "user/message" and data["source"]["kind"] in {"user", "a2a"}:
            self._streak, self._word_seq = 0, event.seq

    def _hear(self, source: Any) -> None:  # noqa: ANN401 - JSON
        if source["kind"] == "user" and "rpcId" in source and "clientTimeZone" in source:
            self._zones.add(source["clientTimeZone"])
        if source.get("plugin") == "time-context":
            self._time_told = True
