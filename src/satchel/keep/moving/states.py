"""Which states of an item were seen, and which was last in step with another store: the base of a merge."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from enum import Enum
from typing import NamedTuple

from satchel.base.records import dataclass
from satchel.keep.moving.fields import Line
from satchel.store.transaction import Transaction, set_of

SHARED = "shared"
"""The name of the text in the repository among what states come from."""


class Judgement(Enum):
    """What an incoming state of an item is beside ours."""

    PRESENT = "present"
    TAKE = "take"
    KEEP_OURS = "keep ours"
    CONFLICT = "conflict"


def judge(local: bytes, base: bytes | None, incoming: bytes, *, seen: bool) -> Judgement:
    """Say what becomes of an incoming state of an item that is here.

    Args:
        local: the digest of our state.
        base: that of our state when it was last in step with where the other comes from; None where it never was.
        incoming: the digest of the other state.
        seen: whether the other was seen before, so that it is an old copy.
    """
    if incoming == local or seen:
        return Judgement.PRESENT
    if base is None:
        return Judgement.CONFLICT
    if local == base:
        return Judgement.TAKE
    return Judgement.KEEP_OURS if incoming == base else Judgement.CONFLICT


class State(NamedTuple):
    """A state that was seen, and whether ours was it when it was last in step with the source; ``row`` is its row."""

    digest: bytes
    source: int
    in_step: bool
    round: int
    row: int = 0


@dataclass(frozen=True, slots=True)
class Source:
    """Where states come from.

    Attributes:
        id: its number.
        round: which of the times this is that something comes from it.
        is_ordered: whether what comes now is later than what came before; else an older copy may come.
    """

    id: int
    round: int
    is_ordered: bool = True


def open_source(transaction: Transaction, project_id: int, name: str, written_at: int | None = None) -> Source:
    """Begin another round of taking from a source.

    Args:
        written_at: when what comes was written, in milliseconds UTC; None where that is not known.
    """
    row = transaction.one(
        """
        INSERT INTO moving_sources (project_id, name, rounds) VALUES (:project, :name, 1)
        ON CONFLICT (project_id, name) DO UPDATE SET rounds = moving_sources.rounds + 1
        RETURNING id, rounds, written_at
        """,
        {"project": project_id, "name": name},
    )
    assert row is not None
    number, rounds, before = row
    if written_at is not None and written_at > (before or 0):
        transaction.run("UPDATE moving_sources SET written_at = :at WHERE id = :id", {"at": written_at, "id": number})
    return Source(number, rounds, written_at is not None and written_at >= (before or 0))


def states_of(transaction: Transaction, project_id: int, uids: Iterable[bytes]) -> dict[bytes, list[State]]:
    """Return the states that were seen of some items, by their uids."""
    wanted = set(uids)
    rows = transaction.all(
        "SELECT uid, digest, source_id, in_step, round, id FROM moving_states "
        f"WHERE mark IN {set_of(map(_mark, wanted))} AND project_id = :project ORDER BY id",
        {"project": project_id},
    )
    found: dict[bytes, list[State]] = {}
    for uid, digest, source, in_step, number, row in rows:
        if uid in wanted:
            found.setdefault(uid, []).append(State(digest, source, bool(in_step), number, row))
    return found


def _mark(uid: bytes) -> int:
    return int.from_bytes(uid[:4], "big")


def remember(
    transaction: Transaction, project_id: int, source: Source, states: Collection[tuple[bytes, bytes, bool]]
) -> None:
    """Remember states that were seen: for each the uid, the digest and whether ours is it, in step with the source."""
    wanted = {(uid, digest): False for uid, digest, _ in states}
    for uid, digest, in_step in states:
        wanted[uid, digest] |= in_step
    known = {
        (uid, state.digest): state
        for uid, of_uid in states_of(transaction, project_id, (uid for uid, _ in wanted)).items()
        for state in of_uid
        if state.source == source.id
    }
    changed = [
        {"id": known[key].row, "step": int(in_step or known[key].in_step), "round": source.round}
        for key, in_step in wanted.items()
        if key in known
    ]
    transaction.many("UPDATE moving_states SET in_step = :step, round = :round WHERE id = :id", changed)
    transaction.insert_many(
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
            if (uid, digest) not in known
        ],
    )


def out_of_step(transaction: Transaction, project_id: int, source: Source, uids: Iterable[bytes]) -> None:
    """Record that the states which were last in step are so no more, before others are."""
    found = states_of(transaction, project_id, uids)
    rows = [{"id": state.row} for states in found.values() for state in states if state.source == source.id]
    transaction.many("UPDATE moving_states SET in_step = 0 WHERE id = :id", rows)


@dataclass(frozen=True, slots=True)
class KeptState:
    """A state of an item that lost against another one at an import or sync.

    Attributes:
        source: what was taken then, such as ``export of 0123...``; ``shared`` is the text in the repository.
        is_ours: whether it was here before; else it came from the source.
        kept_at: when that was, in milliseconds UTC.
        line: all that it said, as lines have it.
    """

    source: str
    is_ours: bool
    kept_at: int
    line: Line


def kept_of(transaction: Transaction, project_id: int, table: str, number: int) -> tuple[KeptState, ...]:
    """Return the states that are kept beside an item, the latest first."""
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
    """Remove what is known of an item that is forgotten, its kept states among it."""
    of_item = "project_id = :project AND uid = :uid"
    values = {"project": project_id, "uid": uid}
    transaction.run(f"DELETE FROM moving_states WHERE mark = {_mark(uid)} AND {of_item}", values)
    transaction.run(f"DELETE FROM kept_states WHERE {of_item}", values)
