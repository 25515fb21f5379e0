"""Keeping what was read of a sqlew database: whole, and with its own times."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from keep.importing.results import SECOND, Take, of
from satchel import Satchel
from satchel.base.errors import InvalidInput
from satchel.keep.moving import service as moving_service
from sqlew_databases import Made, sample

if TYPE_CHECKING:
    from conftest import ManualClock

HOUR = 3_600 * SECOND


def test_a_decision_comes_with_history_tags_scopes_layer_and_its_own_times(
    satchel: Satchel, take: Take, tmp_path: Path, now: int
) -> None:
    result = take(sample(tmp_path / "s.db", "3.6", now))
    found = satchel.decisions.get("session_store")
    decision = found.decision
    assert (decision.value, decision.status, decision.version, decision.layer) == ("redis", "draft", "2.0.0", "data")
    assert (decision.tags, decision.scopes) == (("gateway-limits", "security"), ("gateway",))
    assert (decision.agent, decision.revision) == ("planner", 3)
    assert (decision.created_at, decision.updated_at) == ((now - 600) * SECOND, (now - 60) * SECOND)
    assert decision.rationale is not None
    assert decision.rationale.startswith("survives a restart")
    assert [(state.value, state.agent, state.set_at, state.replaced_at) for state in found.history.items] == [
        ("postgres", "planner", (now - 300) * SECOND, (now - 60) * SECOND),
        ("memory", "builder", (now - 600) * SECOND, (now - 300) * SECOND),
    ]
    assert [state.layer for state in found.history.items] == [None, None]
    assert result.is_incomplete is False


def test_a_number_comes_back_as_a_whole_number(satchel: Satchel, take: Take, tmp_path: Path, now: int) -> None:
    take(sample(tmp_path / "s.db", "3.6", now))
    assert repr(satchel.decisions.get("session_ttl").decision.value) == "300"


def test_constraints_come_active_and_inactive(satchel: Satchel, take: Take, tmp_path: Path, now: int) -> None:
    take(sample(tmp_path / "s.db", "3.6", now))
    held, dropped = satchel.constraints.find(status="all", order="asc").items
    assert (held.text, held.category, held.priority, held.layer) == (
        "tokens are never logged",
        "security",
        "critical",
        "data",
    )
    assert (held.tags, held.agent, held.created_at) == (("security",), "planner", (now - 40) * SECOND)
    assert (dropped.active, dropped.reason) == (False, "inactive in sqlew")


def test_why_a_constraint_was_made_becomes_part_of_its_text(satchel: Satchel, take: Take, made: Made, now: int) -> None:
    database = made("5")
    database.add("constraints", category_id=1, constraint_text="no floats", reason="money is whole cents", ts=now)
    take(database)
    assert [one.text for one in satchel.constraints.find().items] == ["no floats\n\nWhy: money is whole cents"]


def test_a_message_that_was_read_is_read_by_its_addressee(
    satchel: Satchel, take: Take, tmp_path: Path, now: int
) -> None:
    take(sample(tmp_path / "s.db", "3.6", now))
    (message,) = satchel.messages.inbox(agent="builder").items
    assert (message.sender, message.to, message.type, message.priority) == ("planner", "builder", "warning", "high")
    assert (message.message, message.payload) == ("keep off auth", {"file": "src/auth.py"})
    assert (message.created_at, message.read_at) == ((now - 30) * SECOND, (now - 30) * SECOND)
    assert satchel.messages.inbox(agent="builder", unread=True).total == 0


def test_a_message_to_all_that_was_read_is_unread_by_everyone(
    satchel: Satchel, take: Take, made: Made, now: int
) -> None:
    database = made()
    database.add("agent_messages", from_agent_id=1, msg_type=4, message="hello", read=1, ts=now)
    take(database)
    assert satchel.messages.inbox(agent="builder").unread == 1


def test_a_message_without_a_text_says_so_and_keeps_its_payload(
    satchel: Satchel, take: Take, tmp_path: Path, now: int
) -> None:
    take(sample(tmp_path / "s.db", "1.0", now))
    (message,) = satchel.messages.inbox(agent="builder").items
    assert (message.message, message.payload) == (
        "(sqlew stored no text of this message)",
        {"file": "src/auth.py"},
    )


@pytest.mark.parametrize("payload", ["{not json", '{"share": NaN}'])
def test_a_payload_that_is_no_json_arrives_as_text(
    satchel: Satchel, take: Take, made: Made, now: int, payload: str
) -> None:
    database = made()
    database.add("agent_messages", from_agent_id=1, to_agent_id=2, msg_type=4, message="see", payload=payload, ts=now)
    take(database)
    assert [message.payload for message in satchel.messages.inbox(agent="builder").items] == [payload]


def test_file_changes_come_with_everything(
    satchel: Satchel, take: Take, tmp_path: Path, clock: ManualClock, now: int
) -> None:
    take(sample(tmp_path / "s.db", "3.6", now))
    (change,) = satchel.files.changes().items
    assert (change.file, change.change, change.agent, change.layer) == ("src/auth.py", "modified", "builder", "data")
    assert (change.description, change.worktree) == ("refresh tokens", None)
    assert (change.created_at, change.expires_at) == ((now - 20) * SECOND, clock.now + 168 * HOUR)


def test_an_absolute_path_inside_the_project_becomes_relative(
    satchel: Satchel, take: Take, made: Made, project: Path, now: int
) -> None:
    database = made()
    database.add("files", id=5, path=str(project / "src" / "x.py"))
    database.add("file_changes", file_id=5, agent_id=1, change_type=1, ts=now)
    take(database)
    assert [change.file for change in satchel.files.changes().items] == ["src/x.py"]


def test_a_path_outside_the_project_is_left_out_and_listed(satchel: Satchel, take: Take, made: Made, now: int) -> None:
    database = made()
    database.add("files", id=5, path="../secrets.txt")
    database.add("file_changes", file_id=5, agent_id=1, change_type=1, ts=now)
    result = take(database)
    assert of(result, "file_change").left_out == 1
    assert [(one.table, one.row) for one in result.troubles] == [("t_file_changes", "id 1")]


def test_a_decision_never_expires(satchel: Satchel, take: Take, made: Made) -> None:
    database = made()
    database.add("decisions", key_id=1, value="redis", ts=86_400)
    take(database)
    assert satchel.decisions.get("session_store").decision.updated_at == 86_400 * SECOND


def test_a_layer_the_project_lacks_is_added_and_said(satchel: Satchel, take: Take, made: Made, now: int) -> None:
    database = made()
    planning = database.layer("planning")
    database.add("decisions", key_id=1, value="redis", layer_id=planning, ts=now)
    result = take(database)
    assert satchel.decisions.get("session_store").decision.layer == "planning"
    assert result.notes == ("new layers: planning",)
    with pytest.raises(InvalidInput, match="unknown layer"):
        satchel.decisions.set("other", 1, layer="plannning")


def test_control_characters_are_removed_and_reported(satchel: Satchel, take: Take, made: Made, now: int) -> None:
    database = made()
    database.add("decisions", key_id=1, value="re\x00dis", ts=now)
    result = take(database)
    assert satchel.decisions.get("session_store").decision.value == "redis"
    assert [(one.row, one.reason, one.left_out) for one in result.troubles] == [
        ("key_id 1", "1 control character removed", False)
    ]


def test_a_secret_is_redacted_and_reported(satchel: Satchel, take: Take, made: Made, now: int) -> None:
    database = made()
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    database.add("constraints", category_id=1, constraint_text=f"use {token}", ts=now)
    result = take(database)
    assert token not in satchel.constraints.find().items[0].text
    assert [(one.table, one.left_out) for one in result.troubles] == [("t_constraints", False)]
    assert "redacted" in result.troubles[0].reason


def test_a_key_that_is_none_here_is_left_out_and_listed(satchel: Satchel, take: Take, made: Made, now: int) -> None:
    database = made()
    database.add("context_keys", id=9, key="k" * 201)
    database.add("decisions", key_id=9, value="x", ts=now)
    result = take(database)
    assert (result.is_incomplete, satchel.decisions.find().total) == (True, 0)
    assert "201 characters" in result.troubles[0].reason


def test_an_earlier_state_that_cannot_be_kept_costs_only_itself(
    satchel: Satchel, take: Take, made: Made, now: int
) -> None:
    database = made()
    database.add("decision_history", key_id=1, value="memory", version="v" * 300, ts=now - 10)
    database.add("decisions", key_id=1, value="redis", version="2", ts=now)
    result = take(database)
    found = satchel.decisions.get("session_store")
    # its version is not kept, which is minor
    assert [(state.value, state.version) for state in found.history.items] == [("memory", "1.0.0")]
    assert [one.left_out for one in result.troubles] == [False]


def test_imported_things_are_found(satchel: Satchel, take: Take, tmp_path: Path, now: int) -> None:
    take(sample(tmp_path / "s.db", "3.6", now))
    for words, ref in (("redis", "d1"), ("logged", "c1"), ("keep off", "m1"), ("refresh", "f1")):
        assert [found.ref for found in satchel.finding.search(words).results] == [ref]


def test_the_store_is_sound_afterwards(satchel: Satchel, take: Take, tmp_path: Path, now: int) -> None:
    take(sample(tmp_path / "s.db", "3.6", now))
    assert [check.name for check in satchel.housekeeping.doctor() if check.status != "ok"] == ["backups"]


@pytest.mark.no_store
def test_a_preview_writes_nothing_and_says_what_would_come(
    satchel: Satchel, take: Take, tmp_path: Path, now: int
) -> None:
    file = sample(tmp_path / "s.db", "3.6", now)
    foreseen = take(file, dry_run=True)
    assert not satchel.workplace.engine.exists()
    assert not foreseen.done
    done = take(file)
    assert (foreseen.kinds, foreseen.notes) == (done.kinds, done.notes)


def test_the_foreign_file_is_not_changed_and_nothing_is_left_beside_it(take: Take, tmp_path: Path, now: int) -> None:
    folder = tmp_path / "foreign"
    folder.mkdir()
    file = sample(folder / "s.db", "3.6", now)
    before = file.read_bytes()
    take(file)
    assert file.read_bytes() == before
    assert list(folder.iterdir()) == [file]


def test_it_is_written_in_transactions_of_some_hundred_changes(
    satchel: Satchel, made: Made, monkeypatch: pytest.MonkeyPatch, now: int
) -> None:
    monkeypatch.setattr(moving_service, "PER_TRANSACTION", 4)
    database = made()
    for number in range(10, 20):
        database.add("context_keys", id=number, key=f"key{number}")
        database.add("decision_history", key_id=number, value="a", version="1", ts=now - 1)
        database.add("decisions", key_id=number, value="b", version="2", ts=now)
    told: list[tuple[int, int]] = []
    satchel.moving.import_from("sqlew", database.close(), progress=lambda done, total: told.append((done, total)))
    assert told == [(done, 10) for done in (4, 8, 10)]
    assert satchel.decisions.find().total == 10
