"""What a decision looks like is said when it is written, and never overwritten."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from satchel import Conflict, Satchel
from satchel.keep.decisions.records import NewDecision, Similar
from satchel.keep.decisions.service import Decisions
from satchel.keep.decisions.tables import delete

if TYPE_CHECKING:
    from conftest import ManualClock

    from .conftest import Dump

TEXT = "Redis in cluster mode with three shards"


def similar(decisions: Decisions, key: str, value: str | float) -> list[tuple[str, str, int]]:
    return [(one.key, one.by, one.likeness) for one in decisions.set(key, value).similar]


def test_a_new_key_like_another_is_kept_and_points_to_it(decisions: Decisions) -> None:
    first = decisions.set("session_ttl", 300)
    second = decisions.set("sessionTtl", 600)
    assert second.similar == (Similar(first.ref, "session_ttl", 300, "key", 100),)
    assert (first.similar, second.revision) == ((), 1)
    assert decisions.get("session_ttl").decision == first
    assert decisions.find().total == 2


def test_a_value_said_under_another_key_is_pointed_out(decisions: Decisions) -> None:
    first = decisions.set("cache", TEXT)
    second = decisions.set("queue", "Three shards with Redis in cluster mode")
    assert second.similar == (Similar(first.ref, "cache", TEXT, "value", 100),)


def test_the_better_of_two_reasons_is_given_and_the_most_alike_come_first(decisions: Decisions) -> None:
    decisions.set("user_session_ttl", 1)
    decisions.set("sessionTtl", 1)
    decisions.set("other", "Redis in a cluster mode, three shards")
    assert similar(decisions, "session_ttl", TEXT) == [
        ("other", "value", 100),
        ("sessionTtl", "key", 100),
        ("user_session_ttl", "key", 80),
    ]


def test_a_draft_points_to_an_older_draft_of_another_but_not_to_what_it_is_a_draft_of(
    decisions: Decisions, clock: ManualClock
) -> None:
    decisions.set("cache", TEXT, status="draft", agent="ann")
    clock.advance(3_600_001)
    second = decisions.set("queue", "Three shards with Redis in cluster mode", status="draft", agent="ben")
    assert [one.key for one in second.similar] == ["cache"]
    decisions.set("session_ttl", 300, agent="ann")
    assert decisions.set("session_ttl_draft", 600, status="draft", agent="ben").similar == ()


def test_at_most_five_are_named(decisions: Decisions) -> None:
    decisions.set_many([NewDecision(f"{word} session ttl", 1) for word in "alpha beta gamma delta omega zeta".split()])
    assert len(decisions.set("session_ttl", 1).similar) == 5


def test_what_is_only_read_or_did_not_change_points_to_nothing(decisions: Decisions) -> None:
    decisions.set("session_ttl", 1)
    decisions.set("sessionTtl", 1)
    assert decisions.get("sessionTtl").decision.similar == ()
    assert all(one.similar == () for one in decisions.find())
    assert decisions.set("sessionTtl", 1).similar == ()
    assert decisions.set("sessionTtl", tags=["api"]).similar == ()


def test_an_update_of_the_value_is_compared_by_the_value_alone(decisions: Decisions) -> None:
    decisions.set("session_ttl", 1)
    decisions.set("cache", TEXT)
    decisions.set("sessionTtl", 1)
    assert similar(decisions, "sessionTtl", TEXT) == [("cache", "value", 100)]


@pytest.mark.parametrize(("status", "named"), [("active", True), ("draft", True), ("deprecated", False)])
def test_what_is_deprecated_is_no_contradiction(decisions: Decisions, status: str, named: bool) -> None:
    decisions.set("session_ttl", TEXT, status=status)
    assert bool(decisions.set("sessionTtl", 1).similar) == named
    assert bool(decisions.set("other", TEXT).similar) == named


def test_a_value_that_was_changed_is_no_longer_pointed_to(decisions: Decisions) -> None:
    decisions.set("cache", TEXT)
    decisions.set("cache", "memcached on two small nodes")
    assert similar(decisions, "queue", TEXT) == []
    assert similar(decisions, "broker", "two small memcached nodes") == [("cache", "value", 100)]


def test_a_short_value_is_like_nothing(decisions: Decisions) -> None:
    decisions.set("cache", "Redis cluster")
    assert similar(decisions, "queue", "Redis cluster") == []


def test_numbers_are_like_nothing(decisions: Decisions) -> None:
    decisions.set("cache", 300)
    assert similar(decisions, "queue", 300) == []


def test_a_decision_that_was_deleted_leaves_nothing_behind(decisions: Decisions, satchel: Satchel, dump: Dump) -> None:
    def kept() -> dict[str, int]:
        tables = ("decisions", "decision_history", "decision_tags", "decision_scopes", "likenesses", "documents")
        rows = dump()
        counted = sum(row[-1] for row in rows["decision_counts"])
        return {"counted": counted} | {table: len(rows[table]) for table in tables}

    decisions.set("other", 1)
    before = kept()
    made = decisions.set("session_ttl", TEXT, tags=["api"], scopes=["gateway"], layer="data")
    decisions.set("session_ttl", "another text of a few more words", tags=["security"])
    with satchel.workplace.engine.write() as transaction:
        delete(transaction, 1, [made.id])
    assert kept() == before
    assert similar(decisions, "sessionTtl", TEXT) == []
    assert decisions.find(query="session").total == 1


def test_a_decision_of_another_project_cannot_be_deleted(decisions: Decisions, satchel: Satchel, dump: Dump) -> None:
    made = decisions.set("session_ttl", TEXT)
    before = dump()
    with satchel.workplace.engine.write() as transaction:
        delete(transaction, 2, [made.id])
    assert dump() == before


def test_a_value_less_alike_than_the_threshold_is_not_pointed_out_though_it_was_looked_at(decisions: Decisions) -> None:
    decisions.set("one", "alpha beta gamma delta epsilon zeta eta theta")
    assert similar(decisions, "two", "alpha beta gamma delta one two three four") == []
    assert ("one", "value", 75) in similar(decisions, "three", "alpha beta gamma delta epsilon eta one two")


def test_a_longer_value_that_holds_most_of_another_is_pointed_to_it(decisions: Decisions) -> None:
    decisions.set("cache", TEXT)
    longer = f"{TEXT}, behind a proxy that hides which node answers, since clients reconnect badly"
    assert similar(decisions, "queue", longer) == [("cache", "value", 100)]


def test_a_second_draft_whose_key_says_the_same_is_refused_with_the_first(decisions: Decisions) -> None:
    decisions.set("unnamed_field", "kept", status="draft", agent="ann")
    with pytest.raises(Conflict, match="ann has drafted d1 'unnamed_field', whose key says the same") as error:
        decisions.set("Unnamed-Fields", "dropped", status="draft", agent="ben")
    assert error.value.problem.endswith("It says: 'kept'")
    assert (error.value.remedy or "").startswith("If you agree, set 'unnamed_field' with status=active")
    with pytest.raises(Conflict, match="whose key says the same"):
        decisions.set("field_unnamed", "dropped", status="draft", agent="ben")
    decisions.set("unnamed_field", status="active", agent="ben")
    assert decisions.set("unnamed_fields", "dropped", status="draft", agent="ben").similar


def test_a_draft_with_a_value_like_that_of_anothers_draft_of_the_last_hour_is_refused_with_the_whole_of_it(
    decisions: Decisions,
) -> None:
    decisions.set("cache", TEXT, status="draft", agent="ann")
    with pytest.raises(Conflict, match="ann has drafted d1 'cache', whose value is 100 % like yours") as error:
        decisions.set("queue", TEXT, status="draft", agent="ben")
    assert TEXT in error.value.problem
    assert len(decisions.find()) == 1
    assert decisions.set("queue", TEXT, status="draft", agent="ann").similar  # its own
    decisions.set("cache", status="active", agent="ben")
    assert decisions.set("store", TEXT, status="draft", agent="ann").ref == "d3"


def test_a_draft_for_the_files_of_another_agents_draft_names_it(decisions: Decisions, clock: ManualClock) -> None:
    decisions.set("edge_cases", "an empty string stays empty", status="draft", paths=["src/a.py"], agent="ann")
    decisions.set("ttl", 45, status="draft", paths=["src/b.py"], agent="ann")
    (note,) = decisions.set("contract", "TypeError", status="draft", paths=["src/a.py"], agent="ben").notes
    assert note.startswith("ann has drafted d1 'edge_cases' for the same files: if it answers the same question")
    assert decisions.set("contract2", "ValueError", status="draft", paths=["src/b.py"], agent="ann").notes == ()
    assert len(decisions.set("types", "strict", status="draft", paths=["src/*.py"], agent="cat").notes) == 4
    clock.advance(3_600_001)
    assert decisions.set("order", "by name", status="draft", paths=["src/a.py"], agent="ben").notes == ()


def test_of_two_drafts_within_an_hour_one_key_may_not_hold_the_other(decisions: Decisions, clock: ManualClock) -> None:
    decisions.set("timed_new_argument", "keyword-only", status="draft", agent="ann")
    with pytest.raises(Conflict, match="ann has drafted d1 'timed_new_argument'"):
        decisions.set("new_argument", "positional", status="draft", agent="ben")
    assert decisions.set("argument", "positional", status="draft", agent="ben").ref == "d2"  # one word says too little
    clock.advance(3_600_001)
    assert decisions.set("new_argument", "positional", status="draft", agent="ben").similar
