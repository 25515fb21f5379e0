"""A page: what a line says, whole or as a title, and what fits. Tokens are words here."""

from __future__ import annotations

from typing import Any

from briefing_parts import candidate, words
from satchel.brief.briefing.page import OPENING, Page, line_of, title_line, title_of
from satchel.find.kind import Kind
from tables import in_one_test

LONG = "The first sentence is short. " + "word " * 99 + "end"


@in_one_test(
    ("given", "line"),
    [
        ({}, "e1: text 1"),
        ({"head": "src/a.py:3"}, "e1 src/a.py:3: text 1"),
        ({"priority": 4}, "e1 entries: text 1"),
        ({"priority": 4, "section": "rules"}, "c1: text 1"),
        ({"is_persons": True, "section": "rules"}, "c1*: text 1"),
        ({"text": " one\n\ttwo "}, "e1: one  two"),
        ({"reason": "it is slow"}, "e1: text 1"),
    ],
)
def test_a_line_names_the_item_and_says_its_text(given: dict[str, Any], line: str) -> None:
    assert line_of(candidate(**given)) == line


def test_a_line_gives_the_reason_where_there_is_room() -> None:
    assert line_of(candidate(reason="it is slow"), gives_reason=True) == "e1: text 1 (because: it is slow)"


@in_one_test(
    ("text", "title"),
    [
        ("short", "short"),
        ("One sentence. Another one.", "One sentence. …"),
        ("Version 1.2 is out, e.g. for Linux. Take it.", "Version 1.2 is out, e.g. for Linux. …"),
        ("一つ目。二つ目。", "一つ目。 …"),
        ("a heading\nand its text", "a heading …"),
    ],
)
def test_a_title_is_the_first_sentence(text: str, title: str) -> None:
    assert title_of(text) == title


def test_a_title_of_a_long_sentence_is_its_first_words() -> None:
    title = title_of("word " * 99)
    assert (title.endswith("word …"), len(title) < 100) == (True, True)


def test_the_title_of_a_decision_is_its_key() -> None:
    assert title_line(candidate(section="rules", kind=Kind.DECISION, head="retries", text=LONG)) == "d1 retries: …"


class TestAdding:
    def test_counts_the_line_and_its_heading_once(self) -> None:
        page = Page(words, 20, 20)
        for one in (candidate(1, text="a b c"), candidate(2, text="d"), candidate(3, "rules")):
            assert page.add(one)
        assert page.used == 5 + 2 + 4

    def test_leaves_the_page_as_it_is_where_it_does_not_fit(self) -> None:
        page = Page(words, 4, 4)
        assert (page.add(candidate(text="a b c")), page.used, page.items) == (False, 0, {})

    def test_shows_the_title_of_what_does_not_fit_whole(self) -> None:
        page, one = Page(words, 20, 20), candidate(text=LONG)
        assert page.add(one)
        assert page.lines([one]) == ["entries", "e1: The first sentence is short. …"]
        assert page.used == 1 + 7 + words(OPENING)

    def test_shows_what_is_too_long_for_one_item_as_a_title_unless_it_is_critical(self) -> None:
        page = Page(words, 500, 50)
        page.add_critical([candidate(2, text=LONG, priority=4)])
        page.add(candidate(1, text=LONG))
        assert {one.candidate.number: one.is_title for one in page.items.values()} == {2: False, 1: True}

    def test_shows_nothing_but_titles_of_what_does_not_bind_if_told_so(self) -> None:
        page = Page(words, 500, 500, titles_only=True)
        for one in (candidate(1, text=LONG), candidate(2, "rules", text=LONG), candidate(3, text="short")):
            page.add(one)
        assert [one.is_title for one in page.items.values()] == [True, False, False]

    def test_of_what_was_delivered_only_the_title_is_repeated_and_needs_no_hint(self) -> None:
        page, one = Page(words, 500, 500), candidate(1, "rules", text=LONG, priority=4, is_repeated=True)
        page.add_critical([one])
        assert page.lines([one]) == ["critical", "c1: The first sentence is short. …"]
        assert not page.has_titles

    def test_the_last_to_stay_are_the_critical_ones(self) -> None:
        ordered = [candidate(1, priority=4), candidate(3, "rules", priority=4), candidate(2, priority=3), candidate(4)]
        page = Page(words, 100, 100)
        page.add_critical(ordered[:2])
        for one in ordered[2:]:
            page.add(one)
        gone = []
        while page.remove_last(ordered):
            gone.append(sorted(one.candidate.number for one in page.items.values()))
        assert gone == [[1, 2, 3], [1, 3], [1], []]
