from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from satchel import Conflict, InvalidInput, ReadOnly, SatchelError, TooLarge
from satchel.keep.decisions.records import ChangedDecision, NewDecision
from satchel.keep.decisions.service import Decisions

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import ManualClock
    from satchel import Satchel
    from satchel.store.transaction import Transaction

    from .conftest import Dump

SECRET = "ghp_" + "a1B2" * 9


def test_a_batch_sets_new_and_known_keys_in_its_order(decisions: Decisions, clock: ManualClock) -> None:
    decisions.set("a", 1)
    clock.advance(1_000)
    made = decisions.set_many(
        [NewDecision("b", "x", tags=["api"]), NewDecision("a", 2), NewDecision("c", 3.5, layer="data")], agent="Ann"
    )
    assert [(one.key, one.value, one.revision, one.agent) for one in made] == [
        ("b", "x", 1, "Ann"),
        ("a", 2, 2, "Ann"),
        ("c", 3.5, 1, "Ann"),
    ]
    assert (made[0].tags, made[2].layer) == (("api",), "data")
    assert [one.seq for one in made] == sorted(one.seq for one in made)
    assert {one.updated_at for one in made} == {clock.now}
    for one in made:
        kept = decisions.get(one.key).decision
        assert (kept.value, kept.seq, kept.updated_at) == (one.value, one.seq, one.updated_at)


def test_a_batch_of_one_is_as_setting_one(decisions: Decisions) -> None:
    (made,) = decisions.set_many([NewDecision("a", 1)])
    assert decisions.get("a").decision == made


def test_as_many_as_allowed_are_set_at_once(decisions: Decisions) -> None:
    made = decisions.set_many([NewDecision(f"key {number}", number) for number in range(200)])
    assert decisions.find(limit=200, order="desc").items[::-1] == tuple(replace(one, similar=()) for one in made)


@pytest.mark.parametrize("size", [0, 201])
def test_none_and_too_many_are_refused(decisions: Decisions, dump: Dump, size: int) -> None:
    before = dump()
    with pytest.raises(InvalidInput, match=rf"{size} decisions were given. Set 1 to 200"):
        decisions.set_many([NewDecision(f"key {number}", number) for number in range(size)])
    assert dump() == before


@pytest.mark.parametrize("again", ["a", " a "])
def test_a_key_twice_in_a_batch_is_refused(decisions: Decisions, dump: Dump, again: str) -> None:
    before = dump()
    with pytest.raises(InvalidInput, match=r"key 'a' is in the batch twice"):
        decisions.set_many([NewDecision("a", 1), NewDecision("b", 2), NewDecision(again, 3)])
    assert dump() == before


def test_two_of_a_batch_that_look_alike_are_pointed_out(decisions: Decisions) -> None:
    made = decisions.set_many([NewDecision("session_timeout", 1), NewDecision("sessionTimeout", 2)])
    assert [[one.key for one in decision.similar] for decision in made] == [[], ["session_timeout"]]


REFUSED: dict[str, tuple[dict[str, Any], type[SatchelError], str]] = {
    "blank key": ({"key": " "}, InvalidInput, "key is empty"),
    "long key": ({"key": "k" * 10_000}, InvalidInput, "key has 10000 characters"),
    "key of another type": ({"key": 5}, InvalidInput, "key must be text"),
    "key with a newline": ({"key": "a\nb"}, InvalidInput, "holds a control character"),
    "placeholder as key": ({"key": "{{key}}"}, InvalidInput, "unresolved placeholder"),
    "secret as key": ({"key": SECRET}, InvalidInput, "key looks like a secret"),
    "value NaN": ({"value": float("nan")}, InvalidInput, "value nan is not a number"),
    "blank value": ({"value": " "}, InvalidInput, "value is empty"),
    "long value": ({"value": "x" * 1_025}, TooLarge, "value has"),
    "long rationale": ({"rationale": "x" * 1_025}, TooLarge, "rationale has"),
    "rationale of another type": ({"rationale": 5}, InvalidInput, "rationale must be text"),
    "blank tag": ({"tags": ["fresh", " "]}, InvalidInput, r"tags\[1\] is empty"),
    "long tag": ({"tags": ["t" * 10_000]}, InvalidInput, r"tags\[0\] has 10000 characters"),
    "secret as tag": ({"tags": [SECRET]}, InvalidInput, r"tags\[0\] looks like a secret"),
    "tags as one text": ({"tags": "api,security"}, InvalidInput, "tags is no list"),
    "too many tags": ({"tags": [f"t{number}" for number in range(51)]}, InvalidInput, "tags has 51 names"),
    "blank scope": ({"scopes": [""]}, InvalidInput, r"scopes\[0\] is empty"),
    "long scope": ({"scopes": ["fresh", "s" * 10_000]}, InvalidInput, r"scopes\[1\] has 10000 characters"),
    "secret as scope": ({"scopes": [SECRET]}, InvalidInput, r"scopes\[0\] looks like a secret"),
    "scopes as one text": ({"scopes": "gateway"}, InvalidInput, "scopes is no list"),
    "unknown layer": ({"layer": "bussiness"}, InvalidInput, "unknown layer 'bussiness'. Did you mean 'business'"),
    "blank layer": ({"layer": " "}, InvalidInput, "layer is empty"),
    "long version": ({"version": "1" * 10_000}, InvalidInput, "version has 10000 characters"),
    "secret as version": ({"version": SECRET}, InvalidInput, "version looks like a secret"),
    "unknown status": ({"status": "activ"}, InvalidInput, "unknown status 'activ'. Did you mean 'active'"),
    "status as a number": ({"status": 1}, InvalidInput, "unknown status 1. Valid: active, deprecated, draft"),
    "no status": ({"status": None}, InvalidInput, "unknown status None"),
    "fractional revision": ({"expected_revision": 1.5}, InvalidInput, "expected_revision 1.5 is not a whole number"),
    "negative revision": ({"expected_revision": -1}, InvalidInput, "expected_revision -1 is out of range"),
    "stale revision": ({"key": "old", "expected_revision": 7}, Conflict, "old has revision 1, not 7"),
    "revision of no key": ({"expected_revision": 7}, Conflict, "does not exist"),
}


