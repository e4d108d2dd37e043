"""Report pages in a real browser: calm, accessible, right in every number, reached by keys."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Browser

from command import wakefold
from journal_files import JOURNALS
from released_package import install_from_npm
from report_browser import Scheme, Visit, keep_picture, measure_difference, open_browser, visiting
from report_pages import (
    HOSTILE,
    NOW,
    SHARED,
    read_options,
    write_busy,
    write_edited,
    write_hostile,
    write_report,
)

pytestmark = pytest.mark.needs("chromium")

AXE: Final = "axe-core@4.14.1"
REFERENCES: Final = Path(__file__).parent / "screenshots"
DIFFERENCE_MAX: Final = 0.02
LATER: Final = ("--now", "2027-01-04T12:30:00Z")
OWN: Final = ("edited", "hostile", "busy")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A report of every carried journal, of edits, of hostile text, and of 100,000 events."""
    place = tmp_path_factory.mktemp("reports")
    made = {
        journal: write_report(
            JOURNALS / journal, place / f"{number}.html", *NOW, *read_options(journal)
        )
        for number, journal in enumerate(SHARED)
    }
    write_edited(place / "edited")
    write_hostile(place / "hostile")
    write_busy(place / "busy", 60, 1_660)
    return made | {name: write_report(place / name, place / f"{name}.html", *LATER) for name in OWN}


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    place = tmp_path_factory.mktemp("axe")
    if reason := install_from_npm(place, "axe-core", AXE):
        pytest.fail(reason, pytrace=False)
    return (place / "node_modules/axe-core/axe.min.js").read_text("utf-8")


@pytest.mark.parametrize("name", [*SHARED, *OWN])
def test_a_page_asks_for_nothing_and_nothing_goes_wrong(
    browser: Browser, reports: dict[str, Path], name: str
) -> None:
    """No request but for the file, no word on the console, nothing that the policy refused."""
    with visiting(browser, reports[name]) as visit:
        visit.page.get_by_role("button", name="Zoom in").click()
        visit.settle()
        visit.require_calm()
        assert visit.page.locator(".rows .row").count() > 0


@pytest.mark.needs("node")
@pytest.mark.parametrize(
    ("name", "scheme"),
    [*((name, "light") for name in (*SHARED, *OWN)), ("seed/gate", "dark"), ("edited", "dark")],
)
def test_axe_finds_no_violation(
    browser: Browser, reports: dict[str, Path], axe: str, name: str, scheme: Scheme
) -> None:
    """While a mark is looked at; the dark colours are the same on every page."""
    with visiting(browser, reports[name], scheme=scheme) as visit:
        visit.page.evaluate(axe)
        visit.page.locator(".box").focus()
        visit.press("ArrowDown", "ArrowRight")
        found = visit.page.evaluate("axe.run()")
        assert [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]] == []
        assert len(found["passes"]) > 15


@pytest.mark.parametrize("name", SHARED)
def test_every_number_is_the_one_that_a_command_prints(
    browser: Browser, reports: dict[str, Path], name: str
) -> None:
    """Read from the page itself: the tiles, and the rows of the tables."""
    options = read_options(name)
    inspected = _ask("inspect", JOURNALS / name, *NOW, *options)
    audit = _ask("guard", "audit", JOURNALS / name, *options)
    with visiting(browser, reports[name]) as visit:
        for key, value in inspected["wakeups"].items():
            assert visit.read_number(f"wakeups.{key}") == value
        for key in ("wakeups", "longestStreak", "busiestHour", "busiestDay", "prevented"):
            assert visit.read_number(f"audit.{key}") == audit[key]
        for limit, count in audit["preventedBy"].items():
            assert visit.read_number(f"audit.preventedBy.{limit}") == count
        next_wake = visit.page.locator('[data-name="nextWake"] time')
        told = next_wake.get_attribute("datetime") if next_wake.count() else None
        assert told == inspected["nextWake"]
        active = [(row[0]["text"], row[1]["text"], row[2]["text"], row[3]["at"], row[8]["text"])
                  for row in visit.read_table("active")]  # fmt: skip
        assert visit.read_number("active") == len(active)
        assert active == [
            (view["id"], view["kind"], view["state"], view["scheduledAt"], view["prompt"])
            for view in inspected["active"]
        ]
        findings = [
            (row[0]["value"], row[1]["at"], row[2]["text"]) for row in visit.read_table("findings")
        ]
        assert findings == [(str(each["seq"]), each["at"], each["kind"]) for each in audit["findings"]]
        _compare_receipts(visit, _ask("receipts", JOURNALS / name, *options)["receipts"])


