"""How many documents a search chooses from: those of its project, whatever else the store holds."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from satchel import NewEntry, Satchel
from satchel.find import documents, scopes, search
from satchel.find.about import related
from satchel.find.scopes import Scope
from satchel.keep.housekeeping.checks import index_problems


def counted(satchel: Satchel) -> dict[str, tuple[int, int]]:
    """Return for each project how many documents are recorded, and how many there are."""
    with satchel.workplace.engine.read() as transaction:
        rows = transaction.all(
            "SELECT name, documents, (SELECT count(*) FROM documents d WHERE d.project_id = p.id) FROM projects p"
        )
    return {name: (recorded, actual) for name, recorded, actual in rows}


def test_the_documents_of_another_project_change_no_score(open_in: Callable[..., Satchel], project: Path) -> None:
    one, other = open_in(project, project="one"), open_in(project, project="other")
    one.runs.start("r")
    for number in range(5):
        one.entries.write("discovery", f"kafka topic {number}", run_id="r")
    before = [result.score for result in one.finding.search("kafka 3").results]
    for number in range(200):
        other.constraints.add(f"unrelated {number}")
    assert [result.score for result in one.finding.search("kafka 3").results] == before


@pytest.mark.parametrize("small", [8_000, 30], ids=["a small scope", "a large scope"])
def test_the_volume_of_another_project_changes_no_ranking(
    open_in: Callable[..., Satchel], project: Path, monkeypatch: pytest.MonkeyPatch, small: int
) -> None:
    monkeypatch.setattr(scopes, "SMALL", small)
    monkeypatch.setattr(search, "CANDIDATES", 20)
    chance = random.Random(5)
    words = [f"w{chr(97 + number)}" for number in range(20)]

    def write(satchel: Satchel, count: int) -> None:
        texts = (" ".join(chance.choices(words, range(20, 0, -1), k=6)) for _ in range(count))
        satchel.entries.write_many([NewEntry("discovery", text) for text in texts], run_id="r")
        satchel.constraints.add(" ".join(chance.choices(words, k=6)))

    one, other = open_in(project, project="one"), open_in(project, project="other")
    for satchel in (one, other):
        satchel.runs.start("r")
    write(one, 100)
    asked = [" ".join(chance.sample(words, count)) for count in (1, 2, 3, 8) for _ in range(4)]
    rules: list[dict[str, Any]] = [{}, {"kinds": ["entry"]}, {"run_id": "r"}, {"types": ["discovery"]}]

    def ranked() -> list[list[tuple[str, float]]]:
        pages = (one.finding.search(text, limit=500, **rules[n % 4]) for n, text in enumerate(asked))
        with one.workplace.engine.read() as transaction:
            met = [related(transaction, text, Scope(1)).items for text in asked]
        return [
            *([(found.ref, found.score) for found in page.results] for page in pages),
            *([(found.ref, found.strength) for found in items] for items in met),
        ]

    alone = ranked()
    for volume in (5, 200):
        write(other, volume)
        assert ranked() == alone


def test_the_count_is_true_after_any_change(satchel: Satchel) -> None:
    entries = [satchel.entries.write("discovery", f"note {place}", loop_id="L") for place in range(6)]
    satchel.decisions.set("key", "one")
    satchel.decisions.set("key", "two")
    error = satchel.patterns.report("ValueError", "no number", solution="parse it").pattern
    assert counted(satchel) == {"project": (8, 8)}
    satchel.housekeeping.forget(entries[0].ref)
    satchel.housekeeping.forget(error.ref)
    satchel.entries.prune(keep=3)
    assert counted(satchel) == {"project": (4, 4)}
    satchel.finding.rebuild(lambda *_: None)
    assert counted(satchel) == {"project": (4, 4)}


def test_a_wrong_count_is_found_and_rebuilt(satchel: Satchel) -> None:
    satchel.entries.write("discovery", "note")
    with satchel.workplace.engine.write() as transaction:
        transaction.run("UPDATE projects SET documents = 7")
    with satchel.workplace.engine.read() as transaction:
        assert any("has 1 documents, not 7" in problem for problem in index_problems(transaction))
    satchel.finding.rebuild(lambda *_: None)
    with satchel.workplace.engine.read() as transaction:
        assert documents.count_problems(transaction) == []
