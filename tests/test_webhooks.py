"""An agent that is a web service: what it is sent, what comes of it, and when it is asked again."""

from __future__ import annotations

import base64
import hashlib
import json
import ssl
import subprocess
import sys
import tracemalloc
from itertools import pairwise
from pathlib import Path

import anyio
import pytest
import trustme
from standardwebhooks.webhooks import Webhook as Verifier
from standardwebhooks.webhooks import WebhookVerificationError

from journal_files import NOON, NOON_MS, create_at, write_session
from memory_world import (
    HandClock,
    Life,
    Listener,
    MemoryStore,
    at,
    data_of,
    dispatches_of,
    every,
    live_out,
    living,
    settle,
    types_of,
    until,
)
from wakefold.conversations import Input, make_message, name_person
from wakefold.deliveries import describe_failure, encode_delivery, trace_deliveries
from wakefold.events import Json
from wakefold.offers import OFFERS_MAX, PAUSES_SECONDS
from wakefold_shell.clocks import SystemClock
from wakefold_shell.errors import ShellError
from wakefold_shell.hosts.absent import AbsentHost
from wakefold_shell.hosts.inboxes import ANSWER_BYTES_MAX, Answer
from wakefold_shell.hosts.webhooks import WebhookAgent, name_delivery, read_webhook
from wakefold_shell.owner import Session
from wakefold_shell.runners import Runner
from web_services import (
    SECRET,
    Act,
    WebService,
    break_off,
    break_within,
    flood,
    hang,
    serving,
    status,
    trickle,
)

pytestmark = pytest.mark.anyio

ONE = Input({"id": "m"}, NOON_MS, "wake \ud83d up é", (("schedule-1", NOON_MS),))
TWO = Input({"id": "m"}, NOON_MS, "text", (("a", NOON_MS), ("b", NOON_MS + 1)))
PERSON = Input(make_message("word", "hello", name_person("r", None)), NOON_MS, "hello")
FINE = status(200)
DOWN = status(503, b"come back later")


def agent_of(service: WebService, seconds_max: float = 10) -> WebhookAgent:
    return WebhookAgent(read_webhook(service.url, SECRET), "session-test", seconds_max)


async def ask(service: WebService, given: Input = ONE, seconds_max: float = 10) -> Answer:
    """What one POST comes to; the turn begins once, before anything is sent."""
    begun: list[int] = []
    with anyio.fail_after(20):
        answer = await agent_of(service, seconds_max).answer(
            given, lambda: begun.append(len(service.requests))
        )
    assert begun == [0]
    assert answer.duration_ms is not None
    return Answer(answer.text, answer.kind, answer.detail)


# What is sent.


@pytest.mark.parametrize("given", [ONE, TWO, PERSON], ids=["one", "batch", "person"])
async def test_a_message_is_one_signed_post(given: Input) -> None:
    """The frame and what it delivers, as JSON; a library of others verifies the signature."""
    with serving(FINE) as service:
        await ask(service, given)
    (request,) = service.requests
    assert request.path == "/wake"
    assert json.loads(request.body) == {
        "session": "session-test",
        "source": "reminder" if given.occurrences else "person",
        "message": given.text,
        "occurrences": [
            {"id": name, "occurrenceAt": NOON.replace("00.000", f"00.00{at_ms - NOON_MS}")}
            for name, at_ms in given.occurrences
        ],
    }
    assert request.headers["content-type"] == "application/json"
    assert request.headers["accept-encoding"] == "identity"
    assert request.headers["user-agent"].startswith("wakefold/")
    assert request.headers["idempotency-key"] == request.headers["webhook-id"]
    Verifier(SECRET).verify(request.body, dict(request.headers), json_parse=False)
    for spoilt in (request.body + b" ", request.body.replace(b"session-test", b"session-best")):
        with pytest.raises(WebhookVerificationError):
            Verifier(SECRET).verify(spoilt, dict(request.headers))


