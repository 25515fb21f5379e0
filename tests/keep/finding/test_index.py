"""Whether the index agrees with what is kept, and how damage to it is told and repaired."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from index_tables import lose_text, replace_text
from keep.finding.story import Story
from satchel import Satchel
from satchel.keep.housekeeping import checks
from satchel.keep.housekeeping.checks import index_problems
from satchel.store.transaction import Transaction
from tables import in_one_test

if TYPE_CHECKING:
    from conftest import ManualClock


@pytest.fixture
def story(satchel: Satchel, clock: ManualClock) -> Story:
    """The story in a store of the test's own, to be damaged."""
    return Story(satchel, clock)


def untold(done: int, total: int) -> None:
    """Take the progress of a rebuild and say nothing of it."""


def problems(satchel: Satchel) -> list[str]:
    with satchel.workplace.engine.read() as transaction:
        return index_problems(transaction)


def test_the_index_of_a_whole_store_agrees_with_its_tables(story: Story) -> None:
    assert problems(story.satchel) == []


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (replace_text, "1 texts are not what the index holds, such as e3"),
        (lose_text, "1 documents are not indexed, the first is 3"),
        ("DELETE FROM documents WHERE id = :number", "1 items of kind entry are not in the documents"),
        ("DELETE FROM documents WHERE id = :number", "1 documents are indexed without an item, the first is 3"),
        (
            "UPDATE documents SET item_id = 999 WHERE id = :number",
            "1 items of kind entry are in the documents but gone",
        ),
    ],
)
def test_a_damaged_index_is_told_by_its_disagreements(
    story: Story, damage: str | Callable[[Transaction, int], None], problem: str
) -> None:
    with story.satchel.workplace.engine.write() as transaction:
        if isinstance(damage, str):
            transaction.run(damage, {"number": 3})
        else:
            damage(transaction, 3)
    assert problem in problems(story.satchel)
    story.satchel.finding.rebuild(untold)
    assert problems(story.satchel) == []


@pytest.mark.parametrize(("newest", "step"), [(True, 2), (False, 1)])
def test_of_a_large_store_a_sample_is_compared(
    story: Story, monkeypatch: pytest.MonkeyPatch, newest: bool, step: int
) -> None:
    with story.satchel.workplace.engine.write() as transaction:
        highest = transaction.one("SELECT max(id) FROM documents")
        assert highest is not None
        monkeypatch.setattr(checks, "_SAMPLE", highest[0] // step)
        assert index_problems(transaction, is_sample=True) == []
        odd = highest[0] - 1 + highest[0] % 2  # compared as one of the newest alone
        replace_text(transaction, odd if newest else 3)
        assert [one for one in index_problems(transaction, is_sample=True) if one.startswith("1 texts are not")] != []


@pytest.mark.parametrize("limit", ["_COMPARED_BYTES", "_COMPARED_WHOLE"])
def test_doctor_says_that_it_compared_a_sample(story: Story, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setattr(checks, limit, 0)
    (index,) = [check for check in story.satchel.housekeeping.doctor() if check.name == "index"]
    assert (index.status, "sample" in index.detail) == ("ok", True)


@in_one_test(
    "text", ["𞤀𞤁 word", "word 𬺰", "ẞ İstanbul ΟΔΟΣ", "Ꭰ Ა", "?!", "x" * 200_000, "全" * 20_000, "a\u0308\u0308 é"]
)
def test_no_text_of_any_script_is_taken_for_damage(satchel: Satchel, text: str) -> None:
    satchel.entries.write("discovery", text)
    assert problems(satchel) == []
