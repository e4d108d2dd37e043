"""An agent that is a web service: each input is one signed POST.

The signature is that of Standard Webhooks, so that whoever receives it finds a library that verifies
it. Nothing of the process's environment steers the request (no proxy, no `.netrc`), no redirect is
followed, and a certificate is always verified. Whether a failed POST is made again is the core's
decision (`wakefold.offers`).
"""

from __future__ import annotations

import base64
import hmac
import ipaddress
import ssl
from collections.abc import AsyncIterator, Callable
from hashlib import sha256
from types import ModuleType
from typing import Final

import anyio
from msgspec import Struct

from wakefold import __version__
from wakefold.conversations import Input
from wakefold.events import Json
from wakefold.json_text import format_json
from wakefold_shell.clocks import SystemClock
from wakefold_shell.errors import ShellError
from wakefold_shell.hosts.inboxes import (
    ANSWER_BYTES_MAX,
    Answer,
    Hearing,
    RepeatableAgent,
    describe_trouble,
)
from wakefold_shell.hosts.streams import list_occurrences
from wakefold_shell.protocols import Clock

_PREFIX: Final = "whsec_"
_KEY_BYTES: Final = range(24, 65)  # as Standard Webhooks has it
_WELL: Final = range(200, 300)


class Webhook(Struct, frozen=True):
    """Where to POST, the key to sign with, and whose certificates are trusted. `read_webhook` makes it.

    :shape: `url` as text, `key` as bytes; its `repr` shows neither
    :units: none
    :errors: none: `read_webhook` has checked it
    :source: Standard Webhooks; ours, docs/webhooks.md
    """

    url: str
    key: bytes
    trusted: ssl.SSLContext

    def __repr__(self) -> str:
        """Neither the key nor the path, which may be a secret, too."""
        return "Webhook(...)"


def read_webhook(url: str, secret: str, trusted: ssl.SSLContext | None = None) -> Webhook:
    """A URL and a secret, checked. Trusted is by default what the system trusts.

    :shape: the URL is `https://`, or `http://` on this machine, without a password; the secret is
        `whsec_` and base64, as Standard Webhooks has it
    :units: 24 to 64 bytes of secret
    :errors: `ShellError` in a sentence that shows neither, and where the extra `http` is missing
    :source: Standard Webhooks; ours, docs/webhooks.md
    """
    client = _import_client()
    try:
        place = client.URL(url)
    except (client.InvalidURL, UnicodeError) as error:
        raise ShellError(
            "the URL cannot be read: give one such as https://example.com/wake."
        ) from error
    if place.userinfo:
        raise ShellError("the URL must hold no name and no password: the signature proves who asks.")
    if not place.host or not (place.scheme == "https" or _is_local(place.scheme, place.host)):
        raise ShellError("the URL must begin with https://, or, on this machine, http://127.0.0.1.")
    return Webhook(url, _read_key(secret.strip()), trusted or ssl.create_default_context())


def name_delivery(session_id: str, given: Input) -> str:
    """The idempotency key of an input: a digest of its session, and of every id and occurrence.

    It is the same for each offer of a message. A person's word, which delivers no reminder, goes by
    the message's id.

    :shape: 64 hexadecimal digits, those of SHA-256
    :units: none
    :errors: none
    :source: ours, docs/webhooks.md
    """
    named = list_occurrences(given) or given.message.get("id")
    return sha256(format_json([session_id, named]).encode("utf-8")).hexdigest()


