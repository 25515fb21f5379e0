from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from examples import examples
from satchel import NewEntry, Satchel, open_satchel
from tables import in_one_test

NOTES = {
    "auth": "Auth middleware lives in src/auth.py and checks every token",
    "foo": "the foo-bar package was renamed",
    "line": "src/a.ts:42 throws when the list is empty",
    "cpp": "the C++ extension needs a newer compiler",
    "dont": "don't retry on 409",
    "quote": 'he said "half a quote is enough" once',
    "git": "git commit -m fails in the hook",
    "cjk": "漢字 の 変換",
    "emoji": "🎒 packs things",
    "sharp": "Die Straße ist gesperrt",
    "accent": "naïve café",
}


@pytest.fixture
def notes(satchel: Satchel) -> Satchel:
    satchel.entries.write_many([NewEntry("discovery", text) for text in NOTES.values()])
    return satchel


@in_one_test(
    ("question", "note"),
    [
        ("where is the auth middleware?", "auth"),
        ("which file checks tokens", "auth"),
        ("foo-bar", "foo"),
        ("src/a.ts:42", "line"),
        ("C++", "cpp"),
        ("don't retry", "dont"),
        ('"half a quote', "quote"),
        ("git commit -m", "git"),
        ("漢字", "cjk"),
        ("🎒 packs", "emoji"),
        ("Straße", "sharp"),
        ("STRAßE", "sharp"),
        ("naive cafe", "accent"),
        ("nai\u0308ve", "accent"),
        ("renaming packages", "foo"),
    ],
)
def test_what_a_person_types_finds_its_note_first(notes: Satchel, question: str, note: str) -> None:
    page = notes.entries.read(query=question)
    assert page.total >= 1
    assert page.entries[0].content == NOTES[note]


@in_one_test(
    "query",
    [
        "foo-bar",
        "src/a.ts:42",
        "C++",
        "don't",
        '"half a quote',
        'two "" quotes "',
        "git commit -m",
        "漢字",
        "🎒 packs",
        "NEAR(foo bar)",
        "foo *",
        "^foo",
        "text:",
        "scope: p1",
        "parts: x",
        "{text parts}: foo",
        "-foo",
        "AND OR NOT",
        "foo AND",
        "NOT foo",
        "(foo",
        "foo) OR (bar",
        "rowid",
        "documents_fts",
        "p1 r1 k1",
        "%foo_",
        "'; DROP TABLE context; --",
        "\\",
        "\ufffe foo",
        "foo\0bar",
        "foo\ud800bar",
        "x" * 65_536,
        "foo " * 16_384,
        " ".join(f"word{number}" for number in range(7_000)),
        "𞓐",
    ],
)
def test_no_text_is_an_error(notes: Satchel, query: str) -> None:
    for order in (None, "asc"):
        page = notes.entries.read(query=query, order=order, limit=500)
        assert page.total == len(page)


@in_one_test("query", ["?", "...", "🎒", "* ^ : -", "\ud800", "\0", "_"])
def test_a_query_without_a_word_finds_nothing_and_says_so(notes: Satchel, query: str) -> None:
    page = notes.entries.read(query=query)
    assert (page.entries, page.total) == ((), 0)
    assert page.notes == (f"{query!r} holds no word to search for",)


@pytest.mark.parametrize("query", ["the", "who are you"])
def test_a_query_of_stop_words_alone_searches_for_them(satchel: Satchel, query: str) -> None:
    satchel.entries.write("discovery", "you are the one who knows")
    satchel.entries.write("discovery", "nothing of it")
    page = satchel.entries.read(query=query, order="asc")
    assert ([entry.content for entry in page], page.notes) == (["you are the one who knows"], ())


@in_one_test("query", ["p1", "r1", "k1", "scope", "text", "parts"])
def test_scope_and_column_names_are_no_words_of_a_note(notes: Satchel, query: str) -> None:
    assert notes.entries.read(query=query).total == 0


