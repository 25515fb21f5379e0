from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from satchel import Claim, Claimed, Conflict, InvalidInput, Released, Satchel
from satchel.base.clock import iso
from satchel.keep.files.claims import claims_of_others

if TYPE_CHECKING:
    from conftest import ManualClock

MINUTE = 60_000
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def held(satchel: Satchel, **filters: Any) -> list[tuple[str, str]]:
    """Who holds what, in the order it was claimed."""
    return [(claim.agent, claim.path) for claim in satchel.files.claims(**filters).items[::-1]]


def test_every_field_of_a_claim_comes_back(satchel: Satchel, clock: ManualClock) -> None:
    claimed = satchel.files.claim(["src/a.py"], exclusive=False, minutes=7, reason="rename", agent="Ann")
    (claim,) = claimed.claims
    assert claimed == Claimed(agent="Ann", claims=(claim,), renewed=(), elsewhere=(), shared=(), notes=())
    assert claim == Claim(
        id=claim.id,
        uid=claim.uid,
        seq=satchel.housekeeping.statistics().seq,
        path="src/a.py",
        exclusive=False,
        agent="Ann",
        worktree=None,
        reason="rename",
        created_at=clock.now,
        expires_at=clock.now + 7 * MINUTE,
    )
    assert len(bytes.fromhex(claim.uid)) == 16
    page = satchel.files.claims()
    assert (page.items, page.total, page.seq, page.notes) == ((claim,), 1, claim.seq, ())


def test_a_claim_is_exclusive_for_the_configured_time_unless_asked_otherwise(
    open_in: Callable[..., Satchel], project: Path, clock: ManualClock
) -> None:
    satchel = open_in(project, agent="ann", settings={"claims.minutes": 12})
    (claim,) = satchel.files.claim(["a"]).claims
    assert (claim.exclusive, claim.expires_at, claim.agent, claim.reason) == (
        True,
        clock.now + 12 * MINUTE,
        "ann",
        None,
    )


@pytest.mark.parametrize("minutes", [1, 10_080])
def test_the_time_of_a_claim_reaches_from_a_minute_to_a_week(
    satchel: Satchel, clock: ManualClock, minutes: int
) -> None:
    (claim,) = satchel.files.claim(["a"], minutes=minutes, agent="ann").claims
    assert claim.expires_at == clock.now + minutes * MINUTE


def test_claims_stand_in_the_order_asked_for_each_once(satchel: Satchel) -> None:
    claimed = satchel.files.claim(["z", "src/", "./z", "a", "src/**"], agent="ann")
    assert [claim.path for claim in claimed.claims] == ["z", "src/**", "a"]
    assert len({claim.seq for claim in claimed.claims}) == 3
    assert held(satchel) == [("ann", "z"), ("ann", "src/**"), ("ann", "a")]


def test_an_absolute_path_and_a_relative_one_are_the_same_claim(satchel: Satchel, project: Path) -> None:
    satchel.files.claim([f"{project}/src/a", f"{project}/lib/"], agent="ann")
    for path in ("src/a", "./src/a", "lib/x", f"{project}/src/../lib/y"):
        with pytest.raises(Conflict):
            satchel.files.claim([path], agent="bob")


def test_a_refusal_says_who_since_when_until_when_why_and_what_to_do(satchel: Satchel, clock: ManualClock) -> None:
    since = clock.now
    satchel.files.claim(["src/"], minutes=10, reason="moving modules", agent="ann")
    clock.advance(5)
    satchel.files.claim(["README.md"], exclusive=False, minutes=1, agent="cat")
    with pytest.raises(Conflict) as refused:
        satchel.files.claim(["src/a.py", "free", "README.md"], agent="bob")
    assert refused.value.problem == (
        "nothing was claimed: "
        f"src/a.py is held by ann as src/** since {iso(since)} until {iso(since + 10 * MINUTE)} (moving modules); "
        f"README.md is held by cat, shared, since {iso(since + 5)} until {iso(since + 5 + MINUTE)}"
    )
    assert refused.value.remedy == "Wait until then, ask ann or cat by a message, or claim something else"


