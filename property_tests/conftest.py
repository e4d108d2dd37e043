"""Hypothesis profiles: the same examples on every run by default, forty times as many with `long`.

`WAKEFOLD_HYPOTHESIS_PROFILE=long pytest property_tests` runs the long one, on new examples each time.
"""

import os
from typing import Final

from hypothesis import HealthCheck, settings

EXAMPLES: Final = 40

# No law speaks of time: a slow machine must not fail one.
settings.register_profile(
    "wakefold",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=EXAMPLES,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "long",
    settings.get_profile("wakefold"),
    derandomize=False,
    print_blob=True,
    max_examples=40 * EXAMPLES,
)
settings.load_profile(os.environ.get("WAKEFOLD_HYPOTHESIS_PROFILE", "wakefold"))
