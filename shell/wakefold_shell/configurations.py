"""The guard's configuration file: where it is looked for, and what it must hold.

What the fields mean is the core's (`wakefold.guard_config`); nothing here is remembered.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from wakefold import either
from wakefold.guard_config import DEFAULT_CONFIG, ConfigFault, GuardConfig, read_guard_config
from wakefold_shell.errors import ShellError, explain_os_error, show_path

CONFIG_NAME: Final = "wakefold.toml"
"""The configuration that is looked for beside a session."""


class ConfigError(ShellError):
    """A configuration file that cannot be read, or that holds something else than it should.

    :shape: as `ShellError`; the sentence has the file and the field
    :units: none
    :errors: nothing of the file is in force then
    :source: spec section 12
    """


def find_config(named: Path | None, *places: Path) -> GuardConfig:
    """The guard's configuration: of the file named, else of the first `wakefold.toml` in the places.

    Raises `ConfigError`; without any file, everything is default.
    """
    if named is not None:
        return read_config(named)
    for place in places:
        if os.path.isfile(place / CONFIG_NAME):  # noqa: PTH113 - no error where nothing may be looked at
            return read_config(place / CONFIG_NAME)
    return DEFAULT_CONFIG


def find_config_beside(named: Path | None, journal: Path) -> GuardConfig:
    """The same for a journal: a session directory, or a file in one."""
    inside = os.path.isdir(journal)  # noqa: PTH112 - as above
    return find_config(named, journal if inside else journal.parent)


def read_config(path: Path) -> GuardConfig:
    """The guard's configuration in a TOML file, its table `[guard]`; `ConfigError` with the field."""
    import tomllib  # noqa: PLC0415 - few sessions have such a file

    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise _refuse(path, explain_os_error(error), "name another file") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise _refuse(path, f"this is no TOML ({error})", "mend it") from error
    for name in content:
        if name != "guard":
            raise _refuse(path, f"{name} is nothing known here", "put the fields into [guard]")
    table = content.get("guard", {})
    if not isinstance(table, dict):
        raise _refuse(path, "guard is no table", "begin it with [guard]")

    def refuse(fault: ConfigFault) -> GuardConfig:
        raise _refuse(path, f"[guard] {fault.field} {fault.problem}", "nothing is in force")

    return either(read_guard_config(table), lambda config: config, refuse)


def _refuse(path: Path, problem: str, remedy: str) -> ConfigError:
    return ConfigError(f"{show_path(path)}: {problem}; {remedy}.")
