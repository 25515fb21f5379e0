"""Constraints as text read back by a parser."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import example, given
from hypothesis import strategies as st

from interfaces.text import hostile
from interfaces.text.hostile import MINUTE, NEW_YEAR
from interfaces.text.reading import (
    AGENT,
    LATER,
    LAYER,
    NAMES,
    VALUE,
    Format,
    Item,
    List,
    read_content,
    read_list,
    read_value,
    read_when,
)
from satchel.base.paging import KeptPage
from satchel.base.vocabulary import CATEGORIES, PRIORITIES
from satchel.interfaces.text.rules import added_text, constraints_text
from satchel.keep.constraints import DEFAULT_CATEGORY, Constraint

FORMAT = Format(
    noun="constraint",
    more=r"(?: \(#tags\))?",
    start="c(?P<id>[0-9]+)",
    cells={
        "category": rf"(?:{'|'.join((*CATEGORIES, DEFAULT_CATEGORY))}|category:{VALUE})",
        "priority": "|".join(PRIORITIES),
        "layer": LAYER,
        "agent": AGENT,
    },
    own=rf"(?: #(?P<tags>{NAMES}))?",
    after=rf"(?P<inactive> inactive)?(?: since (?P<ended>{LATER}))?(?: (?P<by>{AGENT}))?"
    r"(?: because (?P<reason>\".*\"))?",
)


def kept(constraint: Constraint) -> Constraint:
    return replace(constraint, uid="", seq=0, score=None)


def read_constraint(item: Item, year: str) -> Constraint:
    return Constraint(
        id=int(item.fields["id"]),
        uid="",
        seq=0,
        category=item.said("category", "category:"),
        text=read_content(item.below),
        priority=item.said("priority"),
        layer=item.value("layer", "layer:"),
        tags=item.names("tags"),
        agent=item.value("agent", "by "),
        active="inactive" not in item.fields,
        reason=read_value(item.fields["reason"]) if "reason" in item.fields else None,
        deactivated_by=item.value("by", "by "),
        deactivated_at=read_when(item.fields["ended"], year, item.moment) if "ended" in item.fields else None,
        created_at=item.moment,
    )


def order_of(constraint: Constraint) -> tuple[int, int, int]:
    return PRIORITIES.index(constraint.priority), constraint.created_at, constraint.id


def read_constraints(text: str) -> tuple[List, tuple[Constraint, ...]]:
    page = read_list(text, FORMAT)
    items = [read_constraint(item, page.year) for item in page.items]
    if page.order == "priority":
        items.sort(key=order_of, reverse=True)
    elif page.order in {"newest", "oldest"}:
        items.sort(key=lambda item: (item.created_at, item.id), reverse=page.order == "newest")
    return page, tuple(items)


def constraint(number: int = 1, text: str = "x", **changes: object) -> Constraint:
    one = Constraint(
        id=number,
        uid="0" * 32,
        seq=number,
        category="security",
        text=text,
        priority="medium",
        layer=None,
        tags=(),
        agent=None,
        active=True,
        reason=None,
        deactivated_by=None,
        deactivated_at=None,
        created_at=NEW_YEAR,
    )
    return replace(one, **changes)  # type: ignore[arg-type] # the tests give each field its own type


def page_of(*some: Constraint) -> KeptPage[Constraint]:
    return KeptPage(some, len(some), 0, 20, 9, "priority")


def ended(one: Constraint, by: str | None, at: int | None, reason: str | None) -> Constraint:
    return replace(one, active=False, deactivated_by=by, deactivated_at=at, reason=reason)


active = st.builds(
    constraint,
    hostile.numbers,
    hostile.texts,
    category=st.sampled_from(CATEGORIES) | hostile.names,
    priority=st.sampled_from(PRIORITIES),
    layer=hostile.layers,
    tags=hostile.tag_lists,
    agent=st.none() | hostile.agents,
    created_at=hostile.moments,
)
constraints = active | st.builds(
    ended, active, st.none() | hostile.agents, st.none() | hostile.moments, st.none() | hostile.texts
)


@st.composite
def pages(draw: st.DrawFn) -> KeptPage[Constraint]:
    items = draw(st.lists(constraints, max_size=6, unique_by=lambda item: item.id))
    order = draw(st.sampled_from(["priority", "newest", "oldest", "relevance", "seq"]))
    if order == "priority":
        items.sort(key=order_of, reverse=True)
    elif order in {"newest", "oldest"}:
        items.sort(key=lambda item: (item.created_at, item.id), reverse=order == "newest")
    return KeptPage(tuple(items), len(items), 0, 20, draw(st.integers(0, 99)), order, draw(hostile.notes))


@given(pages())
@example(page_of(constraint(2, category="data", layer="security"), constraint(1, category="category:x", layer="-")))
def test_what_must_hold_can_be_read_back(page: KeptPage[Constraint]) -> None:
    read, back = read_constraints(constraints_text(page))
    assert back == tuple(map(kept, page.items))
    assert (read.total, read.notes) == (page.total, page.notes)
    assert read.order == (page.order if back else None)


@given(pages())
def test_no_constraint_can_pass_for_a_line_of_ours(page: KeptPage[Constraint]) -> None:
    ours = [line for line in constraints_text(page).splitlines() if not line.startswith(" ")]
    items = [line for line in ours if FORMAT.item.fullmatch(line)]
    others = [line for line in ours[1:] if line not in items]
    headings = [line for line in others if line.endswith(":") and not line.startswith("note:")]
    assert FORMAT.head.fullmatch(ours[0])
    assert len(items) == len(page.items)
    assert len(ours) == 1 + len(headings) + len(items) + len(page.notes)


def test_a_constraint_is_its_line_and_its_text() -> None:
    one = constraint(7, "a\nb", tags=("api", "testing"), layer="data", agent="planner", priority="critical")
    assert constraints_text(page_of(one)).split("\n") == [
        "1 constraint (#tags), most urgent first, UTC times of 2026",
        "c7 security critical data by planner #api testing 01-01 00:00",
        " a",
        " b",
    ]


def test_one_that_does_not_hold_says_by_whom_when_and_why() -> None:
    one = ended(constraint(7, "a"), "planner", NEW_YEAR + MINUTE, 'no "longer"\nneeded')
    assert constraints_text(page_of(one)).split("\n")[1] == (
        'c7 security medium 01-01 00:00 inactive since 00:01 by planner because "no \\"longer\\"\\nneeded"'
    )


def test_the_answer_to_adding_what_binds_one_person_does_not_say_that_it_binds_everywhere() -> None:
    one = replace(constraint(7, "a", agent="planner"), stated_by="human:ann", unconfirmed=True)
    assert added_text(one) == "added c7 security medium by planner unconfirmed, stated by ann"


def test_the_answer_to_adding_names_it() -> None:
    one = constraint(7, "a", agent="planner", tags=("api",), notes=("category ux is new",), category="ux")
    assert added_text(one) == "added c7 category:ux medium by planner #api; binds everywhere\nnote: category ux is new"
