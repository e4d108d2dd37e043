"""The report's facts, and the page without a browser: what it holds, its policy, and the command."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from command import wakefold, wakefold_json
from journal_files import JOURNALS, NOON_MS, create_at, create_every, event, write_session
from report_pages import (
    HOSTILE,
    NOW,
    SHARED,
    WEB,
    read_data,
    read_options,
    write_busy,
    write_edited,
    write_hostile,
    write_report,
)
from wakefold import parse_instant
from wakefold.guard_config import config_values, read_guard_config
from wakefold_shell.report.pages import write_page
from wakefold_shell.report.texts import share_characters, show_name, show_text

LATER = ("--now", "2027-01-04T12:30:00Z")


def add_up(differences: list[int]) -> list[int]:
    """The numbers of which these are the differences."""
    sums: list[int] = []
    for difference in differences:
        sums.append(difference + (sums[-1] if sums else 0))
    return sums


def unpack_receipts(data: Any) -> list[tuple[int, str, int, int, str]]:  # noqa: ANN401 - parsed JSON
    """The dispatches of a page: seq, id, dispatched (epoch ms), late, delivery."""
    told = data["dispatches"]
    ids = (data["lanes"]["id"][lane] for lane in told["lane"])
    columns = (add_up(told["seq"]), ids, add_up(told["at"]), told["lateMs"], told["delivery"])
    return list(zip(*columns, strict=True))


def last_prompt(data: Any, name: str) -> str:  # noqa: ANN401 - as above
    """The prompt of a reminder as it is at last."""
    lane = len(data["lanes"]["id"]) - 1 - data["lanes"]["id"][::-1].index(name)
    text: str = data["texts"][data["lanes"]["prompts"][lane][-1][1]][0]
    return text


@pytest.mark.parametrize("journal", SHARED)
def test_a_page_holds_what_the_commands_print(journal: str, tmp_path: Path) -> None:
    """Of every carried journal: the inspection, the receipts, the audit."""
    path, options = JOURNALS / journal, read_options(journal)
    data = read_data(write_report(path, tmp_path / "page.html", *NOW, *options))
    shown = json.loads(wakefold("inspect", path, *NOW, *options, "--json").stdout)
    prompts = [view.pop("prompt") for view in shown["active"]]
    assert data["active"] == shown["active"]
    assert [last_prompt(data, view["id"]) for view in data["active"]] == prompts
    assert (data["nextWake"], data["wakeups"]) == (shown["nextWake"], shown["wakeups"])
    assert data["session"]["warnings"] == shown["warnings"]
    audit = json.loads(wakefold("guard", "audit", path, *options, "--json").stdout)
    assert data["audit"] == audit
    receipts = json.loads(wakefold("receipts", path, *options, "--json").stdout)["receipts"]
    assert unpack_receipts(data) == [
        (
            row["seq"],
            row["scheduleId"],
            parse_instant(row["dispatchedAt"]),
            row["lateMs"],
            row["delivery"],
        )
        for row in receipts
    ]
    for line, peak in (("streak", "longestStreak"), ("hour", "busiestHour"), ("day", "busiestDay")):
        assert max(data["counters"][line]["counts"], default=0) == audit[peak]


def test_a_fork_shows_what_it_inherited_and_counts_it_nowhere(tmp_path: Path) -> None:
    """Its parent's reminders are told apart, though an id is used again."""
    data = read_data(write_report(JOURNALS / "published/fork", tmp_path / "page.html", *NOW))
    standing = list(zip(data["lanes"]["id"], data["lanes"]["status"], strict=True))
    assert ("schedule-1", "inherited") in standing
    assert ("schedule-1", "delivered") in standing
    assert data["session"]["seedLength"] == 177
    own = [seq for seq in add_up(data["dispatches"]["seq"]) if seq >= 177]
    assert max(data["counters"]["streak"]["counts"]) == len(own) < len(data["dispatches"]["seq"])


