"""Answers that are too long for a client: fewer items, and a first line that says where the rest is."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from interfaces.text.hostile_decisions import decision, page_of
from satchel.base.paging import KeptPage, Page
from satchel.interfaces.text.decisions import decisions_text, history_text
from satchel.interfaces.text.json import fields_of
from satchel.interfaces.text.parts import MAX_CHARS, fitting_fields, fitting_text
from satchel.keep.decisions.records import Decision, DecisionHistory, DecisionState
from tables import in_one_test

NOW = 1_795_000_000_000


def as_json(page: KeptPage[Decision]) -> dict[str, Any]:
    fields = fields_of(page, "decisions")
    assert isinstance(fields, dict)
    return fields


@in_one_test(("each", "shown"), [(100, 30), (1_000, 18), (6_700, 2), (18_000, 1)])
def test_so_many_items_are_shown_as_there_is_room_for(each: int, shown: int) -> None:
    page = page_of(*(decision(number, value="x" * each) for number in range(30, 0, -1)))
    text = fitting_text(page, decisions_text)
    head, *lines = text.split("\n")
    assert len(lines) == shown
    assert len(text) <= MAX_CHARS
    assert head.startswith("30 decisions," if shown == 30 else f"{shown} of 30 decision")
    assert ("next: offset=" in head) == (shown < 30)


def test_the_rest_follows_at_the_offset_that_is_said() -> None:
    page = page_of(*(decision(number, value="x" * 9_000) for number in (3, 2, 1)), total=9, offset=4)
    assert fitting_text(page, decisions_text).startswith(
        "2 of 9 decisions, newest first, UTC times of 2026, from offset 4, next: offset=6"
    )


def test_after_a_number_the_next_one_is_said() -> None:
    some = (decision(number, value="x" * 9_000, seq=10 + number) for number in (1, 2, 3))
    page = replace(page_of(*some, order="seq"), after_seq=9)
    assert "next: after_seq=12" in fitting_text(page, decisions_text).split("\n")[0]


def test_an_item_that_is_too_long_alone_is_cut_and_named() -> None:
    text = fitting_text(page_of(decision(7, value="x" * 134_000), decision(6)), decisions_text)
    assert len(text) == MAX_CHARS
    assert text.split("\n")[0].endswith(
        'next: offset=1; get_items(["d7"]) pages through d7, which is cut after 19,000 characters'
    )


def test_of_a_history_fewer_states_are_shown() -> None:
    state = DecisionState(1, "y" * 5_000, "active", "1.0.0", None, (), (), None, None, NOW, NOW)
    states = tuple(replace(state, revision=number, value=f"{number}" * 5_000) for number in (5, 4, 3, 2, 1))
    text = fitting_text(DecisionHistory(decision(revision=6), Page(states, 5, 0, 20)), history_text)
    assert text.startswith("decision with 3 of 5 earlier states,")
    assert "next: offset=3" in text.split("\n")[0]


def test_json_has_as_many_items_as_there_is_room_for_and_at_least_one() -> None:
    page = page_of(*(decision(number, value="x" * 5_000) for number in range(9, 0, -1)))
    fields = fitting_fields(page, as_json)
    assert (len(fields["decisions"]), fields["total"], fields["next_offset"]) == (3, 9, 3)  # type: ignore[arg-type]
    assert len(json.dumps(fields)) <= MAX_CHARS
    alone = fitting_fields(page_of(decision(2, value="x" * 134_000), decision(1)), as_json)
    assert [len(one["value"]) for one in alone["decisions"]] == [134_000]  # type: ignore[attr-defined]
