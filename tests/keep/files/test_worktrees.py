"""Linked worktrees share the store: a claim in one warns in another, and keeps nobody off there."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from satchel import Conflict, InvalidInput, Released, Satchel
from satchel.base.clock import moment_text
from satchel.base.records import replace
from satchel.keep.files.service import Files
from satchel.keep.sessions.caller import Caller

if TYPE_CHECKING:
    from conftest import ManualClock

YEAR = "2026"


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
        f"in the main worktree src/** is held by ann since {moment_text(clock.now, '2026')} "
        f'until {moment_text(claim.expires_at, YEAR)} UTC (5 min left): "rename"',
    )
    assert [one.worktree for one in claimed.claims] == [trees.folder]


def test_a_claim_in_the_same_worktree_is_one(trees: Trees) -> None:
    trees.linked.files.claim(["src/a"], agent="ann")
    with pytest.raises(Conflict):
        trees.linked.files.claim(["src/"], agent="bob")
    notes = trees.main.files.claim(["src/"], agent="bob").notes
    assert any(note.startswith(f"in the worktree {trees.folder} src/a is held by ann since ") for note in notes)


def test_many_claims_in_other_worktrees_are_all_returned_and_the_notes_cut_short(trees: Trees) -> None:
    trees.main.files.claim([str(number) for number in range(25)], agent="ann")
    claimed = trees.linked.files.claim([str(number) for number in range(26)], agent="bob")
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


def test_asking_tells_this_worktree_from_others(trees: Trees) -> None:
    (claim,) = trees.main.files.claim(["a"], agent="ann").claims
    change = trees.main.files.record("a", "modified", agent="ann")
    (there,) = trees.linked.files.check(["a"], agent="bob").files
    assert (there.state, there.until, there.claims, there.elsewhere) == ("free", None, (), (claim,))
    assert (there.recent, there.worktree) == ((change,), trees.folder)
    (here,) = trees.main.files.check(["a"], agent="bob").files
    assert (here.state, here.claims, here.elsewhere, here.recent) == ("held", (claim,), (), (change,))
    (own,) = trees.linked.files.check(["a"], agent="ann").files
    assert (own.state, own.own) == ("free", ())


def test_an_absolute_path_counts_in_the_worktree_that_holds_it(trees: Trees) -> None:
    (claim,) = trees.main.files.claim([f"{trees.folder}/src/a", "b"], agent="ann").claims[:1]
    assert (claim.path, claim.worktree) == ("src/a", trees.folder)
    with pytest.raises(Conflict):
        trees.linked.files.claim(["src/a"], agent="bob")
    trees.main.files.claim(["src/a"], agent="bob")
    (there,) = trees.main.files.check([f"{trees.folder}/src/a"], agent="bob").files
    assert (there.file, there.worktree, there.state) == ("src/a", trees.folder, "held")
    assert [(one.file, one.worktree) for one in trees.main.files.check(agent="ann").files] == [
        ("b", None),
        ("src/a", trees.folder),
    ]


def test_a_server_of_a_linked_worktree_claims_in_the_main_one_and_in_a_third(trees: Trees, tmp_path: Path) -> None:
    main = trees.main.workplace.root
    third = tmp_path.resolve() / "third"
    git(Path(str(main)), "worktree", "add", "-q", str(third))
    claims = trees.linked.files.claim([f"{main}/a", f"{third}/src/", f"{third}/", "a"], agent="ann").claims
    assert [(one.path, one.worktree) for one in claims] == [
        ("a", None),
        ("src/**", str(third)),
        ("**", str(third)),
        ("a", trees.folder),
    ]


def test_a_worktree_within_the_main_one_holds_its_own_files(trees: Trees) -> None:
    main = str(trees.main.workplace.root)
    git(Path(main), "worktree", "add", "-q", f"{main}/trees/inner")
    for path in ("trees/inner/src/a", f"{main}/trees/inner/src/a"):
        (claim,) = trees.main.files.claim([path], agent="ann").claims
        assert (claim.path, claim.worktree) == ("src/a", f"{main}/trees/inner")
    assert trees.main.files.record("trees/inner/src/a", "modified").worktree == f"{main}/trees/inner"


def test_another_repository_is_outside_and_one_within_is_plain_files(trees: Trees, tmp_path: Path) -> None:
    main = Path(str(trees.main.workplace.root))
    for folder in (tmp_path.resolve() / "other", main / "vendor"):
        folder.mkdir()
        git(folder, "init", "-q")
    with pytest.raises(InvalidInput, match="outside the project"):
        trees.main.files.claim([f"{tmp_path.resolve()}/other/a"], agent="ann")
    (claim,) = trees.main.files.claim(["vendor/a"], agent="ann").claims
    assert (claim.path, claim.worktree) == ("vendor/a", None)


def test_a_folder_that_only_says_it_is_a_worktree_is_plain_files(trees: Trees) -> None:
    main = Path(str(trees.main.workplace.root))
    (main / "fake").mkdir()
    (main / "fake/.git").write_text(f"gitdir: {main}/.git/worktrees/feature\n")
    (claim,) = trees.main.files.claim(["fake/a"], agent="ann").claims
    assert (claim.path, claim.worktree) == ("fake/a", None)


def test_releasing_names_what_lies_in_another_worktree_by_its_whole_path(trees: Trees) -> None:
    there = f"{trees.folder}/a"
    trees.main.files.claim([there, "a"], agent="ann")
    assert trees.main.files.release(agent="ann").released == ("a",)
    assert trees.main.files.release([there, "a"], agent="ann") == Released("ann", (there,), ("a",))


def test_a_key_is_one_for_all_worktrees(trees: Trees) -> None:
    trees.main.files.claim(["issue:311"], agent="ann")
    with pytest.raises(Conflict):
        trees.linked.files.claim(["issue:311"], agent="bob")
    assert trees.linked.files.release(agent="ann").released == ("issue:311",)


def test_a_change_carries_its_worktree_and_is_read_from_every_one(trees: Trees) -> None:
    made = [trees.main.files.record("a", "modified"), trees.linked.files.record(f"{trees.folder}/a", "modified")]
    assert [change.worktree for change in made] == [None, trees.folder]
    for one in (trees.main, trees.linked):
        assert one.files.changes(file="a", order="asc").items == tuple(made)


def test_a_claim_in_a_clone_on_another_machine_says_whom_it_stops_where_somebody_works_in_another(
    satchel: Satchel,
) -> None:
    files = Files(replace(satchel.workplace, worktree="laptop:/home/ann/web"))
    assert files.claim(["src/alone.py"], agent="ann").notes == ()
    caller = Caller.of_request("token", "one")
    Files(replace(satchel.workplace, worktree="desk:/home/bob/web", caller=caller)).claim(["src/desk.py"], agent="bob")
    assert files.claim(shared=["src/shared.py"], agent="ann").notes == ()
    assert files.claim(["src/app.py"], agent="ann").notes == (
        "this claim holds in your clone; agents in other clones are told about it, not stopped",
    )
