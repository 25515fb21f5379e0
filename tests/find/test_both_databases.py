"""The index finds the same on SQLite and on PostgreSQL: the same documents, in the same order, with the same scores."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import postgres_cluster
from satchel import NewEntry, Satchel, open_satchel
from satchel.find import documents, search
from satchel.find.about import related
from satchel.find.documents import Document
from satchel.find.index import index_of
from satchel.find.kind import Kind
from satchel.find.query import parse
from satchel.find.scopes import Scope
from satchel.keep.housekeeping.checks import index_problems
from satchel.keep.kinds import texts_of
from satchel.store.postgres.schema import BUCKET_BITS

WORDS = (
    "cache token login config worker queue retry timeout release index migrate parse render socket buffer of the a to "
    "running runs ran naïve café straße ΟΔΟΣ x 7 42 3.12"
).split()
NAMES = (
    "parse_config parseConfig HTTPServer2 src/auth.py src/auth.pyi tests/test_auth.py:42 foo-bar --dry-run v1.2.3 "
    "E1042 user@example.org #77 C++ a.b.c config.toml 検索API 全文検索エンジン 日本語のテスト 漢 한국어검색"
).split()
LONG = "q" * 300

NUMBERS = {
    "sqlite": f"INSERT INTO sqlite_sequence (name, seq) VALUES ('documents', {(1 << BUCKET_BITS) - 200})",
    "postgresql": f"SELECT setval(pg_get_serial_sequence('documents', 'id'), {(1 << BUCKET_BITS) - 200})",
}
"""Lets the documents lie in two buckets."""


def made_text(chance: random.Random) -> str:
    """A text of few words, so that phrases occur, some more than once and one inside the other."""
    few = chance.sample(WORDS, 5)
    words = [chance.choice(few if chance.random() < 0.7 else WORDS) for _ in range(chance.randint(0, 14))]
    words += chance.choices(NAMES, k=chance.choice((0, 0, 1, 2)))
    chance.shuffle(words)
    text = " ".join(words + [LONG] * (chance.random() < 0.02))
    return text * (300 if chance.random() < 0.01 else 1) or "…"


def made_query(chance: random.Random) -> tuple[str, str]:
    """A query and its syntax."""

    def piece(depth: int = 0) -> str:
        roll = chance.random()
        if roll < 0.3:
            return chance.choice(WORDS)
        if roll < 0.5:
            return chance.choice(NAMES)
        if roll < 0.7:
            return f'"{" ".join(chance.choices(WORDS, k=chance.randint(2, 3)))}"'
        if roll < 0.85:
            return f"{chance.choice(WORDS + NAMES)[: chance.randint(3, 5)].strip('-./:#@+')}*"
        return f"({operators(depth + 1)})" if depth < 3 else chance.choice(WORDS)

    def operators(depth: int = 0) -> str:
        parts = [piece(depth) for _ in range(chance.randint(1, 3))]
        text = chance.choice((" ", " OR ", " AND ")).join(parts)
        return text + f" -{piece(depth)}" * (chance.random() < 0.4)

    if chance.random() < 0.5:
        return operators(), "operators"
    if chance.random() < 0.1:
        return " ".join(chance.choices(WORDS + NAMES, k=40)), "natural"
    asked = " ".join(piece(3) for _ in range(chance.randint(1, 5)))
    return asked + "?" * (chance.random() < 0.3), "natural"


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[list[Satchel]]]:
    """Of each database two projects, with the same content under the same numbers."""
    folder = tmp_path_factory.mktemp("both")
    chance = random.Random(11)
    steps = [
        (place, run, [NewEntry(chance.choice(("discovery", "error")), made_text(chance)) for _ in range(25)])
        for place, run in [(0, "r1"), (1, "r1"), (0, "r2"), (1, "r2")] * 6
    ]
    rules = [made_text(chance) for _ in range(20)]
    with ExitStack() as opened:
        made: list[list[Satchel]] = []
        for where in (folder / "s.db", f"{postgres_cluster.url()}&schema=find_both_{os.getpid()}"):
            pair = [opened.enter_context(_opened(where, folder, project)) for project in ("one", "other")]
            for satchel in pair:
                for run in ("r1", "r2"):
                    satchel.runs.start(run)
            with pair[0].workplace.engine.write() as transaction:
                transaction.run(NUMBERS[transaction.database])
            for place, run, entries in steps:
                pair[place].entries.write_many(entries, run_id=run)
            for text in rules:
                pair[0].constraints.add(f"never {text}")
            made.append(pair)
        yield made


def _opened(where: Any, folder: Path, project: str) -> Satchel:
    return open_satchel(
        where,
        project,
        cwd=folder,
        environ={},
        settings={"store.durability": "relaxed"},
        clock=lambda: 1_795_000_000_000,
    )


def ranked(satchel: Satchel, text: str, syntax: str, scope: Scope, **sizes: Any) -> tuple[list[Any], list[float]]:
    """What is found, and the scores."""
    with satchel.workplace.engine.read() as transaction:
        ranking = search.rank(transaction, parse(text, syntax), scope, texts=texts_of, **sizes)
    found = [(hit.document, hit.by_surroundings) for hit in ranking.hits]
    return [found, ranking.total, ranking.limits, ranking.terms], [hit.score for hit in ranking.hits]


SCOPES: tuple[dict[str, Any], ...] = (
    {},
    {"run_id": 1},
    {"kinds": (Kind.ENTRY,)},
    {"kinds": (Kind.CONSTRAINT, Kind.DECISION), "status": "all"},
    {"types": ((Kind.ENTRY, 2), (Kind.CONSTRAINT, 1))},
    {"since": 5, "condition": "d.item_id % 3 <> :left", "values": {"left": 1}},
    {"run_id": 2, "kinds": (Kind.ENTRY,)},
)


@pytest.mark.parametrize("count", [20, pytest.param(300, marks=pytest.mark.slow)])
def test_generated_queries_find_the_same_on_both(stores: list[list[Satchel]], count: int) -> None:
    chance = random.Random(count)
    here, there = (pair[0] for pair in stores)
    hits = 0
    for number in range(count):
        text, syntax = made_query(chance)
        scope = Scope(1, **SCOPES[number % len(SCOPES)])
        # SQLite counts without the kinds that nearly everything is of, so that in a large scope it may choose otherwise
        large = {"small": 40, "candidates": chance.choice((5, 20, 60))}
        for sizes in ({}, large) if scope.kinds != (Kind.ENTRY,) else ({},):
            mine, my_scores = ranked(here, text, syntax, scope, **sizes)
            theirs, their_scores = ranked(there, text, syntax, scope, **sizes)
            assert mine == theirs, (text, syntax, scope, sizes)
            assert my_scores == pytest.approx(their_scores, abs=1e-9), (text, syntax, scope, sizes)
            hits += len(my_scores)
    assert hits > 20 * count


def test_what_a_text_is_about_and_what_is_like_an_item_is_the_same_on_both(stores: list[list[Satchel]]) -> None:
    chance = random.Random(3)
    for _ in range(10):
        text = " ".join(made_text(chance) for _ in range(2))[:2_000]
        met: list[Any] = []
        for satchel, _ in stores:
            with satchel.workplace.engine.read() as transaction:
                items = related(transaction, text, Scope(1)).items
                met.append([(one.ref, one.words) for one in items])
        assert met[0] == met[1]
    for item in [one.ref for one in stores[0][0].finding.search("cache").results[:5]]:
        found = [[one.ref for one in satchel.finding.search(like=item).results] for satchel, _ in stores]
        assert found[0] == found[1]


def test_each_project_of_a_database_finds_its_own(stores: list[list[Satchel]]) -> None:
    own = [set(re.findall(r"\d+", str(ranked(one, "cache", "natural", Scope(1))[0][0]))) for one, _ in stores]
    others = [set(re.findall(r"\d+", str(ranked(one, "cache", "natural", Scope(2))[0][0]))) for _, one in stores]
    assert own[0] == own[1]
    assert others[0] == others[1]
    assert own[0]
    assert not own[0] & others[0]


def test_the_index_of_both_agrees_with_what_is_kept(stores: list[list[Satchel]]) -> None:
    for satchel, _ in stores:
        with satchel.workplace.engine.read() as transaction:
            assert index_problems(transaction) == []


def problems(satchel: Satchel) -> list[str]:
    with satchel.workplace.engine.read() as transaction:
        return index_problems(transaction)


@pytest.fixture
def kept() -> Iterator[Satchel]:
    """A store on PostgreSQL with eight notes."""
    where = f"{postgres_cluster.url()}&schema=find_damage_{os.getpid()}"
    with _opened(where, Path.cwd(), "p") as satchel:
        with satchel.workplace.engine.write() as transaction:
            transaction.run("DELETE FROM projects")
            index_of(transaction).empty()
        satchel.runs.start("r")
        texts = ["zebra one two", "parse_config", "…", "全文検索", LONG, "zebra zebra", "one two three", "two"]
        satchel.entries.write_many([NewEntry("discovery", text) for text in texts], run_id="r")
        yield satchel


DAMAGE = {
    "DELETE FROM documents_words WHERE words LIKE '%zebra%'": "2 documents are not indexed",
    "UPDATE documents_words SET words = ' other '": "8 texts are not what the index holds",
    "UPDATE documents_words SET length = 9": "8 texts are not what the index holds",
    "DELETE FROM documents WHERE item_id % 2 = 0": "4 documents are indexed without an item",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_on_postgresql_is_told_and_rebuilt(kept: Satchel, damage: str) -> None:
    assert problems(kept) == []
    with kept.workplace.engine.write() as transaction:
        transaction.run(damage)
    assert any(DAMAGE[damage] in problem for problem in problems(kept)), problems(kept)
    assert kept.finding.rebuild(lambda *_: None) == 8
    assert problems(kept) == []
    assert kept.finding.search("zebra").total == 2


def test_a_new_version_on_postgresql_is_found_by_its_new_words_only(kept: Satchel) -> None:
    with kept.workplace.engine.write() as transaction:
        row = transaction.one(
            "SELECT id, project_id, run_id FROM documents WHERE item_id = (SELECT max(id) FROM context)"
        )
        assert row is not None
        number, project, run = row
        document = Document(Kind.ENTRY, 8, 1, project, run, "two giraffes", 0)
        index = index_of(transaction)
        new = {number: index.fingerprint(document)}
        assert index.fingerprints([number]) != new
        index.insert(number, document)
        assert index.fingerprints([number]) == new
        documents.remove(transaction, Kind.ENTRY, [number])
        index.delete(number, project)
        assert index.fingerprints([number]) == {}
