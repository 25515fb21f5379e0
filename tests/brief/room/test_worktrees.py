"""Commits and uncommitted files of worktrees."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from clients_at_work import Clients
from satchel import Satchel


def git(folder: Path, *arguments: str) -> None:
    settings = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(folder), *settings, *arguments], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    root.mkdir()
    git(root, "init", "--initial-branch=main")
    (root / "cart.py").write_text("1\n")
    git(root, "add", "cart.py")
    git(root, "commit", "-m", "Add the cart")
    return root


@pytest.fixture
def clients(open_in: Callable[..., Satchel], repository: Path, monkeypatch: pytest.MonkeyPatch) -> Clients:
    return Clients(partial(open_in, repository), monkeypatch)


def test_a_worktree_has_its_uncommitted_files_and_commits(clients: Clients, repository: Path) -> None:
    agent = clients.turn_to(clients.start())
    agent.entries.write("discovery", "It works", agent="dev")
    (repository / "cart.py").write_text("2\n")
    (repository / "new.py").write_text("3\n")
    (tree,) = agent.room.worktrees().items
    assert (tree.worktree, tree.branch, tree.is_seen) == (None, "main", True)
    assert [one for one in tree.uncommitted if not one.startswith(".satchel")] == ["cart.py", "new.py"]
    assert [one.subject for one in tree.commits] == ["Add the cart"]


def test_a_worktree_that_is_not_seen_has_the_edits_its_sessions_told(
    open_in: Callable[..., Satchel], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clients = Clients(partial(open_in, project), monkeypatch)
    agent = clients.turn_to(clients.start())
    agent.files.record("cart.py", "modified", agent="dev")
    (tree,) = agent.room.worktrees().items
    assert (tree.is_seen, tree.uncommitted, tree.commits) == (False, ("cart.py",), ())