@pytest.fixture
def satchel(open_in: Callable[..., Satchel], project: Path) -> Satchel:
    """A Satchel that keeps at most 1 KiB of text, and one decision."""
    satchel = open_in(project, settings={"context.max_content_kib": 1})
    satchel.decisions.set("old", "there", tags=["api"])
    return satchel


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_acceptable_is_refused_and_nothing_is_half_written(
    decisions: Decisions, dump: Dump, case: str
) -> None:
    before = dump()
    given, error, problem = REFUSED[case]
    with pytest.raises(error, match=problem) as refused:
        decisions.set(**{"key": "new", "value": "x", "tags": ["fresh"], "scopes": ["fresh"], **given}, agent="Newcomer")
    assert "decisions[" not in refused.value.problem
    assert dump() == before


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("place", [0, 2])
def test_one_bad_decision_leaves_nothing_of_the_batch_and_its_place_is_named(
    decisions: Decisions, dump: Dump, case: str, place: int
) -> None:
    before = dump()
    given, error, problem = REFUSED[case]
    batch = [NewDecision("fresh one", 1, tags=["fresh"]), NewDecision("fresh two", 2, scopes=["fresh"])]
    batch.insert(place, NewDecision(**{"key": "new", "value": "x", "tags": ["newer"], **given}))
    with pytest.raises(error, match=rf"^decisions\[{place}\]: .*{problem}"):
        decisions.set_many(batch, agent="Newcomer")
    assert dump() == before


@pytest.mark.parametrize("agent", ["", "a" * 10_000, "{{agent}}", 5, SECRET])
def test_an_agent_that_is_none_is_refused(decisions: Decisions, dump: Dump, agent: Any) -> None:
    before = dump()
    with pytest.raises(InvalidInput, match=r"^agent "):
        decisions.set("new", 1, agent=agent)
    assert dump() == before


def test_after_a_refused_batch_its_names_can_be_used(decisions: Decisions) -> None:
    """What a transaction that was rolled back looked up must not be believed by the next."""
    bad = [NewDecision("a", 1, tags=["fresh"], scopes=["fresh"]), NewDecision("old", expected_revision=7)]
    with pytest.raises(Conflict):
        decisions.set_many(bad, agent="Newcomer")
    made = decisions.set("a", 1, tags=["fresh"], scopes=["fresh"], agent="Newcomer")
    assert (made.tags, made.scopes, made.agent) == (("fresh",), ("fresh",), "Newcomer")
    assert decisions.find(tags=["fresh"], scopes=["fresh"], author="Newcomer").total == 1


def test_what_fails_while_others_are_told_undoes_the_change(satchel: Satchel, dump: Dump) -> None:
    def fail(transaction: Transaction, overtaken: ChangedDecision) -> None:
        raise Conflict("nobody can be told")

    decisions = Decisions(satchel.workplace, fail)
    decisions.set("cache", "redis", agent="Ann")
    before = dump()
    with pytest.raises(Conflict, match=r"nobody can be told"):
        decisions.set_many([NewDecision("other", 1), NewDecision("cache", "memcached")], agent="Bob")
    assert dump() == before


def test_a_reader_cannot_set(open_in: Callable[..., Satchel], project: Path) -> None:
    with pytest.raises(ReadOnly):
        open_in(project, read_only=True).decisions.set("new", 1)