async def test_the_signature_is_what_openssl_makes_of_it() -> None:
    """Key, time and body joined by dots, and no more: anybody can check it."""
    with serving(FINE) as service:
        await ask(service)
    (request,) = service.requests
    key = base64.b64decode(SECRET.removeprefix("whsec_")).hex()
    head = f"{request.headers['webhook-id']}.{request.headers['webhook-timestamp']}."
    command = ["openssl", "dgst", "-sha256", "-mac", "HMAC", "-macopt", f"hexkey:{key}", "-binary"]
    made = await anyio.run_process(command, input=head.encode() + request.body)
    signature = base64.b64encode(made.stdout).decode()
    assert request.headers["webhook-signature"] == f"v1,{signature}"
    told_seconds = int(request.headers["webhook-timestamp"])
    assert abs(told_seconds - SystemClock().read_ms() // 1000) < 60


def test_the_idempotency_key_names_session_ids_and_occurrences() -> None:
    """Of a batch all of them, in their order; a word goes by its message; nothing else matters."""
    text = '["s",[{"id":"schedule-1","occurrenceAt":"2027-01-04T12:00:00.000Z"}]]'
    assert name_delivery("s", ONE) == hashlib.sha256(text.encode()).hexdigest()
    assert name_delivery("s", PERSON) == hashlib.sha256(b'["s","word"]').hexdigest()
    again = Input({"id": "another"}, NOON_MS + 5, "otherwise", ONE.occurrences, 3)
    assert name_delivery("s", again) == name_delivery("s", ONE)
    later = Input({"id": "m"}, NOON_MS, "", (("schedule-1", NOON_MS + 1),))
    surrogate = Input({"id": "m"}, NOON_MS, "", (("\ud800", NOON_MS),))
    keys = {name_delivery("s", given) for given in (ONE, TWO, PERSON, later, surrogate)}
    assert len({*keys, name_delivery("t", ONE)}) == 6


async def test_nothing_of_the_environment_steers_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy is asked, whichever variable names one."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with serving(FINE) as service:
        assert (await ask(service)).kind == "completed"


# What is made of the answer.


@pytest.mark.parametrize(
    ("code", "body", "text"),
    [
        (200, b"done", "done"),
        (200, b"", None),
        (204, b"", None),
        (299, b"a\xffb", "a\N{REPLACEMENT CHARACTER}b"),
        (200, b"x" * ANSWER_BYTES_MAX, "x" * ANSWER_BYTES_MAX),
        (200, b"x" * (ANSWER_BYTES_MAX + 1), "x" * ANSWER_BYTES_MAX + "\n[... cut]"),
    ],
    ids=["text", "empty", "no content", "no UTF-8", "long", "too long"],
)
async def test_a_status_of_two_hundred_or_so_is_a_turn_that_went_well(
    code: int, body: bytes, text: str | None
) -> None:
    with serving(status(code, body)) as service:
        assert await ask(service) == Answer(text, "completed", {"httpStatus": code})


@pytest.mark.parametrize("code", [301, 302, 307, 308, 400, 401, 404, 410, 429, 500, 503])
async def test_any_other_status_is_a_failed_turn(code: int) -> None:
    """A redirect is followed nowhere, and what an error says is no answer of the agent."""
    with serving(FINE) as elsewhere, serving(status(code, b"no", Location=elsewhere.url)) as service:
        assert await ask(service) == Answer(None, "failed", {"httpStatus": code})
    assert elsewhere.requests == []
    assert len(service.requests) == 1


@pytest.mark.parametrize("act", [hang, trickle], ids=["no answer", "a byte now and then"])
async def test_the_time_limit_holds_for_the_whole_exchange(act: Act) -> None:
    with serving(act) as service:
        answer = await ask(service, seconds_max=0.3)
    assert answer == Answer(None, "failed", {"secondsMax": 0.3})


@pytest.mark.parametrize("act", [break_off, break_within])
async def test_a_broken_connection_is_a_failed_turn(act: Act) -> None:
    """Half an answer is none, whatever its status said."""
    with serving(act) as service:
        answer = await ask(service)
    assert (answer.kind, answer.text) == ("failed", None)
    assert "ProtocolError" in str(answer.detail["error"])


async def test_where_nobody_listens_the_turn_has_failed() -> None:
    """Refused connections are answers, too: the message is offered again, the session goes on."""
    with serving(FINE) as service:
        agent = agent_of(service)
    answer = await agent.answer(ONE, lambda: None)
    assert (answer.kind, str(answer.detail["error"])[:12]) == ("failed", "ConnectError")


async def test_of_a_huge_answer_no_more_is_read_than_kept() -> None:
    """The connection is closed on it, and memory is not filled."""
    tracemalloc.start()
    with serving(flood) as service:
        answer = await ask(service)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert answer == Answer("x" * ANSWER_BYTES_MAX + "\n[... cut]", "completed", {"httpStatus": 200})
    assert peak_bytes < 30_000_000


async def test_a_compressed_answer_is_not_unfolded() -> None:
    """It was not asked for: what comes is kept as it comes."""
    with serving(status(200, b"\x1f\x8b", Content_Encoding="gzip")) as service:
        assert (await ask(service)).text == "\x1f\N{REPLACEMENT CHARACTER}"


# Certificates.


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def tls(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return context


async def test_a_certificate_is_verified(authority: trustme.CA, tls: ssl.SSLContext) -> None:
    """One that the system does not trust is a failed turn, and whoever showed it was sent nothing."""
    with serving(FINE, tls=tls) as service:
        answer = await ask(service)
        assert answer.kind == "failed"
        assert "CERTIFICATE_VERIFY_FAILED" in str(answer.detail["error"])
        assert service.requests == []
        trusted = ssl.create_default_context()
        authority.configure_trust(trusted)
        agent = WebhookAgent(read_webhook(service.url, SECRET, trusted), "session-test", 10)
        assert (await agent.answer(ONE, lambda: None)).kind == "completed"


async def test_a_certificate_of_another_name_is_refused(authority: trustme.CA) -> None:
    other = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("elsewhere.example").configure_cert(other)
    trusted = ssl.create_default_context()
    authority.configure_trust(trusted)
    with serving(FINE, tls=other) as service:
        agent = WebhookAgent(read_webhook(service.url, SECRET, trusted), "session-test", 10)
        answer = await agent.answer(ONE, lambda: None)
    assert answer.kind == "failed"
    assert service.requests == []


# What is refused at once.


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://example.com/", "must begin with https://"),
        ("http://10.0.0.1/", "must begin with https://"),
        ("http://127.0.0.1.example.com/", "must begin with https://"),
        ("ftp://127.0.0.1/", "must begin with https://"),
        ("https:///wake", "must begin with https://"),
        ("example.com", "must begin with https://"),
        ("", "must begin with https://"),
        ("https://me:secret@example.com/", "no name and no password"),
        ("https://me@example.com/", "no name and no password"),
        ("https://example.com:http/", "cannot be read"),
        ("https://exa\nmple.com/", "cannot be read"),
    ],
)
def test_a_url_that_is_unsafe_is_refused(url: str, words: str) -> None:
    with pytest.raises(ShellError, match=words) as refused:
        read_webhook(url, SECRET)
    assert "secret@" not in str(refused.value)


