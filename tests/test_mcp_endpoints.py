"""Where the MCP server listens for HTTP, and the token that lets in."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import pytest

from wakefold_shell.errors import ShellError
from wakefold_shell.mcp.endpoints import Endpoint, list_hosts, open_listener
from wakefold_shell.mcp.tokens import TOKEN_VARIABLE, find_token

TOKEN = "t0ken-of-the-tests"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "localhost", "::1"])
def test_loopback_needs_no_token(host: str) -> None:
    """By number or by name."""
    with open_listener(Endpoint(host, 0)) as listener:
        assert listener.getsockname()[1] > 0
        assert listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == 1
    assert listener.fileno() == -1


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_beyond_loopback_nothing_is_opened_without_a_token(host: str) -> None:
    """It is told how to give one."""
    sentence = (
        r"beyond loopback a token is required; give --token-file FILE or set WAKEFOLD_MCP_TOKEN\."
    )
    with pytest.raises(ShellError, match=sentence), open_listener(Endpoint(host, 0)):
        pytest.fail("it listens")


def test_a_port_that_is_taken_is_named() -> None:
    """In one sentence."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        sentence = rf"^--http 127\.0\.0\.1:{port}: address already in use; give .* a free port\.$"
        with pytest.raises(ShellError, match=sentence), open_listener(Endpoint("127.0.0.1", port)):
            pytest.fail("it listens")


@pytest.mark.parametrize("host", ["no.such.host.invalid", "192.0.2.1", "x" * 70, "a..b"])
def test_an_address_that_is_not_of_this_machine_is_told(host: str) -> None:
    """By the system's words, or in ours."""
    sentence = rf"^--http {re.escape(host)}:0: .+; give an address of this machine"
    with pytest.raises(ShellError, match=sentence), open_listener(Endpoint(host, 0, TOKEN)):
        pytest.fail("it listens")


def test_a_host_is_answered_to_by_its_port() -> None:
    """The names given stand as they are; without a port clients mean port 80."""
    loopback = {"127.0.0.1", "localhost", "[::1]"}
    assert list_hosts(Endpoint("::1", 0), "::1", 8765) == {f"{name}:8765" for name in loopback}
    named = Endpoint("bells.example", 80, hosts=("bells.example:443", "rung.example"))
    names = {*loopback, "192.0.2.7", "bells.example"}
    expected = {*names, *(f"{name}:80" for name in names), "bells.example:443", "rung.example"}
    assert list_hosts(named, "192.0.2.7", 80) == expected


def write_token(directory: Path, text: str, mode: int = 0o600) -> Path:
    file = directory / "token"
    file.write_text(text)
    file.chmod(mode)
    return file


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o640])
def test_a_token_is_read_from_a_file(tmp_path: Path, mode: int) -> None:
    """With or without the end of its line; it comes before that of the environment."""
    file = write_token(tmp_path, f"{TOKEN}\n", mode)
    assert find_token(file, {TOKEN_VARIABLE: "other"}) == TOKEN
    file.chmod(0o600)
    assert find_token(write_token(tmp_path, TOKEN), {}) == TOKEN


def test_a_token_is_read_from_the_environment() -> None:
    """Where no file is named; there may be none at all."""
    assert find_token(None, {TOKEN_VARIABLE: TOKEN}) == TOKEN
    assert find_token(None, {}) is None


@pytest.mark.parametrize("text", ["", " \n", "two words", "two\nlines", "a,b", "x\0"])
def test_what_is_no_token_is_refused_from_either_place(tmp_path: Path, text: str) -> None:
    """An empty one above all; what is in it is not told."""
    for file, where in ((write_token(tmp_path, text), str(tmp_path / "token")), (None, TOKEN_VARIABLE)):
        with pytest.raises(ShellError) as refused:
            find_token(file, {TOKEN_VARIABLE: text})
        assert str(refused.value).startswith(f"{where}: a token has letters, digits and -._~+/")
        assert not text.strip() or text not in str(refused.value)


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o666])
def test_a_file_that_everybody_can_reach_holds_no_secret(tmp_path: Path, mode: int) -> None:
    """It is refused, and told how to mend it."""
    file = write_token(tmp_path, TOKEN, mode)
    with pytest.raises(ShellError, match="everybody may read this secret; chmod 600 it") as refused:
        find_token(file, {})
    assert TOKEN not in str(refused.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """One that is missing, and a directory."""
    for path in (tmp_path / "missing", tmp_path):
        with pytest.raises(
            ShellError, match=rf"^{re.escape(str(path))}: .+; name the file of the secret"
        ):
            find_token(path, {})
