"""The guard's configuration: every field, what it takes and what it refuses."""

from __future__ import annotations

import pytest

from core_logs import ok, refused
from wakefold.guard_config import (
    DEFAULT_CONFIG,
    FIELD_NAMES,
    ConfigFault,
    GuardConfig,
    QuietHours,
    config_values,
    format_clock,
    read_guard_config,
)

NIGHT = {"from": "22:00", "to": "07:30", "timeZone": "Europe/Berlin"}
NOT_A_NUMBER = "must be a number"
NOT_FINITE = "must be a finite number"
NEGATIVE = "must not be negative"
OUTSIDE = "must lie within one day, 1440 minutes either way"
NO_TEXTS = 'must be a list of texts such as ["user", "a2a"]'
NO_COMMAND = "must be a path, or a list that holds a path and its arguments"
NO_WORDS = "must hold texts alone, the first of them a path"
NO_QUIET = 'must hold exactly from, to and timeZone, such as {from = "22:00", ...}'

ATTRIBUTES = {
    "maxConsecutiveWakeups": "max_consecutive_wakeups",
    "maxPerDay": "max_per_day",
    "maxPerHour": "max_per_hour",
    "resetKinds": "reset_kinds",
    "minRepeatingIntervalSeconds": "min_repeating_interval_seconds",
    "dayBoundaryOffsetMinutes": "day_boundary_offset_minutes",
    "notifyCmd": "notify_cmd",
    "notifyVia": "notify_via",
    "hold": "hold",
    "quietHours": "quiet_hours",
}


def fault_of(name: str, value: object) -> str:
    """What is wrong with a value, told of its own field."""
    fault = refused(read_guard_config({name: value}))
    assert fault.field == name
    return fault.problem


def test_the_defaults_are_those_of_the_page() -> None:
    """Nothing is configured, and everything has the value of spec section 12."""
    assert ok(read_guard_config({})) == DEFAULT_CONFIG == GuardConfig()
    assert config_values(DEFAULT_CONFIG) == {
        "maxConsecutiveWakeups": 6,
        "maxPerDay": 48,
        "maxPerHour": 4,
        "resetKinds": ["user", "a2a"],
        "minRepeatingIntervalSeconds": 1800,
        "dayBoundaryOffsetMinutes": 0,
        "notifyCmd": None,
        "notifyVia": "argument",
        "hold": False,
        "quietHours": None,
    }
    assert DEFAULT_CONFIG.configured == frozenset()
    assert tuple(ATTRIBUTES) == FIELD_NAMES


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("maxConsecutiveWakeups", 0, 0),
        ("maxConsecutiveWakeups", 6.0, 6),
        ("maxConsecutiveWakeups", 2.5, 2.5),
        ("maxPerDay", 0, 0),
        ("maxPerDay", 10**30, 10**30),
        ("maxPerHour", 1, 1),
        ("maxPerHour", 0, 0),
        ("maxPerHour", -1, -1),
        ("maxPerHour", -0.5, -0.5),
        ("minRepeatingIntervalSeconds", 0, 0),
        ("minRepeatingIntervalSeconds", 1e300, 1e300),
        ("dayBoundaryOffsetMinutes", 180, 180),
        ("dayBoundaryOffsetMinutes", -330.5, -330.5),
        ("dayBoundaryOffsetMinutes", 1440, 1440),
        ("dayBoundaryOffsetMinutes", -1440, -1440),
        ("resetKinds", ["user"], ("user",)),
        ("resetKinds", [], ()),
        ("notifyCmd", "/opt/tell", ("/opt/tell",)),
        ("notifyCmd", ["tell", "--all", ""], ("tell", "--all", "")),
        ("notifyCmd", "tell me all", ("tell me all",)),
        ("notifyVia", "argument", "argument"),
        ("notifyVia", "stdin", "stdin"),
        ("hold", True, True),
        ("hold", False, False),
        ("quietHours", NIGHT, QuietHours(1320, 450, "Europe/Berlin")),
        ("quietHours", {"from": "00:00", "to": "23:59", "timeZone": "UTC"}, QuietHours(0, 1439, "UTC")),
        (
            "quietHours",
            {"from": "09:05", "to": "09:06", "timeZone": "europe/berlin"},
            QuietHours(545, 546, "Europe/Berlin"),
        ),
    ],
)
def test_a_field_takes_its_values(name: str, value: object, kept: object) -> None:
    """The value is kept, its field is known for configured, and every other field is default."""
    config = ok(read_guard_config({name: value}))
    assert getattr(config, ATTRIBUTES[name]) == kept
    assert config.configured == {name}
    others = {field: shown for field, shown in config_values(config).items() if field != name}
    assert others.items() <= config_values(DEFAULT_CONFIG).items()


