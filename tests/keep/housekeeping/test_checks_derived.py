from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.store.transaction import Row
from satchel.store.upkeep import Check

Fill = Callable[[Satchel, str], Mapping[str, str]]


def check(satchel: Satchel, name: str = "counts") -> Check:
    return {one.name: one for one in satchel.housekeeping.doctor()}[name]


def spoil(satchel: Satchel, *statements: str) -> None:
    with satchel.workplace.engine.write() as transaction:
        for sql in statements:
            transaction.run(sql)


def tables(satchel: Satchel) -> list[list[Row]]:
    with satchel.workplace.engine.read() as transaction:
        return [
            transaction.all("SELECT * FROM decision_counts WHERE decisions <> 0 ORDER BY 1, 2, 3, 4"),
            transaction.all("SELECT * FROM decision_tags ORDER BY 1, 2, 3, 4"),
            transaction.all("SELECT * FROM decision_scopes ORDER BY 1, 2, 3, 4"),
        ]


@pytest.fixture
def decided(satchel: Satchel) -> Satchel:
    """Decisions of every status, with and without layer, tags and scopes, some of them changed."""
    for number, status in enumerate(("active", "deprecated", "draft", "active")):
        satchel.decisions.set(f"alpha{number}", number, status=status, layer="data", tags=["api", "new"], scopes=["x"])
        satchel.decisions.set(f"omega{number}", number)
    satchel.decisions.set("alpha3", status="deprecated", tags=["api"], layer=None)
    satchel.decisions.set("omega3", scopes=["x", "y"])
    return satchel


def test_decisions_that_were_only_written_are_counted_as_they_are(decided: Satchel) -> None:
    assert (check(decided).status, check(decided).detail) == ("ok", "the counts match the decisions")


def test_a_forgotten_decision_does_not_count(decided: Satchel) -> None:
    decided.housekeeping.forget(decided.decisions.get("alpha0").decision.ref)
    assert check(decided).status == "ok"


@pytest.mark.parametrize(
    ("statements", "problem"),
    [
        (("UPDATE decision_counts SET decisions = decisions + 1 WHERE dimension = 0 AND status = 1",), "1 counts of"),
        (("DELETE FROM decision_counts WHERE dimension = 1 AND name_id <> 0 AND status = 1",), "1 counts of"),
        (("UPDATE decision_counts SET decisions = decisions - 1 WHERE dimension = 2 AND status = 3",), "2 counts of"),
        (("DELETE FROM decision_counts WHERE dimension = 3 AND status = 2",), "1 counts of"),
        (("INSERT INTO decision_counts VALUES (1, 3, 99, 1, 5)",), "1 counts of decisions are wrong"),
        (("UPDATE decision_tags SET status = 2 WHERE decision_id = 1",), "2 tags of decisions have the wrong"),
        (("UPDATE decision_tags SET created_at = 5 WHERE decision_id = 1",), "2 tags of decisions have the wrong"),
        (("UPDATE decision_scopes SET status = 3 WHERE decision_id = 1",), "1 scopes of decisions have the wrong"),
        (("UPDATE decision_scopes SET created_at = 5 WHERE decision_id = 1",), "1 scopes of decisions have the wrong"),
        (
            ("INSERT INTO decision_tags SELECT tag_id, 3, 7, decision_id FROM decision_tags WHERE decision_id = 1",),
            "2 tags of decisions have the wrong",
        ),
        (("UPDATE decisions SET status = 2 WHERE id = 2",), "counts of decisions are wrong"),
        (("UPDATE decisions SET layer_id = 1 WHERE id = 1",), "2 counts of decisions are wrong"),
    ],
)
def test_counts_and_copies_that_disagree_are_found_and_made_anew(
    decided: Satchel, statements: tuple[str, ...], problem: str
) -> None:
    before = tables(decided)
    spoil(decided, *statements)
    found = check(decided)
    assert found.status == "failed"
    assert problem in found.detail
    assert "`satchel doctor --rebuild`" in found.detail
    decided.housekeeping.recount()
    assert check(decided).status == "ok"
    if "UPDATE decisions " not in statements[0]:
        assert tables(decided) == before


def test_counting_anew_changes_nothing_where_all_is_well(decided: Satchel) -> None:
    before = tables(decided)
    decided.housekeeping.recount()
    assert tables(decided) == before


def test_a_count_that_fell_to_zero_is_right_with_and_without_its_row(satchel: Satchel) -> None:
    decision = satchel.decisions.set("alpha", 1, tags=["api"])
    satchel.housekeeping.forget(decision.ref)
    spoil(satchel, "DELETE FROM decision_counts WHERE decisions = 0")
    assert check(satchel).status == "ok"
    spoil(satchel, "INSERT INTO decision_counts VALUES (1, 0, 0, 1, 0)")
    assert check(satchel).status == "ok"


def test_every_project_of_the_store_is_examined_and_counted_anew(
    open_in: Callable[..., Satchel], project: Path
) -> None:
    one, other = open_in(project, project="one"), open_in(project, project="other")
    one.decisions.set("alpha", 1, layer="data", tags=["api"])
    other.decisions.set("alpha", 1, layer="data", tags=["api"])
    before = tables(one)
    spoil(one, "DELETE FROM decision_counts WHERE project_id = 2")
    assert check(one).status == "failed"
    one.housekeeping.recount()
    assert tables(other) == before


TABLES = {
    "entry": "context",
    "decision": "decisions",
    "constraint": "constraints",
    "message": "agent_messages",
    "file change": "file_changes",
}


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("side", ["item", "document"])
def test_the_index_is_compared_with_every_kind(satchel: Satchel, fill: Fill, kind: str, side: str) -> None:
    refs = fill(satchel, "alpha")
    assert check(satchel, "index").status == "ok"
    number = int(refs[kind][1:])
    if side == "item":
        spoil(satchel, f"DELETE FROM {TABLES[kind]} WHERE id = {number}")
        problem = "in the documents but gone"
    else:
        spoil(satchel, f"DELETE FROM documents WHERE item_id = {number} AND kind = {[*TABLES].index(kind) + 1}")
        problem = "not in the documents"
    found = check(satchel, "index")
    assert found.status == "failed"
    assert f"1 items of kind {kind}" in found.detail.replace("_", " ")
    assert problem in found.detail
