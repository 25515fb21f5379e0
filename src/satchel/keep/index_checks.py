"""Consistency of the search index, its documents and the items."""

from __future__ import annotations

from satchel.find import documents
from satchel.find.documents import Document
from satchel.find.index import index_of
from satchel.find.kind import Kind
from satchel.keep import kept
from satchel.keep.kinds import KINDS
from satchel.store.transaction import Transaction

_SAMPLE = 50
_COMPARED_WHOLE = 100_000
_AT_ONCE = 500


def index_problems(transaction: Transaction) -> list[str]:
    """Return the differences between index, documents and tables, by number and text.

    Above 100,000 items, only a sample of texts is compared.
    """
    problems = [*index_of(transaction).problems(), *documents.count_problems(transaction)]
    for kind, thing in KINDS.items():
        for text, sql in (
            ("not in the documents", f"SELECT count(*) FROM ({_indexed_kinds(kind)}) AS k WHERE id NOT IN ({_ITEMS})"),
            (
                "in the documents but gone",
                f"SELECT count(*) FROM ({_ITEMS}) AS d WHERE item_id NOT IN ({_indexed_kinds(kind)})",
            ),
        ):
            row = transaction.one(sql, {"kind": kind.number})
            if row and row[0]:
                problems.append(f"{row[0]} items of kind {thing.name} are {text}")
    row = transaction.one("SELECT count(*) FROM documents")
    problems += _text_problems(transaction) if row and row[0] <= _COMPARED_WHOLE else _sample_problems(transaction)
    return problems


def _text_problems(transaction: Transaction) -> list[str]:
    # compares every item's text with the index, word by word
    index = index_of(transaction)
    indexed = index.fingerprints()
    wrong: list[str] = []
    for kind, thing in KINDS.items():
        rows = transaction.all(
            "SELECT id, item_id, project_id, run_id, type FROM documents WHERE kind = :kind", {"kind": kind.number}
        )
        for start in range(0, len(rows), _AT_ONCE):
            step = rows[start : start + _AT_ONCE]
            texts = kept.texts(thing, transaction, [row[1] for row in step])
            for document, item, project, run, item_type in step:
                if item in texts:
                    document_of = Document(kind, item, 0, project, run, texts[item], 0, item_type)
                    if index.fingerprint(document_of) != indexed.get(document, 0):
                        wrong.append(kind.ref(item))
    return [f"{len(wrong)} texts are not what the index holds, such as {wrong[0]}"] if wrong else []


def _sample_problems(transaction: Transaction) -> list[str]:
    index = index_of(transaction)
    problems: list[str] = []
    for kind, thing in KINDS.items():
        sample = transaction.all(
            "SELECT id, item_id, project_id FROM documents "
            "WHERE kind = :kind AND (id % :step = 0 OR id > :newest) LIMIT :most",
            _sample(transaction, kind),
        )
        texts = kept.texts(thing, transaction, [item for _, item, _ in sample])
        wrong = [
            document
            for document, item, project in sample
            if item in texts and not index.holds(document, project, texts[item])
        ]
        if wrong:
            problems.append(f"{len(wrong)} of {len(sample)} sampled texts are not what the index holds")
    return problems


def _indexed_kinds(kind: Kind) -> str:
    return f"SELECT id FROM {kind.table}"


_ITEMS = "SELECT item_id FROM documents WHERE kind = :kind"


def _sample(transaction: Transaction, kind: Kind) -> dict[str, object]:
    row = transaction.one("SELECT max(id) FROM documents")
    highest = int(row[0] or 0) if row else 0
    return {
        "kind": kind.number,
        "step": max(1, highest // _SAMPLE),
        "newest": highest - _SAMPLE // 2,
        "most": 2 * _SAMPLE,
    }
