"""How long what was imported is kept: from the import on, however old it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from keep.importing.results import SECOND, Take
from satchel import Satchel
from sqlew_databases import Made, SqlewDatabase

if TYPE_CHECKING:
    from conftest import ManualClock

HOUR = 3_600 * SECOND
YEARS = 3 * 365 * 24 * 3_600
"""In seconds; longer than anything is kept."""


def message_to_builder(made: Made, ts: int, *, read: int) -> SqlewDatabase:
    database = made()
    database.add("agent_messages", from_agent_id=1, to_agent_id=2, msg_type=4, message="cat", read=read, ts=ts)
    return database


def test_an_old_unread_message_keeps_its_time_and_is_kept_from_the_import_on(
    satchel: Satchel, take: Take, made: Made, clock: ManualClock, now: int
) -> None:
    imported_at = clock.now
    take(message_to_builder(made, now - YEARS, read=0))
    clock.advance(168 * HOUR - 1)
    (message,) = satchel.messages.inbox(agent="builder")
    assert (message.created_at, message.expires_at) == ((now - YEARS) * SECOND, imported_at + 168 * HOUR)
    assert (message.read_at, satchel.finding.search("cat").total) == (None, 1)
    clock.advance(1)
    assert satchel.messages.inbox(agent="builder").total == satchel.finding.search("cat").total == 0


def test_an_old_message_that_was_read_is_kept_as_a_read_one_from_the_import_on(
    satchel: Satchel, take: Take, made: Made, clock: ManualClock, now: int
) -> None:
    imported_at = clock.now
    take(message_to_builder(made, now - YEARS, read=1))
    clock.advance(24 * HOUR - 1)
    (message,) = satchel.messages.inbox(agent="builder")
    assert message.created_at == message.read_at == (now - YEARS) * SECOND
    assert (message.expires_at, satchel.finding.search("cat").total) == (imported_at + 24 * HOUR, 1)
    clock.advance(1)
    assert satchel.messages.inbox(agent="builder").total == satchel.finding.search("cat").total == 0


def test_a_read_message_is_not_kept_longer_than_an_unread_one(
    open_in: Callable[..., Satchel], project: Path, made: Made, clock: ManualClock, now: int
) -> None:
    settings = {"retention.messages_hours": 5, "retention.unread_messages_hours": 3}
    satchel = open_in(project, settings=settings)
    satchel.moving.import_from("sqlew", message_to_builder(made, now - YEARS, read=1).close())
    (message,) = satchel.messages.inbox(agent="builder")
    assert message.expires_at == clock.now + 3 * HOUR


def test_an_old_message_to_all_is_gone_for_its_reader_a_day_after_the_import_and_stays_for_others(
    satchel: Satchel, take: Take, made: Made, clock: ManualClock, now: int
) -> None:
    database = made()
    database.add("agent_messages", from_agent_id=1, msg_type=4, message="cat", ts=now - YEARS)
    take(database)
    satchel.messages.mark_read(["m1"], agent="builder")
    clock.advance(24 * HOUR - 1)
    assert satchel.messages.inbox(agent="builder").total == 1
    clock.advance(1)
    assert [satchel.messages.inbox(agent=agent).total for agent in ("builder", "tester")] == [0, 1]


def test_an_old_file_change_keeps_its_time_and_is_kept_from_the_import_on(
    satchel: Satchel, take: Take, made: Made, clock: ManualClock, now: int
) -> None:
    database = made()
    database.add("file_changes", file_id=1, agent_id=1, change_type=1, ts=now - YEARS)
    imported_at = clock.now
    take(database)
    clock.advance(168 * HOUR - 1)
    (change,) = satchel.files.changes().items
    assert (change.created_at, change.expires_at) == ((now - YEARS) * SECOND, imported_at + 168 * HOUR)
    clock.advance(1)
    assert satchel.files.changes().total == 0


def test_old_messages_and_file_changes_survive_the_next_sweep(
    satchel: Satchel, take: Take, made: Made, clock: ManualClock, now: int
) -> None:
    database = message_to_builder(made, now - YEARS, read=1)
    database.add("file_changes", file_id=1, agent_id=1, change_type=1, ts=now - YEARS)
    take(database)
    clock.advance(HOUR)
    satchel.messages.send("sweeps", to="tester", agent="planner")
    assert [one.message for one in satchel.messages.inbox(agent="builder")] == ["cat"]
    assert satchel.files.changes().total == 1


def test_what_was_swept_comes_back_with_the_next_import(
    satchel: Satchel, take: Take, made: Made, clock: ManualClock, now: int
) -> None:
    file = message_to_builder(made, now, read=0).close()
    take(file)
    clock.advance(168 * HOUR)
    satchel.messages.send("sweeps", to="tester", agent="planner")
    assert [kind.added for kind in take(file).kinds if kind.kind == "message"] == [1]
    (message,) = satchel.messages.inbox(agent="builder")
    assert (message.created_at, message.expires_at) == (now * SECOND, clock.now + 168 * HOUR)


@pytest.mark.parametrize("read", [0, 1])
@pytest.mark.parametrize("skip_weekends", [False, True])
def test_what_is_of_the_end_of_the_year_9999_is_not_kept_longer_than_what_is_new(
    open_in: Callable[..., Satchel], project: Path, made: Made, clock: ManualClock, skip_weekends: bool, read: int
) -> None:
    satchel = open_in(project, settings={"retention.skip_weekends": skip_weekends})
    last_second = 253_402_300_799
    database = message_to_builder(made, last_second, read=read)
    database.add("file_changes", file_id=1, agent_id=1, change_type=1, ts=last_second)
    satchel.moving.import_from("sqlew", database.close())
    (message,), (change,) = satchel.messages.inbox(agent="builder"), satchel.files.changes().items
    assert message.created_at == change.created_at == clock.now
    kept = satchel.workplace.retention.expires_at(clock.now, 168)
    assert change.expires_at == kept
    assert message.expires_at <= kept
