"""The recorded transcripts of owner and tools, by the real shell over a virtual world.

`run_owner` and `run_tools` take one case and give what the shell did, in the transcript's own words.
They run the performer, the FIFO and the sleeping of `wakefold_shell.owner` on anyio's backends.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from importlib.util import find_spec
from typing import Any, Final

import anyio
import anyio.lowlevel

from wakefold import Event
from wakefold import effects as order
from wakefold import signals as fact
from wakefold.conversations import Draft
from wakefold.tools import answer_value
from wakefold_laws.scripts import Play, play_owner, play_tools
from wakefold_laws.virtual_world import Failing, Json, VirtualWorld
from wakefold_shell.calls import Call
from wakefold_shell.errors import UnavailableError
from wakefold_shell.owner import Session
from wakefold_shell.protocols import Followup

BACKENDS: Final = tuple(name for name in ("asyncio", "trio") if find_spec(name) is not None)
"""The backends that are installed here."""

_QUIET_CHECKPOINTS: Final = 10


class _Shell:
    """Store, host and clock of a session over a virtual world, and the driver of its transcript."""

    def __init__(self, world: VirtualWorld, make_session: Callable[[_Shell], Session]) -> None:
        self.world = world
        world.driver = self
        self.calls: dict[str, Call] = {}
        self.moves = 0  # counts whatever happens, so that quiet can be told
        self._timer = self._flushed = self._idle = anyio.Event()
        self._flush_outcome = "ok"
        self._idle_failed = False
        self.session = make_session(self)

    # The store.

    @property
    def seed_length(self) -> int:
        return self.world.seed_length

    @property
    def time_zone(self) -> str | None:
        return self.world.time_zone

    delegation_depth = 0

    def read_events(self, start: int) -> Iterable[Event]:
        return self.world.read_events(start)

    def append(self, events: Sequence[Event]) -> None:
        self.world.append(events)

    async def flush(self) -> bool:
        self.world.begin_flush()
        self.moves += 1
        self._flushed = anyio.Event()
        await self._flushed.wait()
        if self._flush_outcome == "throw":
            raise Failing
        return self._flush_outcome == "ok"

    # The host.

    def claim(self) -> bool:
        return self.world.claim()

    def hand_over(self, followup: Followup) -> Sequence[Draft]:
        self.world.queue(followup.message)
        return ()

    def release(self) -> None:
        self.world.release()

    async def wait_idle(self) -> None:
        await self._idle.wait()
        if self._idle_failed:
            raise Failing

    # The clock.

    def read_ms(self) -> int:
        return self.world.read_ms()

    def plan_sleep(self, until_ms: int, delay_ms: int) -> Callable[[], Awaitable[object]]:
        del until_ms  # the transcripts' timers live on the monotonic clock alone
        self.world.arm(delay_ms)
        self._timer = anyio.Event()
        return self._timer.wait

    # The driver.

    def signal(self, signal: fact.Signal) -> None:
        self.session.signal(signal)

    def complete_flush(self, outcome: str) -> None:
        self._flush_outcome = outcome
        self._flushed.set()

    def fire_timer(self) -> None:
        self._timer.set()

    def end_idle_waits(self, *, failed: bool) -> None:
        self._idle_failed = failed
        self._idle.set()

    def start_call(self, label: str, tool: Any, arguments: object) -> None:  # noqa: ANN401 - JSON
        try:
            self.calls[label] = self.session.submit(tool, arguments)
        except UnavailableError:
            self.world.note_result(label, {"unavailable": True})

    def cancel_call(self, label: str) -> None:
        self.calls[label].cancel()

    def dispose(self) -> None:
        self.session.dispose()

    async def settle(self) -> None:
        """Let every task run until nothing moves; asking the backend would be slower by far."""
        quiet = 0
        while quiet < _QUIET_CHECKPOINTS:
            before = self.moves
            await anyio.lowlevel.checkpoint()
            for label in [label for label, call in self.calls.items() if call.done.is_set()]:
                self.world.note_result(label, answer_value(self.calls.pop(label).answer))
                self.moves += 1
            quiet = quiet + 1 if self.moves == before else 0

    def watch(self, effect: order.Effect) -> None:
        """Note the effects that reach the world late or not at all."""
        self.moves += 1
        if isinstance(effect, order.AwaitIdle):
            self.world.note_idle_wait()
            self._idle = anyio.Event()
        elif isinstance(effect, order.Disarm):
            self.world.timer_ms = None
        elif isinstance(effect, order.Disposed):
            self.world.note_disposed()


class _WatchedSession(Session):
    """A session whose effects are watched."""

    def __init__(self, shell: _Shell) -> None:
        super().__init__(shell, shell, shell, on_warning=shell.world.warn)
        self._shell = shell

    def perform(self, effect: order.Effect) -> None:
        self._shell.watch(effect)
        super().perform(effect)


class _OwnerlessSession(Session):
    """A session whose owner is replaced by a counter of its recomputes."""

    def __init__(self, shell: _Shell) -> None:
        super().__init__(shell, shell, shell, protocol=1)
        self._shell = shell

    def signal(self, signal: fact.Signal) -> None:
        if isinstance(signal, fact.Recorded | fact.LogLost):
            super().signal(signal)

    def recompute(self) -> None:
        self._shell.world.note_recompute()


def run_owner(case: Json) -> list[Json]:
    """What happens at the start and in each step of an `owner` case, on every backend alike."""

    def open_shell() -> _Shell:
        world = VirtualWorld(case["session"], case["start"], case.get("host", {}))
        return _Shell(world, _WatchedSession)

    return _run(open_shell, lambda world: play_owner(world, case))


def run_tools(case: Json) -> list[Json]:
    """The value, appends, barriers and recomputes of each call of a `tools` case, likewise."""

    def open_shell() -> _Shell:
        return _Shell(VirtualWorld(case["session"], 0, {}), _OwnerlessSession)

    return _run(open_shell, lambda world: play_tools(world, case))


def _run(open_shell: Callable[[], _Shell], begin: Callable[[VirtualWorld], Play]) -> list[Json]:
    """The outcome on the first backend; `ValueError` if another one sees something else."""

    async def live() -> list[Json]:
        shell = open_shell()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(shell.session.run)
            seen = await _let(begin(shell.world), shell)
            tasks.cancel_scope.cancel()
        return seen

    first, *others = [anyio.run(live, backend=backend) for backend in BACKENDS]
    if any(other != first for other in others):
        raise ValueError(f"the backends {BACKENDS} differ")
    return first


async def _let(play: Play, shell: _Shell) -> list[Json]:
    """Play to the end, and let the shell run wherever the script says so."""
    while True:
        try:
            next(play)
        except StopIteration as end:
            seen: list[Json] = end.value
            return seen
        await shell.settle()
