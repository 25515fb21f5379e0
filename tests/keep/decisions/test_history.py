from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from satchel import DecisionState, InvalidInput, NotFound, Satchel
from satchel.keep.decisions.service import Decisions

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import ManualClock

    from .conftest import Dump

START = 1_795_000_000_000


def test_a_draft_that_another_agreed_to_names_both_until_its_value_changes(decisions: Decisions) -> None:
    decisions.set("cache", "redis", status="draft", agent="Ann")
    decisions.set("cache", status="active", agent="Bob")
    (agreed,) = decisions.find()
    assert (agreed.agent, agreed.proposed_by) == ("Bob", "Ann")
    decisions.set("cache", "memcached", agent="Bob")
    decisions.set("ttl", 5, status="draft", agent="Ann")
    decisions.set("ttl", 6, status="active", agent="Bob")
    assert [one.proposed_by for one in decisions.find()] == [None, None]


def test_the_history_holds_every_state_whole_the_newest_first(decisions: Decisions, clock: ManualClock) -> None:
    decisions.set(
        "cache",
        "redis",
        tags=["api", "Budget"],
        scopes=["gateway"],
        layer="data",
        version="2.1",
        rationale="there already",
        agent="Ann",
    )
    clock.advance(1_000)
    decisions.set("cache", 5, tags=[], layer=None, rationale=None, status="deprecated", agent="Bob")
    clock.advance(1_000)
    decisions.set("cache", 5.5, scopes=["worker", "gateway"], version="", status="draft")
    clock.advance(1_000)
    now = decisions.set("cache", status="active", agent="Ann")
    found = decisions.get("cache")
    states = found.history.items
    assert states == (
        DecisionState(3, 5.5, "draft", "1.0.0", None, (), ("gateway", "worker"), None, None, START + 2_000, clock.now),
        DecisionState(2, 5, "deprecated", "1.0.0", None, (), ("gateway",), "Bob", None, START + 1_000, START + 2_000),
        DecisionState(
            1,
            "redis",
            "active",
            "2.1",
            "data",
            ("api", "Budget"),
            ("gateway",),
            "Ann",
            "there already",
            START,
            START + 1_000,
        ),
    )
    assert [type(state.value) for state in states] == [float, int, str]
    assert now.replaced == states[0]
    assert (found.decision.revision, found.decision.created_at, found.decision.updated_at) == (4, START, clock.now)


HISTORY_OF_ONE_FIELD: dict[str, Any] = {
    "value": 2,
    "status": "deprecated",
    "version": "9",
    "layer": "business",
    "tags": ["security"],
    "scopes": ["mailer"],
    "rationale": "because",
}


@pytest.mark.parametrize("field", HISTORY_OF_ONE_FIELD)
def test_a_change_of_any_single_field_is_in_the_history(decisions: Decisions, field: str) -> None:
    made = decisions.set("cache", 1)
    decisions.set("cache", **{field: HISTORY_OF_ONE_FIELD[field]})
    (state,) = decisions.get("cache").history
    assert getattr(state, field) == getattr(made, field)


def test_a_new_decision_has_no_history(decisions: Decisions) -> None:
    made = decisions.set("cache", 1)
    found = decisions.get("cache")
    assert (found.decision, found.history.items, found.history.total) == (made, (), 0)


def test_the_history_comes_in_pages(decisions: Decisions) -> None:
    for number in range(6):
        decisions.set("cache", number)
    decisions.set("other", 1)
    decisions.set("other", 2)
    page = decisions.get("cache", limit=2, offset=1).history
    assert [state.value for state in page] == [3, 2]
    assert (page.total, page.offset, page.limit, page.next_offset) == (5, 1, 2, 3)
    last = decisions.get("cache", limit=2, offset=3).history
    assert ([state.value for state in last], last.next_offset) == ([1, 0], None)
    total = decisions.get("cache", limit=0)
    assert (total.history.items, total.history.total, total.decision.value) == ((), 5, 5)


def test_twenty_states_are_shown_where_no_limit_is_given(decisions: Decisions) -> None:
    for number in range(25):
        decisions.set("cache", number)
    assert len(decisions.get("cache").history) == 20


@pytest.mark.parametrize("given", [{"limit": 501}, {"limit": -1}, {"offset": -1}, {"limit": 1.5}, {"limit": True}])
def test_a_page_that_is_none_is_refused(decisions: Decisions, given: dict[str, Any]) -> None:
    decisions.set("cache", 1)
    with pytest.raises(InvalidInput, match=r"limit|offset"):
        decisions.get("cache", **given)


@pytest.mark.parametrize("how", ["{key}", " {key} ", "{ref}", " {ref} "])
def test_a_decision_is_got_by_its_key_or_short_id(decisions: Decisions, how: str) -> None:
    decisions.set("other", 0)
    made = decisions.set("cache", 1)
    assert decisions.get(how.format(key=made.key, ref=made.ref)).decision == made


def test_a_key_that_looks_like_a_short_id_wins(decisions: Decisions) -> None:
    first = decisions.set("cache", 1)
    named = decisions.set(first.ref, 2)
    assert decisions.get(first.ref).decision == named
    assert decisions.get(named.ref).decision == named