def test_every_holder_of_a_refused_path_is_named(satchel: Satchel) -> None:
    for agent in ("ann", "cat"):
        satchel.files.claim(["src/a"], exclusive=False, agent=agent)
    with pytest.raises(
        Conflict, match=r"src/\*\* is held by ann as src/a, shared, since \S+ until \S+ and cat as src/a, "
    ):
        satchel.files.claim(["src/"], agent="bob")


def test_where_only_shared_claims_stand_against_it_sharing_is_offered(satchel: Satchel) -> None:
    satchel.files.claim(["a"], exclusive=False, agent="ann")
    with pytest.raises(Conflict, match=r"claim it shared \(exclusive false\), ask ann"):
        satchel.files.claim(["a"], agent="bob")


def test_a_refusal_of_many_paths_is_cut_short_and_says_so(satchel: Satchel) -> None:
    satchel.files.claim(["."], agent="ann")
    with pytest.raises(Conflict) as refused:
        satchel.files.claim([f"{number}.py" for number in range(100)], agent="bob")
    assert str(refused.value).count(" is held by ") == 20
    assert "; and 80 more." in str(refused.value)


def test_one_refusal_and_nothing_is_claimed_or_registered(satchel: Satchel) -> None:
    satchel.files.claim(["b"], agent="ann")
    before = satchel.housekeeping.statistics()
    with pytest.raises(Conflict):
        satchel.files.claim(["a", "b", "c"], agent="bob")
    assert held(satchel) == [("ann", "b")]
    assert satchel.housekeeping.statistics() == before
    assert [agent.name for agent in satchel.agents.list()] == ["ann"]
    satchel.files.claim(["a", "c"], agent="bob")
    assert [agent.name for agent in satchel.agents.list()] == ["ann", "bob"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("src/a", "src/a"),
        ("src/", "src/a"),
        ("src/a", "src/"),
        ("src/", "src/x/"),
        ("src/x/", "src/"),
        ("src/", "src"),
        (".", "a"),
        ("a", "."),
        (".", "src/"),
        ("src/", "."),
        (".", "."),
    ],
)
def test_what_overlaps_is_kept_from_another(satchel: Satchel, first: str, second: str) -> None:
    satchel.files.claim([first], agent="ann")
    with pytest.raises(Conflict):
        satchel.files.claim([second], agent="bob")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("src/a", "src/ab"),
        ("src/ab", "src/a"),
        ("src/a/", "src/ab"),
        ("src/ab", "src/a/"),
        ("src/a/", "src/a-b/c"),
        ("src/a/", "src/a0"),
        ("src/a/", "src/a.py"),
        ("s_c/", "src/a"),
        ("%/", "src/a"),
        ("src/a", "src/a/b"),
        ("src/a", "src/A"),
        ("src/a/", "src/b/"),
    ],
)
def test_what_stands_beside_a_claim_is_free(satchel: Satchel, first: str, second: str) -> None:
    satchel.files.claim([first], agent="ann")
    satchel.files.claim([second], agent="bob")
    assert len(held(satchel)) == 2


def test_shared_claims_of_several_agents_stand_together_and_are_named(satchel: Satchel) -> None:
    first = satchel.files.claim(["src/"], exclusive=False, agent="ann").claims
    second = satchel.files.claim(["src/a"], exclusive=False, agent="bob")
    assert second.shared == first
    assert satchel.files.claim(["lib/"], exclusive=False, agent="bob").shared == ()
    assert held(satchel) == [("ann", "src/**"), ("bob", "src/a"), ("bob", "lib/**")]


@pytest.mark.parametrize(("first", "second"), [(True, True), (True, False), (False, True)])
def test_an_exclusive_claim_stands_with_no_other(satchel: Satchel, first: bool, second: bool) -> None:
    satchel.files.claim(["src/a"], exclusive=first, agent="ann")
    with pytest.raises(Conflict):
        satchel.files.claim(["src/a"], exclusive=second, agent="bob")


