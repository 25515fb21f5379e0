"""Claiming files: what is kept of a claim, what stands together, and when it ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from keep.files.claims_shown import MINUTE, SECRET, held
from satchel import Claim, Claimed, Conflict, Satchel
from satchel.keep.sessions.caller import SERVER

if TYPE_CHECKING:
    from conftest import ManualClock


def test_every_field_of_a_claim_comes_back(satchel: Satchel, clock: ManualClock) -> None:
    claimed = satchel.files.claim(shared=["src/a.py"], minutes=7, reason="rename", agent="Ann")
    (claim,) = claimed.claims
    assert claimed == Claimed("Ann", (claim,), (), (), (), (), claimed_at=clock.now, new=("src/a.py",))
    assert claim == Claim(
        id=claim.id,
        uid=claim.uid,
        seq=satchel.housekeeping.statistics().seq,
        path="src/a.py",
        exclusive=False,
        agent="Ann",
        worktree=None,
        reason="rename",
        created_at=clock.now,
        expires_at=clock.now + 7 * MINUTE,
    )
    assert len(bytes.fromhex(claim.uid)) == 16
    page = satchel.files.claims()
    assert (page.items, page.total, page.seq, page.notes) == ((claim,), 1, claim.seq, ())


def test_a_claim_is_exclusive_for_the_configured_time_unless_asked_otherwise(
    open_in: Callable[..., Satchel], project: Path, clock: ManualClock
) -> None:
    satchel = open_in(project, agent="ann", settings={"claims.minutes": 12})
    (claim,) = satchel.files.claim(["a"]).claims
    assert (claim.exclusive, claim.expires_at, claim.agent, claim.reason) == (
        True,
        clock.now + 12 * MINUTE,
        "ann",
        None,
    )


@pytest.mark.parametrize("minutes", [1, 10_080])
def test_the_time_of_a_claim_reaches_from_a_minute_to_a_week(
    satchel: Satchel, clock: ManualClock, minutes: int
) -> None:
    (claim,) = satchel.files.claim(["a"], minutes=minutes, agent="ann").claims
    assert claim.expires_at == clock.now + minutes * MINUTE


def test_claims_stand_in_the_order_asked_for_each_once(satchel: Satchel) -> None:
    claimed = satchel.files.claim(["z", "src/", "./z", "a", "src/**"], agent="ann")
    assert [claim.path for claim in claimed.claims] == ["z", "src/**", "a"]
    assert len({claim.seq for claim in claimed.claims}) == 3
    assert held(satchel) == [("ann", "z"), ("ann", "src/**"), ("ann", "a")]


def test_an_absolute_path_and_a_relative_one_are_the_same_claim(satchel: Satchel, project: Path) -> None:
    satchel.files.claim([f"{project}/src/a", f"{project}/lib/"], agent="ann")
    for path in ("src/a", "./src/a", "lib/x", f"{project}/src/../lib/y"):
        with pytest.raises(Conflict):
            satchel.files.claim([path], agent="bob")


@pytest.mark.parametrize(("first", "second"), [("link/a", "src/a"), ("src/a", "link/"), ("link/", "src/a")])
def test_a_claim_through_a_link_meets_the_one_on_the_file(
    satchel: Satchel, project: Path, first: str, second: str
) -> None:
    (project / "src").mkdir()
    (project / "link").symlink_to("src")
    satchel.files.claim([first], agent="ann")
    with pytest.raises(Conflict):
        satchel.files.claim([second], agent="bob")
    assert held(satchel) == [("ann", first.replace("link", "src") + "**" * first.endswith("/"))]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("src/a", "src/a"),
        ("src/", "src/a"),
        ("src/a", "src/"),
        ("src/", "src/x/"),
        ("src/x/", "src/"),
        ("src/", "src"),
        (".", "a"),
        ("a", "."),
        (".", "src/"),
        ("src/", "."),
        (".", "."),
    ],
)
def test_what_overlaps_is_kept_from_another(satchel: Satchel, first: str, second: str) -> None:
    satchel.files.claim([first], agent="ann")
    with pytest.raises(Conflict):
        satchel.files.claim([second], agent="bob")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("src/a", "src/ab"),
        ("src/ab", "src/a"),
        ("src/a/", "src/ab"),
        ("src/ab", "src/a/"),
        ("src/a/", "src/a-b/c"),
        ("src/a/", "src/a0"),
        ("src/a/", "src/a.py"),
        ("s_c/", "src/a"),
        ("%/", "src/a"),
        ("src/a", "src/a/b"),
        ("src/a", "src/A"),
        ("src/a/", "src/b/"),
    ],
)
def test_what_stands_beside_a_claim_is_free(satchel: Satchel, first: str, second: str) -> None:
    satchel.files.claim([first], agent="ann")
    satchel.files.claim([second], agent="bob")
    assert len(held(satchel)) == 2


def test_shared_claims_of_several_agents_stand_together_and_are_named(satchel: Satchel) -> None:
    first = satchel.files.claim(shared=["src/"], agent="ann").claims
    second = satchel.files.claim(shared=["src/a"], agent="bob")
    assert second.shared == first
    assert satchel.files.claim(shared=["lib/"], agent="bob").shared == ()
    assert held(satchel) == [("ann", "src/**"), ("bob", "src/a"), ("bob", "lib/**")]


@pytest.mark.parametrize(("first", "second"), [(True, True), (True, False), (False, True)])
def test_an_exclusive_claim_stands_with_no_other(satchel: Satchel, first: bool, second: bool) -> None:
    satchel.files.claim(["src/a"] if first else (), shared=() if first else ["src/a"], agent="ann")
    with pytest.raises(Conflict):
        satchel.files.claim(["src/a"] if second else (), shared=() if second else ["src/a"], agent="bob")


def test_ones_own_claim_is_renewed_with_its_reason_and_beginning(satchel: Satchel, clock: ManualClock) -> None:
    (first,) = satchel.files.claim(["a"], minutes=5, reason="rename", agent="ann").claims
    clock.advance(MINUTE)
    again = satchel.files.claim(["b", "./a"], minutes=2, agent="ANN")
    assert again.renewed == ("a",)
    renewed = again.claims[1]
    assert (renewed.id, renewed.uid, renewed.created_at) == (first.id, first.uid, first.created_at)
    assert (renewed.reason, renewed.expires_at) == ("rename", clock.now + 2 * MINUTE)
    assert renewed.seq > first.seq
    assert again.claims[0].reason is None
    assert satchel.files.claim(["a"], reason="other", agent="ann").claims[0].reason == "other"


def test_a_claim_that_ended_begins_anew(satchel: Satchel, clock: ManualClock) -> None:
    (first,) = satchel.files.claim(["a"], minutes=1, reason="rename", agent="ann").claims
    clock.advance(MINUTE)
    again = satchel.files.claim(["a"], agent="ann")
    assert again.renewed == ()
    assert (again.claims[0].created_at, again.claims[0].reason) == (clock.now, None)
    assert again.claims[0].uid != first.uid


def test_a_shared_claim_becomes_exclusive_unless_another_shares(satchel: Satchel) -> None:
    satchel.files.claim(shared=["a"], agent="ann")
    assert satchel.files.claim(["a"], agent="ann").claims[0].exclusive
    assert not satchel.files.claim(shared=["a"], agent="ann").claims[0].exclusive
    satchel.files.claim(shared=["a"], agent="bob")
    with pytest.raises(Conflict, match="a is held by bob, shared"):
        satchel.files.claim(["a"], agent="ann")
    assert [claim.exclusive for claim in satchel.files.claims()] == [False, False]


def test_a_claim_ends_at_its_time_and_counts_for_nothing_from_then_on(satchel: Satchel, clock: ManualClock) -> None:
    (claim,) = satchel.files.claim(["src/"], minutes=1, agent="ann").claims
    clock.now = claim.expires_at - 1
    with pytest.raises(Conflict):
        satchel.files.claim(["src/a"], agent="bob")
    assert satchel.files.check(["src/a"]).is_held
    assert satchel.files.claims().total == 1
    clock.now = claim.expires_at
    assert not satchel.files.check(["src/a"]).is_held
    assert satchel.files.claims().total == 0
    assert satchel.files.claims(path="src/").total == 0
    satchel.files.claim(["src/a"], agent="bob")


@pytest.mark.parametrize("write", ["claim", "release"])
def test_claims_that_ended_are_over_with_the_next_write(satchel: Satchel, clock: ManualClock, write: str) -> None:
    satchel.files.claim(["a", "b"], minutes=1, agent="ann")
    satchel.files.claim(["c"], minutes=9, agent="ann")
    clock.advance(MINUTE)
    if write == "claim":
        satchel.files.claim(["d"], agent="bob")
    else:
        satchel.files.release(["d"], agent="ann")
    with satchel.workplace.engine.read() as transaction:
        paths = [row[0] for row in transaction.all("SELECT path FROM file_claims WHERE is_over = 0 ORDER BY path")]
    assert paths == (["c", "d"] if write == "claim" else ["c"])


def test_a_secret_in_a_reason_is_redacted_and_said_and_the_reason_is_one_line(satchel: Satchel) -> None:
    claimed = satchel.files.claim(["a"], reason=f"rotating\n  {SECRET}", agent="ann")
    reason = claimed.claims[0].reason
    assert reason is not None
    assert SECRET not in reason
    assert "\n" not in reason
    assert ["redacted" in note for note in claimed.notes] == [True]


def test_a_folder_claimed_by_its_bare_name_is_pointed_out(satchel: Satchel, project: Path) -> None:
    (project / "src").mkdir()
    (project / "a.py").touch()
    assert satchel.files.claim(["src", "a.py", "gone"], agent="ann").notes == (
        "src is a folder: only its name is claimed; claim src/ for the files in it",
    )


def test_a_claim_in_another_project_of_the_store_keeps_nobody_off(
    open_in: Callable[..., Satchel], project: Path
) -> None:
    open_in(project, project="one").files.claim(["."], agent="ann")
    other = open_in(project, project="two")
    claimed = other.files.claim(["src/", "a"], agent="bob")
    assert (claimed.elsewhere, claimed.shared) == ((), ())
    assert other.files.claims().total == 2
    assert not other.files.check(["a"], agent="bob").files[0].claims
    other.files.release(agent="ann")
    assert open_in(project, project="one").files.claims().total == 1


def test_what_an_agent_holds_by_its_name_is_its_sessions_once_it_claims_it_there(
    satchel: Satchel, open_in: Callable[..., Satchel], project: Path, clock: ManualClock
) -> None:
    server = open_in(project, caller=SERVER)
    server.files.claim(shared=["a"], agent="bob")
    satchel.files.claim(shared=["a"], agent="ann")
    server.files.claim(shared=["a"], minutes=5, agent="ann")
    ends = {claim.agent: claim.expires_at - clock.now for claim in satchel.files.claims()}
    assert ends == {"bob": 5 * MINUTE}
