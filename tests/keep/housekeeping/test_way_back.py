"""What the doctor advises can be done: what it sends away is set aside, and no backup is promised that is none."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from satchel import Conflict, Satchel

Open = Callable[..., Satchel]


def _failed(open_in: Open, project: Path) -> dict[str, str]:
    satchel = open_in(project, read_only=True)
    found = {check.name: check.detail for check in satchel.housekeeping.doctor() if check.status == "failed"}
    satchel.close()
    return found


def _make(open_in: Open, project: Path) -> Path:
    satchel = open_in(project)
    satchel.entries.write("discovery", "kept", agent="builder")
    satchel.close()
    return satchel.place.file


def _put_a_table_in_the_place_of(file: Path, index: str) -> None:
    """Overwrite the first page of an empty partial index with one of a table, which SQLite's own check passes over."""
    with closing(apsw.Connection(str(file))) as connection:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        root = "SELECT rootpage FROM sqlite_schema WHERE name = ?"
        source, target = (connection.execute(root, (name,)).get for name in ("migrations", index))
        size = connection.pragma("page_size")
    content = bytearray(file.read_bytes())
    content[(target - 1) * size : target * size] = content[(source - 1) * size : source * size]
    file.write_bytes(content)
    with closing(apsw.Connection(str(file))) as connection:
        assert connection.pragma("integrity_check") == "ok"


def test_a_table_in_the_place_of_an_index_is_found(open_in: Open, project: Path) -> None:
    file = _make(open_in, project)
    _put_a_table_in_the_place_of(file, "context_loop")
    assert "index context_loop cannot be read" in _failed(open_in, project)["file"]
    assert open_in(project).housekeeping.initialise(new=True) is not None
    assert _failed(open_in, project) == {}


def test_a_store_that_the_doctor_sends_away_can_be_set_aside(open_in: Open, project: Path) -> None:
    file = _make(open_in, project)
    with closing(apsw.Connection(str(file))) as connection:
        connection.execute("UPDATE context SET content = CAST(x'616cff' AS TEXT)")
    assert "`satchel init --new` sets the file aside" in _failed(open_in, project)["texts"]
    assert open_in(project).housekeeping.initialise(new=True) is not None
    assert _failed(open_in, project) == {}


def test_a_store_that_can_be_mended_is_not_set_aside(open_in: Open, project: Path) -> None:
    file = _make(open_in, project)
    with closing(apsw.Connection(str(file))) as connection:
        connection.execute("DELETE FROM documents_fts_docsize")
    assert "satchel doctor --rebuild" in " ".join(_failed(open_in, project).values())
    with pytest.raises(Conflict):
        open_in(project).housekeeping.initialise(new=True)


@pytest.mark.parametrize("way", ["emptied", "removed"])
def test_a_lost_store_without_a_backup_is_not_promised_one(open_in: Open, project: Path, way: str) -> None:
    file = _make(open_in, project)
    if way == "emptied":
        file.write_bytes(b"")
    else:
        file.unlink()
    for suffix in ("-wal", "-shm"):
        Path(f"{file}{suffix}").unlink(missing_ok=True)
    said = " ".join(_failed(open_in, project).values())
    assert "satchel restore" not in said
    assert "`satchel init --new` starts an empty store" in said