def test_ones_own_claim_is_renewed_with_its_reason_and_beginning(satchel: Satchel, clock: ManualClock) -> None:
    (first,) = satchel.files.claim(["a"], minutes=5, reason="rename", agent="ann").claims
    clock.advance(MINUTE)
    again = satchel.files.claim(["b", "./a"], minutes=2, agent="ANN")
    assert again.renewed == ("a",)
    renewed = again.claims[1]
    assert (renewed.id, renewed.uid, renewed.created_at) == (first.id, first.uid, first.created_at)
    assert (renewed.reason, renewed.expires_at) == ("rename", clock.now + 2 * MINUTE)
    assert renewed.seq > first.seq
    assert again.claims[0].reason is None
    assert satchel.files.claim(["a"], reason="other", agent="ann").claims[0].reason == "other"


def test_a_claim_that_ended_begins_anew(satchel: Satchel, clock: ManualClock) -> None:
    (first,) = satchel.files.claim(["a"], minutes=1, reason="rename", agent="ann").claims
    clock.advance(MINUTE)
    again = satchel.files.claim(["a"], agent="ann")
    assert again.renewed == ()
    assert (again.claims[0].created_at, again.claims[0].reason) == (clock.now, None)
    assert again.claims[0].uid != first.uid


def test_a_shared_claim_becomes_exclusive_unless_another_shares(satchel: Satchel) -> None:
    satchel.files.claim(["a"], exclusive=False, agent="ann")
    assert satchel.files.claim(["a"], agent="ann").claims[0].exclusive
    assert not satchel.files.claim(["a"], exclusive=False, agent="ann").claims[0].exclusive
    satchel.files.claim(["a"], exclusive=False, agent="bob")
    with pytest.raises(Conflict, match="a is held by bob, shared"):
        satchel.files.claim(["a"], agent="ann")
    assert [claim.exclusive for claim in satchel.files.claims()] == [False, False]


def test_a_claim_ends_at_its_time_and_counts_for_nothing_from_then_on(satchel: Satchel, clock: ManualClock) -> None:
    (claim,) = satchel.files.claim(["src/"], minutes=1, agent="ann").claims
    clock.now = claim.expires_at - 1
    with pytest.raises(Conflict):
        satchel.files.claim(["src/a"], agent="bob")
    assert satchel.files.check_lock("src/a").locked
    assert satchel.files.claims().total == 1
    clock.now = claim.expires_at
    assert not satchel.files.check_lock("src/a").locked
    assert satchel.files.claims().total == 0
    assert satchel.files.claims(path="src/").total == 0
    satchel.files.claim(["src/a"], agent="bob")


@pytest.mark.parametrize("write", ["claim", "release"])
def test_claims_that_ended_leave_the_store_with_the_next_write(
    satchel: Satchel, clock: ManualClock, write: str
) -> None:
    satchel.files.claim(["a", "b"], minutes=1, agent="ann")
    satchel.files.claim(["c"], minutes=9, agent="ann")
    clock.advance(MINUTE)
    if write == "claim":
        satchel.files.claim(["d"], agent="bob")
    else:
        satchel.files.release(["d"], agent="ann")
    with satchel.workplace.engine.read() as transaction:
        paths = [row[0] for row in transaction.all("SELECT path FROM file_claims ORDER BY path")]
    assert paths == (["c", "d"] if write == "claim" else ["c"])


def test_releasing_frees_what_is_named_and_says_what_was_not_held(satchel: Satchel) -> None:
    satchel.files.claim(["a", "src/", "c"], agent="Ann")
    satchel.files.claim(["theirs"], agent="bob")
    assert satchel.files.release(["theirs", "./src/", "a", "src/x", "a", "never"], agent="ann") == Released(
        agent="Ann", released=("src/**", "a"), not_held=("theirs", "src/x", "never")
    )
    assert held(satchel) == [("Ann", "c"), ("bob", "theirs")]


def test_releasing_without_paths_frees_all_of_the_agents_own(satchel: Satchel) -> None:
    satchel.files.claim(["b", "a"], agent="ann")
    satchel.files.claim(["c"], agent="bob")
    assert satchel.files.release(agent="ann") == Released("ann", ("a", "b"), ())
    assert held(satchel) == [("bob", "c")]


