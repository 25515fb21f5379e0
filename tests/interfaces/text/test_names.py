"""Names of persons in answers for people."""

from __future__ import annotations

from satchel.base.paging import Page
from satchel.interfaces.text.parts import with_shown_names
from satchel.keep.corrections.log import Confirmed
from satchel.keep.pins import Pin

PIN = Pin("e1", "entry", "by human:ann", "human:ann", 1)


def test_persons_are_named_without_their_prefix_in_every_record_and_no_text_changes() -> None:
    page = with_shown_names(Page((PIN,), 1, 0, 20))
    assert [(one.by, one.text) for one in page] == [("ann", "by human:ann")]


def test_each_of_several_names_is_shown() -> None:
    confirmed = Confirmed("e1", "entry", ("human:Ann Smith", "dev", "human"), "it is so")
    assert with_shown_names((confirmed,))[0].by == ("Ann Smith", "dev", "human")


def test_an_answer_without_persons_is_the_same() -> None:
    answer = Pin("e1", "entry", "text", "dev", 1)
    assert with_shown_names(answer) is answer
