"""Backups, with other processes at work on the same store."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from faults.damage import overwrite_leaves
from faults.processes import Child
from satchel.base.errors import InvalidInput, NotFound, ReadOnly, StoreDamaged
from satchel.store import backups
from satchel.store.schema import APPLICATION_ID
from store.filled import files, fill
from store.opened import OpenStore


def test_a_backup_made_while_another_process_writes_is_whole(
    open_store: OpenStore, store_file: Path, tmp_path: Path
) -> None:
    satchel = open_store()
    fill(satchel, 100)
    with Child("write-until-told", store_file) as child:
        begun = int(child.hear())
        made = satchel.housekeeping.backup()
        (tmp_path / "stop").touch()
        acknowledged = [begun, *map(int, child.finish())]
    backups.verify(made.file)
    with closing(apsw.Connection(str(made.file), flags=apsw.SQLITE_OPEN_READONLY)) as copy:
        seqs = [seq for (seq,) in copy.execute("SELECT seq FROM context ORDER BY seq")]
        counter = copy.execute("SELECT seq FROM projects").get
        indexed = copy.execute("SELECT count(*) FROM documents_fts_docsize").get
    assert seqs == list(range(seqs[0], counter + 1)), "one snapshot: every seq up to the counter's"
    assert begun in seqs
    assert len(seqs) == indexed
    assert set(seqs) <= {*range(begun), *acknowledged}
    assert made.file.stat().st_mode & 0o777 == 0o600


def test_a_backup_opens_as_a_store_and_lies_alone(open_store: OpenStore, tmp_path: Path) -> None:
    satchel = open_store()
    written = fill(satchel, 5)
    target = tmp_path / "elsewhere" / "b.db"
    target.parent.mkdir()
    assert satchel.housekeeping.backup(target).file == target
    assert files(target.parent) == {"b.db"}
    with closing(apsw.Connection(str(target), flags=apsw.SQLITE_OPEN_READONLY)) as copy:
        assert [content for (content,) in copy.execute("SELECT content FROM context ORDER BY id")] == written
        assert copy.pragma("application_id") == APPLICATION_ID


def test_a_backup_tells_its_progress_up_to_the_end(open_store: OpenStore) -> None:
    satchel = open_store()
    fill(satchel, 5)
    told: list[tuple[int, int]] = []
    satchel.housekeeping.backup(progress=lambda done, total: told.append((done, total)))
    assert told[-1][0] == told[-1][1] > 0


def test_a_backup_never_overwrites(open_store: OpenStore, tmp_path: Path) -> None:
    satchel = open_store()
    fill(satchel, 1)
    (tmp_path / "b.db").write_text("precious")
    with pytest.raises(InvalidInput, match="exists already"):
        satchel.housekeeping.backup(tmp_path / "b.db")
    assert (tmp_path / "b.db").read_text() == "precious"


def test_without_a_store_there_is_nothing_to_back_up(open_store: OpenStore, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        open_store().housekeeping.backup()
    assert files(tmp_path) == set()


@pytest.mark.parametrize("table", ["context", "sqlite_schema"])
def test_a_backup_of_a_corrupt_store_is_refused_and_leaves_no_file(
    open_store: OpenStore, store_file: Path, tmp_path: Path, table: str
) -> None:
    satchel = open_store()
    fill(satchel, 40)
    satchel.close()
    if table == "context":
        overwrite_leaves(store_file, "context")
    else:
        with store_file.open("r+b") as stream:
            stream.seek(100)
            stream.write(b"\xa5" * 3_000)
    before = files(tmp_path)
    with pytest.raises(StoreDamaged):
        satchel.housekeeping.backup()
    left = {name for name in files(tmp_path) if not name.endswith(("-wal", "-shm"))}
    assert left == before


def test_a_backup_into_a_folder_that_cannot_be_written_says_so(
    open_store: OpenStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    satchel = open_store()
    fill(satchel, 1)
    real_open = os.open

    def refuse(path: str | Path, flags: int, mode: int = 0o777) -> int:
        if str(path).endswith(".partial"):
            raise PermissionError(13, "Permission denied", str(path))
        return real_open(path, flags, mode)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(ReadOnly, match="Permission denied"):
        satchel.housekeeping.backup()
