"""What a search looks at: nothing that has expired; each filter by the index or the documents, whichever is cheap."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest

from satchel import Satchel
from satchel.find import documents, scopes, search
from satchel.find.documents import Document
from satchel.find.kind import SUPERSEDED, Kind
from satchel.find.query import parse
from satchel.find.scopes import Scope
from satchel.store.engine import Engine
from satchel.store.sqlite_transaction import SqliteTransaction
from tables import in_one_test

HALF_PAST = 1_800_000


@pytest.fixture
def engine(satchel: Satchel) -> Engine:
    """An engine with one project and one run, whose numbers are 1."""
    satchel.runs.start("r1")
    return satchel.workplace.engine


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What the index was asked for, and under which condition on the documents."""
    calls: list[tuple[str, str]] = []
    everything = SqliteTransaction.all

    def watched(transaction: SqliteTransaction, sql: str, parameters: Any = None) -> Any:
        told = re.search(r"satchel_counts.* MATCH :match(?: AND (.*?))? ORDER BY", sql)
        if told:
            calls.append((parameters["match"], told[1] or ""))
        return everything(transaction, sql, parameters)

    monkeypatch.setattr(SqliteTransaction, "all", watched)
    return calls


def add(engine: Engine, *added: Document) -> None:
    with engine.write() as transaction:
        for document in added:
            documents.add(transaction, document, counts=True)


def add_project(engine: Engine) -> None:
    """Make a second project, whose number is 2."""
    with engine.write() as transaction:
        transaction.run("INSERT INTO projects (uid, name, created_at) VALUES (:uid, 'other', 0)", {"uid": bytes(16)})


def message(item: int, text: str = "alpha", **fields: Any) -> Document:
    return Document(Kind.MESSAGE, item, fields.pop("seq", 1), fields.pop("project_id", 1), None, text, 0, **fields)


def entry(item: int, text: str = "alpha", run: int = 1, **fields: Any) -> Document:
    return Document(Kind.ENTRY, item, 1, 1, run, text, 0, **fields)


def found(engine: Engine, scope: Scope, text: str = "alpha", syntax: str = "natural") -> list[tuple[str, int]]:
    """Return the letters and numbers of what is found, in their order."""
    with engine.read() as transaction:
        ranking = search.rank(transaction, parse(text, syntax), scope)
        spine = {row[0]: row[1:] for row in transaction.all("SELECT id, kind, item_id FROM documents")}
    letters = {kind.number: kind.letter for kind in Kind}
    places = [spine[hit.document] for hit in ranking.hits]
    return sorted((letters[kind], item) for kind, item in places)


@pytest.fixture
def expiring(engine: Engine) -> Engine:
    times = {1: HALF_PAST - 1, 2: HALF_PAST, 3: HALF_PAST + 1, 4: None}
    add(engine, *(message(item, expires_at=time) for item, time in times.items()))
    return engine


@in_one_test(
    ("text", "syntax"),
    [("alpha", "natural"), ("where is the alpha", "natural"), ('"alpha"', "natural"), ("alph*", "operators")],
)
@in_one_test("status", ["live", "all"])
@in_one_test("kinds", [(), (Kind.MESSAGE,), (Kind.MESSAGE, Kind.ENTRY)])
@pytest.mark.parametrize("small", [8_000, 1], ids=["a small scope", "a large scope"])
def test_what_has_expired_is_found_by_no_search(
    expiring: Engine,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    syntax: str,
    status: str,
    kinds: tuple[Kind, ...],
    small: int,
) -> None:
    monkeypatch.setattr(scopes, "SMALL", small)
    monkeypatch.setattr(search, "CANDIDATES", 50)
    scope = Scope(1, kinds=kinds, status=status, now=HALF_PAST)
    assert found(expiring, scope, text, syntax) == [("m", 3), ("m", 4)]


def test_what_was_superseded_and_has_expired_is_not_found_among_the_superseded(engine: Engine) -> None:
    add(
        engine,
        message(1, expires_at=HALF_PAST, status=SUPERSEDED),
        message(2, expires_at=HALF_PAST + 1, status=SUPERSEDED),
    )
    assert found(engine, Scope(1, status="superseded", now=HALF_PAST)) == [("m", 2)]


