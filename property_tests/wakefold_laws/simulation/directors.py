"""Doing what a script says to a shell: steps, lives, peace and the end.

This module opens a life wherever there is none, and lets time go by in as many as that takes. It
decides neither what may happen (`weathers`) nor what ought to (`invariants`).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import Any, Final, assert_never

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup
from msgspec import Struct

from wakefold.guard_config import GuardConfig, read_guard_config
from wakefold.json_text import format_json
from wakefold_laws.simulation.deeds import TOOLS, render_deed
from wakefold_laws.simulation.invariants import check_shell_ends, check_shell_survives
from wakefold_laws.simulation.judges import Judge
from wakefold_laws.simulation.parts import furnish
from wakefold_laws.simulation.scenarios import (
    MINUTE_MS,
    AtClaim,
    Call,
    Crash,
    Deed,
    Fail,
    Fork,
    Go,
    Jump,
    RepeatIdle,
    Restart,
    Say,
    Scenario,
    Setting,
    Step,
    Suspend,
    Think,
    format_line,
)
from wakefold_laws.simulation.shells import OpenShell, Shell
from wakefold_laws.simulation.timelines import Timeline, let_pass
from wakefold_laws.simulation.violations import Violation
from wakefold_laws.simulation.worlds import Home, Note, PowerCut, World

_LOOKS_MAX: Final = 120
"""How often a single step may come to rest: an eager agent would make it last for ever."""

_PEACES: Final = 3
_PEACE_MS: Final = 40 * MINUTE_MS  # three of them outlast the longest turn
_END_SECONDS: Final = 45.0  # a barrier may take 30


class Story(Struct, frozen=True):
    """What a scenario came to: how long it was, and how much happened.

    :shape: `notes` tell it in order, as a failure shows them
    :units: `virtual_ms` in milliseconds of virtual time; `events`, `lives` and `deliveries`
        (dispatches) are counts
    :errors: none
    :source: ours, docs/simulator.md
    """

    virtual_ms: int
    events: int
    lives: int
    deliveries: int
    notes: tuple[Note, ...]


Ending = tuple[Story, Violation | None]
"""A story, and the invariant that was broken at its end, if one was."""

_Task = Callable[..., Coroutine[Any, Any, None]]


class _Life:
    """One life of the session: its home, its shell, and what it ended with."""

    def __init__(self, home: Home, shell: Shell) -> None:
        self.home, self.shell = home, shell
        self.over = False
        self.violation: Violation | None = None
        self.tasks: TaskGroup | None = None
        self._scope = anyio.CancelScope()

    async def run(self) -> None:
        """Until the shell ends or the power goes; what else comes out of it is a violation."""
        try:
            with self._scope:
                async with anyio.create_task_group() as self.tasks:
                    await self.shell.run()
        except anyio.get_cancelled_exc_class():
            raise
        except BaseException as end:  # noqa: BLE001 - whatever it is, it is judged
            self._judge(end)
        finally:
            self.over, self.tasks = True, None

    def tell(self, fact: Callable[[], None]) -> None:
        """Tell the shell something, by a plain call in which the power may go."""
        try:
            fact()
        except (PowerCut, Violation) as end:
            self._judge(end)
            self._scope.cancel()

    def cut_power(self, kept: int) -> None:
        """The power goes now."""
        self.home.die(kept)
        self._scope.cancel()

    def _judge(self, end: BaseException) -> None:
        leaves = list(_list_leaves(end))
        violations = [leaf for leaf in leaves if isinstance(leaf, Violation)]
        self.violation = self.violation or next(iter(violations), None)
        if self.violation is None and not self.home.dead:
            try:
                check_shell_survives(leaves[0])
            except Violation as violation:
                self.violation = violation


def _list_leaves(error: BaseException) -> Iterable[BaseException]:
    if not isinstance(error, BaseExceptionGroup):
        yield error
        return
    for part in error.exceptions:
        yield from _list_leaves(part)


class Director:
    """Does a scenario's steps, and opens a life wherever there is none."""

    def __init__(self, scenario: Scenario, open_shell: OpenShell, timeline: Timeline) -> None:
        self._scenario, self._open, self._timeline = scenario, open_shell, timeline
        self.world = World(scenario.setting, _read_limits(scenario.setting), timeline)
        self._judge = Judge(self.world)
        self._life: _Life | None = None
        self._lives: TaskGroup | None = None
        self._looks_left = 0

    async def play(self) -> Ending:
        """All steps, then peace, then the end."""
        found: Violation | None = None
        async with anyio.create_task_group() as self._lives:
            try:
                for step in self._scenario.steps:
                    self.world.note(format_line(step))
                    await self._do(await self._live(), step)
                    await self._go(0)
                await self._make_peace()
            except Violation as violation:
                found = violation
                if self._life is not None:
                    self._life.cut_power(0)
            self._lives.cancel_scope.cancel()
        story = Story(
            virtual_ms=self.world.monotonic_ms,
            events=len(self.world.events),
            lives=self.world.lives,
            deliveries=len(self._judge.history.chronicle.dispatched),
            notes=tuple(self.world.notes),
        )
        return story, found

    async def _do(self, life: _Life, step: Step) -> None:  # noqa: C901, PLR0912 - one branch for each
        world = self.world
        match step:
            case Go(for_ms=for_ms):
                await self._go(for_ms)
            case Jump(by_ms=by_ms):
                world.set_clock(by_ms)
            case Suspend(for_ms=for_ms):
                world.set_clock(for_ms)
            case Call():
                await self._call(life, step)
            case Say(zone=zone):
                self._start(life, self._say, life, zone)
            case Think():
                world.mind = step
            case Fail():
                world.failures.append(step)
            case AtClaim():
                world.claim_hooks.append(step)
            case RepeatIdle(times=times):
                life.home.note_activity()
                for _ in range(times):
                    life.tell(life.shell.repeat_idle)
            case Crash(before=None, kept=kept):
                life.cut_power(kept)
            case Crash():
                world.crash = step
            case Restart():
                await self._end(life)
            case Fork():
                await self._end(life)
                world.fork()
                self._judge.see_fork()
            case _:
                assert_never(step)

    async def _live(self) -> _Life:
        """The session's life, a new one if the last one is over."""
        while self._life is None or self._life.over:
            self._judge.see_life()
            home = furnish(Home(self.world, self._judge))
            self._life = life = _Life(home, self._open(home))
            home.do_deed = partial(self._do_deed, life)
            if self._scenario.setting.supervised:
                home.on_warning = partial(self._give_up, life)
            self.world.note("the session is opened")
            if self._lives is not None:
                self._lives.start_soon(life.run)
            await self._rest(0)
        return self._life

    async def _go(self, for_ms: int) -> None:
        """Let time go by, in as many lives as that takes."""
        end_ms = self.world.monotonic_ms + for_ms
        self._looks_left = _LOOKS_MAX
        while self._looks_left > 0:
            await self._live()
            left_ms = end_ms - self.world.monotonic_ms
            await self._rest(left_ms / 1000)
            if self._life is not None and not self._life.over:
                return

    async def _rest(self, seconds: float) -> None:
        """Let time go by while the life lasts; whatever it has broken comes out here."""
        await let_pass(self._timeline, seconds, self._look)
        life = self._life
        if life is not None and life.violation is not None:
            raise life.violation

    def _look(self) -> bool:
        """All is quiet: hold the invariants to it. False where there is nothing to wait for."""
        life = self._life
        self._looks_left -= 1
        if life is None or life.over or life.violation is not None:
            return False
        self._judge.see_quiet(life.home)
        return self._looks_left > 0

    async def _end(self, life: _Life) -> None:
        """Shut a life down in good order; it must not take longer than a barrier may."""
        self._give_up(life)
        self._looks_left = _LOOKS_MAX
        await self._rest(_END_SECONDS)
        if not life.over:
            check_shell_ends(life.home)

    def _give_up(self, life: _Life) -> None:
        if not life.home.disposed:
            self.world.note("the session is disposed of")
            life.home.disposed = True
            life.tell(life.shell.dispose)

    async def _make_peace(self) -> None:
        """From here on nothing fails; what is due must come, and the session must end."""
        world = self.world
        world.note("from here on nothing fails")
        world.failures, world.claim_hooks, world.crash, world.mind = [], [], None, Think()
        life = await self._live()
        if life.home.excused or life.home.disposed:
            await self._end(life)
        for _ in range(_PEACES):
            await self._go(_PEACE_MS)
        self._judge.see_end()
        await self._end(await self._live())

    def _start(
        self, life: _Life, task: Callable[..., Coroutine[Any, Any, None]], *arguments: object
    ) -> None:
        if life.tasks is not None:
            life.tasks.start_soon(task, *arguments)

    async def _call(self, life: _Life, step: Call) -> None:
        scopes = [anyio.CancelScope() for _ in step.deeds]
        for deed, scope in zip(step.deeds, scopes, strict=True):
            self._start(life, self._do_deed, life, deed, scope)
        if step.cancelled:
            await anyio.lowlevel.checkpoint()
        for scope in scopes[: step.cancelled]:
            scope.cancel()

    async def _do_deed(self, life: _Life, deed: Deed, scope: anyio.CancelScope | None = None) -> None:
        home, tool = life.home, TOOLS[deed.tool]
        arguments = render_deed(deed, self.world, self._judge.history.chronicle)
        refusable = self._judge.see_call(tool, arguments)
        answer: object = None
        faults = home.faults
        home.calls += 1
        try:
            with scope or anyio.CancelScope():
                answer = await life.shell.call(tool, arguments)
        finally:
            home.calls -= 1
        self.world.note(f"answered: {format_json(answer)}")
        if self._judge.see_answer(arguments, answer, refusable) and home.faults == faults:
            home.forgive()

    async def _say(self, life: _Life, zone: str | None) -> None:
        life.home.calls += 1
        try:
            message_id = await life.shell.say("hello", zone)
        finally:
            life.home.calls -= 1
        if message_id is not None:
            self._judge.see_word(message_id)


def _read_limits(setting: Setting) -> GuardConfig | None:
    if setting.limits is None:
        return None
    return read_guard_config(setting.limits).unwrap()
