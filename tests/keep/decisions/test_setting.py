from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from satchel import Conflict, Decision, DecisionState, InvalidInput, Refused, Satchel
from satchel.keep.decisions.records import STATUSES
from satchel.keep.decisions.service import Decisions

if TYPE_CHECKING:
    from conftest import ManualClock

    from .conftest import Dump

FULL: dict[str, Any] = {
    "value": "redis",
    "tags": ["api", "Budget"],
    "scopes": ["gateway", "worker"],
    "paths": ["src/cache/**", "*.toml"],
    "layer": "infrastructure",
    "version": "2.1",
    "status": "draft",
    "rationale": "it is there already",
    "agent": "Ann",
}


def reread(decisions: Decisions, key: str) -> Decision:
    return decisions.get(key).decision


def revisions(decisions: Decisions, key: str) -> list[int]:
    return [state.revision for state in decisions.get(key).history]


def test_every_field_comes_back_as_it_was_given(decisions: Decisions, clock: ManualClock) -> None:
    made = decisions.set("cache", **FULL)
    assert (made.key, made.value, made.status, made.version) == ("cache", "redis", "draft", "2.1")
    assert (made.layer, made.tags, made.scopes) == ("infrastructure", ("api", "Budget"), ("gateway", "worker"))
    assert made.paths == ("src/cache/**", "*.toml")
    assert (made.rationale, made.agent, made.revision) == ("it is there already", "Ann", 1)
    assert (made.created_at, made.updated_at) == (clock.now, clock.now)
    assert (made.ref, made.notes, made.replaced, made.similar, made.score) == (f"d{made.id}", (), None, (), None)
    assert len(bytes.fromhex(made.uid)) == 16
    assert made.seq == decisions.find().seq
    assert reread(decisions, "cache") == made
    assert decisions.find().items == (made,)


def test_a_scope_that_reads_like_a_folder_is_kept_with_a_note(decisions: Decisions) -> None:
    made = decisions.set("cache", "redis", scopes=["gateway", "src/api/"])
    assert made.scopes == ("gateway", "src/api/")
    assert made.notes == ("scope 'src/api/' reads like a folder: give it as paths to bind its files",)


def test_what_is_left_out_of_a_new_decision_takes_its_default(decisions: Decisions) -> None:
    made = decisions.set("cache", "redis")
    assert (made.status, made.version, made.layer, made.tags, made.scopes) == ("active", "1.0.0", None, (), ())
    assert (made.rationale, made.agent) == (None, None)


@pytest.mark.parametrize("status", STATUSES)
def test_every_status_round_trips(decisions: Decisions, status: str) -> None:
    decisions.set("cache", "redis", status=status)
    assert reread(decisions, "cache").status == status


OF_THE_VALUE = {("value", "rationale"), ("value", "version")}

CHANGES: dict[str, Any] = {
    "value": "memcached",
    "tags": ["security"],
    "scopes": ["mailer"],
    "paths": ["src/mail/"],
    "layer": "data",
    "version": "3",
    "status": "active",
    "rationale": "cheaper",
}


@pytest.mark.parametrize("field", CHANGES)
def test_an_update_changes_its_field_and_keeps_every_other(
    decisions: Decisions, clock: ManualClock, field: str
) -> None:
    before = decisions.set("cache", **FULL)
    clock.advance(1_000)
    after = decisions.set("cache", agent="Ann", **{field: CHANGES[field]})
    given = CHANGES[field]
    assert getattr(after, field) == (tuple(given) if isinstance(given, list) else given)
    # the reason and the version of the old value go with it
    kept = [name for name in CHANGES if name != field and (field, name) not in OF_THE_VALUE]
    others = ("key", "uid", "id", "created_at", "agent", *kept)
    assert [getattr(after, name) for name in others] == [getattr(before, name) for name in others]
    assert (after.revision, after.updated_at) == (2, clock.now)
    assert reread(decisions, "cache").seq == after.seq > before.seq


def test_a_version_is_that_of_its_value(decisions: Decisions) -> None:
    decisions.set("limit", 100, version="2.0.0")
    assert decisions.set("limit", 100, tags=["api"]).version == "2.0.0"
    assert decisions.set("limit", "unlimited").version == "1.0.0"
    assert decisions.set("limit", 50, version="3.0.0").version == "3.0.0"