@pytest.fixture
def ranked(satchel: Satchel) -> Satchel:
    """Notes in which the one that says most about the cache is neither the first nor the last."""
    for text in ("the parser reads the cache file once a day", "cache cache cache", "a cache of many other words"):
        satchel.entries.write("discovery", text)
    return satchel


def test_a_search_is_by_relevance(ranked: Satchel) -> None:
    page = ranked.entries.read(query="cache")
    assert page.order == "relevance"
    assert page.entries[0].content == "cache cache cache"
    scores = [entry.score or 0 for entry in page]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > scores[-1] > 0


@pytest.mark.parametrize(("order", "name"), [("asc", "oldest"), ("desc", "newest")])
def test_an_order_that_was_asked_for_comes_before_relevance(ranked: Satchel, order: str, name: str) -> None:
    page = ranked.entries.read(query="cache", order=order)
    ids = [entry.id for entry in page]
    assert page.order == name
    assert ids == sorted(ids, reverse=order == "desc")
    assert all(entry.score for entry in page)


def test_equally_relevant_notes_come_newest_first(satchel: Satchel) -> None:
    satchel.entries.write_many([NewEntry("discovery", "same words")] * 4)
    ids = [entry.id for entry in satchel.entries.read(query="words")]
    assert ids == sorted(ids, reverse=True)


def test_any_of_the_words_is_enough_and_more_are_better(satchel: Satchel) -> None:
    for text in ("alpha", "beta", "alpha beta", "gamma"):
        satchel.entries.write("discovery", text)
    found = [entry.content for entry in satchel.entries.read(query="alpha beta")]
    assert found[0] == "alpha beta"
    assert sorted(found) == ["alpha", "alpha beta", "beta"]


@pytest.fixture(scope="module")
def shared() -> Iterator[Satchel]:
    """One store for all the examples of a property."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / ".git").mkdir()
        with open_satchel(cwd=folder, environ={}, settings={"store.durability": "relaxed"}) as satchel:
            satchel.entries.write_many([NewEntry("discovery", text) for text in NOTES.values()])
            yield satchel


ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()), min_size=1)
SYNTAX = st.lists(
    st.sampled_from(['"', "(", ")", "*", "^", ":", "-", "+", "{", "}", "NEAR", "AND", "OR", "NOT", "foo", " "])
)


@settings(deadline=None, max_examples=examples(250))
@given(ANY_TEXT | SYNTAX.map("".join))
def test_any_text_can_be_searched_for(shared: Satchel, query: str) -> None:
    if query.strip():
        page = shared.entries.read(query=query, limit=500)
        assert page.total == len(page)


@settings(deadline=None, max_examples=examples(60))
@given(ANY_TEXT)
def test_any_text_can_be_written_and_is_read_back_as_it_was_kept(shared: Satchel, text: str) -> None:
    written = shared.entries.write("error", f"x {text}")
    # a text of an earlier example is counted, not written again
    (read,) = shared.entries.read(after_seq=written.seq - 1, types=["error"], limit=1)
    assert read.content == written.content


# The letters of Latin, Greek and Cyrillic with accents, and Han. Beyond them the index's own table of characters is
# older than Python's: newer symbols count as letters there, and a newer capital (U+037F) has no small letter.
LETTERS = st.characters(
    max_codepoint=0x527, exclude_categories=("Cc", "Cn"), exclude_characters="\u037f"
) | st.characters(min_codepoint=0x4E00, max_codepoint=0x9F00)


@settings(deadline=None, max_examples=examples(150))
@given(st.text(LETTERS, min_size=1, max_size=30))
@example("0İ")
def test_a_note_is_found_by_its_own_text(shared: Satchel, text: str) -> None:
    if not any(character.isalnum() for character in text):
        return
    written = shared.entries.write("decision", text)
    found = shared.entries.read(query=text, types=["decision"], limit=500)
    assert written.id in [entry.id for entry in found]
