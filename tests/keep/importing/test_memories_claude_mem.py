"""Importing the database of claude-mem."""

from __future__ import annotations

import json
from pathlib import Path

import apsw
import pytest

from satchel import Satchel
from satchel.base.errors import Conflict, NotFound, StoreForeign

_TABLES = """
CREATE TABLE observations (
    id INTEGER PRIMARY KEY AUTOINCREMENT, memory_session_id TEXT NOT NULL, project TEXT NOT NULL, text TEXT,
    type TEXT NOT NULL, title TEXT, subtitle TEXT, facts TEXT, narrative TEXT, concepts TEXT,
    files_read TEXT, files_modified TEXT,
    prompt_number INTEGER, created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL);
CREATE TABLE session_summaries (
    id INTEGER PRIMARY KEY AUTOINCREMENT, memory_session_id TEXT NOT NULL, project TEXT NOT NULL, request TEXT,
    investigated TEXT, learned TEXT, completed TEXT, next_steps TEXT, files_read TEXT, files_edited TEXT, notes TEXT,
    created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL);
CREATE TABLE user_prompts (id INTEGER PRIMARY KEY, prompt_text TEXT);
INSERT INTO user_prompts VALUES (1, 'make it fast');
"""
_AT = 1_760_000_000_000


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A database of two projects, one with an observation of each age and a summary."""
    made = tmp_path / "claude-mem.db"
    connection = apsw.Connection(str(made))
    connection.execute(_TABLES)
    insert = (
        "INSERT INTO observations (memory_session_id, project, text, type, title, facts, narrative, files_modified, "
        "created_at, created_at_epoch) VALUES ('s', ?, ?, ?, ?, ?, ?, ?, '', ?)"
    )
    facts, files = json.dumps(["one writer", "many readers"]), json.dumps(["src/db.py"])
    connection.execute(insert, ("shop", None, "decision", "WAL mode", facts, "SQLite runs in WAL.", files, _AT))
    connection.execute(insert, ("shop", "an old observation", "discovery", None, None, None, None, _AT + 1))
    connection.execute(insert, ("shop", "no time", "discovery", None, None, None, None, -1))
    connection.execute(insert, ("other", "of another project", "bugfix", None, None, None, None, _AT))
    connection.execute(
        "INSERT INTO session_summaries (memory_session_id, project, request, learned, created_at, created_at_epoch) "
        "VALUES ('s', 'shop', 'speed', 'caches help', '', ?)",
        (_AT + 2,),
    )
    connection.close()
    return made


def test_observations_and_summaries_of_a_project_become_notes(satchel: Satchel, file: Path) -> None:
    result = satchel.moving.import_from("claude-mem", file.parent, source_project="shop")
    entries = satchel.entries.read(order="asc").items
    assert [(one.type, one.content, one.created_at) for one in entries] == [
        ("decision", "WAL mode\nSQLite runs in WAL.\n- one writer\n- many readers\nChanged: src/db.py", _AT),
        ("discovery", "an old observation", _AT + 1),
        ("discovery", "Request: speed\nLearned: caches help", _AT + 2),
    ]
    assert [trouble.row for trouble in result.troubles] == ["id 3"]
    assert result.not_taken == (("user_prompts", 1),)


def test_a_second_import_adds_nothing(satchel: Satchel, file: Path) -> None:
    satchel.moving.import_from("claude-mem", file, source_project="shop")
    again = satchel.moving.import_from("claude-mem", file, source_project="shop")
    assert [(kind.added, kind.present) for kind in again.kinds] == [(0, 3)]


def test_the_project_has_to_be_named_among_several(satchel: Satchel, file: Path) -> None:
    with pytest.raises(Conflict, match="other, shop"):
        satchel.moving.import_from("claude-mem", file)


def test_another_database_and_an_empty_folder_are_refused(satchel: Satchel, tmp_path: Path) -> None:
    apsw.Connection(str(tmp_path / "x.db")).execute("CREATE TABLE notes (text)")
    with pytest.raises(StoreForeign, match="no claude-mem database"):
        satchel.moving.import_from("claude-mem", tmp_path / "x.db")
    with pytest.raises(NotFound, match=r"no claude-mem\.db"):
        satchel.moving.import_from("claude-mem", tmp_path)