def test_edits_pauses_snoozes_and_skips_are_told_in_the_order_of_the_log(tmp_path: Path) -> None:
    """Each with its instant and what it changed."""
    write_edited(tmp_path / "s")
    data = read_data(
        write_report(tmp_path / "s", tmp_path / "page.html", "--now", "2027-01-04T12:30:00Z")
    )
    assert [(row[3], row[4], row[5]) for row in data["changes"]] == [
        ("skipped", NOON_MS - 3_600_000, ""),
        ("updated", None, "title null, prompt the plants"),
        ("snoozed", NOON_MS + 86_400_000, ""),
        ("paused", None, ""),
        ("resumed", NOON_MS + 82_800_000, ""),
    ]
    lanes = data["lanes"]
    assert lanes["status"] == ["scheduled", "scheduled"]
    assert lanes["rule"][0] == (
        "time 12:00:00.000, timeZone Europe/Berlin, scheduledAt 2027-01-05T11:00:00.000Z, maxRuns 3"
    )
    assert [[seq for seq, _ in prompts] for prompts in lanes["prompts"]] == [[0, 7], [1]]
    assert [data["texts"][place][0] for _, place in lanes["prompts"][0]] == ["plants", "the plants"]
    assert data["turns"] == [[1, NOON_MS - 7_000_000, NOON_MS - 6_990_000, "completed"]]
    assert data["words"] == [[3, NOON_MS - 6_999_000, "user"]]
    assert [entry[1] for entry in data["upcoming"]][:2] == [NOON_MS + 82_800_000] * 2


def test_a_batch_is_one_number_and_a_one_shot_has_none(tmp_path: Path) -> None:
    """Whatever stands between its members."""
    told = {"version": 1, "operation": "dispatch"}
    accepted = {"acceptedAt": "2027-01-04T12:00:00.000Z"}
    write_session(
        tmp_path / "s",
        *(create_every(seq, name) for seq, name in enumerate("ab")),
        create_at(2, "once"),
        event(3, "schedule/change", {**told, "id": "a", **accepted}, NOON_MS),
        event(4, "schedule/change", {**told, "id": "once"}, NOON_MS),
        event(5, "schedule/change", {**told, "id": "b", **accepted}, NOON_MS),
    )
    data = read_data(write_report(tmp_path / "s", tmp_path / "page.html", *NOW))
    assert data["dispatches"]["batch"] == [0, -1, 0]


def test_the_standing_of_each_reminder_is_told(tmp_path: Path) -> None:
    """Held by the guard, and past the calendar's end."""
    write_session(tmp_path / "held", create_at(0))
    (tmp_path / "held" / "wakefold.toml").write_text(
        "[guard]\nhold = true\nmaxConsecutiveWakeups = 0\nnotifyCmd = ['tell', 'secret']\n", "utf-8"
    )
    page = write_report(tmp_path / "held", tmp_path / "page.html", "--now", "2027-02-01T00:00:00Z")
    data = read_data(page)
    assert (data["lanes"]["status"], data["nextWake"]) == (["held"], None)
    values = config_values(read_guard_config({"hold": True, "maxConsecutiveWakeups": 0}).unwrap())
    assert data["limits"] == {name: v for name, v in values.items() if not name.startswith("notify")}
    late = "9999-12-31T23:59:00.000Z"
    last = {"version": 1, "operation": "dispatch", "id": "a", "acceptedAt": late}
    write_session(
        tmp_path / "end",
        create_every(0, "a"),
        create_every(1, "b"),
        event(2, "schedule/change", last),
    )
    data = read_data(write_report(tmp_path / "end", tmp_path / "page.html", *NOW))
    assert data["lanes"]["status"] == ["no_next", "exhausted"]
    assert data["active"] == []


def test_a_reminder_whose_zone_is_unknown_is_warned_of(tmp_path: Path) -> None:
    """On the page, and by the command: it is not planned."""
    rule = {"kind": "daily", "time": "12:00:00.000", "timeZone": "Mars/Phobos"}
    schedule = {"id": "far", "prompt": "x", **rule, "scheduledAt": "2027-01-04T12:00:00.000Z"}
    create = {"version": 2, "operation": "create", "schedule": schedule}
    write_session(tmp_path / "s", event(0, "schedule/change", create))
    done = wakefold("report", tmp_path / "s", "-o", tmp_path / "page.html", *LATER)
    data = read_data(tmp_path / "page.html")
    (warning,) = data["session"]["warnings"]
    assert warning == wakefold_json("inspect", tmp_path / "s", *LATER)["warnings"][0]
    assert "Mars/Phobos" in warning
    assert done.stderr == f"wakefold: {warning}\n"
    assert data["upcoming"] == []


def test_limits_can_be_set_by_hand_and_the_audit_is_theirs(tmp_path: Path) -> None:
    """As for `guard audit`."""
    limit = ("--set", "maxPerHour=1")
    data = read_data(write_report(JOURNALS / "seed/gate", tmp_path / "page.html", *NOW, *limit))
    assert data["limits"]["maxPerHour"] == 1
    assert data["audit"] == wakefold_json("guard", "audit", JOURNALS / "seed/gate", *limit)


