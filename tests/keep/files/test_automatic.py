"""Automatic claims: those of hooks, which watch an agent at work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from keep.files.claims_shown import MINUTE, claim_automatically
from satchel import Conflict, Satchel

if TYPE_CHECKING:
    from conftest import ManualClock


def test_it_keeps_others_off_like_any_claim(satchel: Satchel) -> None:
    (claim,) = claim_automatically(satchel, "a", agent="ann")
    assert (claim.automatic, claim.exclusive) == (True, True)
    assert satchel.files.claims().items == (claim,)
    with pytest.raises(Conflict, match="a is held by ann"):
        satchel.files.claim(["a"], agent="bob")


def test_it_neither_shortens_nor_changes_an_explicit_claim_of_the_agent(satchel: Satchel, clock: ManualClock) -> None:
    (explicit,) = satchel.files.claim(["a"], minutes=30, reason="rename", agent="ann").claims
    (claim,) = claim_automatically(satchel, "a", agent="ann")
    assert (claim.automatic, claim.reason, claim.expires_at) == (False, "rename", explicit.expires_at)
    clock.advance(27 * MINUTE)
    (longer,) = claim_automatically(satchel, "a", agent="ann")
    assert (longer.automatic, longer.reason, longer.expires_at) == (False, "rename", clock.now + 5 * MINUTE)


def test_an_explicit_claim_makes_an_automatic_one_explicit(satchel: Satchel, clock: ManualClock) -> None:
    claim_automatically(satchel, "a", agent="ann")
    (claim,) = satchel.files.claim(["a"], minutes=2, agent="ann").claims
    assert (claim.automatic, claim.expires_at) == (False, clock.now + 2 * MINUTE)