def test_the_rows_of_a_long_table_are_all_there_page_by_page(
    browser: Browser, reports: dict[str, Path], tmp_path: Path
) -> None:
    """The receipts of a busy session, as far as it is sensible to turn pages."""
    journal = write_busy(tmp_path / "s", 7, 30)
    page = write_report(journal, tmp_path / "page.html", *LATER)
    with visiting(browser, page) as visit:
        _compare_receipts(visit, _ask("receipts", journal)["receipts"])
    with visiting(browser, reports["busy"]) as visit:
        pager = visit.page.locator("section", has=visit.page.locator('[data-table="receipts"]'))
        assert "rows 1 to 50 of 99600" in pager.inner_text()


def _ask(*arguments: str | Path) -> Any:  # noqa: ANN401 - parsed JSON
    return json.loads(wakefold(*arguments, "--json").stdout)


def _compare_receipts(visit: Visit, receipts: list[dict[str, Any]]) -> None:
    rows = [
        (row[0]["value"], row[1]["text"], row[2]["at"], row[3]["at"], row[4]["value"])
        for row in visit.read_table("receipts")
    ]
    names = ("seq", "scheduleId", "occurrenceAt", "dispatchedAt", "lateMs")
    assert rows == [tuple(str(row[name]) for name in names) for row in receipts]
    assert rows


def test_keys_alone_reach_everything(browser: Browser, reports: dict[str, Path]) -> None:
    """Tab goes through every control, in the order of the page; the timeline has keys of its own."""
    with visiting(browser, reports["edited"]) as visit:
        reached = []
        for _ in range(60):
            visit.page.keyboard.press("Tab")
            here = visit.page.evaluate(
                "document.activeElement === document.body ? null : "
                "document.activeElement.getAttribute('aria-label') ?? "
                "document.activeElement.closest('label')?.firstChild.textContent.trim() ?? "
                "document.activeElement.textContent"
            )
            if here is None:
                break
            reached.append(here)
        controls = visit.page.evaluate(
            "[...document.querySelectorAll('a, button, input, select, summary, [tabindex]')].filter("
            "(each) => each.checkVisibility() && !each.disabled).length"
        )
        assert len(reached) == controls
        assert reached[:3] == ["Find", "Time", "Theme"]
        assert {"Zoom in", "Timeline of 2 reminders", "Dispatches", "All reminders"} <= set(reached)


def test_arrow_keys_walk_from_lane_to_lane_and_from_mark_to_mark(
    browser: Browser, reports: dict[str, Path]
) -> None:
    """Every mark of every lane is come to and told; at an end a key does nothing."""
    with visiting(browser, reports["edited"]) as visit:
        visit.page.locator(".box").focus()
        visit.press("ArrowDown")
        told = []
        for _ in range(12):
            told.append(visit.read_details()["What"])
            visit.press("ArrowRight")
        whats = list(dict.fromkeys(told))
        assert whats[:4] == [
            "Created, event 0",
            "Dispatch, event 5",
            "Edited, event 7",
            "Snoozed, event 8",
        ]
        visit.press("p")
        details = visit.read_details()
        assert details["What"] == "Dispatch, event 5"
        assert details["Late"] == "1 min 0 s"
        assert details["Prompt"] == "plants"
        visit.press("ArrowDown")
        assert visit.read_details()["Reminder"].startswith("grace")
        visit.press("ArrowUp", "ArrowUp", "ArrowUp", "Home")
        assert visit.read_details()["Reminder"].startswith("daily")
        visit.press("End")
        assert visit.read_details()["Reminder"].startswith("grace")


def test_keys_zoom_move_and_go_back_to_the_whole(browser: Browser, reports: dict[str, Path]) -> None:
    """What comes is farther out than the session."""
    with visiting(browser, reports["seed/gate"]) as visit:
        visit.page.locator(".box").focus()
        whole = visit.read_range()
        visit.press("+", "+")
        near = visit.read_range()
        visit.press("Shift+ArrowRight")
        moved = visit.read_range()
        visit.press("0")
        assert visit.read_range() == whole
        visit.press("c")
        assert len({whole, near, moved, visit.read_range()}) == 4


def test_a_batch_is_joined_by_a_line_and_named(browser: Browser, reports: dict[str, Path]) -> None:
    """While one of its dispatches is looked at."""
    with visiting(browser, reports["seed/gate"]) as visit:
        assert visit.page.locator("path.batch").count() == 0
        visit.page.locator(".box").focus()
        visit.press("ArrowDown", "ArrowDown", "n")
        details = visit.read_details()
        assert details["Batch"] == "2 reminders in one message: schedule-2, schedule-1"
        assert details["Guard"] == "would not have come: its reminder was ended by floor"
        assert (
            visit.page.locator("path.batch").count(),
            visit.page.locator("path.member").count(),
        ) == (2, 1)


