"""Tables of conversations: turns, files and stored contents, and the checks of these by `satchel doctor`.

Diffs and threads are made from stored contents. A missing content only costs tokens: its file is sent whole.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from satchel.base.errors import SatchelError, StoreDamaged
from satchel.consult.records import (
    ConversationState,
    Exchange,
    FileState,
    Media,
    Overflow,
    PastTurn,
    Turn,
    TurnResult,
    digest_of,
    put_back,
)
from satchel.keep.expiry import PARTS, remove_contents
from satchel.redaction import finds_secret
from satchel.store.transaction import Row, Transaction, grouped, insert_rows, put_rows
from satchel.store.upkeep import Check

if TYPE_CHECKING:
    from satchel.keep.housekeeping.checks import Examination
    from satchel.store.engine import Engine

_MOST_LIST_BYTES = 64 << 20

_FILES = """
    SELECT size, mtime_ns, digest, tokens, first_turn, overflow
    FROM conversation_file_states WHERE conversation_id = :conversation ORDER BY n
"""
_THREAD = """
    SELECT t.id, t.n, t.prompt, t.answer
    FROM conversations c JOIN conversation_turns t ON t.conversation_id = c.id AND t.n >= c.thread_start
    WHERE c.id = :conversation ORDER BY t.n
"""
_THREAD_PARTS = """
    SELECT p.turn_id, p.first_blob, p.last_blob
    FROM conversation_turns t JOIN conversation_parts p ON p.turn_id = t.id
    WHERE t.conversation_id = :conversation ORDER BY p.turn_id, p.n
"""
_THREAD_CONTENTS = f"SELECT DISTINCT b.id, b.digest, b.bytes FROM {PARTS} WHERE c.id = :conversation"

_OWN_CONTENTS = f"""
    SELECT b.digest, b.size, 0 AS is_of_thread
    FROM conversations c JOIN conversation_file_states f ON f.conversation_id = c.id
    JOIN blobs b ON b.project_id = c.project_id AND b.digest = f.digest
    WHERE c.id = :conversation
    UNION
    SELECT b.digest, b.size, 1 FROM {PARTS} WHERE c.id = :conversation
