"""Every law holds, under the profile of this folder."""

from __future__ import annotations

import pytest

from wakefold_laws.laws import Law, check_law, list_laws


@pytest.mark.parametrize("law", list_laws(), ids=lambda law: f"{law.room}/{law.name}")
def test_a_law_holds(law: Law[...]) -> None:
    """By its own share of the profile's examples."""
    check_law(law)
