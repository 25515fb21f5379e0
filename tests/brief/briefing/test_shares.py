"""How the sections share a budget, by role and by configuration."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.base.vocabulary import SECTIONS
from satchel.brief.briefing.shares import ROLES, max_packages, shares_of

roles = st.sampled_from([*ROLES, "gardener", None])


@given(roles, st.dictionaries(st.sampled_from(SECTIONS), st.integers(1, 100)))
def test_the_shares_of_every_role_make_a_whole(role: str | None, chosen: dict[str, int]) -> None:
    shares = shares_of(role, chosen)
    assert set(shares) == set(SECTIONS)
    assert sum(shares.values()) == pytest.approx(1)


@given(roles)
def test_no_section_goes_without_a_share_by_default(role: str | None) -> None:
    assert min(shares_of(role).values()) > 0


def test_a_role_that_is_not_known_shares_as_none_does() -> None:
    assert shares_of("gardener") == shares_of(None)


def test_roles_share_differently() -> None:
    assert shares_of("qa_expert")["reviews"] > shares_of("investigator")["reviews"]


def test_a_weight_that_was_chosen_replaces_that_of_the_table() -> None:
    chosen = {**dict.fromkeys(SECTIONS, 0), "rules": 1, "messages": 3}
    assert shares_of("developer", chosen) == {**dict.fromkeys(SECTIONS, 0.0), "rules": 0.25, "messages": 0.75}


def test_weights_of_nothing_leave_no_shares() -> None:
    assert set(shares_of(None, dict.fromkeys(SECTIONS, 0)).values()) == {0.0}


@pytest.mark.parametrize(
    ("role", "most"), [("developer", 3), *((role, 5) for role in ROLES[1:]), ("gardener", 3), (None, 3)]
)
def test_how_many_packages_a_role_is_shown(role: str | None, most: int) -> None:
    assert max_packages(role) == most
