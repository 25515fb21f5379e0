"""Decisions, pages and histories of them whose texts try to pass for something else, and plain ones."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from interfaces.text import hostile
from interfaces.text.hostile import NEW_YEAR
from satchel.base.paging import KeptPage, Page
from satchel.keep.decisions.records import STATUSES, Decision, DecisionHistory, DecisionState, Value


def kept(decision: Decision) -> Decision:
    """Leave out what the text does not say."""
    return replace(decision, uid="", seq=0, score=None)


values = (
    hostile.texts
    | hostile.phrases
    | hostile.sentences
    | st.sampled_from(
        ["", "300", "-", "1e5", "NaN", "-Infinity", "11-20 03:32", "x by y", "keep it active", '"', "1,0"]
    )
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
def pages(draw: st.DrawFn) -> KeptPage[Decision]:
    """A page in any order."""
    items = draw(st.lists(decisions, max_size=6, unique_by=lambda item: item.id))
    order = draw(st.sampled_from(["newest", "oldest", "relevance", "seq"]))
    if order in {"newest", "oldest"}:
        items.sort(key=lambda item: (item.created_at, item.id), reverse=order == "newest")
    offset = draw(st.integers(0, 3))
    total = offset + len(items) + draw(st.integers(0, 3))
    return KeptPage(tuple(items), total, offset, 20, draw(st.integers(0, 999)), order, draw(hostile.notes))


@st.composite
def histories(draw: st.DrawFn) -> DecisionHistory:
    """A decision and its earlier states."""
    decision = draw(decisions)
    some = draw(st.lists(states, max_size=4))
    above: Decision | DecisionState = decision
    for place, state in enumerate(some):
        # states resemble their successors, as they do in a store
        same = draw(st.sets(st.sampled_from(["value", "status", "version", "layer", "tags", "agent", "rationale"])))
        since = above.updated_at if isinstance(above, Decision) else above.set_at
        usual = {name: getattr(above, name) for name in same}
        above = some[place] = replace(state, **usual, replaced_at=draw(st.sampled_from([since, since, hostile.DAY])))
    offset = draw(st.integers(0, 2))
    return DecisionHistory(decision, Page(tuple(some), offset + len(some) + draw(st.integers(0, 2)), offset, 20))


def decision(number: int = 1, key: str = "ttl", value: Value = 300, **changes: object) -> Decision:
    """Return a plain decision."""
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


def page_of(*some: Decision, total: int | None = None, offset: int = 0, order: str = "newest") -> KeptPage[Decision]:
    """Return a page of some decisions."""
    return KeptPage(some, len(some) if total is None else total, offset, 20, 9, order)
