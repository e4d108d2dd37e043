"""What must hold of an owner at every moment, whatever happens to it (spec section 8).

This module decides how each invariant is named and worded. It refuses to know when one is broken:
`owner_world` looks after each thing that happens, and `reminder_model` knows what is due.
"""

from __future__ import annotations

from typing import Final, Literal

#: The name of an invariant.
Invariant = Literal[
    "once",
    "early",
    "due",
    "distance",
    "held",
    "stopped",
    "claim",
    "turn",
    "answer",
    "timer",
    "look",
    "idle-wait",
    "asked",
    "stuck",
    "warning",
    "told",
    "disposal",
    "gone",
]

#: Each invariant in one sentence, by its name.
#:
#: :shape: a dict of sentences by `Invariant`, in the order in which they are listed
#: :units: none
#: :errors: none
#: :source: spec sections 7, 8 and 12; ours, docs/testing.md
INVARIANTS: Final[dict[Invariant, str]] = {
    "once": "No occurrence is handed over twice, or after its reminder was deleted.",
    "early": "Nothing is handed over before its target, by the clock sample of the claim.",
    "due": "All that one message may carry is in it: the first one-shot, else every due repeat.",
    "distance": "Two batches are accepted at least 300 s apart.",
    "held": "Nothing is handed over while the guard holds.",
    "stopped": "An owner that is disposing, faulted or replaced hands nothing over.",
    "claim": "A claim that was granted is released exactly once, before its turn ends.",
    "turn": "A turn is asked for only while none is asked for or held, and is ended once.",
    "answer": "A turn that is held waits for exactly one answer.",
    "timer": "The timer is armed for the earliest instant at which something can go, and never twice.",
    "look": "The timer is cancelled before a new look.",
    "idle-wait": "At most one idle wait is outstanding.",
    "asked": "Whoever asks for a look gets one: no run ends before it without asking for the next.",
    "stuck": "With something to deliver and a healthy store, an owner at rest has a timer or a wait.",
    "warning": "What is refused or breaks is warned of once; a replaced owner warns of nothing.",
    "told": "What is due in a zone that is unknown is told of by the next look, and never again.",
    "disposal": "Disposal goes on once it is asked for, and is reported when nothing is outstanding.",
    "gone": "A disposed owner orders nothing.",
}


class BrokenInvariant(AssertionError):
    """An invariant does not hold; says which, and what was seen.

    :shape: `name` is a key of `INVARIANTS`; the text has name, sentence and what was seen
    :units: none
    :errors: is an `AssertionError`
    :source: ours, docs/testing.md
    """

    def __init__(self, name: Invariant, seen: str) -> None:
        """The invariant's name, and what was seen instead."""
        super().__init__(f"{name}: {INVARIANTS[name]} Seen: {seen}.")
        self.name = name


def require(holds: bool, name: Invariant, seen: str) -> None:
    """Raise `BrokenInvariant` unless it holds."""
    if not holds:
        raise BrokenInvariant(name, seen)
