"""Decisions as text read back by a parser: nothing is lost, and no stored text can pass for anything else."""

from __future__ import annotations

import re
from dataclasses import replace

from hypothesis import example, given

from interfaces.text.hostile import MINUTE, NEW_YEAR
from interfaces.text.hostile_decisions import decision, kept, page_of, pages
from interfaces.text.reading import DAY, TIME, read_moment
from interfaces.text.reading_decisions import FORMAT, read_decisions
from satchel.base.paging import KeptPage
from satchel.interfaces.text.decisions import decisions_text
from satchel.interfaces.text.parts import json_line
from satchel.keep.decisions.records import Decision, Value
from tables import in_one_test


@given(pages())
@example(page_of(decision(2, value="rotated by", layer="business"), decision(1, value="300")))
@example(page_of(decision(3, agent="-"), decision(2), decision(1, agent="-")))
@example(page_of(decision(2, tags=("11-20",)), decision(1, tags=("a", "#b"), scopes=("c", "03:32"))))
def test_what_was_decided_can_be_read_back(page: KeptPage[Decision]) -> None:
    read, back = read_decisions(decisions_text(page))
    assert back == tuple(map(kept, page.items))
    assert (read.total, read.offset if back else page.offset, read.next_offset) == (
        page.total,
        page.offset,
        page.next_offset,
    )
    assert read.notes == page.notes
    assert read.order == (page.order if page.items else None)


@given(pages())
@example(page_of(decision(version="\N{MATHEMATICAL BOLD DIGIT ZERO}")))
def test_no_stored_text_can_pass_for_a_line_of_ours(page: KeptPage[Decision]) -> None:
    # splitlines, because a reader may break lines where we do not
    ours = [line for line in decisions_text(page).splitlines() if not line.startswith(" ")]
    heads = [line for line in ours if FORMAT.head.fullmatch(line)]
    headings = [line for line in ours[1:] if line.endswith(":") and not line.startswith("note:")]
    items = [line for line in ours if FORMAT.item.fullmatch(line)]
    notes = [line for line in ours if line.startswith("note: ")]
    assert (len(heads), len(items), len(notes)) == (1, len(page.items), len(page.notes))
    assert len(headings) <= len(items)
    assert len(ours) == 1 + len(headings) + len(items) + len(notes)


@in_one_test(
    ("value", "text"),
    [
        (300, "300"),
        (0.5, "0.5"),
        ("300", '"300"'),
        ("-", '"-"'),
        ("NaN", '"NaN"'),
        ("true", '"true"'),
        ("PostgreSQL 17", '"PostgreSQL 17"'),
        ("x\ny", '"x\\ny"'),
        (" x", '" x"'),
        ('"x"', '"\\"x\\""'),
        ("x\u2028y", '"x\\u2028y"'),
        ("", '""'),
    ],
)
def test_a_text_is_quoted_and_a_number_is_not(value: Value, text: str) -> None:
    assert json_line(value) == text


def test_what_most_share_is_said_once() -> None:
    some = [
        decision(n, f"key{n}", agent="planner", created_at=NEW_YEAR + n * MINUTE, updated_at=NEW_YEAR + n * MINUTE)
        for n in (3, 2, 1)
    ]
    assert decisions_text(page_of(*some)).split("\n") == [
        "3 decisions, newest first, UTC times of 2026; each by planner unless noted",
        "d3 key3=300 01-01 00:03",
        "d2 key2=300 00:02",
        "d1 key1=300 00:01",
    ]


def test_a_field_with_few_values_becomes_headings() -> None:
    some = [
        decision(n, f"key{n}", agent=agent, layer="data" if agent == "db-builder" else None)
        for n, agent in ((6, "planner"), (5, "db-builder"), (4, "planner"), (3, "db-builder"), (2, "planner"))
    ] + [decision(1, "key1", agent="db-builder", layer="data")]
    lines = decisions_text(page_of(*some)).split("\n")
    assert [line for line in lines if not line.startswith("d")][1:] == ["by planner:", "by db-builder data:"]


def test_headings_keep_an_order_that_cannot_be_told_from_the_decisions() -> None:
    some = [decision(n, f"key{n}", agent="a-rather-long-name" if n % 2 else None) for n in (1, 2, 3, 4)]
    _, back = read_decisions(decisions_text(page_of(*some, order="relevance")))
    assert [item.id for item in back] == [1, 2, 3, 4]


def test_tags_scopes_revision_and_first_time_stand_on_the_line() -> None:
    one = decision(
        tags=("api", "x y"), scopes=("gateway",), revision=3, updated_at=NEW_YEAR + MINUTE, created_at=NEW_YEAR - MINUTE
    )
    assert decisions_text(page_of(one)).split("\n")[1] == (
        'd1 ttl=300 revision 3 #api "x y" scopes:gateway 01-01 00:01 made 2025-12-31 23:59'
    )


def test_a_rationale_stands_below() -> None:
    assert decisions_text(page_of(decision(rationale="one\ntwo"))).split("\n")[2:] == [" because: one", " two"]


def test_a_page_says_where_it_is_and_what_comes_next() -> None:
    text = decisions_text(page_of(decision(), total=9, offset=3))
    assert text.startswith("1 of 9 decisions, newest first, UTC times of 2026, from offset 3, next: offset=4\n")


def test_an_empty_page_says_its_total_and_its_notes() -> None:
    page = replace(page_of(total=7), notes=("nobody is called bob",))
    assert decisions_text(page) == "0 of 7 decisions\nnote: nobody is called bob"


def test_times_are_read_as_they_are_written() -> None:
    assert re.fullmatch(DAY, "01-01")
    assert re.fullmatch(TIME, "00:01")
    assert read_moment("01-01", "00:01", "2026") == NEW_YEAR + MINUTE


def test_a_page_of_changes_says_with_which_number_to_go_on() -> None:
    page = replace(page_of(decision(2), decision(1), total=5, order="seq"), after_seq=4)
    assert decisions_text(page).startswith("2 of 5 decisions, in order of change, UTC times of 2026, next: after_seq=1")
    assert decisions_text(replace(page, total=2)).startswith(
        "2 decisions, in order of change, UTC times of 2026, later changes: after_seq=9"
    )


def test_a_version_and_a_state_are_said_where_they_are_not_the_usual_ones() -> None:
    some = [decision(n, f"key{n}", version="2.0.0", status="draft") for n in (3, 2)] + [decision(1, "key1")]
    head, *lines = decisions_text(page_of(*some)).split("\n")
    assert head.endswith("; each v2.0.0 draft unless noted")
    assert [" v1.0.0 active " in line for line in lines] == [False, False, True]