def test_an_agent_that_nobody_is_holds_nothing_and_is_not_registered(satchel: Satchel) -> None:
    satchel.files.claim(["a"], agent="ann")
    assert satchel.files.release(["a"], agent="bob") == Released("bob", (), ("a",))
    assert [agent.name for agent in satchel.agents.list()] == ["ann"]


def test_releasing_before_the_first_write_frees_nothing(satchel: Satchel) -> None:
    assert satchel.files.release(agent="ann") == Released("ann", (), ())
    assert satchel.housekeeping.statistics().project is None


def test_the_default_agent_claims_and_releases(open_in: Callable[..., Satchel], project: Path) -> None:
    satchel = open_in(project, agent="ann")
    satchel.files.claim(["a", "b"])
    satchel.files.claim(["c"], agent="bob")
    assert satchel.files.release(["a", "c"]) == Released("ann", ("a",), ("c",))


@pytest.mark.parametrize("call", ["claim", "release"])
def test_without_an_agent_it_is_refused_and_said_how_to_give_one(satchel: Satchel, call: str) -> None:
    with pytest.raises(InvalidInput, match=r"needs an agent\. Name it with agent, or set .* --agent or SATCHEL_AGENT"):
        getattr(satchel.files, call)(["a"])
    assert satchel.housekeeping.statistics().project is None


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"paths": []}, "paths has 0 paths"),
        ({"paths": ["a"] * 101}, "paths has 101 paths"),
        ({"paths": "a"}, "paths is no list"),
        ({"paths": None}, "paths is no list"),
        ({"paths": {"a": 1}}, "paths is no list"),
        ({"paths": ["a", "../x"]}, "paths[1] '../x' names no file"),
        ({"paths": ["a", "/etc/"]}, "paths[1] '/etc/**' is outside the project"),
        ({"paths": ["a", "x" * 10_000]}, "paths[1] has 10000 characters"),
        ({"paths": ["a", f"{SECRET}/"]}, "paths[1] looks like a secret"),
        ({"paths": ["a", 5]}, "paths[1] must be text"),
        ({"paths": ["a", ""]}, "paths[1] is empty"),
        ({"paths": ["a", "src/*.py"]}, "paths[1] 'src/*.py' is a pattern"),
        ({"minutes": 0}, "minutes 0 would end the claim at once. Give 1 to 10080; releasing ends a claim"),
        ({"minutes": -1}, "minutes -1 is out of range"),
        ({"minutes": 10_081}, "minutes 10081 is out of range"),
        ({"minutes": math.nan}, "minutes nan is not a whole number"),
        ({"minutes": 0.0}, "minutes 0.0 is not a whole number"),
        ({"minutes": 1.5}, "minutes 1.5 is not a whole number"),
        ({"minutes": True}, "minutes True is not a whole number"),
        ({"minutes": False}, "minutes False is not a whole number"),
        ({"minutes": "5"}, "minutes '5' is not a whole number"),
        ({"exclusive": "no"}, "exclusive 'no' is neither true nor false"),
        ({"exclusive": None}, "exclusive None is neither true nor false"),
        ({"reason": ""}, "reason is empty"),
        ({"reason": "x" * 301}, "reason has 301 characters"),
        ({"reason": 5}, "reason must be text"),
        ({"agent": ""}, "agent is empty"),
        ({"agent": SECRET}, "agent looks like a secret"),
    ],
)
def test_a_claim_that_is_not_acceptable_is_refused_and_nothing_is_written(
    satchel: Satchel, arguments: dict[str, Any], problem: str
) -> None:
    satchel.files.claim(["mine"], agent="ann")
    before = satchel.housekeeping.statistics()
    with pytest.raises(InvalidInput) as refused:
        satchel.files.claim(**{"paths": ["new"], "agent": "bob", **arguments})
    assert problem in str(refused.value)
    assert satchel.housekeeping.statistics() == before
    assert held(satchel) == [("ann", "mine")]


