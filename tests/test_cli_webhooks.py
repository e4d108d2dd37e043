"""`wakefold run --deliver http` through the real executable, and the limits of a command."""

from __future__ import annotations

import json
import os
import signal
import ssl
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import trustme
from standardwebhooks.webhooks import Webhook as Verifier

from command import EXECUTABLE, said, wakefold, wakefold_json
from journal_files import NOON, create_at, create_every, write_session
from web_services import SECRET, WebService, hang, serving, status

FINE = status(200, b"I shall tell them.")
DOWN = status(503)
AT = "2027-01-04T12:00:{seconds:02}Z"


def run_http(
    session: Path, service: WebService, *options: str | Path, seconds: int = 7, **environment: str
) -> str:
    """One run that delivers what is due and ends; what it says on standard error."""
    now = ("--once", "--now", AT.format(seconds=seconds))
    secret = {"WAKEFOLD_WEBHOOK_SECRET": SECRET, **environment}
    where = ("--session", session) if (session / "session.jsonl").exists() else ("--root", session)
    done = wakefold("run", *where, *now, *options, "--deliver", "http", service.url, **secret)
    assert (done.returncode, done.stdout) == (0, "")
    return said(done)


def read_receipts(session: Path) -> list[dict[str, Any]]:
    receipts: list[dict[str, Any]] = wakefold_json("receipts", session)["receipts"]
    return receipts


def read_types(session: Path) -> list[str]:
    rows = (session / "session.jsonl").read_text().split("\n")[1:-1]
    return [json.loads(row)["type"] for row in rows]


def test_a_message_is_posted_and_its_answer_kept(tmp_path: Path) -> None:
    """Signed with the time of the system's clock, whatever `--now` says; the receipt tells how long."""
    write_session(tmp_path, create_at(0))
    with serving(FINE) as service:
        assert run_http(tmp_path, service) == ""
    (request,) = service.requests
    body = Verifier(SECRET).verify(request.body, dict(request.headers))
    assert body["session"] == "session-test"
    assert body["occurrences"] == [{"id": "schedule-1", "occurrenceAt": NOON}]
    assert "I shall tell them." in (tmp_path / "session.jsonl").read_text()
    (receipt,) = read_receipts(tmp_path)
    assert (receipt["delivery"], receipt["durationMs"] >= 0) == ("handed-over", True)
    assert "offers" not in receipt


def test_once_leaves_a_failed_message_for_the_next_run(tmp_path: Path) -> None:
    """As cron has it: a run before the pause is over offers nothing, one after it does."""
    write_session(tmp_path, create_every(0, "e", 3600))
    with serving(DOWN) as service:
        first = run_http(tmp_path, service)
    assert first == (
        "wakefold: session-test: the webhook failed with HTTP status 503, 1 of 5 offers.\n"
    )
    (receipt,) = read_receipts(tmp_path)
    failure = "failed with HTTP status 503, 1 of 5 offers, again at 2027-01-04T12:00:17.000Z"
    assert (receipt["delivery"], receipt["failure"]) == ("waiting", failure)
    assert (receipt["offers"], receipt["againAt"]) == (1, "2027-01-04T12:00:17.000Z")
    assert failure in wakefold("receipts", tmp_path).stdout
    listed = wakefold("list", "--session", tmp_path)
    assert listed.stderr == f"wakefold: e: its delivery of {NOON} {failure}.\n"
    with serving(FINE) as service:
        assert run_http(tmp_path, service, seconds=16) == ""
        assert service.requests == []
        assert run_http(tmp_path, service, seconds=17) == ""
        assert len(service.requests) == 1
    (receipt,) = read_receipts(tmp_path)
    assert (receipt["delivery"], receipt["offers"]) == ("handed-over", 2)
    assert read_types(tmp_path).count("schedule/change") == 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_runner_that_ends_in_a_post_leaves_it_to_the_next(
    tmp_path: Path, number: signal.Signals
) -> None:
    """It does not wait for the answer; the next one makes the same request once the pause is over."""
    write_session(tmp_path, create_at(0))
    with serving(hang, FINE) as service:
        now = ("--now", AT.format(seconds=7))
        command = [
            EXECUTABLE,
            "run",
            "--session",
            str(tmp_path),
            *now,
            "--deliver",
            "http",
            service.url,
        ]
        with subprocess.Popen(
            command, env={**os.environ, "WAKEFOLD_WEBHOOK_SECRET": SECRET}, stderr=subprocess.DEVNULL
        ) as runner:
            while not service.requests:
                assert runner.poll() is None
                time.sleep(0.01)
            runner.send_signal(number)
            assert runner.wait(3) == (0 if number == signal.SIGTERM else -signal.SIGKILL)
        (receipt,) = read_receipts(tmp_path)
        assert receipt["delivery"] == "under-way"
        assert run_http(tmp_path, service, seconds=8) == ""
        (receipt,) = read_receipts(tmp_path)
        assert receipt["failure"].startswith("was interrupted, 1 of 5 offers, again at ")
        assert run_http(tmp_path, service, seconds=18) == ""
    first, second = service.requests
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]
    assert read_receipts(tmp_path)[0]["delivery"] == "handed-over"


