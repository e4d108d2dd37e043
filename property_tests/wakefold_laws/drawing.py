"""What the laws and their strategies take from Hypothesis, which comes with the extra `laws`.

This module decides nothing but what is said where the extra is missing: one sentence, not the name of
a module that nobody has heard of. Whatever else of the package needs Hypothesis imports it from here.
"""

from __future__ import annotations

try:
    from hypothesis import HealthCheck, assume, given, settings
    from hypothesis import strategies as st
except ModuleNotFoundError as error:
    sentence = "wakefold: the laws need the extra 'laws': pip install 'wakefold[laws]'."
    raise ImportError(sentence, name=error.name) from None

__all__ = ["HealthCheck", "assume", "given", "settings", "st"]