def test_the_mouse_points_zooms_and_drags_and_a_plain_wheel_scrolls(
    browser: Browser, reports: dict[str, Path]
) -> None:
    """With ctrl or shift the wheel zooms."""
    with visiting(browser, reports["busy"]) as visit:
        box = visit.page.locator(".box").bounding_box()
        assert box is not None
        x, y = box["x"] + 700, box["y"] + 150
        visit.page.mouse.move(x, y)
        visit.settle()
        assert visit.read_details()["What"].startswith("Dispatch, event ")
        whole = visit.read_range()
        visit.page.mouse.wheel(0, 120)
        visit.page.wait_for_timeout(200)
        assert visit.read_range() == whole
        assert visit.page.evaluate("document.querySelector('.box').scrollTop") > 0
        visit.page.keyboard.down("Control")
        visit.page.mouse.wheel(0, -400)
        visit.page.keyboard.up("Control")
        visit.settle()
        near = visit.read_range()
        visit.page.mouse.down()
        visit.page.mouse.move(x - 200, y, steps=4)
        visit.page.mouse.up()
        visit.settle()
        assert len({whole, near, visit.read_range()}) == 3
        visit.require_calm()


def test_search_finds_by_id_and_by_text(browser: Browser, reports: dict[str, Path]) -> None:
    """Lanes and tables alike; what finds nothing says so."""
    with visiting(browser, reports["seed/gate"]) as visit:
        for text, ids in {
            "schedule-2": ["schedule-2"],
            "GATE": ["schedule-1", "schedule-2"],
            "": None,
        }.items():
            visit.page.get_by_label("Find").fill(text)
            visit.settle()
            names = visit.page.locator(".rows .name b").all_inner_texts()
            assert names == (ids or [f"schedule-{number}" for number in (1, 2, 3, 4)])
            assert [row[0]["text"] for row in visit.read_table("reminders")] == names
            found = visit.page.locator("output.found").inner_text()
            assert found == (f"{len(ids)} of 4 reminders" if ids else "")
        visit.page.get_by_label("Find").fill("nothing like it")
        visit.settle()
        assert visit.page.locator(".more").inner_text() == "No reminder matches."


def test_times_are_shown_in_utc_or_a_zone_and_stay_the_same_instants(
    browser: Browser, reports: dict[str, Path]
) -> None:
    """The session's own zone and the browser's, with their offsets."""
    with visiting(browser, reports["edited"]) as visit:
        before = [row[3] for row in visit.read_table("receipts")]
        assert before == [
            {"text": "2027-01-04 11:01:00Z", "value": "", "at": "2027-01-04T11:01:00.000Z"}
        ]
        visit.page.locator("select").first.select_option("Europe/Berlin")
        after = [row[3] for row in visit.read_table("receipts")]
        assert after == [{**before[0], "text": "2027-01-04 12:01:00 +01:00"}]
        assert "+01:00" in visit.read_range()
        ticks = visit.page.locator(".ticks text").all_text_contents()
        visit.page.locator("select").first.select_option("UTC")
        visit.settle()
        assert visit.page.locator(".ticks text").all_text_contents() != ticks


def test_the_theme_can_be_chosen_against_the_systems(
    browser: Browser, reports: dict[str, Path]
) -> None:
    """Light and dark differ, whatever the system says."""
    with visiting(browser, reports["seed/gate"], scheme="dark") as visit:
        read = "getComputedStyle(document.body).backgroundColor"
        dark = visit.page.evaluate(read)
        visit.page.get_by_label("Theme").select_option("light")
        light = visit.page.evaluate(read)
        visit.page.get_by_label("Theme").select_option("dark")
        assert light == "rgb(255, 255, 255)"
        assert visit.page.evaluate(read) == dark != light


def test_what_is_hostile_is_text(browser: Browser, reports: dict[str, Path]) -> None:
    """Nothing was run, and it stands there letter by letter."""
    with visiting(browser, reports["hostile"]) as visit:
        visit.require_calm()
        rows = list(visit.read_table("reminders"))
        assert rows[0][7]["text"] == HOSTILE[0]
        assert rows[3][7]["text"].startswith("gnp.\u27e6U+202E\u27e7exe")
        assert "the beginning of 1,000,000 characters" in rows[12][7]["text"]
        shown = visit.page.locator('[data-table="reminders"] button').nth(1)
        shown.click()
        assert shown.get_attribute("aria-expanded") == "true"
        assert len(list(visit.read_table("reminders"))[12][7]["text"]) > 4_000
        visit.require_calm()


