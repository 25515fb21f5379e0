from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from satchel import Satchel

if TYPE_CHECKING:
    from conftest import ManualClock

HOUR = 3_600_000


def stored(satchel: Satchel) -> int:
    with satchel.workplace.engine.read() as transaction:
        row = transaction.one("SELECT count(*) FROM agent_messages")
    assert row is not None
    return int(row[0])


def test_an_unread_message_is_gone_after_its_own_time_before_any_sweep(satchel: Satchel, clock: ManualClock) -> None:
    satchel.messages.send("cat", to="Ann", agent="Bob")
    satchel.messages.send("cat", agent="Bob")
    clock.advance(168 * HOUR - 1)
    assert satchel.messages.inbox(agent="Ann").unread == satchel.finding.search("cat").total == 2
    clock.advance(1)
    page = satchel.messages.inbox(agent="Ann")
    assert (page.total, page.unread, page.items) == (0, 0, ())
    assert satchel.messages.inbox(agent="Ann", unread=True).total == 0
    assert satchel.messages.inbox(agent="Ann", query="cat").total == satchel.finding.search("cat").total == 0
    assert satchel.messages.inbox(agent="Ann", after_seq=0).total == 0
    assert satchel.messages.inbox(agent="Ann", thread="m1").total == 0
    assert satchel.messages.mark_read(["m1"], agent="Ann").unknown == ("m1",)


def test_a_read_message_is_gone_sooner_for_its_only_addressee_and_from_the_search(
    satchel: Satchel, clock: ManualClock
) -> None:
    sent = satchel.messages.send("cat", to="Ann", agent="Bob")
    satchel.messages.mark_read(["m1"], agent="Ann")
    clock.advance(24 * HOUR - 1)
    (read,) = satchel.messages.inbox(agent="Ann", query="cat")
    assert read.expires_at == sent.created_at + 24 * HOUR
    clock.advance(1)
    assert satchel.messages.inbox(agent="Ann").total == 0
    assert satchel.messages.inbox(agent="Bob", thread="m1").total == 0
    assert satchel.finding.search("cat").total == 0
    assert stored(satchel) == 1


def test_a_message_read_late_is_gone_once_it_was_read(satchel: Satchel, clock: ManualClock) -> None:
    satchel.messages.send("cat", to="Ann", agent="Bob")
    clock.advance(100 * HOUR)
    assert satchel.messages.inbox(agent="Ann").total == 1
    assert satchel.messages.mark_read(["m1"], agent="Ann").marked == ("m1",)
    assert satchel.messages.inbox(agent="Ann").total == satchel.finding.search("cat").total == 0
    assert satchel.messages.mark_read(["m1"], agent="Ann").unknown == ("m1",)


def test_a_message_read_late_expires_the_moment_it_was_read(satchel: Satchel, clock: ManualClock) -> None:
    satchel.messages.send("cat", to="Ann", agent="Bob")
    clock.advance(100 * HOUR)
    satchel.messages.send("sweeps, so that marking does not", to="Bob", agent="Cid")
    satchel.messages.mark_read(["m1"], agent="Ann")
    clock.advance(-1)
    (read,) = satchel.messages.inbox(agent="Ann")
    assert read.expires_at == read.read_at == clock.now + 1


def test_a_broadcast_read_by_one_is_gone_for_that_one_and_stays_for_others(
    satchel: Satchel, clock: ManualClock
) -> None:
    sent = satchel.messages.send("cat", agent="Bob")
    satchel.messages.mark_read(["m1"], agent="Ann")
    clock.advance(24 * HOUR - 1)
    assert satchel.messages.inbox(agent="Ann").total == 1
    clock.advance(1)
    ways: list[dict[str, Any]] = [{}, {"query": "cat"}, {"thread": "m1"}, {"after_seq": 0}, {"priority": "low"}]
    for options in ways:
        assert satchel.messages.inbox(agent="Ann", **options).items == ()
        (other,) = satchel.messages.inbox(agent="Cid", **options)
        assert other.expires_at == sent.expires_at
    assert satchel.messages.inbox(agent="Ann").total == 0
    assert satchel.messages.mark_read(["m1"], agent="Ann").unknown == ("m1",)
    assert satchel.messages.inbox(agent="Cid").unread == satchel.finding.search("cat").total == 1


def test_a_broadcast_read_late_is_gone_for_its_reader_at_once(satchel: Satchel, clock: ManualClock) -> None:
    satchel.messages.send("cat", agent="Bob")
    clock.advance(100 * HOUR)
    satchel.messages.mark_read(everything=True, agent="Ann")
    assert satchel.messages.inbox(agent="Ann").total == 0
    assert satchel.messages.inbox(agent="Cid").total == 1


def test_retention_comes_from_the_configuration(
    open_in: Callable[..., Satchel], project: Path, clock: ManualClock
) -> None:
    settings = {"retention.messages_hours": 2, "retention.unread_messages_hours": 3}
    satchel = open_in(project, settings=settings)
    sent = satchel.messages.send("one", to="Ann", agent="Bob")
    satchel.messages.send("two", to="Ann", agent="Bob")
    assert sent.expires_at == clock.now + 3 * HOUR
    satchel.messages.mark_read([sent.ref], agent="Ann")
    clock.advance(2 * HOUR)
    assert [message.message for message in satchel.messages.inbox(agent="Ann")] == ["two"]


def test_reading_never_makes_a_message_live_longer(
    open_in: Callable[..., Satchel], project: Path, clock: ManualClock
) -> None:
    settings = {"retention.messages_hours": 5, "retention.unread_messages_hours": 3}
    satchel = open_in(project, settings=settings)
    satchel.messages.send("one", to="Ann", agent="Bob")
    satchel.messages.send("two", agent="Bob")
    with satchel.workplace.engine.read() as transaction:
        assert transaction.one("SELECT max(read_expires_at) FROM agent_messages") == (clock.now + 3 * HOUR,)
    satchel.messages.mark_read(everything=True, agent="Ann")
    clock.advance(3 * HOUR)
    assert satchel.messages.inbox(agent="Ann").total == 0


def test_weekends_may_be_passed_over(open_in: Callable[..., Satchel], project: Path, clock: ManualClock) -> None:
    clock.now = 1_795_172_400_000  # Friday 2026-11-20 11:00 UTC
    satchel = open_in(project, settings={"retention.skip_weekends": True})
    sent = satchel.messages.send("one", to="Ann", agent="Bob")
    assert sent.expires_at == clock.now + (168 + 4 * 24) * HOUR
    satchel.messages.mark_read([sent.ref], agent="Ann")
    (read,) = satchel.messages.inbox(agent="Ann")
    assert read.expires_at == clock.now + (24 + 48) * HOUR


def test_a_reply_to_a_swept_message_stays_in_its_thread(satchel: Satchel, clock: ManualClock) -> None:
    satchel.messages.send("question", to="Ann", agent="Bob")
    clock.advance(100 * HOUR)
    satchel.messages.send("answer", reply_to="m1", agent="Ann")
    clock.advance(100 * HOUR)
    satchel.messages.send("sweeps", to="Cid", agent="Ann")
    assert stored(satchel) == 2
    (answer,) = satchel.messages.inbox(agent="Bob", thread="m1")
    assert (answer.message, answer.reply_to, answer.thread) == ("answer", None, 1)