def test_an_expired_neighbour_of_a_result_is_not_found_by_its_surroundings(engine: Engine) -> None:
    question = "which alpha release train comes first"
    add(
        engine,
        entry(1, "beta", loop_id="L"),
        entry(2, "alpha", loop_id="L"),
        entry(3, "gamma", loop_id="L", expires_at=HALF_PAST),
    )
    assert found(engine, Scope(1, now=HALF_PAST - 1), question) == [("e", 1), ("e", 2), ("e", 3)]
    assert found(engine, Scope(1, now=HALF_PAST), question) == [("e", 1), ("e", 2)]


def test_what_expires_in_another_project_hides_nothing_of_this_one(engine: Engine) -> None:
    add_project(engine)
    add(engine, message(1, project_id=2, expires_at=HALF_PAST), message(2, expires_at=HALF_PAST + 1))
    assert found(engine, Scope(1, now=HALF_PAST)) == [("m", 2)]
    assert found(engine, Scope(2, now=HALF_PAST)) == []


def test_an_item_that_is_renewed_expires_when_its_new_version_does(engine: Engine) -> None:
    add(engine, message(1, expires_at=HALF_PAST), message(2))
    with engine.write() as transaction:
        documents.renew(transaction, message(1, expires_at=HALF_PAST + 1))
        documents.renew(transaction, message(2, expires_at=HALF_PAST))
    assert found(engine, Scope(1, now=HALF_PAST)) == [("m", 1)]


MOSTLY_ENTRIES = (*(entry(number) for number in range(1, 41)), message(1), message(2))


@pytest.mark.parametrize(
    ("kinds", "expression", "condition", "letters"),
    [
        ((), '{text parts} : ("alpha")', "", {"e": 40, "m": 2}),
        (tuple(Kind), '{text parts} : ("alpha")', "", {"e": 40, "m": 2}),
        (
            (Kind.ENTRY,),
            '{text parts} : ("alpha")',
            "+d.kind IN (1)",
            {"e": 40},
        ),
        (
            (Kind.ENTRY, Kind.MESSAGE),
            '{text parts} : ("alpha")',
            "+d.kind IN (1, 4)",
            {"e": 40, "m": 2},
        ),
        ((Kind.MESSAGE,), 'scope : (k4) AND {text parts} : ("alpha")', "", {"m": 2}),
        ((Kind.DECISION, Kind.MESSAGE), 'scope : (k2 OR k4) AND {text parts} : ("alpha")', "", {"m": 2}),
        ((Kind.DECISION,), 'scope : (k2) AND {text parts} : ("alpha")', "", {}),
    ],
    ids=["any", "every", "the usual", "the usual and another", "a rare", "two rare", "none there"],
)
def test_where_nearly_everything_is_of_the_kinds_the_documents_are_asked(
    engine: Engine,
    asked: list[tuple[str, str]],
    kinds: tuple[Kind, ...],
    expression: str,
    condition: str,
    letters: dict[str, int],
) -> None:
    add(engine, *MOSTLY_ENTRIES)
    results = [letter for letter, _ in found(engine, Scope(1, kinds=kinds))]
    assert {letter: results.count(letter) for letter in results} == letters
    assert asked == [(expression, condition)]


def test_kinds_that_are_as_many_as_others_stay_in_the_index(engine: Engine, asked: list[tuple[str, str]]) -> None:
    add(engine, *(one for number in range(1, 21) for one in (entry(number), message(number))))
    assert found(engine, Scope(1, kinds=(Kind.ENTRY,))) == [("e", number) for number in range(1, 21)]
    assert asked == [('scope : (k1) AND {text parts} : ("alpha")', "")]


def test_types_stay_in_the_index_even_where_nearly_everything_is_of_their_kind(
    engine: Engine, asked: list[tuple[str, str]]
) -> None:
    add(engine, *MOSTLY_ENTRIES, entry(50, type=2))
    assert found(engine, Scope(1, kinds=(Kind.ENTRY,), types=((Kind.ENTRY, 2), (Kind.ENTRY, 3)))) == [("e", 50)]
    assert asked == [('scope : (k1t2 OR k1t3) AND {text parts} : ("alpha")', "")]