def test_what_came_in_all_the_same_would_be_refused(browser: Browser, reports: dict[str, Path]) -> None:
    """The policy stands behind the text: a script, a handler, an image, a style, a request."""
    with visiting(browser, reports["hostile"]) as visit:
        visit.page.evaluate(
            """async () => {
              const script = document.createElement("script");
              script.textContent = "window.harmed = true";
              document.body.append(script);
              const rest = document.createElement("div");
              rest.innerHTML = '<p onclick="window.harmed = true" style="color: red">x</p>' +
                '<img src="https://example.org/x.png"><iframe src="https://example.org/"></iframe>';
              document.body.append(rest);
              rest.querySelector("p").click();
              await fetch("https://example.org/").catch(() => {});
              await new Promise((go) => setTimeout(go, 100));
            }"""
        )
        assert visit.page.evaluate("window.harmed") is None
        scripts = {"script-src-elem", "script-src-attr", "style-src-attr"}
        assert set(visit.refused) >= scripts | {"img-src", "frame-src", "connect-src"}
        assert len(visit.requests) == 1


def test_a_hundred_thousand_events_are_drawn_as_few_marks(
    browser: Browser, reports: dict[str, Path]
) -> None:
    """Only lanes in sight are drawn, each as a few paths; zoomed in, each dispatch is one."""
    with visiting(browser, reports["busy"]) as visit:
        assert visit.page.locator(".rows .row").count() < 40
        assert visit.page.locator("path").count() < 500
        visit.page.evaluate("document.querySelector('.box').scrollTop = 1e6")
        visit.settle()
        names = visit.page.locator(".rows .name b").all_inner_texts()
        assert names[-1] == "busy-59"
        visit.require_calm()


def test_print_shows_every_lane_and_no_controls(browser: Browser, reports: dict[str, Path]) -> None:
    """On light paper, whatever the theme; of a table a thousand rows, and how many there are."""
    with visiting(browser, reports["busy"], scheme="dark") as visit:
        receipts = visit.page.locator('[data-table="receipts"] tbody tr')
        section = visit.page.locator("section", has=visit.page.locator('[data-table="receipts"]'))
        section.get_by_role("button", name="Later rows").click()
        read = section.locator("output").inner_text()
        assert (receipts.count(), read[:14]) == (50, "rows 51 to 100")
        assert visit.page.pdf(print_background=True).startswith(b"%PDF")
        visit.page.emulate_media(media="print")
        visit.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert visit.page.locator(".rows .row").count() == 60
        assert (
            visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
            == "rgb(255, 255, 255)"
        )
        assert not visit.page.get_by_label("Find").is_visible()
        assert receipts.count() == 1000
        assert section.locator("output").inner_text() == read.replace("51 to 100", "1 to 1000")
        widths = visit.page.evaluate(
            "[document.querySelector('.box').scrollWidth, document.querySelector('.box').clientWidth]"
        )
        assert widths[0] == widths[1]
        visit.page.evaluate("dispatchEvent(new Event('afterprint'))")
        visit.page.emulate_media(media="screen")
        visit.settle()
        assert visit.page.locator(".rows .row").count() < 40
        assert (receipts.count(), section.locator("output").inner_text()) == (50, read)


PICTURES: Final[dict[str, tuple[str, Scheme, int, tuple[str, ...]]]] = {
    "gate-light": ("seed/gate", "light", 1280, ()),
    "gate-dark": ("seed/gate", "dark", 1280, ("ArrowDown", "ArrowDown", "n")),
    "gate-narrow": ("seed/gate", "light", 420, ()),
    "edited-light": ("edited", "light", 1280, ("ArrowDown", "n")),
    "busy-dark": ("busy", "dark", 1280, ()),
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_page_looks_as_it_did(browser: Browser, reports: dict[str, Path], name: str) -> None:
    """Seen from afar, since fonts and browsers differ a little."""
    journal, scheme, width, keys = PICTURES[name]
    with visiting(browser, reports[journal], scheme=scheme, width=width) as visit:
        if keys:
            visit.page.locator(".box").focus()
            visit.press(*keys)
        picture = visit.page.screenshot()
    keep_picture(name, picture)
    reference = (REFERENCES / f"{name}.png").read_bytes()
    assert measure_difference(browser, picture, reference) <= DIFFERENCE_MAX


def test_pictures_that_differ_are_told_apart(browser: Browser) -> None:
    """Another theme, another session, another size; one is like itself."""
    one, *others = [(REFERENCES / f"{name}.png").read_bytes() for name in PICTURES]
    assert measure_difference(browser, one, one) == 0
    for other in others:
        assert measure_difference(browser, one, other) > DIFFERENCE_MAX
