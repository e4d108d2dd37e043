"""The options of `wakefold mcp` over HTTP: where to listen, who may come, and with how much."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated, Final

import typer
from msgspec import Struct

from wakefold_shell.mcp.endpoints import Endpoint
from wakefold_shell.mcp.tokens import TOKEN_VARIABLE, find_token

_NAME: Final = r"(?:\[[0-9A-Za-z:.%]+\]|[A-Za-z0-9._-]+)"
_ADDRESS: Final = re.compile(rf"(?P<host>{_NAME}):(?P<port>[0-9]{{1,5}})")
_HOST: Final = re.compile(rf"{_NAME}(?::[0-9]{{1,5}})?")
_ORIGIN: Final = re.compile(rf"[a-z][a-z0-9+.-]*://{_NAME}(?::[0-9]{{1,5}})?")
_PORT_MAX: Final = 65_535


class Address(Struct, frozen=True):
    """Host and port of an option such as `127.0.0.1:8765` or `[::1]:0`."""

    host: str
    port: int


def parse_address_option(text: str) -> Address:
    """The address of an option's text."""
    found = _ADDRESS.fullmatch(text)
    if found is None or int(found["port"]) > _PORT_MAX:
        raise typer.BadParameter(f"{text!r} is no address such as 127.0.0.1:8765 or [::1]:0")
    return Address(found["host"].strip("[]"), int(found["port"]))


def parse_host_option(text: str) -> str:
    """What a client may write into its Host header, as it is."""
    if _HOST.fullmatch(text) is None:
        raise typer.BadParameter(f"{text!r} is no host such as reminders.example or localhost:8000")
    return text


def parse_origin_option(text: str) -> str:
    """What a browser may write into its Origin header, as it is."""
    if _ORIGIN.fullmatch(text) is None:
        raise typer.BadParameter(f"{text!r} is no origin such as https://reminders.example")
    return text


HttpOption = Annotated[
    Address | None,
    typer.Option(
        "--http",
        metavar="HOST:PORT",
        parser=parse_address_option,
        help="Serve any number of clients over HTTP there, instead of one; port 0: any that is free.",
    ),
]
TokenFileOption = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        metavar="FILE",
        help=f"Let in who has the token in it, by default that of {TOKEN_VARIABLE}; "
        "required beyond loopback.",
    ),
]
OriginsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-origin",
        metavar="ORIGIN",
        parser=parse_origin_option,
        help="Let in pages of https://HOST[:PORT], repeatable.",
    ),
]
HostsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-host",
        metavar="HOST[:PORT]",
        parser=parse_host_option,
        help="Answer to this Host, too, as clients write it; repeatable.",
    ),
]
BodyBytesOption = Annotated[
    int, typer.Option("--body-bytes-max", metavar="BYTES", min=1024, help="Refuse longer requests.")
]
RequestSecondsOption = Annotated[
    float,
    typer.Option(
        "--request-seconds-max",
        metavar="SECONDS",
        min=0.1,
        help="Give up on a request whose head, or then its body, takes longer.",
    ),
]


def choose_endpoint(
    address: Address | None,
    token_file: Path | None,
    hosts: list[str] | None,
    origins: list[str] | None,
    body_bytes_max: int,
    request_seconds_max: float,
) -> Endpoint | None:
    """Where to serve over HTTP, if at all; who may come is only told where anybody can."""
    if address is None:
        unused = {"--token-file": token_file, "--allow-host": hosts, "--allow-origin": origins}
        for name in [name for name, value in unused.items() if value]:
            raise typer.BadParameter(f"{name} goes with --http HOST:PORT")
        return None
    token = find_token(token_file, os.environ)
    os.environ.pop(TOKEN_VARIABLE, None)  # no command that is started needs to know it
    return Endpoint(
        address.host,
        address.port,
        token,
        tuple(hosts or ()),
        tuple(origins or ()),
        body_bytes_max,
        request_seconds_max,
    )
