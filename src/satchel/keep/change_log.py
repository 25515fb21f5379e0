"""Items of all kinds changed in a project since a value of its change counter, without contents."""

from __future__ import annotations

from collections.abc import Collection

from satchel.base.records import NamedTuple, dataclass
from satchel.find.kind import Kind
from satchel.store.transaction import NO_LIMIT, Transaction


@dataclass(frozen=True, slots=True)
class Change:
    """An item's latest change.

    Attributes:
        seq: the change counter at that change.
        kind: a name of :data:`KINDS`.
        item: its short id, or a run's name; None for a claim.
        agent: its author.
        at: when it changed, or was written if its kind records nothing later, in milliseconds UTC.
    """

    seq: int
    kind: str
    item: str | None
    agent: str | None
    at: int


class _Source(NamedTuple):
    """Source of the changes of one kind: its columns and the name of an item."""

    table: str
    agent: str
    at: str
    letter: str = ""
    name: str = "NULL"


_SOURCES = {
    **{kind.name.lower(): _Source(kind.table, kind.changed_by, kind.changed_at, kind.letter) for kind in Kind},
    "claim": _Source("file_claims", "i.agent_id", "i.created_at"),
    "run": _Source("runs", "CAST(NULL AS BIGINT)", "COALESCE(i.ended_at, i.created_at)", name="i.run_id"),
}
KINDS = tuple(_SOURCES)
"""The kinds with listed changes."""


def after(
    transaction: Transaction, project_id: int, seq: int, limit: int, kinds: Collection[str] | None = None
) -> list[Change]:
    """Return the items changed after a number, in order.

    Items that share a number are returned together, even beyond ``limit``.
    """
    values = {"project": project_id, "seq": seq, "limit": limit + 1}
    rows = _read(transaction, _union(kinds), values)
    if len(rows) > limit:
        rows = [row for row in rows if row.seq != rows[-1].seq] or _read(
            transaction, _union(kinds, until=True), {**values, "until": rows[-1].seq, "limit": NO_LIMIT}
        )
    return rows


def count_after(
    transaction: Transaction, project_id: int, seq: int, limit: int, kinds: Collection[str] | None = None
) -> int:
    """Count the items changed after a number, up to a limit."""
    union = _union(kinds)
    if not union:
        return 0
    row = transaction.one(
        f"SELECT count(*) FROM (SELECT 1 FROM ({union}) AS every LIMIT :limit) AS counted",
        {"project": project_id, "seq": seq, "limit": limit},
    )
    return 0 if row is None else int(row[0])


def _read(transaction: Transaction, union: str, values: dict[str, int]) -> list[Change]:
    if not union:
        return []
    rows = transaction.all(
        f"""
        SELECT c.seq, c.kind, CASE c.letter WHEN '' THEN c.name ELSE c.letter || c.id END, a.name, c.at
        FROM ({union}) c LEFT JOIN agents a ON a.id = c.agent ORDER BY c.seq, c.kind, c.id LIMIT :limit
        """,
        values,
    )
    return [Change(*row) for row in rows]


def _union(kinds: Collection[str] | None, *, until: bool = False) -> str:
    parts = []
    for kind, source in _SOURCES.items():
        if kinds is not None and kind not in kinds:
            continue
        columns = (
            f"i.seq AS seq, '{kind}' AS kind, i.id AS id, '{source.letter}' AS letter, {source.name} AS name, "
            f"{source.agent} AS agent, {source.at} AS at"
        )
        where = "i.project_id = :project AND i.seq > :seq" + (" AND i.seq <= :until" if until else "")
        rows = f"SELECT {columns} FROM {source.table} i WHERE {where}"
        if source.table == Kind.MESSAGE.table:
            # messages are indexed by receiver and seq, not by seq alone
            rows = (
                f"SELECT {columns} FROM agents t CROSS JOIN {source.table} i "
                f"WHERE t.project_id = :project AND {where} AND i.to_agent_id = t.id "
                f"UNION ALL {rows} AND i.to_agent_id IS NULL"
            )
        parts.append(f"SELECT * FROM ({rows} ORDER BY seq LIMIT :limit) AS of_kind")
    return " UNION ALL ".join(parts)
