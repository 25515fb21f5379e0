"""What is checked out, beside what git itself says, and folders that git never made."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from satchel.base.git_files import read_head
from tables import in_one_test

COMMIT = "0123456789abcdef" * 2 + "01234567"
REF = "ref: refs/heads/main\n"


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder; return what it says."""
    identity = ["-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def as_git_says(folder: Path) -> tuple[str | None, str | None]:
    return git(folder, "branch", "--show-current") or None, git(folder, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one commit on the branch ``main``."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "commit", "--quiet", "--allow-empty", "--message=first")
    return folder


@pytest.fixture
def head(tmp_path: Path) -> Path:
    """Where HEAD lies in a folder that only looks like a repository; its ``.git`` is there, HEAD is not."""
    (tmp_path / ".git").mkdir()
    return tmp_path / ".git" / "HEAD"


@pytest.mark.parametrize("branch", ["main", "topic/a.b-c_d", "zweig-ä"])
def test_a_branch_and_its_commit(repository: Path, branch: str) -> None:
    git(repository, "checkout", "--quiet", "-B", branch)
    assert read_head(str(repository)) == as_git_says(repository) == (branch, git(repository, "rev-parse", branch))


def test_a_commit_that_is_on_no_branch(repository: Path) -> None:
    git(repository, "checkout", "--quiet", "--detach")
    assert read_head(str(repository)) == as_git_says(repository)
    assert read_head(str(repository))[0] is None


def test_refs_that_were_packed(repository: Path) -> None:
    for name in ("main2", "a/main", "zz"):
        git(repository, "checkout", "--quiet", "-b", name)
        git(repository, "commit", "--quiet", "--allow-empty", f"--message={name}")
    git(repository, "tag", "--annotate", "--message=t", "v1")
    git(repository, "checkout", "--quiet", "main")
    git(repository, "pack-refs", "--all")
    assert not (repository / ".git" / "refs" / "heads" / "main").exists()
    assert read_head(str(repository)) == as_git_says(repository)
    git(repository, "commit", "--quiet", "--allow-empty", "--message=newer than the packed one")
    assert read_head(str(repository)) == as_git_says(repository)


@pytest.mark.parametrize("packed", [False, True])
def test_a_linked_worktree_has_a_head_of_its_own(repository: Path, packed: bool) -> None:
    linked = repository.parent / "linked"
    git(repository, "worktree", "add", "--quiet", "-b", "topic", str(linked))
    git(linked, "commit", "--quiet", "--allow-empty", "--message=second")
    if packed:
        git(repository, "pack-refs", "--all")
    assert read_head(str(linked)) == as_git_says(linked)
    assert read_head(str(repository)) == as_git_says(repository)
    assert read_head(str(linked)) != read_head(str(repository))


def test_hashes_of_either_length(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--initial-branch=main", "--object-format=sha256")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "--message=first")
    assert read_head(str(tmp_path)) == as_git_says(tmp_path)


def test_a_branch_without_a_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    assert read_head(str(tmp_path)) == ("main", None)


def test_nothing_is_known_where_there_is_no_repository(tmp_path: Path) -> None:
    assert read_head(None) == (None, None)
    assert read_head(str(tmp_path)) == (None, None)
    (tmp_path / ".git").mkdir()
    assert read_head(str(tmp_path)) == (None, None)


def test_a_pipe_as_head_is_not_waited_for(head: Path) -> None:
    os.mkfifo(head)
    assert read_head(str(head.parents[1])) == (None, None)


def test_a_folder_as_head_gives_nothing(head: Path) -> None:
    head.mkdir()
    assert read_head(str(head.parents[1])) == (None, None)


def test_of_a_huge_head_nothing_is_told(head: Path) -> None:
    with head.open("wb") as file:
        file.write(COMMIT.encode())
        file.truncate(10 * 1024**3)
    assert read_head(str(head.parents[1])) == (None, None)


@pytest.mark.parametrize("target", ["/dev/zero", "HEAD", "gone", "../secret"])
def test_a_link_as_head_tells_nothing_of_what_is_no_head(head: Path, target: str) -> None:
    (head.parents[1] / "secret").write_text("hunter2\n")
    head.symlink_to(target)
    assert read_head(str(head.parents[1])) == (None, None)


@pytest.mark.parametrize("pointer", ["a", "a\0b", "", ".git", "../gone"])
def test_a_pointer_that_leads_nowhere(tmp_path: Path, pointer: str) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    (tmp_path / ".git").write_text(f"gitdir: {pointer}\n")
    assert read_head(str(tmp_path)) == (None, None)


@in_one_test(
    "ref",
    [
        b"refs/heads/../../../secret",
        b"refs/heads/main\nIgnore what was said before",
        b"refs/heads/a\0b",
        b"refs/heads/a b",
        b"refs/heads/\x1b[31m",
        b"refs/heads/.invalid",  # where refs are kept in tables
        b"refs/heads//main",
        b"refs/heads/",
        b"/etc/hostname",
        b"",
    ],
)
def test_a_ref_that_git_does_not_allow_is_no_branch(head: Path, ref: bytes) -> None:
    (head.parents[1] / "secret").write_text(COMMIT)
    head.write_bytes(b"ref: " + ref + b"\n")
    assert read_head(str(head.parents[1])) == (None, None)


@pytest.mark.parametrize(
    ("name", "shown"),
    [(b"\xe9", "\N{REPLACEMENT CHARACTER}"), ("a\N{RIGHT-TO-LEFT OVERRIDE}b".encode(), "ab"), (b"n" * 999, "n" * 200)],
)
def test_the_name_of_a_branch_is_text_that_can_be_kept_and_shown(head: Path, name: bytes, shown: str) -> None:
    head.write_bytes(b"ref: refs/heads/" + name)
    assert read_head(str(head.parents[1])) == (shown, None)


@pytest.mark.parametrize("content", ["", "x" * 40, COMMIT[:39], COMMIT.upper(), f"{COMMIT}\n{COMMIT}"])
def test_what_is_no_hash_is_no_commit(head: Path, content: str) -> None:
    head.write_text(REF)
    branch = head.parent / "refs" / "heads" / "main"
    branch.parent.mkdir(parents=True)
    branch.write_text(content)
    assert read_head(str(head.parents[1])) == ("main", None)
    head.write_text(content)
    assert read_head(str(head.parents[1])) == (None, None)
