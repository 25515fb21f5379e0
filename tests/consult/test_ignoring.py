"""What ignore files leave out is what git leaves out."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from satchel.consult.ignoring import Folders, Rules

FILES = ("a", "b/a", "b/foo.c", "b/c/foo.o", "b/c/d/x y", "foo/a", "foo/b/a", "foo.c", ".x/foo.c", "x y/#a", "c/!a")

PIECES = tuple("a b foo * ? / /**/ **/ foo.c *.c *.o . f* [ab] [!a] [^b]o \\*".split())
WHOLE = tuple("/* */ ** /** a/** b/**/a **/c b/* foo/ /foo/ b/c/ * \\#a \\!a #a / x\\ y".split())


def git(folder: Path, *arguments: str) -> str:
    """Run git there, untouched by what is configured on this machine."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder / "home"), "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(["git", "-C", str(folder), *arguments], env=environ, capture_output=True, check=True)
    return done.stdout.decode()


def make(folder: Path, ignore_files: Mapping[str, str]) -> None:
    """Make a repository with the files of every test, and its ignore files."""
    git(folder, "init", "--quiet", "--template=")
    for path in FILES:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).touch()
    for path, text in ignore_files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text.encode())


def left_by_git(folder: Path) -> set[str]:
    return set(git(folder, "ls-files", "-z", "--others", "--exclude-standard").split("\0")) - {""}


def left_by_us(folder: Path) -> set[str]:
    rules = Folders([str(folder)])
    files = [file for file in folder.rglob("*") if file.is_file() and file.relative_to(folder).parts[0] != ".git"]
    return {str(file.relative_to(folder)) for file in files if not rules.leaves_out(str(file), is_folder=False)}


@pytest.mark.parametrize(
    "ignore_files",
    [
        {".gitignore": "*.c\n!b/foo.c\n"},
        {".gitignore": "foo.c\n", "b/.gitignore": "!foo.c\n"},
        {".gitignore": "b/\n!b/foo.c\n"},
        {".gitignore": "b/*\n!b/c\n!b/foo.c\n"},
        {".gitignore": "/*\n!/b\n!.gitignore\n/b/*\n!/b/c\n"},
        {".gitignore": "*\n!*/\n!*.c\n"},
        {".gitignore": "/a\n"},
        {".gitignore": "b/a\n"},
        {".gitignore": "**/a\n"},
        {".gitignore": "b/**/foo.o\n"},
        {".gitignore": "b/**\n"},
        {".gitignore": "**/**\n"},
        {".gitignore": "a//\nb//foo.c\n"},
        {".gitignore": "foo\n", "b/.gitignore": "/c\n"},
        {".gitignore": "*[!a]foo.c\n"},
        {".gitignore": "[[:alpha:]]\n"},
        {".gitignore": "[[:nonsense:]]\nfoo.c\n"},
        {".gitignore": "[\n\\\nfoo.c\n"},
        {".gitignore": "foo.c \nx\\ y\n"},
        {".gitignore": "x y \n"},
        {".gitignore": "\\#a\n\\!a\n"},
        {".gitignore": "\ufefffoo.c\r\nb\r\n"},
        {".gitignore": "foo.[oc]"},
        {".gitignore": "*o*o*c\n"},
        {".gitignore": "*/*/*o*.o\n"},
        {".gitignore": "b*/**/*o*o*\n"},
        {".git/info/exclude": "foo.c\n", ".gitignore": "!/foo.c\n"},
        {".git/info/exclude": "/b/a\n"},
    ],
)
def test_what_is_left_is_what_git_leaves(tmp_path: Path, ignore_files: Mapping[str, str]) -> None:
    make(tmp_path, ignore_files)
    assert left_by_us(tmp_path) == left_by_git(tmp_path)


# two stars beside other signs mean what one means, but not to every git: its fix is younger than many
_LINES = st.one_of(
    st.sampled_from(WHOLE),
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=5).map(
        lambda pieces: re.sub(r"(?<=[^/])\*\*|\*\*(?=[^/])", "*", re.sub(r"\*{3,}", "*", "".join(pieces)))
    ),
)
_TEXTS = st.lists(st.tuples(st.sampled_from(["", "", "!"]), _LINES).map("".join), min_size=1, max_size=5).map("\n".join)


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.dictionaries(st.sampled_from([".gitignore", "b/.gitignore", "b/c/.gitignore", "foo/.gitignore"]), _TEXTS))
def test_whatever_the_rules_are_what_is_left_is_what_git_leaves(ignore_files: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder).resolve()
        make(place, ignore_files)
        assert left_by_us(place) == left_by_git(place)