@pytest.mark.parametrize("paths", [[], "a", ["../x"], ["a"] * 101, [5]])
def test_releasing_what_is_no_path_is_refused_and_nothing_is_released(satchel: Satchel, paths: Any) -> None:
    satchel.files.claim(["a"], agent="ann")
    with pytest.raises(InvalidInput, match=r"^paths"):
        satchel.files.release(paths, agent="ann")
    assert held(satchel) == [("ann", "a")]


def test_a_secret_in_a_reason_is_redacted_and_said_and_the_reason_is_one_line(satchel: Satchel) -> None:
    claimed = satchel.files.claim(["a"], reason=f"rotating\n  {SECRET}", agent="ann")
    reason = claimed.claims[0].reason
    assert reason is not None
    assert SECRET not in reason
    assert "\n" not in reason
    assert ["redacted" in note for note in claimed.notes] == [True]


def test_a_folder_claimed_by_its_bare_name_is_pointed_out(satchel: Satchel, project: Path) -> None:
    (project / "src").mkdir()
    (project / "a.py").touch()
    assert satchel.files.claim(["src", "a.py", "gone", "src/"], agent="ann").notes == (
        "src is a folder: only its name is claimed; claim src/ for the files in it",
    )


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
    satchel.files.claim(["src/", "lib/x"], exclusive=False, agent="ann")
    satchel.files.claim(["src/a", "lib/"], exclusive=False, agent="bob")
    assert held(satchel, agent="BOB") == [("bob", "src/a"), ("bob", "lib/**")]
    assert held(satchel, path="./src/a") == [("ann", "src/**"), ("bob", "src/a")]
    assert held(satchel, path="src/b") == [("ann", "src/**")]
    assert held(satchel, path="lib/") == [("ann", "lib/x"), ("bob", "lib/**")]
    assert held(satchel, path="lib/", agent="ann") == [("ann", "lib/x")]
    assert held(satchel, path="other") == []


def test_claims_of_an_agent_that_nobody_is_are_none_and_it_is_said(satchel: Satchel) -> None:
    satchel.files.claim(["a"], agent="ann")
    page = satchel.files.claims(agent="bob")
    assert (page.total, page.notes) == (0, ("no agent is called 'bob' here",))


@pytest.mark.parametrize(
    "arguments", [{"agent": ""}, {"path": "../x"}, {"path": "*.py"}, {"limit": 501}, {"limit": -1}, {"offset": -1}]
)
def test_a_filter_of_claims_that_is_not_acceptable_is_refused(satchel: Satchel, arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=f"^{next(iter(arguments))} "):
        satchel.files.claims(**arguments)


def test_listing_claims_before_the_first_write_makes_nothing(satchel: Satchel, project: Path) -> None:
    page = satchel.files.claims(agent="ann", path="a")
    assert (page.total, page.notes) == (0, ("nothing was written for this project yet",))
    assert not (project / ".satchel").exists()


def test_a_claim_in_another_project_of_the_store_keeps_nobody_off(
    open_in: Callable[..., Satchel], project: Path
) -> None:
    open_in(project, project="one").files.claim(["."], agent="ann")
    other = open_in(project, project="two")
    claimed = other.files.claim(["src/", "a"], agent="bob")
    assert (claimed.elsewhere, claimed.shared) == ((), ())
    assert other.files.claims().total == 2
    assert not other.files.check_lock("a", agent="bob").claims
    other.files.release(agent="ann")
    assert open_in(project, project="one").files.claims().total == 1


def test_claims_of_others_are_those_that_cover_a_file_oldest_first(satchel: Satchel, clock: ManualClock) -> None:
    satchel.files.claim(["src/a", "other"], exclusive=False, agent="ann")
    satchel.files.claim(["src/"], exclusive=False, minutes=1, agent="bob")
    satchel.files.claim(["src/b"], exclusive=False, agent="cat")
    with satchel.workplace.engine.read() as transaction:
        ann = transaction.one("SELECT id FROM agents WHERE name = 'ann'")
        assert ann is not None

        def found(agent_id: int | None, *files: str) -> list[tuple[str, str]]:
            claims = claims_of_others(transaction, 1, agent_id, files, clock.now)
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
