"""The index on PostgreSQL: after any changes a search finds what the living documents contain."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

import postgres_cluster
from satchel import Satchel, open_satchel
from satchel.base.records import replace
from satchel.find import documents
from satchel.find.documents import Document
from satchel.find.index import index_of, mismatch_problems, scoped_index
from satchel.find.index_postgres import joined, stems
from satchel.find.kind import Kind
from satchel.find.scopes import Either, Scope, Term
from satchel.find.words import parts_text
from satchel.store.postgres.schema import BUCKET_BITS
from satchel.store.transaction import Transaction

SCHEMA = f"find_index_{os.getpid()}"
WORDS = "cache token login config parse_config HTTPServer2 a the retry retries naïve 検索".split()
ITEMS = count(1)
SCOPES = (
    Scope(1),
    Scope(1, run_id=1),
    Scope(1, run_id=2, kinds=(Kind.ENTRY,)),
    Scope(1, kinds=(Kind.CONSTRAINT,)),
    Scope(1, types=((Kind.ENTRY, 2), (Kind.CONSTRAINT, 1))),
)


@pytest.fixture(scope="module")
def opened() -> Iterator[Satchel]:
    """A store on PostgreSQL with two runs."""
    url = f"{postgres_cluster.url()}&schema={SCHEMA}"
    with open_satchel(url, "p", cwd=Path.cwd(), environ={}) as satchel:
        for run in ("r1", "r2"):
            satchel.runs.start(run)
        yield satchel


@pytest.fixture
def satchel(opened: Satchel) -> Satchel:
    """The store with nothing in its index."""
    with opened.workplace.engine.write() as transaction:
        transaction.run("DELETE FROM documents")
        index_of(transaction).empty()
        documents.recount(transaction)
    return opened


def made(chance: random.Random) -> Document:
    kind = chance.choice((Kind.ENTRY, Kind.ENTRY, Kind.CONSTRAINT))
    run = chance.choice((1, 2)) if kind is Kind.ENTRY else None
    return Document(kind, next(ITEMS), 1, 1, run, made_text(chance), 0, chance.choice((1, 2)))


def made_text(chance: random.Random) -> str:
    return " ".join(chance.choices(WORDS, k=chance.randint(0, 8)))


def held(text: str, term: Term) -> tuple[int, int, int]:
    """Return the length of a text in words, and how often a term is in it and in its parts."""
    words = joined(stems(" ".join(term.words)))
    sought = words[:-1] if term.prefix else words
    own, parts = joined(stems(text)), joined(stems(parts_text(text)))
    in_text, in_parts = (sum(one.startswith(sought, at) for at in range(len(one))) for one in (own, parts))
    return len(stems(text)), in_text, in_parts


def in_scope(document: Document, scope: Scope) -> bool:
    return (
        scope.run_id in {None, document.run_id}
        and (not scope.kinds or document.kind in scope.kinds)
        and (not scope.types or (document.kind, document.type) in scope.types)
    )


def check(transaction: Transaction, living: dict[int, Document], chance: random.Random) -> None:
    """Compare what is found with what the living documents hold."""
    index = index_of(transaction)
    assert mismatch_problems(transaction) == []
    assert index.is_sound()
    assert index.fingerprints() == {number: index.fingerprint(one) for number, one in living.items()}
    first = dict(list(living.items())[:1])
    assert index.fingerprints(list(first)) == {number: index.fingerprint(one) for number, one in first.items()}
    term = chance.choice(
        (
            Term((chance.choice(WORDS),), in_text=chance.random() < 0.3),
            Term((chance.choice(WORDS)[:3],), prefix=True),
            Term(tuple(chance.choices(("cache", "token", "a"), k=2)), prefix=chance.random() < 0.3),
        )
    )
    for scope in SCOPES:
        expected = {
            number: counts
            for number, one in living.items()
            if in_scope(one, scope)
            for counts in [held(one.text, term)]
            if counts[1] or (counts[2] and not term.in_text)
        }
        within = scoped_index(transaction, scope)
        most = chance.choice((3, 1_000))
        assert within.counts([term], most) == [min(len(expected), most)], (term, scope)
        newest = sorted(expected, reverse=True)[:most]
        assert scoped_index(transaction, scope).documents(term, most) == newest
        for condition, choosing in ((None, ()), (None, (term,)), (term, ())):
            found = scoped_index(transaction, scope).matches([term], choosing, condition, most, newest=True)
            assert {number: tuple(counts) for number, counts in found.read} == {
                number: (*divmod(length, 256), own, 0 if term.in_text else parts)
                for number in newest
                for length, own, parts in [expected[number]]
            }, (term, scope, condition, choosing)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 6))])
def test_any_changes_leave_the_index_with_what_the_living_documents_hold(satchel: Satchel, seed: int) -> None:
    chance = random.Random(seed)
    living: dict[int, Document] = {}
    engine = satchel.workplace.engine.of_project("p")

    def change(transaction: Transaction) -> None:
        roll = chance.random()
        if roll < 0.6 or not living:
            document = made(chance)
            documents.add(transaction, document, counts=True)
            row = transaction.one("SELECT max(id) FROM documents")
            assert row is not None
            living[row[0]] = document
        elif roll < 0.75:
            number = chance.choice([*living])
            run = chance.choice((1, 2)) if living[number].kind is Kind.ENTRY else None
            living[number] = replace(living[number], text=made_text(chance), run_id=run)
            documents.renew(transaction, living[number])
        elif roll < 0.9:
            document = living.pop(chance.choice([*living]))
            documents.remove(transaction, document.kind, [document.item_id])
        else:
            if chance.random() < 0.5:
                index_of(transaction).empty()
            for document in sorted(living.values(), key=lambda one: one.kind.number):
                documents.renew(transaction, document)

    for _ in range(25):
        with engine.write() as transaction:
            for _ in range(chance.randint(1, 12)):
                change(transaction)
            check(transaction, living, chance)
        with engine.read() as transaction:
            check(transaction, living, chance)


def test_the_newest_documents_come_from_the_newest_bucket_first(satchel: Satchel) -> None:
    size = 1 << BUCKET_BITS
    with satchel.workplace.engine.write() as transaction:
        for number in (size - 1, size, 3 * size):
            index_of(transaction).insert(number, replace(made(random.Random(number)), text="cache"))
            transaction.run(
                "INSERT INTO documents (id, seq, project_id, kind, item_id, status, created_at) "
                "VALUES (:id, 1, 1, 1, :id, 0, 0)",
                {"id": number},
            )
        for most in (1, 2, 3):
            newest = [3 * size, size, size - 1][:most]
            assert scoped_index(transaction, Scope(1)).documents(Term(("cache",)), most) == newest
            oldest = scoped_index(transaction, Scope(1)).matches([Term(("cache",))], (), None, most, newest=False)
            assert [number for number, _ in oldest.read] == sorted(
                newest := [size - 1, size, 3 * size][:most], reverse=True
            )


def test_a_text_with_more_words_than_a_tsvector_holds_is_indexed(satchel: Satchel) -> None:
    text = "first " + " ".join(f"{number:x}token" for number in range(100_000)) + " last"
    with satchel.workplace.engine.write() as transaction:
        documents.add(transaction, replace(made(random.Random(1)), text=text), counts=True)
        index = scoped_index(transaction, Scope(1))
        assert index.counts([Term((word,)) for word in ("first", f"{30_000:x}token", "last")], 9) == [1, 1, 0]


def test_a_search_reads_no_documents_of_another_project(satchel: Satchel) -> None:
    with satchel.workplace.engine.write() as transaction:
        transaction.run(
            "INSERT INTO projects (id, uid, name, created_at) VALUES (11, '\\x01', 'other', 0) ON CONFLICT DO NOTHING"
        )
        for project in (1, 11):
            theirs = replace(made(random.Random(1)), run_id=None, project_id=project, item_id=project, text="cache")
            documents.add(transaction, theirs, counts=True)
        numbers = [scoped_index(transaction, Scope(project)).documents(Term(("cache",)), 9) for project in (1, 11)]
        assert [len(one) for one in numbers] == [1, 1]
        assert numbers[0] != numbers[1]


def test_of_many_candidates_those_with_most_of_the_words_are_scored(satchel: Satchel) -> None:
    terms = [Term((word,)) for word in ("cache", "token", "parse", "lock")]
    texts = (
        "cache token parse lock",
        "cache token parse",
        "cache",
        "cache parse and some more words",
        "token",
        "cache",
    )
    with satchel.workplace.engine.write() as transaction:
        for item, text in enumerate(texts, 1):
            document = replace(made(random.Random(item)), kind=Kind.ENTRY, item_id=item, run_id=None, text=text)
            documents.add(transaction, document, counts=True)
        index = scoped_index(transaction, Scope(1), best=3)
        numbers = index.documents(Either(tuple(terms)), 9, newest=False)
        index.counts(terms, 9)
        found = index.matches(terms, terms[:1], None, 9, newest=True)
    assert [numbers.index(document) for document, _ in found.read] == [3, 1, 0]
    assert found.unread == {bytes((0, 1, 1, 0, *[0] * 6)): 2}
