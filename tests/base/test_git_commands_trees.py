"""Files as commits have them, asked of real git."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from repositories import commit_all, git, make_repository
from satchel.base import git_commands
from satchel.base.git_commands import authors, contents, files_at, merge_base
from satchel.base.git_files import read_branches, read_head


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with two files below ``docs`` and one beside it."""
    folder = make_repository(tmp_path / "project")
    (folder / "docs/deep").mkdir(parents=True)
    (folder / "docs/a.md").write_bytes(b"a\n\0b\n")
    (folder / "docs/deep/b.md").write_text("")
    (folder / "c.md").write_text("c")
    (folder / "docs/link").symlink_to("a.md")
    commit_all(folder)
    return folder


def test_files_of_a_commit_are_listed_and_read(repository: Path) -> None:
    """Whatever bytes they hold; a link is told from a file."""
    head = git(repository, "rev-parse", "HEAD")
    files = files_at(str(repository), head, "docs")
    assert files is not None
    assert [(file.path, file.is_regular, file.size) for file in files] == [
        ("a.md", True, 5),
        ("deep/b.md", True, 0),
        ("link", False, 4),
    ]
    held = contents(str(repository), files)
    assert [held[file.blob] for file in files] == [b"a\n\0b\n", b"", b"a.md"]


def test_a_folder_below_the_top_is_where_git_starts(repository: Path) -> None:
    """A project need not be the whole repository."""
    head = git(repository, "rev-parse", "HEAD")
    files = files_at(str(repository / "docs"), head, "deep")
    assert [file.path for file in files or ()] == ["b.md"]


def test_what_is_not_there_is_nothing_and_what_fails_is_said(repository: Path) -> None:
    """A folder that the commit lacks has no files; a commit that is not there has no answer."""
    head = git(repository, "rev-parse", "HEAD")
    assert files_at(str(repository), head, "none") == ()
    assert files_at(str(repository), "1" * 40, "docs") is None
    assert contents(str(repository), [git_commands.TreeFile("x", "100644", "1" * 40, 1)]) == {}


def test_much_is_read_in_several_parts(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What git answers is held in memory a part at a time."""
    monkeypatch.setattr(git_commands, "_BATCH_BYTES", 1)
    files = files_at(str(repository), git(repository, "rev-parse", "HEAD"), "docs")
    assert len(contents(str(repository), files or ())) == 3


def test_the_author_of_a_file_is_who_changed_it_last(repository: Path) -> None:
    """A merge counts where it holds what no parent does."""
    git(repository, "checkout", "--quiet", "-b", "side")
    (repository / "docs/a.md").write_text("side")
    git(repository, "commit", "--quiet", "--all", "--author=Sid <s@e>", "--message=s")
    git(repository, "checkout", "--quiet", "main")
    (repository / "docs/a.md").write_text("main")
    git(repository, "commit", "--quiet", "--all", "--author=Moe <m@e>", "--date=1700000000 +0000", "--message=m")
    before = authors(str(repository), git(repository, "rev-parse", "HEAD"), "docs")
    assert (before["a.md"], before["deep/b.md"].name) == (("Moe", 1_700_000_000_000), "n")
    git(repository, "merge", "--quiet", "-s", "ours", "--no-commit", "side")
    (repository / "docs/a.md").write_text("both")
    git(repository, "commit", "--quiet", "--all", "--author=Ada <a@e>", "--message=both")
    assert authors(str(repository), git(repository, "rev-parse", "HEAD"), "docs")["a.md"].name == "Ada"


def test_the_common_commit_of_two_branches(repository: Path) -> None:
    """None of what is no hash, or has nothing in common."""
    first = git(repository, "rev-parse", "HEAD")
    (repository / "d.md").write_text("d")
    second = commit_all(repository)
    assert merge_base(str(repository), first, second) == first
    assert merge_base(str(repository), "--all", second) is None
    git(repository, "checkout", "--quiet", "--orphan", "other")
    git(repository, "commit", "--quiet", "--message=alone")
    assert merge_base(str(repository), git(repository, "rev-parse", "HEAD"), second) is None


def test_the_default_branch_is_what_the_remote_says_else_main_or_master(repository: Path, tmp_path: Path) -> None:
    """Else what the main worktree has checked out, whatever a linked one has."""
    top, tree = str(repository), str(tmp_path / "tree")
    git(repository, "checkout", "--quiet", "-b", "side")
    head = git(repository, "rev-parse", "main")
    assert read_branches(top) == (*read_head(top), "main", head, None) == ("side", head, "main", head, None)
    git(repository, "branch", "-m", "main", "trunk")
    assert read_branches(top).default == "side"
    git(repository, "worktree", "add", "--quiet", "-b", "tree", tree)
    assert read_branches(tree) == ("tree", head, "side", head, None)
    git(repository, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk")
    assert read_branches(top).default == read_branches(tree).default == "trunk"
    assert read_branches(top, "side").default == "side"
    git(repository, "update-ref", "refs/remotes/origin/trunk", head)
    git(repository, "pack-refs", "--all")
    assert read_branches(top)[2:] == ("trunk", head, head)
    git(repository, "checkout", "--quiet", "--detach")
    assert read_branches(top)[:2] == (None, head)
    assert read_branches(top, "../../x")[2:] == ("../../x", None, None)
    assert read_branches(os.devnull) == (None, None, None, None, None)
