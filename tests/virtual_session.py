"""A session under a virtual host, and the reader of transcript scripts (owner.jsonl, tools.jsonl)."""

from __future__ import annotations

from typing import Any

from synchronous_shell import SynchronousShell
from wakefold import SCHEDULE_CHANGE, Event, encode_change
from wakefold.effects import WarningKind
from wakefold.events import Change
from wakefold.signals import Detached, IdleCame, IdleFailed, Nudged, WentIdle

Json = dict[str, Any]


class VirtualSession:
    """Log, host and clocks of one session, with the record of every effect."""

    def __init__(self, session: Json, start_ms: int, host: Json) -> None:
        header = session["header"]
        self.seed_length: int = header.get("seedLength") or 0
        self.header_time_zone: str | None = header.get("timeZone")
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
        self.idle_waits = 0
        self.flush_held: str | None = None  # the planned outcome of the outstanding flush
        self.queued_in_phase = False
        self.effects: list[Json] = []
        self.results: list[Json] = []
        self.shell = SynchronousShell(self)

    def read_events(self) -> list[Event]:
        if self.unreadable:
            raise OSError
        return self.events

    def read_ms(self) -> int:
        return self.wall_ms

    def begin_flush(self) -> None:
        self.effects.append({"effect": "flush"})
        assert self.flush_held is None
        self.flush_held = self._planned("flush")

    def append(self, change: Change) -> None:
        data = encode_change(change)
        if self._planned("append") == "throw":
            self.effects.append({"effect": "append", "data": data, "failed": True})
            raise OSError
        self.effects.append({"effect": "append", "data": data})
        self.events.append(Event(SCHEDULE_CHANGE, len(self.events), self.wall_ms, data))

    def queue(self, message: str) -> None:
        label, _, *rows = message.split("\n")
        kind = "batch" if "BATCH" in label else "one-shot"
        effect = {
            "effect": "followup",
            "kind": kind,
            "dynamic": dict(row.split(": ", 1) for row in rows),
        }
        planned = self._planned("followup")
        if planned == "ok":
            self.effects.append(effect)
            self.queued_in_phase = True
            return
        if planned == "detach_throw":
            self.shell.signals_first(Detached())
        self.effects.append({**effect, "failed": True})
        raise OSError

    def claim(self) -> bool | None:
        if self.hooks:
            self._run_hook(self.hooks.pop(0))
        rejected = self._planned("claim") == "reject"
        result = "rejected" if rejected else "busy" if self.busy else "granted"
        self.effects.append({"effect": "claim", "result": result})
        self.queued_in_phase = False
        return None if rejected else not self.busy

    def release(self) -> None:
        self.effects.append({"effect": "release"})
        if self.wakes and self.queued_in_phase:
            self.busy = True

    def await_idle(self) -> None:
        self.effects.append({"effect": "wait_idle"})
        self.idle_waits += 1

    def arm(self, delay_ms: int) -> None:
        self.effects.append({"effect": "arm", "delay_ms": delay_ms})
        self.timer_ms = self.monotonic_ms + delay_ms

    def disarm(self) -> None:
        self.timer_ms = None

    def warn(self, kind: WarningKind) -> None:
        self.effects.append({"effect": "warn", "kind": kind})

    def disposed(self) -> None:
        self.effects.append({"effect": "disposed"})

    def answer(self, label: str, value: object) -> None:
        if isinstance(value, dict):
            value = {key: part for key, part in value.items() if key != "message"}
        self.results.append({"label": label, "value": value})

    def take(self) -> Json:
        """What happened since the last look, once nothing moves any more."""
        self._quiesce()
        timer = None if self.timer_ms is None else self.timer_ms - self.monotonic_ms
        seen = {"effects": self.effects, "results": self.results, "timer": timer}
        self.effects, self.results = [], []
        return seen

    def run_op(self, op: Json) -> None:  # noqa: C901, PLR0912 - one branch for each op
        """One step of a script."""
        match op["op"]:
            case "advance":
                self._advance(op["ms"])
            case "jump":
                self.wall_ms += op["ms"]
            case "busy":
                self.busy = True
            case "idle" | "idle_quiet":
                self._become_idle(told=op["op"] == "idle")
            case "idle_fail":
                for _ in range(self._take_idle_waits()):
                    self.shell.signal(IdleFailed())
            case "status":
                if op["status"] == "idle":
                    self.shell.signal(WentIdle())
            case "plan":
                self.plans |= {name: list(op[name]) for name in self.plans if name in op}
            case "release":
                self._release_flush(op["outcome"])
            case "on_claim":
                self.hooks.append(op["do"])
            case "append_event":
                self._append_event(op["event"])
            case "unreadable_log":
                self.unreadable = True
            case "detach":
                self.shell.signal(Detached())
            case "tool":
                self.shell.call(op["label"], op["call"]["tool"], op["call"]["arguments"])
            case "cancel":
                self.shell.calls[op["label"]].cancelled = True
            case "dispose" | "dispose_plugin":
                self.idle_waits = 0
                self.shell.dispose()
            case unknown:
                raise ValueError(unknown)

    def _quiesce(self) -> None:
        while self.flush_held is not None and self.flush_held != "hold":
            self._release_flush(self.flush_held)

    def _release_flush(self, outcome: str) -> None:
        if self.flush_held is not None:
            self.flush_held = None
            self.shell.flushed(outcome == "ok")

    def _advance(self, ms: int) -> None:
        end = self.monotonic_ms + ms
        while self.timer_ms is not None and self.timer_ms <= end:
            self._move(self.timer_ms - self.monotonic_ms)
            self.timer_ms = None
            self.shell.signal(Nudged())
            self._quiesce()
        self._move(end - self.monotonic_ms)

    def _move(self, ms: int) -> None:
        self.monotonic_ms += ms
        self.wall_ms += ms

    def _become_idle(self, *, told: bool) -> None:
        self.busy = False
        if told:
            self.shell.signal(WentIdle())
        for _ in range(self._take_idle_waits()):
            self.shell.signal(IdleCame())

    def _take_idle_waits(self) -> int:
        waits, self.idle_waits = self.idle_waits, 0
        return waits

    def _run_hook(self, do: Json) -> None:
        if "jump" in do:
            self.wall_ms += do["jump"]
        elif "append_event" in do:
            self._append_event(do["append_event"])
        elif "detach" in do:
            self.shell.signals_first(Detached())
        elif "unreadable_log" in do:
            self.unreadable = True
        else:
            raise ValueError(do)

    def _append_event(self, event: Json) -> None:
        self.events.append(Event(event["type"], len(self.events), self.wall_ms, event.get("data")))

    def _planned(self, name: str) -> str:
        return self.plans[name].pop(0) if self.plans[name] else "ok"
