"""Who was refused a claim is told once, with the next answer, when it is free."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from days_of_use import vouch_in
from keep.files.claims_shown import MINUTE
from satchel import Conflict, PendingClaim, Satchel
from satchel.base.clock import DAY_MS
from satchel.keep.sessions.caller import SERVER
from satchel.store.transaction import Parameters, Row, Transaction

if TYPE_CHECKING:
    from conftest import ManualClock

HOUR = 60 * MINUTE
AT = "11-18 11:06 UTC"


def refuse(satchel: Satchel, *paths: str, agent: str | None = "bob", exclusive: bool = True) -> None:
    with pytest.raises(Conflict):
        satchel.files.claim(paths if exclusive else (), shared=() if exclusive else paths, agent=agent)


def told(satchel: Satchel, agent: str | None = "bob") -> str | None:
    """What the next answer to an agent says."""
    return satchel.notices.line(agent=agent)


def test_who_was_refused_is_told_once_when_it_is_free(satchel: Satchel, clock: ManualClock) -> None:
    satchel.files.claim(["src/", "issue:311"], agent="ann")
    refuse(satchel, "src/a.py", "free.py", "Issue:311")
    clock.advance(4 * MINUTE)
    assert told(satchel) is None
    satchel.files.release(["src/"], agent="ann")
    assert told(satchel, "cat") is None
    assert told(satchel, "BOB") == "notice: src/a.py is free now (you were refused it 4 min ago)"
    assert told(satchel) is None
    satchel.files.release(agent="ann")
    assert told(satchel) == "notice: issue:311 is free now (you were refused it 4 min ago)"


def test_it_is_free_when_the_claim_has_expired(satchel: Satchel, clock: ManualClock) -> None:
    satchel.files.claim(["a"], minutes=2, agent="ann")
    refuse(satchel, "a")
    clock.advance(2 * MINUTE - 1)
    assert told(satchel) is None
    clock.advance(1)
    assert told(satchel) == "notice: a is free now (you were refused it 2 min ago)"


def test_it_is_free_for_the_claim_that_was_asked_for(satchel: Satchel) -> None:
    satchel.files.claim(["a"], agent="ann")
    refuse(satchel, "a", exclusive=False)
    refuse(satchel, "a", agent="cat")
    satchel.files.claim(shared=["a"], agent="ann")
    assert told(satchel) is not None
    assert told(satchel, "cat") is None


def test_who_has_claimed_it_meanwhile_is_not_told(satchel: Satchel) -> None:
    satchel.files.claim(["a", "b"], agent="ann")
    refuse(satchel, "a", "b")
    satchel.files.release(agent="ann")
    satchel.files.claim(["a"], agent="bob")
    satchel.files.release(agent="bob")
    assert told(satchel) == "notice: b is free now (you were refused it less than 1 min ago)"


def test_of_several_refusals_of_one_path_the_last_is_told(satchel: Satchel, clock: ManualClock) -> None:
    satchel.files.claim(["a"], agent="ann")
    refuse(satchel, "a")
    clock.advance(MINUTE)
    refuse(satchel, "a")
    clock.advance(MINUTE)
    satchel.files.release(agent="ann")
    assert told(satchel) == "notice: a is free now (you were refused it 1 min ago)"


def test_after_a_day_nobody_is_told_and_the_refusal_leaves_the_store(satchel: Satchel, clock: ManualClock) -> None:
    satchel.files.claim(["a"], minutes=10_080, agent="ann")
    refuse(satchel, "a")
    clock.advance(DAY_MS)
    satchel.files.release(agent="ann")
    assert told(satchel) is None
    vouch_in(satchel, clock.now)
    satchel.files.record("b", "modified")
    with satchel.workplace.engine.read() as transaction:
        assert transaction.all("SELECT id FROM claim_refusals") == []


def test_many_are_told_five_at_a_time(satchel: Satchel) -> None:
    satchel.files.claim(["."], agent="ann")
    refuse(satchel, *(str(number) for number in range(7)))
    satchel.files.release(agent="ann")
    first, second = told(satchel), told(satchel)
    assert first is not None
    assert second is not None
    assert first.startswith("notice: 0, 1, 2, 3, 4 are free now (you were refused them ")
    assert second.startswith("notice: 5, 6 are free now (")
    assert told(satchel) is None


def test_a_session_is_told_whatever_its_agents_are_called(open_in: Callable[..., Satchel], project: Path) -> None:
    other, server = open_in(project), open_in(project, caller=SERVER)
    other.files.claim(["a", "b"], agent="ann")
    refuse(server, "a", agent="sub")
    refuse(server, "b", agent=None)
    other.files.release(["a"], agent="ann")
    assert told(server, None) == "notice: a is free now (sub was refused it less than 1 min ago)"
    other.files.release(agent="ann")
    assert told(server, None) == "notice: b is free now (you were refused it less than 1 min ago)"


def test_a_namesake_in_another_session_is_not_told(open_in: Callable[..., Satchel], project: Path) -> None:
    other, server = open_in(project), open_in(project, caller=SERVER)
    other.files.claim(["a"], agent="ann")
    refuse(server, "a", agent="bob")
    other.files.release(agent="ann")
    assert told(other, "bob") is None
    assert told(server, "bob") is not None


def test_what_cannot_be_written_down_is_not_told(open_in: Callable[..., Satchel], project: Path) -> None:
    satchel = open_in(project)
    satchel.files.claim(["a"], agent="ann")
    refuse(satchel, "a")
    satchel.files.release(agent="ann")
    assert told(open_in(project, read_only=True)) is None
    assert told(satchel) is not None


def test_an_answer_reads_nothing_more_where_nobody_was_refused(
    satchel: Satchel, monkeypatch: pytest.MonkeyPatch
) -> None:
    satchel.files.claim(["a"], agent="ann")
    monkeypatch.setitem(__import__("sys").modules, "satchel.keep.files.refusals", None)
    before = satchel.workplace.engine.commits
    assert told(satchel) is None
    assert satchel.workplace.engine.commits == before


def test_releasing_says_who_was_refused(satchel: Satchel, clock: ManualClock) -> None:
    satchel.files.claim(["src/", "b"], agent="ann")
    refuse(satchel, "src/a", "b")
    refuse(satchel, "src/", agent="Cat")
    start = clock.now
    clock.advance(MINUTE)
    assert satchel.files.release(["src/"], agent="ann").wished == (
        PendingClaim("bob", "src/a", False, start),
        PendingClaim("Cat", "src/**", False, start),
    )


def test_ones_own_refusals_are_no_wishes_of_others(satchel: Satchel) -> None:
    satchel.files.claim(shared=["a"], agent="ann")
    satchel.files.claim(shared=["a"], agent="bob")
    refuse(satchel, "a", agent="ann")
    assert satchel.files.release(agent="ann").wished == ()


def test_that_there_is_nothing_to_tell_is_found_by_one_statement(
    satchel: Satchel, monkeypatch: pytest.MonkeyPatch
) -> None:
    satchel.entries.write("discovery", "x", agent="bob")
    asked: list[str] = []
    with satchel.workplace.engine.read() as transaction:
        kind: Any = type(transaction)
    original = kind.one

    def one(transaction: Transaction, sql: str, parameters: Parameters | None = None) -> Row | None:
        asked.append(sql)
        found: Row | None = original(transaction, sql, parameters)
        return found

    monkeypatch.setattr(kind, "one", one)
    assert satchel.notices.line(agent="bob", files=["a.py"], shown_by="get_messages") is None
    assert len(asked) <= 2, "the project, and whether there is anything in it"


def test_a_release_is_no_good_news_while_another_still_holds_the_file(satchel: Satchel) -> None:
    for agent in ("ann", "bob"):
        satchel.files.claim(shared=["a.py"], agent=agent)
    with pytest.raises(Conflict):
        satchel.files.claim(["a.py"], agent="cyd")
    assert satchel.files.release(agent="ann").wished == ()
    assert [wish.agent for wish in satchel.files.release(agent="bob").wished] == ["cyd"]
