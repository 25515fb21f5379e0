from __future__ import annotations

from collections.abc import Callable

import pytest

from satchel import InvalidInput, Satchel
from satchel.find import documents
from satchel.find.documents import Document
from satchel.find.index import index_of, mismatch_problems, scoped_index
from satchel.find.kind import SUPERSEDED, Kind
from satchel.find.query import parse
from satchel.find.scopes import Either, Scope
from satchel.store.engine import Engine
from satchel.store.transaction import Transaction, set_of
from tables import in_one_test


@pytest.fixture
def engine(satchel: Satchel) -> Engine:
    """An engine with one project and one run, whose numbers are 1."""
    satchel.runs.start("r1")
    return satchel.workplace.engine


def test_a_look_is_held_until_a_commit_or_an_expiry(satchel: Satchel) -> None:
    now, looks = satchel.workplace.clock(), iter(range(9))
    satchel.messages.send("Look", to="all", agent="ann")

    def look(at: int) -> int:
        with satchel.workplace.engine.read() as transaction:
            return documents.until_expiry(transaction, 1, at, "look", lambda: next(looks))

    with satchel.workplace.engine.read() as transaction:
        ((expiry,),) = transaction.all("SELECT expires_at FROM documents")
    assert [look(now), look(expiry - 1), look(expiry), look(expiry - 1)] == [0, 0, 1, 2]
    satchel.messages.send("Look again", to="all", agent="ann")
    assert look(expiry - 1) == 3


def document(item: int, text: str, run: int = 1) -> Document:
    return Document(Kind.ENTRY, item, 1, 1, run, text, 0)


def found(engine: Engine, word: str, project: int = 1, run: int | None = 1) -> list[int]:
    """Return the numbers of the entries that the index finds by a word, without any other filter."""
    with engine.read() as transaction:
        scoped = scoped_index(transaction, Scope(project, run_id=run, kinds=(Kind.ENTRY,)))
        held = scoped.documents(Either(parse(word).terms), 100)
        rows = transaction.all(f"SELECT item_id FROM documents WHERE id IN {set_of(held)} ORDER BY item_id")
    return [row[0] for row in rows]


def disagreements(engine: Engine) -> list[str]:
    with engine.read() as transaction:
        return mismatch_problems(transaction)


def test_an_item_is_found_once_it_was_added_and_no_more_once_it_was_removed(engine: Engine) -> None:
    with engine.write() as transaction:
        documents.add(transaction, document(7, "alpha"), counts=True)
        documents.add(transaction, document(8, "alpha beta"), counts=True)
    assert found(engine, "alpha") == [7, 8]
    with engine.write() as transaction:
        documents.remove(transaction, Kind.ENTRY, [7])
    assert found(engine, "alpha") == [8]
    assert disagreements(engine) == []


def test_a_new_version_is_found_by_its_new_words_only(engine: Engine) -> None:
    for text in ("alpha", "beta"):
        with engine.write() as transaction:
            documents.remove(transaction, Kind.ENTRY, [7])
            documents.add(transaction, document(7, text), counts=True)
    assert (found(engine, "alpha"), found(engine, "beta")) == ([], [7])
    assert disagreements(engine) == []


def test_indexing_a_living_number_again_replaces_its_text(engine: Engine) -> None:
    with engine.write() as transaction:
        documents.add(transaction, document(7, "alpha"), counts=True)
        index_of(transaction).insert(1, document(7, "beta"))
    assert (found(engine, "alpha"), found(engine, "beta")) == ([], [7])


def test_a_change_of_status_leaves_the_text_found(engine: Engine) -> None:
    with engine.write() as transaction:
        documents.add(transaction, document(7, "alpha"), counts=True)
        documents.set_status(transaction, Kind.ENTRY, [(7, 9)], SUPERSEDED)
    with engine.read() as transaction:
        assert transaction.one("SELECT status, seq FROM documents") == (SUPERSEDED, 9)
    assert found(engine, "alpha") == [7]


