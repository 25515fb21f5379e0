"""Which files paths name, what they are called, and which are held back before anything is read."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from consult.asking_git import AS_SOMEBODY, git
from satchel import InvalidInput, NotFound
from satchel.base.errors import Refused, TooLarge
from satchel.consult import gathering
from satchel.consult.gathering import gather
from satchel.consult.records import Gathering


@pytest.fixture
def outside(project: Path) -> Path:
    """A folder beside the project, with a file in it."""
    folder = project.parent / "outside"
    folder.mkdir()
    (folder / "a.txt").write_text("not for you")
    return folder


def write(folder: Path, *paths: str, text: str = "x") -> None:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def gathered(project: Path, *paths: str, **named: Any) -> Gathering:
    return gather(paths or (".",), [str(project)], **{"base": str(project), **named})


def names(project: Path, *paths: str, **named: Any) -> list[str]:
    return [file.path for file in gathered(project, *paths, **named).files]


def reasons(found: Gathering) -> dict[str, str]:
    return {held.path: held.reason for held in found.held_back}


def test_a_folder_holds_all_its_files_in_the_order_of_their_paths(project: Path) -> None:
    write(project, "src/b.py", "src/a/z.py", "src/a.py", "src/B.py", "top.md")
    assert names(project) == ["src/B.py", "src/a.py", "src/a/z.py", "src/b.py", "top.md"]
    assert names(project, "src/a") == ["src/a/z.py"]


def test_a_file_is_described_without_being_opened(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(project, "src/a.py", text="four")
    status = (project / "src" / "a.py").stat()

    opened = os.open

    def refusing(path: str, *given: Any, **named: Any) -> int:
        assert not str(path).endswith("a.py"), "opened"
        return opened(path, *given, **named)

    monkeypatch.setattr(os, "open", refusing)
    (file,) = gathered(project, "src/a.py").files
    assert (file.path, file.real_path, file.root) == ("src/a.py", str(project / "src" / "a.py"), str(project))
    assert (file.size, file.mtime_ns) == (4, status.st_mtime_ns)


@pytest.mark.parametrize(
    "paths",
    [
        ("src", "src"),
        ("src", "src/a.py"),
        ("src/a.py", "src"),
        ("./src/../src", "{project}/src/a.py"),
        ("src/", "link"),
    ],
)
def test_a_file_that_is_named_twice_is_there_once(project: Path, paths: Iterable[str]) -> None:
    write(project, "src/a.py")
    (project / "link").symlink_to("src")
    found = gathered(project, *(path.format(project=project) for path in paths))
    assert [file.path for file in found.files] == ["src/a.py"]
    assert found.held_back == ()


def test_a_file_outside_the_base_has_an_absolute_name(project: Path) -> None:
    write(project, "src/a.py", "docs/b.md")
    found = gathered(project, "a.py", "../docs", base=str(project / "src"))
    assert [file.path for file in found.files] == [str(project / "docs" / "b.md"), "a.py"]


def test_the_same_names_come_out_whatever_order_the_paths_have(project: Path) -> None:
    write(project, "src/a.py", "docs/b.md", ".env", "docs/big.bin")
    (project / "docs" / "link").symlink_to("../src")
    (project / "none").mkdir()
    forwards, backwards = gathered(project, "src", "none", "."), gathered(project, ".", "none", "src")
    assert forwards == backwards


class TestIgnored:
    def test_what_ignore_files_leave_out_is_left_out_without_a_word(self, project: Path) -> None:
        write(project, "a.py", "a.log", "keep.log", "build/out.o", "src/x.tmp", "src/y.py", "src/deep/x.tmp", "z.bak")
        write(project, ".gitignore", text="*.log\n!keep.log\n/build/\n")
        write(project, "src/.gitignore", text="/*.tmp\n")
        git(project, "init", "--quiet")
        write(project, ".git/info/exclude", text="*.bak\n")
        found = gathered(project)
        assert [file.path for file in found.files] == [
            *(".gitignore", "a.py", "keep.log", "src/.gitignore", "src/deep/x.tmp", "src/y.py")
        ]
        assert found.held_back == ()

    def test_a_second_look_leaves_out_the_same(self, project: Path) -> None:
        write(project, "data/a", "data/b", "a", ".env")
        write(project, ".gitignore", text="/data/a\n")
        first = gathered(project)
        assert [file.path for file in first.files] == [".gitignore", "a", "data/b"]
        assert gathered(project) == first

    def test_rules_that_change_hold_from_the_next_look_on(self, project: Path) -> None:
        write(project, "a.log", "b.txt")
        assert names(project) == ["a.log", "b.txt"]
        write(project, ".gitignore", text="*.log\n")
        assert names(project) == [".gitignore", "b.txt"]

    def test_rules_above_a_folder_that_is_named_hold_in_it(self, project: Path) -> None:
        write(project, "src/a.log", "src/a.py")
        write(project, ".gitignore", text="*.log\n")
        assert names(project, "src") == ["src/a.py"]

    def test_an_ignored_file_is_taken_when_it_is_named(self, project: Path) -> None:
        write(project, "a.log")
        write(project, ".gitignore", text="*.log\n")
        assert names(project, "a.log") == ["a.log"]

    def test_an_ignored_folder_is_entered_when_it_is_named_and_other_rules_still_hold_in_it(
        self, project: Path
    ) -> None:
        write(project, "build/a.c", "build/a.o", "build/sub/b.c")
        write(project, ".gitignore", text="build/\n*.o\n")
        assert names(project, "build") == ["build/a.c", "build/sub/b.c"]

    def test_a_folder_that_is_named_for_nothing_is_said(self, project: Path) -> None:
        write(project, "build/sub/a.o")
        write(project, ".gitignore", text="*.o\n")
        (project / "empty" / "inner").mkdir(parents=True)
        assert reasons(gathered(project, "build", "empty")) == {"build": "ignored", "empty": "empty"}

    @pytest.mark.parametrize("is_repository", [True, False], ids=["in a repository", "in a folder"])
    def test_a_repository_inside_has_rules_of_its_own(self, project: Path, is_repository: bool) -> None:
        if is_repository:
            git(project, "init", "--quiet")
        write(project, "inner/a.log", "inner/b.tmp", "b.log", "out/c/a.py")
        write(project, ".gitignore", text="*.log\nout\n")
        write(project, "inner/.gitignore", text="*.tmp\n")
        for inner in ("inner", "out/c"):
            git(project / inner, "init", "--quiet")
        assert names(project, "inner") == ["inner/.gitignore", "inner/a.log"]
        assert names(project) == [".gitignore", "inner/.gitignore", "inner/a.log"]

    def test_a_submodule_has_rules_of_its_own(self, project: Path) -> None:
        library = project.parent / "library"
        write(library, "kept.log", "x.tmp")
        write(library, ".gitignore", text="*.tmp\n")
        for folder in (library, project):
            git(folder, "init", "--quiet")
        git(library, "add", ".")
        git(library, *AS_SOMEBODY, "commit", "--quiet", "-m", "x")
        git(project, *AS_SOMEBODY, "submodule", "--quiet", "add", str(library), "lib")
        write(project, "lib/y.tmp", "lib/z.log")
        write(project, ".gitignore", text="*.log\n")
        assert names(project) == [
            *(".gitignore", ".gitmodules", "lib/.gitignore", "lib/kept.log", "lib/z.log"),
        ]

    def test_a_tracked_file_is_taken_though_a_rule_ignores_it(self, project: Path) -> None:
        git(project, "init", "--quiet")
        write(project, "build/kept.c", "build/a.o", "a.log")
        write(project, ".gitignore", text="build\n*.log\n")
        git(project, "add", "--force", "build/kept.c", "a.log")
        assert names(project) == [".gitignore", "a.log", "build/kept.c"]
        assert names(project, "build") == ["build/a.o", "build/kept.c"]

    def test_a_tracked_file_that_was_deleted_is_not_there(self, project: Path) -> None:
        git(project, "init", "--quiet")
        write(project, "a.py", "b.py")
        git(project, "add", ".")
        (project / "a.py").unlink()
        assert names(project) == ["b.py"]

    def test_tracked_files_behind_a_link_that_replaced_their_folder_stay_out(
        self, project: Path, outside: Path
    ) -> None:
        git(project, "init", "--quiet")
        write(project, "src/a.txt", "b.py")
        git(project, "add", ".")
        (project / "src" / "a.txt").unlink()
        (project / "src").rmdir()
        (project / "src").symlink_to(outside)
        found = gathered(project)
        assert [file.path for file in found.files] == ["b.py"]
        assert reasons(found) == {"src": "outside"}

    @pytest.mark.parametrize("path", [".git", ".git/config", "src/../.git/config", "link", "alias"])
    def test_what_git_keeps_for_itself_is_never_sent(self, project: Path, path: str) -> None:
        write(project, ".git/config", "src/a.py")
        (project / "link").symlink_to(".git")
        (project / "alias").symlink_to(".git/config")
        found = gathered(project, path, force=True)
        assert (found.files, set(reasons(found).values())) == ((), {"git"})
        assert names(project, "src") == ["src/a.py"]


class TestLinks:
    def test_a_link_inside_is_followed_and_what_it_leads_to_is_there_once(self, project: Path) -> None:
        write(project, "src/a.py", "docs/b.md")
        (project / "src" / "alias.py").symlink_to("a.py")
        (project / "src" / "docs").symlink_to("../docs")
        found = gathered(project, "src")
        assert [file.path for file in found.files] == ["docs/b.md", "src/a.py"]
        assert found.held_back == ()

    def test_a_circle_of_folders_is_walked_once(self, project: Path) -> None:
        write(project, "src/a.py")
        (project / "src" / "up").symlink_to("..")
        assert names(project, "src") == ["src/a.py"]

    def test_a_link_to_what_is_ignored_brings_nothing_in(self, project: Path) -> None:
        write(project, "build/sub/a.c", "src/a.py")
        write(project, ".gitignore", text="build\n")
        (project / "src" / "sub").symlink_to("../build/sub")
        (project / "src" / "a.c").symlink_to("../build/sub/a.c")
        assert names(project, "src") == ["src/a.py"]

    @pytest.mark.parametrize("target", ["a.txt", ""])
    def test_a_link_that_leads_out_is_held_back(self, project: Path, outside: Path, target: str) -> None:
        write(project, "src/a.py")
        (project / "src" / "out").symlink_to(outside / target)
        found = gathered(project, "src")
        assert [file.path for file in found.files] == ["src/a.py"]
        assert reasons(found) == {"src/out": "outside"}
        assert str(outside) not in str(found)

    @pytest.mark.parametrize("path", ["out/a.txt", "out", "alias"])
    def test_a_link_that_leads_out_is_held_back_when_it_is_named(self, project: Path, outside: Path, path: str) -> None:
        (project / "out").symlink_to(outside)
        (project / "alias").symlink_to(outside / "a.txt")
        found = gathered(project, path, force=True)
        assert (found.files, reasons(found)) == ((), {path: "outside"})

    def test_a_folder_whose_name_begins_like_a_root_is_outside(self, project: Path) -> None:
        other = project.parent / "project-2"
        write(other, "a.py")
        (project / "out").symlink_to(other)
        assert reasons(gathered(project)) == {"out": "outside"}

    def test_a_link_into_another_root_is_followed(self, project: Path, outside: Path) -> None:
        (project / "out").symlink_to(outside)
        found = gather(["."], [str(project), str(outside)], base=str(project))
        assert [(file.path, file.root) for file in found.files] == [(str(outside / "a.txt"), str(outside))]

    def test_a_root_and_a_base_behind_links_work(self, project: Path) -> None:
        write(project, "src/a.py")
        link = project.parent / "link"
        link.symlink_to(project)
        found = gather(["src", str(link / "src" / "a.py")], [str(link)], base=str(link))
        assert [(file.path, file.root) for file in found.files] == [("src/a.py", str(project))]

    def test_links_that_lead_nowhere_are_held_back(self, project: Path) -> None:
        (project / "gone").symlink_to("nothing")
        (project / "circle").symlink_to("circle")
        assert reasons(gathered(project)) == {"gone": "vanished", "circle": "vanished"}

    def test_a_link_to_a_secret_is_held_back_under_the_name_of_the_secret(self, project: Path) -> None:
        write(project, ".env")
        (project / "harmless.txt").symlink_to(".env")
        assert reasons(gathered(project, "harmless.txt")) == {".env": "secret_name"}


class TestSecretNames:
    @pytest.mark.parametrize("paths", [(".",), (".env", "conf/server.key", ".ssh/config")])
    def test_they_are_held_back_unless_forced(self, project: Path, paths: tuple[str, ...]) -> None:
        write(project, ".env", "conf/server.key", ".ssh/config")
        if paths == (".",):
            write(project, ".env.example")
        held = gathered(project, *paths)
        spared = [".env.example"] if paths == (".",) else []
        assert [file.path for file in held.files] == spared
        assert set(reasons(held).values()) == {"secret_name"}
        assert all("only with force" in one.detail for one in held.held_back)
        forced = gathered(project, *paths, force=True)
        assert [file.path for file in forced.files] == sorted([".env", *spared, ".ssh/config", "conf/server.key"])
        assert forced.held_back == ()

    def test_a_folder_of_secrets_is_held_back_as_one(self, project: Path) -> None:
        write(project, ".ssh/a", ".ssh/b")
        assert reasons(gathered(project)) == reasons(gathered(project, ".ssh")) == {".ssh": "secret_name"}

    def test_one_is_held_back_on_every_look(self, project: Path) -> None:
        write(project, "sub/.env", "a.py")
        assert gathered(project) == gathered(project)
        assert gathered(project, force=True).held_back == ()
        assert reasons(gathered(project)) == {"sub/.env": "secret_name"}


class TestHeldBack:
    @pytest.mark.parametrize("path", [".", "big.txt"])
    def test_a_file_over_the_limit(self, project: Path, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
        write(project, "big.txt", text="x" * 11)
        monkeypatch.setattr(gathering, "MAX_FILE_BYTES", 10)
        found = gathered(project, path, force=True)
        assert (found.files, reasons(found)) == ((), {"big.txt": "too_large"})
        assert found.held_back[0].detail == "it has 11 bytes, more than the 10 that are sent; send a part of it"
        monkeypatch.setattr(gathering, "MAX_FILE_BYTES", 11)
        assert names(project, path) == ["big.txt"]

    def test_a_pipe_and_a_socket(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        os.mkfifo(project / "pipe")
        monkeypatch.chdir(project)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("socket")
        assert reasons(gathered(project)) == {"pipe": "special", "socket": "special"}
        assert reasons(gathered(project, "pipe")) == {"pipe": "special"}

    def test_a_folder_that_cannot_be_listed(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write(project, "src/a.py", "closed/b.py")
        scandir = os.scandir

        def closed(path: str) -> Any:
            if path.endswith("closed"):
                raise PermissionError(13, "Permission denied", path)
            return scandir(path)

        monkeypatch.setattr(os, "scandir", closed)
        found = gathered(project)
        assert [file.path for file in found.files] == ["src/a.py"]
        (held,) = found.held_back
        assert (held.path, held.reason) == ("closed", "unreadable")
        assert held.detail == "the folder cannot be read (Permission denied)"

    @pytest.mark.parametrize("name", [b"a\nb", b"caf\xe9", b"a\x1b[1m"])
    def test_a_file_whose_name_cannot_be_said(self, project: Path, name: bytes) -> None:
        (project / "plain.txt").touch()
        try:
            (project / os.fsdecode(name)).touch()
        except OSError:  # pragma: no cover -- macOS takes names in UTF-8 alone
            pytest.skip("this file system refuses the name")
        found = gathered(project)
        assert [file.path for file in found.files] == ["plain.txt"]
        (held,) = found.held_back
        assert held.reason == "name"
        assert held.path.isprintable()
        assert gathered(project) == found

    def test_files_in_a_folder_whose_name_cannot_be_said(self, project: Path) -> None:
        write(project, "a\nb/plain.txt", "plain.txt")
        for _ in range(2):
            assert reasons(gathered(project)) == {"a\\nb/plain.txt": "name"}


class TestRefused:
    @pytest.mark.parametrize(
        ("path", "hint"),
        [
            ("src/ap.py", "Did you mean 'src/app.py'"),
            ("sorc/app.py", "Did you mean 'src/app.py'"),
            ("sorc/other", "Did you mean 'src'"),
            ("src/app.py/x", "Did you mean 'src/app.py'"),
            ("zzz", "relative to"),
            ("src/*.pi", "patterns are not expanded"),
        ],
    )
    def test_a_path_that_is_not_there_names_the_nearest(self, project: Path, path: str, hint: str) -> None:
        write(project, "src/app.py", "q/r")
        with pytest.raises(NotFound) as caught:
            gathered(project, "q", path)
        assert repr(path) in str(caught.value)
        assert hint in str(caught.value)

    def test_a_link_that_leads_nowhere_is_refused_when_it_is_named(self, project: Path) -> None:
        (project / "circle").symlink_to("circle")
        (project / "gone").symlink_to("nothing")
        for path in ("circle", "gone"):
            with pytest.raises(NotFound):
                gathered(project, path)

    @pytest.mark.parametrize("path", ["{outside}/a.txt", "../outside", "..", "/", "{outside}/nothing", "../project-2"])
    def test_a_path_outside_the_roots_is_refused_whether_it_is_there_or_not(
        self, project: Path, outside: Path, path: str
    ) -> None:
        with pytest.raises(Refused, match="is outside the folders that may be sent"):
            gathered(project, path.format(outside=outside), force=True)

    def test_without_a_root_every_path_is_refused(self, project: Path) -> None:
        with pytest.raises(Refused):
            gather(["."], [], base=str(project))

    @pytest.mark.parametrize("path", ["", "  ", "a\0b", "a\nb", "\ud800", 5, None])
    def test_what_is_no_path_is_refused(self, project: Path, path: Any) -> None:
        with pytest.raises(InvalidInput):
            gathered(project, path)

    @pytest.mark.parametrize("paths", [["."], [f"many/{number}.py" for number in range(6)]])
    def test_more_files_than_the_limit_are_refused_and_the_fullest_folder_is_named(
        self, project: Path, paths: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write(project, *(f"many/{number}.py" for number in range(6)))
        monkeypatch.setattr(gathering, "MAX_FILES", 6)
        assert len(gathered(project, *paths).files) == 6
        monkeypatch.setattr(gathering, "MAX_FILES", 5)
        with pytest.raises(TooLarge, match=r"more than 5 files.*many holds most"):
            gathered(project, *paths)

    def test_files_that_are_held_back_count_too(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write(project, *(f"{number}.pem" for number in range(6)))
        monkeypatch.setattr(gathering, "MAX_FILES", 5)
        with pytest.raises(TooLarge):
            gathered(project)
