"""A session's world without a real clock, disk or agent, and the reader of transcript scripts.

It holds one session's log, host and clocks, does the ops of `owner.jsonl` and keeps the effects of
each. Any shell can be driven by it: what differs between shells is a `Driver`. Where a shell with tasks
has to be let run until nothing moves, the ops yield; a shell without tasks ignores that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from wakefold import Event
from wakefold.signals import Detached, Signal, WentIdle

#: A JSON object of a transcript.
Json = dict[str, Any]


class Driver(Protocol):
    """One shell under test: how facts and calls reach it.

    :shape: facts as signals; tools by name, with their arguments as JSON values
    :units: none
    :errors: none
    :source: spec section 8; ours, docs/writing-a-shell.md
    """

    def signal(self, signal: Signal) -> None:
        """Report a fact, also from inside an effect."""
        ...

    def complete_flush(self, outcome: str) -> None:
        """The outstanding barrier ends: `ok`, `false` or `throw`."""
        ...

    def fire_timer(self) -> None:
        """The timer has run out."""
        ...

    def end_idle_waits(self, *, failed: bool) -> None:
        """All outstanding idle waits end."""
        ...

    def start_call(self, label: str, tool: str, arguments: object) -> None:
        """A tool call begins and is not waited for."""
        ...

    def cancel_call(self, label: str) -> None:
        """A tool call is taken back."""
        ...

    def dispose(self) -> None:
        """The session ends."""
        ...


class Failing(OSError):
    """What the world raises where a script plans a failure."""


class VirtualWorld:
    """Log, host and clocks of one session, with the record of every effect.

    :shape: JSON objects of a transcript go in (`session`, `host`, ops) and come out (`effects`,
        `results`), with their keys
    :units: `wall_ms` and `samples` in epoch milliseconds UTC, `monotonic_ms` in milliseconds from the
        start; a timer's `delay_ms` from now
    :errors: `Failing`, an `OSError`, where a script plans a failure; `ValueError` for an op that there
        is not; `KeyError` for one without a key that it needs
    :source: spec section 8; ours, docs/writing-a-shell.md
    """

    def __init__(self, session: Json, start_ms: int, host: Json) -> None:
        """A session of a transcript, the wall clock's start (epoch ms) and the host's settings."""
        header = session["header"]
        self._driver: Driver | None = None
        self.seed_length: int = header.get("seedLength") or 0
        self.time_zone: str | None = header.get("timeZone")
        self.events = [
            Event(e["type"], seq, e.get("time", 0), e.get("data"))
            for seq, e in enumerate(session["events"])
        ]
        self.unreadable = bool(session.get("unreadable") or host.get("unreadable"))
        self.wall_ms = start_ms
        self.monotonic_ms = 0
        self.timer_ms: int | None = None
        self.busy = bool(host.get("busy"))
        self.wakes = bool(host.get("wakes"))
        self.plans: dict[str, list[str]] = {
            name: list(host.get(name, [])) for name in ("flush", "followup", "append", "claim")
        }
        self.hooks: list[Json] = []
        self.outstanding: str | None = None  # the planned outcome of the outstanding flush
        self.queued_in_phase = False
        self.effects: list[Json] = []
        self.results: list[Json] = []
        self.samples: list[int] = []  # what the clock shows instead, the last one for good
        self.clock_broken = self.observer_throws = False
        self.recomputes = 0

    @property
    def driver(self) -> Driver:
        """The shell that lives here, set once it moves in; `ValueError` before."""
        if self._driver is None:
            raise ValueError
        return self._driver

    @driver.setter
    def driver(self, driver: Driver) -> None:
        self._driver = driver

    def read_events(self, start: int = 0) -> Sequence[Event]:
        """The log from a place (from 0) on; `Failing` where it is unreadable."""
        if self.unreadable:
            raise Failing
        return self.events[start:]

    def read_ms(self) -> int:
        """The wall clock (epoch ms), or the next of the samples given; `Failing` where it is broken."""
        if self.clock_broken:
            raise Failing
        if len(self.samples) > 1:
            return self.samples.pop(0)
        return self.samples[0] if self.samples else self.wall_ms

    def begin_flush(self) -> None:
        """A barrier is asked for; the driver hears of its end by `complete_flush`."""
        self.effects.append({"effect": "flush"})
        self.outstanding = self._planned("flush")

    def append(self, events: Sequence[Event]) -> None:
        """Write events, each by its own plan; `Failing` at the first that is planned to fail."""
        for event in events:
            effect = {"effect": "append", "data": event.data}
            if self._planned("append") == "throw":
                self.effects.append({**effect, "failed": True})
                raise Failing
            self.effects.append(effect)
            self.events.append(Event(event.type, len(self.events), event.time_ms, event.data))

    def queue(self, message: str) -> None:
        """Queue one message for the agent."""
        label, _, *rows = message.split("\n")
        effect = {
            "effect": "followup",
            "kind": "batch" if "BATCH" in label else "one-shot",
            "dynamic": dict(row.split(": ", 1) for row in rows),
        }
        planned = self._planned("followup")
        if planned == "ok":
            self.effects.append(effect)
            self.queued_in_phase = True
            return
        if planned == "detach_throw":
            self.driver.signal(Detached())
        self.effects.append({**effect, "failed": True})
        raise Failing

    def claim(self) -> bool:
        """Hold the idle phase, after a planned hook: whether it was granted; `Failing` if planned."""
        if self.hooks:
            self._run_hook(self.hooks.pop(0))
        rejected = self._planned("claim") == "reject"
        result = "rejected" if rejected else "busy" if self.busy else "granted"
        self.effects.append({"effect": "claim", "result": result})
        self.queued_in_phase = False
        if rejected:
            raise Failing
        return not self.busy

    def release(self) -> None:
        """Give the idle phase back; a queued message may begin its turn."""
        self.effects.append({"effect": "release"})
        if self.wakes and self.queued_in_phase:
            self.busy = True

    def note_idle_wait(self) -> None:
        """An idle wait has begun."""
        self.effects.append({"effect": "wait_idle"})

    def arm(self, delay_ms: int) -> None:
        """Set the timer, `delay_ms` from now."""
        self.effects.append({"effect": "arm", "delay_ms": delay_ms})
        self.timer_ms = self.monotonic_ms + delay_ms

    def warn(self, kind: str) -> None:
        """A warning."""
        self.effects.append({"effect": "warn", "kind": kind})

    def note_disposed(self) -> None:
        """Disposal has completed."""
        self.effects.append({"effect": "disposed"})

    def note_result(self, label: str, value: object) -> None:
        """A tool call is answered; the sentence of an error is no part of a transcript."""
        if isinstance(value, dict):
            value = {key: part for key, part in value.items() if key != "message"}
        self.results.append({"label": label, "value": value})

    def note_recompute(self) -> None:
        """Where tools run without an owner: it would have been nudged here."""
        self.recomputes += 1
        if self.observer_throws:
            raise Failing

    def complete_flush(self, outcome: str) -> None:
        """The outstanding barrier ends, if there is one."""
        if self.outstanding is not None:
            self.outstanding = None
            self.driver.complete_flush(outcome)

    def quiesce(self) -> Iterator[None]:
        """Let everything run, complete the outstanding flush unless it is held, and so on."""
        yield
        while self.outstanding is not None and self.outstanding != "hold":
            self.complete_flush(self.outstanding)
            yield

    def take(self) -> Json:
        """What happened since the last look: `{effects, results, timer}`, the timer in ms from now."""
        timer = None if self.timer_ms is None else self.timer_ms - self.monotonic_ms
        seen = {"effects": self.effects, "results": self.results, "timer": timer}
        self.effects, self.results = [], []
        return seen

    def run_op(self, op: Json) -> Iterator[None]:  # noqa: C901, PLR0912 - one branch for each op
        """One step of a script, yielding where the shell is to be let run; `ValueError` for no op."""
        match op["op"]:
            case "advance":
                yield from self._advance(op["ms"])
            case "jump":
                self.wall_ms += op["ms"]
            case "busy":
                self.busy = True
            case "idle" | "idle_quiet":
                self.busy = False
                if op["op"] == "idle":
                    self.driver.signal(WentIdle())
                self.driver.end_idle_waits(failed=False)
            case "idle_fail":
                self.driver.end_idle_waits(failed=True)
            case "status":
                if op["status"] == "idle":
                    self.driver.signal(WentIdle())
            case "plan":
                self.plans |= {name: list(op[name]) for name in self.plans if name in op}
            case "release":
                self.complete_flush(op["outcome"])
            case "on_claim":
                self.hooks.append(op["do"])
            case "append_event":
                self._append_event(op["event"])
            case "unreadable_log":
                self.unreadable = True
            case "detach":
                self.driver.signal(Detached())
            case "tool":
                self.driver.start_call(op["label"], op["call"]["tool"], op["call"]["arguments"])
            case "cancel":
                self.driver.cancel_call(op["label"])
            case "dispose" | "dispose_plugin":
                self.driver.dispose()
            case unknown:
                raise ValueError(unknown)
        yield from self.quiesce()

    def _advance(self, ms: int) -> Iterator[None]:
        end = self.monotonic_ms + ms
        while self.timer_ms is not None and self.timer_ms <= end:
            self._move(self.timer_ms - self.monotonic_ms)
            self.timer_ms = None
            self.driver.fire_timer()
            yield from self.quiesce()
        self._move(end - self.monotonic_ms)

    def _move(self, ms: int) -> None:
        self.monotonic_ms += ms
        self.wall_ms += ms

    def _run_hook(self, do: Json) -> None:
        if "jump" in do:
            self.wall_ms += do["jump"]
        elif "append_event" in do:
            self._append_event(do["append_event"])
        elif "detach" in do:
            self.driver.signal(Detached())
        elif "unreadable_log" in do:
            self.unreadable = True
        else:
            raise ValueError(do)

    def _append_event(self, event: Json) -> None:
        self.events.append(Event(event["type"], len(self.events), self.wall_ms, event.get("data")))

    def _planned(self, name: str) -> str:
        return self.plans[name].pop(0) if self.plans[name] else "ok"
