"""Keeping what was read of a sqlew database: whole, once, with its own times, and never over what is newer here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from satchel import Satchel
from satchel.base.errors import InvalidInput
from satchel.keep.importing import ImportConflict, Imported, KindImported
from satchel.keep.importing import service as importing_service
from sqlew_databases import FORMATS, SqlewDatabase, sample

if TYPE_CHECKING:
    from conftest import ManualClock

Made = Callable[..., SqlewDatabase]
Take = Callable[..., Imported]

SECOND = 1_000
HOUR = 3_600 * SECOND


def of(result: Imported, kind: str) -> KindImported:
    (found,) = [one for one in result.kinds if one.kind == kind]
    return found


def counts(result: Imported) -> dict[str, tuple[int, int, int]]:
    return {one.kind: (one.added, one.updated, one.present) for one in result.kinds}


def everything(satchel: Satchel) -> list[object]:
    tables = ("decisions", "decision_history", "constraints", "agent_messages", "file_changes", "message_reads")
    with satchel.workplace.engine.read() as transaction:
        return [transaction.all(f"SELECT * FROM {table}") for table in (*tables, "documents", "projects")]


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
    assert result.states == 2


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
    assert (dropped.active, dropped.reason) == (False, "inactive in sqlew when it was imported")


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
        "(no text was kept of this message)",
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
    assert of(result, "file_changes").left_out == 1
    assert [(one.table, one.row) for one in result.troubles] == [("t_file_changes", "id 1")]


@pytest.mark.parametrize("release", FORMATS)
def test_importing_twice_adds_nothing(
    satchel: Satchel, take: Take, tmp_path: Path, clock: ManualClock, now: int, release: str
) -> None:
    file = sample(tmp_path / "s.db", release, now)
    first = take(file)
    before = everything(satchel)
    clock.advance(60 * SECOND)
    again = take(file)
    assert everything(satchel) == before
    assert counts(again) == {kind: (0, 0, added) for kind, (added, _, _) in counts(first).items()}
    assert of(first, "decisions").added == of(first, "constraints").added == 2


def test_what_is_imported_is_the_same_thing_from_an_upgraded_database(
    satchel: Satchel, take: Take, tmp_path: Path, now: int
) -> None:
    take(sample(tmp_path / "old.db", "3.5", now))
    result = take(sample(tmp_path / "new.db", "3.9", now))
    assert {kind: added for kind, (added, _, _) in counts(result).items()} == dict.fromkeys(
        ("decisions", "constraints", "messages", "file_changes"), 0
    )
    assert result.conflicts == ()


def test_two_projects_of_one_database_are_not_taken_for_each_other(
    satchel: Satchel, take: Take, made: Made, now: int
) -> None:
    database = made("3.9")
    database.add("projects", id=2, name="blog")
    database.add("decisions", key_id=1, value="redis", project_id=1, ts=now - 10)
    database.add("decisions", key_id=1, value="files", project_id=2, ts=now)
    file = database.close()
    take(file, source_project="shop")
    result = take(file, source_project="blog")
    assert [(one.ref, one.item) for one in result.conflicts] == [("d1", "session_store")]
    assert satchel.decisions.get("session_store").decision.value == "redis"


def redis(made: Made, now: int, name: str = "sqlew.db") -> SqlewDatabase:
    database = made(name=name)
    database.add("decisions", key_id=1, value="redis", agent_id=1, version="1.0.0", ts=now - 100)
    return database


def valkey(made: Made, now: int) -> SqlewDatabase:
    database = made(name="later.db")
    database.add("decision_history", key_id=1, value="redis", agent_id=1, version="1.0.0", ts=now - 100)
    database.add("decisions", key_id=1, value="valkey", agent_id=2, version="1.1.0", status=2, ts=now - 50)
    return database


def test_what_is_newer_there_follows_what_was_imported_before(
    satchel: Satchel, take: Take, made: Made, now: int
) -> None:
    take(redis(made, now))
    result = take(valkey(made, now))
    assert (of(result, "decisions").updated, result.states) == (1, 1)
    found = satchel.decisions.get("session_store")
    decision = found.decision
    assert (decision.value, decision.version, decision.status, decision.agent) == (
        "valkey",
        "1.1.0",
        "deprecated",
        "builder",
    )
    assert (decision.created_at, decision.updated_at) == ((now - 100) * SECOND, (now - 50) * SECOND)
    assert [state.value for state in found.history.items] == ["redis"]


def test_an_update_can_be_followed_by_another(satchel: Satchel, take: Take, made: Made, now: int) -> None:
    take(redis(made, now))
    take(valkey(made, now))
    database = made(name="latest.db")
    database.add("decisions", key_id=1, value="dragonfly", version="2.0.0", ts=now - 10)
    assert of(take(database), "decisions").updated == 1
    found = satchel.decisions.get("session_store")
    assert [found.decision.value, *(state.value for state in found.history.items)] == ["dragonfly", "valkey", "redis"]


def test_an_older_copy_changes_nothing(satchel: Satchel, take: Take, made: Made, now: int) -> None:
    take(valkey(made, now))
    result = take(redis(made, now))
    assert of(result, "decisions").present == 1
    assert satchel.decisions.get("session_store").decision.value == "valkey"


def test_what_was_changed_here_and_is_newer_there_is_left_alone_and_reported(
    satchel: Satchel, take: Take, made: Made, clock: ManualClock, now: int
) -> None:
    take(redis(made, now))
    clock.advance(5 * SECOND)
    satchel.decisions.set("session_store", "sqlite", agent="planner")
    result = take(valkey(made, now))
    assert satchel.decisions.get("session_store").decision.value == "sqlite"
    (conflict,) = result.conflicts
    assert (conflict.ref, conflict.item) == ("d1", "session_store")
    assert "changed here since it was imported" in conflict.reason
    assert of(result, "decisions").conflicts == 1


def test_what_was_changed_here_and_is_the_same_there_is_no_conflict(
    satchel: Satchel, take: Take, made: Made, clock: ManualClock, now: int
) -> None:
    file = redis(made, now).close()
    take(file)
    clock.advance(5 * SECOND)
    satchel.decisions.set("session_store", "sqlite", agent="planner")
    result = take(file)
    assert (of(result, "decisions").present, result.conflicts) == (1, ())


def test_a_key_that_was_set_here_is_left_alone_and_reported(satchel: Satchel, take: Take, made: Made, now: int) -> None:
    satchel.decisions.set("session_store", "sqlite")
    result = take(redis(made, now))
    assert satchel.decisions.get("session_store").decision.value == "sqlite"
    (conflict,) = result.conflicts
    assert "it was set here, not imported" in conflict.reason


def test_a_key_that_says_the_same_here_is_no_conflict(satchel: Satchel, take: Take, made: Made, now: int) -> None:
    satchel.decisions.set("session_store", "redis")
    result = take(redis(made, now))
    assert (of(result, "decisions").present, result.conflicts) == (1, ())


def test_a_constraint_dropped_there_since_is_left_alone_and_reported(
    satchel: Satchel, take: Take, made: Made, now: int
) -> None:
    for place, active in enumerate((1, 0)):
        database = made(name=f"{place}.db")
        database.add("constraints", category_id=1, constraint_text="no floats", active=active, ts=now)
        result = take(database)
    assert result.conflicts == (ImportConflict("c1", "no floats", "it does not hold any more in sqlew, but does here"),)
    assert satchel.constraints.find().total == 1


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
    assert result.notes == ("layers that this project did not have: planning",)
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
    assert (of(result, "decisions").left_out, satchel.decisions.find().total) == (1, 0)
    assert "201 characters" in result.troubles[0].reason


def test_an_earlier_state_that_cannot_be_kept_costs_only_itself(
    satchel: Satchel, take: Take, made: Made, now: int
) -> None:
    database = made()
    database.add("decision_history", key_id=1, value="memory", version="v" * 300, ts=now - 10)
    database.add("decisions", key_id=1, value="redis", version="2", ts=now)
    result = take(database)
    found = satchel.decisions.get("session_store")
    assert (found.decision.value, found.history.total) == ("redis", 0)
    assert [one.left_out for one in result.troubles] == [False]


def test_imported_things_are_found(satchel: Satchel, take: Take, tmp_path: Path, now: int) -> None:
    take(sample(tmp_path / "s.db", "3.6", now))
    for words, ref in (("redis", "d1"), ("logged", "c1"), ("keep off", "m1"), ("refresh", "f1")):
        assert [found.ref for found in satchel.finding.search(words).results] == [ref]


def test_the_store_is_sound_afterwards(satchel: Satchel, take: Take, tmp_path: Path, now: int) -> None:
    take(sample(tmp_path / "s.db", "3.6", now))
    assert [check.name for check in satchel.housekeeping.doctor() if check.status != "ok"] == ["backups"]


def test_a_preview_writes_nothing_and_says_what_would_come(
    satchel: Satchel, take: Take, tmp_path: Path, now: int
) -> None:
    file = sample(tmp_path / "s.db", "3.6", now)
    foreseen = take(file, preview=True)
    assert not satchel.place.file.exists()
    assert not foreseen.done
    done = take(file)
    assert (foreseen.kinds, foreseen.states, foreseen.notes) == (done.kinds, done.states, done.notes)


def test_a_preview_sees_what_is_here_and_what_is_newer(satchel: Satchel, take: Take, made: Made, now: int) -> None:
    take(redis(made, now))
    before = everything(satchel)
    result = take(valkey(made, now), preview=True)
    assert (of(result, "decisions").updated, result.states) == (1, 1)
    assert everything(satchel) == before


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
    monkeypatch.setattr(importing_service, "CHANGES_PER_TRANSACTION", 4)
    database = made()
    for number in range(10, 20):
        database.add("context_keys", id=number, key=f"key{number}")
        database.add("decision_history", key_id=number, value="a", version="1", ts=now - 1)
        database.add("decisions", key_id=number, value="b", version="2", ts=now)
    told: list[tuple[int, int]] = []
    satchel.importing.sqlew(database.close(), progress=lambda done, total: told.append((done, total)))
    assert told == [(done, 10) for done in (2, 4, 6, 8, 10)]
    assert satchel.decisions.find().total == 10


def test_counts_add_up_to_the_rows_there(take: Take, made: Made, now: int) -> None:
    database = made()
    database.add("decisions", key_id=1, value="x", ts=now)
    database.add("decisions", key_id=2, value="", ts=now)
    result = of(take(database), "decisions")
    assert (result.rows, result.added, result.left_out) == (2, 1, 1)
