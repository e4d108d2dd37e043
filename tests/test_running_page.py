"""The page on running for good: its units are taken by systemd, its commands by the command line."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from command import wakefold

PAGE = (Path(__file__).resolve().parents[1] / "docs/running.md").read_text("utf-8")
UNITS = re.findall(r"```ini\n(.*?)```", PAGE, flags=re.DOTALL)
COMMANDS = [
    *(
        row.removeprefix("ExecStart=")
        for unit in UNITS
        for row in unit.splitlines()
        if "ExecStart" in row
    ),
    *(
        row.partition("flock -n ")[2].partition(" 2>>")[0]
        for row in PAGE.splitlines()
        if "flock -n" in row
    ),
]


@pytest.mark.needs("systemd-analyze")
@pytest.mark.parametrize("unit", UNITS, ids=["exec", "http"])
def test_systemd_takes_the_unit(tmp_path: Path, unit: str) -> None:
    """Every key is known and every value is of its kind."""
    program = tmp_path / "wakefold/bin/wakefold"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    place = tmp_path / "wakefold.service"
    command = ["systemd-analyze", "--user", "--man=no", "verify", str(place)]
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}
    for text, fine in ((unit, True), (unit.replace("Restart=", "Restarts="), False)):
        place.write_text(text)
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert (done.returncode == 0 and done.stderr == "") is fine, done.stderr


def test_every_command_of_the_page_is_one_of_ours(tmp_path: Path) -> None:
    """With the page's own options, on an empty tree: it would run."""
    assert len(COMMANDS) == 3
    secret = tmp_path / "secret"
    secret.write_text("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    secret.chmod(0o600)
    for command in COMMANDS:
        words = shlex.split(command)
        arguments = words[words.index(next(word for word in words if word.endswith("/wakefold"))) + 1 :]
        known = {"%d/secret": str(secret), "%h/bin/agent": "true", "~/bin/agent": "true"}
        places = {"%h/agents": str(tmp_path), "~/agents": str(tmp_path)}
        given = [{**known, **places}.get(word, word) for word in arguments]
        once = [] if "--once" in given else ["--once"]
        done = wakefold(given[0], *once, *given[1:], API_KEY="k")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
