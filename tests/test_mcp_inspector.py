"""The protocol's own inspector, its command line from npm, lists the tools and calls them."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from command import EXECUTABLE
from journal_files import create_at, write_session
from live_sessions import FAR, LONG_AGO
from released_package import install_from_npm
from test_cli_mcp_http import serving
from wakefold_shell.mcp.resources import name_uri
from web_service import BEARER

pytestmark = pytest.mark.needs("node")

INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"  # on an old Node npm would take one of 2025
TOOL_FAILED = 5
NOT_LET_IN = 3


class Inspector:
    """The inspector, looking at one server: by its command, or by its URL."""

    def __init__(self, place: Path, *server: str) -> None:
        self._program = place / "node_modules" / ".bin" / "mcp-inspector"
        self._home, self._server = place, server

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """One run of its command line."""
        return subprocess.run(
            [self._program, "--cli", *self._server, *arguments, "--format", "json"],
            capture_output=True,
            text=True,
            env={**os.environ, "HOME": str(self._home)},
            timeout=60,
            check=False,
        )

    def ask(self, *arguments: str, status: int = 0) -> Any:  # noqa: ANN401 - parsed JSON
        """The result of one method."""
        done = self.run(*arguments)
        assert done.returncode == status, done.stderr
        return json.loads(done.stdout)["result"]

    def call(self, tool: str, *pairs: str, status: int = 0) -> Any:  # noqa: ANN401 - as above
        """The result of a tool."""
        arguments = (word for pair in pairs for word in ("--tool-arg", pair))
        return self.ask("--method", "tools/call", "--tool-name", tool, *arguments, status=status)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("inspector")
    if reason := install_from_npm(place, "the inspector", INSPECTOR):
        pytest.fail(reason, pytrace=False)
    return place


@pytest.fixture
def inspector(installed: Path, tmp_path: Path) -> Inspector:
    write_session(tmp_path / "s", create_at(0, "due", at=LONG_AGO), create_at(1, "far", at=FAR))
    return Inspector(installed, EXECUTABLE, "mcp", "--session", str(tmp_path / "s"))


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_it_lists_tools_whose_schemas_are_portable_and_resources(
    inspector: Inspector, era: str
) -> None:
    arguments = ("--protocol-era", era, "--method")
    tools = inspector.ask(*arguments, "tools/list", "--strict")["tools"]
    assert [tool["name"] for tool in tools][:4] == [
        "schedule_create",
        "schedule_list",
        "schedule_update",
        "schedule_delete",
    ]
    resources = inspector.ask(*arguments, "resources/list")["resources"]
    assert name_uri("s", "reminders", "far") in [resource["uri"] for resource in resources]
    (content,) = inspector.ask(*arguments, "resources/read", "--uri", name_uri("s", "reminders"))[
        "contents"
    ]
    assert [view["id"] for view in json.loads(content["text"])["reminders"]] == ["far"]


def test_it_calls_each_tool_and_takes_every_answer_for_valid(inspector: Inspector) -> None:
    """It checks structured content by the schemas, and tells a refusal by its exit status."""
    made = inspector.call("schedule_create", "prompt=tea", "after_seconds=900")["structuredContent"]
    (message,) = made["inbox"]["messages"]
    assert made["reminder"]["prompt"] == "tea"
    read = inspector.call("inbox_read", f"id={message['id']}")["structuredContent"]
    assert read["message"] == message
    taken = inspector.call("inbox_acknowledge", f"id={message['id']}")["structuredContent"]
    assert (taken["acknowledged"], taken["inbox"]["total"]) == (True, 0)
    listed = inspector.call("schedule_list")["structuredContent"]
    assert [view["id"] for view in listed["reminders"]] == ["far", made["reminder"]["id"]]
    ended = inspector.call("schedule_delete", "id=far")["structuredContent"]
    assert ended["deleted"] is True
    refused = inspector.call("schedule_create", "prompt=tea", status=TOOL_FAILED)
    assert json.loads(refused["content"][0]["text"])["code"] == "invalid_selector"


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_it_comes_in_over_http_with_the_token_alone(installed: Path, tmp_path: Path, era: str) -> None:
    """It lists and calls, and tells by its exit status that it was not let in."""
    with serving(tmp_path, "--session", tmp_path / "s") as served:
        server = (served.service.url, "--transport", "http", "--protocol-era", era)
        inspector = Inspector(installed, *server, "--header", BEARER)
        tools = inspector.ask("--method", "tools/list", "--strict")["tools"]
        assert "schedule_create" in [tool["name"] for tool in tools]
        made = inspector.call("schedule_create", "prompt=tea", "after_seconds=900")["structuredContent"]
        assert made["reminder"]["prompt"] == "tea"
        refused = inspector.call("schedule_create", "prompt=tea", status=TOOL_FAILED)
        assert json.loads(refused["content"][0]["text"])["code"] == "invalid_selector"
        stranger = Inspector(installed, *server, "--header", f"{BEARER}x")
        assert stranger.run("--method", "tools/list").returncode == NOT_LET_IN
