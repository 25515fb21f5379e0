"""The files that are listed are those that git does not ignore."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from consult.asking_git import AS_SOMEBODY, at_home, git, write_all
from satchel.base import git_listing
from satchel.base.git_listing import list_files

FILES = ("a", "b/a", "b/foo.c", "b/c/foo.o", "b/c/d/x y", "foo/a", "foo/b/a", "foo.c", ".x/foo.c", "x y/#a", "c/!a")


@pytest.fixture(scope="module", autouse=True)
def nobodys_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home where nothing is configured."""
    with at_home(tmp_path_factory.mktemp("home")) as home:
        yield home


@pytest.fixture
def without_git(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without git."""
    monkeypatch.setattr(git_listing, "ask_git", lambda *_: None)


def make(folder: Path, texts: Mapping[str, str] = {}) -> None:
    """Write the files of every test and others."""
    for path in FILES:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).touch()
    write_all(folder, dict(texts))


def listed(folder: Path, root: Path | None = None, *, is_named: bool = False) -> set[str]:
    def refuse(path: str, error: OSError) -> None:
        raise AssertionError(f"{path}: {error}")

    paths = list_files(
        str(folder),
        str(root or folder),
        is_named=is_named,
        hold_unreadable=refuse,
        raise_if_cancelled=lambda: None,
    )
    return {str(Path(path).relative_to(folder)) for path in paths}


def listed_by_git(folder: Path) -> set[str]:
    output = git(folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    return {name.rstrip("/") for name in output.split("\0")} - {""}


def test_rules_of_the_user_and_the_repository_hold(tmp_path: Path) -> None:
    with at_home(tmp_path / "home"):
        write_all(tmp_path, {"home/.config/git/ignore": "*.o\n"})
        here = tmp_path / "here"
        make(here)
        git(here, "init", "--quiet")
        write_all(here, {".git/info/exclude": "/foo\n", ".gitignore": "*.c\n", "b/.gitignore": "!foo.c\n"})
        assert listed(here) == {".gitignore", "a", "b/.gitignore", "b/a", "b/foo.c", "b/c/d/x y", "x y/#a", "c/!a"}


def test_a_linked_worktree_obeys_the_exclude_file_of_its_repository(tmp_path: Path) -> None:
    main, linked = tmp_path / "main", tmp_path / "linked"
    make(main)
    git(main, "init", "--quiet")
    write_all(main, {".git/info/exclude": "foo.c\n"})
    git(main, *AS_SOMEBODY, "commit", "--quiet", "--allow-empty", "-m", "x")
    git(main, "worktree", "add", "--quiet", str(linked))
    write_all(linked, {"foo.c": "", "bar.c": ""})
    assert listed(linked) == {"bar.c"}


def test_rules_above_a_root_hold_as_far_as_its_repository_reaches(tmp_path: Path) -> None:
    here = tmp_path / "here"
    make(here, {".gitignore": "*.c\n", "../.gitignore": "a\n"})
    git(here, "init", "--quiet")
    assert listed(here / "b") == {"a", "c/foo.o", "c/d/x y"}


@pytest.mark.parametrize("has_git", [True, False])
def test_an_ignored_folder_that_is_named_is_listed_by_the_other_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_git: bool
) -> None:
    make(tmp_path, {".gitignore": "b/\n*.o\n"})
    git(tmp_path, "init", "--quiet")
    if not has_git:
        monkeypatch.setattr(git_listing, "ask_git", lambda *_: None)
    assert "b/a" not in listed(tmp_path)
    assert listed(tmp_path / "b", tmp_path, is_named=True) == {"a", "foo.c", "c/d/x y"}


@pytest.mark.parametrize("pointer", ["gitdir: nowhere\n", "gitdir: ../../other\n", ""])
def test_a_git_file_that_leads_nowhere_makes_no_repository(tmp_path: Path, pointer: str) -> None:
    make(tmp_path, {".gitignore": "*.c\n", "b/.git": pointer})
    assert listed(tmp_path / "b", tmp_path) == {"a", "c/foo.o", "c/d/x y"}


def test_nothing_that_a_repository_configures_runs(tmp_path: Path) -> None:
    make(tmp_path)
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "config", "core.fsmonitor", f"touch {tmp_path}/ran")
    git(tmp_path, "config", "core.untrackedCache", "true")
    assert listed(tmp_path) == set(FILES)


@pytest.mark.usefixtures("without_git")
@pytest.mark.parametrize("pattern", ["*a" * 20 + "*b", "/x/" + "*a" * 20 + "*b", "x/" + "*a" * 20 + "b/*a"])
def test_a_pattern_with_many_stars_ends(tmp_path: Path, pattern: str) -> None:
    write_all(tmp_path, {".gitignore": pattern, f"x/{'a' * 200}": ""})
    assert listed(tmp_path) == {".gitignore", f"x/{'a' * 200}"}


@pytest.mark.usefixtures("without_git")
def test_an_ignore_file_behind_a_link_or_a_pipe_is_none(tmp_path: Path) -> None:
    make(tmp_path, {"rules": "a\n"})
    (tmp_path / ".gitignore").symlink_to("rules")
    os.mkfifo(tmp_path / "b" / ".gitignore")
    assert listed(tmp_path) == {*FILES, "rules", ".gitignore", "b/.gitignore"}


@pytest.mark.usefixtures("without_git")
def test_an_ignore_file_that_is_no_utf_8_still_holds(tmp_path: Path) -> None:
    make(tmp_path)
    (tmp_path / ".gitignore").write_bytes(b"# caf\xe9\n[b-a]\nfoo.c\n")
    assert {name for name in listed(tmp_path) if name.endswith(".c")} == set()


@pytest.mark.parametrize(
    "texts",
    [
        {".gitignore": "*.c\n!b/foo.c\n"},
        {".gitignore": "foo.c\n", "b/.gitignore": "!foo.c\n"},
        {".gitignore": "b/\n!b/foo.c\n"},
        {".gitignore": "b/*\n!b/c\n!b/foo.c\n"},
        {".gitignore": "/*\n!/b\n!.gitignore\n/b/*\n!/b/c\n"},
        {".gitignore": "*\n!*/\n!*.c\n"},
        {".gitignore": "**/a\n"},
        {".gitignore": "b/**/foo.o\n"},
        {".gitignore": "b/**\n!b/c/\n"},
        {".gitignore": "b/**/\n"},
        {".gitignore": "**\n"},
        {".gitignore": "**/\n"},
        {".gitignore": "b[!a]\n"},
        {".gitignore": "[\n\\\nfoo.[oc]\n"},
        {".gitignore": "x\\ y\n\\#a\n\\!a\n"},
        {".gitignore": "\ufefffoo.c\r\nb\r\n"},
        {".gitignore": "*/*/*o*.o\n"},
    ],
)
def test_without_a_repository_the_same_files_are_listed_as_in_one(tmp_path: Path, texts: dict[str, str]) -> None:
    make(tmp_path, texts)
    without = listed(tmp_path)
    git(tmp_path, "init", "--quiet", "--template=")
    assert without == listed_by_git(tmp_path)
