"""Which states of an item were seen, and which was last in step with another store: the base of a merge."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from satchel.base.records import dataclass
from satchel.store.transaction import Transaction


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
    """A state that was seen, and whether ours was it when it was last in step with the source."""

    digest: bytes
    source: int
    in_step: bool
    round: int


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
        ON CONFLICT (project_id, name) DO UPDATE SET rounds = rounds + 1 RETURNING id, rounds, written_at
        """,
        {"project": project_id, "name": name},
    )
    assert row is not None
    number, rounds, before = row
    if written_at is not None and written_at > (before or 0):
        transaction.execute(
            "UPDATE moving_sources SET written_at = :at WHERE id = :id", {"at": written_at, "id": number}
        )
    return Source(number, rounds, written_at is not None and written_at >= (before or 0))


def states_of(transaction: Transaction, project_id: int, uids: Iterable[bytes]) -> dict[bytes, list[State]]:
    """Return the states that were seen of some items, by their uids."""
    listed = ", ".join(f"x'{uid.hex()}'" for uid in uids)
    rows = transaction.all(
        "SELECT uid, digest, source_id, in_step, round FROM moving_states "
        f"WHERE project_id = :project AND uid IN ({listed})",
        {"project": project_id},
    )
    found: dict[bytes, list[State]] = {}
    for uid, digest, source, in_step, number in rows:
        found.setdefault(uid, []).append(State(digest, source, bool(in_step), number))
    return found


def seen(transaction: Transaction, project_id: int, uid: bytes, digest: bytes) -> bool:
    """Whether a state was seen before, wherever it came from."""
    return any(state.digest == digest for state in states_of(transaction, project_id, [uid]).get(uid, ()))


def last_in_step(transaction: Transaction, project_id: int, uid: bytes, source: Source) -> bytes | None:
    """Return the digest of our state when it was last in step with a source, or None."""
    states = states_of(transaction, project_id, [uid]).get(uid, ())
    return next((state.digest for state in states if state.in_step and state.source == source.id), None)


def remember(
    transaction: Transaction, project_id: int, source: Source, states: Iterable[tuple[bytes, bytes, bool]]
) -> None:
    """Remember states that were seen: for each the uid, the digest and whether ours is it, in step with the source."""
    rows = [
        {
            "project": project_id,
            "uid": uid,
            "digest": digest,
            "source": source.id,
            "step": int(in_step),
            "round": source.round,
        }
        for uid, digest, in_step in states
    ]
    transaction.many(
        """
        INSERT INTO moving_states (project_id, uid, digest, source_id, in_step, round)
        VALUES (:project, :uid, :digest, :source, :step, :round)
        ON CONFLICT (project_id, uid, digest, source_id)
        DO UPDATE SET in_step = max(in_step, excluded.in_step), round = excluded.round
        """,
        rows,
    )


def out_of_step(transaction: Transaction, project_id: int, source: Source, uids: Iterable[bytes]) -> None:
    """Record that the states which were last in step are so no more, before others are."""
    transaction.many(
        "UPDATE moving_states SET in_step = 0 WHERE project_id = :project AND uid = :uid AND source_id = :source",
        [{"project": project_id, "uid": uid, "source": source.id} for uid in uids],
    )


def forget(transaction: Transaction, project_id: int, uid: bytes) -> None:
    """Remove what is known of an item that is forgotten, its kept states among it."""
    for table in ("moving_states", "kept_states"):
        transaction.execute(
            f"DELETE FROM {table} WHERE project_id = :project AND uid = :uid", {"project": project_id, "uid": uid}
        )
