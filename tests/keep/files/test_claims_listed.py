"""Listing claims, and those of others that cover a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from keep.files.claims_shown import MINUTE, held
from satchel import InvalidInput, Satchel
from satchel.keep.files.claims import Claimant, claims_of_others
from satchel.keep.sessions.records import Actor
from tables import in_one_test

if TYPE_CHECKING:
    from conftest import ManualClock


def test_claims_are_listed_newest_first_and_paged_with_a_total(satchel: Satchel) -> None:
    satchel.files.claim([str(number) for number in range(5)], agent="ann")
    seen: list[str] = []
    offset: int | None = 0
    while offset is not None:
        page = satchel.files.claims(limit=2, offset=offset)
        assert page.total == 5
        seen += [claim.path for claim in page]
        offset = page.next_offset
    assert seen == ["4", "3", "2", "1", "0"]
    assert (satchel.files.claims(limit=0).items, satchel.files.claims(limit=0).total) == ((), 5)


def test_claims_can_be_limited_to_an_agent_and_to_what_covers_a_path(satchel: Satchel) -> None:
    satchel.files.claim(shared=["src/", "lib/x"], agent="ann")
    satchel.files.claim(shared=["src/a", "lib/"], agent="bob")
    assert held(satchel, author="BOB") == [("bob", "src/a"), ("bob", "lib/**")]
    assert held(satchel, path="./src/a") == [("ann", "src/**"), ("bob", "src/a")]
    assert held(satchel, path="src/b") == [("ann", "src/**")]
    assert held(satchel, path="lib/") == [("ann", "lib/x"), ("bob", "lib/**")]
    assert held(satchel, path="lib/", author="ann") == [("ann", "lib/x")]
    assert held(satchel, path="other") == []


def test_claims_of_an_agent_that_nobody_is_are_none_and_it_is_said(satchel: Satchel) -> None:
    satchel.files.claim(["a"], agent="ann")
    page = satchel.files.claims(author="bob")
    assert (page.total, page.notes) == (0, ("nobody here is called 'bob'; authors here: ann",))


@in_one_test(
    "arguments", [{"author": ""}, {"path": "../x"}, {"path": "*.py"}, {"limit": 501}, {"limit": -1}, {"offset": -1}]
)
def test_a_filter_of_claims_that_is_not_acceptable_is_refused(satchel: Satchel, arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=f"^{next(iter(arguments))} "):
        satchel.files.claims(**arguments)


@pytest.mark.no_store
def test_listing_claims_before_the_first_write_makes_nothing(satchel: Satchel, project: Path) -> None:
    page = satchel.files.claims(author="ann", path="a")
    assert (page.total, page.notes) == (0, ("nothing was written for this project yet",))
    assert not satchel.workplace.engine.exists()
    assert not (project / ".satchel").exists()


def test_claims_of_others_are_those_that_cover_a_file_oldest_first(satchel: Satchel, clock: ManualClock) -> None:
    satchel.files.claim(shared=["src/a", "other"], agent="ann")
    satchel.files.claim(shared=["src/"], minutes=1, agent="bob")
    satchel.files.claim(shared=["src/b"], agent="cat")
    with satchel.workplace.engine.read() as transaction:
        ann = transaction.one("SELECT id FROM agents WHERE name = 'ann'")
        assert ann is not None

        def found(agent_id: int | None, *files: str) -> list[tuple[str, str]]:
            claims = claims_of_others(Claimant(transaction, 1, Actor(agent_id), clock.now), files)
            return [(claim.agent, claim.path) for claim in claims]

        assert found(ann[0], "src/a", "other", "free") == [("bob", "src/**")]
        assert found(None, "src/a", "other") == [("ann", "src/a"), ("ann", "other"), ("bob", "src/**")]
        assert found(ann[0], "src/b") == [("bob", "src/**"), ("cat", "src/b")]
        assert found(None, *(f"x/{number}" for number in range(450)), "src/b", "src/c") == [
            ("bob", "src/**"),
            ("cat", "src/b"),
        ]
        assert found(None) == []
        clock.advance(MINUTE)
        assert found(ann[0], "src/a") == []
        clock.advance(60 * MINUTE)
        assert found(None, "src/a") == []
