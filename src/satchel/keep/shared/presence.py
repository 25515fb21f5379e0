"""Note on waiting shared texts for briefings."""

from __future__ import annotations

from satchel.store.asking import Asking
from satchel.store.transaction import Transaction


def waiting_note(transaction: Transaction, project_id: int) -> Asking[tuple[str, ...]]:
    """Return a note with the number of waiting texts, without their words: a stranger may have written them."""
    rows = transaction.ask(
        "SELECT count(*) FROM shared_texts WHERE project_id = :project AND waiting IS NOT NULL",
        {"project": project_id},
    )
    yield rows
    ((waiting,),) = rows.all()
    if not waiting:
        return ()
    texts = "1 shared text waits" if waiting == 1 else f"{waiting:,} shared texts wait"
    return (f"{texts} for a person to accept: satchel proposals",)
