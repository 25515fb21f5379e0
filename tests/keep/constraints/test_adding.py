from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from satchel import Constraint, InvalidInput, ReadOnly, Satchel, TooLarge
from satchel.base.vocabulary import PRIORITIES
from tables import in_one_test

if TYPE_CHECKING:
    from conftest import ManualClock


def names_in(satchel: Satchel, table: str) -> list[str]:
    with satchel.workplace.engine.read() as transaction:
        return [row[0] for row in transaction.all(f"SELECT name FROM {table} ORDER BY id")]


def reread(satchel: Satchel, constraint: Constraint) -> Constraint:
    (found,) = [one for one in satchel.constraints.find(status="all", limit=500) if one.id == constraint.id]
    return found


def test_every_field_comes_back_as_it_was_given(satchel: Satchel, clock: ManualClock) -> None:
    added = satchel.constraints.add(
        "Requests answer within 100 ms",
        category="performance",
        priority="critical",
        layer="presentation",
        paths=["src/api/**", "*.py"],
        tags=["api", "latency"],
        agent="ann",
    )
    assert (added.text, added.category, added.priority) == ("Requests answer within 100 ms", "performance", "critical")
    assert (added.layer, added.tags, added.agent) == ("presentation", ("api", "latency"), "ann")
    assert added.paths == ("src/api/**", "*.py")
    assert (added.active, added.reason, added.deactivated_by, added.deactivated_at) == (True, None, None, None)
    assert (added.ref, added.created_at, added.notes) == (f"c{added.id}", clock.now, ())
    assert len(bytes.fromhex(added.uid)) == 16
    assert added.seq == satchel.constraints.find().seq
    assert reread(satchel, added) == added


def test_what_is_left_out_takes_its_default(satchel: Satchel) -> None:
    added = satchel.constraints.add("x")
    assert (added.category, added.priority, added.layer) == ("general", "medium", None)
    assert (added.tags, added.agent) == ((), None)


@pytest.mark.parametrize("priority", PRIORITIES)
def test_every_priority_round_trips(satchel: Satchel, priority: str) -> None:
    assert reread(satchel, satchel.constraints.add("x", priority=priority)).priority == priority


def test_the_default_agent_adds_where_none_is_named(open_in: Callable[..., Satchel], project: Path) -> None:
    satchel = open_in(project, agent="planner")
    assert satchel.constraints.add("x").agent == "planner"
    assert satchel.constraints.add("x", agent="qa").agent == "qa"


def test_a_new_category_and_a_new_tag_are_recorded_once(satchel: Satchel) -> None:
    before = names_in(satchel, "categories")
    satchel.constraints.add("x", category="Compliance", tags=["GDPR"])
    again = satchel.constraints.add("y", category=" compliance ", tags=["gdpr"])
    assert (again.category, again.tags) == ("Compliance", ("GDPR",))
    assert set(names_in(satchel, "categories")) - set(before) == {
        "Compliance",
        "performance",
        "architecture",
        "security",
    }
    assert names_in(satchel, "tags").count("GDPR") == 1
    assert "gdpr" not in names_in(satchel, "tags")


def test_tags_are_trimmed_sorted_and_each_there_once(satchel: Satchel) -> None:
    added = satchel.constraints.add("x", tags=["zeta", " API ", "Beta", "api", "ZETA"])
    assert added.tags == ("api", "Beta", "zeta")
    assert reread(satchel, added).tags == added.tags


def test_two_constraints_of_one_text_are_two(satchel: Satchel) -> None:
    first, second = satchel.constraints.add("x"), satchel.constraints.add("x")
    assert (first.id != second.id, first.uid != second.uid, second.seq > first.seq) == (True, True, True)


def test_what_was_cleaned_and_redacted_is_said(satchel: Satchel) -> None:
    added = satchel.constraints.add("never log \x00ghp_" + "a1B2" * 9)
    assert "ghp_" not in added.text
    assert "1 control character removed" in added.notes
    assert any("secret was redacted" in note for note in added.notes)
    assert reread(satchel, added).text == added.text


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "empty text": ({"text": " \n"}, "text is empty"),
    "text of another type": ({"text": 5}, "text must be text"),
    "unknown priority": ({"priority": "hihg"}, "unknown priority 'hihg'. Did you mean 'high'"),
    "priority as a number": ({"priority": 4}, "unknown priority 4"),
    "blank category": ({"category": " "}, "category is empty"),
    "long category": ({"category": "c" * 10_000}, "category has 10000 characters"),
    "unknown layer": ({"layer": "busines"}, "unknown layer 'busines'. Did you mean 'business'"),
    "blank layer": ({"layer": ""}, "layer is empty"),
    "tags as one text": ({"tags": "api,security"}, "tags is no list"),
    "blank tag": ({"tags": ["api", " "]}, r"tags\[1\] is empty"),
    "long tag": ({"tags": ["t" * 10_000]}, r"tags\[0\] has 10000 characters"),
    "too many tags": ({"tags": [f"t{number}" for number in range(51)]}, "tags has 51 names"),
    "secret as a tag": ({"tags": ["ghp_" + "a1B2" * 9]}, r"tags\[0\] looks like a secret"),
    "placeholder as agent": ({"agent": "{{agent}}"}, "agent .* placeholder"),
}


@in_one_test("case", REFUSED)
def test_what_is_not_acceptable_is_refused_and_leaves_nothing(satchel: Satchel, case: str) -> None:
    satchel.housekeeping.initialise()
    before = {table: names_in(satchel, table) for table in ("categories", "tags", "layers")}
    given, problem = REFUSED[case]
    with pytest.raises(InvalidInput, match=problem):
        satchel.constraints.add(**{"text": "x", "category": "new", "tags": ["new"], **given})
    assert satchel.constraints.find(status="all").total == 0
    assert {table: names_in(satchel, table) for table in before} == before


def test_the_valid_layers_are_listed(satchel: Satchel) -> None:
    with pytest.raises(InvalidInput, match="Valid: presentation, business, data, infrastructure, cross-cutting"):
        satchel.constraints.add("x", layer="nonsense")


def test_a_new_layer_is_recorded_where_layers_are_open(open_in: Callable[..., Satchel], project: Path) -> None:
    satchel = open_in(project, settings={"layers.open": True})
    assert satchel.constraints.add("x", layer="Edge").layer == "Edge"
    assert satchel.constraints.add("x", layer="edge").layer == "Edge"


def test_a_text_beyond_the_configured_size_is_refused(open_in: Callable[..., Satchel], project: Path) -> None:
    satchel = open_in(project, settings={"context.max_content_kib": 1})
    assert satchel.constraints.add("x" * 1_024).text == "x" * 1_024
    with pytest.raises(TooLarge, match="text has"):
        satchel.constraints.add("x" * 1_025)


def test_a_reader_cannot_add(open_in: Callable[..., Satchel], project: Path) -> None:
    with pytest.raises(ReadOnly):
        open_in(project, read_only=True).constraints.add("x")
