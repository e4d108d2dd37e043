"""What is shipped: three typed packages in one wheel, and nothing of the folders around them."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import wakefold

ROOT = Path(__file__).resolve().parents[1]


def build(target: str, directory: Path) -> Path:
    """One artefact, built with the backend that is installed, offline."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", directory],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (artefact,) = directory.iterdir()
    return artefact


def test_the_wheel_holds_three_typed_packages_and_the_licence(tmp_path: Path) -> None:
    """No top-level `core` or `shell`, a `py.typed` in each package, the version from one place."""
    wheel = build("wheel", tmp_path)
    assert wheel.name == f"wakefold-{wakefold.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(f"wakefold-{wakefold.__version__}.dist-info/METADATA").decode()
        entries = archive.read(f"wakefold-{wakefold.__version__}.dist-info/entry_points.txt").decode()
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert tops == {"wakefold", "wakefold_shell", "wakefold_laws"}
    assert {f"{top}/py.typed" for top in tops} <= set(names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert "License-Expression: MIT" in metadata
    drawn = {f"wakefold_shell/report/built/{name}" for name in ("page.js", "page.css", "notices.md")}
    assert {name for name in names if name.startswith("wakefold_shell/report/built/")} == drawn
    assert not any("/report/web/" in name for name in names)
    assert "[pytest11]\nwakefold_laws = wakefold_laws.pytest_plugin\n" in entries


def test_the_source_distribution_carries_tests_and_documents(tmp_path: Path) -> None:
    """Whoever unpacks it can run the tests."""
    with tarfile.open(build("sdist", tmp_path)) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames()}
    assert {"tests/test_packaging.py", "docs/index.md", "README.md", "pyproject.toml"} <= names
    assert any(name.startswith("tests/vectors/") for name in names)
    assert any(name.startswith("property_tests/test_") for name in names)
    assert "shell/wakefold_shell/report/web/source/main.ts" in names


@pytest.mark.parametrize("bound", [">=", "<"])
def test_every_dependency_is_bounded(bound: str) -> None:
    """A release of somebody else's library cannot break an installation that worked."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    project = text.split("[project]")[1].split("[project.scripts]")[0]
    rows = [row for row in project.splitlines() if ">=" in row and "requires-python" not in row]
    assert len(rows) > 10
    for row in rows:
        for requirement in row.split('", "'):
            assert bound in requirement or "tzdata" in requirement, requirement
