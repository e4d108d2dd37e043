"""The shell in JavaScript: it plays every transcript, and a bug planted in it fails one."""

from __future__ import annotations

import shlex
import sys
from contextlib import closing
from pathlib import Path

import pytest

from command import wakefold
from wakefold_laws.conformance import check_directory, judge_shell
from wakefold_laws.shell_testers import ShellTester

pytestmark = pytest.mark.needs("node")

HERE = Path(__file__).parent
VECTORS = HERE / "vectors"
NODE_SHELL = HERE / "node_shell" / "shell.mjs"
CORE = [sys.executable, "-c", "from wakefold_shell.cli import main; main()", "serve-core"]

BUGS = {
    "the changes are appended before the message is queued": (
        "if (!(await attempt('queue', { message })))",
        "if (!(await this.append(changes)) || !(await attempt('queue', { message })))",
        "owner/status_not_idle_v0",
    ),
    "a call that was cancelled at its barrier appends all the same": (
        "if (step.type === 'Append' && call.cancelled) return this.finish(call)",
        "",
        "owner/fifo_cancel_during_preflight",
    ),
    "a call that was cancelled in the queue is run": (
        "else if (call.cancelled) await this.finish(call)",
        "",
        "owner/fifo_cancel_while_queued",
    ),
    "a barrier that was refused counts": (
        "told.outcome === 'ok'",
        "told.outcome !== 'throw'",
        "owner/preflight_false_keeps_pending",
    ),
    "the owner goes before the calls that wait": (
        "this.queue.push(null)",
        "this.queue.unshift(null)",
        "owner/fifo_three_creates_unique_ids",
    ),
    "a session that was taken over goes on": (
        "detached: 'Detached'",
        "detached: 'Nudged'",
        "owner/claim_detach_v0",
    ),
    "the owner does not look again after a tool's barrier": (
        "if (this.mode === 'owner') this.facts.push({ type: 'Nudged' })\n    else",
        "if (this.mode === 'owner') ;\n    else",
        "owner/rearm_after_create_tool",
    ),
    "an idle wait that failed is taken for an idle agent": (
        "told.failed ? 'IdleFailed' : 'IdleCame'",
        "'IdleCame'",
        "owner/idle_wait_rejects",
    ),
    "a log that cannot be read is taken for one without news": (
        "seen ?? [{ type: 'LogLost' }]",
        "seen ?? []",
        "owner/claim_unreadable",
    ),
    "the session's zone is not told": (
        "headerTimeZone: this.timeZone",
        "headerTimeZone: null",
        "tools/zone_resolved",
    ),
    "a fork takes its parent's reminders for its own": (
        "events: log, seedLength: this.seedLength",
        "events: log",
        "owner/fork_ignores_parent_overdue",
    ),
    "a session that has ended takes calls": (
        "this.disposed = true",
        "this.disposed = false",
        "owner/dispose_removes_tools",
    ),
    "a claim that broke is taken for a busy agent": (
        "this.facts.push({ type: 'Broke' })\n    else if (claimed",
        "this.facts.push({ type: 'ClaimBusy' })\n    else if (claimed",
        "owner/claim_rejected_faults",
    ),
    "a message that was not queued is taken for a failed append": (
        "'FollowupFailed'",
        "'AppendFailed'",
        "owner/followup_throws_twice",
    ),
}


def test_it_plays_every_transcript() -> None:
    """Owner and tools, by a program of less than 200 lines that uses the core over a second pipe."""
    assert len(NODE_SHELL.read_text("utf-8").splitlines()) < 200
    command = shlex.join(["node", str(NODE_SHELL), *CORE])
    done = wakefold("conformance", VECTORS, "--only", "owner", "--only", "tools", "--shell", command)
    assert done.stdout.splitlines()[-1] == "363 passed, 0 failed", done.stdout
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_that_is_planted_in_it_fails_a_transcript(bug: str, tmp_path: Path) -> None:
    """The trial tells a sound shell from one with a single fault."""
    sound, broken, case = BUGS[bug]
    name, _, wanted = case.partition("/")
    source = NODE_SHELL.read_text("utf-8")
    assert source.count(sound) == 1
    program = tmp_path / "shell.mjs"
    program.write_text(source.replace(sound, broken), "utf-8")
    vectors = tmp_path / "vectors"
    vectors.mkdir()
    lines = (VECTORS / f"{name}.jsonl").read_text("ascii").splitlines(keepends=True)
    (line,) = (row for row in lines if row.startswith(f'{{"name":"{wanted}",'))
    (vectors / f"{name}.jsonl").write_text(line, "ascii")
    with closing(ShellTester(["node", str(program), *CORE], seconds_max=5)) as tester:
        (report,) = check_directory(vectors, [name], bench=judge_shell(tester))
    assert (report.passed, len(report.failures)) == (0, 1)
