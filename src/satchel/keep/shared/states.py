"""A clone's record of each shared text: seen, in step, or waiting."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from satchel.base.records import dataclass, replace
from satchel.keep.moving.kinds import LINE_KINDS
from satchel.keep.moving.lines import lines_of
from satchel.keep.shared import items
from satchel.keep.shared.items import Mask
from satchel.keep.shared.markdown import SHAPES, SharedText
from satchel.store.transaction import Transaction, set_of

NEW, CHANGED, BOTH, SAME_KEY = 1, 2, 3, 4
WHYS = (NEW, CHANGED, BOTH, SAME_KEY)
"""Reasons to wait: a new item, a changed one, one changed on both sides, or one whose key another item has."""

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
class TextState:
    """State of one shared text; the table describes each column.

    Attributes:
        uid: in hexadecimal.
        merged: whether its item was merged into another one, so that its file becomes a tombstone.
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
        return self.in_step is not None

    def at_rest(self) -> TextState:
        return replace(self, waiting=None, why=None)


class LocalItem(NamedTuple):
    """A local item: its number, change number, and the digest and text it would share."""

    kind: str
    number: int
    seq: int
    digest: bytes
    text: SharedText | None


def load_states(transaction: Transaction, project_id: int) -> dict[str, TextState]:
    rows = transaction.all(
        f"SELECT {', '.join(_COLUMNS)} FROM shared_texts WHERE project_id = :project", {"project": project_id}
    )
    names = _COLUMNS[1:-1]
    return {
        row[0].hex(): TextState(row[0].hex(), **dict(zip(names, row[1:-1], strict=True)), merged=bool(row[-1]))
        for row in rows
    }


def save_states(transaction: Transaction, project_id: int, states: Iterable[TextState]) -> None:
    transaction.many(
        _UPSERT,
        [
            {"project": project_id}
            | {name: getattr(one, name) for name in _COLUMNS}
            | {"uid": bytes.fromhex(one.uid), "merged": int(one.merged)}
            for one in states
        ],
    )


def load_sightings(transaction: Transaction, project_id: int) -> set[tuple[str, bytes]]:
    """Return the uid and digest of every text seen."""
    rows = transaction.all("SELECT uid, digest FROM shared_seen WHERE project_id = :project", {"project": project_id})
    return {(uid.hex(), digest) for uid, digest in rows}


def add_sightings(transaction: Transaction, project_id: int, texts: Iterable[tuple[str, bytes]]) -> None:
    """Record texts as seen, by uid and digest."""
    transaction.many(
        "INSERT INTO shared_seen (project_id, uid, digest) VALUES (:project, :uid, :digest) ON CONFLICT DO NOTHING",
        [{"project": project_id, "uid": bytes.fromhex(uid), "digest": digest} for uid, digest in texts],
    )


def load_items(
    transaction: Transaction, project_id: int, states: Mapping[str, TextState], uids: Iterable[str], mask: Mask
) -> dict[str, LocalItem]:
    """Return the local items by uid; those unchanged since their last reading are not read again."""
    by_uid: dict[str, LocalItem] = {}
    if not uids:
        return by_uid
    these = set_of(map(bytes.fromhex, uids))
    for kind in SHAPES:
        rows = transaction.all(
            f"SELECT id, uid, seq FROM {LINE_KINDS[kind].table} WHERE project_id = :project AND uid IN {these}",
            {"project": project_id},
        )
        stale: list[int] = []
        seqs: dict[int, int] = {}
        for number, raw, seq in rows:
            before = states.get(raw.hex())
            if before is not None and before.ours is not None and before.seq == seq:
                by_uid[raw.hex()] = LocalItem(kind, number, seq, before.ours, None)
            else:
                stale.append(number)
                seqs[number] = seq
        for number, text in texts_of(transaction, project_id, kind, stale, mask).items():
            by_uid[text.uid] = LocalItem(kind, number, seqs[number], text.digest, text)
    return by_uid


def texts_of(
    transaction: Transaction, project_id: int, kind: str, numbers: Sequence[int], mask: Mask
) -> dict[int, SharedText]:
    by_number: dict[int, SharedText] = {}
    for first in range(0, len(numbers), 500):
        lines = lines_of(transaction, project_id, kind, numbers[first : first + 500])
        by_number |= {number: items.text_of(line, mask) for number, line in lines.items()}
    return by_number


def text_at(transaction: Transaction, project_id: int, local: LocalItem, mask: Mask) -> SharedText:
    if local.text is not None:
        return local.text
    return texts_of(transaction, project_id, local.kind, [local.number], mask)[local.number]


def find_same_key(transaction: Transaction, project_id: int, text: SharedText) -> tuple[int, str] | None:
    """Return the number and uid of another local item with a text's key, or None."""
    key = LINE_KINDS[text.kind].key
    if key is None or text.is_gone:
        return None
    row = transaction.one(
        f"SELECT id, uid FROM {LINE_KINDS[text.kind].table} WHERE project_id = :project AND {key[0]} = :key",
        {"project": project_id, "key": text.fields[key[1]]},
    )
    return None if row is None or row[1].hex() == text.uid else (int(row[0]), row[1].hex())
