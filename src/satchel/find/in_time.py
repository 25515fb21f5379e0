"""A search that ends in time: every match, else the newest, else none, and a note says so."""

from __future__ import annotations

from time import monotonic
from typing import Any

from satchel.base.errors import Interrupted
from satchel.base.records import replace
from satchel.find import search
from satchel.find.query import Query
from satchel.find.scopes import Scope
from satchel.find.search import Ranking
from satchel.store.transaction import Transaction

SECONDS = 5.0
"""How long a search may take, by the clock."""

_NEWEST = 200

_FEWER: dict[str, Any] = {"small": _NEWEST, "candidates": _NEWEST, "texts": None, "reach": None, "meaning": None}

_TRIES: tuple[tuple[float, dict[str, Any], str], ...] = (
    (0.7, {}, ""),
    (1.0, _FEWER, f"only the newest {_NEWEST} matches were ranked"),
)
"""The part of the time that may have passed by the end of each try, its options, and what a note says of it."""

_LATE = f"incomplete: the search took more than {SECONDS:g} s"

SHORTENED = f"{_LATE}, so some results show the beginning of their text"


class SearchTime:
    """The time of one search, from now on."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._began = monotonic()

    def is_over(self, share: float = 1.0) -> bool:
        return monotonic() - self._began > SECONDS * share

    def rank(self, query: Query, scope: Scope, **options: Any) -> Ranking:
        """Return what :func:`satchel.find.search.rank` does, or of too long a search what there was time for."""
        transaction = self._transaction
        outer = transaction.is_out_of_time
        for share, fewer, note in _TRIES:

            def has_passed(share: float = share) -> bool:
                return self.is_over(share) or (outer is not None and outer())

            try:
                with transaction.savepoint():
                    transaction.is_out_of_time = has_passed
                    try:
                        ranking = search.rank(transaction, query, scope, **options | fewer)
                    finally:
                        transaction.is_out_of_time = outer
            except Interrupted:
                if not self.is_over(share) or (outer is not None and outer()):
                    raise
                continue
            return replace(ranking, limits=(*ranking.limits, f"{_LATE}, so {note}")) if note else ranking
        return replace(search.NOTHING, limits=(f"{_LATE} and was given up: search for fewer words",))
