"""Configuration files on disk: what is refused, what a write keeps, and what is made."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from satchel.base import file_checks, user_files
from satchel.base.errors import Conflict, InvalidInput, Refused
from satchel.base.user_files import MAX_BYTES, check_writable, followed, read, write


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with nothing in it."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    return home


@pytest.fixture
def file(home: Path) -> Path:
    """A client's file in the home folder."""
    file = home / ".client" / "settings.json"
    file.parent.mkdir()
    file.write_bytes(b'{"a": 1}\r\n')
    return file


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_read_with_its_line_ends(file: Path) -> None:
    found = read(file)
    assert (found.text, found.existed, found.bom, found.mode) == ('{"a": 1}\r\n', True, False, mode_of(file))


def test_a_missing_file_is_an_empty_one(home: Path) -> None:
    found = read(home / ".client" / "deep" / "settings.json")
    assert (found.text, found.existed, found.mode, found.digest) == ("", False, None, None)


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o660])
def test_a_write_keeps_mode_and_byte_order_mark(file: Path, mode: int) -> None:
    file.write_bytes(b"\xef\xbb\xbf{}")
    file.chmod(mode)
    write(read(file), '{"ü": 1}')
    assert file.read_bytes() == b"\xef\xbb\xbf" + '{"ü": 1}'.encode()
    assert mode_of(file) == mode
    assert names_in(file.parent) == ["settings.json"]


def test_what_is_made_in_the_home_folder_is_for_the_user_alone(home: Path) -> None:
    path = home / ".client" / "deep" / "settings.json"
    write(read(path), "{}")
    assert [mode_of(made) for made in (path, path.parent, path.parent.parent)] == [0o600, 0o700, 0o700]


def test_what_is_made_in_a_project_has_the_usual_modes(home: Path) -> None:
    (home / "project").mkdir()
    path = home / "project" / ".client" / "settings.json"
    usual = os.umask(0o022)
    try:
        write(read(path, home / "project"), "{}")
    finally:
        os.umask(usual)
    assert (mode_of(path), mode_of(path.parent)) == (0o644, 0o755)


def test_a_link_is_refused(file: Path) -> None:
    link = file.with_name("link.json")
    link.symlink_to(file)
    with pytest.raises(Refused, match=r"link\.json is a link"):
        read(link)


def test_a_dangling_link_is_refused(file: Path) -> None:
    link = file.with_name("link.json")
    link.symlink_to(file.with_name("nothing"))
    with pytest.raises(Refused, match=r"link\.json is a link"):
        read(link)


def test_a_folder_that_is_a_link_is_refused_below_the_root_only(home: Path, file: Path) -> None:
    (home / "linked").symlink_to(file.parent)
    with pytest.raises(Refused, match="linked is a link"):
        read(home / "linked" / "settings.json")
    assert read(home / "linked" / "settings.json", home / "linked").existed


def test_a_folder_that_became_a_link_is_not_written_through(home: Path, file: Path) -> None:
    found = read(file)
    file.parent.rename(home / "elsewhere")
    file.parent.symlink_to(home / "elsewhere")
    with pytest.raises(Refused, match=r"\.client is a link"):
        write(found, "{}")


def test_a_path_outside_the_root_is_refused(home: Path, file: Path) -> None:
    with pytest.raises(InvalidInput, match="is not below"):
        read(home / "project" / ".." / ".client" / "settings.json", home / "project")


def test_what_is_no_regular_file_is_refused_without_waiting(home: Path) -> None:
    os.mkfifo(home / "pipe.json")
    (home / "folder.json").mkdir()
    for name in ("pipe.json", "folder.json"):
        with pytest.raises(Refused, match="is no regular file"):
            read(home / name)


def test_a_device_is_refused() -> None:
    with pytest.raises(Refused, match="is no regular file"):
        read(Path("/dev/null"))


def test_a_parent_that_is_a_file_is_refused(file: Path) -> None:
    with pytest.raises(Refused, match=r"settings\.json is no folder"):
        read(file / "settings.json")


def test_a_huge_file_is_refused(file: Path) -> None:
    with file.open("wb") as stream:
        stream.truncate(MAX_BYTES + 1)
    with pytest.raises(Refused, match="more than 4194304 bytes"):
        read(file)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('{"a": 1}'.encode("utf-16"), "is UTF-16"),
        (b'{"a": "\xff"}', "is not UTF-8: byte 7"),
        (b"\xef\xbb\xbf\xff", "byte 3"),
    ],
)
def test_what_is_not_utf8_is_refused(file: Path, content: bytes, problem: str) -> None:
    file.write_bytes(content)
    with pytest.raises(InvalidInput, match=problem):
        read(file)


def test_the_file_of_another_user_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_files, "my_users", lambda: file_checks.my_users() ^ {file.stat().st_uid})
    with pytest.raises(Refused, match="belongs to user"):
        read(file)


@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_is_read_only_is_named(file: Path, what: str) -> None:
    found, locked = read(file), file if what == "file" else file.parent
    usual = mode_of(locked)
    locked.chmod(usual & ~0o222)
    try:
        for change in (check_writable, lambda one: write(one, "{}")):
            with pytest.raises(Refused, match=f"{locked} is read-only"):
                change(read(file))
        assert read(file).text == found.text
        assert names_in(file.parent) == ["settings.json"]
    finally:
        locked.chmod(usual)


def test_a_file_that_changed_since_it_was_read_is_left_alone(file: Path) -> None:
    found = read(file)
    file.write_text("{}")
    with pytest.raises(Conflict, match="changed since it was read"):
        write(found, '{"b": 2}')
    assert file.read_text() == "{}"
    assert names_in(file.parent) == ["settings.json"]


def test_a_file_that_appeared_since_is_left_alone(file: Path) -> None:
    found = read(file.with_name("new.json"))
    found.path.write_text("{}")
    with pytest.raises(Conflict):
        write(found, '{"b": 2}')
    assert found.path.read_text() == "{}"


def test_a_system_that_fails_leaves_the_file_as_it_was(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(Refused, match=r"settings\.json cannot be written \(No space left on device\)"):
        write(read(file), "{}")
    assert file.read_bytes() == b'{"a": 1}\r\n'
    assert names_in(file.parent) == ["settings.json"]


def test_folders_that_could_not_be_made_are_refused_before_anything_is_written(home: Path) -> None:
    home.chmod(0o500)
    try:
        with pytest.raises(Refused, match=f"{home} is read-only"):
            check_writable(read(home / "a" / "b" / "c.json"))
    finally:
        home.chmod(0o700)
    check_writable(read(home / "a" / "b" / "c.json"))
    assert names_in(home) == []


def test_a_loop_of_links_is_refused_as_the_link_that_it_is(home: Path) -> None:
    loop = home / "loop.json"
    loop.symlink_to(loop)
    assert followed(loop, home) == loop
    with pytest.raises(Refused, match="is a link"):
        read(loop, home)
