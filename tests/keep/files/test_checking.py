"""Asking whose files are: free, yours or held, and what happened to them lately."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agents_here import agents, register
from keep.files.claims_shown import MINUTE
from kept_bytes import kept_bytes
from satchel import FileCheck, InvalidInput, Satchel
from satchel.keep.sessions.caller import SERVER
from tables import in_one_test

if TYPE_CHECKING:
    from conftest import ManualClock

SECOND = 1_000
HOUR = 3_600 * SECOND


def check(satchel: Satchel, file: str, **options: Any) -> FileCheck:
    (one,) = satchel.files.check([file], **options).files
    return one


def test_a_file_that_nobody_claims_or_changed_is_free(satchel: Satchel, clock: ManualClock) -> None:
    satchel.files.record("b.py", "created", agent="ann")
    checked = satchel.files.check(["a.py"], agent="Bob")
    assert (checked.agent, checked.checked_at, checked.notes, checked.is_held) == ("Bob", clock.now, (), False)
    assert checked.files == (FileCheck("a.py", None, "free", None, (), (), (), ()),)


@pytest.mark.no_store
def test_before_the_first_write_every_file_is_free_and_nothing_is_made(satchel: Satchel, project: Path) -> None:
    assert [one.state for one in satchel.files.check(["a.py", "issue:3"], agent="bob").files] == ["free", "free"]
    assert not satchel.workplace.engine.exists()
    assert not (project / ".satchel").exists()


def test_anothers_exclusive_claim_holds_until_it_ends(satchel: Satchel, clock: ManualClock) -> None:
    (claim,) = satchel.files.claim(["src/"], minutes=3, agent="ann").claims
    assert check(satchel, "src/a.py", agent="bob") == FileCheck(
        "src/a.py", None, "held", claim.expires_at, (claim,), (), (), ()
    )
    clock.now = claim.expires_at
    assert check(satchel, "src/a.py", agent="bob").state == "free"


def test_ones_own_claim_makes_it_ones_own_and_ones_changes_are_no_hint(satchel: Satchel) -> None:
    own = satchel.files.claim(["src/", "src/a.py"], agent="ann").claims
    satchel.files.record("src/a.py", "modified", agent="ann")
    assert check(satchel, "src/a.py", agent="ANN") == FileCheck(
        "src/a.py", None, "yours", own[0].expires_at, (), (), own, ()
    )


def test_several_are_checked_at_once_in_the_order_asked_for(satchel: Satchel) -> None:
    satchel.files.claim(["a.py", "issue:311"], agent="ann")
    satchel.files.claim(["b.py"], agent="bob")
    checked = satchel.files.check(["c.py", "b.py", "a.py", "./c.py", "Issue:311"], agent="bob")
    assert [(one.file, one.state) for one in checked.files] == [
        ("c.py", "free"),
        ("b.py", "yours"),
        ("a.py", "held"),
        ("issue:311", "held"),
    ]
    assert checked.is_held


def test_without_files_all_that_the_agent_claims_is_checked(satchel: Satchel) -> None:
    satchel.files.claim(shared=["a.py"], agent="ann")
    satchel.files.claim(shared=["b.py", "a.py"], agent="bob")
    checked = satchel.files.check(agent="bob")
    assert [(one.file, one.state, len(one.claims)) for one in checked.files] == [
        ("a.py", "yours", 1),
        ("b.py", "yours", 0),
    ]
    assert satchel.files.check(agent="cat").notes == ("you have claimed nothing",)


def test_without_files_a_session_checks_what_its_subagents_claim(
    open_in: Callable[..., Satchel], project: Path
) -> None:
    server = open_in(project, caller=SERVER)
    server.files.claim(["a.py"], agent="sub")
    open_in(project).files.claim(["b.py"], agent="ann")
    assert [(one.file, one.state) for one in server.files.check().files] == [("a.py", "yours")]


def test_the_default_agent_is_exempt_and_an_argument_comes_first(
    open_in: Callable[..., Satchel], project: Path
) -> None:
    satchel = open_in(project, agent="ann")
    satchel.files.claim(["a.py"])
    assert check(satchel, "a.py").state == "yours"
    assert check(satchel, "a.py", agent="bob").state == "held"


def test_without_any_agent_nobody_is_exempt(satchel: Satchel) -> None:
    (claim,) = satchel.files.claim(["a.py"], agent="ann").claims
    change = satchel.files.record("b.py", "modified")
    one = check(satchel, "a.py")
    assert (one.state, one.claims, one.own) == ("held", (claim,), ())
    assert check(satchel, "b.py").recent == (change,)


def test_a_shared_claim_of_another_is_named_but_holds_nothing(satchel: Satchel) -> None:
    (claim,) = satchel.files.claim(shared=["a.py"], agent="ann").claims
    one = check(satchel, "a.py", agent="bob")
    assert (one.state, one.until, one.claims) == ("free", None, (claim,))


def test_a_change_by_another_is_a_hint_and_holds_nothing(satchel: Satchel, clock: ManualClock) -> None:
    change = satchel.files.record("a.py", "modified", agent="ann")
    assert check(satchel, "a.py", agent="bob") == FileCheck("a.py", None, "free", None, (), (), (), (change,))
    assert not satchel.files.check(["a.py"], agent="bob").is_held
    clock.advance(HOUR - 1)
    assert check(satchel, "a.py", agent="bob").recent == (change,)
    clock.advance(1)
    assert check(satchel, "a.py", agent="bob").recent == ()


def test_a_change_by_nobody_is_anothers(satchel: Satchel) -> None:
    change = satchel.files.record("a.py", "modified")
    register(satchel, "ann")
    assert check(satchel, "a.py", agent="ann").recent == (change,)


@pytest.mark.parametrize(("seconds", "told"), [(60, False), (61, True), (86_400, True)])
def test_the_window_is_as_long_as_asked(satchel: Satchel, clock: ManualClock, seconds: int, told: bool) -> None:
    satchel.files.record("a.py", "modified", agent="ann")
    clock.advance(MINUTE)
    assert bool(check(satchel, "a.py", window_seconds=seconds, agent="bob").recent) == told


def test_a_window_of_0_tells_claims_only(satchel: Satchel, clock: ManualClock, project: Path) -> None:
    touch(project / "a.py", clock.now)
    satchel.files.record("a.py", "modified", agent="ann")
    clock.advance(-5)
    one = check(satchel, "a.py", window_seconds=0, agent="bob")
    assert (one.state, one.recent, one.unrecorded_at) == ("free", (), None)
    satchel.files.claim(["a.py"], agent="ann")
    assert check(satchel, "a.py", window_seconds=0, agent="bob").state == "held"


def test_what_several_hold_of_a_folder_is_held_until_the_last_of_them_ends(
    satchel: Satchel, clock: ManualClock
) -> None:
    satchel.files.claim(["src/a.py"], minutes=2, agent="ann")
    satchel.files.claim(["src/b.py"], minutes=5, agent="cat")
    satchel.files.claim(shared=["src/c.py"], minutes=60, agent="cat")
    one = check(satchel, "src/", agent="bob")
    assert (one.state, one.until, len(one.claims)) == ("held", clock.now + 5 * MINUTE, 3)


def test_the_newest_changes_are_named_newest_first(satchel: Satchel, clock: ManualClock) -> None:
    made = []
    for _ in range(7):
        clock.advance(SECOND)
        made.append(satchel.files.record("a.py", "modified", agent="ann", description="note", layer="data"))
    assert check(satchel, "a.py", agent="bob").recent == tuple(made[:1:-1])


def test_an_expired_change_is_no_hint(open_in: Callable[..., Satchel], project: Path, clock: ManualClock) -> None:
    satchel = open_in(project, settings={"retention.file_changes_hours": 1})
    satchel.files.record("a.py", "modified", agent="ann")
    clock.advance(60 * MINUTE)
    assert check(satchel, "a.py", window_seconds=86_400, agent="bob").recent == ()


def touch(file: Path, moment: int) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()
    os.utime(file, ns=(moment * 1_000_000, moment * 1_000_000))


def test_a_change_on_disk_that_nobody_recorded_is_a_hint(satchel: Satchel, clock: ManualClock, project: Path) -> None:
    register(satchel, "ann")
    clock.advance(HOUR)
    touch(project / "src/a.py", clock.now - 40 * SECOND)
    assert check(satchel, "src/a.py", agent="bob").unrecorded_at == clock.now - 40 * SECOND
    satchel.files.record("src/b.py", "modified", agent="ann")
    satchel.files.record("src/a.py", "modified", agent="bob")
    assert check(satchel, "src/a.py", agent="bob").unrecorded_at is None
    touch(project / "src/a.py", clock.now + 1)
    assert check(satchel, "src/a.py", agent="bob").unrecorded_at == clock.now + 1


@pytest.mark.parametrize(("seconds", "told"), [(-3_600, False), (-3_599, True), (60, True), (61, False)])
def test_a_change_on_disk_is_told_within_the_window(
    satchel: Satchel, clock: ManualClock, project: Path, seconds: int, told: bool
) -> None:
    register(satchel, "ann")
    clock.advance(2 * HOUR)
    touch(project / "a.py", clock.now + seconds * SECOND)
    assert (check(satchel, "a.py", agent="bob").unrecorded_at is not None) == told


def test_what_a_clone_brought_is_no_change_that_somebody_should_have_recorded(
    satchel: Satchel, clock: ManualClock, project: Path
) -> None:
    touch(project / "a.py", clock.now - 40 * SECOND)
    register(satchel, "ann")
    assert check(satchel, "a.py", agent="bob").unrecorded_at is None


def test_a_folder_is_yours_only_if_you_claimed_all_of_it(satchel: Satchel) -> None:
    satchel.files.claim(["src/a.py"], agent="bob")
    assert check(satchel, "src/", agent="bob").state == "free"
    assert check(satchel, "src/a.py", agent="bob").state == "yours"
    satchel.files.claim(["src/"], agent="bob")
    assert check(satchel, "src/", agent="bob").state == check(satchel, "src/b.py", agent="bob").state == "yours"


def test_the_time_of_a_folder_on_disk_is_no_hint(satchel: Satchel, clock: ManualClock, project: Path) -> None:
    touch(project / "src/a.py", clock.now)
    os.utime(project / "src", ns=(clock.now * 1_000_000, clock.now * 1_000_000))
    assert [one.unrecorded_at for one in satchel.files.check(["src", "src/"], agent="bob").files] == [None, None]


@pytest.mark.parametrize("spelling", ["src/a.py", "./src/a.py", "src//x/../a.py", "{root}/src/a.py"])
@pytest.mark.parametrize("claimed", ["src/a.py", "./src/a.py", "{root}/src/a.py", "src/", "."])
def test_every_spelling_of_a_path_is_the_same_file(
    satchel: Satchel, project: Path, spelling: str, claimed: str
) -> None:
    satchel.files.claim([claimed.format(root=project)], agent="ann")
    satchel.files.record("./src/a.py", "modified", agent="ann")
    one = check(satchel, spelling.format(root=project), agent="bob")
    assert (one.file, one.state, len(one.claims), len(one.recent)) == ("src/a.py", "held", 1, 1)


def test_a_folder_is_held_by_what_is_in_it(satchel: Satchel) -> None:
    satchel.files.claim(["src/a.py", "srcs"], agent="ann")
    change = satchel.files.record("src/x/b.py", "created", agent="ann")
    satchel.files.record("srcs", "created", agent="ann")
    one = check(satchel, "src/", agent="bob")
    assert (one.file, one.state) == ("src/**", "held")
    assert ([claim.path for claim in one.claims], one.recent) == (["src/a.py"], (change,))


@in_one_test(
    ("arguments", "problem"),
    [
        ({"files": ["../x"]}, "files[0] '../x' names no file"),
        ({"files": ["a", "/etc/passwd"]}, "files[1] '/etc/passwd' is outside the project"),
        ({"files": ["x" * 10_000]}, "files[0] has 10000 characters"),
        ({"files": ["*.py"]}, "is a pattern"),
        ({"files": [None]}, "files[0] must be text"),
        ({"files": "a.py"}, "files is no list"),
        ({"files": []}, "files has 0 paths"),
        ({"files": ["a"] * 101}, "files has 101 paths"),
        ({"files": None}, "checking all that you have claimed needs an agent"),
        ({"window_seconds": -1}, "window_seconds -1 is out of range"),
        ({"window_seconds": 86_401}, "window_seconds 86401 is out of range"),
        ({"window_seconds": math.nan}, "window_seconds nan is not a whole number"),
        ({"window_seconds": True}, "window_seconds True is not a whole number"),
        ({"agent": ""}, "agent is empty"),
    ],
)
def test_what_is_not_acceptable_is_refused(satchel: Satchel, arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        satchel.files.check(**{"files": ["a.py"], **arguments})
    assert problem in str(refused.value)


def test_asking_writes_and_registers_nothing(satchel: Satchel) -> None:
    satchel.files.claim(["a.py"], minutes=1, agent="ann")
    before = kept_bytes(satchel)
    satchel.files.check(["a.py", "b.py"], agent="bob")
    satchel.files.check(agent="cat")
    assert kept_bytes(satchel) == before
    assert [agent.name for agent in agents(satchel)] == ["ann"]
    with satchel.workplace.engine.read() as transaction:
        assert transaction.all("SELECT * FROM files") == []


def test_a_store_that_cannot_be_written_still_answers(open_in: Callable[..., Satchel], project: Path) -> None:
    open_in(project).files.claim(["a.py"], agent="ann")
    assert check(open_in(project, read_only=True), "a.py", agent="bob").state == "held"


def test_what_others_did_before_ones_own_last_change_is_no_hint(satchel: Satchel, clock: ManualClock) -> None:
    satchel.files.record("a.py", "modified", agent="ann")
    clock.advance(1)
    satchel.files.record("a.py", "modified", agent="bob")
    assert check(satchel, "a.py", agent="bob").recent == ()


def test_a_change_on_disk_of_what_is_ones_own_is_no_hint(satchel: Satchel, clock: ManualClock, project: Path) -> None:
    satchel.files.claim(["a.py"], agent="bob")
    clock.advance(HOUR // 4)
    touch(project / "a.py", clock.now)
    assert check(satchel, "a.py", agent="bob").unrecorded_at is None
    assert check(satchel, "a.py", agent="ann").unrecorded_at == clock.now