LIMITS = ("maxConsecutiveWakeups", "maxPerDay", "minRepeatingIntervalSeconds")


@pytest.mark.parametrize("name", [*LIMITS, "maxPerHour", "dayBoundaryOffsetMinutes"])
@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("6", NOT_A_NUMBER),
        (True, NOT_A_NUMBER),
        (False, NOT_A_NUMBER),
        (None, NOT_A_NUMBER),
        ([6], NOT_A_NUMBER),
        ({}, NOT_A_NUMBER),
        (float("inf"), NOT_FINITE),
        (float("-inf"), NOT_FINITE),
        (float("nan"), NOT_FINITE),
    ],
)
def test_a_number_is_a_finite_number(name: str, value: object, problem: str) -> None:
    """A wrong type and a number that is none are refused with the field's name."""
    assert fault_of(name, value) == problem


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        *((name, -1, NEGATIVE) for name in LIMITS),
        *((name, -1e-9, NEGATIVE) for name in LIMITS),
        ("dayBoundaryOffsetMinutes", 1440.5, OUTSIDE),
        ("dayBoundaryOffsetMinutes", -1441, OUTSIDE),
        ("resetKinds", "user", NO_TEXTS),
        ("resetKinds", ("user",), NO_TEXTS),
        ("resetKinds", {"user": 1}, NO_TEXTS),
        ("resetKinds", ["user", 1], NO_TEXTS),
        ("resetKinds", [""], NO_TEXTS),
        ("resetKinds", None, NO_TEXTS),
        ("notifyCmd", 7, NO_COMMAND),
        ("notifyCmd", None, NO_COMMAND),
        ("notifyCmd", [], NO_COMMAND),
        ("notifyCmd", {"path": "tell"}, NO_COMMAND),
        ("notifyCmd", "", NO_WORDS),
        ("notifyCmd", ["", "tell"], NO_WORDS),
        ("notifyCmd", ["tell", 7], NO_WORDS),
        ("notifyCmd", [7], NO_WORDS),
        ("notifyCmd", "tell\0", NO_WORDS),
        ("notifyCmd", ["tell", "a\0b"], NO_WORDS),
        ("notifyVia", "file", 'must be "argument" or "stdin"'),
        ("notifyVia", None, 'must be "argument" or "stdin"'),
        ("notifyVia", ["stdin"], 'must be "argument" or "stdin"'),
        ("hold", 1, "must be true or false"),
        ("hold", "true", "must be true or false"),
        ("hold", None, "must be true or false"),
    ],
)
def test_a_field_refuses_everything_else(name: str, value: object, problem: str) -> None:
    """A bound that is passed, or a shape that is not the field's own."""
    assert fault_of(name, value) == problem


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("22:00", NO_QUIET),
        (None, NO_QUIET),
        (["22:00", "07:30", "UTC"], NO_QUIET),
        ({}, NO_QUIET),
        ({"from": "22:00", "to": "07:30"}, NO_QUIET),
        ({**NIGHT, "days": ["mon"]}, NO_QUIET),
        ({**NIGHT, "from": "24:00"}, "needs a time such as 22:00 in from"),
        ({**NIGHT, "from": "9:00"}, "needs a time such as 22:00 in from"),
        ({**NIGHT, "from": 1320}, "needs a time such as 22:00 in from"),
        ({**NIGHT, "to": "07:60"}, "needs a time such as 22:00 in to"),
        ({**NIGHT, "to": "07:30:00"}, "needs a time such as 22:00 in to"),
        ({**NIGHT, "to": "\u0660\u0667:\u0663\u0660"}, "needs a time such as 22:00 in to"),
        ({**NIGHT, "to": "07:30\n"}, "needs a time such as 22:00 in to"),
        ({**NIGHT, "to": None}, "needs a time such as 22:00 in to"),
        ({**NIGHT, "to": "22:00"}, "must not begin and end at the same minute"),
        ({**NIGHT, "timeZone": "Berlin"}, "needs a timeZone such as UTC or Europe/Berlin"),
        ({**NIGHT, "timeZone": "+02:00"}, "needs a timeZone such as UTC or Europe/Berlin"),
        ({**NIGHT, "timeZone": 60}, "needs a timeZone such as UTC or Europe/Berlin"),
        ({**NIGHT, "timeZone": None}, "needs a timeZone such as UTC or Europe/Berlin"),
    ],
)
def test_quiet_hours_have_one_shape(value: object, problem: str) -> None:
    """Two times by the clock, not the same, and a zone that the tz database knows."""
    assert fault_of("quietHours", value) == problem


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("maxPerDya", "maxPerDay"),
        ("maxperhour", "maxPerHour"),
        ("quiethours", "quietHours"),
        ("notifycmd", "notifyCmd"),
        ("resetKind", "resetKinds"),
    ],
)
def test_an_unknown_field_is_refused_with_the_one_it_may_be(name: str, near: str) -> None:
    """A slip of the pen is no silent default."""
    assert fault_of(name, 1) == f"is no field of the guard; did you mean {near}"


