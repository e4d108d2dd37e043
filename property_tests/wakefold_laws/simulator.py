"""The deterministic simulator: a shell lives through a scenario, and every invariant is held to it.

The real core and the real performer run in a simulated world, in virtual time: a seed makes a scenario,
a scenario alone decides what happens, and a failure is made small and replays exactly. `run_seed` and
`run_seeds` look for failures, `replay` shows one again. This module does the script's steps; it decides
neither what may happen (`scenarios`) nor what ought to (`invariants`).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, Protocol, assert_never
from zoneinfo import ZoneInfo

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup
from msgspec import Struct

from wakefold.events import Json
from wakefold.guard_config import GuardConfig, read_guard_config
from wakefold.instants import format_instant
from wakefold.json_text import format_json
from wakefold.tools import ToolName, answer_value
from wakefold_laws.invariants import (
    Invariants,
    Violation,
    check_shell_ends,
    check_shell_survives,
    find_refusal,
    is_confirmed,
)
from wakefold_laws.scenarios import (
    ANY_WEATHER,
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
    format_scenario,
    make_scenario,
    parse_scenario,
    shrink,
)
from wakefold_laws.simulated_worlds import Home, Note, PowerCut, World
from wakefold_laws.virtual_time import Timeline, let_pass, run_virtually
from wakefold_shell.errors import ShellError, UnavailableError
from wakefold_shell.hosts.inboxes import InboxHost
from wakefold_shell.owner import Session

_LOOKS_MAX: Final = 120
"""How often a single step may come to rest: an eager agent would make it last for ever."""

_PEACES: Final = 3
_PEACE_MS: Final = 40 * MINUTE_MS  # three of them outlast the longest turn
_END_SECONDS: Final = 45.0  # a barrier may take 30
_NOTES_SHOWN: Final = 25


class Shell(Protocol):
    """One life of a session in a shell under test."""

    async def run(self) -> None:
        """Own the session until it is disposed or cancelled."""
        ...

    async def call(self, tool: ToolName, arguments: object) -> object:
        """The JSON value that a tool answers with; `None` where the session has ended."""
        ...

    async def say(self, text: str, time_zone: str | None) -> str | None:
        """Give a person's word to the agent: its id once it is durable, `None` where it is not."""
        ...

    def repeat_idle(self) -> None:
        """Tell the session that its agent has become idle, though it may have been before."""
        ...

    def dispose(self) -> None:
        """Ask the session to end."""
        ...


OpenShell = Callable[[Home], Shell]
"""Begins a life in a home: with its store, its clock, its agent and its limits."""


class OwnShell:
    """This project's shell: the performer, the FIFO and the inbox, in a home."""

    def __init__(self, home: Home) -> None:
        """A life in a home."""
        self.host = ClaimingHost(home)
        self.session = Session(
            home.store, self.host, home.clock, guard=home.limits, on_warning=home.warn
        )

    async def run(self) -> None:
        """Own the session until it is disposed or cancelled."""
        await self.host.run(self.session)

    async def call(self, tool: ToolName, arguments: object) -> object:
        """The JSON value that a tool answers with; `None` where the session has ended."""
        try:
            return answer_value(await self.session.call(tool, arguments))
        except UnavailableError:
            return None

    async def say(self, text: str, time_zone: str | None) -> str | None:
        """Give a person's word to the agent: its id once it is durable, `None` where it is not."""
        with suppress(ShellError, OSError):
            return await self.host.say(self.session, text, time_zone)
        return None

    def repeat_idle(self) -> None:
        """Tell the session that its agent has become idle."""
        self.session.went_idle()

    def dispose(self) -> None:
        """Ask the session to end."""
        self.session.dispose()


class ClaimingHost(InboxHost):
    """The inbox of `OwnShell`, in which something may happen while the idle phase is asked for."""

    def __init__(self, home: Home) -> None:
        """The inbox of a home's agent."""
        super().__init__(home.agent, make_id=home.make_id)
        self._home = home

    def claim(self) -> bool:
        """As ever, after what the script has happen."""
        self._home.at_claim()
        return super().claim()


class Story(Struct, frozen=True):
    """What a scenario came to: the virtual milliseconds that went by, and the log's length."""

    virtual_ms: int
    events: int
    lives: int
    deliveries: int
    notes: tuple[Note, ...]


class SimulationFailure(AssertionError):
    """A shell broke an invariant. Its text has the seed, the shortest script, and what happened."""

    def __init__(self, text: str, invariant: str, scenario: Scenario) -> None:
        """The whole text, the invariant's name, and the scenario to `replay`."""
        super().__init__(text)
        self.invariant, self.scenario = invariant, scenario


class _Broken(Exception):
    """Carries a violation and what led to it out of a run."""

    def __init__(self, violation: Violation, notes: tuple[Note, ...]) -> None:
        super().__init__(str(violation))
        self.violation, self.notes = violation, notes


def run_seed(
    seed: int,
    open_shell: OpenShell = OwnShell,
    weather: str = ANY_WEATHER,
    backend: str = "asyncio",
) -> Story:
    """What the scenario of a seed comes to; `SimulationFailure` if an invariant breaks."""
    scenario = make_scenario(seed, weather)
    try:
        return _play(scenario, open_shell, backend)
    except _Broken as broken:
        raise _explain(scenario, broken, open_shell, backend, f"seed {seed} ({weather})") from None


