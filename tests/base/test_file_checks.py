"""What a project's folder and a store's file must be; another user's are made with chown, which only root may call."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from satchel.base.errors import Refused
from satchel.base.file_checks import (
    Vouched,
    my_users,
    owner_name,
    refuse_unsafe_file,
    refuse_unsafe_folder,
    refuse_unsafe_place,
)

STRANGER = 65_534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project's own folder with what usually lies in it."""
    folder = tmp_path / ".satchel"
    (folder / "backups").mkdir(mode=0o700, parents=True)
    folder.chmod(0o700)
    for name in ("satchel.db", "satchel.db-wal", ".gitignore", "config.toml", "backups/one.db"):
        (folder / name).touch(mode=0o600)
    return folder


def _link(path: Path) -> None:
    path.symlink_to("/")


def _socket(path: Path) -> None:
    place = os.open(path.parent, os.O_RDONLY)
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(f"/proc/self/fd/{place}/{path.name}")  # the path itself may be too long for a socket
    finally:
        os.close(place)


def _check(folder: Path) -> None:
    refuse_unsafe_folder(folder, Vouched())
    refuse_unsafe_file(folder / "satchel.db", Vouched())


ODD: list[tuple[str, Callable[[Path], None]]] = [("a link", _link), ("a pipe", os.mkfifo), ("a socket", _socket)]


@pytest.mark.parametrize(("kind", "make"), ODD, ids=[kind for kind, _ in ODD])
@pytest.mark.parametrize(
    "name",
    ["satchel.db", "satchel.db-wal", "satchel.db-turn", "satchel.db-lock", ".gitignore", "config.toml", "backups/x"],
)
def test_anything_but_files_and_folders_is_refused_by_name(
    folder: Path, name: str, kind: str, make: Callable[[Path], None]
) -> None:
    path = folder / name
    path.unlink(missing_ok=True)
    make(path)
    with pytest.raises(Refused, match=rf"{name} is {kind}"):
        refuse_unsafe_folder(folder, Vouched())


def test_an_ordinary_folder_is_accepted(folder: Path) -> None:
    refuse_unsafe_folder(folder, Vouched())
    refuse_unsafe_file(folder / "satchel.db", Vouched())


def test_a_folder_that_is_not_there_yet_is_accepted(tmp_path: Path) -> None:
    refuse_unsafe_folder(tmp_path / ".satchel", Vouched())
    refuse_unsafe_file(tmp_path / ".satchel" / "satchel.db", Vouched())


def test_a_link_in_the_place_of_the_folder_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / ".satchel").symlink_to(folder)
    with pytest.raises(Refused, match="is a link, not a folder"):
        refuse_unsafe_folder(tmp_path / "other" / ".satchel", Vouched())


def test_a_link_among_what_is_shared_is_left_to_those_who_read_it(folder: Path) -> None:
    (folder / "shared").mkdir()
    (folder / "shared" / "x.md").symlink_to("/etc/hostname")
    refuse_unsafe_folder(folder, Vouched())


def test_a_link_in_the_place_of_what_is_shared_is_refused(folder: Path) -> None:
    (folder / "shared").symlink_to("/etc")
    with pytest.raises(Refused, match="shared is a link"):
        refuse_unsafe_folder(folder, Vouched())


def test_a_folder_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s.db").mkdir()
    with pytest.raises(Refused, match=r"s\.db is a folder, not a regular file"):
        refuse_unsafe_file(tmp_path / "s.db", Vouched())


@as_root
@pytest.mark.parametrize("name", ["", "satchel.db"])
def test_what_belongs_to_another_user_is_refused_by_that_users_name(folder: Path, name: str) -> None:
    os.chown(folder / name, STRANGER, -1)
    with pytest.raises(Refused, match=r"belongs to user nobody, not to you.*satchel trust --owner nobody"):
        _check(folder)


@as_root
@pytest.mark.parametrize("vouched", [Vouched(owner=STRANGER), Vouched(place=True)], ids=["owner", "place"])
def test_another_user_who_is_vouched_for_is_accepted(folder: Path, vouched: Vouched) -> None:
    for path in (folder, folder / "satchel.db"):
        os.chown(path, STRANGER, -1)
    refuse_unsafe_folder(folder, vouched)
    refuse_unsafe_file(folder / "satchel.db", vouched)


@pytest.mark.parametrize("name", ["", "satchel.db"])
def test_what_every_user_can_write_is_refused_unless_the_place_is_vouched_for(folder: Path, name: str) -> None:
    (folder / name).chmod(0o777)
    with pytest.raises(Refused, match=r"every user can write.*chmod go-w.*SATCHEL_TRUST=1"):
        _check(folder)
    refuse_unsafe_folder(folder, Vouched(place=True))
    refuse_unsafe_file(folder / "satchel.db", Vouched(place=True))


@as_root
def test_what_a_group_of_others_can_write_is_refused(folder: Path) -> None:
    os.chown(folder, -1, STRANGER)
    folder.chmod(0o770)
    with pytest.raises(Refused, match="other users of its group can write"):
        refuse_unsafe_folder(folder, Vouched())


def test_what_the_users_private_group_can_write_is_accepted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grp.getgrgid", lambda _: type("Group", (), {"gr_mem": []}))
    folder.chmod(0o770)
    refuse_unsafe_folder(folder, Vouched())


def test_a_folder_directly_in_a_sticky_world_writable_one_is_refused(folder: Path) -> None:
    folder.parent.chmod(0o1777)
    with pytest.raises(Refused, match="every user can make files"):
        refuse_unsafe_folder(folder, Vouched())
    with pytest.raises(Refused, match="every user can make files"):
        refuse_unsafe_place(folder.parent, Vouched())


def test_under_sudo_the_callers_files_are_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setenv("SUDO_UID", "1234")
    assert my_users() == {0, 1234}
    monkeypatch.setattr("os.geteuid", lambda: 50)
    assert my_users() == {50}


def test_a_vouched_place_does_not_excuse_a_link(folder: Path) -> None:
    (folder / "x").symlink_to("y")
    with pytest.raises(Refused, match="x is a link"):
        refuse_unsafe_folder(folder, Vouched(place=True))


def test_a_user_without_a_name_is_named_by_its_number() -> None:
    assert owner_name(2_000_000_123) == "2000000123"
