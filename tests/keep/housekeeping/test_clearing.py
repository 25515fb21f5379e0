from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from satchel import InvalidInput, ReadOnly, Satchel
from satchel.keep.housekeeping import clearing
from satchel.keep.housekeeping.clearing import Cleared
from tables import in_one_test

if TYPE_CHECKING:
    from conftest import ManualClock

HOUR = 3_600_000
DAY = 24 * HOUR


def rows(satchel: Satchel, table: str) -> int:
    with satchel.workplace.engine.read() as transaction:
        row = transaction.one(f"SELECT count(*) FROM {table}")
    assert row is not None
    return int(row[0])


def send(satchel: Satchel, text: str = "x") -> str:
    return satchel.messages.send(text, to="bob", agent="ann").ref


def change(satchel: Satchel, description: str = "x") -> str:
    return satchel.files.record("src/a.py", "modified", description=description).ref


@pytest.mark.parametrize(
    ("hours", "cleared"),
    [
        ({"messages_hours": 2}, (1, 0)),
        ({"messages_hours": 1}, (2, 0)),
        ({"messages_hours": 0}, (3, 0)),
        ({"messages_hours": 3}, (0, 0)),
        ({"file_changes_hours": 2}, (0, 1)),
        ({"file_changes_hours": 1}, (0, 2)),
        ({"file_changes_hours": 0}, (0, 3)),
        ({"file_changes_hours": 3}, (0, 0)),
        ({"messages_hours": 0, "file_changes_hours": 1}, (3, 2)),
        ({}, (0, 0)),
    ],
)
@pytest.mark.parametrize("dry_run", [True, False])
def test_what_is_as_old_as_that_goes_and_younger_things_stay(
    satchel: Satchel, clock: ManualClock, hours: dict[str, Any], cleared: tuple[int, int], dry_run: bool
) -> None:
    for _ in range(3):  # two hours old, one hour old, new
        send(satchel)
        change(satchel)
        clock.advance(HOUR)
    clock.advance(-HOUR)
    result = satchel.housekeeping.clear(**hours, dry_run=dry_run)
    assert result == Cleared(*cleared, 0, 0, 0, done=not dry_run)
    left = (3, 3) if dry_run else (3 - cleared[0], 3 - cleared[1])
    assert (rows(satchel, "agent_messages"), rows(satchel, "file_changes")) == left
    assert (satchel.messages.inbox(agent="bob").total, satchel.files.changes().total) == left


def test_nothing_goes_unless_it_is_said(satchel: Satchel) -> None:
    send(satchel)
    result = satchel.housekeeping.clear(0, 0)
    assert (result.messages, result.done) == (1, False)
    assert rows(satchel, "agent_messages") == 1


def test_what_was_cleared_is_not_found_any_more(satchel: Satchel) -> None:
    message, changed = send(satchel, "needle"), change(satchel, "needle")
    note = satchel.entries.write("discovery", "needle")
    satchel.housekeeping.clear(0, 0, dry_run=False)
    found = [one.ref for one in satchel.finding.search("needle").results]
    assert found == [note.ref]
    assert {message, changed}.isdisjoint(found)
    assert [check for check in satchel.housekeeping.doctor() if check.status == "failed"] == []


def test_without_hours_what_has_expired_goes(satchel: Satchel, clock: ManualClock) -> None:
    send(satchel)
    change(satchel)
    clock.advance(7 * DAY - 1)
    assert satchel.housekeeping.clear() == Cleared(0, 0, 0, 0, 0, done=False)
    clock.advance(1)
    assert satchel.housekeeping.clear() == Cleared(1, 1, 0, 0, 0, done=False)
    assert satchel.housekeeping.clear(dry_run=False) == Cleared(1, 1, 0, 0, 0, done=True)
    assert (rows(satchel, "agent_messages"), rows(satchel, "file_changes")) == (0, 0)


