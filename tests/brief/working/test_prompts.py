"""Which rules and decisions a prompt shows though it is not surely about them."""

from __future__ import annotations

import pytest

from satchel.brief.working.prompts import _may_bind
from satchel.find.about import RelatedItem
from satchel.find.kind import Kind


def related(strength: float, *, kind: Kind = Kind.CONSTRAINT, is_rare: bool) -> RelatedItem:
    return RelatedItem(kind, 1, strength, ("tag",), is_sure=False, is_likely=False, has_rare=is_rare)


@pytest.mark.parametrize(
    ("strength", "is_rare", "at_task", "at_short_prompt"),
    [
        (0.3, True, True, False),
        (1.0, True, True, True),
        (0.45, False, False, False),
        (0.5, False, True, False),
        (1.0, False, True, False),
    ],
)
def test_a_rare_word_suffices_for_a_task_and_for_a_short_prompt_if_it_is_strong(
    strength: float, is_rare: bool, at_task: bool, at_short_prompt: bool
) -> None:
    one = related(strength, is_rare=is_rare)
    assert _may_bind(one, strength, is_task=True) is at_task
    assert _may_bind(one, strength, is_task=False) is at_short_prompt


def test_it_has_half_of_the_strength_of_the_best() -> None:
    assert _may_bind(related(1.0, is_rare=True), 2.0, is_task=True)
    assert not _may_bind(related(0.99, is_rare=True), 2.0, is_task=True)


def test_a_note_has_to_be_what_the_prompt_is_about() -> None:
    assert not _may_bind(related(2.0, kind=Kind.ENTRY, is_rare=True), 2.0, is_task=True)
