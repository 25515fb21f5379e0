from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from days_of_use import vouch, vouch_in
from index_tables import indexed
from satchel import Satchel
from satchel.keep import expiry, projects

if TYPE_CHECKING:
    from conftest import ManualClock
    from satchel.store.transaction import Transaction

HOUR = 3_600_000
WEEK = 168 * HOUR
"""How long unread messages and file changes are kept."""


def rows(satchel: Satchel, table: str) -> int:
    with satchel.workplace.engine.read() as transaction:
        row = transaction.one(f"SELECT count(*) FROM {table}")
    assert row is not None
    return int(row[0])


def number(transaction: Transaction, satchel: Satchel) -> int:
    project = projects.find(transaction, satchel.workplace)
    return project.id


def sweep(satchel: Satchel, now: int, most: int = expiry.MOST) -> int:
    with satchel.workplace.engine.write() as transaction:
        vouch(transaction, now)
        return expiry.sweep(transaction, number(transaction, satchel), now, most=most)


def sweep_now_and_then(satchel: Satchel, now: int) -> int:
    engine = satchel.workplace.engine
    with engine.write() as transaction:
        vouch(transaction, now)
        return expiry.sweep_now_and_then(engine, transaction, number(transaction, satchel), now)


def send(satchel: Satchel, count: int = 1) -> int:
    """Send messages, and return when the last of them expires."""
    return [satchel.messages.send(f"n{number}", agent="Bob") for number in range(count)][-1].expires_at


def test_messages_and_file_changes_that_have_expired_are_removed_and_others_stay(
    satchel: Satchel, clock: ManualClock
) -> None:
    satchel.entries.write("discovery", "stays")
    for _ in range(2):
        send(satchel)
        satchel.files.record("a.py", "modified", description="edit", agent="Bob")
        clock.advance(HOUR)
    assert sweep(satchel, clock.now - 2 * HOUR + WEEK) == 2
    assert [rows(satchel, table) for table in ("agent_messages", "file_changes", "context")] == [1, 1, 1]


def test_what_was_swept_leaves_the_index_in_step(satchel: Satchel, clock: ManualClock) -> None:
    satchel.entries.write("discovery", "stays")
    satchel.files.record("a.py", "modified", description="edit", agent="Bob")
    assert sweep(satchel, send(satchel)) == 2
    engine = satchel.workplace.engine
    with engine.read() as transaction:
        assert rows(satchel, "documents") == indexed(transaction) == 1
    checks = {check.name: check.status for check in satchel.housekeeping.doctor()}
    assert checks[engine.upkeep.soundness[0]] == checks["index"] == "ok"


def test_claims_that_have_expired_are_removed(satchel: Satchel, clock: ManualClock) -> None:
    satchel.files.claim(["a.py"], minutes=5, agent="Bob")
    satchel.files.claim(["b.py"], minutes=6, agent="Bob")
    assert sweep(satchel, clock.now + 300_000) == 1
    assert [claim.path for claim in satchel.files.claims()] == ["b.py"]


def test_reads_of_a_swept_message_go_with_it(satchel: Satchel) -> None:
    expires = send(satchel)
    satchel.messages.mark_read(["m1"], agent="Ann")
    sweep(satchel, expires)
    assert rows(satchel, "message_reads") == 0


def test_what_expires_later_stays_to_the_last_moment(satchel: Satchel) -> None:
    expires = send(satchel)
    assert sweep(satchel, expires - 1) == 0
    assert sweep(satchel, expires) == 1


def test_a_sweep_takes_what_expired_first_and_no_more_than_it_may(satchel: Satchel, clock: ManualClock) -> None:
    for _ in range(3):
        send(satchel)
        clock.advance(1)
    assert sweep(satchel, clock.now + WEEK, most=2) == 2
    assert [message.id for message in satchel.messages.inbox(agent="Ann")] == [3]


def test_another_project_of_the_store_keeps_what_has_expired(open_in: Callable[..., Satchel], project: Path) -> None:
    one, other = open_in(project, project="one"), open_in(project, project="other")
    for each in (one, other):
        each.files.claim(["a.py"], minutes=5, agent="Bob")
        expires = send(each)
    assert sweep(one, expires) == 2
    assert (rows(one, "agent_messages"), rows(one, "file_claims")) == (1, 1)
    assert sweep(other, expires) == 2


class TestNowAndThen:
    def test_a_second_sweep_waits_for_a_minute(self, satchel: Satchel) -> None:
        expires = send(satchel)
        assert sweep_now_and_then(satchel, expires - 1) == 0
        assert sweep_now_and_then(satchel, expires - 2 + expiry.PAUSE_MS) == 0
        assert sweep_now_and_then(satchel, expires - 1 + expiry.PAUSE_MS) == 1

    def test_a_clock_that_was_put_back_does_not_delay_it(self, satchel: Satchel) -> None:
        expires = send(satchel)
        with satchel.workplace.engine.write() as transaction:
            transaction.run("UPDATE documents SET expires_at = expires_at + 1")
        assert sweep_now_and_then(satchel, expires) == 0
        with satchel.workplace.engine.write() as transaction:
            transaction.run("UPDATE documents SET expires_at = expires_at - 2")
        assert sweep_now_and_then(satchel, expires - 1) == 1

    def test_a_backlog_is_worked_off_faster(self, satchel: Satchel) -> None:
        expires = send(satchel, expiry.MOST + 5)
        assert sweep_now_and_then(satchel, expires) == expiry.MOST
        assert sweep_now_and_then(satchel, expires + expiry.BACKLOG_PAUSE_MS - 1) == 0
        assert sweep_now_and_then(satchel, expires + expiry.BACKLOG_PAUSE_MS) == 5

    def test_every_store_has_a_minute_of_its_own(self, open_in: Callable[..., Satchel], project: Path) -> None:
        first = open_in(project)
        expires = send(first)
        sweep_now_and_then(first, expires - 1)
        assert sweep_now_and_then(open_in(project), expires) == 1

    def test_every_project_has_a_minute_of_its_own(self, open_in: Callable[..., Satchel], project: Path) -> None:
        satchel = open_in(project)
        expires = send(satchel)
        engine = satchel.workplace.engine
        with engine.write() as transaction:
            own = number(transaction, satchel)
            vouch(transaction, expires)
            assert expiry.sweep_now_and_then(engine, transaction, own + 1, expires) == 0
            assert expiry.sweep_now_and_then(engine, transaction, own, expires) == 1

    def test_sending_sweeps_and_reading_does_not(self, satchel: Satchel, clock: ManualClock) -> None:
        send(satchel)
        vouch_in(satchel, clock.advance(WEEK))
        satchel.messages.inbox(agent="Ann")
        assert rows(satchel, "agent_messages") == 1
        satchel.messages.send("new", agent="Bob")
        assert [message.message for message in satchel.messages.inbox(agent="Ann")] == ["new"]
        assert rows(satchel, "agent_messages") == 1

    def test_marking_sweeps(self, satchel: Satchel, clock: ManualClock) -> None:
        send(satchel)
        vouch_in(satchel, clock.advance(WEEK))
        satchel.messages.mark_read(["m1"], agent="Ann")
        assert rows(satchel, "agent_messages") == 0
