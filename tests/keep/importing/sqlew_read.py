"""What was read of a sqlew database."""

from __future__ import annotations

from satchel.keep.importing.records import ForeignDecision, SqlewStore

NOW = 1_795_000_000


def only(store: SqlewStore) -> ForeignDecision:
    """Return the only decision that was read."""
    (decision,) = store.decisions
    return decision


def values(decision: ForeignDecision) -> list[str | float]:
    """Return the values that a decision had, the oldest first."""
    return [state.value for state in decision.states]
