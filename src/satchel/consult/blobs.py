"""Contents that diffs are made from: compressed, limited in size, the least recently used go first, never indexed.

They are a convenience and no part of the state: where one is missing, its file is sent whole.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping

from satchel.base.records import dataclass
from satchel.consult.records import digest_of_text
from satchel.keep.expiry import remove_contents
from satchel.redaction import finds_secret
from satchel.store.transaction import Transaction

MAX_BYTES = 64 * 1024 * 1024
"""How much the contents of a whole store take, compressed, unless configured."""

_LEVEL = 6
_TOUCH_MS = 3_600_000
_FILLED_TENTHS = 9


@dataclass(frozen=True, slots=True)
class Packed:
    """A compressed content, ready to be kept; digest is of the content itself."""

    digest: bytes
    compressed: bytes


def pack(contents: Mapping[bytes, str]) -> list[Packed]:
    """Compress contents, outside any transaction. One with a secret is left out: it is never stored.

    Args:
        contents: by digest.
    """
    return [Packed(digest, compress(text)) for digest, text in sorted(contents.items()) if finds_secret(text) is None]


def unpack(packed: Packed) -> str | None:
    """Return a content that was kept, or None where it is damaged or not what its digest says."""
    text = decompress(packed.compressed)
    if text is None or digest_of_text(text) != packed.digest:
        return None
    return text


def compress(text: str) -> bytes:
    """Return a text as it is stored; lone surrogates survive."""
    return zlib.compress(text.encode("utf-8", "surrogatepass"), _LEVEL)


def decompress(data: bytes) -> str | None:
    """Return the text that was compressed, or None where the data is damaged."""
    try:
        return zlib.decompress(data).decode("utf-8", "surrogatepass")
    except (zlib.error, UnicodeDecodeError):
        return None


def keep(transaction: Transaction, project_id: int, contents: list[Packed], now: int) -> None:
    """Keep contents; one that is there already counts as used, and is written again in case it was damaged."""
    transaction.many(
        """
        INSERT INTO blobs (project_id, digest, last_used, size, bytes) VALUES (:project, :digest, :now, :size, :bytes)
        ON CONFLICT (project_id, digest) DO UPDATE
        SET last_used = excluded.last_used, size = excluded.size, bytes = excluded.bytes
        """,
        [
            {
                "project": project_id,
                "digest": content.digest,
                "now": now,
                "size": len(content.compressed),
                "bytes": content.compressed,
            }
            for content in contents
        ],
    )


def touch(transaction: Transaction, project_id: int, conversation_id: int, now: int) -> None:
    """Mark what a conversation may need as used; by the hour, so that most turns write nothing for it."""
    transaction.run(
        """
        UPDATE blobs SET last_used = :now
        WHERE project_id = :project AND last_used < :before
            AND digest IN (
                SELECT f.digest FROM conversation_folders d JOIN conversation_files f ON f.folder_id = d.id
                WHERE d.conversation_id = :conversation
            )
        """,
        {"project": project_id, "conversation": conversation_id, "now": now, "before": now - _TOUCH_MS},
    )


def read(transaction: Transaction, project_id: int, digest: bytes) -> str | None:
    """Return the content of a digest; None where it is not kept, or not what it should be."""
    row = transaction.one(
        "SELECT bytes FROM blobs WHERE project_id = :project AND digest = :digest",
        {"project": project_id, "digest": digest},
    )
    return None if row is None else unpack(Packed(digest, row[0]))


def trim(transaction: Transaction, project_id: int, max_bytes: int) -> int:
    """Remove what is too much in a project: what no conversation needs, then the least recently used.

    Args:
        max_bytes: of compressed contents. Where they are more, nine tenths of it are left, so that not every turn
            has something to remove.

    Returns:
        How many were removed.
    """
    if _total(transaction, project_id) <= max_bytes:
        return 0
    removed = remove_contents(transaction, project_id)
    excess = _total(transaction, project_id) - max_bytes * _FILLED_TENTHS // 10
    leaving: list[int] = []
    for number, size in transaction.all(
        "SELECT id, size FROM blobs WHERE project_id = :project ORDER BY last_used, id", {"project": project_id}
    ):
        if excess <= 0:
            break
        leaving.append(number)
        excess -= size
    transaction.many("DELETE FROM blobs WHERE id = :id", [{"id": number} for number in leaving])
    return removed + len(leaving)


def _total(transaction: Transaction, project_id: int) -> int:
    row = transaction.one(
        "SELECT COALESCE(sum(size), 0) FROM blobs WHERE project_id = :project", {"project": project_id}
    )
    assert row is not None
    return int(row[0])