@pytest.mark.parametrize(
    "url", ["https://example.com/a?b=c", "http://127.0.0.1:8/", "http://[::1]:8/", "http://localhost/"]
)
def test_a_url_that_is_safe_is_taken(url: str) -> None:
    webhook = read_webhook(url, f" {SECRET}\n")
    assert webhook.url == url
    assert repr(webhook) == "Webhook(...)"


@pytest.mark.parametrize(
    "secret",
    ["", "whsec_", "hunter2", SECRET.removeprefix("whsec_"), "whsec_c2hvcnQ=", "whsec_!!!!", "whsec_é"],
)
def test_a_secret_of_another_form_is_refused_and_not_shown(secret: str) -> None:
    with pytest.raises(ShellError, match="must be whsec_ and 24 to 64 random bytes") as refused:
        read_webhook("https://example.com/", secret)
    assert len(secret) < 8 or secret not in str(refused.value)


def test_without_its_library_one_sentence_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx2", None)
    with pytest.raises(ShellError, match=r"needs the extra 'http': pip install 'wakefold\[http\]'"):
        read_webhook("https://example.com/", SECRET)


def test_its_library_is_loaded_by_nobody_else() -> None:
    """Neither by the command that could need it, nor by its module."""
    look = "import sys, wakefold_shell.cli.running; print({'httpx2', 'httpcore2'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


# When it is asked again.


def reasons_of(store: MemoryStore) -> list[Json]:
    return [dict(data["reason"]) for data in data_of(store.events, "turn/end")]  # type: ignore[call-overload]


async def pass_pause(life: Life, clock: HandClock) -> None:
    """Wait for a pause to begin, and set the clock to its end."""
    await until(lambda: life.host.paused_until_ms is not None)
    assert life.host.paused_until_ms is not None
    clock.move(life.host.paused_until_ms)
    await until(lambda: life.host.paused_until_ms is None or life.host.paused_until_ms > clock.now_ms)


