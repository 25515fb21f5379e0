"""Waiting for a claim, by a clock that moves when the waiting call sleeps: what happens meanwhile is done there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agents_here import agents, register
from keep.files.claims_shown import MINUTE, held
from satchel import Conflict, Interrupted, InvalidInput, PendingClaim, Satchel
from satchel.keep.files import claiming, waiters
from satchel.keep.files.claims import Claimant
from satchel.keep.files.places import Place
from satchel.keep.sessions import joining
from satchel.keep.sessions.caller import SERVER
from satchel.keep.sessions.records import Actor
from satchel.store.engine import Engine
from satchel.store.sqlite import SqliteEngine
from satchel.store.transaction import Transaction
from sleeps import Sleeps

if TYPE_CHECKING:
    from conftest import ManualClock


@pytest.fixture
def sleeps(monkeypatch: pytest.MonkeyPatch) -> Sleeps:
    made = Sleeps()
    monkeypatch.setattr(claiming, "time", made)
    return made


@pytest.fixture
def other(open_in: Callable[..., Satchel], project: Path) -> Satchel:
    """Another process, as far as the store can tell: it has connections of its own."""
    return open_in(project)


def waiting_now(satchel: Satchel) -> list[str]:
    """Who waits, by name, in order."""
    with satchel.workplace.engine.read() as transaction:
        return [str(one.actor.name) for one in waiters.load(transaction, 1, satchel.workplace.clock())]


def rows(satchel: Satchel) -> int:
    with satchel.workplace.engine.read() as transaction:
        row = transaction.one("SELECT count(*) FROM claim_waiters")
    assert row is not None
    return int(row[0])


def test_what_is_free_is_claimed_at_once(satchel: Satchel, sleeps: Sleeps) -> None:
    satchel.files.claim(["a"], wait_seconds=45, agent="bob")
    assert (held(satchel), sleeps.count, rows(satchel)) == ([("bob", "a")], 0, 0)


def test_a_call_waits_until_the_claim_is_released(satchel: Satchel, other: Satchel, sleeps: Sleeps) -> None:
    satchel.files.claim(["a", "b"], agent="ann")
    seen: list[object] = []
    sleeps.actions = [
        lambda: seen.append((waiting_now(other), held(other))),
        lambda: other.files.release(["b"], agent="ann"),
        None,
        lambda: other.files.release(["a"], agent="ann"),
    ]
    claimed = satchel.files.claim(["a", "c", "b"], wait_seconds=45, reason="x", agent="bob")
    assert seen == [(["bob"], [("ann", "a"), ("ann", "b")])]
    assert [(one.path, one.reason) for one in claimed.claims] == [("a", "x"), ("c", "x"), ("b", "x")]
    assert (sleeps.count, rows(satchel)) == (4, 0), "one look after the release, it has what it waited for"
    assert other.notices.line(agent="bob") is None, "an agent that got it by waiting was not refused it"


def test_it_holds_from_when_it_was_granted(
    satchel: Satchel, other: Satchel, sleeps: Sleeps, clock: ManualClock
) -> None:
    satchel.files.claim(["a"], agent="ann")
    sleeps.actions = [lambda: clock.advance(7_000), lambda: other.files.release(agent="ann")]
    (claim,) = satchel.files.claim(["a"], minutes=2, wait_seconds=20, agent="bob").claims
    assert (claim.created_at, claim.expires_at) == (clock.now, clock.now + 2 * MINUTE)


def test_a_call_waits_until_the_claim_expires(satchel: Satchel, sleeps: Sleeps, clock: ManualClock) -> None:
    satchel.files.claim(["a"], minutes=1, agent="ann")
    sleeps.actions = [None, lambda: clock.advance(MINUTE - 1), None, lambda: clock.advance(1)]
    satchel.files.claim(["a"], wait_seconds=45, agent="bob")
    assert (held(satchel), sleeps.count) == ([("bob", "a")], 4)


def test_a_call_waits_until_the_session_that_holds_it_is_gone_which_nobody_writes(
    satchel: Satchel,
    open_in: Callable[..., Satchel],
    project: Path,
    sleeps: Sleeps,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = open_in(project, caller=SERVER)
    server.sessions.team()
    server.files.claim(["a"], agent="ann")
    sleeps.actions = [None, None, lambda: monkeypatch.setattr(joining, "is_gone", lambda *_: True)]
    claimed = satchel.files.claim(["a"], wait_seconds=45, agent="bob")
    assert claimed.notes == ("a was taken over from ann, whose session has ended",)
    assert 3 < sleeps.count <= 11, "within a second"


def test_while_nothing_is_written_the_claims_are_looked_at_once_a_second(
    satchel: Satchel, sleeps: Sleeps, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []
    look = claiming._changes_at

    def counted(*given: Any) -> int:
        looks.append(sleeps.now)
        return look(*given)

    monkeypatch.setattr(claiming, "_changes_at", counted)
    satchel.files.claim(["a"], agent="ann")
    with pytest.raises(Conflict):
        satchel.files.claim(["a"], wait_seconds=45, agent="bob")
    assert len(looks) <= 46
    assert sleeps.now == pytest.approx(1_045)


def test_what_was_not_free_in_time_is_refused_and_nobody_waits_any_more(satchel: Satchel, sleeps: Sleeps) -> None:
    satchel.files.claim(["a"], agent="ann")
    with pytest.raises(Conflict) as refused:
        satchel.files.claim(["a"], wait_seconds=3, agent="bob")
    assert refused.value.problem.startswith("nothing was claimed within 3 s: a is held by ann since ")
    assert refused.value.remedy == (
        "You can ask ann by a message, or work on something else; a later answer tells you when it is free, "
        "and the first to claim it gets it"
    )
    assert (rows(satchel), held(satchel)) == (0, [("ann", "a")])
    satchel.files.release(agent="ann")
    assert "a is free now" in str(satchel.notices.line(agent="bob"))


def test_nothing_of_the_store_is_held_while_waiting(satchel: Satchel, other: Satchel, sleeps: Sleeps) -> None:
    satchel.files.claim(["a"], agent="ann")

    def write() -> None:
        with other.workplace.engine.write(0) as transaction:
            transaction.run("UPDATE store SET created_at = created_at")
        with satchel.workplace.engine.write(0) as transaction:
            transaction.run("UPDATE store SET created_at = created_at")
        engine = other.workplace.engine
        if isinstance(engine, SqliteEngine):
            with engine.exclusive() as connection:
                row = next(iter(connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")))
            assert row[0] == 0, "it was not kept from it"

    sleeps.actions = [write, None, lambda: other.files.release(agent="ann")]
    satchel.files.claim(["a"], wait_seconds=45, agent="bob")
    assert held(satchel) == [("bob", "a")]


@pytest.mark.parametrize("sleep", [0, 1, 9])
def test_a_call_that_is_cancelled_ends_at_once_and_waits_no_more(satchel: Satchel, sleeps: Sleeps, sleep: int) -> None:
    satchel.files.claim(["a"], agent="ann")
    interrupt = satchel.interrupter()
    sleeps.actions = [*[None] * sleep, interrupt]
    with pytest.raises(Interrupted):
        satchel.files.claim(["a"], wait_seconds=45, agent="bob")
    assert (sleeps.count, rows(satchel), held(satchel)) == (sleep + 1, 0, [("ann", "a")])
    satchel.files.claim(["b"], wait_seconds=45, agent="bob")


def test_a_cancellation_that_comes_while_the_claims_are_looked_at_is_not_lost(
    satchel: Satchel, sleeps: Sleeps, monkeypatch: pytest.MonkeyPatch
) -> None:
    satchel.files.claim(["a"], agent="ann")
    interrupt, look = satchel.interrupter(), claiming._changes_at

    def interrupted(transaction: Transaction, *given: Any) -> int:
        changes_at = look(transaction, *given)
        interrupt()  # the last statement of the transaction has run
        return changes_at

    monkeypatch.setattr(claiming, "_changes_at", interrupted)
    with pytest.raises(Interrupted):
        satchel.files.claim(["a"], wait_seconds=45, agent="bob")
    assert (sleeps.count, rows(satchel)) == (1, 0)


def test_at_most_four_calls_of_a_connection_wait_at_once(satchel: Satchel, other: Satchel, sleeps: Sleeps) -> None:
    """Each waits for a file of its own in the sleep of the one before it."""
    files = [f"f{number}" for number in range(6)]
    satchel.files.claim(files, agent="ann")
    refused: list[str] = []

    def wait(number: int) -> None:
        if number < 4:
            sleeps.actions = [lambda: wait(number + 1)]
            satchel.files.claim([files[number]], wait_seconds=45, agent="bob")
            return
        with pytest.raises(Conflict) as error:
            satchel.files.claim([files[number]], wait_seconds=45, agent="bob")
        refused.append(error.value.problem)
        satchel.files.claim(["free"], wait_seconds=45, agent="bob")
        other.files.release(files[:4], agent="ann")
        sleeps.actions = [lambda: other.files.release([files[5]], agent="ann")]
        other.files.claim([files[5]], wait_seconds=45, agent="cat")

    wait(0)
    assert len(refused) == 1
    assert refused[0].startswith(
        "too many calls of this connection are already waiting for claims, so this one did not wait; "
        "nothing was claimed: f4 is held by ann"
    )
    assert [path for agent, path in held(satchel) if agent == "bob"] == ["free", "f3", "f2", "f1", "f0"]
    sleeps.actions = [lambda: other.files.release([files[4]], agent="ann")]
    satchel.files.claim([files[4]], wait_seconds=45, agent="bob")


def test_who_asked_first_is_next_and_the_others_wait_on(satchel: Satchel, other: Satchel, sleeps: Sleeps) -> None:
    """Cat waits in bob's sleep, so that bob cannot take what is free: nobody takes it before him."""
    satchel.files.claim(["src/"], agent="ann")
    seen: list[object] = []

    def cat() -> None:
        sleeps.actions = [
            lambda: seen.append(waiting_now(other)),
            lambda: seen.append(other.files.release(agent="ann").wished),
        ]
        with pytest.raises(Conflict) as late:
            other.files.claim(["src/a"], wait_seconds=5, agent="cat")
        seen.append(late.value.problem)
        with pytest.raises(Conflict, match="bob has been waiting for src/b since"):
            other.files.claim(["src/b", "x"], agent="dan")
        other.files.claim(["x"], agent="dan")

    sleeps.actions = [cat]
    start = satchel.workplace.clock()
    satchel.files.claim(["src/"], wait_seconds=45, agent="bob")
    assert seen == [
        ["bob", "cat"],
        (PendingClaim("bob", "src/**", True, start), PendingClaim("cat", "src/a", True, start)),
        "nothing was claimed within 5 s: bob has been waiting for src/a since 11-18 11:06 UTC and is next",
    ]
    assert held(satchel) == [("dan", "x"), ("bob", "src/**")]


