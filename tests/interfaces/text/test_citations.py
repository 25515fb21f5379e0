"""What became of cited files, as each interface shows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from satchel import Satchel
from satchel.interfaces.text.entries import entries_text
from satchel.interfaces.text.items import items_text
from satchel.interfaces.text.json import fields_of
from satchel.interfaces.text.parts import place_text
from satchel.interfaces.text.search import results_text
from satchel.keep import citations


@pytest.fixture(autouse=True)
def moved(satchel: Satchel, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two notes: the lines of one have moved, the file of the other is gone."""
    monkeypatch.setattr(citations, "_comparisons", {})
    (project / "a.py").write_text("one = 1\ntwo = 2\n")
    (project / "b.py").write_text("b\n")
    satchel.entries.write("discovery", "what one and two are", file="a.py:1-2")
    satchel.entries.write("discovery", "what three and two are", file="b.py")
    (project / "a.py").write_text("\n\none = 1\ntwo = 2\n")
    (project / "b.py").unlink()


def test_a_list_says_it_behind_the_place(satchel: Satchel) -> None:
    text = entries_text(satchel.entries.read())
    assert "file:a.py:1-2 (moved to line 3)" in text
    assert "file:b.py (file gone)" in text


def test_a_search_says_it(satchel: Satchel) -> None:
    text = results_text(satchel.finding.search("two"))
    assert "file:a.py:1-2 (moved to line 3)" in text
    assert "file:b.py (file gone)" in text


def test_an_item_in_full_says_it(satchel: Satchel) -> None:
    assert "file:a.py:1-2 (moved to line 3)" in items_text(satchel.items.read(["e1"]))


def test_json_says_all_that_is_known(satchel: Satchel) -> None:
    records: tuple[Any, ...] = satchel.entries.read(order="asc").entries
    assert [fields_of(one)["citation"] for one in records] == [{"state": "moved", "line": 3}, {"state": "gone"}]
    assert fields_of(records[0])["last_line"] == 2


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (("a.py", 1, 2), "file:a.py:1-2"),
        (("a.py", 1, None), "file:a.py:1"),
        (("a.py:1-2", None, None), 'file:"a.py:1-2"'),
    ],
)
def test_a_name_cannot_pass_for_lines(place: tuple[str, int | None, int | None], text: str) -> None:
    assert place_text(*place) == text