def test_a_new_value_does_not_keep_the_reason_of_the_old_one(decisions: Decisions) -> None:
    decisions.set("cache", 300, rationale="the gateway's limit")
    after = decisions.set("cache", 60)
    assert after.rationale is None
    assert after.notes == (
        'the reason went with the old value: "the gateway\'s limit"; rationale=TEXT gives the new one',
    )
    assert decisions.set("cache", 60, rationale="measured").rationale == "measured"
    assert decisions.set("cache", status="deprecated").rationale == "measured"


@pytest.mark.parametrize("key", ["maxage", "max-age", "MaxAge"])
def test_a_key_that_is_spelt_otherwise_names_the_one_there_is(decisions: Decisions, key: str) -> None:
    decisions.set("max_age", 300)
    with pytest.raises(InvalidInput, match="Did you mean 'max_age'"):
        decisions.set(key, tags=["api"])
    made = decisions.set(key, 60)
    assert "max_age" in [one.key for one in made.similar] or made.notes == (
        f"{key} is new; did you mean max_age, which exists?",
    )


CLEARED: dict[str, tuple[Any, Any]] = {
    "tags None": (None, ()),
    "tags []": ([], ()),
    "scopes None": (None, ()),
    "scopes []": ([], ()),
    "paths None": (None, ()),
    "paths []": ([], ()),
    "layer None": (None, None),
    "layer ''": ("", None),
    "version None": (None, "1.0.0"),
    "version ''": ("", "1.0.0"),
    "rationale None": (None, None),
    "rationale ''": ("", None),
}


@pytest.mark.parametrize("case", CLEARED)
def test_an_explicit_nothing_clears_its_field_alone(decisions: Decisions, case: str) -> None:
    before = decisions.set("cache", **FULL)
    field = case.partition(" ")[0]
    given, left = CLEARED[case]
    decisions.set("cache", agent="Ann", **{field: given})
    after = reread(decisions, "cache")
    assert getattr(after, field) == left
    others = [name for name in CHANGES if name != field]
    assert [getattr(after, name) for name in others] == [getattr(before, name) for name in others]


@pytest.mark.parametrize("field", ["tags", "scopes", "paths", "layer", "version", "rationale"])
def test_nothing_given_for_a_new_decision_is_its_default(decisions: Decisions, field: str) -> None:
    plain = decisions.set("one", "x")
    nothing: dict[str, Any] = {field: None}
    made = decisions.set("two", "x", **nothing)
    assert getattr(made, field) == getattr(plain, field)


def test_an_update_says_what_it_replaced(decisions: Decisions, clock: ManualClock) -> None:
    made = decisions.set("cache", **FULL)
    later = clock.advance(60_000)
    after = decisions.set("cache", "memcached", agent="Bob")
    assert after.agent == "Bob"
    assert after.replaced == DecisionState(
        1,
        "redis",
        "draft",
        "2.1",
        "infrastructure",
        ("api", "Budget"),
        ("gateway", "worker"),
        "Ann",
        "it is there already",
        made.updated_at,
        later,
        ("src/cache/**", "*.toml"),
    )


@pytest.mark.parametrize(
    "again",
    [
        FULL,
        {},
        {"value": "redis"},
        {"tags": ["BUDGET", " api", "API"]},
        {"scopes": ["Worker", "GATEWAY"]},
        {"paths": ["./src/cache/**", "*.toml"]},
        {"layer": "INFRASTRUCTURE"},
        {"status": "draft", "agent": "Bob"},
        {"expected_revision": 1},
    ],
)
def test_setting_what_is_there_leaves_no_history_and_no_change(
    decisions: Decisions, dump: Dump, clock: ManualClock, again: dict[str, Any]
) -> None:
    made = decisions.set("cache", **FULL)
    decisions.set("other", 1, agent="Bob")
    before = dump()
    clock.advance(1_000)
    same = decisions.set("cache", **again)
    assert (same.revision, same.seq, same.updated_at, same.agent) == (1, made.seq, made.updated_at, "Ann")
    assert (same.notes, same.replaced, same.similar) == (("nothing was changed",), None, ())
    assert dump() == before


