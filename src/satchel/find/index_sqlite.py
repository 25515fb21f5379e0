"""The full-text index on SQLite: FTS5, contentless, with the scope as a column of its own.

The built-in bm25() reads every term's whole posting list, those of the scope too. A function of our own, registered
when a connection first searches, reports for each matched row only its length and how often each term occurs; the
scoring is done in Python (:mod:`satchel.find.scoring`). Nothing of ours is in the schema.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import apsw

from satchel.base.records import dataclass
from satchel.find.scoring import Matched
from satchel.find.words import parts_text
from satchel.store.transaction import Transaction

if TYPE_CHECKING:
    from satchel.store.sqlite_transaction import SqliteTransaction

_INSERT = "INSERT OR REPLACE INTO documents_fts (rowid, text, parts, scope) VALUES (:id, :text, :parts, :scope)"

_SAMPLE_WORDS = 24
_MAX_WORD_BYTES = 32_768
"""FTS5 cuts words there, in the middle of a character if need be (FTS5_MAX_TOKEN_SIZE in fts5Int.h)."""

_READY: weakref.WeakSet[apsw.Connection] = weakref.WeakSet()
_TOKENIZERS: weakref.WeakKeyDictionary[apsw.Connection, apsw.FTS5Tokenizer] = weakref.WeakKeyDictionary()


def _connection(transaction: Transaction) -> apsw.Connection:
    return cast("SqliteTransaction", transaction).connection


@lru_cache(maxsize=256)
def scope_tokens(project: int | None, run: int | None, kind: int | None, item_type: int | None = None) -> str:
    """Return the tokens that tell where a text belongs, as in ``p3 r57 k1 k1t2``; None leaves one out."""
    tokens = [f"{letter}{number}" for letter, number in (("p", project), ("r", run), ("k", kind)) if number is not None]
    if kind is not None and item_type is not None:
        tokens.append(f"k{kind}t{item_type}")
    return " ".join(tokens)


@dataclass(frozen=True, slots=True)
class Match:
    """What to give to MATCH, and how many of its phrases only choose and are not counted.

    Attributes:
        choosing_phrases: the first so many.
        condition: another expression that a match must meet, whose phrases are not counted; None is none.
    """

    expression: str
    choosing_phrases: int
    condition: str | None = None


def match(
    words: str, scope: Sequence[Sequence[str]], choosing: Sequence[str] = (), condition: str | None = None
) -> Match:
    """Combine an expression of words with the scope.

    Args:
        words: terms, joined by OR; how often each occurs is reported. FTS5 3.54.1 loses the counts of some rows where a
            phrase stands beside NOT, so what excludes goes into the condition.
        scope: groups of scope tokens; one of each group must be there.
        choosing: terms of which one must be there too; few and rare ones spare the work on common ones.
        condition: terms joined by any operators, which a match must meet too.
    """
    parts = [f"scope : ({' OR '.join(group)})" for group in scope]
    if choosing:
        parts.append(f"{{text parts}} : ({' OR '.join(choosing)})")
    expression = " AND ".join([*parts, f"{{text parts}} : ({words})"])
    chosen = None if condition is None else " AND ".join([*parts, f"{{text parts}} : ({condition})"])
    return Match(expression, sum(map(len, scope)) + len(choosing), chosen)


def insert(transaction: Transaction, document: int, text: str, scope: str) -> None:
    """Index one text. REPLACE is a belt: a plain INSERT on a living id would merge two texts without a word."""
    transaction.execute(_INSERT, {"id": document, "text": text, "parts": parts_text(text), "scope": scope})


def delete(transaction: Transaction, document: int) -> None:
    """Take one text out of the index."""
    transaction.execute("DELETE FROM documents_fts WHERE rowid = :id", {"id": document})


def matches(
    transaction: Transaction,
    wanted: Match,
    condition: str,
    values: dict[str, object],
    limit: int,
    *,
    newest: bool,
) -> list[Matched]:
    """Return documents that match, with their length and the counts of each term, the newest first.

    Args:
        wanted: the terms and the scope.
        condition: SQL over ``documents d`` that a match must meet too, or empty.
        values: its parameters.
        limit: how many at most.
        newest: which of more than that: the newest, else the oldest. Reading forwards is 4 to 5 times as fast.
    """
    connection = _connection(transaction)
    if connection not in _READY:
        connection.register_fts5_function("satchel_counts", _counts)
        _READY.add(connection)
    source = "documents_fts JOIN documents d ON d.id = documents_fts.rowid" if condition else "documents_fts"
    filters = f" AND {condition}" if condition else ""
    order = "DESC" if newest else "ASC"
    if wanted.condition is not None:
        # what meets the condition holds a term of its own, so that without filters the first of either are the same
        first = "" if condition else f" ORDER BY rowid {order} LIMIT :most"
        # the plus keeps the planner from asking the index once for every row
        filters += f" AND +documents_fts.rowid IN (SELECT rowid FROM documents_fts (:condition){first})"
    rows: list[Matched] = transaction.all(
        f"SELECT documents_fts.rowid, satchel_counts(documents_fts, :skip) FROM {source} "
        f"WHERE documents_fts MATCH :match{filters} ORDER BY documents_fts.rowid {order} LIMIT :most",
        {
            **values,
            "match": wanted.expression,
            "skip": wanted.choosing_phrases,
            "condition": wanted.condition,
            "most": limit,
        },
    )
    if not newest:
        rows.reverse()
    return rows


def rows(transaction: Transaction, wanted: Match, condition: str, limit: int) -> list[int]:
    """Return the numbers of documents that match, the newest first.

    Args:
        condition: SQL over ``documents d`` that a match must meet too, or empty.
        limit: how many at most.
    """
    source = "documents_fts JOIN documents d ON d.id = documents_fts.rowid" if condition else "documents_fts"
    found = transaction.all(
        f"SELECT documents_fts.rowid FROM {source} WHERE documents_fts MATCH :match"
        f"{f' AND {condition}' if condition else ''} ORDER BY documents_fts.rowid DESC LIMIT :most",
        {"match": wanted.expression, "most": limit},
    )
    return [row[0] for row in found]


def count(transaction: Transaction, wanted: Match, limit: int) -> int:
    """Return how many documents match, counting no further than the limit."""
    row = transaction.one(
        "SELECT count(*) FROM (SELECT 1 FROM documents_fts WHERE documents_fts MATCH :match LIMIT :most) AS found",
        {"match": wanted.expression, "most": limit},
    )
    return int(row[0]) if row else 0


def _counts(api: apsw.FTS5ExtensionApi, *arguments: Any) -> bytes:
    """Report a row: its length as two bytes, then for each phrase that is counted how often it is in text and parts.

    Args:
        arguments: how many of the first phrases are not counted.
    """
    length = min(api.column_size(0), 65_535)
    found = [length >> 8, length & 255]
    locations = api.phrase_locations
    for phrase in range(arguments[0], api.phrase_count):
        text, parts, _ = locations(phrase)
        found += (len(text), len(parts))
    try:
        return bytes(found)
    except ValueError:
        return bytes(min(number, 255) for number in found)


def tokens(transaction: Transaction, text: str) -> list[tuple[int, int, str]]:
    """Return the words of a text as the index keeps them, stemmed, each with its first and last byte in UTF-8."""
    connection = _connection(transaction)
    tokenizer = _TOKENIZERS.get(connection)
    if tokenizer is None:
        tokenizer = connection.fts5_tokenizer("porter", ["unicode61", "remove_diacritics", "2"])
        _TOKENIZERS[connection] = tokenizer
    found: Any = tokenizer(text.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_colocated=False)
    return [(start, end, word) for start, end, word in found]


def holds(transaction: Transaction, document: int, text: str) -> bool:
    """Whether the index holds a text under a document: asked for the first words of the text."""
    raw = text.encode()
    # a word is what the index takes for one, or an unknown script would never be found
    words = {stem: raw[start:end].decode() for start, end, stem in tokens(transaction, text)}
    if not words:
        return True
    expression = match(" AND ".join(f'"{word}"' for word in list(words.values())[:_SAMPLE_WORDS]), ()).expression
    row = transaction.one(
        "SELECT 1 FROM documents_fts WHERE documents_fts MATCH :match AND rowid = :id",
        {"match": expression, "id": document},
    )
    return row is not None


def fingerprints(transaction: Transaction) -> dict[int, int]:
    """Return for every document a number that stands for all of its words in the index, with their places."""
    connection = _connection(transaction)
    is_reader = connection.pragma("query_only")
    connection.pragma("query_only", False)  # the look into the index is a table for this connection alone
    try:
        connection.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.documents_words USING fts5vocab(main, documents_fts, instance)"
        )
    finally:
        connection.pragma("query_only", is_reader)
    found: dict[int, int] = {}
    for word, document, column, place in connection.execute(
        'SELECT CAST(term AS BLOB), doc, col, "offset" FROM documents_words'
    ):
        found[document] = found.get(document, 0) + hash((word, column, place))
    return found


def fingerprint(transaction: Transaction, text: str, scope: str) -> int:
    """Return the number that :func:`fingerprints` gives for a text that is indexed as it should be."""
    return sum(
        hash((word.encode()[:_MAX_WORD_BYTES], column, place))
        for column, content in (("text", text), ("parts", parts_text(text)), ("scope", scope))
        for place, (_, _, word) in enumerate(tokens(transaction, content))
    )


def empty(transaction: Transaction) -> None:
    """Take every text out of the index, as before it is rebuilt."""
    transaction.execute("INSERT INTO documents_fts (documents_fts) VALUES ('delete-all')")


def optimize(transaction: Transaction) -> None:
    """Merge the whole index into one segment, so that nothing of a deleted text is left in it."""
    transaction.execute("INSERT INTO documents_fts (documents_fts) VALUES ('optimize')")


def unknown(transaction: Transaction) -> list[int]:
    """Return what is indexed but not in the documents."""
    return [row[0] for row in transaction.all("SELECT id FROM documents_fts_docsize EXCEPT SELECT id FROM documents")]


def is_sound(transaction: Transaction) -> bool:
    """Whether the index passes its own check of its structure."""
    try:
        transaction.execute("INSERT INTO documents_fts (documents_fts, rank) VALUES ('integrity-check', 0)")
    except apsw.CorruptError:
        return False
    return True


def is_about_index(problem: str) -> bool:
    """Whether a finding of SQLite's integrity check is about the index alone."""
    return "fts5" in problem and "documents_fts" in problem


def problems(transaction: Transaction) -> list[str]:
    """Return where the index and the documents disagree; nothing when all is well.

    The index's own structure is part of SQLite's integrity check.
    """
    missing = [
        row[0] for row in transaction.all("SELECT id FROM documents EXCEPT SELECT id FROM documents_fts_docsize")
    ]
    return [
        f"{len(ids)} documents are {text}, the first is {ids[0]}"
        for ids, text in ((missing, "not indexed"), (unknown(transaction), "indexed without an item"))
        if ids
    ]