@given(_TEXTS, st.sampled_from(FILES), st.booleans())
def test_a_name_that_no_rule_may_speak_of_is_ignored_by_none(text: str, path: str, is_folder: bool) -> None:
    rules = Rules(text)
    name = path.rpartition("/")[2]
    assert rules.may_speak_of(name) or rules.ignores(path, name, is_folder) is None


def test_a_linked_worktree_obeys_the_exclude_file_of_its_repository(tmp_path: Path) -> None:
    main = tmp_path / "main"
    main.mkdir()
    make(main, {".git/info/exclude": "foo.c\n"})
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    git(main, *identity, "commit", "--quiet", "--allow-empty", "-m", "x")
    git(main, "worktree", "add", "--quiet", str(tmp_path / "linked"))
    linked = tmp_path / "linked"
    (linked / "foo.c").touch()
    (linked / "bar.c").touch()
    assert left_by_us(linked) - {".git"} == left_by_git(linked) == {"bar.c"}


def test_rules_above_a_root_hold_as_far_as_its_repository_reaches(tmp_path: Path) -> None:
    make(tmp_path, {".gitignore": "*.c\n"})
    (tmp_path.parent / ".gitignore").write_text("a\n")
    rules = Folders([str(tmp_path / "b")])
    assert rules.leaves_out(str(tmp_path / "b" / "foo.c"), is_folder=False)
    assert not rules.leaves_out(str(tmp_path / "b" / "a"), is_folder=False)


def test_a_root_is_never_left_out_itself(tmp_path: Path) -> None:
    make(tmp_path, {".gitignore": "/b\n"})
    assert not Folders([str(tmp_path / "b")]).leaves_out(str(tmp_path / "b" / "c"), is_folder=True)
    assert Folders([str(tmp_path)]).leaves_out(str(tmp_path / "b" / "c"), is_folder=True)


def test_rules_end_where_another_repository_begins_but_what_they_ignore_stays_ignored(tmp_path: Path) -> None:
    make(tmp_path, {".gitignore": "*.c\n/foo\n"})
    for inner in ("b", "foo"):
        (tmp_path / inner / ".git").mkdir()
    rules = Folders([str(tmp_path)])
    assert not rules.leaves_out(str(tmp_path / "b" / "foo.c"), is_folder=False)
    assert rules.leaves_out(str(tmp_path / "foo" / "a"), is_folder=False)


def test_a_range_that_ends_before_it_begins_spoils_no_other_rule() -> None:
    rules = Rules("[b-a]\nfoo.c\n")
    assert (rules.ignores("x", "x", False), rules.ignores("foo.c", "foo.c", False)) == (None, True)


@pytest.mark.parametrize("pattern", ["*a" * 20 + "*b", "/x/" + "*a" * 20 + "*b", "x/" + "*a" * 20 + "b/*a"])
def test_a_pattern_made_to_take_for_ever_does_not(pattern: str) -> None:
    name = "a" * 200
    assert Rules(pattern).ignores(f"x/{name}", name, False) is None


def test_an_ignore_file_behind_a_link_is_none_as_with_git(tmp_path: Path) -> None:
    make(tmp_path, {"rules": "foo.c\n"})
    (tmp_path / ".gitignore").symlink_to("rules")
    assert "foo.c" in left_by_us(tmp_path)


def test_a_pipe_in_place_of_an_ignore_file_does_not_block(tmp_path: Path) -> None:
    make(tmp_path, {})
    os.mkfifo(tmp_path / ".gitignore")
    assert not Folders([str(tmp_path)]).leaves_out(str(tmp_path / "a"), is_folder=False)


def test_an_ignore_file_that_is_no_utf_8_still_holds(tmp_path: Path) -> None:
    make(tmp_path, {})
    (tmp_path / ".gitignore").write_bytes(b"# caf\xe9\nfoo.c\n")
    assert "foo.c" not in left_by_us(tmp_path)
