"""One process for one measurement, so that no memory and no warm cache goes from one to the next."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter_ns
from typing import Any, Final

from released_package import INTERPLAY, install_package

from .measures import Sample

ROOT: Final = Path(__file__).resolve().parents[2]

_SCRIPT: Final = Path(__file__).parent / "peer.mjs"
_STARTS: Final = 5  # of a command, for one value
_HEAP: Final = "--max-old-space-size=16000"  # as much as it likes
_ABILITIES: Final = (
    "console.log(JSON.stringify({version: process.version, zstd: 'zstdCompress' in zlib}))"
)


class FailedWorkError(Exception):
    """What a process said that did not end well."""


@dataclass(frozen=True)
class Peer:
    """The released package, installed where a Node can run it."""

    node: str
    directory: Path
    version: str
    package_version: str
    zstd: bool


def find_peer(directory: Path) -> Peer | str:
    """The package, installed now if it is not there yet; or in one sentence why there is none."""
    node = shutil.which("node")
    if node is None:
        return "node is not here"
    packages = directory / "node_modules"
    if not (packages / ".package-lock.json").exists() and (reason := install_package(directory)):
        return reason
    for script in (_SCRIPT, INTERPLAY / "loans.mjs", INTERPLAY / "zstd_on_loan.mjs"):
        shutil.copy(script, directory)
    try:
        abilities = json.loads(_run([node, "-e", f"const zlib = require('node:zlib'); {_ABILITIES}"]))
        name = next(
            name
            for name in _read_json(INTERPLAY / "package.json")["dependencies"]
            if name.endswith("schedule")
        )
        package = f"{name} {_read_json(packages / name / 'package.json')['version']}"
    except (FailedWorkError, OSError) as error:
        return str(error)
    return Peer(node, directory, abilities["version"], package, abilities["zstd"])


def run_ours(work: str, parameters: Mapping[str, object]) -> tuple[Sample, Any]:
    """What this project took for a piece of work, and what it came to."""
    return _measure([sys.executable, "-m", "tests.benchmarks.ours", work, json.dumps(parameters)])


def run_peer(peer: Peer, work: str, parameters: Mapping[str, object]) -> tuple[Sample, Any]:
    """What the released package took for it, and what it came to."""
    script = str(peer.directory / _SCRIPT.name)
    return _measure([peer.node, "--expose-gc", _HEAP, script, work, json.dumps(parameters)])


def time_command(command: Sequence[str], directory: Path = ROOT) -> Sample:
    """How many ms a command takes from its start to its end: the median of a few starts."""
    took_ms = []
    for _ in range(_STARTS):
        start_ns = perf_counter_ns()
        _run(command, directory)
        took_ms.append((perf_counter_ns() - start_ns) / 1_000_000)
    return Sample(median(took_ms))


def _measure(command: Sequence[str]) -> tuple[Sample, Any]:
    answer = json.loads(_run(command))
    peak_kib = answer["peak_kib"]
    return Sample(answer["value"], None if peak_kib is None else peak_kib / 1024), answer["result"]


def _run(command: Sequence[str], directory: Path = ROOT) -> str:
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    if done.returncode:
        raise FailedWorkError(
            f"{' '.join(command[:4])} ended with {done.returncode}: {done.stderr[-2000:]}"
        )
    return done.stdout


def _read_json(path: Path) -> Any:  # noqa: ANN401 - parsed JSON
    return json.loads(path.read_text("utf-8"))
