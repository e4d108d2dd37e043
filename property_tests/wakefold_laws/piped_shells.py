"""A shell at the other end of a pipe, as the driver of a transcript.

The transcript's world (log, host, clocks) is here, the shell is a program in any language. This module
turns what happens into messages, and what the program wishes into calls of the world. It decides
whether the protocol is kept; it refuses to know which effects are right.
"""

from __future__ import annotations

import time
from collections import deque
from typing import Final, NoReturn, assert_never

from wakefold import signals as fact
from wakefold.events import Event
from wakefold.rejections import shorten
from wakefold_laws import shell_messages as say
from wakefold_laws.shell_processes import Breach, ShellProcess
from wakefold_laws.virtual_world import Failing, Json, VirtualWorld
from wakefold_shell.pipes.messages import (
    PROTOCOL,
    MessageFault,
    accept,
    read_id,
    refuse,
    require_protocol,
)
from wakefold_shell.pipes.spelling import Reader, spell

HAPPENINGS_MAX: Final = 3000
"""How much may happen in one transcript: a timer that is set again at once would never end."""

_OUTCOMES: Final[dict[str, say.FlushOutcome]] = {"ok": "ok", "false": "false", "throw": "throw"}


class PipedShell:
    """The shell of one session, and the driver of its transcript."""

    def __init__(self, process: ShellProcess, seconds_max: float) -> None:
        """A program, and how long it may take for one thing that happens."""
        self._process, self._seconds_max = process, seconds_max
        self._world: VirtualWorld | None = None
        self._waiting: deque[say.Happening] = deque()
        self._told: dict[int, say.Happening] = {}  # by id, what no reply has come to yet
        self._serving = self._waits_for_idle = False
        self._happened = 0

    def greet(self) -> None:
        """Agree on the protocol."""
        self._tell(say.Hello(protocol=PROTOCOL))
        self.settle()

    def begin(self, world: VirtualWorld, mode: say.Mode) -> None:
        """A session of its own in a world."""
        self._world = world
        world.driver = self
        self._tell(say.Begin(mode=mode, seed_length=world.seed_length, time_zone=world.time_zone))

    def settle(self) -> None:
        """Tell all that has happened, one after the other, and serve the shell until nothing moves."""
        while self._waiting:
            happening = self._waiting.popleft()
            try:
                self._let(happening)
            except TimeoutError as late:
                slow = f"did not settle within {self._seconds_max:g} s"
                raise self._explain(slow, happening) from late
            except Breach as breach:
                raise self._explain(str(breach), happening) from breach

    def _let(self, happening: say.Happening) -> None:
        """Tell one thing, and serve the shell until it says that nothing moves any more."""
        self._happened += 1
        if self._happened > HAPPENINGS_MAX:
            raise Breach(f"goes on and on: more than {HAPPENINGS_MAX} things happened in a transcript")
        self._send(happening)
        deadline = time.monotonic() + self._seconds_max
        while self._told:
            self._hear(self._process.receive(deadline))

    def _explain(self, what: str, happening: say.Happening) -> Breach:
        return Breach(f"the shell {what}, after {_name(happening)!r}.")

    # The driver.

    def signal(self, signal: fact.Signal) -> None:
        """The two facts that a world reports by itself."""
        self._tell(say.Detached() if isinstance(signal, fact.Detached) else say.WentIdle())

    def complete_flush(self, outcome: str) -> None:
        """The barrier is over."""
        self._tell(say.FlushEnded(outcome=_OUTCOMES[outcome]))

    def fire_timer(self) -> None:
        """The timer has run out."""
        self._tell(say.TimerFired())

    def end_idle_waits(self, *, failed: bool) -> None:
        """The idle wait is over, if there was one."""
        if self._waits_for_idle:
            self._waits_for_idle = False
            self._tell(say.IdleWaitEnded(failed=failed))

    def start_call(self, label: str, tool: str, arguments: object) -> None:
        """A tool is called."""
        self._tell(say.CallTool(label=label, tool=tool, arguments=arguments))

    def cancel_call(self, label: str) -> None:
        """A caller leaves; one whose call has not been told yet is told with it."""
        last = self._waiting[-1] if self._waiting else None
        if isinstance(last, say.CallTool) and last.label == label:
            self._waiting[-1] = say.CallTool(
                label=label, tool=last.tool, arguments=last.arguments, cancelled=True
            )
        else:
            self._tell(say.CancelCall(label=label))

    def dispose(self) -> None:
        """The session ends."""
        self._tell(say.Dispose())

    def _tell(self, happening: say.Happening) -> None:
        """Tell it in its turn, or at once if it happens while the shell is served."""
        if self._serving:
            self._send(happening)
        else:
            self._waiting.append(happening)

    def _send(self, happening: say.Happening) -> None:
        message_id = next(self._process.ids)
        self._told[message_id] = happening
        message = spell(happening)
        assert isinstance(message, dict)
        self._process.send({"id": message_id, **message})

    def _hear(self, message: Json) -> None:
        if "op" not in message:
            self._take_reply(message)
            return
        try:
            message_id = read_id(message)
            fields = {name: value for name, value in message.items() if name != "id"}
            wish: say.Wish = Reader(_refuse_name).read(say.Wish, fields, "$")
        except MessageFault as fault:
            raise Breach(f"asked what it cannot ask ({fault.sentence.removesuffix('.')})") from fault
        self._serving = True
        try:
            reply = accept(message_id, self._grant(wish, self._require_world()))
        except Failing:
            reply = refuse(message_id, MessageFault("failed", f"The world fails {_name(wish)}."))
        finally:
            self._serving = False
        self._process.send(reply)

    def _take_reply(self, message: Json) -> None:
        """What the shell says that it has done with something that was told."""
        message_id = message.get("id")
        if not isinstance(message_id, int) or message_id not in self._told:
            raise Breach(f"replied to {shorten(message_id)}, which waits for no reply")
        happening = self._told.pop(message_id)
        if "ok" in message and "error" not in message:
            if isinstance(happening, say.Hello):
                _require_greeting(message["ok"])
            return
        error = message.get("error")
        code = error.get("code") if isinstance(error, dict) else None
        if isinstance(happening, say.CallTool) and code == "unavailable":
            self._require_world().note_result(happening.label, {"unavailable": True})
            return
        raise Breach(f"replied {shorten(error)} to {_name(happening)!r}")

    def _require_world(self) -> VirtualWorld:
        if self._world is None:
            raise Breach("asked for something before any session had begun")
        return self._world

    def _grant(self, wish: say.Wish, world: VirtualWorld) -> object:  # noqa: C901, PLR0912
        """What the world answers to a wish; it fails where the transcript plans it."""
        match wish:
            case say.ReadLog(start=start):
                return {"events": spell(list(world.read_events(max(start, 0))))}
            case say.ReadClock():
                return {"nowMs": world.read_ms()}
            case say.Append(events=events):
                world.append([Event(e.type, 0, e.time, e.data) for e in events])
            case say.Queue(message=message):
                _queue(world, message)
            case say.Claim():
                return {"granted": world.claim()}
            case say.Release():
                world.release()
            case say.Flush():
                world.begin_flush()
            case say.Arm(delay_ms=delay_ms):
                world.arm(delay_ms)
            case say.Disarm():
                world.timer_ms = None
            case say.AwaitIdle():
                world.note_idle_wait()
                self._waits_for_idle = True
            case say.Warn(kind=kind):
                world.warn(kind)
            case say.Answer(label=label, value=value):
                world.note_result(label, value)
            case say.Recompute():
                world.note_recompute()
            case say.Disposed():
                world.note_disposed()
            case _:
                assert_never(wish)
        return None


def _queue(world: VirtualWorld, message: str) -> None:
    try:
        world.queue(message)
    except ValueError as error:
        raise Breach(f"queued a message that is no frame ({shorten(message)})") from error


def _require_greeting(value: object) -> None:
    try:
        require_protocol(value if isinstance(value, dict) else {})
    except MessageFault as fault:
        raise Breach(f"speaks another protocol ({fault.sentence.removesuffix('.')})") from fault


def _refuse_name(*_: object) -> NoReturn:
    """No wish names anything that is kept."""
    raise MessageFault("unknown_name", "Nothing is kept under names here.")


def _name(request: say.Happening | say.Wish) -> str:
    return str(request.__struct_config__.tag)
