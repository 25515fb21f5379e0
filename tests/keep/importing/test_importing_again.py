"""Importing a sqlew database where something is here already: once, and never over what is newer here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from keep.importing.results import SECOND, Take, everything, of
from satchel import Satchel
from satchel.keep.moving.records import Imported
from sqlew_databases import FORMATS, Made, SqlewDatabase, sample

if TYPE_CHECKING:
    from conftest import ManualClock


def counts(result: Imported) -> dict[str, tuple[int, int, int]]:
    return {one.kind: (one.added, one.updated, one.present) for one in result.kinds}


@pytest.mark.parametrize("release", FORMATS)
def test_importing_twice_adds_nothing(
    satchel: Satchel, take: Take, tmp_path: Path, clock: ManualClock, now: int, release: str
) -> None:
    file = sample(tmp_path / "s.db", release, now)
    first = take(file)
    before = everything(satchel)
    clock.advance(59 * SECOND)
    again = take(file)
    assert everything(satchel) == before
    assert counts(again) == {kind: (0, 0, added) for kind, (added, _, _) in counts(first).items()}
    assert of(first, "decision").added == of(first, "constraint").added == 2


def test_what_is_imported_is_the_same_thing_from_an_upgraded_database(
    satchel: Satchel, take: Take, tmp_path: Path, now: int
) -> None:
    take(sample(tmp_path / "old.db", "3.5", now))
    result = take(sample(tmp_path / "new.db", "3.9", now))
    assert {kind: one for kind, one in counts(result).items() if one[:2] != (0, 0)} == {}
    assert (result.conflicts, satchel.constraints.find().items[0].agent) == ((), "planner")


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
    found = satchel.decisions.get("session_store")
    assert [found.decision.value, *(state.value for state in found.history.items)] == ["files", "redis"]


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
    assert of(result, "decision").updated == 1
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
    assert of(take(database), "decision").updated == 1
    found = satchel.decisions.get("session_store")
    assert [found.decision.value, *(state.value for state in found.history.items)] == ["dragonfly", "valkey", "redis"]


def test_an_older_copy_changes_nothing(satchel: Satchel, take: Take, made: Made, now: int) -> None:
    take(valkey(made, now))
    result = take(redis(made, now))
    assert of(result, "decision").present == 1
    assert satchel.decisions.get("session_store").decision.value == "valkey"


def test_of_what_was_changed_here_and_there_the_later_state_holds_and_the_other_is_kept(
    satchel: Satchel, take: Take, made: Made, clock: ManualClock, now: int
) -> None:
    take(redis(made, now))
    clock.advance(5 * SECOND)
    satchel.decisions.set("session_store", "sqlite", agent="planner")
    result = take(valkey(made, now))
    found = satchel.decisions.get("session_store")
    assert found.decision.value == "sqlite"
    assert [state.value for state in found.history.items] == ["valkey", "redis"]
    (conflict,) = result.conflicts
    assert (conflict.ref, conflict.item) == ("d1", "session_store")
    assert conflict.reason == "changed on both sides: the local state is later and wins"
    assert of(result, "decision").conflicts == 1
    (message,) = satchel.messages.inbox(agent="planner").items
    assert "d1 session_store: changed on both sides" in message.message


def test_what_was_changed_here_and_is_the_same_there_is_no_conflict(
    satchel: Satchel, take: Take, made: Made, clock: ManualClock, now: int
) -> None:
    file = redis(made, now).close()
    take(file)
    clock.advance(5 * SECOND)
    satchel.decisions.set("session_store", "sqlite", agent="planner")
    result = take(file)
    assert (of(result, "decision").present, result.conflicts) == (1, ())


def test_a_key_that_was_set_here_keeps_its_later_value_and_gets_the_other_as_history(
    satchel: Satchel, take: Take, made: Made, now: int
) -> None:
    satchel.decisions.set("session_store", "sqlite")
    result = take(redis(made, now))
    found = satchel.decisions.get("session_store")
    assert [found.decision.value, *(state.value for state in found.history.items)] == ["sqlite", "redis"]
    assert [one.ref for one in result.conflicts] == ["d1"]


def test_a_key_that_says_the_same_here_is_no_conflict(satchel: Satchel, take: Take, made: Made, now: int) -> None:
    satchel.decisions.set("session_store", "redis")
    result = take(redis(made, now))
    decision = satchel.decisions.get("session_store").decision
    assert (result.conflicts, decision.revision, decision.created_at) == ((), 1, (now - 100) * SECOND)


def test_a_constraint_dropped_there_since_is_dropped_here_too(
    satchel: Satchel, take: Take, made: Made, now: int
) -> None:
    for place, active in enumerate((1, 0)):
        database = made(name=f"{place}.db")
        database.add("constraints", category_id=1, constraint_text="no floats", active=active, ts=now)
        result = take(database)
    assert (of(result, "constraint").updated, satchel.constraints.find().total) == (1, 0)
    (dropped,) = satchel.constraints.find(status="all").items
    # when it was dropped is not recorded there
    assert (dropped.reason, dropped.deactivated_at) == ("inactive in sqlew", None)


def test_a_message_read_there_since_is_read_here_too(satchel: Satchel, take: Take, made: Made, now: int) -> None:
    for place, read in enumerate((0, 1)):
        database = made(name=f"{place}.db")
        said = {"msg_type": 1, "message": "keep off", "payload": "{}", "ts": now - 5}
        database.add("agent_messages", from_agent_id=1, to_agent_id=2, read=read, **said)
        result = take(database)
    assert of(result, "message").updated == 1
    assert satchel.messages.inbox(agent="builder", unread=True).total == 0


def test_a_preview_sees_what_is_here_and_what_is_newer(satchel: Satchel, take: Take, made: Made, now: int) -> None:
    take(redis(made, now))
    before = everything(satchel)
    result = take(valkey(made, now), dry_run=True)
    assert of(result, "decision").updated == 1
    assert everything(satchel) == before
