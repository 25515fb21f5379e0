"""Damage to what says which store a file is: the way back is a backup, never trust that nothing supports."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from faults.damage import overwrite_leaves
from satchel import NotFound, Refused, Satchel, SatchelError
from satchel.base.errors import StoreDamaged
from satchel.base.folders import state_folder
from satchel.store.known_stores import KnownStores

Open = Callable[..., Satchel]


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A state folder for this test alone."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def make(open_in: Open, project: Path, *, backup: bool = False) -> Path:
    """Write to a project's store, close it, and return its file."""
    (project / ".git").mkdir(parents=True, exist_ok=True)
    satchel = open_in(project)
    satchel.entries.write("discovery", "kept", agent="builder")
    if backup:
        satchel.housekeeping.backup()
    satchel.close()
    return satchel.place.file


def read(open_in: Open, project: Path) -> list[str]:
    satchel = open_in(project)
    found = [entry.content for entry in satchel.entries.read().entries]
    satchel.close()
    return found


def advice(open_in: Open, project: Path) -> str:
    """Return what the doctor says of the checks that failed."""
    satchel = open_in(project, read_only=True)
    found = "\n".join(check.detail for check in satchel.housekeeping.doctor() if check.status == "failed")
    satchel.close()
    return found


def _change(file: Path, *statements: str) -> None:
    with closing(apsw.Connection(str(file))) as connection:
        for statement in statements:
            connection.execute(statement)


def _take_the_uid(file: Path) -> None:
    """Set the uid to NULL, which its table forbids: the schema is changed for that and then put back."""
    schema = "UPDATE sqlite_schema SET sql = replace(sql, '{}', '{}') WHERE name = 'store'"
    strict, loose = "uid BLOB NOT NULL", "uid BLOB"
    _change(file, "PRAGMA writable_schema = ON", schema.format(strict, loose))
    _change(file, "UPDATE store SET uid = NULL")
    _change(file, "PRAGMA writable_schema = ON", schema.format(loose, strict))


_UNREADABLE: dict[str, Callable[[Path], None]] = {
    "noise": lambda file: overwrite_leaves(file, "store"),
    "no row": lambda file: _change(file, "DELETE FROM store"),
    "no uid": _take_the_uid,
    "a text": lambda file: _change(file, "UPDATE store SET uid = 'sixteen letters.'"),
    "too short": lambda file: _change(file, "UPDATE store SET uid = x'00'"),
}


@pytest.mark.parametrize("way", _UNREADABLE)
def test_a_listed_store_that_does_not_say_which_it_is_goes_back_to_a_backup(
    open_in: Open, project: Path, way: str
) -> None:
    _UNREADABLE[way](make(open_in, project, backup=True))
    with pytest.raises(StoreDamaged, match="satchel restore"):
        read(open_in, project)
    said = advice(open_in, project)
    assert "`satchel restore` goes back" in said
    assert "satchel trust" not in said
    satchel = open_in(project)
    satchel.housekeeping.restore(satchel.housekeeping.newest_backup().file)
    assert read(open_in, project) == ["kept"]
    assert advice(open_in, project) == ""


@pytest.mark.parametrize("way", _UNREADABLE)
def test_a_strangers_store_that_does_not_say_which_it_is_is_never_believed(
    open_in: Open, project: Path, way: str
) -> None:
    file = make(open_in, project)
    KnownStores(state_folder()).remove(file)
    _UNREADABLE[way](file)
    with pytest.raises(SatchelError) as caught:
        read(open_in, project)
    assert caught.value.code in {"store_damaged", "refused"}
    with pytest.raises(SatchelError):
        open_in(project).housekeeping.trust()
    assert KnownStores(state_folder()).every() == []


def test_the_doctor_advises_to_trust_only_what_can_be_trusted(open_in: Open, project: Path, tmp_path: Path) -> None:
    make(open_in, project)
    copy = tmp_path / "copy"
    shutil.copytree(project, copy)
    assert f"`satchel trust {copy.resolve()}`" in advice(open_in, copy)
    overwrite_leaves(copy / ".satchel" / "satchel.db", "projects")
    said = advice(open_in, copy)
    assert "`satchel init --new` sets the file aside" in said
    assert "satchel trust" not in said.partition(";")[2]
    aside = open_in(copy).housekeeping.initialise(new=True)
    assert aside is not None
    assert advice(open_in, copy) == ""


def test_another_store_under_a_listed_path_is_refused_with_the_way_back(
    open_in: Open, project: Path, tmp_path: Path
) -> None:
    mine = make(open_in, project, backup=True)
    theirs = make(open_in, tmp_path / "other")
    KnownStores(state_folder()).remove(theirs)
    mine.unlink()
    shutil.copy(theirs, mine)
    with pytest.raises(Refused, match=r"neither made nor trusted.*satchel restore.*satchel trust"):
        read(open_in, project)
    satchel = open_in(project)
    satchel.housekeeping.restore(satchel.housekeeping.newest_backup().file)
    assert read(open_in, project) == ["kept"]


def test_a_backup_beside_a_strangers_store_is_no_way_back(open_in: Open, project: Path) -> None:
    file = make(open_in, project)
    planted = file.parent / "backups" / "backup-20260101T000000000Z.db"
    planted.parent.mkdir()
    shutil.copy(file, planted)
    KnownStores(state_folder()).remove(file)
    overwrite_leaves(file, "context")
    assert "satchel restore" not in advice(open_in, project)
    with pytest.raises(NotFound, match="known to be yours"):
        open_in(project).housekeeping.newest_backup()
