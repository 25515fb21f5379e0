"""What asks side by side: in which order it asks and reads, where answers are there at once and where they are not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from satchel.store.transaction import Asking, Row, answer, both, set_of, together
from tables import in_one_test


class _Answers:
    """Rows that are there at once, or once any of those that were asked for before is read."""

    def __init__(self, place: str, said: list[str], sent: list[_Answers], *, at_once: bool) -> None:
        self._place, self._said, self._sent = place, said, sent
        self.is_here = at_once
        said.append(f"ask {place}")
        sent.append(self)

    def all(self) -> list[Row]:
        self._said.append(f"read {self._place}" if self.is_here else f"send and read {self._place}")
        for one in () if self.is_here else self._sent:
            one.is_here = True
        return [(self._place,)]

    def one(self) -> Row | None:
        return self.all()[0]


class _Asked:
    """Askings of several steps, and what they did."""

    def __init__(self, *, at_once: bool) -> None:
        self.said: list[str] = []
        self._at_once = at_once
        self._sent: list[_Answers] = []

    def asking(self, name: str, steps: int = 1) -> Asking[str]:
        for step in range(1, steps + 1):
            answers = _Answers(f"{name}{step}", self.said, self._sent, at_once=self._at_once)
            yield answers
            answers.all()
        return name.upper()


def test_all_ask_before_the_first_reads_where_answers_are_sent_for() -> None:
    asked = _Asked(at_once=False)
    together((asked.asking("a", 2), asked.asking("b"), asked.asking("c", 2)))
    assert asked.said == [
        *("ask a1", "ask b1", "ask c1"),
        *("send and read a1", "ask a2", "read b1", "read c1", "ask c2"),
        *("send and read a2", "read c2"),
    ]


def test_each_ends_before_the_next_begins_where_answers_are_there_at_once() -> None:
    asked = _Asked(at_once=True)

    def askings() -> Iterator[Asking[str]]:
        yield asked.asking("a", 2)
        asked.said.append("a has ended")
        yield asked.asking("b")

    together(askings())
    assert asked.said == ["ask a1", "read a1", "ask a2", "read a2", "a has ended", "ask b1", "read b1"]


@pytest.mark.parametrize("at_once", [True, False])
def test_what_is_made_is_returned(at_once: bool) -> None:
    asked = _Asked(at_once=at_once)
    assert answer(asked.asking("a", 3)) == "A"
    assert both(asked.asking("b"), asked.asking("c", 2)) == ("B", "C")


@in_one_test("values", [["1) OR (1"], [1, "2"], [b"u", "x"]])
def test_a_list_of_numbers_takes_no_text(values: list[Any]) -> None:
    with pytest.raises(TypeError):
        set_of(values)
