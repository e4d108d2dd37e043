"""The documentation as a site: it builds without a warning, is whole, stands alone, and is searched."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Page
from sphinx.util.inventory import InventoryFile

import wakefold
from definitions import ROOT, list_referenced, read_defined
from report_browser import open_browser
from wakefold_laws.laws import list_laws

DOCS: Final = ROOT / "docs"
COMMAND: Final = "sphinx-build -W --keep-going docs build/site"

FAULTS: Final = {
    "a page that is not there": ("[x](nowhere.md)", "nowhere.md"),
    "a heading that is not there": ("[x](index.md#no-heading)", "no-heading"),
    "a name that is not there": ("{py:func}`wakefold.unfold`", "wakefold.unfold"),
    "a module that is not there": ("```{eval-rst}\n.. automodule:: wakefold.rooms\n```", "rooms"),
    "a text that cannot be read": ("```{eval-rst}\n*open\n```", "Inline emphasis"),
}


def build(source: Path, scratch: Path) -> subprocess.CompletedProcess[str]:
    """The documented command, for another place."""
    command = COMMAND.split()[1:-2]
    places = [str(source), str(scratch / "site"), "-q", "-d", str(scratch / "doctrees")]
    return subprocess.run(
        [sys.executable, "-m", "sphinx", *command, *places], capture_output=True, text=True, check=False
    )


def begin_site(source: Path) -> Path:
    """The settings of the site, and no page."""
    shutil.copytree(DOCS / "_static", source / "_static")
    shutil.copy(DOCS / "conf.py", source)
    return source


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    scratch = tmp_path_factory.mktemp("site")
    done = build(DOCS, scratch)
    if done.returncode:
        pytest.fail(done.stderr, pytrace=False)
    return scratch / "site"


@pytest.fixture(scope="module")
def documented(site: Path) -> set[str]:
    """The full names that the site's inventory has."""
    inventory = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="")
    return {name for kind, names in inventory.data.items() if kind.startswith("py:") for name in names}


def list_modules() -> Iterator[tuple[str, Path]]:
    """The modules that have to be given a place; a package has its modules."""
    return ((name, path) for name, path in list_referenced() if path.stem != "__init__")


def test_the_site_builds_without_a_warning_by_one_command(site: Path) -> None:
    """The one that the README names."""
    assert (site / "index.html").exists()
    assert COMMAND in (ROOT / "README.md").read_text("utf-8")


def test_each_fault_fails_the_build_and_is_named(tmp_path: Path) -> None:
    """A link, an anchor, a name, a module, a text; what is sound beside them is not named."""
    source = begin_site(tmp_path / "docs")
    sound = "# Index\n\n## Somewhere\n\n[there](index.md#somewhere)"
    (source / "index.md").write_text("\n\n".join([sound, *(text for text, _ in FAULTS.values())]))
    done = build(source, tmp_path)
    assert done.returncode
    for fault, (_, named) in FAULTS.items():
        assert named in done.stderr, fault
    assert "somewhere" not in done.stderr


def test_a_page_that_nothing_leads_to_fails_the_build(tmp_path: Path) -> None:
    """Whoever writes a page says where it stands."""
    source = begin_site(tmp_path / "docs")
    (source / "index.md").write_text("# Index\n")
    assert build(source, tmp_path).returncode == 0
    (source / "lonely.md").write_text("# Lonely\n")
    done = build(source, tmp_path)
    assert done.returncode
    assert "lonely.md" in done.stderr


def test_every_module_stands_on_one_page_of_the_reference() -> None:
    """A new module has to be given a place."""
    text = "".join(path.read_text("utf-8") for path in (DOCS / "reference").glob("*.md"))
    placed = Counter(re.findall(r"^\.\. automodule:: (\S+)$", text, re.MULTILINE))
    assert placed == Counter(name for name, _ in list_modules())


def test_every_public_name_is_in_the_reference(documented: set[str]) -> None:
    """By the front door or by its module; only laws have a page of their own."""
    front = {f"wakefold.{name}" for name in wakefold.__all__}
    assert front <= documented
    named = {law.name for law in list_laws()}
    missing = {
        f"{module}.{name}"
        for module, path in list_modules()
        for name, _ in read_defined(path)
        if not name.startswith("_")
        if not {f"{module}.{name}", f"wakefold.{name}"} & documented and name not in named
    }
    assert missing == set()


def test_every_page_asks_for_nothing_from_elsewhere(site: Path) -> None:
    """No script, style, font or picture of another place."""
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        assert re.findall(r"<(?:script|img|iframe)[^>]+src=\"(?:https?:)?//[^\"]+", text) == [], page
        assert re.findall(r"<link[^>]+href=\"(?:https?:)?//[^\"]+", text) == [], page
    for style in site.rglob("*.css"):
        assert re.findall(r"url\([\"']?(?:https?:)?//", style.read_text("utf-8")) == [], style


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """The site behind a web server on loopback."""
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site)) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        serving.join()


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with open_browser() as browser:
        yield browser.new_page()


@pytest.mark.needs("chromium")
@pytest.mark.parametrize("way", ["http", "file"])
@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("plan_next_wake", "reference/wakefold.html#wakefold.plan_next_wake"),
        ("OwnerMachine", "reference/trials.html#wakefold_laws.owner_machine.OwnerMachine"),
        ("webhook signature", "webhooks.html"),
        ("clocks change", "calendar.html"),
    ],
)
def test_a_search_finds_names_and_pages(
    words: str, first: str, way: str, site: Path, address: str, page: Page
) -> None:
    """Typed by hand, behind a server and from a file; nothing is asked elsewhere."""
    base = address if way == "http" else site.as_uri()
    asked: list[str] = []
    errors: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{base}/index.html")
    page.get_by_role("search").get_by_placeholder("Search").fill(words)
    page.keyboard.press("Enter")
    page.locator("#search-results li a").first.wait_for()
    found = [link.get_attribute("href") or "" for link in page.locator("#search-results li a").all()]
    assert first in [re.sub(r"(\.html)(#module-.*|\?.*)$", r"\1", link) for link in found[:3]], found
    page.locator(f'#search-results a[href^="{first}"]').first.click()
    page.wait_for_url(f"{base}/{first}*")
    # From a file a browser fetches no other file: the search works, without a summary of each page.
    assert {error for error in errors if way == "http" or error != "Failed to fetch"} == set()
    assert all(url.startswith((base, "data:")) for url in asked), asked


@pytest.mark.needs("chromium")
def test_a_search_for_nothing_says_so(address: str, page: Page) -> None:
    """A word that no page has."""
    page.goto(f"{address}/search.html?q=xylophone")
    page.get_by_text("did not match any documents").wait_for()
    assert page.locator("#search-results li").count() == 0
