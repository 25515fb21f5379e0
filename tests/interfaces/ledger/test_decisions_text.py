"""Decisions as text read back by a parser: nothing is lost, and no stored text can pass for anything else."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import example, given

from interfaces.ledger.hostile import NEW_YEAR
from interfaces.ledger.hostile_decisions import decision, kept, page_of, pages
from interfaces.ledger.reading import DAY, TIME, read_moment
from interfaces.ledger.reading_decisions import FORMAT, read_decisions
from satchel.interfaces.ledger.decisions_text import decision_value, decisions_text
from satchel.keep.decisions.records import DecisionPage, Value


@given(pages())
@example(page_of(decision(2, value="rotated by", layer="business"), decision(1, value="300")))
@example(page_of(decision(3, agent="-"), decision(2), decision(1, agent="-")))
@example(page_of(decision(2, tags=("1120",)), decision(1, tags=("a", "@b"), scopes=("c", "033200.851"))))
def test_what_was_decided_can_be_read_back(page: DecisionPage) -> None:
    read, back = read_decisions(decisions_text(page))
    assert back == tuple(map(kept, page.decisions))
    assert (read.total, read.offset if back else page.offset, read.next_offset) == (
        page.total,
        page.offset,
        page.next_offset,
    )
    assert (read.cursor, read.notes) == (page.cursor, page.notes)
    assert read.order == (page.order if page.decisions else None)


@given(pages())
def test_no_stored_text_can_pass_for_a_line_of_ours(page: DecisionPage) -> None:
    # splitlines, because a reader may break lines where we do not
    ours = [line for line in decisions_text(page).splitlines() if not line.startswith(" ")]
    heads = [line for line in ours if FORMAT.head.fullmatch(line)]
    headings = [line for line in ours[1:] if line.startswith("# ")]
    items = [line for line in ours if FORMAT.item.fullmatch(line)]
    notes = [line for line in ours if line.startswith("note: ")]
    assert (len(heads), len(items), len(notes)) == (1, len(page.decisions), len(page.notes))
    assert len(headings) <= len(items)
    assert len(ours) == 1 + len(headings) + len(items) + len(notes)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (300, "300"),
        (0.5, "0.5"),
        ("300", '"300"'),
        ("-", '"-"'),
        ("NaN", '"NaN"'),
        ("true", '"true"'),
        ("1120 0332", '"1120 0332"'),
        ("PostgreSQL 17", "PostgreSQL 17"),
        ("a #b", '"a #b"'),
        ("a @b", '"a @b"'),
        ("C#", "C#"),
        ("x\ny", '"x\\ny"'),
        (" x", '" x"'),
        ('"x"', '"\\"x\\""'),
        ('say "x"', 'say "x"'),
        ("set by hand", '"set by hand"'),
        ("by hand, twice", "by hand, twice"),
        ("keep it active", '"keep it active"'),
        ("x\u2028y", '"x\\u2028y"'),
        ("", '""'),
    ],
)
def test_a_value_is_quoted_only_where_it_could_be_misread(value: Value, text: str) -> None:
    assert decision_value(value) == text


def test_what_most_share_is_said_once() -> None:
    some = [
        decision(n, f"key{n}", agent="planner", created_at=NEW_YEAR + n, updated_at=NEW_YEAR + n) for n in (3, 2, 1)
    ]
    assert decisions_text(page_of(*some)).split("\n") == [
        "3 decisions, newest first, 2026 UTC, seq 9; all by planner v1.0.0 active unless noted",
        "d3 key3: 300 0101 000000.003",
        "d2 key2: 300 000000.002",
        "d1 key1: 300 000000.001",
    ]


def test_a_field_with_few_values_becomes_headings() -> None:
    some = [
        decision(n, f"key{n}", agent=agent, layer="data" if agent == "db-builder" else None)
        for n, agent in ((6, "planner"), (5, "db-builder"), (4, "planner"), (3, "db-builder"), (2, "planner"))
    ] + [decision(1, "key1", agent="db-builder", layer="data")]
    lines = decisions_text(page_of(*some)).split("\n")
    assert [line for line in lines if not line.startswith("d")][1:] == ["# by planner", "# by db-builder data"]


def test_headings_keep_an_order_that_cannot_be_told_from_the_decisions() -> None:
    some = [decision(n, f"key{n}", agent="a-rather-long-name" if n % 2 else None) for n in (1, 2, 3, 4)]
    _, back = read_decisions(decisions_text(page_of(*some, order="relevance")))
    assert [item.id for item in back] == [1, 2, 3, 4]


def test_tags_scopes_revision_and_first_time_stand_on_the_line() -> None:
    one = decision(
        tags=("api", "x y"), scopes=("gateway",), revision=3, updated_at=NEW_YEAR + 1, created_at=NEW_YEAR - 1
    )
    assert decisions_text(page_of(one)).split("\n")[1] == (
        'd1 ttl: 300 v1.0.0 active r3 #api "x y" @gateway 0101 000000.001 made 20251231 235959.999'
    )


def test_a_rationale_stands_below() -> None:
    assert decisions_text(page_of(decision(rationale="one\ntwo"))).split("\n")[2:] == [" one", " two"]


def test_a_page_says_where_it_is_and_what_comes_next() -> None:
    text = decisions_text(page_of(decision(), total=9, offset=3))
    assert text.startswith("1 of 9 decisions, newest first, 2026 UTC, offset 3, next offset 4, seq 9\n")


def test_an_empty_page_says_its_total_and_its_notes() -> None:
    page = replace(page_of(total=7), notes=("nobody is called bob",))
    assert decisions_text(page) == "0 of 7 decisions, seq 9\nnote: nobody is called bob"


def test_times_are_read_as_they_are_written() -> None:
    assert re.fullmatch(DAY, "0101")
    assert re.fullmatch(TIME, "000000.001")
    assert read_moment("0101", "000000.001", "2026") == NEW_YEAR + 1