"""


def load_state(transaction: Transaction, conversation_id: int) -> ConversationState:
    """Load the state of a conversation after its last successful turn."""
    row = transaction.one(
        "SELECT turns, held_tokens, has_overflowed, provider_ref FROM conversations WHERE id = :id",
        {"id": conversation_id},
    )
    assert row is not None
    turns, held_tokens, overflowed, provider_ref = row
    files = load_files(transaction, conversation_id)
    return ConversationState(turns, files, held_tokens, bool(overflowed), provider_ref)


def load_files(transaction: Transaction, conversation_id: int) -> dict[str, FileState]:
    """Return every file of a conversation, in any order, by path."""
    paths = _load_paths(transaction, conversation_id)
    rows = transaction.all(_FILES, {"conversation": conversation_id})
    try:
        files = [FileState(path, *row) for path, row in zip(paths, rows, strict=True)]
        return {file.path: file if file.why is None else file._replace(why=Overflow(file.why)) for file in files}
    except ValueError:  # another number of rows, or an unknown reason
        raise _unreadable("the list of files") from None


def _load_paths(transaction: Transaction, conversation_id: int) -> list[str]:
    lists = transaction.all(
        "SELECT paths FROM conversation_paths WHERE conversation_id = :conversation ORDER BY first",
        {"conversation": conversation_id},
    )
    try:
        # a list that the migration wrote is not compressed
        texts = [packed if packed.startswith(b"[") else _unpacked(packed) for (packed,) in lists]
        paths = [path for text in texts for path in json.loads(text)]
        if all(isinstance(path, str) for path in paths):
            return paths
    except (zlib.error, ValueError, TypeError, AttributeError, RecursionError):
        pass  # a copied store may hold anything
    raise _unreadable("the list of files")


def _unpacked(packed: bytes) -> bytes:
    inflating = zlib.decompressobj()
    data = inflating.decompress(packed, _MOST_LIST_BYTES)
    if not inflating.eof:
        raise ValueError
    return data


def _unreadable(what: str) -> StoreDamaged:
    return StoreDamaged(
        f"{what} of a conversation cannot be read", "Reset the conversation; `satchel doctor` examines the rest"
    )


def changed_files(before: Mapping[str, FileState], after: Mapping[str, FileState]) -> list[FileState]:
    """Return the files of a conversation that a turn changed, by path."""
    changed = sorted((file for path, file in after.items() if before.get(path) != file), key=lambda one: one.path)
    for file in changed:
        old = before.get(file.path, file)
        if (old.why is None) != (file.why is None) or file.path != old.path:
            raise SatchelError(
                f"{file.path} would move between the prompt and what is searched",
                "Nothing was recorded; this is a fault in Satchel, please report it",
            )
    return changed


def write_files(transaction: Transaction, conversation_id: int, changed: Sequence[FileState]) -> None:
    """Write what :func:`changed_files` returned."""
    numbers = {path: n for n, path in enumerate(_load_paths(transaction, conversation_id))}
    new = [file.path for file in changed if file.path not in numbers]
    if new:
        paths = {"conversation_id": conversation_id, "first": len(numbers), "paths": compress(json.dumps(new))}
        insert_rows(transaction, "conversation_paths", [paths])
        numbers |= {path: n for n, path in enumerate(new, len(numbers))}
    rows = [
        {
            "conversation_id": conversation_id,
            "n": numbers[file.path],
            **{column: value for column, value in file._asdict().items() if column not in {"path", "why"}},
            "overflow": file.why and file.why.value,
        }
        for file in changed
    ]
    put_rows(transaction, "conversation_file_states", ("conversation_id", "n"), rows)


def write_turn(
    transaction: Transaction,
    conversation_id: int,
    turn: PastTurn,
    words: bytes,
    parts: Sequence[int],
    result: TurnResult,
    now: int,
) -> None:
    """Write an answered turn; its prompt is stored as words and ids of stored contents."""
    turn_id = transaction.add(
        "conversation_turns",
        {
            "conversation_id": conversation_id,
            "n": turn.n,
            "question": turn.question,
            "prompt": words,
            "answer": turn.answer,
            "provider_ref": result.provider_ref,
            "sent_tokens": result.plan.tokens,
            "resent_tokens": result.plan.resent_tokens,
            "answer_tokens": result.answer_tokens,
            "created_at": now,
        },
    )
    runs: list[tuple[int, int]] = []
    for part in parts:
        if runs and part == runs[-1][1] + 1:
            runs[-1] = runs[-1][0], part
        else:
            runs.append((part, part))
    rows = [{"turn_id": turn_id, "n": n, "first_blob": run[0], "last_blob": run[1]} for n, run in enumerate(runs)]
    insert_rows(transaction, "conversation_parts", rows)


def load_past(transaction: Transaction, conversation_id: int) -> tuple[PastTurn, ...]:
    """Return the questions and answers of a conversation, in their order."""
    rows = transaction.all(
        "SELECT n, question, answer FROM conversation_turns WHERE conversation_id = :conversation ORDER BY n",
        {"conversation": conversation_id},
    )
    return tuple(PastTurn(*row) for row in rows)


def load_thread(transaction: Transaction, conversation_id: int) -> tuple[Exchange, ...]:
    """Return the questions and answers of the current thread, in order."""
    from satchel.consult.reading import type_of  # the checks of `satchel doctor` need no files

    of_thread = {"conversation": conversation_id}
    rows = [(number, unpack_content(*rest)) for number, *rest in transaction.all(_THREAD_CONTENTS, of_thread)]
    contents = {number: content for number, content in rows if content is not None}
    runs = grouped((turn, range(first, last + 1)) for turn, first, last in transaction.all(_THREAD_PARTS, of_thread))
    turns = []
    for turn_id, n, compressed, answer in transaction.all(_THREAD, of_thread):
        words = unpack_words(compressed)
        if words is None:
            raise _unreadable(f"turn {n}")
        own = runs.get(turn_id, ())
        is_too_long = any(run.stop - run.start > len(contents) for run in own)  # possible in a copied store
        parts = [None] if is_too_long else [contents.get(number) for run in own for number in run]
        whole, cut = [part for part in parts if part is not None], words.count("\0")
        if len(whole) < max(len(parts), cut):
            from satchel.consult.models import ThreadLost

            raise ThreadLost("files of the thread are not stored any more", reason="thread_lost")
        texts = [part.decode("utf-8", "surrogatepass") for part in whole[:cut]]
        media = tuple(Media("", type_of(part), part) for part in whole[cut:])
        turns.append(Exchange(put_back(words, texts), answer, media))
    return tuple(turns)


def load_turns(transaction: Transaction, conversation_id: int, first: int, last: int) -> tuple[Turn, ...]:
    """Return some turns of a conversation, in their order."""
    rows = transaction.all(
        """
        SELECT n, answer, sent_tokens, resent_tokens, answer_tokens, created_at, question
        FROM conversation_turns WHERE conversation_id = :conversation AND n BETWEEN :first AND :last ORDER BY n
        """,
        {"conversation": conversation_id, "first": first, "last": last},
    )
    return tuple(Turn(*row) for row in rows)


_ZLIB_LEVEL = 6
_TOUCH_MS = 3_600_000
# Share of the limit to which contents are trimmed.
_FILLED = 0.9

# Share of the limit that the contents of one conversation may take, so that others keep theirs.
SHARE = 0.5


def pack_contents(contents: Mapping[bytes, str | bytes]) -> dict[bytes, bytes]:
    """Compress contents, outside any transaction. Texts with secrets are left out, so that none is stored."""
    return {
        digest: compress(content)
        for digest, content in contents.items()
        if isinstance(content, bytes) or finds_secret(content) is None
    }


def unpack_content(digest: bytes, compressed: bytes) -> bytes | None:
    """Return a stored content, or None if it is damaged or does not match its digest."""
    try:
        content = zlib.decompress(compressed)
    except zlib.error:
        return None
    return content if digest_of(content) == digest else None


def compress(content: str | bytes) -> bytes:
    """Compress a content for the store; lone surrogates survive."""
    data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    return zlib.compress(data, _ZLIB_LEVEL)


def unpack_words(compressed: bytes) -> str | None:
    """Return a stored prompt with zero bytes in place of its parts; None if it is damaged."""
    try:
        return zlib.decompress(compressed).decode("utf-8", "surrogatepass")
    except (zlib.error, UnicodeDecodeError):
        return None


def choose_contents(
    transaction: Transaction,
    conversation_id: int,
    contents: Mapping[bytes, bytes],
    files: Mapping[str, FileState],
    most: int,
    *,
    starts_over: bool,
) -> dict[bytes, bytes]:
    """Select contents, the smallest first, so that the conversation's contents stay within ``most`` bytes."""
    needed = {file.digest for file in files.values()}
    own = {
        digest: size
        for digest, size, is_of_thread in transaction.all(_OWN_CONTENTS, {"conversation": conversation_id})
        if digest in needed or (is_of_thread and not starts_over)
    }
    free_bytes = most - sum(own.values())
    selection: set[bytes] = set()
    for digest, compressed in sorted(contents.items(), key=lambda one: len(one[1])):
        free_bytes -= 0 if digest in own else len(compressed)
        if digest in own or free_bytes >= 0:
            selection.add(digest)
    # in the given order, since prompts name runs of consecutive ids
    return {digest: compressed for digest, compressed in contents.items() if digest in selection}


