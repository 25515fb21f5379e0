from __future__ import annotations

from itertools import pairwise

import pytest

from satchel.find import scoring
from satchel.find.scoring import Matched, Surroundings, term_scores, with_surroundings


def matched(document: int, *counts: int, length: int = 10) -> Matched:
    """A document whose terms occur so often: for each term in the text, then in the parts."""
    return document, bytes((length >> 8, length & 255, *counts))


def scores_of(*found: Matched, weights: tuple[float, ...] = (1.0,), population: int = 1_000) -> dict[int, list[float]]:
    return term_scores(found, weights, population)[0]


def test_a_term_that_occurs_more_often_scores_higher_and_ever_less_so() -> None:
    scores = [values[0] for values in scores_of(*(matched(times, times, 0) for times in range(1, 20))).values()]
    gains = [after - before for before, after in pairwise(scores)]
    assert scores == sorted(set(scores))
    assert gains == sorted(gains, reverse=True)


def test_a_rarer_term_scores_higher() -> None:
    common = [matched(number, 1, 0, 0, 0) for number in range(2, 12)]
    scores = scores_of(matched(1, 1, 0, 1, 0), *common, weights=(1.0, 1.0))
    assert scores[1][1] > scores[1][0] > 0


def test_a_longer_text_scores_lower() -> None:
    scores = scores_of(matched(1, 1, 0, length=5), matched(2, 1, 0, length=50), matched(3, 1, 0, length=5_000))
    assert scores[1] > scores[2] > scores[3]


def test_the_two_bytes_of_the_length_are_read_as_one_number() -> None:
    scores = scores_of(matched(1, 1, 0, length=255), matched(2, 1, 0, length=256))
    assert scores[1][0] == pytest.approx(scores[2][0], rel=0.01)


def test_a_match_in_the_parts_counts_less_than_one_in_the_text() -> None:
    scores = scores_of(matched(1, 1, 0), matched(2, 0, 1), matched(3, 0, 2))
    assert scores[1] > scores[2] > [0.0]
    assert scores[3] == scores[1], "two matches in the parts are worth one in the text"


def test_a_match_in_text_or_parts_makes_a_term_less_rare() -> None:
    idf_of = {parts: term_scores([matched(1, 1, 0), matched(2, 0, parts)], (1.0,), 1_000)[1] for parts in (0, 1)}
    assert idf_of[1] < idf_of[0]


def test_a_heavier_term_scores_higher_in_proportion() -> None:
    light, heavy = scores_of(matched(1, 1, 0, 1, 0), weights=(1.0, 2.0))[1]
    assert heavy == pytest.approx(2 * light)


def test_a_term_that_is_not_there_scores_nothing() -> None:
    assert scores_of(matched(1, 1, 0, 0, 0), weights=(1.0, 1.0))[1][1] == 0


def test_no_score_is_negative_even_where_everything_matches() -> None:
    assert all(values[0] > 0 for values in scores_of(matched(1, 1, 0), matched(2, 9, 0), population=0).values())


def test_a_neighbour_lends_a_share_and_the_next_one_less() -> None:
    spread = with_surroundings({1: [8.0]}, [Surroundings(1, (1, "l:a"), ((1, 2), (2, 3)))])
    near, far = scoring.NEIGHBOUR_WEIGHTS
    assert [spread[number][0] for number in (1, 2, 3)] == [8.0, 8.0 * near, 8.0 * far]


def test_where_only_time_holds_entries_together_neighbours_lend_less() -> None:
    spread = with_surroundings({1: [8.0]}, [Surroundings(1, None, ((1, 2), (2, 3)))])
    near, far = scoring.LOOSE_NEIGHBOUR_WEIGHTS
    assert [spread[number][0] for number in (1, 2, 3)] == [8.0, 8.0 * near, 8.0 * far]
    assert scoring.NEIGHBOUR_WEIGHTS > scoring.LOOSE_NEIGHBOUR_WEIGHTS


def test_each_term_counts_with_the_best_evidence_and_not_with_the_sum() -> None:
    places = [Surroundings(1, (1, "l:a"), ((1, 2),)), Surroundings(3, (1, "l:a"), ((1, 2),))]
    spread = with_surroundings({1: [8.0, 0.0], 2: [1.0, 3.0], 3: [6.0, 4.0]}, places)
    assert spread[2][:2] == [8.0 * scoring.NEIGHBOUR_WEIGHTS[0], 3.0]


