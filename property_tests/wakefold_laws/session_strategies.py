"""Strategies for sessions as a host writes them: turns, steps, words, readings and the inbox.

This module decides what may happen to a session, in which order, and where its log is forked. It
refuses to judge: `host_model` writes the events, and `session_model` says what they tell.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import methodcaller
from typing import Final

from wakefold.conversations import EndKind, name_person
from wakefold.events import EveryRecord
from wakefold.recurrence import PROFILES
from wakefold_laws.drawing import st
from wakefold_laws.host_model import DAY_MS, HostModel
from wakefold_laws.session_model import SessionLog
from wakefold_laws.strategies import records

#: Something that a host does.
Deed = Callable[[HostModel], object]
_DEEDS: Final[tuple[Deed, ...]] = (
    *(HostModel.hand_over, HostModel.wake, HostModel.wake, HostModel.wake, HostModel.begin),
    *(HostModel.interrupt, HostModel.leave_word, HostModel.clear_up, methodcaller("sleep", DAY_MS)),
    *(methodcaller("take_turn", kind) for kind in ("completed", "failed", "interrupted")),
    *(methodcaller("say", zone) for zone in (None, "Asia/Tokyo")),
)
_WHENS_MS: Final = (0, 0, 1, 1000, -300_000, 300_000, -DAY_MS, 10**14)
_CHORUS: Final = (EveryRecord("e", "p", 300, 0), EveryRecord("f", "q", 86_400, 0))
_crowds = st.lists(records(), min_size=1, max_size=3) | st.just(_CHORUS)
_creates = st.builds(partial(methodcaller, "create"), _crowds, st.sampled_from(_WHENS_MS))
_deeds = st.lists(st.sampled_from(_DEEDS) | _creates, min_size=6, max_size=24)


def hosts() -> st.SearchStrategy[HostModel]:
    """A host after some deeds, often in a fork of a session that was cut anywhere."""
    return _draw_hosts(_deeds)


@st.composite
def _draw_hosts(draw: st.DrawFn, lives: st.SearchStrategy[list[Deed]]) -> HostModel:
    profile = draw(st.sampled_from(PROFILES))
    parent = HostModel([], 0, profile)
    for deed in draw(st.just([]) | lives):
        deed(parent)
    length = draw(st.integers(0, len(parent.events)))
    host = HostModel(parent.events[:length], length, profile)
    for deed in draw(lives):
        deed(host)
    return host


_SOURCES: Final = (
    *(name_person("r", zone) for zone in (None, "Asia/Tokyo", "Asia/Tokyo", "Europe/Berlin")),
    *({"kind": "a2a"}, {"kind": "plugin", "plugin": "other"}),
)
ASIDES: Final[tuple[Deed, ...]] = (
    *(HostModel.take_step, HostModel.answer, HostModel.hand_over),
    *(methodcaller("speak_up", source) for source in _SOURCES),
)
"""What happens inside a turn, and now and then outside of one."""

_WORDS: Final[tuple[Deed, ...]] = tuple(
    methodcaller("say", zone) for zone in ("Asia/Tokyo", "Europe/Berlin")
)
_asides = st.lists(st.sampled_from(ASIDES), max_size=3)
_ends: st.SearchStrategy[EndKind | None] = st.sampled_from(("completed", "failed", "interrupted", None))
_turns = st.builds(partial(methodcaller, "live_turn"), _asides, _ends)
_doings = st.sampled_from((*_DEEDS, *ASIDES, *_WORDS, *_WORDS, HostModel.fail_turn))
_LIVES: Final = st.lists(_doings | _doings | _turns | _creates, min_size=10, max_size=24)
_ZONES: Final = st.sampled_from(("Asia/Tokyo", "Asia/Tokyo", "Europe/Berlin", None))


@st.composite
def session_logs(draw: st.DrawFn) -> SessionLog:
    """Whole logs of a session, often of a fork.

    They hold turns of one or more steps, each begun with a time-context reading, reminders and words
    that wait in the inbox, words of persons, agents and plugins inside and outside of turns, and turns
    that ended well, ended badly or never ended.
    """
    host = draw(_draw_hosts(_LIVES))
    return SessionLog(tuple(host.events), host.seed_length, host.profile, draw(_ZONES))