def test_a_waiter_that_cannot_have_all_holds_nobody_up(satchel: Satchel, other: Satchel, sleeps: Sleeps) -> None:
    satchel.files.claim(["a", "b"], agent="ann")

    def meanwhile() -> None:
        other.files.release(["a"], agent="ann")
        other.files.claim(["a"], agent="cat")
        other.files.claim(["b"], agent="ann")
        other.files.release(["a"], agent="cat")
        other.files.release(["b"], agent="ann")
        with pytest.raises(Conflict, match="bob has been waiting for a since"):
            other.files.claim(["a"], agent="cat")

    sleeps.actions = [meanwhile]
    satchel.files.claim(["a", "b"], wait_seconds=45, agent="bob")
    assert held(satchel) == [("bob", "a"), ("bob", "b")]


def test_who_share_do_not_wait_for_each_other(satchel: Satchel, other: Satchel, sleeps: Sleeps) -> None:
    satchel.files.claim(["a"], agent="ann")

    def meanwhile() -> None:
        other.files.release(agent="ann")
        other.files.claim(shared=["a"], agent="cat")

    sleeps.actions = [meanwhile]
    satchel.files.claim(shared=["a"], wait_seconds=45, agent="bob")
    assert held(satchel) == [("cat", "a"), ("bob", "a")]