def test_what_an_entry_has_itself_is_never_lessened_by_its_neighbours() -> None:
    spread = with_surroundings({1: [8.0], 2: [1.0]}, [Surroundings(2, None, ((1, 1),)), Surroundings(1, None, ())])
    assert spread[1][0] == 8.0


def test_a_segment_lends_a_share_of_the_best_of_each_term_once() -> None:
    places = [Surroundings(1, (1, "l:a"), ()), Surroundings(2, (1, "l:a"), ()), Surroundings(3, (2, "l:a"), ())]
    spread = with_surroundings({1: [8.0, 0.0], 2: [2.0, 4.0], 3: [1.0, 0.0]}, places)
    assert spread[1][2] == spread[2][2] == pytest.approx(scoring.SEGMENT_WEIGHT * 12)
    assert spread[3][2] == pytest.approx(scoring.SEGMENT_WEIGHT * 1), "the same loop's name in another run is another"


def test_what_only_time_holds_together_has_no_segment() -> None:
    assert with_surroundings({1: [8.0]}, [Surroundings(1, None, ((1, 2),))]) == {
        1: [8.0, 0.0],
        2: [8.0 * scoring.LOOSE_NEIGHBOUR_WEIGHTS[0], 0.0],
    }


class TestHoldingMost:
    @staticmethod
    def kept(
        things: list[list[int]], *found: Matched, names: int = 0, share: float = 0.5, population: int = 100
    ) -> list[int]:
        return [document for document, _ in scoring.with_most(found, things, names, population, share)]

    def test_a_population_that_is_counted_too_low_leaves_nothing_out(self) -> None:
        assert self.kept([[0]], matched(1, 1, 0), matched(2, 1, 0), population=0) == [1, 2]

    def test_of_two_words_the_rarer_is_enough_where_something_holds_both(self) -> None:
        common = [matched(number, 1, 0, 0, 0) for number in range(3, 9)]
        found = (matched(1, 1, 0, 1, 0), matched(2, 0, 0, 1, 0), *common)
        assert self.kept([[0], [1]], *found) == [1, 2]

    def test_where_nothing_holds_more_each_word_is_enough(self) -> None:
        assert self.kept([[0], [1]], matched(1, 1, 0, 0, 0), matched(2, 0, 0, 0, 1)) == [1, 2]

    def test_ways_to_write_one_thing_are_worth_as_much_as_one(self) -> None:
        found = matched(1, 1, 0, 0, 0, 1, 0), matched(2, 0, 0, 1, 0, 0, 0)
        assert self.kept([[0, 1], [2]], *found, share=0.4) == [1, 2]
        assert self.kept([[0], [1], [2]], *found, share=0.6) == [1]

    def test_where_names_occur_one_of_them_is_needed(self) -> None:
        found = matched(1, 1, 0, 0, 0), matched(2, 0, 0, 1, 0)
        assert self.kept([[0], [1]], *found, names=1) == [1]
        assert self.kept([[0], [1]], *found, names=2) == [1, 2]

    def test_where_no_name_occurs_among_what_passes_the_filters_none_is_needed(self) -> None:
        assert self.kept([[0], [1]], matched(1, 0, 0, 1, 0), names=1) == [1]


class TestNearBest:
    def test_what_is_far_below_the_best_is_left_out(self) -> None:
        least = 10 * scoring.LEAST_OF_BEST
        own = {1: [10.0], 2: [least], 3: [0.9 * least]}
        totals = {document: sum(values) for document, values in own.items()}
        assert scoring.near_best(totals, own, {}) == {1: 10.0, 2: least}

    def test_a_share_of_the_best_of_its_own_terms_is_enough(self) -> None:
        assert scoring.near_best({1: 10.0, 2: 1.0}, {1: [4.0], 2: [1.0]}, {}) == {1: 10.0, 2: 1.0}

    def test_only_what_stands_next_to_the_best_is_brought_by_them(self) -> None:
        near = 10 * scoring.NEIGHBOUR_WEIGHTS[0]
        totals = {1: 10.0, 2: near, 3: near * 0.7}
        evidence = {document: [1.0, 1.0] for document in totals}
        assert scoring.near_best(totals, {1: [10.0]}, evidence).keys() == {1, 2}

    def test_where_only_time_holds_them_together_less_is_enough(self) -> None:
        near = 10 * scoring.LOOSE_NEIGHBOUR_WEIGHTS[0]
        totals = {1: 10.0, 2: near, 3: near * 0.7}
        evidence = {document: [1.0, 0.0] for document in totals}
        assert scoring.near_best(totals, {1: [10.0]}, evidence).keys() == {1, 2}
