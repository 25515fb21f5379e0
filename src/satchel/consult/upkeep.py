"""What the doctor examines of consultations: whether turns and contents can be read, and what is left at providers."""

from __future__ import annotations

from collections.abc import Iterator

from satchel.consult import blobs
from satchel.keep.housekeeping.checks import Check, Examination
from satchel.store.engine import Engine
from satchel.store.transaction import Row, Transaction

_PER_STEP = 50
"""How many texts are read at a time: one may take megabytes."""


def check_turns(engine: Engine) -> Check:
    """Read every turn of every conversation, and compare the turns with the count of their conversation."""
    with engine.read() as transaction:
        total, unread = 0, []
        for _, compressed, n, session, assistant in _in_steps(transaction, _TURNS):
            total += 1
            if blobs.decompress(compressed) is None:
                unread.append(f"turn {n} of {session!r} with {assistant} cannot be read")
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


def check_contents(engine: Engine) -> Check:
    """Compare every content that is kept for diffs with its digest."""
    with engine.read() as transaction:
        whole = [
            blobs.unpack(blobs.Packed(digest, compressed)) is not None
            for _, compressed, digest in _in_steps(transaction, _CONTENTS)
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


def check_vector_stores(engine: Engine) -> Check:
    """Count the vector stores at providers that are recorded, and those that no call uses any more."""
    with engine.read() as transaction:
        rows = transaction.all(_STORES, {"now": engine.clock()})
    total, left = sum(row[1] for row in rows), sum(row[2] for row in rows)
    if left:
        accounts = ", ".join(account for account, _, several in rows if several)
        return Check(
            "vector stores",
            "warning",
            f"{left} of {total} were left by calls that broke off; the next question with the same key deletes them "
            f"({accounts})",
        )
    return Check("vector stores", "ok", f"{total} recorded, perhaps still in use" if total else "none are recorded")


EXAMINATIONS: tuple[Examination, ...] = (
    ("conversations", check_turns),
    ("contents", check_contents),
    ("vector stores", check_vector_stores),
)
"""Every check of this module, in their order."""

_TURNS = """
    SELECT t.id, t.prompt, t.n, c.session_id, c.assistant
    FROM conversation_turns t JOIN conversations c ON c.id = t.conversation_id
    WHERE t.id > :after ORDER BY t.id LIMIT :most
"""
_CONTENTS = "SELECT id, bytes, digest FROM blobs WHERE id > :after ORDER BY id LIMIT :most"
_MISSING = """
    SELECT c.session_id, c.assistant, c.turns, count(t.id)
    FROM conversations c LEFT JOIN conversation_turns t ON t.conversation_id = c.id AND t.n <= c.turns
    GROUP BY c.id, c.session_id, c.assistant, c.turns HAVING count(t.id) <> c.turns ORDER BY c.id
"""
# one that was tried to delete has time until the next try, and is left over all the same
_STORES = """
    SELECT provider, count(*), count(*) FILTER (WHERE expires_at <= :now OR attempts > 0)
    FROM vector_stores GROUP BY provider ORDER BY provider
"""


def _in_steps(transaction: Transaction, sql: str) -> Iterator[Row]:
    """Yield rows whose first column is their number, a few at a time."""
    after = 0
    while rows := transaction.all(sql, {"after": after, "most": _PER_STEP}):
        yield from rows
        after = rows[-1][0]
