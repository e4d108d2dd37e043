"""A real browser for report pages: what a page asked for, said and was refused meanwhile."""

from __future__ import annotations

import base64
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

from playwright.sync_api import Browser, Page, Route, sync_playwright

KEPT: Final = os.environ.get("WAKEFOLD_SCREENSHOTS")
"""Where screenshots are kept, if anywhere."""

_COMPARE: Final = """async ([one, other]) => {
  const read = async (text) => {
    const image = new Image();
    image.src = `data:image/png;base64,${text}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = Math.ceil(image.width / 8);
    canvas.height = Math.ceil(image.height / 8);
    const brush = canvas.getContext("2d");
    brush.imageSmoothingQuality = "high";
    brush.drawImage(image, 0, 0, canvas.width, canvas.height);
    return brush.getImageData(0, 0, canvas.width, canvas.height);
  };
  const [a, b] = [await read(one), await read(other)];
  if (a.width !== b.width || a.height !== b.height) return 1;
  let far = 0;
  for (let place = 0; place < a.data.length; place += 4) {
    const away = [0, 1, 2].map((part) => Math.abs(a.data[place + part] - b.data[place + part]));
    if (Math.max(...away) > 48) far += 1;
  }
  return far / (a.width * a.height);
}"""


Cell = dict[str, str]
Scheme = Literal["light", "dark"]


class Visit:
    """A page that is open, and what was noticed since."""

    def __init__(self, page: Page, path: Path) -> None:
        self.page, self._url = page, path.as_uri()
        self.requests: list[str] = []
        self.errors: list[str] = []
        page.context.route("**/*", self._let_through)
        page.on("console", lambda message: self.errors.append(message.text))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.add_init_script(
            "window.refused = []; document.addEventListener('securitypolicyviolation', "
            "(event) => window.refused.push(event.effectiveDirective))"
        )
        page.goto(self._url)
        page.wait_for_selector("html[data-ready]", state="attached")

    def _let_through(self, route: Route) -> None:
        self.requests.append(route.request.url)
        if route.request.url == self._url:
            route.continue_()
        else:
            route.abort()

    @property
    def refused(self) -> list[str]:
        """The directives of the policy that something ran against."""
        found: list[str] = self.page.evaluate("window.refused")
        return found

    def require_calm(self) -> None:
        """Nothing was asked for but the file, nothing was refused, nothing went wrong or was run."""
        assert self.requests == [self._url]
        assert self.errors == []
        assert self.refused == []
        assert self.page.evaluate("window.harmed") is None

    def read_number(self, name: str) -> float:
        """A number of the page by its name."""
        return float(str(self.page.get_attribute(f'data[data-name="{name}"]', "value")))

    def read_table(self, name: str) -> Iterator[list[Cell]]:
        """The rows of a table, those of its later pages too: for each cell text, value and instant."""
        section = self.page.locator("section", has=self.page.locator(f'[data-table="{name}"]'))
        while True:
            yield from self.page.evaluate(_READ_ROWS, name)
            later = section.get_by_role("button", name="Later rows")
            if not later.is_visible() or later.is_disabled():
                return
            later.click()

    def press(self, *keys: str) -> None:
        """Keys, one after the other, and the frame after them."""
        for key in keys:
            self.page.keyboard.press(key)
        self.settle()

    def settle(self) -> None:
        """Let the page draw what is to be drawn."""
        self.page.evaluate(
            "new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))"
        )

    def read_details(self) -> dict[str, str]:
        """What is told of the mark that is looked at."""
        told: dict[str, str] = self.page.evaluate(
            "Object.fromEntries([...document.querySelectorAll('.details dl > div')].map("
            "(row) => [row.children[0].textContent, row.children[1].textContent]))"
        )
        return told

    def read_range(self) -> str:
        """From when to when the picture reaches, as drawn at last."""
        self.settle()
        return self.page.locator(".range").inner_text()


_READ_ROWS: Final = """(name) => [...document.querySelectorAll(`[data-table="${name}"] tbody tr`)].map(
  (row) => [...row.children].map((cell) => ({
    text: cell.innerText,
    value: cell.querySelector("data")?.value ?? "",
    at: cell.querySelector("time")?.dateTime ?? "",
  })))"""


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Debian's chromium, headless, as long as the block lasts."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


@contextmanager
def visiting(
    browser: Browser, path: Path, *, scheme: Scheme = "light", width: int = 1280
) -> Iterator[Visit]:
    """A visit to a page, everything that can differ between machines held still."""
    context = browser.new_context(
        viewport={"width": width, "height": 1000},
        color_scheme=scheme,
        timezone_id="Europe/Berlin",
        locale="en-GB",
        reduced_motion="reduce",
    )
    try:
        yield Visit(context.new_page(), path)
    finally:
        context.close()


def measure_difference(browser: Browser, one: bytes, other: bytes) -> float:
    """The share of two pictures, seen from afar, that differs much; 1 where their sizes do."""
    page = browser.new_page()
    texts = [base64.b64encode(picture).decode("ascii") for picture in (one, other)]
    share: float = page.evaluate(_COMPARE, texts)
    page.close()
    return share


def keep_picture(name: str, picture: bytes) -> None:
    """Put a screenshot where they are kept."""
    if KEPT:
        Path(KEPT).mkdir(parents=True, exist_ok=True)
        (Path(KEPT) / f"{name}.png").write_bytes(picture)
