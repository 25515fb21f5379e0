"""How many shared texts wait, asked in every briefing."""

from __future__ import annotations

from satchel.store.transaction import Transaction


def count_waiting(transaction: Transaction, project_id: int) -> int:
    """Return how many texts wait until a person accepts them."""
    row = transaction.one(
        "SELECT count(*) FROM shared_texts WHERE project_id = :project AND waiting IS NOT NULL",
        {"project": project_id},
    )
    return 0 if row is None else int(row[0])


def waiting_note(transaction: Transaction, project_id: int) -> tuple[str, ...]:
    """Say how many wait and what shows them, but none of their words: a stranger may have written them."""
    waiting = count_waiting(transaction, project_id)
    if not waiting:
        return ()
    texts = "1 shared text waits" if waiting == 1 else f"{waiting:,} shared texts wait"
    return (f"{texts} for a person to accept: satchel shared",)
