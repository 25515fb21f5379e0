"""Rows whose text is none: named by the doctor, left out of every answer with a note, and no obstacle to the others."""

from __future__ import annotations

import pytest

from satchel import Satchel

_SPOILED = [
    ("context", "content", "e1"),
    ("decisions", "value_text", "d1"),
    ("constraints", "text", "c1"),
    ("agent_messages", "message", "m1"),
    ("context_packages", "summary", "p1"),
    ("error_patterns", "message", "x1"),
    ("strategies", "insight", "s1"),
    ("file_changes", "description", "f1"),
]
_NO_TEXTS = ("CAST(x'616cff' AS TEXT)", "x'616c'")


def _fill(satchel: Satchel) -> None:
    for word in ("one", "two"):
        satchel.entries.write("discovery", f"alpha {word}", agent="a")
        satchel.decisions.set(f"key/{word}", f"alpha {word}")
        satchel.constraints.add(f"alpha {word}", category="security")
        satchel.messages.send(f"alpha {word}", to="b", type="info", agent="a")
        satchel.packages.save(f"alpha {word}", type="research", content=f"alpha {word}")
        satchel.patterns.report(f"Error{word}", f"alpha {word}", solution=f"beta {word}")
        satchel.strategies.save(f"topic {word}", f"alpha {word}")
        satchel.files.record(f"{word}.py", "modified", description=f"alpha {word}", agent="a")


@pytest.mark.parametrize("value", _NO_TEXTS, ids=["bytes", "blob"])
@pytest.mark.parametrize(("table", "column", "ref"), _SPOILED, ids=[table for table, *_ in _SPOILED])
def test_a_row_whose_text_is_none_is_named_and_left_out(
    satchel: Satchel, table: str, column: str, ref: str, value: str
) -> None:
    _fill(satchel)
    engine = satchel.workplace.engine
    with engine.write() as transaction:
        transaction.run(f"UPDATE {table} SET {column} = {value} WHERE id = 1")
    found = satchel.finding.search("alpha", limit=50)
    assert ref not in [one.ref for one in found.results]
    assert len(found.results) == 15
    assert "left out" in (engine.take_note() or "")
    checks = {check.name: check for check in satchel.housekeeping.doctor()}
    assert (checks["texts"].status, f"{column} of {ref} " in checks["texts"].detail) == ("failed", True)
    assert satchel.finding.rebuild(lambda *_: None) == 15
    assert len(satchel.entries.read()) == 2 - (ref == "e1")
    assert satchel.brief("developer", agent="b").items
    satchel.housekeeping.forget(ref)
    assert {check.status for check in satchel.housekeeping.doctor() if check.name == "texts"} == {"ok"}
