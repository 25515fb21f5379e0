"""What a killed backup or restore leaves is swept; what a living process writes is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from satchel.base.errors import Busy
from satchel.store import side_files
from store.opened import OpenStore


def test_the_next_backup_sweeps_what_a_killed_one_left(open_store: OpenStore, tmp_path: Path) -> None:
    satchel = open_store()
    satchel.entries.write("discovery", "kept")
    folder = satchel.housekeeping.backup().file.parent
    left = [folder / "backup-1.db.partial", folder / "backup-1.db.partial-journal", tmp_path / "s.db.restoring"]
    for path in left:
        path.write_bytes(b"half a store")
    satchel.housekeeping.backup(tmp_path / "b.db")
    assert [path for path in left if path.exists()] == []


def test_what_a_living_process_writes_is_left_alone(tmp_path: Path) -> None:
    partial = tmp_path / "b.db.partial"
    with side_files.making(partial):
        assert side_files.sweep(tmp_path / "s.db", [tmp_path]) == []
        assert partial.exists()
        with pytest.raises(Busy), side_files.making(partial):
            pass
    assert not partial.exists()


def test_forgetting_finds_the_item_in_what_was_left_unfinished(open_store: OpenStore, tmp_path: Path) -> None:
    satchel = open_store()
    written = satchel.entries.write("discovery", "a secret")
    draft = satchel.housekeeping.backup(tmp_path / "b.db").file.rename(tmp_path / "s.db.restoring")
    assert satchel.housekeeping.forget(written.ref, dry_run=True).still_in == (draft,)
    assert satchel.housekeeping.forget(written.ref).still_in == ()
    assert not draft.exists()
