"""Options and arguments that several commands share, so that each is told in one way."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, Literal

import typer

from wakefold import PUBLISHED, SEED, Profile, Rejection, either
from wakefold.guard_config import (
    FIELD_NAMES,
    ConfigFault,
    GuardConfig,
    config_values,
    read_guard_config,
)
from wakefold.implied_zones import NO_ZONE
from wakefold.times import resolve_at
from wakefold.zones import canonicalize_zone
from wakefold_shell.cli.option_groups import OptionGroup
from wakefold_shell.clocks import FixedClock, SystemClock
from wakefold_shell.protocols import Clock
from wakefold_shell.stores.journals import StoreKind
from wakefold_shell.stores.lines import LINE_BYTES_MAX


class ProfileName(StrEnum):
    """The rule between repeating batches that a log is read under."""

    SEED = "seed"
    PUBLISHED = "published"

    @property
    def profile(self) -> Profile:
        """The core's value."""
        return PUBLISHED if self is ProfileName.PUBLISHED else SEED


class ProtocolNumber(StrEnum):
    """The newest version of the durable change that is written."""

    ONE = "1"
    TWO = "2"

    @property
    def number(self) -> Literal[1, 2]:
        """The core's value."""
        return 1 if self is ProtocolNumber.ONE else 2


def parse_instant_option(text: str) -> int:
    """Epoch milliseconds of an option such as `2027-02-01T09:00:00Z`; offsets are taken too."""

    def refuse(_: Rejection) -> int:
        raise typer.BadParameter(f"{text!r} is no instant such as 2027-02-01T09:00:00Z")

    return either(resolve_at(text, None, NO_ZONE), lambda instant_ms: instant_ms, refuse)


def parse_zone_option(text: str) -> str:
    """The canonical name of a zone option."""
    zone = canonicalize_zone(text)
    if zone is None:
        raise typer.BadParameter(f"{text!r} is no zone such as UTC or Europe/Berlin")
    return zone


def choose_clock(now_ms: int | None) -> Clock:
    """The clock to look at: one that stands at the instant given (epoch ms), else the system's."""
    return SystemClock() if now_ms is None else FixedClock(now_ms)


def override_limits(limits: GuardConfig, settings: list[str]) -> GuardConfig:
    """The limits with some of them set by hand, checked like those of a file."""
    values = {name: value for name, value in config_values(limits).items() if name in limits.configured}
    for setting in settings:
        name, equals, text = setting.partition("=")
        try:
            values[name] = float(text)
        except ValueError:
            equals = ""
        if not equals:
            raise typer.BadParameter(f"--set takes FIELD=NUMBER such as maxPerHour=2, not {setting!r}")

    def refuse(fault: ConfigFault) -> GuardConfig:
        raise typer.BadParameter(f"--set: {fault.field} {fault.problem}")

    return either(read_guard_config(values), lambda read: read, refuse)


JournalArgument = Annotated[
    Path, typer.Argument(metavar="JOURNAL", help="A journal file or a session directory.")
]
SessionOption = Annotated[
    Path, typer.Option("--session", metavar="DIR", help="The session's directory.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else.")]
NowOption = Annotated[
    int | None,
    typer.Option(
        "--now",
        metavar="INSTANT",
        parser=parse_instant_option,
        help="Look from this instant (2027-02-01T09:00:00Z) instead of the clock's.",
    ),
]
ProfileOption = Annotated[
    ProfileName,
    typer.Option(
        "--profile",
        help="seed: repeating batches stand 300 s apart. published: the released package's logs.",
    ),
]


StoreOption = Annotated[
    StoreKind | None,
    typer.Option("--store", help="What the session is kept in; by default what is there, or journal."),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="The guard's limits: a TOML file, its table guard; else wakefold.toml beside the log.",
    ),
]
NoGuardOption = Annotated[
    bool, typer.Option("--no-guard", help="Let the agent wake itself without any limit.")
]
ProtocolOption = Annotated[
    ProtocolNumber,
    typer.Option(
        "--protocol",
        help="1: refuse calendar rules, options and edits, the first of which makes the log unreadable "
        "for good to programs that know version 1 of its format only.",
    ),
]
RevisionOption = Annotated[
    int | None,
    typer.Option(
        "--revision",
        metavar="N",
        help="The revision that list showed: where it is another by now, nothing is changed.",
    ),
]
NoCheckpointOption = Annotated[
    bool,
    typer.Option(
        "--no-checkpoint",
        envvar="WAKEFOLD_NO_CHECKPOINT",
        help="Read the whole log, and keep no checkpoint beside it.",
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="FIELD=NUMBER",
        help=f"Try another limit, repeatable. Fields: {', '.join(FIELD_NAMES[:3])}, ...",
    ),
]
TokensOption = Annotated[
    int | None,
    typer.Option("--tokens-per-wakeup", metavar="N", min=0, help="Turn wakeups into tokens."),
]
ZoneOption = Annotated[
    str | None,
    typer.Option(
        "--zone",
        metavar="ZONE",
        parser=parse_zone_option,
        help="Local readings and hours in this zone; by default the session's own.",
    ),
]
LineBytesOption = Annotated[
    int,
    typer.Option(
        "--line-bytes-max",
        metavar="BYTES",
        min=1024,
        envvar="WAKEFOLD_LINE_BYTES_MAX",
        help="Refuse a journal line longer than this.",
    ),
]
LINE_BYTES_DEFAULT: Final = LINE_BYTES_MAX
OutputOption = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write this file, not standard output."),
]


class Ownership(OptionGroup, frozen=True):
    """How a command owns a session: what it is kept in, its limits, and how its log is read."""

    store: StoreOption = None
    config: ConfigOption = None
    no_guard: NoGuardOption = False
    protocol: ProtocolOption = ProtocolNumber.TWO
    no_checkpoint: NoCheckpointOption = False
    profile: ProfileOption = ProfileName.SEED
    line_bytes_max: LineBytesOption = LINE_BYTES_DEFAULT


class Means(Ownership, frozen=True):
    """How a command that writes by a tool reaches its session, and how it answers."""

    now: NowOption = None
    as_json: JsonOption = False
