"""Forms of a word find each other, at a lower weight than the word itself."""

from __future__ import annotations

import pytest

from satchel import Satchel
from satchel.find.words import forms_of
from tables import in_one_test


@in_one_test(
    ("word", "others"),
    [
        ("expiry", ("expire",)),
        ("expires", ("expiry",)),
        ("expired", ("expiry",)),
        ("deliveries", ("deliver",)),
        ("failures", ("fail",)),
        ("failed", ("failure",)),
        ("cache", ()),
    ],
)
def test_forms_that_the_stemmer_keeps_apart_are_known(word: str, others: tuple[str, ...]) -> None:
    assert forms_of(word) == others


@pytest.mark.parametrize("word", ["expire", "expires", "expired", "expiry"])
def test_the_forms_of_a_word_find_each_other_the_word_itself_first(satchel: Satchel, word: str) -> None:
    for form in ("expire", "expires", "expired", "expiry"):
        satchel.entries.write("discovery", f"tokens {form} at midnight")
    results = satchel.finding.search(word).results
    assert len(results) == 4
    expected = {"e4"} if word == "expiry" else {"e1", "e2", "e3"}
    assert {one.ref for one in results[: len(expected)]} == expected


def test_quoted_words_have_no_other_forms(satchel: Satchel) -> None:
    satchel.entries.write("discovery", "the expiry is at midnight")
    assert not satchel.finding.search('"expire"').results
