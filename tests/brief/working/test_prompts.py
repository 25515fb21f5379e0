"""What counts for an item at a prompt besides the words that it shares with it."""

from __future__ import annotations

from satchel.brief.working.prompts import _LEAST_PULL, Item, _pull
from satchel.find.kind import Kind
from tables import in_one_test


def item(kind: Kind, strength: float, head: str = "") -> Item:
    return Item(kind, 1, 1, head, "a text", strength)


@in_one_test(
    ("kind", "strength", "is_shown"),
    [
        (Kind.CONSTRAINT, 0.5, True),
        (Kind.CONSTRAINT, 0.4, False),
        (Kind.DECISION, 0.9, True),
        (Kind.DECISION, 0.8, False),
        (Kind.ERROR_PATTERN, 1.0, True),
        (Kind.ERROR_PATTERN, 0.9, False),
        (Kind.ENTRY, 1.0, True),
        (Kind.ENTRY, 0.9, False),
    ],
)
def test_rules_need_to_share_less_than_decisions_fixes_and_notes(kind: Kind, strength: float, is_shown: bool) -> None:
    assert (_pull(item(kind, strength), ["cookie"]) >= _LEAST_PULL) is is_shown


def test_a_word_in_the_key_of_a_decision_counts_more_than_one_in_its_value() -> None:
    named = item(Kind.DECISION, 0.7, "d12* res.cookie.maxAge")
    assert _pull(named, ["cookie"]) >= _LEAST_PULL > _pull(named, ["header"])
    assert _pull(item(Kind.DECISION, 0.5, "d12* res.cookie.maxAge"), ["cookie", "age"]) >= _LEAST_PULL


def test_more_than_two_words_of_a_key_count_as_two() -> None:
    named = item(Kind.DECISION, 0.0, "d12* res.cookie.maxAge")
    assert _pull(named, ["cookie", "max", "age"]) == _pull(named, ["max", "age"])