@pytest.mark.parametrize("store", ["zstd", "sqlite"])
def test_every_store_keeps_what_is_offered_again(tmp_path: Path, store: str) -> None:
    """In a database the outbox, too: not taken while it waits, taken in the end."""
    session = tmp_path / "s"
    wakefold_json(
        "create",
        "--session",
        session,
        "tea",
        "--at",
        NOON,
        "--store",
        store,
        "--now",
        AT.format(seconds=0).replace("12:00", "11:00"),
    )
    options = ("--deliver", "http")
    for act, seconds, delivery in ((DOWN, 7, "waiting"), (FINE, 17, "handed-over")):
        with serving(act) as service:
            now = ("--once", "--now", AT.format(seconds=seconds))
            done = wakefold(
                "run", "--session", session, *now, *options, service.url, WAKEFOLD_WEBHOOK_SECRET=SECRET
            )
            assert done.returncode == 0
            assert len(service.requests) == 1
        assert [receipt["delivery"] for receipt in read_receipts(session)] == [delivery]
        assert wakefold("doctor", session).returncode == 0


def test_a_tree_of_sessions_has_one_webhook_and_a_key_for_each(tmp_path: Path) -> None:
    """The same reminder of two sessions is two messages; one that fails stops no other."""
    for name in ("a", "b"):
        write_session(tmp_path / name, create_at(0), header={"id": f"session-{name}"})
    with serving(DOWN, FINE) as service:
        told = run_http(tmp_path, service)
    assert told.count("1 of 5 offers") == 1
    assert len({request.headers["idempotency-key"] for request in service.requests}) == 2
    deliveries = [read_receipts(tmp_path / name)[0]["delivery"] for name in ("a", "b")]
    assert sorted(deliveries) == ["handed-over", "waiting"]


def test_json_is_one_line_for_each_offer(tmp_path: Path) -> None:
    write_session(tmp_path, create_at(0))
    with serving(DOWN) as service:
        now = ("--once", "--now", AT.format(seconds=7), "--json")
        done = wakefold(
            "run",
            "--session",
            tmp_path,
            *now,
            "--deliver",
            "http",
            service.url,
            WAKEFOLD_WEBHOOK_SECRET=SECRET,
        )
    row = json.loads(done.stdout)
    assert (row["httpStatus"], row["durationMs"] >= 0) == (503, True)