def test_clearing_what_is_clear_changes_nothing(decisions: Decisions) -> None:
    decisions.set("cache", "redis")
    same = decisions.set("cache", tags=[], scopes=None, layer="", version=None, rationale=" ")
    assert (same.revision, same.notes) == (1, ("nothing was changed",))


def test_an_update_does_not_revive_what_is_deprecated(decisions: Decisions) -> None:
    decisions.set("cache", "redis")
    decisions.set("cache", status="deprecated")
    assert decisions.set("cache", "memcached").status == "deprecated"
    assert decisions.set("cache", status="active").status == "active"
    assert [state.status for state in decisions.get("cache").history] == ["deprecated", "deprecated", "active"]


def test_a_draft_of_an_active_key_stands_beside_it_until_another_agent_sets_the_key_active(
    decisions: Decisions,
) -> None:
    decisions.set("cache", "redis", rationale="fast", tags=["infra"], agent="ann")
    draft = decisions.set("cache", "memcached", status="draft", rationale="smaller", agent="ben")
    assert (draft.key, draft.value, draft.status, draft.tags) == ("cache_draft", "memcached", "draft", ("infra",))
    assert draft.notes[0] == "cache stays as it is until another agent sets it active: this draft proposes a change"
    assert decisions.get("cache").decision.value == "redis"
    assert decisions.set("cache", status="active", agent="ben").value == "redis"  # who proposes does not agree
    after = decisions.set("cache", status="active", agent="ann")
    assert (after.ref, after.value, after.rationale, after.revision) == ("d1", "memcached", "smaller", 2)
    assert after.similar == ()
    assert decisions.get("cache_draft").decision.status == "deprecated"


@pytest.mark.parametrize("agent", ["ann", "cat"])
def test_a_draft_of_an_active_key_is_accepted_by_its_own_key_too(decisions: Decisions, agent: str) -> None:
    decisions.set("cache", "redis", agent="ann")
    decisions.set("cache", paths=["src/"], status="draft", agent="ben")
    decisions.set("cache_draft", status="active", agent=agent)
    assert [(one.key, one.value, one.paths) for one in decisions.find(status="active")] == [
        ("cache", "redis", ("src/",))
    ]


def test_a_rejected_draft_leaves_what_holds(decisions: Decisions) -> None:
    decisions.set("cache", "redis", agent="ann")
    decisions.set("cache", "none", status="draft", agent="ben")
    assert decisions.set("cache_draft", status="deprecated", agent="ann").status == "deprecated"
    assert decisions.get("cache").decision.value == "redis"


def test_a_draft_of_what_a_person_decided_is_a_proposal_for_a_person(decisions: Decisions) -> None:
    decisions.set("cache", "redis", agent="human:ida")
    draft = decisions.set("cache", "memcached", status="draft", agent="ben")
    assert (draft.key, "it binds once a person accepts it" in draft.notes) == ("cache_draft", True)
    with pytest.raises(Refused):
        decisions.set("cache_draft", status="active", agent="ann")


def test_a_draft_may_follow_a_draft_and_what_is_deprecated(decisions: Decisions) -> None:
    decisions.set("cache", "redis", status="draft")
    assert decisions.set("cache", "memcached", status="draft").revision == 2
    decisions.set("cache", status="deprecated")
    assert decisions.set("cache", status="draft").status == "draft"


def test_a_new_key_needs_a_value(decisions: Decisions) -> None:
    with pytest.raises(InvalidInput, match=r"there is no decision 'cahce' yet, so it needs a value"):
        decisions.set("cahce", status="deprecated")
    assert decisions.find().total == 0


def test_keys_are_trimmed_and_compared_exactly(decisions: Decisions) -> None:
    decisions.set(" cache ", "redis")
    assert decisions.set("cache", "memcached").revision == 2
    assert decisions.set("Cache", "local").revision == 1
    assert {decision.key for decision in decisions.find()} == {"cache", "Cache"}