@pytest.mark.parametrize(
    "change",
    [
        lambda transaction: documents.add(transaction, document(8, "alpha"), counts=True),
        lambda transaction: documents.remove(transaction, Kind.ENTRY, [7]),
        lambda transaction: index_of(transaction).insert(1, document(7, "beta")),
        lambda transaction: index_of(transaction).optimize(),
    ],
    ids=["add", "remove", "replace", "optimize"],
)
def test_what_is_rolled_back_leaves_index_and_documents_as_they_were(
    engine: Engine, change: Callable[[Transaction], object]
) -> None:
    with engine.write() as transaction:
        documents.add(transaction, document(7, "alpha"), counts=True)

    def fail() -> None:
        with engine.write() as transaction:
            change(transaction)
            raise KeyError("on purpose")

    with pytest.raises(KeyError):
        fail()
    assert (found(engine, "alpha"), found(engine, "beta")) == ([7], [])
    assert disagreements(engine) == []


def test_only_the_scope_is_searched(engine: Engine, satchel: Satchel) -> None:
    satchel.runs.start("r2")
    with engine.write() as transaction:
        documents.add(transaction, document(7, "alpha", run=1), counts=True)
        documents.add(transaction, document(8, "alpha", run=2), counts=True)
    assert found(engine, "alpha", run=2) == [8]
    assert found(engine, "alpha", run=None) == [7, 8]
    assert found(engine, "alpha", project=2, run=None) == []


def test_the_tokens_of_the_scope_are_not_words_of_the_text(engine: Engine) -> None:
    with engine.write() as transaction:
        documents.add(transaction, document(7, "alpha"), counts=True)
        documents.add(transaction, document(8, "the p1 incident"), counts=True)
    assert found(engine, "p1") == [8]


@pytest.mark.parametrize(
    ("sql", "sql_of_postgresql", "problem"),
    [
        (
            "DELETE FROM documents_fts WHERE rowid = 1",
            "DELETE FROM documents_words WHERE document = 1",
            "1 documents are not indexed, the first is 1",
        ),
        (
            "DELETE FROM documents WHERE id = 2",
            "DELETE FROM documents WHERE id = 2",
            "1 documents are indexed without an item, the first is 2",
        ),
    ],
)
def test_a_disagreement_is_seen_from_both_sides(engine: Engine, sql: str, sql_of_postgresql: str, problem: str) -> None:
    with engine.write() as transaction:
        documents.add(transaction, document(7, "alpha"), counts=True)
        documents.add(transaction, document(8, "beta"), counts=True)
    with engine.write() as transaction:
        transaction.run(sql if transaction.database == "sqlite" else sql_of_postgresql)
    assert disagreements(engine) == [problem]


@in_one_test("kind", Kind)
def test_a_short_id_is_read_with_and_without_its_letter(kind: Kind) -> None:
    assert kind.ref(812) == f"{kind.letter}812"
    for ref in (kind.ref(812), f" {kind.letter}812\n", "812", 812):
        assert kind.number_of(ref) == 812


@in_one_test(
    ("kind", "thing"),
    [
        (Kind.ENTRY, "a note"),
        (Kind.DECISION, "a decision"),
        (Kind.CONSTRAINT, "a rule"),
        (Kind.MESSAGE, "a message"),
        (Kind.FILE_CHANGE, "a file change"),
    ],
)
def test_what_is_no_short_id_of_a_kind_is_refused_with_one_that_would_be(kind: Kind, thing: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        kind.number_of("x12")
    assert str(refused.value) == f"'x12' is no id of {thing}. Give an id such as {kind.letter}812; lists show them"


@in_one_test(
    "ref", ["", "m", "mm1", "d1", "m-1", "-1", -1, "m1.5", 1.5, "m²", "m" + "9" * 19, 10**19, True, None, ["m1"], b"m1"]
)
def test_what_is_no_number_with_or_without_the_letter_is_refused(ref: object) -> None:
    with pytest.raises(InvalidInput, match="is no id of a message"):
        Kind.MESSAGE.number_of(ref)


def test_no_two_kinds_share_a_number_a_letter_or_a_table() -> None:
    for peculiar in ("number", "letter", "table"):
        assert len({getattr(kind, peculiar) for kind in Kind}) == len(Kind)
