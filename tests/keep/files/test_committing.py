"""The files of a commit that others have claimed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from conftest import ManualClock
from keep.files.claims_shown import claim_automatically
from satchel import Satchel
from satchel.keep.files.records import CommitCheck
from satchel.keep.sessions.caller import SERVER

NAMES = ("README.md", "docs/a.md", "src/a.py", "src/b/c.py", "src2/a.py")


@pytest.fixture
def ben(open_in: Callable[..., Satchel], project: Path) -> Satchel:
    """A server of another agent than the one that claims files, whose session is known."""
    server = open_in(project, caller=SERVER, agent="ben")
    server.entries.write("discovery", "x")
    return server


def names(check: CommitCheck) -> tuple[list[str], list[str]]:
    """Return the files with an explicit claim, and those with another."""
    return [name for name, _ in check.claimed], [name for name, _ in check.hinted]


@pytest.mark.parametrize(
    ("path", "claimed"),
    [
        ("src/a.py", ["src/a.py"]),
        ("src/", ["src/a.py", "src/b/c.py"]),
        ("src/b/", ["src/b/c.py"]),
        ("lib/", []),
        ("**", list(NAMES)),
        ("README.md/", ["README.md"]),
    ],
)
def test_a_claim_counts_for_its_file_or_all_below_its_folder(
    satchel: Satchel, ben: Satchel, path: str, claimed: Sequence[str]
) -> None:
    satchel.files.claim([path], agent="ann")
    assert names(ben.files.check_commit(NAMES[::-1], denies=False)) == (claimed, [])


def test_shared_and_automatic_claims_are_hints_where_no_explicit_one_is(satchel: Satchel, ben: Satchel) -> None:
    satchel.files.claim(shared=["src/a.py"], agent="ann")
    claim_automatically(satchel, "docs/a.md", agent="ann")
    satchel.files.claim(["src/b/c.py"], agent="ann")
    satchel.files.claim(shared=["src/b/"], agent="ann")
    assert names(ben.files.check_commit(NAMES, denies=True)) == (["src/b/c.py"], ["docs/a.md", "src/a.py"])


def test_only_an_explicit_claim_stops_a_commit_of_a_known_session_where_that_is_configured(
    satchel: Satchel, ben: Satchel
) -> None:
    satchel.files.claim(["src/a.py"], agent="ann")
    satchel.files.claim(shared=["docs/a.md"], agent="ann")
    assert ben.files.check_commit(["src/a.py"], denies=True).is_stopped
    assert not ben.files.check_commit(["src/a.py"], denies=False).is_stopped
    assert not ben.files.check_commit(["docs/a.md"], denies=True).is_stopped
    assert not satchel.files.check_commit(["src/a.py"], denies=True).is_stopped


def test_own_claims_and_those_that_have_ended_do_not_count(satchel: Satchel, ben: Satchel, clock: ManualClock) -> None:
    ben.files.claim(["src/a.py"])
    satchel.files.claim(["docs/a.md"], minutes=1, agent="ann")
    assert names(ben.files.check_commit(NAMES, denies=False)) == (["docs/a.md"], [])
    clock.advance(60_000)
    assert names(ben.files.check_commit(NAMES, denies=False)) == ([], [])


def test_names_are_compared_in_one_normal_form(satchel: Satchel, ben: Satchel) -> None:
    satchel.files.claim(["caf\u00e9.py"], agent="ann")
    assert names(ben.files.check_commit(["cafe\u0301.py"], denies=False)) == (["cafe\u0301.py"], [])
