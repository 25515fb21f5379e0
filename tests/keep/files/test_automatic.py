"""Automatic claims: those of a program that watches an agent at work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from keep.files.claims_shown import MINUTE
from satchel import Conflict, Satchel
from satchel.keep.sessions.caller import SERVER

if TYPE_CHECKING:
    from conftest import ManualClock


def commits(satchel: Satchel) -> int:
    """How many transactions wrote to the store."""
    return satchel.workplace.engine.commits


def test_an_automatic_claim_holds_for_five_minutes_and_says_what_it_is(satchel: Satchel, clock: ManualClock) -> None:
    (claim,) = satchel.files.claim(["a"], automatic=True, agent="ann").claims
    assert (claim.automatic, claim.exclusive, claim.expires_at) == (True, True, clock.now + 5 * MINUTE)
    assert satchel.files.claims().items == (claim,)
    assert satchel.files.claim(["b"], automatic=True, minutes=2, agent="ann").claims[0].expires_at == (
        clock.now + 2 * MINUTE
    )


def test_it_keeps_others_off_like_any_claim(satchel: Satchel) -> None:
    satchel.files.claim(["a"], automatic=True, agent="ann")
    for automatic in (False, True):
        with pytest.raises(Conflict, match="a is held by ann"):
            satchel.files.claim(["a"], automatic=automatic, agent="bob")


def test_within_a_minute_it_is_not_renewed_and_nothing_is_written(satchel: Satchel, clock: ManualClock) -> None:
    first = satchel.files.claim(["a", "issue:1"], automatic=True, agent="ann").claims
    before = commits(satchel)
    clock.advance(MINUTE - 1)
    again = satchel.files.claim(["a", "issue:1"], automatic=True, agent="ann")
    assert (again.claims, again.renewed, commits(satchel)) == (first, ("a", "issue:1"), before)
    clock.advance(1)
    renewed = satchel.files.claim(["a", "issue:1"], automatic=True, agent="ann").claims
    assert [one.expires_at for one in renewed] == [clock.now + 5 * MINUTE] * 2
    assert commits(satchel) == before + 1


def test_what_is_not_all_held_is_claimed_at_once(satchel: Satchel, clock: ManualClock) -> None:
    satchel.files.claim(["a"], automatic=True, agent="ann")
    claimed = satchel.files.claim(["a", "b"], automatic=True, agent="ann")
    assert (len(claimed.claims), claimed.renewed) == (2, ("a",))
    satchel.files.claim(shared=["c"], automatic=True, agent="ann")
    assert satchel.files.claim(["c"], automatic=True, agent="ann").claims[0].exclusive


def test_it_is_renewed_by_the_session_whatever_its_agents_are_called(
    open_in: Callable[..., Satchel], project: Path
) -> None:
    server = open_in(project, caller=SERVER)
    server.files.claim(["a"], automatic=True, agent="ann")
    before = commits(server)
    assert server.files.claim(["a"], automatic=True, agent="sub").renewed == ("a",)
    assert commits(server) == before


def test_it_leaves_an_explicit_claim_of_the_agent_as_it_is(satchel: Satchel, clock: ManualClock) -> None:
    (explicit,) = satchel.files.claim(["a"], minutes=30, reason="rename", agent="ann").claims
    before = commits(satchel)
    assert satchel.files.claim(["a"], automatic=True, agent="ann").claims == (explicit,)
    assert commits(satchel) == before
    clock.advance(27 * MINUTE)
    (longer,) = satchel.files.claim(["a"], automatic=True, agent="ann").claims
    assert (longer.automatic, longer.reason, longer.expires_at) == (False, "rename", clock.now + 5 * MINUTE)


def test_an_explicit_claim_makes_an_automatic_one_explicit(satchel: Satchel, clock: ManualClock) -> None:
    satchel.files.claim(["a"], automatic=True, agent="ann")
    (claim,) = satchel.files.claim(["a"], minutes=2, agent="ann").claims
    assert (claim.automatic, claim.expires_at) == (False, clock.now + 2 * MINUTE)


def test_the_files_of_a_folder_are_not_counted_for_it(satchel: Satchel) -> None:
    assert satchel.files.claim(["src/"], automatic=True, agent="ann").notes == ()
