"""The tables of conversations: rows read and written, without any rule of who may."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from satchel.base.errors import SatchelError, StoreDamaged
from satchel.consult import blobs
from satchel.consult.conversation_records import Turn, TurnResult
from satchel.consult.records import ConversationState, KnownFile, Overflow, PastTurn, known_file
from satchel.store.transaction import Transaction

_FROM_FILES = """
    FROM conversation_folders d JOIN conversation_files f ON f.folder_id = d.id
    WHERE d.conversation_id = :conversation
"""
_FILES = f"""
    SELECT d.path || f.name, f.size, f.mtime_ns, f.digest, f.tokens, f.first_turn, f.overflow {_FROM_FILES}
"""


def load_state(transaction: Transaction, conversation_id: int) -> ConversationState:
    """Return what a conversation holds after its last successful turn."""
    row = transaction.one(
        "SELECT turns, held_tokens, has_overflowed, provider_ref FROM conversations WHERE id = :id",
        {"id": conversation_id},
    )
    assert row is not None
    turns, held, overflowed, provider_ref = row
    files = load_files(transaction, conversation_id)
    return ConversationState(turns, files, held, bool(overflowed), provider_ref)


def load_files(transaction: Transaction, conversation_id: int) -> dict[str, KnownFile]:
    """Return every file of a conversation, in any order, by path."""
    files: dict[str, KnownFile] = {}
    for known in map(known_file, transaction.all(_FILES, {"conversation": conversation_id})):
        files[known.path] = known if known.why is None else known._replace(why=Overflow(known.why))
    return files


def count_files(transaction: Transaction, conversation_id: int) -> int:
    """Return how many files :func:`load_files` would."""
    row = transaction.one(f"SELECT count(*) {_FROM_FILES}", {"conversation": conversation_id})
    assert row is not None
    return int(row[0])


def changed_files(before: Mapping[str, KnownFile], after: Mapping[str, KnownFile]) -> list[KnownFile]:
    """Return what a turn changed of the files of a conversation, by path; a file that is not named stays as it was.

    Raises:
        SatchelError: a file would move, which never happens.
    """
    changed = sorted((known for path, known in after.items() if before.get(path) != known), key=lambda one: one.path)
    for known in changed:
        old = before.get(known.path, known)
        if old.placement is not known.placement or known.path != old.path:
            raise SatchelError(
                f"{known.path} would move from {old.placement.name.lower()} to {known.placement.name.lower()}",
                "Nothing was recorded; this is a fault in Satchel, please report it",
            )
    return changed


def write_files(transaction: Transaction, conversation_id: int, changed: Sequence[KnownFile]) -> None:
    """Write what :func:`changed_files` returned."""
    folders = _ensure_folders(transaction, conversation_id, (_split(known.path)[0] for known in changed))
    transaction.many(
        """
        INSERT INTO conversation_files (folder_id, name, size, mtime_ns, digest, tokens, first_turn, overflow)
        VALUES (:folder, :name, :size, :mtime_ns, :digest, :tokens, :first_turn, :overflow)
        ON CONFLICT (folder_id, name) DO UPDATE
        SET size = excluded.size, mtime_ns = excluded.mtime_ns, digest = excluded.digest, tokens = excluded.tokens
        """,
        [
            {
                "folder": folders[_split(known.path)[0]],
                "name": _split(known.path)[1],
                "size": known.size,
                "mtime_ns": known.mtime_ns,
                "digest": known.digest,
                "tokens": known.tokens,
                "first_turn": known.first_turn,
                "overflow": None if known.why is None else known.why.value,
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
        numbers[folder] = transaction.add("conversation_folders", {"conversation_id": conversation_id, "path": folder})
    return numbers


def write_turn(
    transaction: Transaction, conversation_id: int, said: PastTurn, prompt: bytes, result: TurnResult, now: int
) -> None:
    """Write a turn that was answered.

    Args:
        said: question and answer, as they may be stored.
        prompt: compressed, as it may be stored.
        now: in milliseconds UTC.
    """
    transaction.add(
        "conversation_turns",
        {
            "conversation_id": conversation_id,
            "n": said.n,
            "question": said.question,
            "prompt": prompt,
            "answer": said.answer,
            "provider_ref": result.provider_ref,
            "sent_tokens": result.plan.tokens,
            "resent_tokens": result.plan.resent_tokens,
            "answer_tokens": result.answer_tokens,
            "created_at": now,
        },
    )


def load_past(transaction: Transaction, conversation_id: int) -> tuple[PastTurn, ...]:
    """Return what was asked and answered in the turns of a conversation, in their order."""
    rows = transaction.all(
        "SELECT n, question, answer FROM conversation_turns WHERE conversation_id = :conversation ORDER BY n",
        {"conversation": conversation_id},
    )
    return tuple(PastTurn(*row) for row in rows)


_MOST_TURNS = 2**31


def load_turns(transaction: Transaction, conversation_id: int, first: int, last: int | None = None) -> tuple[Turn, ...]:
    """Return the turns of a conversation from one on, in their order.

    Args:
        last: the last of them; None goes on to the end.

    Raises:
        StoreDamaged: the text of one cannot be read.
    """
    rows = transaction.all(
        """
        SELECT n, prompt, answer, provider_ref, sent_tokens, resent_tokens, answer_tokens, created_at, question
        FROM conversation_turns WHERE conversation_id = :conversation AND n BETWEEN :first AND :last ORDER BY n
        """,
        {"conversation": conversation_id, "first": first, "last": _MOST_TURNS if last is None else last},
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
