"""How much of a list is shown, in words."""

from __future__ import annotations

from satchel.interfaces.text.parts import shown_of
from tables import in_one_test


@in_one_test(
    ("shown", "total", "said"),
    [
        (1, 1, "1 entry"),
        (20, 27, "20 of 27 entries"),
        (20, 10_000, "20 of 10,000 entries"),
        (20, 10_001, "20 of more than 10,000 entries"),
        (0, 20_000, "0 of 20,000 entries"),
    ],
)
def test_a_part_of_many_says_that_there_are_more(shown: int, total: int, said: str) -> None:
    assert shown_of(shown, total, "entry") == said
