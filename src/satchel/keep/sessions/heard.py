"""Sentences of a session's person that its prompt hook took for lasting rules: redacted, and kept for an hour."""

from __future__ import annotations

import json
from collections.abc import Sequence

from satchel.keep.sessions.updates import HEARD_MS
from satchel.store.transaction import Transaction

_MOST, _LEAST_WORDS = 20, 2

_LEAST_SHARED = 70
"""The percentage of a rule's telling words that a sentence must have."""


def remember(transaction: Transaction, session: int, sentences: Sequence[str], now: int) -> None:
    """Record sentences that the prompt hook saw."""
    from satchel.redaction import redact

    new = [(now, redact(one).text) for one in sentences]
    texts = {text for _, text in new}
    before = [one for one in _sentences(transaction, session, now) if one[1] not in texts]
    transaction.run(
        "UPDATE sessions SET heard = :heard, heard_at = :now WHERE id = :id",
        {"heard": json.dumps([*before, *new][-_MOST:], ensure_ascii=False), "now": now, "id": session},
    )


def has(transaction: Transaction, session: int | None, text: str, now: int) -> bool:
    """Return whether the person of a session said in the last hour what a rule says."""
    from satchel.find.likeness import words_of
    from satchel.find.near import are_distinct

    words = frozenset(words_of(text))
    return (
        len(words) >= _LEAST_WORDS
        and session is not None
        and any(
            100 * len(words & frozenset(words_of(sentence))) >= _LEAST_SHARED * len(words)
            and not are_distinct(text, sentence)
            for _, sentence in _sentences(transaction, session, now)
        )
    )


def _sentences(transaction: Transaction, session: int, now: int) -> list[tuple[int, str]]:
    row = transaction.one("SELECT heard FROM sessions WHERE id = :id", {"id": session})
    stored = json.loads(row[0]) if row is not None and row[0] else []
    return [(moment, sentence) for moment, sentence in stored if moment > now - HEARD_MS]
