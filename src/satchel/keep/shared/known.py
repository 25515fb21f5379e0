"""What a clone knows of each shared text: what was seen, what was last in step, what waits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from satchel.base.records import dataclass, replace
from satchel.keep.moving.kinds import LINE_KINDS
from satchel.keep.moving.lines import lines_of
from satchel.keep.shared import items
from satchel.keep.shared.items import Mask
from satchel.keep.shared.looking import Reading
from satchel.keep.shared.markdown import SHAPES, SharedText
from satchel.store.transaction import Transaction, set_of

NEW, CHANGED, BOTH, SAME_KEY = 1, 2, 3, 4
WHYS = (NEW, CHANGED, BOTH, SAME_KEY)
"""Why a text waits: its item is not here; it was changed there; on both sides; another item here has its key."""

_COLUMNS = (
    "uid",
    "kind",
    "file",
    "in_step",
    "taken",
    "tip",
    "waiting",
    "why",
    "ours",
    "seq",
    "stood",
    "merged",
)
_UPSERT = f"""
    INSERT INTO shared_texts (project_id, {", ".join(_COLUMNS)})
    VALUES (:project, {", ".join(f":{name}" for name in _COLUMNS)})
    ON CONFLICT (project_id, uid) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in _COLUMNS[1:])}
"""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of one text; see the table for each.

    Attributes:
        uid: in hexadecimal.
        merged: whether its file is to become a tombstone, since its item is one with another.
    """

    uid: str
    kind: str
    file: str | None = None
    in_step: bytes | None = None
    taken: bytes | None = None
    tip: bytes | None = None
    waiting: bytes | None = None
    why: int | None = None
    ours: bytes | None = None
    seq: int | None = None
    stood: int | None = None
    merged: bool = False

    @property
    def is_shared(self) -> bool:
        """Whether the item is shared from here."""
        return self.in_step is not None

    def at_rest(self) -> Known:
        """Return it with nothing that waits."""
        return replace(self, waiting=None, why=None)


class Local(NamedTuple):
    """An item as it is here: its number, its change number, and the digest and time of its text."""

    kind: str
    number: int
    seq: int
    digest: bytes
    text: SharedText | None


def load(transaction: Transaction, project_id: int) -> dict[str, Known]:
    """Return what is known of each text, by its uid."""
    rows = transaction.all(
        f"SELECT {', '.join(_COLUMNS)} FROM shared_texts WHERE project_id = :project", {"project": project_id}
    )
    names = _COLUMNS[1:-1]
    return {
        row[0].hex(): Known(row[0].hex(), **dict(zip(names, row[1:-1], strict=True)), merged=bool(row[-1]))
        for row in rows
    }


def save(transaction: Transaction, project_id: int, known: Iterable[Known]) -> None:
    """Record what is known of texts."""
    transaction.many(
        _UPSERT,
        [
            {"project": project_id}
            | {name: getattr(one, name) for name in _COLUMNS}
            | {"uid": bytes.fromhex(one.uid), "merged": int(one.merged)}
            for one in known
        ],
    )


def seen(transaction: Transaction, project_id: int) -> set[tuple[str, bytes]]:
    """Return the uids and digests of all texts that were seen."""
    rows = transaction.all("SELECT uid, digest FROM shared_seen WHERE project_id = :project", {"project": project_id})
    return {(uid.hex(), digest) for uid, digest in rows}


def see(transaction: Transaction, project_id: int, texts: Iterable[tuple[str, bytes]]) -> None:
    """Record that texts were seen, by their uids and digests."""
    transaction.many(
        "INSERT INTO shared_seen (project_id, uid, digest) VALUES (:project, :uid, :digest) ON CONFLICT DO NOTHING",
        [{"project": project_id, "uid": bytes.fromhex(uid), "digest": digest} for uid, digest in texts],
    )


def record_reading(transaction: Transaction, project_id: int, reading: Reading) -> None:
    """Record when the repository was read."""
    transaction.run(
        """
        INSERT INTO shared_readings (project_id, commit_id, look, stamp, seq)
        VALUES (:project, :commit, :look, :stamp, :seq)
        ON CONFLICT (project_id) DO UPDATE SET
            commit_id = excluded.commit_id, look = excluded.look, stamp = excluded.stamp, seq = excluded.seq
        """,
        {"project": project_id, **reading._asdict()},
    )


def locals_of(
    transaction: Transaction, project_id: int, known: Mapping[str, Known], uids: Iterable[str], mask: Mask
) -> dict[str, Local]:
    """Return the items that are here, by their uids; those that did not change since they were looked at are not read.

    Args:
        known: what is known of their texts.
        mask: makes paths relative.
    """
    found: dict[str, Local] = {}
    if not uids:
        return found
    these = set_of(map(bytes.fromhex, uids))
    for kind in SHAPES:
        rows = transaction.all(
            f"SELECT id, uid, seq FROM {LINE_KINDS[kind].table} WHERE project_id = :project AND uid IN {these}",
            {"project": project_id},
        )
        stale: list[int] = []
        seqs: dict[int, int] = {}
        for number, raw, seq in rows:
            before = known.get(raw.hex())
            if before is not None and before.ours is not None and before.seq == seq:
                found[raw.hex()] = Local(kind, number, seq, before.ours, None)
            else:
                stale.append(number)
                seqs[number] = seq
        for number, text in texts_of(transaction, project_id, kind, stale, mask).items():
            found[text.uid] = Local(kind, number, seqs[number], text.digest, text)
    return found


def texts_of(
    transaction: Transaction, project_id: int, kind: str, numbers: Sequence[int], mask: Mask
) -> dict[int, SharedText]:
    """Return the texts of items of a kind, by their numbers."""
    found: dict[int, SharedText] = {}
    for first in range(0, len(numbers), 500):
        lines = lines_of(transaction, project_id, kind, numbers[first : first + 500])
        found |= {number: items.text_of(line, mask) for number, line in lines.items()}
    return found


def text_at(transaction: Transaction, project_id: int, local: Local, mask: Mask) -> SharedText:
    """Return the text of an item that is here."""
    if local.text is not None:
        return local.text
    return texts_of(transaction, project_id, local.kind, [local.number], mask)[local.number]


def same_key(transaction: Transaction, project_id: int, text: SharedText) -> tuple[int, str] | None:
    """Return the number and uid of another item here that has a text's key, or None."""
    key = LINE_KINDS[text.kind].key
    if key is None or text.is_gone:
        return None
    row = transaction.one(
        f"SELECT id, uid FROM {LINE_KINDS[text.kind].table} WHERE project_id = :project AND {key[0]} = :key",
        {"project": project_id, "key": text.fields[key[1]]},
    )
    return None if row is None or row[1].hex() == text.uid else (int(row[0]), row[1].hex())