def run_seeds(
    seeds: Iterable[int],
    open_shell: OpenShell = OwnShell,
    weather: str = ANY_WEATHER,
    backend: str = "asyncio",
) -> list[Story]:
    """What the scenarios of seeds come to, up to the first failure."""
    return [run_seed(seed, open_shell, weather, backend) for seed in seeds]


def replay(text: str, open_shell: OpenShell = OwnShell, backend: str = "asyncio") -> Story:
    """What a script comes to, as a failure shows it; `SimulationFailure` if it fails again."""
    scenario = parse_scenario(text)
    try:
        return _play(scenario, open_shell, backend)
    except _Broken as broken:
        raise _explain(scenario, broken, open_shell, backend, "this script") from None


def _explain(
    scenario: Scenario, broken: _Broken, open_shell: OpenShell, backend: str, name: str
) -> SimulationFailure:
    """The failure in words, with the shortest script that breaks the same invariant."""
    invariant, last = broken.violation.invariant, broken

    def fails(candidate: Scenario) -> bool:
        nonlocal last
        try:
            _play(candidate, open_shell, backend)
        except _Broken as again:
            if again.violation.invariant == invariant:
                last = again
                return True
        return False

    least = shrink(scenario, fails)
    lines = (
        f"{name} on {backend}: {last.violation}",
        "",
        f"The shortest script that shows it ({len(least.steps)} of {len(scenario.steps)} steps):",
        "",
        format_scenario(least),
        "",
        "What happened last, by life and time:",
        "",
        *map(str, last.notes[-_NOTES_SHOWN:]),
    )
    return SimulationFailure("\n".join(lines), invariant, least)


def _play(scenario: Scenario, open_shell: OpenShell, backend: str) -> Story:
    async def play(timeline: Timeline) -> Story:
        return await _Director(scenario, open_shell, timeline).play()

    return run_virtually(play, backend)


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


class _Director:
    """Does a scenario's steps, and opens a life wherever there is none."""

    def __init__(self, scenario: Scenario, open_shell: OpenShell, timeline: Timeline) -> None:
        self._scenario, self._open, self._timeline = scenario, open_shell, timeline
        self.world = World(scenario.setting, _read_limits(scenario.setting), timeline)
        self._invariants = Invariants(self.world)
        self._life: _Life | None = None
        self._lives: TaskGroup | None = None
        self._looks_left = 0

    async def play(self) -> Story:
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
        if found is not None:
            raise _Broken(found, tuple(self.world.notes))
        return Story(
            virtual_ms=self.world.monotonic_ms,
            events=len(self.world.events),
            lives=self.world.lives,
            deliveries=len(self._invariants.chronicle.dispatched),
            notes=tuple(self.world.notes),
        )

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
                self._invariants.see_fork()
            case _:
                assert_never(step)

    async def _live(self) -> _Life:
        """The session's life, a new one if the last one is over."""
        while self._life is None or self._life.over:
            self._invariants.see_life()
            home = Home(self.world, self._invariants)
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
        self._invariants.see_quiet(life.home)
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
        self._invariants.see_end()
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
        home, arguments = life.home, _render(deed, self.world)
        creates = deed.tool == "create"
        refusable = find_refusal(self._invariants, arguments) if creates else None
        answer: object = None
        faults = home.faults
        home.calls += 1
        try:
            with scope or anyio.CancelScope():
                answer = await life.shell.call(_TOOLS[deed.tool], arguments)
        finally:
            home.calls -= 1
        self.world.note(f"answered: {format_json(answer)}")
        self._invariants.see_answer(arguments, answer, refusable=refusable)
        if is_confirmed(answer) and home.faults == faults:
            home.forgive()

    async def _say(self, life: _Life, zone: str | None) -> None:
        life.home.calls += 1
        try:
            message_id = await life.shell.say("hello", zone)
        finally:
            life.home.calls -= 1
        if message_id is not None:
            self._invariants.see_word(message_id)


_TOOLS: Final[dict[str, ToolName]] = {
    "create": "schedule_create",
    "list": "schedule_list",
    "delete": "schedule_delete",
}


def _render(deed: Deed, world: World) -> Json:
    """The arguments of a deed, as of now."""
    then_ms = world.now_ms + 1000 * deed.number
    match deed.tool, deed.rule:
        case "list", _:
            return {}
        case "delete", _:
            return {"id": f"schedule-{deed.number}"}
        case "create", "at":
            return {"prompt": deed.prompt, "at": format_instant(then_ms)}
        case "create", "local":
            zone = deed.zone or world.setting.time_zone or "UTC"
            local = datetime.fromtimestamp(then_ms / 1000, UTC).astimezone(ZoneInfo(zone))
            at = {"date": f"{local:%Y-%m-%d}", "time": f"{local:%H:%M:%S}"}
            return {"prompt": deed.prompt, "at": {**at, "time_zone": deed.zone} if deed.zone else at}
        case _:
            return {"prompt": deed.prompt, f"{deed.rule}_seconds": deed.number}


def _read_limits(setting: Setting) -> GuardConfig | None:
    if setting.limits is None:
        return None
    return read_guard_config(setting.limits).unwrap()