def test_what_waits_in_another_worktree_project_or_beside_a_key_holds_nobody_up(
    satchel: Satchel, open_in: Callable[..., Satchel], project: Path, sleeps: Sleeps
) -> None:
    satchel.files.claim(["k:a"], agent="ann")
    elsewhere = open_in(project, project="two")

    def meanwhile() -> None:
        satchel.files.release(agent="ann")
        elsewhere.files.claim(["k:a"], agent="cat")
        satchel.files.claim(["."], agent="cat")

    sleeps.actions = [meanwhile]
    open_in(project).files.claim(["K:A"], wait_seconds=45, agent="bob")
    assert held(satchel) == [("cat", "**"), ("bob", "k:a")]


def test_ones_own_session_is_not_held_up_by_its_waiters(
    open_in: Callable[..., Satchel], project: Path, satchel: Satchel, sleeps: Sleeps
) -> None:
    server = open_in(project, caller=SERVER)
    satchel.files.claim(["a"], agent="ann")

    def meanwhile() -> None:
        satchel.files.release(agent="ann")
        server.files.claim(["a"], agent="sub")

    sleeps.actions = [meanwhile]
    assert server.files.claim(["a"], wait_seconds=45, agent="bob").renewed == ("a",)


@pytest.fixture
def bob_waits(satchel: Satchel) -> Satchel:
    """A store in which bob has begun to wait for the file a, which nobody holds."""
    satchel.files.claim(["b"], agent="ann")
    _enter(satchel.workplace.engine, register(satchel, "bob").id, satchel.workplace.clock())
    return satchel