def test_project_and_kinds_are_left_to_the_documents_where_nearly_everything_is_of_both(
    engine: Engine, asked: list[tuple[str, str]]
) -> None:
    add_project(engine)
    add(engine, *MOSTLY_ENTRIES, message(60, project_id=2))
    assert len(found(engine, Scope(1, kinds=(Kind.ENTRY,)))) == 40
    assert found(engine, Scope(2, kinds=(Kind.MESSAGE,))) == [("m", 60)]
    assert asked == [
        ('{text parts} : ("alpha")', "d.project_id = 1 AND +d.kind IN (1)"),
        ('scope : (p2) AND scope : (k4) AND {text parts} : ("alpha")', ""),
    ]


def test_a_run_that_nearly_everything_is_of_is_left_to_the_spine_only_in_a_large_store(
    engine: Engine, asked: list[tuple[str, str]], satchel: Satchel, monkeypatch: pytest.MonkeyPatch
) -> None:
    satchel.runs.start("r2")
    add(engine, *(entry(number) for number in range(1, 41)), entry(41, run=2))
    for small in (8_000, 10):
        monkeypatch.setattr(scopes, "SMALL", small)
        assert found(engine, Scope(1, run_id=1)) == sorted(("e", number) for number in range(1, 41))
    assert found(engine, Scope(1, run_id=2)) == [("e", 41)]
    assert asked == [
        ('scope : (r1) AND {text parts} : ("alpha")', ""),
        ('{text parts} : ("alpha")', "d.run_id = 1"),
        ('scope : (r2) AND {text parts} : ("alpha")', ""),
    ]


def test_kinds_are_asked_of_the_documents_beside_others(engine: Engine, asked: list[tuple[str, str]]) -> None:
    add(engine, *MOSTLY_ENTRIES, entry(50, task_id="T"), message(51, task_id="T"))
    assert found(engine, Scope(1, kinds=(Kind.ENTRY,), task_id="T")) == [("e", 50)]
    assert asked == [('{text parts} : ("alpha")', "d.task_id = :task_id AND +d.kind IN (1)")]


def _scores(engine: Engine, scope: Scope, text: str, syntax: str = "natural") -> dict[int, float]:
    with engine.read() as transaction:
        return {hit.document: hit.score for hit in search.rank(transaction, parse(text, syntax), scope).hits}


@pytest.fixture
def worded(engine: Engine) -> Engine:
    """Texts of few words in every order: FTS5 3.54.1 loses counts in such, where a phrase stands beside NOT."""
    chance = random.Random(1)
    texts = (" ".join(chance.choice(("tim", "of", "a", "x", "y", "z")) for _ in range(8)) for _ in range(40))
    add(engine, *(entry(number, text) for number, text in enumerate(texts, 1)))
    return engine


@in_one_test("text", ['tim "of a"', "of-a tim", 'x "y z" tim'])
def test_kinds_that_leave_nothing_out_change_no_score(worded: Engine, text: str) -> None:
    everything = _scores(worded, Scope(1), text)
    assert len(everything) > 5
    assert _scores(worded, Scope(1, kinds=(Kind.ENTRY,)), text) == everything


@pytest.mark.parametrize("text", ['tim OR "of a"', '(x OR "y z") tim'])
def test_an_exclusion_that_leaves_nothing_out_changes_no_score(worded: Engine, text: str) -> None:
    everything = _scores(worded, Scope(1), text, "operators")
    assert len(everything) > 10
    assert _scores(worded, Scope(1), f"({text}) -nowhere", "operators") == everything


def test_an_exclusion_leaves_out_what_holds_the_word_and_keeps_the_scores_of_the_rest(worded: Engine) -> None:
    everything = _scores(worded, Scope(1), 'tim OR "of a"', "operators")
    without = _scores(worded, Scope(1), '(tim OR "of a") -x', "operators")
    with_x = _scores(worded, Scope(1), "x", "operators")
    assert without.keys() == everything.keys() - with_x.keys()
    assert without
