"""How many documents a search chooses from: those of its project, whatever else the store holds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from satchel import Satchel
from satchel.find import documents
from satchel.keep.index_checks import index_problems


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