class WebhookAgent(RepeatableAgent):
    """POSTs each input, and takes what comes back as the agent's answer.

    The turn has begun when the request is made. An answer is read as far as the log keeps it, and the
    connection closed. The signature's time is the clock's.

    :shape: the body is `{session, source, message, occurrences}`; the answer's `detail` is
        `{httpStatus}`, `{secondsMax}` or `{error}`
    :units: `seconds_max` in seconds; the signature's time in seconds since the epoch; milliseconds for
        the duration
    :errors: a failed turn is all but a status from 200 to 299: another one, a redirect, a broken
        connection, nothing whole within the time limit
    :source: Standard Webhooks; ours, docs/webhooks.md
    """

    def __init__(
        self,
        webhook: Webhook,
        session_id: str,
        seconds_max: float,
        on_end: Callable[[Input, Answer], None] = lambda *_: None,
        clock: Clock | None = None,
    ) -> None:
        """Where to, whose messages, the time limit, and who is told how each request ended."""
        self._webhook, self._session_id, self._seconds_max = webhook, session_id, seconds_max
        self._tell_end, self._clock = on_end, clock or SystemClock()

    async def answer(self, given: Input, begin: Callable[[], None]) -> Answer:
        """Begin, and make the request."""
        begin()
        start_seconds = anyio.current_time()
        hearing = Hearing()
        detail = await self._post(given, hearing)
        duration_ms = round((anyio.current_time() - start_seconds) * 1000)
        taken = detail.get("httpStatus") in _WELL
        answer = Answer(
            hearing.text if taken else None, "completed" if taken else "failed", detail, duration_ms
        )
        self._tell_end(given, answer)
        return answer

    async def _post(self, given: Input, hearing: Hearing) -> Json:
        """What the request came to, as the log keeps it: a status, or why there is none."""
        client = _import_client()
        body = _encode_body(self._session_id, given)
        headers = self._make_headers(name_delivery(self._session_id, given), body)
        try:
            with anyio.fail_after(self._seconds_max):
                async with (
                    client.AsyncClient(
                        verify=self._webhook.trusted,
                        trust_env=False,
                        follow_redirects=False,
                        timeout=None,
                    ) as session,
                    session.stream(
                        "POST", self._webhook.url, content=body, headers=headers
                    ) as response,
                ):
                    if response.status_code in _WELL:
                        await _listen(response.aiter_raw(), hearing)
                    return {"httpStatus": response.status_code}
        except TimeoutError:
            return {"secondsMax": self._seconds_max}
        except client.HTTPError as error:
            return {"error": describe_trouble(error)}

    def _make_headers(self, key: str, body: bytes) -> dict[str, str]:
        time_seconds = str(self._clock.read_ms() // 1000)
        signed = b".".join((key.encode("ascii"), time_seconds.encode("ascii"), body))
        digest = hmac.digest(self._webhook.key, signed, "sha256")
        return {
            "Content-Type": "application/json",
            "Accept-Encoding": "identity",  # else a small answer could unfold into a huge one
            "User-Agent": f"wakefold/{__version__}",
            "Idempotency-Key": key,
            "Webhook-Id": key,
            "Webhook-Timestamp": time_seconds,
            "Webhook-Signature": f"v1,{base64.b64encode(digest).decode('ascii')}",
        }


async def _listen(chunks: AsyncIterator[bytes], hearing: Hearing) -> None:
    """Hear an answer as far as it is kept."""
    with anyio.CancelScope() as enough:
        async for chunk in chunks:
            hearing.hear(chunk)
            if hearing.size_bytes > ANSWER_BYTES_MAX:
                enough.cancel()  # no `break`: the stream's own iterators would be left open


def _encode_body(session_id: str, given: Input) -> bytes:
    return format_json(
        {
            "session": session_id,
            "source": "reminder" if given.occurrences else "person",
            "message": given.text,
            "occurrences": list_occurrences(given),
        }
    ).encode("utf-8")


def _read_key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except ValueError:
        key = b""
    if not secret.startswith(_PREFIX) or len(key) not in _KEY_BYTES:
        raise ShellError(
            "the secret must be whsec_ and 24 to 64 random bytes in base64: "
            "make one with `echo whsec_$(openssl rand -base64 32)`."
        )
    return key


def _is_local(scheme: str, host: str) -> bool:
    try:
        local = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        local = False
    return scheme == "http" and local


def _import_client() -> ModuleType:
    """The HTTP library, or one sentence that names the extra."""
    try:
        import httpx2  # noqa: PLC0415 - an extra, and only for those who need it
    except ModuleNotFoundError as error:
        raise ShellError("a webhook needs the extra 'http': pip install 'wakefold[http]'.") from error
    return httpx2
