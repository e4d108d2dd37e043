"""To whom `wakefold run` delivers: standard output, a command, a web service; what is shown of it.

What an agent does with a message is its own module's (`wakefold_shell.hosts`); this one reads the
options that choose it, and refuses those that do not go together.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Collection
from contextlib import suppress
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer

from wakefold.conversations import Input
from wakefold.deliveries import describe_end
from wakefold.json_text import format_json
from wakefold.offers import OFFERS_MAX
from wakefold_shell.cli.option_groups import OptionGroup
from wakefold_shell.cli.output import show_text
from wakefold_shell.cli.speech import print_line
from wakefold_shell.cli.waiting import StatusLine
from wakefold_shell.files import read_secret
from wakefold_shell.hosts.commands import OUTPUT_BYTES_MAX, CommandAgent
from wakefold_shell.hosts.inboxes import Agent, Answer
from wakefold_shell.hosts.streams import StreamAgent, list_occurrences
from wakefold_shell.hosts.webhooks import Webhook, WebhookAgent, read_webhook
from wakefold_shell.stores.rows import Header

_VARIABLE: Final = "WAKEFOLD_WEBHOOK_SECRET"
"""Where the webhook's secret is looked for if no file is named."""


class Deliver(StrEnum):
    """Who gets the messages."""

    STDOUT = "stdout"
    EXEC = "exec"
    HTTP = "http"


TargetArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[URL | -- COMMAND ...]",
        help="With --deliver exec: what to run, no shell. With --deliver http: where to POST.",
    ),
]
DeliverOption = Annotated[
    Deliver,
    typer.Option(
        "--deliver",
        help="stdout: each reminder's frame. exec: a command per message, on its standard input. "
        "http: a signed POST per message.",
    ),
]
TimeLimitOption = Annotated[
    float,
    typer.Option("--time-limit", metavar="SECONDS", min=0.1, help="End a command or a POST after it."),
]
OutputLimitOption = Annotated[
    int,
    typer.Option("--output-limit", metavar="BYTES", min=1, help="End a command that writes more."),
]
PassEnvOption = Annotated[
    list[str] | None,
    typer.Option("--pass-env", metavar="NAME", help="Give a command this variable, too; repeatable."),
]
SecretFileOption = Annotated[
    Path | None,
    typer.Option(
        "--secret-file",
        metavar="FILE",
        help=f"The webhook's secret; else it is in {_VARIABLE}.",
    ),
]


class Limits(OptionGroup, frozen=True):
    """What a command or a POST is allowed, and given."""

    time_limit: TimeLimitOption = 600.0
    output_limit: OutputLimitOption = OUTPUT_BYTES_MAX
    pass_env: PassEnvOption = None
    secret_file: SecretFileOption = None


class Delivery:
    """How messages are given away, and what is shown of it."""

    def __init__(
        self, target: list[str] | Webhook | None, limits: Limits, line: StatusLine, *, as_json: bool
    ) -> None:
        """A command, a web service or nobody but who reads along; the limits; where it is shown."""
        self._target, self._limits = target, limits
        self._line, self._as_json = line, as_json

    def choose_agent(self, directory: Path | None, header: Header) -> Agent:
        """The agent of one session; one of a fleet has no directory."""
        seconds_max = self._limits.time_limit
        if self._target is None:
            return StreamAgent(sys.stdout, partial(self._render, header))
        if isinstance(self._target, Webhook):
            tell_end = partial(self._tell_end, header, "webhook")
            return WebhookAgent(self._target, header.id, seconds_max, tell_end)
        place = {} if directory is None else {"WAKEFOLD_SESSION": str(directory.absolute())}
        named = {**place, "WAKEFOLD_SESSION_ID": header.id}
        environment = {name: value for name, value in named.items() if "\0" not in value}
        return CommandAgent(
            self._target,
            environment,
            seconds_max,
            self._pass_on,
            partial(self._tell_end, header, "command"),
            output_bytes_max=self._limits.output_limit,
            pass_env=self._limits.pass_env or (),
        )

    def _render(self, header: Header, given: Input) -> str:
        self._line.clear()
        return self._format(header, given, Answer()) if self._as_json else given.text

    def _pass_on(self, chunk: bytes) -> None:
        if not self._as_json:
            self._line.clear()
            with suppress(BrokenPipeError):  # the answer is in the log, whoever reads along
                sys.stdout.buffer.write(chunk)
                sys.stdout.buffer.flush()
            self._line.amid_line = sys.stdout.isatty() and not chunk.endswith(b"\n")

    def _tell_end(self, header: Header, who: str, given: Input, answer: Answer) -> None:
        if self._as_json:
            print_line(self._format(header, given, answer))
            sys.stdout.flush()
        if answer.kind == "failed":
            offers = f", {given.earlier_offers + 1} of {OFFERS_MAX} offers" if who == "webhook" else ""
            self._line.say(f"{show_text(header.id)}: the {who} {describe_end(answer.detail)}{offers}.")

    @staticmethod
    def _format(header: Header, given: Input, answer: Answer) -> str:
        named = {"session": header.id, "message": given.text, "occurrences": list_occurrences(given)}
        took = {} if answer.duration_ms is None else {"durationMs": answer.duration_ms}
        return format_json({**named, **answer.detail, **took})


def choose_target(deliver: Deliver, given: list[str], limits: Limits) -> list[str] | Webhook | None:
    """The command or the web service that is asked for; refuses options that do not go together."""
    if (deliver is Deliver.STDOUT) == bool(given):
        raise typer.BadParameter("--deliver exec goes with -- COMMAND, --deliver http with a URL")
    if limits.secret_file is not None and deliver is not Deliver.HTTP:
        raise typer.BadParameter("--secret-file goes with --deliver http")
    if limits.pass_env and deliver is not Deliver.EXEC:
        raise typer.BadParameter("--pass-env goes with --deliver exec")
    if deliver is Deliver.EXEC:
        return _check_command(given, limits.pass_env or [])
    return _choose_webhook(given, limits.secret_file) if deliver is Deliver.HTTP else None


def _check_command(command: list[str], pass_env: Collection[str]) -> list[str]:
    if shutil.which(command[0]) is None:
        raise typer.BadParameter(f"the command {command[0]!r} is not found or cannot be executed")
    for name in pass_env:
        if name not in os.environ:
            raise typer.BadParameter(f"--pass-env: the variable {name!r} is not set")
    return command


def _choose_webhook(given: list[str], secret_file: Path | None) -> Webhook:
    if len(given) != 1:
        raise typer.BadParameter("--deliver http takes one URL")
    secret = os.environ.get(_VARIABLE) if secret_file is None else read_secret(secret_file)
    if secret is None:
        raise typer.BadParameter(
            f"--deliver http needs a secret: give --secret-file FILE or set {_VARIABLE}"
        )
    return read_webhook(given[0], secret)