@pytest.mark.parametrize("key", ["d99", "d0", "d" + "9" * 30, "d²", "1", "d"])
def test_what_no_decision_has_is_not_found(decisions: Decisions, key: str) -> None:
    decisions.set("cache", 1)
    with pytest.raises(NotFound, match=rf"there is no decision '{key}'. search finds what was decided"):
        decisions.get(key)


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("sesion_ttl", "session_ttl"),
        ("sessionTtl", "session_ttl"),
        ("Session TTL", "session_ttl"),
        ("payment_provder", "payment_provider"),
    ],
)
def test_the_nearest_key_is_suggested(decisions: Decisions, asked: str, meant: str) -> None:
    for key in ("session_ttl", "payment_provider", "cache_backend"):
        decisions.set(key, 1)
    with pytest.raises(NotFound, match=rf"there is no decision '{asked}'. Did you mean '{meant}'"):
        decisions.get(asked)


def test_the_nearest_key_may_have_its_words_in_another_order(decisions: Decisions) -> None:
    decisions.set("maximum_upload_size", 1)
    decisions.set("upload_folder", "tmp")
    with pytest.raises(NotFound, match=r"Did you mean 'maximum_upload_size'"):
        decisions.get("size_upload_maximum")


def test_a_key_is_looked_up_as_it_was_written(decisions: Decisions) -> None:
    decisions.set("cache", 1)
    with pytest.raises(NotFound, match=r"there is no decision 'Cache'. Did you mean 'cache'"):
        decisions.get("Cache")


@pytest.mark.parametrize("key", ["", " ", "k" * 10_000, None, 5])
def test_what_is_no_key_is_refused(decisions: Decisions, key: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^key "):
        decisions.get(key)


@pytest.mark.no_store
def test_in_a_project_without_anything_there_is_no_decision(
    decisions: Decisions, satchel: Satchel, project: Path
) -> None:
    with pytest.raises(NotFound, match=r"there is no decision 'cache'"):
        decisions.get("cache")
    assert not satchel.workplace.engine.exists()
    assert not (project / ".satchel").exists()


def test_reading_a_decision_changes_nothing(decisions: Decisions, dump: Dump) -> None:
    decisions.set("cache", 1)
    decisions.set("cache", 2)
    before = dump()
    decisions.get("cache")
    decisions.find(author="stranger", tags=["strange"], scopes=["strange"], query="strange")
    assert dump() == before


def test_a_read_only_store_can_be_read(open_in: Callable[..., Satchel], project: Path) -> None:
    writer = open_in(project).decisions
    writer.set("cache", 1, tags=["api"])
    now = writer.set("cache", 2)
    reader = open_in(project, read_only=True).decisions
    found = reader.get("cache")
    assert [state.value for state in found.history] == [1]
    assert [decision.seq for decision in reader.find(tags=["api"], query="cache")] == [now.seq]


class TestTwoProjects:
    @pytest.fixture
    def both(self, open_in: Callable[..., Satchel], project: Path) -> tuple[Decisions, Decisions]:
        one, other = open_in(project, project="one"), open_in(project, project="other")
        common: dict[str, Any] = {"tags": ["api", "shared"], "scopes": ["shared"], "layer": "data", "agent": "Ann"}
        one.decisions.set("session_ttl", 1, rationale="mine", **common)
        other.decisions.set("session_ttl", 10, rationale="theirs", **common)
        other.decisions.set("session_ttl", 20, agent="Ann")
        other.decisions.set("cache_ttl_seconds", 30, **common)
        return one.decisions, other.decisions

    def test_have_each_their_own_state_of_one_key(self, both: tuple[Decisions, Decisions]) -> None:
        one, other = both
        assert (one.get("session_ttl").decision.value, one.get("session_ttl").history.total) == (1, 0)
        assert (other.get("session_ttl").decision.value, other.get("session_ttl").history.total) == (20, 1)

    @pytest.mark.parametrize(
        "given",
        [
            {},
            {"query": "session ttl mine theirs"},
            {"tags": ["shared"]},
            {"tags": ["shared", "api"], "match": "all"},
            {"scopes": ["shared"]},
            {"layer": "data"},
            {"status": "active"},
            {"minimum": 0},
            {"maximum": 100},
            {"author": "Ann"},
            {"since": 0},
            {"after_seq": 0},
        ],
    )
    def test_are_found_apart(self, both: tuple[Decisions, Decisions], given: dict[str, Any]) -> None:
        one, other = (decisions.find(**given) for decisions in both)
        assert ([decision.value for decision in one], one.total) == ([1], 1)
        assert ({decision.value for decision in other}, other.total) == ({20, 30}, 2)

    def test_do_not_know_each_others_ids(self, both: tuple[Decisions, Decisions]) -> None:
        one, other = both
        with pytest.raises(NotFound, match=r"^there is no decision 'd\d+'. search finds"):
            one.get(other.get("session_ttl").decision.ref)

    def test_do_not_suggest_each_others_keys(self, both: tuple[Decisions, Decisions]) -> None:
        with pytest.raises(NotFound, match=r"search finds"):
            both[0].get("cache_ttl_second")

    def test_do_not_look_like_each_other(self, both: tuple[Decisions, Decisions]) -> None:
        assert both[0].set("cacheTtlSeconds", 5).similar == ()
        assert [one.key for one in both[1].set("cacheTtlSeconds", 5).similar] == ["cache_ttl_seconds"]
