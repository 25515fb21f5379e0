"""The folder of the shared text: an attacker may have filled it, and nobody else's file is touched."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from satchel.base.errors import Refused
from satchel.keep.shared import folder as folders
from satchel.keep.shared.folder import MAX_BYTES, Folder


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """The folder, made."""
    path = tmp_path / ".satchel/shared"
    path.mkdir(parents=True)
    return path


def _problems(root: Path) -> dict[str, str]:
    return {one.file.rpartition("/")[2]: one.problem for one in Folder(str(root)).list().problems}


def test_what_is_no_regular_file_of_a_plain_name_is_skipped_and_named(tmp_path: Path, shared: Path) -> None:
    """Links, pipes, sockets, folders and odd names are none of ours; what people put beside the items is left alone."""
    (shared / "a.md").write_text("a")
    (shared / "README.md").write_text("what this is")
    (shared / "link.md").symlink_to("/etc/passwd")
    (shared / "folder.md").mkdir()
    os.mkfifo(shared / "pipe.md")
    (shared / "-option.md").write_text("")
    (shared / "note.txt").write_text("")
    (shared / "a\nb.md").write_text("")
    Path(os.fsdecode(os.fsencode(shared) + b"/\xff.md")).write_text("")
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(shared / "s.md"))
        listing = Folder(str(tmp_path)).list()
        problems = _problems(tmp_path)
    assert listing.names == ("a.md",)
    assert problems["link.md"] == "is a link, not a regular file"
    assert problems["folder.md"] == "is a folder, not a regular file"
    assert problems["pipe.md"] == "is a pipe, not a regular file"
    assert problems["s.md"] == "is a socket, not a regular file"
    for name in ("-option.md", "note.txt", "a\\nb.md", "\\udcff.md"):
        assert problems[name].startswith("is not a valid name")
    assert len(problems) == 8


def test_a_huge_file_is_skipped_without_being_read(tmp_path: Path, shared: Path) -> None:
    """A file of a gigabyte costs a look at its size."""
    with (shared / "huge.md").open("wb") as file:
        file.truncate(1024**3)
    assert _problems(tmp_path) == {"huge.md": "has 1,024.0 MiB; more than 1 is not read"}
    assert Folder(str(tmp_path)).read("huge.md") is None


def test_a_file_of_the_largest_size_is_read(tmp_path: Path, shared: Path) -> None:
    """The limit is what it says."""
    (shared / "a.md").write_bytes(b"a" * MAX_BYTES)
    assert Folder(str(tmp_path)).read("a.md") == b"a" * MAX_BYTES


def test_more_files_than_are_read_are_counted(tmp_path: Path, shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of very many files some are read, and it is said that the others were not."""
    monkeypatch.setattr(folders, "MAX_FILES", 3)
    for number in range(5):
        (shared / f"{number}.md").write_text("")
    listing = Folder(str(tmp_path)).list()
    assert len(listing.names) == 3
    assert [one.problem for one in listing.problems] == ["2 files beyond 3 are not read"]


@pytest.mark.parametrize("name", [".satchel", ".satchel/shared"])
def test_a_link_in_place_of_the_folder_is_neither_read_nor_written(tmp_path: Path, name: str) -> None:
    """Whatever it points to stays as it is."""
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "shared").mkdir(parents=True)
    root = tmp_path / "root"
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).symlink_to(elsewhere)
    folder = Folder(str(root))
    assert [one.problem for one in folder.list().problems] == ["is a link, not a folder"]
    with pytest.raises(Refused):
        folder.write("a.md", b"a")
    assert [path.name for path in elsewhere.rglob("*")] == ["shared"]


def test_a_link_in_place_of_a_file_is_not_written_through(tmp_path: Path, shared: Path) -> None:
    """The file that it points to stays as it is."""
    target = tmp_path / "target"
    target.write_text("mine")
    (shared / "a.md").symlink_to(target)
    with pytest.raises(Refused, match="not a regular file"):
        Folder(str(tmp_path)).write("a.md", b"theirs")
    assert target.read_text() == "mine"


def test_writing_leaves_nothing_beside_the_file(tmp_path: Path) -> None:
    """The folder is made, and holds what was written alone."""
    Folder(str(tmp_path)).write("a.md", b"one")
    Folder(str(tmp_path)).write("a.md", b"two")
    assert [path.name for path in (tmp_path / ".satchel/shared").iterdir()] == ["a.md"]
    assert (tmp_path / ".satchel/shared/a.md").read_bytes() == b"two"


def test_the_stamp_changes_with_an_edit_in_place(tmp_path: Path, shared: Path) -> None:
    """An editor that keeps the inode is noticed all the same."""
    (shared / "a.md").write_text("a")
    before = Folder(str(tmp_path)).list().stamp
    (shared / "a.md").write_text("ab")
    assert Folder(str(tmp_path)).list().stamp != before
