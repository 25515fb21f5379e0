"""What an import says it did, and what it left in the store."""

from __future__ import annotations

from collections.abc import Callable

from every_table import every_row
from satchel import Satchel
from satchel.keep.moving.records import Imported, KindImported

Take = Callable[..., Imported]
"""Import a database into the test's project."""

SECOND = 1_000


def of(result: Imported, kind: str) -> KindImported:
    """Return what an import says of one kind."""
    (found,) = [one for one in result.kinds if one.kind == kind]
    return found


def everything(satchel: Satchel) -> list[object]:
    """Return all rows of what an import may write."""
    tables = (
        "decisions decision_history constraints agent_messages file_changes message_reads runs context_packages "
        "package_consumers error_patterns error_solutions strategies deliveries agents documents"
    ).split()
    with satchel.workplace.engine.read() as transaction:
        every = every_row(transaction)
        projects = transaction.all("SELECT id, name, root, seq FROM projects ORDER BY id")
    return [projects, *(every[table] for table in tables)]
