"""Asking git in a clone whose configuration and files were made by somebody else: nothing of theirs runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from repositories import commit_all, git, make_repository
from satchel.base.git_commands import ask_git

pytestmark = pytest.mark.slow

MISSING = "0123456789abcdef" * 2 + "01234567"


@pytest.fixture
def ran(tmp_path: Path) -> Path:
    """What a program of the clone would leave behind."""
    return tmp_path / "ran"


@pytest.fixture
def hostile(tmp_path: Path, ran: Path) -> Path:
    """A clone with two commits that names a program wherever git's configuration takes one."""
    folder = make_repository(tmp_path / "clone")
    (folder / "a.py").write_text("".join(f"{line}\n" for line in range(50)))
    (folder / ".gitattributes").write_text("*.py filter=theirs diff=theirs merge=theirs\n")
    commit_all(folder)
    git(folder, "mv", "a.py", "b.py")
    (folder / "b.py").write_text("".join(f"{line}\n" for line in range(49)))
    commit_all(folder)
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n")
    program.chmod(0o755)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for hook in ("post-index-change", "reference-transaction", "pre-auto-gc", "fsmonitor-watchman"):
        (hooks / hook).symlink_to(program)
    for key in (
        *("core.fsmonitor", "core.pager", "core.sshCommand", "core.gitProxy", "core.alternateRefsCommand"),
        *("core.editor", "core.askPass", "diff.external", "diff.theirs.command", "diff.theirs.textconv"),
        *("filter.theirs.clean", "filter.theirs.smudge", "filter.theirs.process", "merge.theirs.driver"),
        *("pager.diff-tree", "pager.rev-list", "pager.ls-files", "gpg.program", "credential.helper"),
        *("alias.diff-tree", "alias.rev-list", "alias.ls-files", "remote.origin.uploadpack"),
    ):
        git(folder, "config", key, f"!{program}" if key.startswith("alias.") else str(program))
    git(folder, "config", "core.hooksPath", str(hooks))
    git(folder, "config", "log.showSignature", "true")
    git(folder, "config", "remote.origin.url", f"ext::{program}")
    git(folder, "config", "protocol.ext.allow", "always")
    git(folder, "config", "remote.origin.promisor", "true")
    git(folder, "config", "extensions.partialClone", "origin")
    git(folder, "config", "core.repositoryFormatVersion", "1")
    (folder / "b.py").write_text("changed\n")  # so that git has a reason to look at it
    return folder


QUESTIONS = {
    "files": (("ls-files", "-z", "--", "."), b""),
    "renames": (("diff-tree", "--stdin", "--always", "-r", "-M", "--name-status"), b"%(head)s %(before)s\n"),
    "renames from what is missing": (("diff-tree", "--stdin", "-r", "-M"), b"%(head)s %(missing)s\n"),
    "history": (("rev-list", "--ignore-missing", "--stdin"), b"%(before)s\n^%(head)s\n"),
    "history of what is missing": (("rev-list", "--ignore-missing", "--stdin"), b"%(missing)s\n^%(head)s\n"),
}


def commits(folder: Path) -> dict[bytes, bytes]:
    # from what lies in the repository's folder: the test itself runs nothing either
    head = (folder / ".git" / "refs" / "heads" / "main").read_bytes().strip()
    before = (folder / ".git" / "logs" / "HEAD").read_bytes().splitlines()[-1].split()[0]
    return {b"head": head, b"before": before, b"missing": MISSING.encode()}


@pytest.mark.parametrize("question", QUESTIONS)
def test_no_program_of_a_clone_runs(hostile: Path, ran: Path, question: str) -> None:
    ran.unlink(missing_ok=True)
    arguments, given = QUESTIONS[question]
    ask_git(str(hostile), arguments, 10, given % commits(hostile))
    assert not ran.exists()


def test_git_itself_would_run_them(hostile: Path, ran: Path) -> None:
    ran.unlink(missing_ok=True)
    git(hostile, "status", "--short")
    assert ran.exists()


def test_a_clone_is_answered_about_all_the_same(hostile: Path) -> None:
    arguments, given = QUESTIONS["renames"]
    answer = ask_git(str(hostile), arguments, 10, given % commits(hostile))
    assert answer is not None
    assert b"a.py\tb.py" in answer


def test_the_index_is_not_written(hostile: Path) -> None:
    index = hostile / ".git" / "index"
    before = index.read_bytes(), index.stat().st_mtime_ns
    ask_git(str(hostile), ("ls-files", "-z", "--", "."), 10)
    assert (index.read_bytes(), index.stat().st_mtime_ns) == before


def test_the_environment_names_no_other_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = make_repository(tmp_path / "one"), make_repository(tmp_path / "other")
    (other / "theirs.py").write_text("x")
    commit_all(other)
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    assert ask_git(str(one), ("ls-files", "-z"), 10) == b""


def test_without_git_there_is_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert ask_git(str(tmp_path), ("ls-files",), 10) is None


def test_outside_of_any_repository_there_is_no_answer(tmp_path: Path) -> None:
    assert ask_git(str(tmp_path), ("ls-files",), 10) is None


def test_git_is_killed_with_all_it_started_when_it_takes_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = tmp_path / "held"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    program = tmp_path / "git"
    # a child that holds the answer and the pipe open as long as it lives
    program.write_text(f"#!/bin/sh\nsleep 600 3>{pipe} & wait\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert ask_git(str(tmp_path), ("ls-files",), 0.2) is None
    os.set_blocking(reader, True)
    assert os.read(reader, 1) == b""  # waits for the last that holds the pipe
    os.close(reader)
