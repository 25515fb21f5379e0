"""What ignore files leave out is what git leaves out."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from consult.asking_git import AS_SOMEBODY, at_home, git, write_all
from examples import examples
from satchel.consult.ignoring import Folders, Rules

FILES = ("a", "b/a", "b/foo.c", "b/c/foo.o", "b/c/d/x y", "foo/a", "foo/b/a", "foo.c", ".x/foo.c", "x y/#a", "c/!a")

PIECES = tuple("a b foo * ? / /**/ **/ foo.c *.c *.o . f* [ab] [!a] [^b]o \\*".split())
WHOLE = tuple("/* */ ** /** a/** b/**/a **/c b/* foo/ /foo/ b/c/ * \\#a \\!a #a / x\\ y".split())


@pytest.fixture(scope="module", autouse=True)
def nobodys_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home where nothing is configured, for git and for us."""
    with at_home(tmp_path_factory.mktemp("home")) as home:
        yield home


def make(folder: Path, ignore_files: Mapping[str, str]) -> None:
    """Make a repository with the files of every test, and its ignore files."""
    git(folder, "init", "--quiet", "--template=")
    for path in FILES:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).touch()
    write_all(folder, dict(ignore_files))


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


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.too_slow], deadline=None)
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
    git(main, *AS_SOMEBODY, "commit", "--quiet", "--allow-empty", "-m", "x")
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
        git(tmp_path / inner, "init", "--quiet", "--template=")
    rules = Folders([str(tmp_path)])
    assert not rules.leaves_out(str(tmp_path / "b" / "foo.c"), is_folder=False)
    assert rules.leaves_out(str(tmp_path / "foo" / "a"), is_folder=False)


def test_an_empty_folder_called_as_gits_own_makes_no_repository(tmp_path: Path) -> None:
    make(tmp_path, {".gitignore": "*.c\n"})
    (tmp_path / "b" / ".git").mkdir()
    (tmp_path / "foo" / ".git").write_text("gitdir: nowhere\n")
    for root in (tmp_path, tmp_path / "b"):
        assert Folders([str(root)]).leaves_out(str(tmp_path / "b" / "foo.c"), is_folder=False)
    assert left_by_us(tmp_path) - {"foo/.git"} == left_by_git(tmp_path)


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


_PLACES: Mapping[str, tuple[str, Mapping[str, str], str | None]] = {
    "the usual file": ("home/.config/git/ignore", {}, None),
    "the usual file of XDG": ("xdg/git/ignore", {"XDG_CONFIG_HOME": "xdg"}, None),
    "below the home": ("home/rules", {}, "~/rules"),
    "absolute": ("rules", {}, "{folder}/rules"),
    "relative to the top": ("repository/.git/rules", {}, ".git/rules"),
    "no file": ("home/.config/git/ignore", {}, ""),
}


@pytest.mark.parametrize("is_link", [False, True], ids=["file", "link"])
@pytest.mark.parametrize("place", _PLACES)
def test_rules_for_all_repositories_hold_wherever_they_are_kept(tmp_path: Path, place: str, is_link: bool) -> None:
    file, variables, value = _PLACES[place]
    repository = tmp_path / "repository"
    (tmp_path / "home").mkdir()
    repository.mkdir()
    with at_home(tmp_path / "home", **{name: str(tmp_path / folder) for name, folder in variables.items()}):
        make(repository, {".gitignore": "!/c/\n"})
        write_all(tmp_path, {"elsewhere" if is_link else file: "*.c\n/b/c\nc/\n"})
        if is_link:
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / file).symlink_to(tmp_path / "elsewhere")
        if value is not None:
            git(repository, "config", "core.excludesFile", value.format(folder=tmp_path))
        left = left_by_us(repository)
        assert left == left_by_git(repository)
        assert ("foo.c" in left) == (value == "")


def in_capitals(text: str) -> str:
    """Return rules in capitals, but for sets: git compares those with the small letter alone."""
    return "\n".join(line if "[" in line else line.upper() for line in text.split("\n"))


_EVERYWHERE = ("home/.config/git/ignore", "here/.git/info/exclude", "here/.gitignore", "here/b/.gitignore")


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.dictionaries(st.sampled_from(_EVERYWHERE), _TEXTS), st.booleans())
def test_rules_from_everywhere_together_leave_what_git_leaves(texts: dict[str, str], any_case: bool) -> None:
    with tempfile.TemporaryDirectory() as folder, at_home(Path(folder).resolve() / "home") as home:
        here = home.parent / "here"
        here.mkdir()
        make(here, {"b/A": "", "Foo.C": "", "B/c/d": ""})
        write_all(home.parent, {path: in_capitals(text) if any_case else text for path, text in texts.items()})
        git(here, "config", "core.ignoreCase", "true" if any_case else "false")
        assert left_by_us(here) == left_by_git(here)


@pytest.mark.parametrize("inner", ["", "inner"])
def test_outside_of_a_repository_the_rules_for_all_hold_from_the_root(tmp_path: Path, inner: str) -> None:
    with at_home(tmp_path / "home"):
        write_all(
            tmp_path, {"home/.config/git/ignore": "/a\n*.c\n", "root/a": "", "root/inner/b.c": "", "root/inner/a": ""}
        )
        rules = Folders([str(tmp_path / "root" / inner)])
        assert rules.leaves_out(str(tmp_path / "root" / "inner" / "b.c"), is_folder=False)
        assert rules.leaves_out(str(tmp_path / "root" / "inner" / "a"), is_folder=False) is (inner == "inner")


def test_a_submodule_has_rules_of_its_own_and_those_for_all(tmp_path: Path, nobodys_home: Path) -> None:
    for name in ("outer", "library"):
        (tmp_path / name).mkdir()
        make(tmp_path / name, {".gitignore": "foo.c\n"} if name == "outer" else {})
        git(tmp_path / name, *AS_SOMEBODY, "commit", "--quiet", "--allow-empty", "-m", "x")
    git(tmp_path / "outer", *AS_SOMEBODY, "submodule", "--quiet", "add", str(tmp_path / "library"), "lib")
    write_all(
        tmp_path / "outer", {".git/modules/lib/info/exclude": "/kept\n", "lib/kept": "", "lib/foo.c": "", "lib/x.o": ""}
    )
    with at_home(tmp_path / "home"):
        write_all(tmp_path / "home", {".config/git/ignore": "*.o\n"})
        lib = tmp_path / "outer" / "lib"
        assert left_by_us(lib) - {".git"} == left_by_git(lib) == {"foo.c"}
        assert not Folders([str(tmp_path / "outer")]).leaves_out(str(lib / "foo.c"), is_folder=False)
