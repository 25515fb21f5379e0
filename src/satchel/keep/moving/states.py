"""States of items seen in other stores, and the state last in step with each source: the base of a merge."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import NamedTuple

from satchel.base.records import dataclass
from satchel.keep.kind import Line
from satchel.keep.texts import storable_json
from satchel.store.transaction import Transaction, insert_rows, set_of

SHARED = "shared"  # the source name of the text in the repository


class State(NamedTuple):
    """A state seen before; ``in_step`` tells whether it was the local state when last in step with the source."""

    digest: bytes
    source: int
    in_step: bool
    round: int
    row: int = 0


@dataclass(frozen=True, slots=True)
class Source:
    """A source of states.

    Attributes:
        is_ordered: whether this import is later than the previous one; otherwise it may be an older copy.
    """

    id: int
    round: int
    is_ordered: bool = True


def open_source(transaction: Transaction, project_id: int, name: str, written_at: int | None = None) -> Source:
    """Start the next round of imports from a source."""
    [row] = transaction.all(
        """
        INSERT INTO moving_sources (project_id, name, rounds) VALUES (:project, :name, 1)
        ON CONFLICT (project_id, name) DO UPDATE SET rounds = moving_sources.rounds + 1
        RETURNING id, rounds, written_at
        """,
        {"project": project_id, "name": name},
    )
    number, rounds, before = row
    if written_at is not None and written_at > (before or 0):
        transaction.run("UPDATE moving_sources SET written_at = :at WHERE id = :id", {"at": written_at, "id": number})
    return Source(number, rounds, written_at is not None and written_at >= (before or 0))


def states_of(transaction: Transaction, project_id: int, uids: Iterable[bytes]) -> dict[bytes, list[State]]:
    wanted = set(uids)
    rows = transaction.all(
        "SELECT uid, digest, source_id, in_step, round, id FROM moving_states "
        f"WHERE mark IN {set_of(map(_mark, wanted))} AND project_id = :project ORDER BY id",
        {"project": project_id},
    )
    by_uid: dict[bytes, list[State]] = {}
    for uid, digest, source, in_step, number, row in rows:
        if uid in wanted:
            by_uid.setdefault(uid, []).append(State(digest, source, bool(in_step), number, row))
    return by_uid


def _mark(uid: bytes) -> int:
    return int.from_bytes(uid[:4], "big")


def remember(
    transaction: Transaction, project_id: int, source: Source, states: Collection[tuple[bytes, bytes, bool]]
) -> None:
    """Record seen states: uid, digest, and whether the state is the local one, in step with the source."""
    wanted = {(uid, digest): False for uid, digest, _ in states}
    for uid, digest, in_step in states:
        wanted[uid, digest] |= in_step
    existing = {
        (uid, state.digest): state
        for uid, of_uid in states_of(transaction, project_id, (uid for uid, _ in wanted)).items()
        for state in of_uid
        if state.source == source.id
    }
    changed = [
        {"id": existing[key].row, "step": int(in_step or existing[key].in_step), "round": source.round}
        for key, in_step in wanted.items()
        if key in existing
    ]
    transaction.many("UPDATE moving_states SET in_step = :step, round = :round WHERE id = :id", changed)
    insert_rows(
        transaction,
        "moving_states",
        [
            {
                "project_id": project_id,
                "mark": _mark(uid),
                "uid": uid,
                "digest": digest,
                "source_id": source.id,
                "in_step": int(in_step),
                "round": source.round,
            }
            for (uid, digest), in_step in wanted.items()
            if (uid, digest) not in existing
        ],
    )


def out_of_step(transaction: Transaction, project_id: int, source: Source, uids: Iterable[bytes]) -> None:
    """Mark the states last in step as outdated, before new ones are recorded."""
    by_uid = states_of(transaction, project_id, uids)
    rows = [{"id": state.row} for states in by_uid.values() for state in states if state.source == source.id]
    transaction.many("UPDATE moving_states SET in_step = 0 WHERE id = :id", rows)


@dataclass(frozen=True, slots=True)
class KeptState:
    """A state of an item that lost against another one in an import or sync.

    Attributes:
        source: the source at that time, such as ``export of 0123...``; ``shared`` is the text in the repository.
        is_ours: whether it was the local state; otherwise it came from the source.
    """

    source: str
    is_ours: bool
    kept_at: int
    line: Line


def store_losing(
    transaction: Transaction,
    project_id: int,
    source: Source,
    uid: str,
    digest: bytes,
    line: Line,
    *,
    is_ours: bool,
    now: int,
) -> None:
    """Store a state of an item that lost; it may come from another store and contain secrets, which are redacted."""
    transaction.run(
        "INSERT INTO kept_states (project_id, uid, digest, line, source_id, is_ours, created_at) "
        "VALUES (:project, :uid, :digest, :line, :source, :ours, :now) ON CONFLICT DO NOTHING",
        {
            "project": project_id,
            "uid": bytes.fromhex(uid),
            "digest": digest,
            "line": json.dumps(storable_json(line)[0], ensure_ascii=False),
            "source": source.id,
            "ours": int(is_ours),
            "now": now,
        },
    )


def forget_losing(transaction: Transaction, project_id: int, uid: str, kept_at: int) -> None:
    transaction.run(
        "DELETE FROM kept_states WHERE project_id = :project AND uid = :uid AND created_at = :at",
        {"project": project_id, "uid": bytes.fromhex(uid), "at": kept_at},
    )


def kept_of(transaction: Transaction, project_id: int, table: str, number: int) -> tuple[KeptState, ...]:
    rows = transaction.all(
        f"""
        SELECT s.name, k.is_ours, k.created_at, k.line FROM kept_states k JOIN moving_sources s ON s.id = k.source_id
        WHERE k.project_id = :project AND k.uid = (SELECT uid FROM {table} WHERE id = :id)
        ORDER BY k.created_at DESC, k.digest
        """,
        {"project": project_id, "id": number},
    )
    return tuple(KeptState(source, bool(ours), at, json.loads(line)) for source, ours, at, line in rows)


def forget(transaction: Transaction, project_id: int, uid: bytes) -> None:
    of_item = "project_id = :project AND uid = :uid"
    values = {"project": project_id, "uid": uid}
    transaction.run(f"DELETE FROM moving_states WHERE mark = {_mark(uid)} AND {of_item}", values)
    transaction.run(f"DELETE FROM kept_states WHERE {of_item}", values)
