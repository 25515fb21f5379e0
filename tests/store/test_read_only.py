"""Stores that can be read and not written: reading works, writing says why, and nothing newer is passed over."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from faults.processes import Child
from faults.rows import add
from satchel.base.errors import ReadOnly
from satchel.store.sqlite import SqliteEngine

OpenEngine = Callable[..., SqliteEngine]


def test_a_cleanly_closed_store_is_read_as_immutable_where_its_folder_cannot_be_written(
    open_engine: OpenEngine, store_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = open_engine()
    add(engine, "kept")
    engine.close()
    monkeypatch.setattr(os, "access", lambda *_: False)
    with engine.read() as transaction:
        assert (
            "immutable" in transaction.connection.filename or transaction.connection.open_flags & apsw.SQLITE_OPEN_URI
        )
        assert transaction.all("SELECT name FROM projects") == [("kept",)]
    with pytest.raises(ReadOnly, match="Reading works"):
        add(engine, "refused")


def test_on_a_read_only_mount_reading_works_and_writing_says_why(mount_point: Path) -> None:
    with Child("read-only-mount", mount_point, private_mounts=True) as child:
        said = child.finish()
    assert said[0] == "['kept']"
    assert "cannot be written here. Reading works" in said[1]
    assert said[2] == "['ok', 'ok', 'ok']"
    assert said[3] == "True"


def test_on_a_read_only_mount_a_store_that_is_not_there_is_empty_and_writing_says_why(mount_point: Path) -> None:
    with Child("read-only-mount", mount_point, private_mounts=True) as child:
        said = child.finish()
    assert said[4] == "0"
    assert "new.db cannot be written here: Read-only file system" in said[5]


def test_on_a_read_only_mount_what_lies_in_a_wal_is_never_passed_over(mount_point: Path) -> None:
    with Child("read-only-mount-with-wal", mount_point, private_mounts=True) as child:
        said = child.finish()
    assert len(said) == 1
    assert "s.db cannot be opened" in said[0]