def test_without_hours_a_message_that_was_read_goes_after_its_own_time_and_an_unread_one_stays(
    satchel: Satchel, clock: ManualClock
) -> None:
    read = send(satchel)
    unread = send(satchel)
    everyone = satchel.messages.send("x", agent="ann").ref
    satchel.messages.mark_read([read, everyone], agent="bob")
    clock.advance(DAY - 1)
    assert satchel.housekeeping.clear().messages == 0
    clock.advance(1)
    assert satchel.housekeeping.clear(dry_run=False).messages == 1
    assert [message.ref for message in satchel.messages.inbox(agent="bob")] == [unread]
    assert [message.ref for message in satchel.messages.inbox(agent="carol")] == [everyone]


def test_without_hours_the_configured_times_count(
    open_in: Callable[..., Satchel], project: Path, clock: ManualClock
) -> None:
    satchel = open_in(
        project,
        settings={
            "retention.messages_hours": 1,
            "retention.unread_messages_hours": 2,
            "retention.file_changes_hours": 3,
        },
    )
    satchel.messages.mark_read([send(satchel)], agent="bob")
    send(satchel)
    change(satchel)
    shown = []
    for _ in range(3):
        clock.advance(HOUR)
        counted = satchel.housekeeping.clear()
        shown.append((counted.messages, counted.file_changes))
    assert shown == [(1, 0), (2, 0), (2, 1)]


MONDAY_NOON = round(datetime(2026, 11, 16, 12, tzinfo=UTC).timestamp() * 1_000)


@pytest.mark.parametrize(("skip", "cleared"), [(False, 3), (True, 1)])
def test_hours_of_a_weekend_count_unless_they_are_skipped(
    open_in: Callable[..., Satchel], project: Path, clock: ManualClock, skip: bool, cleared: int
) -> None:
    satchel = open_in(project, settings={"retention.skip_weekends": skip})
    for days_before in (4, 3, 1):  # Thursday, Friday, Sunday at noon
        clock.now = MONDAY_NOON - days_before * DAY
        change(satchel)
    clock.now = MONDAY_NOON
    assert satchel.housekeeping.clear(file_changes_hours=24 + (1 if skip else 0)).file_changes == cleared
    assert satchel.housekeeping.clear(file_changes_hours=24).file_changes == (2 if skip else 3)


def test_on_a_weekend_that_does_not_count_zero_hours_still_mean_everything(
    open_in: Callable[..., Satchel], project: Path, clock: ManualClock
) -> None:
    satchel = open_in(project, settings={"retention.skip_weekends": True})
    clock.now = MONDAY_NOON - DAY
    change(satchel)
    assert satchel.housekeeping.clear(file_changes_hours=0).file_changes == 1


def test_claims_that_have_run_out_go_and_the_others_stay(satchel: Satchel, clock: ManualClock) -> None:
    satchel.files.claim(["src/a.py", "src/b.py"], minutes=5, agent="ann")
    satchel.files.claim(["src/c.py"], minutes=6, agent="ann")
    clock.advance(5 * 60_000)
    assert satchel.housekeeping.clear() == Cleared(0, 0, 2, 0, 0, done=False)
    assert rows(satchel, "file_claims") == 3
    assert satchel.housekeeping.clear(dry_run=False) == Cleared(0, 0, 2, 0, 0, done=True)
    assert rows(satchel, "file_claims") == 1


def test_many_go_in_several_steps_and_the_progress_is_told(satchel: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clearing, "_PER_STEP", 2)
    for _ in range(5):
        send(satchel)
    for _ in range(3):
        change(satchel)
    told: list[tuple[int, int]] = []
    result = satchel.housekeeping.clear(0, 0, dry_run=False, progress=lambda done, total: told.append((done, total)))
    assert (result.messages, result.file_changes) == (5, 3)
    assert told == [(2, 8), (4, 8), (5, 8), (7, 8), (8, 8)]
    assert (rows(satchel, "agent_messages"), rows(satchel, "file_changes"), rows(satchel, "documents")) == (0, 0, 0)