async def test_a_failed_message_is_offered_again_until_it_is_taken() -> None:
    """The same body and key each time, only the signature's time may differ; dispatched once."""
    store, clock = MemoryStore(at("a")), HandClock()
    with serving(DOWN, break_off, FINE) as service:
        async with living(Life(store, agent_of(service), clock)) as life:
            await pass_pause(life, clock)
            await pass_pause(life, clock)
            await life.rest()
    assert clock.now_ms == NOON_MS + 1000 * sum(PAUSES_SECONDS[:2])
    assert len({(one.body, one.headers["idempotency-key"]) for one in service.requests}) == 1
    assert [reason["kind"] for reason in reasons_of(store)] == ["failed", "failed", "completed"]
    assert len(dispatches_of(store.events)) == 1
    told = encode_delivery(trace_deliveries(store.events)["a", NOON_MS])
    assert (told["delivery"], told["offers"]) == ("handed-over", 3)


async def test_after_five_offers_it_is_given_up_and_the_session_goes_on() -> None:
    """Nothing else is handed over meanwhile: a repeat that came due often is one message then."""
    store, clock = MemoryStore(at("a"), every("e", NOON_MS + 1000)), HandClock()
    with serving(*[DOWN] * OFFERS_MAX, FINE) as service:
        async with living(Life(store, agent_of(service), clock)) as life:
            for _ in PAUSES_SECONDS:
                await pass_pause(life, clock)
            await life.rest()
    bodies = [json.loads(request.body) for request in service.requests]
    assert [body["occurrences"][0]["id"] for body in bodies] == ["a"] * OFFERS_MAX + ["e"]
    assert len(dispatches_of(store.events)) == 2
    traced = trace_deliveries(store.events)
    given_up = traced["a", NOON_MS]
    assert describe_failure(given_up) == "failed with HTTP status 503, 5 of 5 offers"
    assert [key for key in traced if key[0] == "e"] == [("e", NOON_MS + 1000 + 7 * 300_000)]
    assert service.at_once_max == 1


async def test_a_word_waits_behind_a_message_that_is_offered_again() -> None:
    """What people and reminders say comes in its order, and a word is a POST too."""
    store, clock = MemoryStore(at("a")), HandClock()
    with serving(DOWN, FINE) as service:
        async with living(Life(store, agent_of(service), clock)) as life:
            await until(lambda: life.host.paused_until_ms is not None)
            await life.host.say(life.session, "hello", None)
            await settle()
            assert len(service.requests) == 1
            await pass_pause(life, clock)
            await life.rest()
    bodies = [json.loads(request.body) for request in service.requests]
    assert [(body["source"], body["message"][:5]) for body in bodies] == [
        ("reminder", "[SCHE"),
        ("reminder", "[SCHE"),
        ("person", "hello"),
    ]


async def test_a_restart_keeps_count_and_pause() -> None:
    """Each life makes one offer and is ended in the pause; the next waits for what is left of it."""
    store, clock = MemoryStore(at("a")), HandClock()
    ends_ms: list[int] = []
    with serving(DOWN) as service:
        for offer in range(1, OFFERS_MAX + 1):
            async with living(Life(store, agent_of(service), clock)) as life:
                if offer > 1:
                    await until(lambda: life.host.paused_until_ms is not None)
                    assert life.host.paused_until_ms == ends_ms[-1]
                    clock.move(ends_ms[-1])
                await until(lambda: len(service.requests) == offer)  # noqa: B023 - at once
                if offer < OFFERS_MAX:
                    await until(lambda: (life.host.paused_until_ms or 0) > clock.now_ms)
                    assert life.host.paused_until_ms is not None
                    ends_ms.append(life.host.paused_until_ms)
                    clock.move(clock.now_ms + 3000)
                else:
                    await life.rest()
        await live_out(store, agent_of(service), clock)
    assert len(service.requests) == OFFERS_MAX
    assert [later - sooner for sooner, later in pairwise(ends_ms)] == [
        seconds * 1000 for seconds in PAUSES_SECONDS[1:]
    ]