def store_contents(
    transaction: Transaction, project_id: int, contents: Mapping[bytes, bytes], now: int
) -> dict[bytes, int]:
    """Store contents, and return their ids.

    A content that exists already counts as used, and is rewritten in case it was damaged.
    """
    rows = [
        {"project_id": project_id, "digest": digest, "last_used": now, "size": len(compressed), "bytes": compressed}
        for digest, compressed in contents.items()
    ]
    put_rows(transaction, "blobs", ("project_id", "digest"), rows)
    values = {"project": project_id, "now": now}
    return dict(
        transaction.all("SELECT digest, id FROM blobs WHERE project_id = :project AND last_used = :now", values)
    )


def touch_contents(transaction: Transaction, project_id: int, conversation_id: int, now: int) -> None:
    """Mark the contents of a conversation as used, by the hour, so that most turns write nothing."""
    transaction.run(
        f"""
        UPDATE blobs SET last_used = :now
        WHERE project_id = :project AND last_used < :before
            AND digest IN (SELECT digest FROM ({_OWN_CONTENTS}) AS own)
        """,
        {"project": project_id, "conversation": conversation_id, "now": now, "before": now - _TOUCH_MS},
    )


def load_content(transaction: Transaction, project_id: int, digest: bytes) -> bytes | None:
    """Return the content of a digest; None if it is missing or damaged."""
    row = transaction.one(
        "SELECT bytes FROM blobs WHERE project_id = :project AND digest = :digest",
        {"project": project_id, "digest": digest},
    )
    return None if row is None else unpack_content(digest, row[0])


