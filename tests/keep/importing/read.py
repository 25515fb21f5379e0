"""What was read of a foreign database."""

from __future__ import annotations

from satchel.keep.importing.bazinga_records import BazingaStore
from satchel.keep.importing.sqlew_records import ForeignDecision, SqlewStore

NOW = 1_795_000_000


def only(store: SqlewStore) -> ForeignDecision:
    """Return the only decision that was read."""
    (decision,) = store.decisions
    return decision


def values(decision: ForeignDecision) -> list[str | float]:
    """Return the values that a decision had, the oldest first."""
    return [state.value for state in decision.states]


def rows(store: BazingaStore) -> dict[str, int]:
    """Return how many rows there were of each kind."""
    return dict(zip(store.kinds, store.rows, strict=True))


def said(store: BazingaStore) -> list[tuple[str, str, str, bool]]:
    """Return all troubles: the table, the row, the reason, and whether the row is left out."""
    return [(one.table, one.row, one.reason, one.left_out) for one in store.troubles]