@pytest.mark.parametrize("end", ["cancelled", "disposed"])
async def test_a_turn_that_was_cut_off_is_offered_again(end: str) -> None:
    """Nobody knows what came of the POST: with its key a repeat does no harm, and it counts."""
    store, clock = MemoryStore(at("a")), HandClock()
    with serving(hang, FINE) as service:
        life = Life(store, agent_of(service), clock)
        with anyio.fail_after(10):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(life.run)
                await until(lambda: len(service.requests) == 1)
                if end == "cancelled":
                    tasks.cancel_scope.cancel()
                else:
                    life.session.dispose()
        assert "turn/end" not in types_of(store.events)
        async with living(Life(store, agent_of(service), clock)) as life:
            await pass_pause(life, clock)
            await life.rest()
    first, second = service.requests
    assert first.body == second.body
    assert [reason["kind"] for reason in reasons_of(store)] == ["interrupted", "completed"]


async def test_a_turn_of_another_agent_is_not_offered_to_a_webhook() -> None:
    """A command that was cut off may have acted: who comes after it changes nothing."""
    store = MemoryStore(at("a"))
    agent = Listener()
    agent.turn = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(Life(store, agent.take_turn).run)
        await until(lambda: bool(agent.given))
        tasks.cancel_scope.cancel()
    with serving(FINE) as service:
        await live_out(store, agent_of(service))
    assert service.requests == []
    (told,) = trace_deliveries(store.events).values()
    assert (told.outcome, describe_failure(told)) == ("unknown", None)


async def test_a_word_to_a_session_without_a_runner_loses_no_offer() -> None:
    """Whoever ends the turn that a crash left open puts its message back, as the turn's start says."""
    store, clock = MemoryStore(at("a")), HandClock()
    with serving(hang, FINE) as service:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(Life(store, agent_of(service), clock).run)
            await until(lambda: len(service.requests) == 1)
            tasks.cancel_scope.cancel()
        absent = AbsentHost()
        session = Session(store, absent, clock)
        absent.follow(session)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.run)
            await absent.say(session, "hello", None)
            session.dispose()
        assert trace_deliveries(store.events)["a", NOON_MS].outcome == "waiting"
        async with living(Life(store, agent_of(service), clock)) as life:
            await pass_pause(life, clock)
            await life.rest()
    first, second = service.requests
    assert first.body == second.body
    assert [reason["kind"] for reason in reasons_of(store)] == ["interrupted", "completed", "completed"]


async def test_a_crash_at_any_event_keeps_the_message() -> None:
    """Cut wherever a power failure may cut it, the log goes on, and the message is taken."""
    whole, clock = MemoryStore(at("a")), HandClock()
    with serving(DOWN) as service:
        async with living(Life(whole, agent_of(service), clock)) as life:
            await pass_pause(life, clock)
            await until(lambda: len(service.requests) == 2)
            await until(lambda: types_of(whole.events).count("turn/end") == 2)
    created = types_of(whole.events).index("schedule/change") + 1
    for length in range(created, len(whole.events) + 1):
        store = MemoryStore(events=whole.events[:length])
        later = HandClock(clock.now_ms + 60_000_000)
        with serving(FINE) as service:
            async with living(Life(store, agent_of(service), later)) as life:
                await until(lambda: bool(service.requests or life.host.paused_until_ms))
                if not service.requests:  # its turn was open: it has a pause to wait for
                    await pass_pause(life, later)
                await life.rest()
        assert len(service.requests) == 1
        (told,) = trace_deliveries(store.events).values()
        assert told.outcome == "handed-over"
        assert told.offers <= 3


async def test_a_runner_tells_until_when_it_leaves_the_agent_in_peace(tmp_path: Path) -> None:
    """As it tells of any wait; ended in the pause it is gone at once."""
    write_session(tmp_path, create_at(0))
    clock, waits = HandClock(), list[int | None]()
    with serving(DOWN) as service:
        runner = Runner(tmp_path, lambda *_: agent_of(service), clock, on_wait=waits.append)
        with anyio.fail_after(10):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(runner.run)
                for offers, pause_seconds in enumerate(PAUSES_SECONDS[:2], 1):
                    again_ms = clock.now_ms + pause_seconds * 1000
                    await until(lambda: waits[-1:] == [again_ms])  # noqa: B023 - at once
                    assert len(service.requests) == offers
                    clock.move(again_ms)
                await until(lambda: len(service.requests) == 3)
                await until(lambda: (waits[-1] or 0) > clock.now_ms)
                runner.stop()
    assert len(service.requests) == 3
