"""What a text may contain is found by the first look of a process too."""

from __future__ import annotations

from satchel.redaction import prefilter
from tables import in_one_test

_TEXTS = (
    *(f"{word} = x9" for word, _ in prefilter._PARTS),
    *("mysql -psecret", "curl\t-u me:secret", "a patch", "nothing here"),
)


@in_one_test("text", _TEXTS)
def test_the_first_look_finds_what_later_ones_find(text: str) -> None:
    prefilter._search()
    later = prefilter.places_of_words(text, text)
    prefilter._search.cache_clear()
    assert prefilter.places_of_words(text, text) == later
