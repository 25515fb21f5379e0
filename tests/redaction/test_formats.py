"""Looking only where a literal stands finds what searching the whole text finds."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redaction.named_samples import SECRETISH
from redaction.secret_samples import ALNUM, TOKENS, chars
from satchel.redaction import formats
from satchel.redaction.formats import LITERALS, TOKEN_FORMATS, compiled, matches
from satchel.redaction.prefilter import long_words

_WITH_PLACE = [entry for entry in TOKEN_FORMATS if entry.before is not None]
_NEAR_MISSES = st.builds(
    lambda token, start, end: token[start : len(token) - end],
    st.sampled_from([token for _, token in TOKENS]),
    st.integers(0, 40),
    st.integers(0, 40),
)
_PADDING = st.sampled_from(
    ["", "-", " ", "\n", "\\n", "x", "a b c d e f g h i j k l m n o p q r s t u v w x y z " * 40]
)
_LITERAL = st.sampled_from([literal for literal, _ in LITERALS])
_TEXTS = st.lists(st.one_of(SECRETISH, _NEAR_MISSES, _PADDING, _LITERAL), max_size=6).map("".join)


def places(found: list[re.Match[str]]) -> list[tuple[int, int]]:
    return [match.span() for match in found]


# the first text compiles all patterns
@settings(deadline=None)
@given(_TEXTS)
def test_a_search_at_the_literals_finds_what_a_whole_search_finds(text: str) -> None:
    words = long_words(text)
    for entry in _WITH_PLACE:
        present = [literal for literal in entry.literals if literal in words]
        assert places(list(matches(entry, present, text))) == places(list(compiled(entry).finditer(text)))


def test_one_token_after_another_is_found_as_by_a_whole_search() -> None:
    missed = []
    for kind, token in TOKENS:
        for entry in (entry for entry in _WITH_PLACE if entry.kind == kind):
            for text in (token * 3, " ".join([token] * 3)):
                whole = places(list(compiled(entry).finditer(text)))
                if places(list(matches(entry, list(entry.literals), text))) != whole:
                    missed.append((kind, text))
    assert missed == []


def test_a_token_that_begins_where_another_ends_is_found() -> None:
    (entry,) = [entry for entry in TOKEN_FORMATS if entry.kind == "azure-storage-key"]
    token = "AccountKey=" + chars(ALNUM, 86)
    assert [match[0] for match in matches(entry, ["AccountKey="], token * 2)] == [token, token]


class Watched:
    """A pattern that finds nothing and notes how it is asked."""

    def __init__(self) -> None:
        self.asked: list[int | str] = []

    def match(self, _: str, at: int) -> None:
        self.asked.append(at)

    def finditer(self, _: str) -> Iterator[re.Match[str]]:
        self.asked.append("whole")
        return iter(())


@pytest.mark.parametrize(
    ("text", "asked"),
    [("x" * 1_000 + ":AA" + "x" * 1_000, [990, 991, 992]), (":AA" * 1_000, ["whole"])],
    ids=["a long text at the places of its literal", "a text full of literals as a whole"],
)
def test_what_is_searched(monkeypatch: pytest.MonkeyPatch, text: str, asked: list[int | str]) -> None:
    watched = Watched()
    monkeypatch.setattr(formats, "compiled", lambda _: watched)
    (entry,) = [entry for entry in TOKEN_FORMATS if entry.kind == "telegram-token"]
    assert list(matches(entry, [":AA"], text)) == []
    assert watched.asked == asked