def test_an_unknown_field_like_none_is_refused_with_all_of_them() -> None:
    """Whoever guesses is shown the choice."""
    assert fault_of("colour", "red") == f"is no field of the guard; known are {', '.join(ATTRIBUTES)}"


def test_the_first_bad_field_is_told() -> None:
    """One fault at a time, in the order of the file."""
    values = {"hold": True, "maxPerDay": -1, "colour": 1}
    assert refused(read_guard_config(values)) == ConfigFault("maxPerDay", NEGATIVE)
    assert refused(read_guard_config(dict(reversed(values.items())))).field == "colour"


FULL: dict[str, object] = {
    "maxConsecutiveWakeups": 3,
    "maxPerDay": 12.5,
    "maxPerHour": 0,
    "resetKinds": ["user"],
    "minRepeatingIntervalSeconds": 600,
    "dayBoundaryOffsetMinutes": -90,
    "notifyCmd": ["/opt/tell", "-v"],
    "notifyVia": "stdin",
    "hold": True,
    "quietHours": NIGHT,
}


@pytest.mark.parametrize(
    "values", [FULL, {}, {"notifyCmd": "tell"}, *({name: value} for name, value in FULL.items())]
)
def test_what_is_shown_can_be_read_again(values: dict[str, object]) -> None:
    """Every field of a configuration, as the file writes it, makes the same limits once more."""
    config = ok(read_guard_config(values))
    shown = config_values(config)
    assert tuple(shown) == FIELD_NAMES
    written = {name: value for name, value in shown.items() if value is not None}
    again = ok(read_guard_config(written))
    assert config_values(again) == shown
    assert again.configured == frozenset(written) >= config.configured == frozenset(values)
    for attribute in ATTRIBUTES.values():
        assert getattr(again, attribute) == getattr(config, attribute)


def test_what_is_configured_to_its_default_is_configured() -> None:
    """Who chose a value is remembered, not only what it is."""
    config = ok(read_guard_config({"maxPerDay": 48}))
    assert config_values(config) == config_values(DEFAULT_CONFIG)
    assert config.configured == {"maxPerDay"}


@pytest.mark.parametrize(
    ("minutes", "shown"), [(0, "00:00"), (59, "00:59"), (450, "07:30"), (1439, "23:59")]
)
def test_a_minute_of_the_day_is_shown_as_a_clock_does(minutes: int, shown: str) -> None:
    """Two digits and two digits."""
    assert format_clock(minutes) == shown
