"""Decisions as text read back by a parser: nothing is lost, and no stored text can pass for anything else."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from faces.ledger import hostile
from faces.ledger.hostile import NEW_YEAR
from faces.ledger.reading import (
    AGENT,
    DAY,
    LAYER,
    NAMES,
    TIME,
    VALUE,
    WHEN,
    Format,
    Item,
    List,
    read_content,
    read_list,
    read_moment,
    read_names,
    read_value,
    read_when,
)
from satchel.base.paging import Page
from satchel.faces.ledger.decisions_text import decision_value, decisions_text, history_text, set_text
from satchel.keep.decisions.records import (
    STATUSES,
    Decision,
    DecisionHistory,
    DecisionPage,
    DecisionState,
    Similar,
    Value,
)

VERSION = r'v(?:[0-9][^\s"]*|"(?:[^"\\]|\\.)*")'
FORMAT = Format(
    title=r"decisions(?: #tags @scopes)?",
    start=rf"d(?P<id>[0-9]+) (?P<key>{VALUE}): (?P<value>\"(?:[^\"\\]|\\.)*\"|[^\s\"].*?)",
    cells={"layer": LAYER, "agent": AGENT, "version": VERSION, "status": "|".join(STATUSES)},
    own=rf"(?: r(?P<revision>[0-9]+))?(?: #(?P<tags>{NAMES}))?(?: @(?P<scopes>{NAMES}))?",
    after=rf"(?: made (?P<made>{WHEN}))?",
)
FIELDS = (
    rf"(?:: (?P<value>\"(?:[^\"\\]|\\.)*\"|[^\s\"].*?))?(?: (?P<layer>{LAYER}))?(?: (?P<agent>{AGENT}))?"
    rf"(?: (?P<version>{VERSION}))?(?: (?P<status>{'|'.join(STATUSES)}))?(?P<cleared> rationale:-)?"
    rf"(?: #(?P<tags>{NAMES}))?(?: @(?P<scopes>{NAMES}))? (?P<when>{WHEN})"
)
CURRENT_LINE = re.compile(rf"d(?P<id>[0-9]+) (?P<key>{VALUE}) r(?P<revision>[0-9]+){FIELDS}(?: made (?P<made>{WHEN}))?")
STATE_LINE = re.compile(rf"r(?P<revision>[0-9]+){FIELDS}(?: until (?P<until>{WHEN}))?")
HISTORY_HEAD = re.compile(
    r"decision with (?P<count>[0-9]+)(?: of (?P<total>[0-9]+))? earlier states?"
    r"(?P<some>, newest first, what one leaves out is as above it)?, (?P<year>[0-9]{4}) UTC"
    r"(?:, offset (?P<offset>[0-9]+))?(?:, next offset (?P<next>[0-9]+))?"
)


def kept(decision: Decision) -> Decision:
    """Leave out what the text does not say."""
    return replace(decision, uid="", seq=0, score=None)


def read_decision_value(text: str) -> Value:
    if text.startswith('"') or re.fullmatch(r"-?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?", text):
        value: Value = json.loads(text)
        return value
    return text


def read_decision(item: Item, year: str) -> Decision:
    return Decision(
        id=int(item.fields["id"]),
        uid="",
        seq=0,
        key=item.said("key"),
        value=read_decision_value(item.fields["value"]),
        status=item.said("status"),
        version=item.said("version", "v"),
        revision=int(item.fields.get("revision", 1)),
        layer=item.value("layer", "layer:"),
        tags=item.names("tags"),
        scopes=item.names("scopes"),
        agent=item.value("agent", "by "),
        rationale=read_content(item.below) if item.below else None,
        created_at=read_when(item.fields["made"], year) if "made" in item.fields else item.moment,
        updated_at=item.moment,
    )


def read_decisions(text: str) -> tuple[List, tuple[Decision, ...]]:
    page = read_list(text, FORMAT)
    decisions = [read_decision(item, page.year) for item in page.items]
    if page.order in {"newest", "oldest"}:
        decisions.sort(key=lambda decision: (decision.created_at, decision.id), reverse=page.order == "newest")
    return page, tuple(decisions)


def read_history(text: str) -> DecisionHistory:
    first, *lines = text.split("\n")
    head = HISTORY_HEAD.fullmatch(first)
    assert head is not None, first
    year = head["year"]
    blocks: list[tuple[str, list[str]]] = []
    for line in lines:
        if line.startswith(" "):
            blocks[-1][1].append(line[1:])
        else:
            blocks.append((line, []))
    line, below = blocks.pop(0)
    found = CURRENT_LINE.fullmatch(line)
    assert found is not None, line
    now = read_state(found, below, None, year)
    decision = Decision(
        id=int(found["id"]),
        uid="",
        seq=0,
        key=read_value(found["key"]) or "",
        value=now.value,
        status=now.status,
        version=now.version,
        revision=now.revision,
        layer=now.layer,
        tags=now.tags,
        scopes=now.scopes,
        agent=now.agent,
        rationale=now.rationale,
        created_at=read_when(found["made"], year) if found["made"] else now.set_at,
        updated_at=now.set_at,
    )
    above = None if head["offset"] else now
    states: list[DecisionState] = []
    for line, below in blocks:
        found = STATE_LINE.fullmatch(line)
        assert found is not None, line
        above = read_state(found, below, above, year)
        states.append(above)
    assert len(states) == int(head["count"])
    page = Page(tuple(states), int(head["total"] or head["count"]), int(head["offset"] or 0), 20)
    assert page.next_offset == (int(head["next"]) if head["next"] else None)
    return DecisionHistory(decision, page)


def read_state(found: re.Match[str], below: Sequence[str], above: DecisionState | None, year: str) -> DecisionState:
    """Read a state from what it says and, for what it leaves out, from the one above it."""
    said = {name: value for name, value in found.groupdict().items() if value is not None}

    def value(name: str, mark: str, usual: str | None) -> str | None:
        return read_value(said[name].removeprefix(mark)) if name in said else usual

    def names(name: str, usual: tuple[str, ...]) -> tuple[str, ...]:
        return read_names(said[name]) if name in said else usual

    rationale = above.rationale if above and "cleared" not in said else None
    until = read_when(said["until"], year) if "until" in said else above.set_at if above else 0
    if "value" in said:
        decided = read_decision_value(said["value"])
    else:
        assert above is not None
        decided = above.value
    return DecisionState(
        revision=int(said["revision"]),
        value=decided,
        status=value("status", "", above.status if above else "") or "",
        version=value("version", "v", above.version if above else "") or "",
        layer=value("layer", "layer:", above.layer if above else None),
        tags=names("tags", above.tags if above else ()),
        scopes=names("scopes", above.scopes if above else ()),
        agent=value("agent", "by ", above.agent if above else None),
        rationale=read_content(below) if below else rationale,
        set_at=read_when(said["when"], year),
        replaced_at=until,
    )


values = (
    hostile.texts
    | hostile.phrases
    | hostile.sentences
    | st.sampled_from(["", "300", "-", "1e5", "NaN", "-Infinity", "1120 0332", "x by y", "keep it active", '"', "1,0"])
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
)
versions = st.sampled_from(["1.0.0", "2.0.0", "next", '1"2', "1 beta", "²"]) | hostile.names
decisions = st.builds(
    Decision,
    id=hostile.numbers,
    uid=hostile.uids,
    seq=hostile.numbers,
    key=hostile.names,
    value=values,
    status=st.sampled_from(STATUSES),
    version=versions,
    revision=st.integers(1, 3),
    layer=hostile.layers,
    tags=hostile.tag_lists,
    scopes=hostile.tag_lists,
    agent=st.none() | hostile.agents,
    rationale=st.none() | hostile.texts,
    created_at=hostile.moments,
    updated_at=hostile.moments,
)
states = st.builds(
    DecisionState,
    revision=st.integers(1, 9),
    value=values,
    status=st.sampled_from(STATUSES),
    version=versions,
    layer=hostile.layers,
    tags=hostile.tag_lists,
    scopes=hostile.tag_lists,
    agent=st.none() | hostile.agents,
    rationale=st.none() | hostile.texts,
    set_at=hostile.moments,
    replaced_at=hostile.moments,
)


@st.composite
def pages(draw: st.DrawFn) -> DecisionPage:
    items = draw(st.lists(decisions, max_size=6, unique_by=lambda item: item.id))
    order = draw(st.sampled_from(["newest", "oldest", "relevance", "seq"]))
    if order in {"newest", "oldest"}:
        items.sort(key=lambda item: (item.created_at, item.id), reverse=order == "newest")
    offset = draw(st.integers(0, 3))
    total = offset + len(items) + draw(st.integers(0, 3))
    return DecisionPage(tuple(items), total, offset, 20, draw(st.integers(0, 999)), order, draw(hostile.notes))


@st.composite
def histories(draw: st.DrawFn) -> DecisionHistory:
    decision = draw(decisions)
    some = draw(st.lists(states, max_size=4))
    above: Decision | DecisionState = decision
    for place, state in enumerate(some):
        # states resemble their successors, as they do in a store
        same = draw(st.sets(st.sampled_from(["value", "status", "version", "layer", "tags", "agent", "rationale"])))
        since = above.updated_at if isinstance(above, Decision) else above.set_at
        usual = {name: getattr(above, name) for name in same}
        above = some[place] = replace(state, **usual, replaced_at=draw(st.sampled_from([since, since, 5])))
    offset = draw(st.integers(0, 2))
    return DecisionHistory(decision, Page(tuple(some), offset + len(some) + draw(st.integers(0, 2)), offset, 20))


def decision(number: int = 1, key: str = "ttl", value: Value = 300, **changes: object) -> Decision:
    one = Decision(
        id=number,
        uid="0" * 32,
        seq=number,
        key=key,
        value=value,
        status="active",
        version="1.0.0",
        revision=1,
        layer=None,
        tags=(),
        scopes=(),
        agent=None,
        rationale=None,
        created_at=NEW_YEAR,
        updated_at=NEW_YEAR,
    )
    return replace(one, **changes)  # type: ignore[arg-type] # the tests give each field its own type


def page_of(*some: Decision, total: int | None = None, offset: int = 0, order: str = "newest") -> DecisionPage:
    return DecisionPage(some, len(some) if total is None else total, offset, 20, 9, order)


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


@given(histories())
def test_a_history_can_be_read_back(history: DecisionHistory) -> None:
    back = read_history(history_text(history))
    assert back.decision == kept(history.decision)
    assert back.history == history.history


@given(histories())
def test_no_text_of_a_history_can_pass_for_a_state(history: DecisionHistory) -> None:
    ours = [line for line in history_text(history).splitlines() if not line.startswith(" ")]
    assert len(ours) == 2 + len(history.history)


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


def test_a_history_says_only_what_changed() -> None:
    now = decision(value=300, revision=3, agent="planner", tags=("api",), updated_at=NEW_YEAR + 2, rationale="why")
    second = DecisionState(2, 200, "active", "1.0.0", None, ("api",), (), "builder", "why", NEW_YEAR + 1, NEW_YEAR + 2)
    first = replace(second, revision=1, tags=(), rationale=None, set_at=NEW_YEAR, replaced_at=NEW_YEAR + 1)
    assert history_text(DecisionHistory(now, Page((second, first), 2, 0, 20))).split("\n") == [
        "decision with 2 earlier states, newest first, what one leaves out is as above it, 2026 UTC",
        "d1 ttl r3: 300 by planner v1.0.0 active #api 0101 000000.002 made 0101 000000.000",
        " why",
        "r2: 200 by builder 0101 000000.001",
        "r1 rationale:- #- 0101 000000.000",
    ]


def test_the_answer_to_setting_names_what_it_replaced_by_whom_and_since_when() -> None:
    before = DecisionState(1, 200, "draft", "1.0.0", None, (), (), "planner", None, NEW_YEAR, NEW_YEAR + 5)
    one = decision(7, agent="planner", revision=2, replaced=before, notes=("a secret was redacted (jwt)",))
    assert set_text([one]) == (
        "set d7 ttl r2, was r1: 200 by planner draft 20260101 000000.000 UTC\nnote: a secret was redacted (jwt)"
    )


def test_the_answer_to_setting_says_when_nobody_had_been_named() -> None:
    before = DecisionState(1, 300, "active", "1.0.0", None, (), (), None, "old\nreason", NEW_YEAR, NEW_YEAR + 5)
    assert set_text([decision(revision=2, replaced=before)]).split("\n") == [
        "set d1 ttl r2, was r1 by - 20260101 000000.000 UTC",
        " old",
        " reason",
    ]


def test_the_answer_to_setting_advises_about_similar_ones_once() -> None:
    alike = Similar("d3", "ttl s", "5 minutes", "key", 91)
    lines = set_text([decision(1, similar=(alike,)), decision(2, "other", similar=(alike,))]).split("\n")
    assert lines == [
        "set d1 ttl r1",
        'like d3 "ttl s": 5 minutes (key 91%)',
        "set d2 other r1",
        'like d3 "ttl s": 5 minutes (key 91%)',
        "Update the similar one instead, or say in the rationale why both are needed.",
    ]


def test_the_answer_to_setting_does_not_repeat_a_long_value() -> None:
    before = DecisionState(1, "long " * 100, "active", "1.0.0", None, (), (), None, None, NEW_YEAR, NEW_YEAR + 5)
    text = set_text([decision(revision=2, replaced=before)])
    assert "... (500 characters) by -" in text
    assert len(text) < 300


def test_times_are_read_as_they_are_written() -> None:
    assert re.fullmatch(DAY, "0101")
    assert re.fullmatch(TIME, "000000.001")
    assert read_moment("0101", "000000.001", "2026") == NEW_YEAR + 1
