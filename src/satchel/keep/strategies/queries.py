"""Queries for strategies."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.find.kind import Kind
from satchel.keep import filters
from satchel.keep.common_filters import ListFilters
from satchel.keep.listing import Filter, Listing, Order, View
from satchel.keep.strategies.records import COLUMNS, SOURCE, Strategy, strategy_of
from satchel.keep.strategies.updates import DOCUMENTS, check_folded, check_topic
from satchel.store.transaction import Row


class StrategyFilters(ListFilters, total=False):
    """Filters for strategies.

    Keys:
        topic: only this one, normalized.
        lang: only those for this language, or for any.
        framework: only those for this framework, or for any.
        author: only those of this agent.
        status: live, superseded or all.
    """

    topic: str | None
    lang: str | None
    framework: str | None
    author: str | None
    status: str


def _make(view: View, rows: Sequence[Row]) -> tuple[Strategy, ...]:
    return tuple(strategy_of(row, score=view.scores.get(row[0])) for row in rows)


LISTING = Listing(
    kind=Kind.STRATEGY,
    table="strategies t",
    columns=COLUMNS,
    source=SOURCE,
    make=_make,
    texts=DOCUMENTS.texts,
    filters=(
        Filter(
            "topic",
            lambda value, _: check_topic(value),
            lambda view, topic: view.where("t.topic = {}", topic),
            known="SELECT DISTINCT topic FROM strategies WHERE project_id = :project",
        ),
        filters.compared("lang", "(t.lang = {} OR t.lang IS NULL)", lambda value, _: check_folded(value, "lang")),
        filters.compared(
            "framework",
            "(t.framework = {} OR t.framework IS NULL)",
            lambda value, _: check_folded(value, "framework"),
        ),
        filters.author("t.agent_id"),
        filters.liveness("t.superseded_by"),
    ),
    usual=Order("most helpful", "t.helped - t.not_helped DESC, t.created_at DESC, t.id DESC"),
    changed=("created_at", "last_seen"),
)
