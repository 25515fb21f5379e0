"""The page: what a line says, what fits, and in which order sections are filled. Tokens are words here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from briefing_parts import NOW, candidate, words
from satchel.base.vocabulary import SECTIONS
from satchel.brief.briefing.page import Page, fill, line_of, ranked
from satchel.brief.briefing.records import Candidate

EVEN = dict.fromkeys(SECTIONS, 1 / len(SECTIONS))
LONG = "word " * 99 + "end"


def filled(
    candidates: list[Candidate],
    room: int,
    shares: Mapping[str, float] = EVEN,
    *,
    max_chars: int | None = None,
    most_of_one: int | None = None,
    cuts_to_fit: bool = False,
    has_query: bool = False,
    least_priority: int = 1,
    max_packages: int = 3,
) -> Page:
    page = Page(words, room, max_chars, (), most_of_one, cuts_to_fit=cuts_to_fit)
    fill(
        page,
        ranked(candidates, NOW),
        shares,
        has_query=has_query,
        least_priority=least_priority,
        max_packages=max_packages,
    )
    return page


def numbers(page: Page) -> list[int]:
    return sorted(one.candidate.number for one in page.items.values())


class TestALine:
    @pytest.mark.parametrize(
        ("given", "line"),
        [
            ({}, "e1 text 1"),
            ({"head": "@ann src/a.py:3"}, "e1 @ann src/a.py:3: text 1"),
            ({"priority": 4}, "e1 entries: text 1"),
            ({"priority": 4, "head": "@ann"}, "e1 entries @ann: text 1"),
            ({"text": " one\n\ttwo "}, "e1 one  two"),
            ({"section": "rules", "text": "no"}, "c1 no"),
        ],
    )
    def test_names_the_item_and_says_its_text_on_one_line(self, given: dict[str, Any], line: str) -> None:
        assert line_of(candidate(**given), 400) == (line, False)

    def test_shortens_the_text_and_never_the_head_below_200_characters(self) -> None:
        line, is_shortened = line_of(candidate(head="h" * 150, text=LONG), 60)
        assert (line.startswith(f"e1 {'h' * 150}: word"), line[-7:], is_shortened) == (True, " word …", True)
        assert len(line) <= 3 + 150 + 2 + 60

    def test_shortens_a_head_that_is_longer(self) -> None:
        line, _ = line_of(candidate(head="head " * 100, text="x"), 60)
        assert (line.endswith("head …: x"), len(line) <= 3 + 200 + 3) == (True, True)

    def test_shows_of_what_the_query_found_the_part_that_answers_it(self) -> None:
        text = LONG + " needle " + LONG
        found, other = candidate(text=text, relevance=0.5), candidate(text=text)
        assert "needle" in line_of(found, 60, ("needle",))[0]
        assert "needle" not in line_of(other, 60, ("needle",))[0]


class TestAdding:
    def test_counts_the_line_and_its_heading_once(self) -> None:
        page = Page(words, 20, 400)
        took = [page.add(candidate(1, text="a b c")), page.add(candidate(2, text="d")), page.add(candidate(3, "rules"))]
        assert (took, page.used) == ([5, 2, 4], 11)

    def test_leaves_the_page_as_it_is_where_it_does_not_fit(self) -> None:
        page = Page(words, 4, 400)
        assert (page.add(candidate(text="a b c")), page.used, page.items, page.text([])) == (None, 0, {}, "")

    def test_says_what_is_shortened(self) -> None:
        page = Page(words, 500, 60)
        page.add(candidate(1, text=LONG))
        page.add(candidate(2, text=" short "))
        assert {one.candidate.number: one.is_shortened for one in page.items.values()} == {1: True, 2: False}

    def test_can_be_undone(self) -> None:
        page = Page(words, 20, 400)
        first, second = candidate(1), candidate(2)
        page.add(first)
        before = page.used
        page.add(second)
        page.remove(second.key)
        assert (page.used, numbers(page)) == (before, [1])
        page.remove(first.key)
        assert (page.used, page.text([first])) == (0, "")

    def test_the_last_to_stay_are_the_critical_ones(self) -> None:
        some = [candidate(1, priority=4), candidate(2, priority=3), candidate(3, "rules", priority=4), candidate(4)]
        ordered = ranked(some, NOW)
        page = filled(some, 100)
        gone = []
        while page.remove_last(ordered):
            gone.append(set(numbers(page)))
        # of the two critical ones the entry is the better: its kind comes first
        assert gone == [{1, 2, 3}, {1, 3}, {1}, set()]


class TestGrowing:
    def test_shows_more_of_the_most_important_while_there_is_room(self) -> None:
        some = [candidate(n, text=LONG, priority=4 - n) for n in (1, 2)]
        page = filled(some, 160, most_of_one=40)
        assert [one.is_shortened for one in page.items.values()] == [True, True]
        page.grow(ranked(some, NOW))
        assert [one.is_shortened for one in page.items.values()] == [False, True]
        assert page.used == words(page.text(some)) <= 160

    def test_skips_what_does_not_fit(self) -> None:
        some = [candidate(1, text=LONG, priority=3), candidate(2, text="w " * 40)]
        page = filled(some, 90, most_of_one=20)
        page.grow(ranked(some, NOW))
        assert page.used == words(page.text(some)) <= 90


class TestShortening:
    FACTS = " ".join(f"Fact {number} of the matter." for number in range(10, 30))

    def test_what_fits_is_shown_whole(self) -> None:
        some = [candidate(n, text=self.FACTS) for n in (1, 2)]
        page = filled(some, 250, most_of_one=120)
        assert [one.is_shortened for one in page.items.values()] == [False, False]
        assert "shortened" not in page.text(some)

    def test_what_does_not_fit_whole_is_left_out_unless_any_may_be_cut(self) -> None:
        some = [candidate(n, text=self.FACTS, priority=4 - n) for n in (1, 2)]
        assert numbers(filled(some, 150, most_of_one=110)) == [1]
        page = filled(some, 150, most_of_one=110, cuts_to_fit=True)
        assert {one.candidate.number: one.is_shortened for one in page.items.values()} == {1: False, 2: True}

    def test_what_takes_more_than_one_item_may_is_cut_at_a_sentence_and_the_call_is_said_once(self) -> None:
        some = [candidate(n, text=self.FACTS, priority=4 - n) for n in (1, 2)]
        page = filled(some, 100, most_of_one=40)
        lines = page.text(ranked(some, NOW)).splitlines()
        assert lines[-1] == '… shortened: get_items(["e1","e2"]) opens them'
        assert [line[-4:] for line in lines[1:3]] == ["r. …", "r. …"]
        assert page.used == words("\n".join(lines)) <= 100

    def test_one_item_is_opened_with_it(self) -> None:
        some = [candidate(1, text=self.FACTS)]
        page = filled(some, 100, most_of_one=40)
        assert page.text(some).splitlines()[-1] == '… shortened: get_items(["e1"]) opens it'

    def test_nothing_is_shown_of_what_has_no_room_for_a_sentence(self) -> None:
        some = [candidate(1, text="A first sentence of quite a few words, which does not fit. And a second one.")]
        assert numbers(filled(some, 14, cuts_to_fit=True)) == []

    def test_a_critical_item_keeps_its_end_and_loses_its_middle(self) -> None:
        some = [candidate(1, text=f"{self.FACTS} NEVER push to main.", priority=4)]
        page = filled(some, 60)
        line = page.text(some).splitlines()[1]
        assert line.startswith("e1 entries: Fact 10 of the matter.")
        assert line.endswith(" … NEVER push to main.")


class TestFilling:
    def test_shows_critical_items_first_under_a_heading_of_their_own(self) -> None:
        some = [candidate(1, "attempts"), candidate(2, "messages", priority=4), candidate(3, "rules")]
        assert filled(some, 100).text(ranked(some, NOW)).splitlines() == [
            "critical",
            "m2 messages: text 2",
            "attempts",
            "e1 text 1",
            "rules",
            "c3 text 3",
        ]

    def test_the_sections_stand_in_their_order_and_each_by_rank(self) -> None:
        some = [candidate(n, section, priority=n) for section in SECTIONS for n in (1, 3)]
        some = [one for one in some if one.section not in {"reviews", "entries"}]
        lines = filled(some, 1_000).text(ranked(some, NOW)).splitlines()
        assert [line for line in lines if " " not in line] == [s for s in SECTIONS if s not in {"reviews", "entries"}]
        assert lines[:3] == ["attempts", "e3 text 3", "e1 text 1"]

    def test_an_item_that_does_not_fit_is_skipped_and_not_the_end(self) -> None:
        some = [candidate(1, text=LONG, priority=3), candidate(2), candidate(3, text=LONG), candidate(4, priority=1)]
        assert numbers(filled(some, 20)) == [2, 4]

    def test_a_section_has_its_share_before_others_fill_the_rest(self) -> None:
        some = [candidate(n, "messages", priority=3) for n in range(1, 20)] + [candidate(50, "rules", priority=1)]
        page = filled(some, 20)
        assert [one.candidate.section for one in page.items.values()].count("rules") == 1

    def test_what_a_section_does_not_need_flows_to_the_others(self) -> None:
        some = [candidate(n, "messages") for n in range(1, 7)]
        shares = {**dict.fromkeys(SECTIONS, 0.0), "rules": 1.0}
        assert len(filled(some, 20, shares).items) == 6

    def test_without_any_shares_rank_alone_decides(self) -> None:
        some = [candidate(n, "messages", priority=3) for n in (1, 2)] + [candidate(3, "rules", priority=1)]
        assert numbers(filled(some, 8, dict.fromkeys(SECTIONS, 0.0))) == [1, 2]

    @pytest.mark.parametrize("most", [0, 1, 3])
    def test_no_more_packages_than_allowed_critical_ones_apart(self, most: int) -> None:
        some = [candidate(n, "packages") for n in range(1, 6)]
        some += [candidate(n, "packages", priority=4) for n in (7, 8)]
        assert numbers(filled(some, 1_000, max_packages=most)) == [*range(1, most + 1), 7, 8]

    def test_a_package_that_does_not_fit_does_not_count(self) -> None:
        some = [candidate(1, "packages", text=LONG, priority=3), candidate(2, "packages")]
        assert numbers(filled(some, 20, max_packages=1)) == [2]

    @pytest.mark.parametrize(("least", "shown"), [(1, [1, 2, 3, 4]), (3, [3, 4]), (4, [4])])
    def test_nothing_below_the_least_priority(self, least: int, shown: list[int]) -> None:
        some = [candidate(n, priority=n) for n in (1, 2, 3, 4)]
        assert numbers(filled(some, 100, least_priority=least)) == shown

    def test_with_a_query_what_answers_it_comes_before_what_is_merely_urgent(self) -> None:
        some = [candidate(1, priority=3), candidate(2, priority=1, relevance=0.1)]
        assert numbers(filled(some, 5, has_query=True)) == [2]
        some = [candidate(1, priority=3), candidate(2, priority=1)]
        assert numbers(filled(some, 5, has_query=False)) == [1]

    def test_critical_items_are_whole_where_all_of_them_fit(self) -> None:
        some = [candidate(n, text=LONG, priority=4) for n in (1, 2)]
        page = filled([*some, candidate(9)], 220, most_of_one=70)
        assert {one.candidate.number: one.is_shortened for one in page.items.values()} == {1: False, 2: False, 9: False}

    def test_where_they_do_not_the_last_are_shortened_so_that_all_are_shown(self) -> None:
        some = [candidate(n, text=LONG, priority=4) for n in (1, 2, 3)]
        page = filled(some, 160)
        assert {one.candidate.number: one.is_shortened for one in page.items.values()} == {1: False, 2: True, 3: True}

    def test_a_critical_item_that_fits_only_shorter_is_shown_shorter(self) -> None:
        some = [candidate(1, text=LONG, priority=4)]
        assert numbers(filled(some, 25)) == [1]

    def test_a_critical_item_that_fits_at_no_length_leaves_room_for_the_next(self) -> None:
        some = [candidate(1, text="w " * 30, priority=4, is_of_task=True), candidate(2, text="w", priority=4)]
        assert numbers(filled(some, 12)) == [2]


some_candidates = st.lists(
    st.builds(
        candidate,
        st.integers(1, 40),
        st.sampled_from(SECTIONS),
        priority=st.integers(1, 4),
        text=st.sampled_from(["x", "a few words more", LONG, LONG * 3]),
        head=st.sampled_from(["", "by someone"]),
        relevance=st.sampled_from([0.0, 0.2, 1.0]),
        is_own=st.booleans(),
    ),
    max_size=25,
    unique_by=lambda one: one.key,
)


@given(
    some_candidates,
    st.integers(0, 400),
    st.sampled_from([60, 200, None]),
    st.booleans(),
    st.integers(0, 3),
    st.sampled_from([None, 30, 150]),
    st.booleans(),
)
def test_a_page_is_never_fuller_than_its_room(
    some: list[Candidate],
    room: int,
    max_chars: int | None,
    has_query: bool,
    max_packages: int,
    most_of_one: int | None,
    cuts_to_fit: bool,
) -> None:
    page = filled(
        some,
        room,
        max_chars=max_chars,
        has_query=has_query,
        max_packages=max_packages,
        most_of_one=most_of_one,
        cuts_to_fit=cuts_to_fit,
    )
    page.grow(ranked(some, NOW))
    assert page.used == words(page.text(ranked(some, NOW))) <= room
    packages = [one for one in page.items.values() if one.candidate.section == "packages"]
    assert sum(not one.candidate.is_critical for one in packages) <= max_packages


sentences = st.lists(st.sampled_from(["NEVER", "push", "to", "main", "unless", "asked"]), min_size=2, max_size=20).map(
    lambda some: f"{' '.join(some).capitalize()}."
)


@given(st.lists(sentences, min_size=1, max_size=12), some_candidates, st.integers(0, 200), st.booleans())
def test_the_last_sentence_of_a_critical_item_stands_wherever_there_is_room_for_it(
    said: list[str], some: list[Candidate], room: int, cuts_to_fit: bool
) -> None:
    rule = candidate(99, "rules", text=" ".join(said), priority=4)
    others = [one for one in some if not one.is_critical]
    page = filled([rule, *others], room, cuts_to_fit=cuts_to_fit, most_of_one=room // 3)
    shortest = f'critical\nc99 rules: … {said[-1]}\n… shortened: get_items(["c99"]) opens it'
    if words(shortest) <= room:
        line = next(line for line in page.text(ranked([rule, *others], NOW)).splitlines() if line.startswith("c99 "))
        assert line.endswith(said[-1])


@given(some_candidates, st.permutations(range(25)))
def test_the_order_of_what_was_gathered_changes_nothing(some: list[Candidate], order: list[int]) -> None:
    other = [some[place] for place in order if place < len(some)]
    assert filled(some, 60).text(ranked(some, NOW)) == filled(other, 60).text(ranked(other, NOW))
