"""Linked worktrees share the store: a claim in one warns in another, and keeps nobody off there."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from satchel import Conflict, Released, Satchel
from satchel.base.clock import iso

if TYPE_CHECKING:
    from conftest import ManualClock


class Trees(NamedTuple):
    """The main worktree of a repository, opened, and a linked one with its folder."""

    main: Satchel
    linked: Satchel
    folder: str


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments],
        cwd=folder,
        check=True,
        capture_output=True,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"},
    )


@pytest.fixture
def trees(tmp_path: Path, open_in: Callable[..., Satchel]) -> Trees:
    base = tmp_path.resolve()
    main, linked = base / "app", base / "elsewhere" / "feature"
    main.mkdir()
    git(main, "init", "-q", "-b", "main")
    git(main, "commit", "-q", "--allow-empty", "-m", "first")
    git(main, "worktree", "add", "-q", str(linked))
    return Trees(open_in(main), open_in(linked), str(linked))


def test_a_claim_in_another_worktree_is_no_conflict_and_is_said(trees: Trees, clock: ManualClock) -> None:
    (claim,) = trees.main.files.claim(["src/"], minutes=5, reason="rename", agent="ann").claims
    claimed = trees.linked.files.claim(["src/a"], agent="bob")
    assert (claimed.elsewhere, claimed.shared) == ((claim,), ())
    assert claimed.notes == (
        f"in the main worktree src/** is held by ann since {iso(clock.now)} until {iso(claim.expires_at)} (rename)",
    )
    assert [one.worktree for one in claimed.claims] == [trees.folder]


def test_a_claim_in_the_same_worktree_is_one(trees: Trees) -> None:
    trees.linked.files.claim(["src/a"], agent="ann")
    with pytest.raises(Conflict):
        trees.linked.files.claim(["src/"], agent="bob")
    note = trees.main.files.claim(["src/"], agent="bob").notes[0]
    assert note.startswith(f"in the worktree {trees.folder} src/a is held by ann since ")


def test_many_claims_in_other_worktrees_are_all_returned_and_the_notes_cut_short(trees: Trees) -> None:
    trees.main.files.claim([str(number) for number in range(25)], agent="ann")
    claimed = trees.linked.files.claim(["."], agent="bob")
    assert len(claimed.elsewhere) == 25
    assert len(claimed.notes) == 21
    assert claimed.notes[-1] == "5 more claims are held in other worktrees"


def test_an_agent_holds_a_path_once_in_each_worktree(trees: Trees) -> None:
    trees.main.files.claim(["a"], agent="ann")
    claimed = trees.linked.files.claim(["a"], agent="ann")
    assert (claimed.renewed, claimed.elsewhere, claimed.notes) == ((), (), ())
    assert [claim.worktree for claim in trees.main.files.claims()] == [trees.folder, None]


def test_releasing_ends_the_claims_of_this_worktree_alone(trees: Trees) -> None:
    for one in (trees.main, trees.linked):
        one.files.claim(["a", "b"], agent="ann")
    assert trees.linked.files.release(["a"], agent="ann").released == ("a",)
    assert trees.linked.files.release(["a"], agent="ann") == Released("ann", (), ("a",))
    assert trees.linked.files.release(agent="ann").released == ("b",)
    assert [claim.path for claim in trees.linked.files.claims(author="ann", path="a")] == ["a"]
    assert trees.main.files.release(agent="ann").released == ("a", "b")


def test_a_lock_tells_this_worktree_from_others(trees: Trees, clock: ManualClock) -> None:
    (claim,) = trees.main.files.claim(["a"], agent="ann").claims
    change = trees.main.files.record("a", "modified", agent="ann")
    there = trees.linked.files.check_lock("a", agent="bob")
    assert (there.locked, there.until, there.claims, there.elsewhere, there.recent) == (
        False,
        None,
        (),
        (claim,),
        (change,),
    )
    here = trees.main.files.check_lock("a", agent="bob")
    assert (here.locked, here.claims, here.elsewhere, here.recent) == (True, (claim,), (), (change,))
    assert len(trees.linked.files.check_lock("a", agent="ann").own) == 1


def test_only_a_change_of_the_same_worktree_locks_however_many_others_came_later(
    trees: Trees, clock: ManualClock
) -> None:
    here = trees.linked.files.record("a", "modified", agent="ann")
    for _ in range(20):
        clock.advance(1)
        trees.main.files.record("a", "modified", agent="ann")
    lock = trees.linked.files.check_lock("a", agent="bob")
    assert {change.worktree for change in lock.recent} == {None}
    assert (lock.locked, lock.until) == (True, here.created_at + 300_000)


def test_a_change_carries_its_worktree_and_is_read_from_every_one(trees: Trees) -> None:
    made = [trees.main.files.record("a", "modified"), trees.linked.files.record(f"{trees.folder}/a", "modified")]
    assert [change.worktree for change in made] == [None, trees.folder]
    for one in (trees.main, trees.linked):
        assert one.files.changes(file="a", order="asc").changes == tuple(made)