@pytest.mark.parametrize("store", ["zstd", "sqlite"])
def test_a_report_is_the_same_from_every_store(tmp_path: Path, store: str) -> None:
    """To the last number."""
    write_edited(tmp_path / "s")
    done = wakefold("convert", tmp_path / "s", tmp_path / "other", "--to", store)
    assert done.returncode == 0, done.stderr
    plain = write_report(tmp_path / "s", tmp_path / "plain.html", *LATER)
    other = write_report(tmp_path / "other", tmp_path / "other.html", *LATER)
    assert plain.read_bytes() == other.read_bytes()


def test_a_session_without_events_has_a_page(tmp_path: Path) -> None:
    """And so has one whose every time is past the calendar."""
    write_session(tmp_path / "s")
    data = read_data(write_report(tmp_path / "s", tmp_path / "page.html", *NOW))
    assert (data["session"]["events"], data["session"]["first"]) == (0, None)
    write_session(tmp_path / "t", event(0, "turn/start", {"turn": 1}, time=2**53 - 1))
    data = read_data(write_report(tmp_path / "t", tmp_path / "page.html", *NOW))
    assert data["turns"] == [[1, 2**53 - 1, None, None]]


def test_the_policy_allows_the_pages_own_script_and_style_and_nothing_else(tmp_path: Path) -> None:
    """By the digests of exactly the bytes between the tags."""
    text = write_report(JOURNALS / "seed/gate", tmp_path / "page.html", *NOW).read_text("utf-8")
    (policy,) = re.findall('http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    (script,) = re.findall("<script>(.*?)</script>", text, re.DOTALL)
    (style,) = re.findall("<style>(.*?)</style>", text, re.DOTALL)
    digests = [
        base64.b64encode(hashlib.sha256(part.encode()).digest()).decode() for part in (script, style)
    ]
    assert policy == (
        f"default-src 'none'; script-src 'sha256-{digests[0]}'; style-src 'sha256-{digests[1]}'; "
        "base-uri 'none'; form-action 'none'"
    )
    assert text.index("Content-Security-Policy") < text.index("<style>")
    frame = text.replace(script, "").replace(style, "")
    assert re.findall(r"<script[^>]*>", frame) == [
        '<script type="application/octet-stream" id="data">',
        "<script>",
    ]
    markup = re.sub(r"<pre.*?</pre>", "", frame, flags=re.DOTALL)
    assert re.findall(r"""\s(?:style|src|href|on\w+)=""", markup) == []
    assert "<!--" not in script


def test_a_script_that_holds_markup_is_shielded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What would end its element is another spelling of the same string."""
    (tmp_path / "built").mkdir()
    for name, text in {"page.js": "a='</script><!--'", "page.css": "b{}", "notices.md": "<x>"}.items():
        (tmp_path / "built" / name).write_text(text, "utf-8")
    monkeypatch.setattr("wakefold_shell.report.pages.files", lambda _: tmp_path)
    page = write_page({}).decode()
    assert "<script>a='\\x3C/script>\\x3C!--'</script>" in page
    assert "&lt;x&gt;" in page


def test_nothing_of_a_hostile_log_is_markup(tmp_path: Path) -> None:
    """Its id and prompts are in the data alone, in an alphabet that no markup is made of."""
    write_hostile(tmp_path / "s")
    page = write_report(tmp_path / "s", tmp_path / "page.html", *NOW)
    text = page.read_text("utf-8")
    assert "harmed" not in text
    assert "onerror" not in text
    data = read_data(page)
    assert (
        data["session"]["id"]
        == "</title><script>window.harmed = true</script>\u27e6U+202E\u27e7gnp.exe"
    )
    shown = [last_prompt(data, name) for name in data["lanes"]["id"]]
    assert shown[3] == "gnp.\u27e6U+202E\u27e7exe\u27e6U+202C\u27e7 the other way round"
    assert shown[5] == "cut \u27e6U+D800\u27e7 in half"
    assert shown[7] == "one\u27e6U+2028\u27e7two\nthree\ttabs"
    assert shown[11] == HOSTILE[11]
    assert data["texts"][12] == ["M" * 4_000, 1_000_000]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, caf\u00e9, \u05e9\u05dc\u05d5\u05dd \U0001f600\ttab\n", None),
        ("\u200b\u00ad\ufeff", "\u27e6U+200B\u27e7\u27e6U+00AD\u27e7\u27e6U+FEFF\u27e7"),
        (
            "\x00\x1b\x7f\x85\r",
            "\u27e6U+0000\u27e7\u27e6U+001B\u27e7\u27e6U+007F\u27e7\u27e6U+0085\u27e7\u27e6U+000D\u27e7",
        ),
        ("\U000e0041\ue000\u2029", "\u27e6U+E0041\u27e7\u27e6U+E000\u27e7\u27e6U+2029\u27e7"),
    ],
)
def test_what_cannot_be_seen_is_shown_by_its_number(text: str, shown: str | None) -> None:
    """Letters, marks and symbols of any script stay."""
    assert show_text(text) == (text if shown is None else shown)


def test_a_name_stands_on_one_line_and_a_long_one_is_cut() -> None:
    """A title has 120 characters at most; an id may have any."""
    assert show_name("a\nb\tc") == "a\u27e6U+000A\u27e7b\u27e6U+0009\u27e7c"
    assert show_name("x" * 200) == "x" * 200
    assert show_name("x" * 201) == "x" * 200 + "\u2026"


def test_many_texts_share_what_a_page_has_room_for() -> None:
    """None has less than a line's worth."""
    assert share_characters(0) == share_characters(500) == 4_000
    assert share_characters(10_000) == 200
    assert share_characters(10**6) == 80


def test_a_long_session_makes_a_small_page(tmp_path: Path) -> None:
    """A hundred thousand events, under six megabytes."""
    journal = write_busy(tmp_path / "s", 60, 1_660)
    told = wakefold_json("report", journal, "-o", tmp_path / "page.html", *NOW)
    assert told["events"] > 99_900
    assert (told["reminders"], told["dispatches"]) == (60, 99_600)
    assert told["bytes"] == (tmp_path / "page.html").stat().st_size < 6_000_000


def test_a_page_goes_to_standard_output_where_no_file_is_named(tmp_path: Path) -> None:
    """And a torn tail is told on standard error, in both ways."""
    torn = JOURNALS / "published/torn-tail"
    written = wakefold("report", torn, "-o", tmp_path / "page.html", *NOW)
    assert written.stdout == f"{tmp_path / 'page.html'}: reminders 2, dispatches 1\n"
    piped = wakefold("report", torn, *NOW)
    assert piped.stdout == (tmp_path / "page.html").read_text("utf-8")
    assert piped.stderr == written.stderr
    assert "the last write was cut off" in piped.stderr


def test_bad_input_and_wrong_usage_are_one_sentence(tmp_path: Path) -> None:
    """No page is left behind."""
    place = tmp_path / "page.html"
    corrupt = wakefold("report", JOURNALS / "published/every-live", "-o", place)
    assert (corrupt.returncode, corrupt.stdout) == (1, "")
    assert ":69 (byte 26396)" in corrupt.stderr
    assert corrupt.stderr.count("\n") == 1
    write_session(
        tmp_path / "s",
        create_at(0, "a"),
        event(1, "schedule/change", {"version": 1, "operation": "dispatch", "id": "b"}),
        create_at(2, "c"),
        header={"seedLength": 2},
    )
    inherited = wakefold("report", tmp_path / "s", "-o", place)
    assert inherited.returncode == 1
    assert "session.jsonl:3 " in inherited.stderr
    assert wakefold("report", JOURNALS / "seed/gate", "--json").returncode == 2
    nowhere = wakefold("report", JOURNALS / "seed/gate", "-o", tmp_path / "none" / "page.html")
    assert (nowhere.returncode, nowhere.stderr.count("\n")) == (1, 1)
    assert "name another file with --output" in nowhere.stderr
    assert not place.exists()


def _read_tokens(css: str, start: str) -> dict[str, str]:
    block = css.split(start, 1)[1].split("}", 1)[0]
    return dict(re.findall(r"--([a-z]+):\s*(#[0-9a-f]{6})", block))


def _measure_contrast(one: str, other: str) -> float:
    """The ratio as WCAG 2 defines it."""

    def shine(colour: str) -> float:
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    bright, dark = sorted((shine(one), shine(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def test_the_measure_of_contrast_is_the_known_one() -> None:
    """Black on white, and the grey that just passes."""
    assert _measure_contrast("#000000", "#ffffff") == pytest.approx(21)
    assert _measure_contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize(
    "start",
    [":root {", ':root:not([data-theme="light"]) {', ':root[data-theme="dark"] {', "@media print {"],
)
def test_every_colour_stands_out_from_its_ground(start: str) -> None:
    """Text at 4.5 to 1, marks at 3 to 1; what only divides or fills is not read."""
    tokens = _read_tokens((WEB / "source/page.css").read_text("utf-8"), start)
    for ground in (tokens["paper"], tokens["raised"]):
        for name in ("ink", "soft", "bad"):
            assert _measure_contrast(tokens[name], ground) >= 4.5, (name, ground)
        for name in ("dispatch", "late", "next", "word"):
            assert _measure_contrast(tokens[name], ground) >= 3, (name, ground)
    for name in ("bad", "dispatch"):
        assert _measure_contrast(tokens[name], tokens["tripped"]) >= 3, name
