"""Facets of the memory, and the flags of its rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from satchel import InvalidInput, Satchel
from satchel.brief.room.memory import Facet


def counts(facets: tuple[Facet, ...]) -> dict[str, int]:
    return {one.name: one.count for one in facets if one.count}


def test_facets_count_what_holds_by_kind_type_state_tag_file_and_author(satchel: Satchel, project: Path) -> None:
    (project / "cart.py").write_text("first\n")
    note = satchel.entries.write("discovery", "It drops the coupon", file="cart.py", agent="dev")
    (project / "cart.py").write_text("other\n")
    satchel.entries.write("scratchpad", {"done": False}, agent="dev")
    gone = satchel.entries.write("discovery", "No signature needed", agent="dev")
    satchel.corrections.retract(gone.ref, "it is now", agent="dev")
    satchel.decisions.set("port", 80, tags=["web"], agent="dev")
    satchel.decisions.set("tool", "mdbook", status="draft", agent="ben")
    satchel.constraints.add("Tests first", category="style", tags=["web"], stated_by="user", agent="ben")
    satchel.pins.pin(note.ref, agent="human:ann")
    facets = satchel.room.facets()
    assert (facets.total, facets.progress) == (4, 1)
    assert counts(facets.kinds) == {"entry": 1, "decision": 2, "constraint": 1}
    assert counts(facets.states) == {"live": 3, "draft": 1, "ended": 1, "stale": 1, "unconfirmed": 1, "pinned": 1}
    assert (counts(facets.tags), counts(facets.files)) == ({"web": 2}, {"cart.py": 1})
    assert counts(facets.authors) == {"dev": 2, "ben": 2}
    rules, decisions = satchel.room.facets("constraint"), satchel.room.facets("decision")
    assert rules.kinds == decisions.kinds == facets.kinds
    assert (counts(rules.states), counts(rules.authors)) == ({"live": 1, "unconfirmed": 1}, {"ben": 1})
    assert (counts(decisions.states), counts(decisions.authors)) == ({"live": 1, "draft": 1}, {"dev": 1, "ben": 1})
    assert (counts(rules.tags), rules.files, decisions.total) == ({"web": 1}, (), 4)
    with pytest.raises(InvalidInput):
        satchel.room.facets("message")
    for state in ("stale", "draft", "unconfirmed", "pinned"):
        assert len(satchel.room.selected(state)) == counts(facets.states)[state], state
    assert satchel.room.selected("stale") == satchel.room.selected("pinned") == (note.ref,)
    assert len(satchel.room.selected("tag", "WEB")) == counts(facets.tags)["web"]


def test_flags_tell_who_confirmed_an_item_and_who_got_it(satchel: Satchel) -> None:
    note = satchel.entries.write("discovery", "The gateway caches a 401", agent="dev")
    rule = satchel.constraints.add("Tests first", category="style", agent="dev")
    persons = satchel.entries.write("discovery", "The bank closes at 17:00", agent="human:ann")
    satchel.corrections.confirm(note.ref, agent="ben")
    satchel.brief(agent="cat", query="gateway")
    flags = {one.ref: one for one in satchel.room.flags([note.ref, rule.ref, persons.ref]).items}
    assert [flags[one.ref].confirmed_by for one in (note, rule, persons)] == [("ben",), (), ()]


def test_flags_are_of_one_to_a_hundred_items(satchel: Satchel) -> None:
    for refs in ([], [f"e{number}" for number in range(101)]):
        with pytest.raises(InvalidInput):
            satchel.room.flags(refs)
