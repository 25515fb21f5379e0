"""The tables of conversations: rows read and written, without any rule of who may."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from satchel.base.errors import SatchelError, StoreDamaged
from satchel.consult import blobs
from satchel.consult.conversation_records import ListedFile, Turn
from satchel.consult.records import ConversationState, KnownFile, Placement, Stat
from satchel.store.transaction import Transaction

_FILES = """
    SELECT d.path || f.name, f.placement, f.first_turn, f.size, f.mtime_ns, f.digest, f.sent_at, f.tokens
    FROM conversation_folders d JOIN conversation_files f ON f.folder_id = d.id
    WHERE d.conversation_id = :conversation
"""


def load_state(transaction: Transaction, conversation_id: int) -> ConversationState:
    """Return what a conversation holds after its last successful turn."""
    row = transaction.one(
        "SELECT turns, held_tokens, has_overflowed, provider_ref FROM conversations WHERE id = :id",
        {"id": conversation_id},
    )
    assert row is not None
    turns, held, overflowed, provider_ref = row
    files = {known.path: known for known, _ in _load_files(transaction, conversation_id)}
    return ConversationState(turns, files, held, bool(overflowed), provider_ref)


def _load_files(transaction: Transaction, conversation_id: int) -> Iterator[tuple[KnownFile, int]]:
    """Yield every file of a conversation by path, and the turn in which it first came."""
    rows = transaction.all(_FILES, {"conversation": conversation_id})
    for path, placement, first_turn, size, mtime_ns, digest, sent_at, tokens in sorted(rows):
        yield KnownFile(path, Placement(placement), Stat(size, mtime_ns), digest, sent_at, tokens), first_turn


def write_files(
    transaction: Transaction,
    conversation_id: int,
    before: Mapping[str, KnownFile],
    after: Mapping[str, KnownFile],
    turn: int,
) -> None:
    """Write what a turn changed of the files of a conversation; a file that is not named stays as it was.

    Raises:
        SatchelError: a file would move, which never happens.
    """
    changed = [known for path, known in sorted(after.items()) if before.get(path) != known]
    for known in changed:
        old = before.get(known.path, known)
        if old.placement is not known.placement or known.path != old.path:
            raise SatchelError(
                f"{known.path} would move from {old.placement.name.lower()} to {known.placement.name.lower()}",
                "Nothing was recorded; this is a fault in Satchel, please report it",
            )
    folders = _ensure_folders(transaction, conversation_id, (_split(known.path)[0] for known in changed))
    transaction.many(
        """
        INSERT INTO conversation_files
            (folder_id, name, placement, first_turn, size, mtime_ns, digest, sent_at, tokens)
        VALUES
            (:folder, :name, :placement, :turn, :size, :mtime_ns, :digest, :sent_at, :tokens)
        ON CONFLICT (folder_id, name) DO UPDATE
        SET size = excluded.size, mtime_ns = excluded.mtime_ns, digest = excluded.digest, sent_at = excluded.sent_at,
            tokens = excluded.tokens
        """,
        [
            {
                "folder": folders[_split(known.path)[0]],
                "name": _split(known.path)[1],
                "placement": known.placement.value,
                "turn": turn,
                "size": known.stat.size,
                "mtime_ns": known.stat.mtime_ns,
                "digest": known.digest,
                "sent_at": known.sent_at,
                "tokens": known.tokens,
            }
            for known in changed
        ],
    )


def _split(path: str) -> tuple[str, str]:
    """Return a path's folder, ending in a slash or empty, and the name in it."""
    cut = path.rfind("/") + 1
    return path[:cut], path[cut:]


def _ensure_folders(transaction: Transaction, conversation_id: int, wanted: Iterable[str]) -> dict[str, int]:
    """Return the numbers of the folders of a conversation, after adding those that are new."""
    numbers: dict[str, int] = dict(
        transaction.all(
            "SELECT path, id FROM conversation_folders WHERE conversation_id = :conversation",
            {"conversation": conversation_id},
        )
    )
    for folder in sorted(set(wanted) - numbers.keys()):
        numbers[folder] = transaction.insert(
            "INSERT INTO conversation_folders (conversation_id, path) VALUES (:conversation, :path)",
            {"conversation": conversation_id, "path": folder},
        )
    return numbers


def load_turns(transaction: Transaction, conversation_id: int, first: int) -> tuple[Turn, ...]:
    """Return the turns of a conversation from one on, in their order.

    Raises:
        StoreDamaged: the text of one cannot be read.
    """
    rows = transaction.all(
        """
        SELECT n, prompt, answer, provider_ref, sent_tokens, resent_tokens, answer_tokens, created_at
        FROM conversation_turns WHERE conversation_id = :conversation AND n >= :first ORDER BY n
        """,
        {"conversation": conversation_id, "first": first},
    )
    turns = []
    for n, compressed, *rest in rows:
        prompt = blobs.decompress(compressed)
        if prompt is None:
            raise StoreDamaged(
                f"turn {n} of a conversation cannot be read",
                "Reset the conversation; `satchel doctor` examines the rest",
            )
        turns.append(Turn(n, prompt, *rest))
    return tuple(turns)


def list_files(transaction: Transaction, conversation_id: int) -> tuple[tuple[ListedFile, ...], tuple[ListedFile, ...]]:
    """Return the inline and the overflow files of a conversation, each by path."""
    parts: dict[Placement, list[ListedFile]] = defaultdict(list)
    files = list(_load_files(transaction, conversation_id))
    overflowed = min((turn for known, turn in files if known.placement is Placement.OVERFLOW), default=0)
    for known, turn in files:
        why = _why(turn, overflowed) if known.placement is Placement.OVERFLOW else None
        parts[known.placement].append(ListedFile(known.path, known.tokens, known.digest is None, why))
    return tuple(parts[Placement.INLINE]), tuple(parts[Placement.OVERFLOW])


def _why(turn: int, overflowed: int) -> str:
    """Say why a file that came in a turn is not inline, given the turn in which files overflowed first."""
    if turn == 1:
        return "did not fit beside the files that go first"
    if turn == overflowed:
        return f"new in turn {turn}, when it did not fit any more"
    return f"new in turn {turn}, after others had overflowed in turn {overflowed}"