def test_a_reply_outlives_what_it_answers(satchel: Satchel, clock: ManualClock) -> None:
    asked = send(satchel)
    clock.advance(HOUR)
    reply = satchel.messages.send("y", reply_to=asked, agent="bob")
    satchel.housekeeping.clear(messages_hours=1, dry_run=False)
    assert [message.ref for message in satchel.messages.inbox(agent="ann")] == [reply.ref]


@pytest.mark.parametrize("dry_run", [True, False])
def test_another_project_is_left_alone(
    open_in: Callable[..., Satchel], project: Path, clock: ManualClock, dry_run: bool
) -> None:
    one, other = open_in(project, project="one"), open_in(project, project="other")
    one.housekeeping.initialise()
    send(other)
    change(other)
    other.files.claim(["src/a.py"], minutes=1, agent="ann")
    clock.advance(60_000)
    assert one.housekeeping.clear(0, 0, dry_run=dry_run) == Cleared(0, 0, 0, 0, 0, done=not dry_run)
    left = [rows(other, table) for table in ("agent_messages", "file_changes", "file_claims")]
    assert left == [1, 1, 1]


@pytest.mark.no_store
@pytest.mark.parametrize("dry_run", [True, False])
def test_without_a_project_there_is_nothing_to_clear(satchel: Satchel, project: Path, dry_run: bool) -> None:
    assert satchel.housekeeping.clear(0, 0, dry_run=dry_run) == Cleared(0, 0, 0, 0, 0, done=not dry_run)
    assert not satchel.workplace.engine.exists()
    assert not (project / ".satchel").exists()


def test_a_reader_may_only_look(satchel: Satchel, open_in: Callable[..., Satchel], project: Path) -> None:
    send(satchel)
    reader = open_in(project, read_only=True)
    assert reader.housekeeping.clear(0).messages == 1
    with pytest.raises(ReadOnly):
        reader.housekeeping.clear(0, dry_run=False)


@in_one_test("field", ["messages_hours", "file_changes_hours"])
@in_one_test("hours", [-1, 87_601, 1.5, "1", True])
def test_what_is_no_number_of_hours_is_refused(satchel: Satchel, field: str, hours: Any) -> None:
    with pytest.raises(InvalidInput, match=f"^{field} "):
        satchel.housekeeping.clear(**{field: hours})


@pytest.mark.parametrize("skip", [True, False])
def test_ten_years_are_a_number_of_hours(open_in: Callable[..., Satchel], project: Path, skip: bool) -> None:
    satchel = open_in(project, settings={"retention.skip_weekends": skip})
    send(satchel)
    assert satchel.housekeeping.clear(87_600, 87_600) == Cleared(0, 0, 0, 0, 0, done=False)


def test_errors_whose_life_is_over_go_with_their_solutions_and_younger_ones_stay(
    satchel: Satchel, clock: ManualClock
) -> None:
    satchel.patterns.report("KeyError", "no needle", solution="look in the hay", ttl_days=1)
    clock.advance(DAY - 1)
    assert satchel.housekeeping.clear().error_patterns == 0
    kept = satchel.patterns.report("KeyError", "no hay", ttl_days=2).pattern
    clock.advance(1)
    assert satchel.housekeeping.clear() == Cleared(0, 0, 0, 1, 0, done=False)
    assert rows(satchel, "error_patterns") == 2
    assert satchel.housekeeping.clear(dry_run=False) == Cleared(0, 0, 0, 1, 0, done=True)
    assert (rows(satchel, "error_patterns"), rows(satchel, "error_solutions")) == (1, 0)
    assert [one.ref for one in satchel.patterns.find()] == [kept.ref]
    assert [check for check in satchel.housekeeping.doctor() if check.status == "failed"] == []


def test_the_hours_of_messages_do_not_touch_errors(satchel: Satchel, clock: ManualClock) -> None:
    satchel.patterns.report("KeyError", "no needle")
    clock.advance(DAY)
    assert satchel.housekeeping.clear(0, 0).error_patterns == 0
