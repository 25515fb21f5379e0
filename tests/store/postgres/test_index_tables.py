"""The tables of the search index, brought up to date with what they hold."""

from __future__ import annotations

import pytest

from satchel.find.conditions import Term
from satchel.find.documents import Document
from satchel.find.index import index_of, scoped_index
from satchel.find.kind import Kind
from satchel.find.scopes import Scope
from satchel.store.postgres import migrations, packing
from satchel.store.schema import MIGRATIONS, PACKING
from store.postgres.places import Place

BEFORE = next(place for place, one in enumerate(MIGRATIONS) if one.name == PACKING)

OF_BEFORE = (
    "INSERT INTO projects (id, uid, name, created_at) VALUES (1, '\\x01', 'p', 0)",
    "INSERT INTO runs (id, uid, seq, project_id, run_id, created_at) VALUES (7, '\\x01', 1, 1, 'r', 0)",
    """
    INSERT INTO documents (id, seq, project_id, run_id, kind, item_id, type, created_at)
    SELECT n, 1, 1, CASE WHEN n < 4 THEN 7 END, 1, n, CASE WHEN n = 2 THEN 3 END, 0 FROM generate_series(1, 5) AS n
    """,
    """
    INSERT INTO documents_words (project_id, document, words, parts)
    SELECT 1, n, repeat(' token ', n - 1) || ' parse_config ', ' pars  config ' FROM generate_series(1, 5) AS n
    """,
    "INSERT INTO documents_postings SELECT 1, n, 7, 0, 256, 'token' FROM generate_series(2, 5) AS n",
)


def test_the_words_of_before_are_packed(own_place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "DOCUMENTS", 4)
    with monkeypatch.context() as older:
        older.setattr(migrations, "SCHEMA_VERSION", BEFORE)
        with own_place.engine().write() as transaction:
            for statement in OF_BEFORE:
                transaction.run(statement)
    with own_place.engine().write() as transaction:
        index = index_of(transaction)
        assert transaction.all("SELECT last FROM documents_packing") == [(4,)]
        assert index.is_sound()
        assert index.problems() == []
        whole = scoped_index(transaction, Scope(1))
        assert whole.counts([Term(("token",)), Term(("config",))], 9) == [4, 5]
        assert scoped_index(transaction, Scope(1, run_id=7)).holding([Term(("token",))], 9) == [3, 2]
        assert scoped_index(transaction, Scope(1, types=((Kind.ENTRY, 3),))).holding([Term(("token",))], 9) == [2]
        found = whole.matches([Term(("token",))], (), None, 9, newest=True)
        assert [(document, counts[1], counts[2]) for document, counts in found] == [(n, n, n - 1) for n in (5, 4, 3, 2)]
        assert index.holds(3, 1, "") is False
        index.insert(3, Document(Kind.ENTRY, 3, 1, 1, 7, "giraffe", 0))
        assert scoped_index(transaction, Scope(1)).counts([Term(("token",)), Term(("giraffe",))], 9) == [3, 1]
    assert own_place.engine().upkeep.schema_problems() == []
