"""A store of 0.2.0 in PostgreSQL is migrated with what it holds."""

from __future__ import annotations

import pytest

from satchel.consult import conversation_tables
from satchel.find.index import scoped_index
from satchel.find.scopes import Scope, Term
from satchel.store.postgres import schema
from satchel.store.schema import BASE_VERSION, SCHEMA_VERSION
from store.postgres.places import Place

_POSTINGS = """
    DROP INDEX documents_words_lexemes;
    ALTER TABLE documents_words ADD COLUMN marks BYTEA;
    CREATE TABLE documents_packed (
        project_id INTEGER NOT NULL, first INTEGER NOT NULL, term TEXT COLLATE "C" NOT NULL,
        postings BIGINT[] NOT NULL, places BIGINT[] NOT NULL, PRIMARY KEY (project_id, term, first)
    );
    CREATE TABLE documents_packing (project_id INTEGER PRIMARY KEY, last INTEGER NOT NULL);
    UPDATE documents_words SET marks = '\\x00'
"""
"""The index of 0.2.0."""

_BANDS = (-5, 7, 2**40 + 2**31, 2**63 - 1)


def test_the_bands_of_near_duplicates_keep_their_lower_bits(own_place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as program:
        program.setattr(schema, "SCHEMA_VERSION", BASE_VERSION)
        own_place.new_project()
    for band in _BANDS:
        own_place.do(f"INSERT INTO likenesses (project_id, mark, kind, item_id) VALUES (1, {band}, 2, 3)")
    own_place.new_project()
    assert own_place.ask("SELECT mark FROM likenesses ORDER BY 1") == [(-(2**31),), (-5,), (-1,), (7,)]
    assert own_place.ask("SELECT max(version), min(min_writer) FROM migrations, store") == [(SCHEMA_VERSION, 28)]
    assert own_place.engine().upkeep.schema_problems() == []


def test_the_index_of_0_2_0_becomes_a_gin_index_over_the_same_words(
    own_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as program:
        program.setattr(schema, "SCHEMA_VERSION", BASE_VERSION)
        own_place.new_project()
    own_place.do(
        "INSERT INTO documents_words (project_id, document, words, parts, place, length)"
        " VALUES (1, 7, ' cach ', '', 256, 1)"
    )
    own_place.do(_POSTINGS)
    own_place.new_project()
    assert own_place.engine().upkeep.schema_problems() == []
    assert own_place.ask("SELECT count(*) FROM pg_class WHERE oid = to_regclass('documents_words_lexemes')") == [(1,)]
    assert own_place.ask("SELECT min_reader FROM store") == [(BASE_VERSION + 1,)]
    with own_place.engine().read() as transaction:
        transaction_scope = scoped_index(transaction, Scope(1))
        monkeypatch.setattr(transaction_scope, "_ends", (1, 7))
        assert transaction_scope.documents(Term(("cache",)), 9) == [7]


def test_the_files_of_a_conversation_keep_their_paths_and_state(
    own_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as program:
        program.setattr(schema, "SCHEMA_VERSION", BASE_VERSION)
        own_place.new_project()
    paths = ["a.py", "src-old/b.py", "src/b.py", 'src/é "b".py']
    own_place.do(
        "INSERT INTO conversations (id, uid, seq, project_id, owner, assistant, session_id, turns, created_at, "
        "updated_at) VALUES (7, '\\x07', 1, 1, 'local', 'gpt', 'review', 3, 1, 1)"
    )
    for n, path in enumerate(paths):
        folder, _, name = path.rpartition("/")
        own_place.do(
            f"INSERT INTO conversation_folders (id, conversation_id, path) VALUES ({n}, 7, '{folder and folder + '/'}')"
        )
        own_place.do(
            "INSERT INTO conversation_files (folder_id, name, size, tokens, first_turn) "
            f"VALUES ({n}, '{name}', {n}, 7, 1)"
        )
    own_place.new_project()
    with own_place.engine().read() as transaction:
        files = conversation_tables.load_files(transaction, 7)
    assert {path: one.size for path, one in files.items()} == {path: n for n, path in enumerate(paths)}