@pytest.mark.parametrize("field", ["tags", "scopes"])
def test_names_are_trimmed_folded_sorted_and_each_there_once(decisions: Decisions, field: str) -> None:
    first: dict[str, Any] = {field: ["Zeta"]}
    second: dict[str, Any] = {field: [" zeta ", "alpha", "ZETA", "Beta", "Alpha"]}
    decisions.set("one", 1, **first)
    made = decisions.set("two", 2, **second)
    assert getattr(made, field) == ("alpha", "Beta", "Zeta")
    assert getattr(reread(decisions, "two"), field) == ("alpha", "Beta", "Zeta")


def test_tags_and_scopes_of_one_name_are_not_mixed_up(decisions: Decisions) -> None:
    decisions.set("one", 1, tags=["billing"])
    decisions.set("two", 2, scopes=["billing"])
    assert [decision.key for decision in decisions.find(tags=["billing"])] == ["one"]
    assert [decision.key for decision in decisions.find(scopes=["billing"])] == ["two"]


def test_a_layer_outside_the_closed_list_is_refused_with_the_valid_ones(decisions: Decisions) -> None:
    with pytest.raises(InvalidInput, match=r"unknown layer 'busines'. Did you mean 'business'.*Valid: presentation"):
        decisions.set("cache", "redis", layer="busines")


def test_a_new_layer_is_recorded_where_layers_are_open(open_in: Callable[..., Satchel], project: Path) -> None:
    decisions = open_in(project, settings={"layers.open": True}).decisions
    assert decisions.set("cache", "redis", layer="Edge").layer == "Edge"
    assert decisions.set("queue", "redis", layer=" edge ").layer == "Edge"


def test_the_default_agent_decides_where_none_is_named(open_in: Callable[..., Satchel], project: Path) -> None:
    decisions = open_in(project, agent="planner").decisions
    assert decisions.set("cache", "redis").agent == "planner"
    assert decisions.set("queue", "redis", agent="qa").agent == "qa"


def test_the_agent_of_a_change_is_the_one_who_made_it(decisions: Decisions) -> None:
    decisions.set("cache", "redis", agent="Ann")
    assert decisions.set("cache", "memcached", agent="Bob").agent == "Bob"
    assert decisions.set("cache", "local").agent is None
    assert [state.agent for state in decisions.get("cache").history] == ["Bob", "Ann"]


class TestExpectedRevision:
    def test_the_right_one_lets_the_change_through(self, decisions: Decisions) -> None:
        decisions.set("cache", "redis")
        assert decisions.set("cache", "memcached", expected_revision=1).revision == 2
        assert decisions.set("cache", "local", expected_revision=2).revision == 3

    @pytest.mark.parametrize("expected", [0, 1, 3])
    def test_another_one_is_refused_with_what_there_is(self, decisions: Decisions, dump: Dump, expected: int) -> None:
        decisions.set("cache", "redis", agent="Ann")
        decisions.set("cache", "memcached", agent="Bob")
        before = dump()
        problem = (
            rf"cache has revision 2, not {expected}: Bob set it to 'memcached' at 11-18 11:06 UTC. "
            "Read it again, then set it with expected_revision=2"
        )
        with pytest.raises(Conflict, match=problem):
            decisions.set("cache", "local", expected_revision=expected, agent="Newcomer", tags=["new-tag"])
        assert dump() == before

    def test_a_stale_one_is_refused_even_where_nothing_would_change(self, decisions: Decisions) -> None:
        decisions.set("cache", "redis")
        with pytest.raises(Conflict, match=r"somebody unnamed set it to 'redis'"):
            decisions.set("cache", "redis", expected_revision=2)

    def test_zero_demands_that_the_key_is_new(self, decisions: Decisions) -> None:
        assert decisions.set("cache", "redis", expected_revision=0).revision == 1

    def test_a_revision_of_a_key_that_is_not_there_is_refused(self, decisions: Decisions) -> None:
        with pytest.raises(Conflict, match=r"cache does not exist, revision 1 was expected"):
            decisions.set("cache", "redis", expected_revision=1)
        assert decisions.find().total == 0


def test_a_clock_that_went_back_keeps_the_history_in_the_order_of_the_revisions(
    decisions: Decisions, clock: ManualClock
) -> None:
    for value in range(4):
        decisions.set("cache", value)
        clock.advance(-1_000)
    assert revisions(decisions, "cache") == [3, 2, 1]