def trim_contents(transaction: Transaction, project_id: int, max_bytes: int) -> None:
    """Trim a project's contents to a limit: first those that no conversation needs, then the least recently used."""
    row = transaction.one("SELECT sum(size) FROM blobs WHERE project_id = :project", {"project": project_id})
    if row is None or (row[0] or 0) <= max_bytes:
        return
    remove_contents(transaction, project_id)
    transaction.run(
        """
        DELETE FROM blobs WHERE id IN (
            SELECT id FROM (
                SELECT id, sum(size) OVER (ORDER BY last_used DESC, id DESC) AS kept
                FROM blobs WHERE project_id = :project
            ) AS newest
            WHERE kept > :most
        )
        """,
        {"project": project_id, "most": int(max_bytes * _FILLED)},
    )


# Texts read at a time: one may take megabytes.
_PER_STEP = 50

_TURNS = """
    SELECT t.id, t.prompt, t.n, c.session_id, c.assistant
    FROM conversation_turns t JOIN conversations c ON c.id = t.conversation_id
    WHERE t.id > :after ORDER BY t.id LIMIT :most
"""
_ALL_CONTENTS = "SELECT id, bytes, digest FROM blobs WHERE id > :after ORDER BY id LIMIT :most"
_MISSING = """
    SELECT c.session_id, c.assistant, c.turns, count(t.id)
    FROM conversations c LEFT JOIN conversation_turns t ON t.conversation_id = c.id AND t.n <= c.turns
    GROUP BY c.id, c.session_id, c.assistant, c.turns HAVING count(t.id) <> c.turns ORDER BY c.id
"""
# a store whose deletion failed counts as left over even while its next attempt is due later
_ALL_STORES = """
    SELECT provider, count(*), count(*) FILTER (WHERE expires_at <= :now OR attempts > 0)
    FROM vector_stores GROUP BY provider ORDER BY provider
"""


def _check_turns(engine: Engine) -> Check:
    with engine.read() as transaction:
        total, unread = 0, []
        for _, compressed, n, session, assistant in _in_steps(transaction, _TURNS):
            total += 1
            if unpack_words(compressed) is None:
                unread.append(f"turn {n} of {session!r} with {assistant} cannot be read")
        for number, session, assistant in transaction.all("SELECT id, session_id, assistant FROM conversations"):
            try:
                load_files(transaction, number)
            except StoreDamaged:
                unread.append(f"the list of files of {session!r} with {assistant} cannot be read")
        missing = [
            f"{session!r} with {assistant} has {there} of its {turns} turns"
            for session, assistant, turns, there in transaction.all(_MISSING)
        ]
    problems = [*unread, *missing]
    if problems:
        return Check(
            "conversations",
            "failed",
            f"{problems[0]} ({len(problems)} in all); `satchel consult --reset` forgets such a conversation, "
            "`satchel restore` goes back to a backup",
        )
    return Check("conversations", "ok", f"every turn can be read, {total} in all")


def _check_contents(engine: Engine) -> Check:
    with engine.read() as transaction:
        whole = [
            unpack_content(digest, compressed) is not None
            for _, compressed, digest in _in_steps(transaction, _ALL_CONTENTS)
        ]
    damaged = whole.count(False)
    if damaged:
        return Check(
            "contents",
            "warning",
            f"{damaged} of {len(whole)} are damaged: they count as missing, so their files go whole where a diff would "
            "have done, which replaces them",
        )
    return Check("contents", "ok", f"every one is what was sent, {len(whole)} in all")


def _check_vector_stores(engine: Engine) -> Check:
    with engine.read() as transaction:
        rows = transaction.all(_ALL_STORES, {"now": engine.clock()})
    total, to_delete = sum(row[1] for row in rows), sum(row[2] for row in rows)
    if to_delete:
        accounts = ", ".join(account for account, _, several in rows if several)
        return Check(
            "vector stores",
            "warning",
            f"{to_delete} of {total} were left by calls that broke off; the next question with the same key deletes "
            f"them ({accounts})",
        )
    return Check("vector stores", "ok", f"{total} recorded, perhaps still in use" if total else "none are recorded")


def _in_steps(transaction: Transaction, sql: str) -> Iterator[Row]:
    after = 0
    while rows := transaction.all(sql, {"after": after, "most": _PER_STEP}):
        yield from rows
        after = rows[-1][0]


# The checks of `satchel doctor`, in their order.
EXAMINATIONS: tuple[Examination, ...] = (
    ("conversations", _check_turns),
    ("contents", _check_contents),
    ("vector stores", _check_vector_stores),
)
