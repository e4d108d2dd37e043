"""The shell without tasks as a program of its own, its world at the other end of a pipe.

`python tests/piped_shell.py` plays the owner's transcripts under `wakefold conformance --shell`. It
shows the protocol from a program that waits for each reply, while `tests/node_shell` never waits.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from synchronous_shell import SynchronousShell
from wakefold import Event
from wakefold import signals as fact
from wakefold.json_text import format_json, parse_json

Json = dict[str, Any]


class Pipe:
    """Standard input and output: asks and waits, hearing what comes in between."""

    def __init__(self) -> None:
        self.shell: SynchronousShell | None = None
        self._count = 0

    def ask(self, op: str, **fields: object) -> Json:
        """The world's answer; `OSError` if it fails."""
        self._count += 1
        self.send({"id": self._count, "op": op, **fields})
        while True:
            message = self.receive()
            if "op" in message:
                assert self.shell is not None
                assert message["op"] == "detached"
                self.shell.signal(fact.Detached())
                self.send({"id": message["id"], "ok": None})
                continue
            assert message["id"] == self._count
            if "error" in message:
                raise OSError(message["error"]["message"])
            answer: Json = message["ok"] or {}
            return answer

    def receive(self) -> Json:
        """The next message; the program ends with its input."""
        line = sys.stdin.buffer.readline()
        if not line:
            sys.exit()
        message: Any = parse_json(line.decode("utf-8"))
        return dict(message)

    def send(self, message: Json) -> None:
        sys.stdout.buffer.write(f"{format_json(message)}\n".encode())
        sys.stdout.buffer.flush()


class PipedWorld:
    """What the synchronous shell uses of a virtual world."""

    def __init__(self, pipe: Pipe, begun: Json) -> None:
        self.driver: SynchronousShell | None = None
        self.seed_length: int = begun["seedLength"]
        self.time_zone: str | None = begun["timeZone"]
        self._ask = pipe.ask

    @property
    def events(self) -> list[Event]:
        rows = self._ask("read_log", start=0)["events"]
        return [Event(row["type"], row["seq"], row["time"], row["data"]) for row in rows]

    @property
    def unreadable(self) -> bool:
        try:
            self._ask("read_log", start=0)
        except OSError:
            return True
        return False

    def __setattr__(self, name: str, value: object) -> None:
        if name == "timer_ms":
            self._ask("disarm")
        else:
            super().__setattr__(name, value)

    def read_ms(self) -> int:
        return int(self._ask("read_clock")["nowMs"])

    def begin_flush(self) -> None:
        self._ask("flush")

    def append(self, events: Sequence[Event]) -> None:
        rows = [{"type": e.type, "time": e.time_ms, "data": e.data} for e in events]
        self._ask("append", events=rows)

    def queue(self, message: str) -> None:
        self._ask("queue", message=message)

    def claim(self) -> bool:
        return bool(self._ask("claim")["granted"])

    def release(self) -> None:
        self._ask("release")

    def note_idle_wait(self) -> None:
        self._ask("await_idle")

    def arm(self, delay_ms: int) -> None:
        self._ask("arm", untilMs=self.read_ms() + delay_ms, delayMs=delay_ms)

    def warn(self, kind: str) -> None:
        self._ask("warn", kind=kind)

    def note_disposed(self) -> None:
        self._ask("disposed")

    def note_result(self, label: str, value: object) -> None:
        self._ask("answer", label=label, value=value)


def hear(shell: SynchronousShell, message: Json) -> None:
    """One thing that happens."""
    match message["op"]:
        case "begin":
            shell.start()
        case "timer_fired":
            shell.fire_timer()
        case "went_idle":
            shell.signal(fact.WentIdle())
        case "idle_wait_ended":
            shell.end_idle_waits(failed=message["failed"])
        case "flush_ended":
            shell.complete_flush(message["outcome"])
        case "detached":
            shell.signal(fact.Detached())
        case "call_tool":
            shell.start_call(message["label"], message["tool"], message["arguments"])
        case "cancel_call":
            shell.cancel_call(message["label"])
        case "dispose":
            shell.dispose()
        case unknown:
            raise ValueError(unknown)


def run() -> None:
    """Play session after session until the input ends."""
    pipe = Pipe()
    greeting = pipe.receive()
    pipe.send({"id": greeting["id"], "ok": {"protocol": 1}})
    while True:
        message = pipe.receive()
        if message["op"] == "begin":
            world: Any = PipedWorld(pipe, message)
            pipe.shell = SynchronousShell(world)
        assert pipe.shell is not None
        hear(pipe.shell, message)
        pipe.send({"id": message["id"], "ok": None})


if __name__ == "__main__":
    run()
