"""What draws a report page is built from the sources that stand beside it, exactly pinned."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from released_package import install_from_npm
from report_pages import WEB

BUILT = WEB.parent / "built"


def test_every_version_is_exact_and_no_lock_is_written() -> None:
    """Those of what is built in, and of what that brings along."""
    told = json.loads((WEB / "package.json").read_text("utf-8"))
    pins = [told["dependencies"], told["devDependencies"], told["overrides"]]
    assert all(version.replace(".", "").isdigit() for pin in pins for version in pin.values())
    assert "package-lock=false" in (WEB / ".npmrc").read_text("utf-8")
    assert not (WEB / "package-lock.json").exists()


def test_the_notices_name_everything_that_is_built_in() -> None:
    """Each of the packages that the sources import, with its licence."""
    notices = (BUILT / "notices.md").read_text("utf-8")
    for name in json.loads((WEB / "package.json").read_text("utf-8"))["dependencies"]:
        assert f"\n## {name} - " in notices, name
    assert notices.count("Permission to use, copy, modify, and/or distribute") >= 5


@pytest.mark.needs("node")
def test_building_again_changes_nothing(tmp_path: Path) -> None:
    """The types are sound, and the shipped files are what the sources come to, byte for byte."""
    web, out = tmp_path / "web", tmp_path / "built"
    shutil.copytree(WEB, web, ignore=shutil.ignore_patterns("node_modules"))
    if reason := install_from_npm(web, "what builds the report"):
        pytest.fail(reason, pytrace=False)
    done = subprocess.run(
        ["npm", "run", "build"],
        cwd=web,
        env={**os.environ, "WAKEFOLD_REPORT_OUT": str(out)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for name in ("page.js", "page.css", "notices.md"):
        assert (out / name).read_bytes() == (BUILT / name).read_bytes(), name
    assert {path.name for path in out.iterdir()} == {path.name for path in BUILT.iterdir()}
