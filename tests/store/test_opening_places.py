"""Where a store may be."""

from __future__ import annotations

from pathlib import Path

import pytest

from faults.rows import add
from satchel.base import paths
from satchel.base.errors import InvalidInput, Refused
from store.opened import OpenEngine, use


def test_the_folder_of_a_store_is_private_and_ignored_by_git(open_engine: OpenEngine, tmp_path: Path) -> None:
    file = tmp_path / paths.FOLDER_NAME / paths.FILE_NAME
    engine = open_engine(file=file)
    add(engine, "first")
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert (file.parent / ".gitignore").read_text().splitlines()[1:] == ["*", "!/shared/", "!/shared/**"]
    modes = {path.name: path.stat().st_mode & 0o777 for path in file.parent.iterdir() if path.name != ".gitignore"}
    assert set(modes.values()) == {0o600}, modes


def test_a_store_elsewhere_gets_no_ignore_file(open_engine: OpenEngine, tmp_path: Path) -> None:
    add(open_engine(), "first")
    assert not (tmp_path / ".gitignore").exists()


def test_a_missing_folder_is_not_made_up(open_engine: OpenEngine, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="does not exist"):
        use(open_engine(file=tmp_path / "no" / "s.db"), "write")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "fuse.sshfs"])
def test_a_new_store_on_a_network_file_system_is_refused(
    open_engine: OpenEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(paths, "filesystem_kind", lambda _: kind)
    with pytest.raises(Refused, match=kind):
        use(open_engine(), "write")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["read", "write"])
def test_a_store_that_was_moved_to_a_network_file_system_is_refused(
    open_engine: OpenEngine, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    engine = open_engine()
    add(engine, "local")
    engine.close()
    monkeypatch.setattr(paths, "filesystem_kind", lambda _: "nfs")
    with pytest.raises(Refused, match="nfs"):
        use(engine, kind)


def test_the_file_system_of_a_folder_is_that_of_the_nearest_mount() -> None:
    mounts = (
        "22 1 0:21 / / rw - ext4 /dev/root rw\n"
        "23 22 0:22 / /home rw shared:1 - nfs4 server:/home rw\n"
        "24 23 0:23 / /home/me/my\\040disk rw - xfs /dev/sdb rw\n"
    )
    found = [
        paths.filesystem_kind(Path(folder), mounts) for folder in ("/srv", "/homes", "/home/me", "/home/me/my disk/x")
    ]
    assert found == ["ext4", "ext4", "nfs4", "xfs"]