def test_a_certificate_that_the_system_does_not_trust_is_refused(tmp_path: Path) -> None:
    """Trusted are the system's authorities, or those of `SSL_CERT_FILE`, as everywhere."""
    write_session(tmp_path / "s", create_at(0))
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")
    with serving(FINE, tls=context) as service:
        assert "CERTIFICATE_VERIFY_FAILED" in run_http(tmp_path / "s", service)
        assert service.requests == []
        trusted = str(tmp_path / "authority.pem")
        assert run_http(tmp_path / "s", service, seconds=30, SSL_CERT_FILE=trusted) == ""
        assert len(service.requests) == 1


def test_the_secret_may_stand_in_a_file_that_not_everybody_may_read(tmp_path: Path) -> None:
    """Its name is told where something is wrong with it, never what it holds."""
    write_session(tmp_path / "s", create_at(0))
    secret = tmp_path / "secret"
    command = (
        "run",
        "--session",
        tmp_path / "s",
        "--once",
        "--deliver",
        "http",
        "--secret-file",
        secret,
    )

    def refuse() -> str:
        done = wakefold(*command, "https://example.com/")
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
        return done.stderr

    assert refuse() == f"wakefold: {secret}: no such file or directory; name the file of the secret.\n"
    secret.write_text(f"{SECRET}\n")
    secret.chmod(0o644)
    assert refuse() == f"wakefold: {secret}: everybody may read this secret; chmod 600 it.\n"
    secret.chmod(0o600)
    secret.write_text("hunter2")
    assert "must be whsec_ and 24 to 64 random bytes" in refuse()
    secret.write_bytes(b"\xff")
    assert refuse() == f"wakefold: {secret}: this is no secret; name another file.\n"
    secret.write_text(f"{SECRET}\n")
    with serving(FINE) as service:
        assert (
            run_http(tmp_path / "s", service, "--secret-file", secret, WAKEFOLD_WEBHOOK_SECRET="") == ""
        )
        Verifier(SECRET).verify(service.requests[0].body, dict(service.requests[0].headers))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--deliver", "http"), "goes with -- COMMAND, --deliver http with a URL"),
        (("--deliver", "http", "https://a.example", "https://b.example"), "takes one URL"),
        (("--deliver", "http", "https://a.example"), "needs a secret"),
        (("--secret-file", "x"), "goes with --deliver http"),
        (("--pass-env", "PATH"), "goes with --deliver exec"),
        (
            ("--deliver", "exec", "--pass-env", "NOT_SET_HERE", "--", "true"),
            "'NOT_SET_HERE' is not set",
        ),
        (("--deliver", "exec", "--output-limit", "0", "--", "true"), "--output-limit"),
    ],
)
def test_options_that_do_not_go_together_are_wrong_usage(
    tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    write_session(tmp_path, create_at(0))
    done = wakefold("run", "--session", tmp_path, "--once", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_command_that_floods_is_told_wherever_one_looks(tmp_path: Path) -> None:
    """What is shown ends with the limit."""
    write_session(tmp_path, create_at(0))
    given = ("--deliver", "exec", "--output-limit", "100000", "--", "yes")
    done = wakefold("run", "--session", tmp_path, "--once", "--now", AT.format(seconds=7), *given)
    assert len(done.stdout) == 100_000
    end = "was ended after 100000 bytes of output"
    assert said(done) == f"wakefold: session-test: the command {end}.\n"
    (receipt,) = read_receipts(tmp_path)
    assert (receipt["delivery"], receipt["failure"]) == ("failed", end)
    assert receipt["durationMs"] >= 0


def test_a_command_is_given_what_is_passed_by_name(tmp_path: Path) -> None:
    write_session(tmp_path, create_at(0))
    given = ("--pass-env", "API_KEY", "--deliver", "exec", "--", "env")
    now = ("--once", "--now", AT.format(seconds=7))
    done = wakefold("run", "--session", tmp_path, *now, *given, API_KEY="k", OTHER_KEY="o")
    names = {row.partition("=")[0] for row in done.stdout.splitlines()}
    assert "API_KEY" in names
    assert "OTHER_KEY" not in names
