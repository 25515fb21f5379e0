"""Databases that the tools made themselves, by referees/foreign: field by field, twice, with an open WAL, damaged.

They are looked for in the folder that ``SATCHEL_FOREIGN_DATABASES`` names.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.base.errors import SatchelError

FOLDER = Path(os.environ.get("SATCHEL_FOREIGN_DATABASES", "nowhere"))
_WITHOUT_AGENTS = ("sqlew-v4", "sqlew-v5")
_WITH_MESSAGES = ("sqlew-v1", "sqlew-v2", "sqlew-v3.0", "sqlew-v3.2")

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="no folder of foreign databases was named")
SQLEW = sorted(path.stem for path in FOLDER.glob("sqlew-*.db"))
EVERY = sorted(path.stem for path in FOLDER.glob("*.db"))


@pytest.fixture
def database(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A copy of a database with its WAL, as a program that is running leaves it."""
    for path in FOLDER.glob(f"{request.param}.db*"):
        shutil.copy(path, tmp_path / path.name)
    return tmp_path / f"{request.param}.db"


@pytest.mark.parametrize("database", SQLEW, indirect=True)
def test_everything_of_sqlew_comes_field_by_field(satchel: Satchel, database: Path) -> None:
    result = satchel.moving.import_from("sqlew", database)
    has_agents = not database.stem.startswith(_WITHOUT_AGENTS)
    planner, builder = ("planner", "builder") if has_agents else (None, None)
    store = satchel.decisions.get("session_store")
    decision = store.decision
    assert (decision.value, decision.agent, decision.layer) == ("redis", planner, "data")
    assert (decision.tags, decision.scopes) == (("api", "security"), ("gateway",))
    assert (decision.version, decision.status) == ("2.0.0", "draft")
    earlier = [(state.value, state.agent, state.layer, state.tags) for state in store.history.items]
    # sqlew 4 itself records no history
    has_history = not database.stem.startswith("sqlew-v4")
    assert earlier == ([("memory", builder, None, ())] if has_history else [])
    assert satchel.decisions.get("session_ttl").decision.value == 600
    (rule,) = satchel.constraints.find().items
    assert (rule.text, rule.category, rule.priority) == ("tokens are never logged", "security", "critical")
    assert (rule.layer, rule.tags, rule.agent) == ("data", ("security",), planner)
    changes = satchel.files.changes().items
    edits = [(one.file, one.change, one.agent, one.layer, one.description) for one in changes]
    has_files = not database.stem.startswith("sqlew-v5")
    assert edits == ([("src/auth.py", "modified", builder, "data", "refresh tokens")] if has_files else [])
    messages = satchel.messages.inbox(agent="builder").items
    sent = [(one.sender, one.type, one.priority, one.payload) for one in messages]
    has_messages = database.stem.startswith(_WITH_MESSAGES)
    assert sent == ([("planner", "warning", "high", {"file": "src/auth.py"})] if has_messages else [])
    assert not result.is_incomplete


@pytest.mark.parametrize("database", [name for name in EVERY if name.startswith("bazinga")], indirect=True)
def test_everything_of_bazinga_comes_field_by_field(satchel: Satchel, database: Path) -> None:
    result = satchel.moving.import_from("bazinga", database)
    (run,) = satchel.runs.list("active").items
    assert (run.run_id, run.title) == ("bazinga_20261124_1", "Build the shop")
    (package,) = satchel.packages.find().items
    assert (package.summary, package.type, package.priority) == ("what is known of auth", "research", "high")
    assert (package.task_id, package.agent, package.consumers) == (
        "AUTH",
        "requirements_engineer",
        ("developer", "qa_expert"),
    )
    (pattern,) = satchel.patterns.find().items
    assert (pattern.error_type, pattern.message, pattern.lang) == (
        "ConnectionError",
        "cannot reach the cache",
        "python",
    )
    assert [(one.text, one.confidence) for one in pattern.solutions] == [("start redis", 5)]
    (strategy,) = satchel.strategies.find().items
    assert (strategy.topic, strategy.insight) == ("general", "queue writes and replay them")
    notes = [(one.type, one.agent, one.task_id) for one in satchel.entries.read(order="asc").items]
    assert sorted(notes, key=str) == sorted(
        [
            *((kind, "developer_1", "AUTH") for kind in ("discovery", "decision", *["scratchpad"] * 3)),
            ("decision", None, None),
        ],
        key=str,
    )
    assert {kind.kind: kind.added for kind in result.kinds}["delivery"] == 2
    assert not result.is_incomplete


@pytest.mark.parametrize("database", EVERY, indirect=True)
def test_the_second_time_nothing_is_new_and_the_file_is_as_it_was(satchel: Satchel, database: Path) -> None:
    tool = database.stem.partition("-")[0]
    before = database.read_bytes()
    satchel.moving.import_from(tool, database)
    again = satchel.moving.import_from(tool, database)
    assert {(kind.added, kind.updated, kind.conflicts) for kind in again.kinds} == {(0, 0, 0)}
    assert database.read_bytes() == before


@pytest.mark.parametrize("database", EVERY, indirect=True)
def test_a_damaged_file_is_refused_or_read_and_never_breaks_the_store(satchel: Satchel, database: Path) -> None:
    tool = database.stem.partition("-")[0]
    wal = Path(f"{database}-wal")
    damaged = wal if wal.exists() else database
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2 :: 97] = bytes(len(content[len(content) // 2 :: 97]))
    damaged.write_bytes(content)
    with suppress(SatchelError):
        satchel.moving.import_from(tool, database)
    assert [check for check in satchel.housekeeping.doctor() if check.status == "failed"] == []