def _enter(engine: Engine, agent: int, now: int) -> None:
    with engine.write() as transaction:
        waiters.add(Claimant(transaction, 1, Actor(agent, "bob"), now), [Place("a", None)], now + 45_000, ())


def test_who_waits_is_known_by_its_process(bob_waits: Satchel) -> None:
    assert waiting_now(bob_waits) == ["bob"]
    with pytest.raises(Conflict, match="bob has been waiting for a since"):
        bob_waits.files.claim(["a"], agent="cat")


def _end_process(transaction: Transaction) -> None:
    transaction.run("UPDATE claim_waiters SET process_started = process_started + 1")


def _move_away(transaction: Transaction) -> None:
    transaction.run("UPDATE claim_waiters SET machine = 'another', process_started = process_started + 1")


def test_a_waiter_whose_process_is_gone_is_forgotten(bob_waits: Satchel) -> None:
    with bob_waits.workplace.engine.write() as transaction:
        _end_process(transaction)
    assert waiting_now(bob_waits) == []
    assert bob_waits.files.release(["b"], agent="ann").wished == ()
    bob_waits.files.claim(["a"], agent="cat")


def test_a_waiter_on_another_machine_counts_until_its_time_is_over(bob_waits: Satchel, clock: ManualClock) -> None:
    with bob_waits.workplace.engine.write() as transaction:
        _move_away(transaction)
    clock.advance(44_999)
    with pytest.raises(Conflict, match="bob has been waiting for a since"):
        bob_waits.files.claim(["a"], agent="cat")
    clock.advance(1)
    bob_waits.files.claim(["a"], agent="cat")


def test_those_who_wait_no_more_leave_the_store_with_the_next_waiter(bob_waits: Satchel, clock: ManualClock) -> None:
    with bob_waits.workplace.engine.write() as transaction:
        _end_process(transaction)
    agent = register(bob_waits, "bob").id
    _enter(bob_waits.workplace.engine, agent, clock.now)
    assert rows(bob_waits) == 1
    clock.advance(45_000)
    _enter(bob_waits.workplace.engine, agent, clock.now)
    assert rows(bob_waits) == 1


def test_a_waiter_that_is_found_dead_frees_the_way_within_a_second(
    bob_waits: Satchel, sleeps: Sleeps, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die() -> None:
        monkeypatch.setattr(waiters.Waiter, "may_run", False)

    sleeps.actions = [None, die]
    bob_waits.files.claim(["a"], wait_seconds=45, agent="cat")
    assert 2 < sleeps.count <= 11


def test_who_waits_is_registered_and_can_be_asked(satchel: Satchel, sleeps: Sleeps) -> None:
    satchel.files.claim(["a"], agent="ann")
    with pytest.raises(Conflict):
        satchel.files.claim(["a"], wait_seconds=1, agent="bob")
    assert [agent.name for agent in agents(satchel)] == ["ann", "bob"]


def test_without_an_agent_nobody_waits(satchel: Satchel, sleeps: Sleeps) -> None:
    with pytest.raises(InvalidInput, match="claiming files needs an agent"):
        satchel.files.claim(["a"], wait_seconds=45)
    assert sleeps.count == 0
