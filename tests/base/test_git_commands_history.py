"""Renames and merges, as one run of git tells them."""

from __future__ import annotations

from pathlib import Path

import pytest

from repositories import commit_all, git, make_repository
from satchel.base import git_commands
from satchel.base.git_commands import ask_merged, ask_renames, known_merged, known_renames

MISSING = "0123456789abcdef" * 2 + "01234567"


@pytest.fixture(autouse=True)
def nothing_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """What other tests asked counts in none."""
    monkeypatch.setattr(git_commands, "_renames", {})
    monkeypatch.setattr(git_commands, "_merged", {})


@pytest.fixture
def history(tmp_path: Path) -> tuple[Path, list[str]]:
    """A repository, and its commits: a file is made, renamed and edited, and renamed again, with a space."""
    folder = make_repository(tmp_path / "repository")
    lines = [f"{line}\n" for line in range(50)]
    (folder / "a.py").write_text("".join(lines))
    commits = [commit_all(folder)]
    git(folder, "mv", "a.py", "b.py")
    (folder / "b.py").write_text("".join(lines[2:]))
    commits.append(commit_all(folder))
    git(folder, "mv", "b.py", "c d.py")
    commits.append(commit_all(folder))
    return folder, commits


def test_renames_are_told_for_each_commit(history: tuple[Path, list[str]]) -> None:
    folder, (first, second, head) = history
    ask_renames(str(folder), head, [second, first, head])
    assert known_renames(str(folder), head, first) == {"a.py": "c d.py"}
    assert known_renames(str(folder), head, second) == {"b.py": "c d.py"}
    assert known_renames(str(folder), head, head) == {}


def test_a_commit_that_is_not_there_takes_away_only_what_follows_it(history: tuple[Path, list[str]]) -> None:
    folder, (first, second, head) = history
    ask_renames(str(folder), head, [second, MISSING, first])
    assert known_renames(str(folder), head, second) == {"b.py": "c d.py"}
    assert known_renames(str(folder), head, MISSING) == known_renames(str(folder), head, first) == {}


def test_a_commit_is_merged_or_not_and_what_is_missing_counts_as_merged(history: tuple[Path, list[str]]) -> None:
    folder, (first, second, head) = history
    ask_merged(str(folder), second, [first, second, head, MISSING])
    assert [known_merged(str(folder), second, one) for one in (first, second, head, MISSING)] == [
        True,
        True,
        False,
        True,
    ]


def test_what_was_not_asked_is_not_known(history: tuple[Path, list[str]]) -> None:
    folder, (first, _, head) = history
    assert known_renames(str(folder), head, first) is None
    assert known_merged(str(folder), head, first) is None


def test_only_hashes_are_given_to_git(history: tuple[Path, list[str]]) -> None:
    folder, (first, _, head) = history
    ask_merged(str(folder), head, ["--all", "--output=x", first])
    assert known_merged(str(folder), head, "--all") is None
    assert known_merged(str(folder), head, first) is True


def test_not_everything_is_remembered(history: tuple[Path, list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    folder, (first, second, head) = history
    monkeypatch.setattr(git_commands, "_MAX_REMEMBERED", 1)
    ask_merged(str(folder), head, [first])
    ask_merged(str(folder), head, [second])
    assert known_merged(str(folder), head, first) is None
