"""The text of a briefing: its frame, what was left out, and what gives way to what. Tokens are words here."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from briefing_parts import KIND_OF, NOW, candidate, collected, words
from satchel.brief.briefing.collecting import Collected
from satchel.brief.briefing.composing import BIND, NOR_NOTES, PERSONS, REPORTS, Composed, compose
from satchel.brief.briefing.page import OPENING, title_line
from satchel.brief.briefing.records import EMERGENCY, NORMAL, ZONES, Candidate, Zone, zone_of
from satchel.brief.loop_history import LoopStatus
from satchel.find.kind import Kind
from tables import in_one_test

STUCK = LoopStatus(is_stuck=True, is_repeating=False, iterations=4)
REPEATING = LoopStatus(is_stuck=False, is_repeating=True, iterations=2)
SECTIONS = tuple(KIND_OF)
LONG = "word " * 99 + "end"


def composed(what: Collected, budget: int, zone: Zone = NORMAL) -> Composed:
    return compose(what, words, budget, zone, now=NOW)


def refs(one: Composed) -> list[str]:
    return [shown.candidate.ref for shown in one.items]


def left_out(one: Composed) -> list[str]:
    return [str(left) for left in one.left_out]


class TestTheFrame:
    def test_says_once_that_these_are_reports_of_others(self) -> None:
        assert composed(collected([candidate()]), 500).text.splitlines() == [REPORTS, "entries", "e1: text 1"]

    def test_says_what_binds_only_where_something_does(self) -> None:
        rule = candidate(9, section="rules")
        assert composed(collected([rule]), 300).text.splitlines()[0] == BIND
        theirs = candidate(2, section="rules", is_persons=True)
        assert composed(collected([rule, theirs]), 300).text.splitlines()[0] == f"{BIND}{PERSONS}"
        both = composed(collected([candidate(), rule]), 300)
        assert both.text.splitlines()[0] == f"{BIND}{NOR_NOTES}"

    def test_a_small_budget_has_no_room_for_that(self) -> None:
        assert composed(collected([candidate()]), 299).text.splitlines() == ["entries", "e1: text 1"]

    @in_one_test("zone", ZONES[1:])
    def test_every_zone_but_the_normal_one_gives_its_advice(self, zone: Zone) -> None:
        assert zone.advice in composed(collected([candidate(priority=4)]), 500, zone).text.splitlines()

    @in_one_test(
        ("status", "budget", "said"),
        [
            (STUCK, 500, "STUCK: 4 iterations without progress, each another approach. Write a scratchpad "),
            (STUCK, 299, "STUCK: stop, write down the blocker"),
            (REPEATING, 500, "REPEATING: find another approach, your last one had failed before"),
            (REPEATING, 299, "REPEATING: find another approach"),
        ],
    )
    def test_a_loop_that_is_stuck_is_told_before_anything_else(
        self, status: LoopStatus, budget: int, said: str
    ) -> None:
        lines = composed(collected([candidate()], status=status), budget).text.splitlines()
        assert lines[budget >= 300].startswith(said)

    def test_a_loop_that_is_well_is_told_nothing(self) -> None:
        status = LoopStatus(is_stuck=False, is_repeating=False, iterations=1)
        assert composed(collected([candidate()], status=status), 100).text == "entries\ne1: text 1"

    def test_the_first_three_notes_stand_at_the_end_and_all_are_in_the_record(self) -> None:
        one = composed(collected([candidate()], notes=["a", "b", "a", "c", "d"]), 100)
        assert one.text.splitlines()[2:] == ["note: a", "note: b", "note: c"]
        assert one.notes == ("a", "b", "c", "d")


class TestWithoutAnything:
    @pytest.mark.parametrize(
        ("given", "notes"),
        [
            ({}, ("nothing stored here helps yet",)),
            ({"project_id": None, "notes": ["no project yet"]}, ("no project yet",)),
            ({"is_complete": False, "notes": ["the store was slow"]}, ("the store was slow",)),
        ],
    )
    def test_says_why(self, given: dict[str, Any], notes: tuple[str, ...]) -> None:
        one = composed(collected([], **given), 100)
        assert (one.notes, one.text) == (notes, f"note: {notes[0]}")

    def test_says_how_to_see_again_what_was_delivered(self) -> None:
        what = collected([candidate(1), candidate(2, "rules")])
        for gathered in what.gathered:
            gathered.candidates.clear()
            gathered.total, gathered.repeated = 0, 3
        assert composed(what, 100).notes == ("nothing besides what you wrote and what your client loads itself",)
        what.is_briefed = True
        assert composed(what, 100).notes == ("nothing new since your last briefing; again=true repeats 6 items",)


class TestWhatIsLeftOut:
    def test_is_said_by_kind_with_the_tool_that_shows_it_critical_ones_first(self) -> None:
        some = [candidate(n, text="w " * 300) for n in (1, 2)]
        some += [candidate(3, "rules", priority=4, text="w " * 30)]
        one = composed(collected(some), 30)
        assert one.text.splitlines()[-1] == "left out: 1 critical rules item (search), 2 entries (search)"

    def test_is_said_shorter_where_that_does_not_fit(self) -> None:
        some = [candidate(n, section, text="w " * 300) for n in (1, 2) for section in SECTIONS[2:]]
        some += [candidate(9, "messages", priority=4, text="w " * 30)]
        texts = {budget: composed(collected(some), budget).text.splitlines()[-1:] for budget in (30, 12, 9, 6, 3)}
        assert texts == {
            30: [
                "left out: 3 messages items, 1 critical (search), 2 packages items (search), 2 rules items (search), "
                "2 errors items (search), 2 entries (search)"
            ],
            12: ["left out: 1 critical messages item (search), 10 more (search)"],
            9: ["left out: 1 critical, 10 more (search)"],
            6: [],
            3: [],
        }

    def test_is_counted_whatever_of_it_could_be_a_candidate(self) -> None:
        what = collected([candidate(1)])
        what.gathered[0].total = 1_000
        assert left_out(composed(what, 100)) == ["999 entries (search)"]

    @in_one_test(
        ("count", "critical", "said"),
        [
            (1, 0, "1 entry (t)"),
            (2, 0, "2 entries (t)"),
            (3, 1, "3 entries, 1 critical (t)"),
            (1, 1, "1 critical entry (t)"),
            (1_000, 0, "1000 entries (t)"),
            (1_001, 0, "more than 1,000 entries (t)"),
        ],
    )
    def test_is_said_in_the_singular_and_plural(self, count: int, critical: int, said: str) -> None:
        what = collected([candidate(1)])
        (gathered,) = what.gathered
        gathered.candidates.clear()
        gathered.total, gathered.critical = count, critical
        assert left_out(composed(what, 100)) == [said.replace("(t)", "(search)")]

    def test_where_only_what_the_query_found_counts_others_shown_do_not(self) -> None:
        what = collected([candidate(1), candidate(2, relevance=0.4)], words=("x",))
        what.gathered[0].total, what.gathered[0].only_matches = 7, True
        one = composed(what, 100)
        assert (refs(one), left_out(one)) == (["e2", "e1"], ["6 entries (search)"])


class TestGivingWay:
    SOME = (candidate(1, priority=4, text="w " * 10), candidate(2), candidate(3, "rules"))

    def test_notes_give_way_where_they_would_take_more_than_half_of_the_budget(self) -> None:
        what = collected(self.SOME[:1], notes=["short", "n " * 20], status=STUCK)
        assert composed(what, 28).text.splitlines() == [
            "critical",
            f"e1 entries: {' '.join('w' * 10)}",
            "STUCK: stop, write down the blocker",
            "note: short",
        ]

    def test_at_last_alerts_give_way_too(self) -> None:
        what = collected(self.SOME[1:2], notes=["n " * 20], status=STUCK)
        assert composed(what, 11).text.splitlines() == ["entries", "e2: text 2"]

    def test_in_an_emergency_only_what_does_not_fit_gives_way(self) -> None:
        advice = EMERGENCY.advice
        what = collected((), notes=["n " * 20], status=STUCK)
        assert composed(what, words(advice) + 6, EMERGENCY).text.splitlines() == [
            "STUCK: stop, write down the blocker",
            advice,
        ]
        assert composed(what, words(advice) + 5, EMERGENCY).text == "STUCK: stop, write down the blocker"

    def test_a_budget_of_nothing_is_an_empty_text_with_everything_counted(self) -> None:
        one = composed(collected(self.SOME, status=STUCK), 0)
        assert (one.text, one.items) == ("", ())
        assert left_out(one) == ["2 entries, 1 critical (search)", "1 rules item (search)"]

    def test_in_an_emergency_the_advice_stands_alone_and_everything_is_counted(self) -> None:
        one = composed(collected(self.SOME), 4_000, EMERGENCY)
        assert (refs(one), one.text.splitlines()[1]) == ([], EMERGENCY.advice)
        assert one.text.splitlines()[-1] == "left out: 2 entries, 1 critical (search), 1 rules item (search)"

    @pytest.mark.parametrize(
        ("window_used", "shown"), [(0.75, {"e1", "e4"}), (0.85, {"e1"}), (0.7, {"e1", "e2", "c3", "e4"})]
    )
    def test_a_full_window_gets_only_what_is_urgent(self, window_used: float, shown: set[str]) -> None:
        some = [*self.SOME, candidate(4, priority=3)]
        assert set(refs(composed(collected(some), 4_000, zone_of(window_used)))) == shown


class TestWholeItems:
    def test_only_an_item_above_a_third_of_the_budget_is_a_title_and_that_is_said(self) -> None:
        facts = [candidate(n, "rules", text=" ".join([f"Fact {n}."] * 150)) for n in range(1, 4)]
        large = candidate(9, "messages", text=f"Much more. {' '.join(['More of it.'] * 200)}")
        one = composed(collected([*facts, large]), 1_000)
        assert {shown.candidate.ref for shown in one.items if shown.is_title} == {"m9"}
        assert one.text.splitlines()[-1] == OPENING

    def test_what_does_not_fit_whole_is_a_title_or_counted(self) -> None:
        facts = [candidate(n, "rules", text=f"Fact {n}. {LONG}") for n in range(1, 9)]
        one = composed(collected(facts), 400)
        assert [shown.is_title for shown in one.items] == [False] * 3 + [True] * 3
        assert left_out(one) == ["2 rules items (search)"]

    def test_decisions_have_their_reasons_where_everything_has_room_with_them(self) -> None:
        some = [candidate(n, "rules", kind=Kind.DECISION, head=f"k{n}", reason="w " * 40) for n in (1, 2)]
        assert composed(collected(some), 200).text.count("(because: w") == 2
        assert composed(collected(some), 60).text.count("because") == 0

    def test_the_same_text_is_shown_once_and_stands_for_the_others(self) -> None:
        some = [candidate(1, text="Never  log a TOKEN", priority=3), candidate(2, "rules", text="never log a token")]
        one = composed(collected(some), 100)
        assert (refs(one), one.text.casefold().count("never"), left_out(one)) == (["c2"], 1, [])
        assert [other.ref for other in one.items[0].candidate.stands_for] == ["e1"]

    def test_of_equal_texts_the_critical_one_is_shown(self) -> None:
        some = [candidate(1, text="never", relevance=1.0), candidate(2, "rules", text="never", priority=4)]
        assert refs(composed(collected(some, words=("never",)), 100)) == ["c2"]

    def test_equal_values_of_two_decisions_are_two_texts(self) -> None:
        some = [candidate(n, "rules", text="5432", head=key, subject=key) for n, key in ((1, "port"), (2, "other"))]
        assert len(refs(composed(collected(some), 100))) == 2

    def test_of_a_series_the_newest_is_shown_with_all_that_was_tried_before_once(self) -> None:
        some = [
            candidate(n, "attempts", text=f"tried: {n}", tried=tried, series=("ann", "T1"), changed_at=NOW + n)
            for n, tried in ((1, ("clear", "restart")), (2, ("Restart", "wait")), (3, ("wait",)))
        ]
        one = composed(collected([*some, candidate(4, "attempts", series=("ben", "T1"))]), 100)
        assert "e3: tried: 3; tried before: clear; restart" in one.text.splitlines()
        assert (sorted(refs(one)), left_out(one)) == (["e3", "e4"], [])

    def test_attempts_and_reviews_stand_in_order_of_time_others_by_rank(self) -> None:
        some = [
            candidate(n, section, text=f"{section} {n}", changed_at=NOW + n)
            for section, numbers in (("attempts", (1, 2, 3)), ("rules", (1, 3)))
            for n in numbers
        ]
        lines = composed(collected(some), 100).text.splitlines()
        assert [line[:2] for line in lines] == ["at", "e1", "e2", "e3", "ru", "c3", "c1"]


some_candidates = st.lists(
    st.builds(
        candidate,
        st.integers(1, 40),
        st.sampled_from(SECTIONS),
        priority=st.integers(1, 4),
        text=st.sampled_from(["x", "a few words more", LONG, LONG * 3]),
        head=st.sampled_from(["", "by someone"]),
        relevance=st.sampled_from([0.0, 0.2, 1.0]),
    ),
    max_size=25,
    unique_by=lambda one: one.key,
)
some_collected = st.builds(
    lambda some, more, **given: _with_more(collected(some, **given), more),
    some_candidates,
    st.integers(0, 3),
    status=st.sampled_from([None, STUCK, REPEATING]),
    notes=st.lists(st.sampled_from(["n1 is broken", "the store was slow", "n " * 30]), max_size=4).map(list),
    words=st.sampled_from([(), ("word",)]),
)


def _with_more(what: Collected, more: int) -> Collected:
    """Make more of each source eligible, critical and not, than there are candidates of it."""
    for gathered in what.gathered:
        gathered.total += 2 * more
        gathered.critical += more
    return what


@given(some_collected, st.one_of(st.integers(0, 60), st.integers(0, 5_000)), st.sampled_from(ZONES))
def test_no_text_exceeds_its_budget_and_what_is_not_in_it_is_counted(what: Collected, budget: int, zone: Zone) -> None:
    one = composed(what, budget, zone)
    assert words(one.text) <= budget
    lines = one.text.splitlines()
    assert [shown for shown in one.items if shown.line not in lines] == []
    critical = sum(gathered.critical for gathered in what.gathered)
    said = [item for shown in one.items for item in (shown.candidate, *shown.candidate.stands_for)]
    assert critical == sum(left.critical for left in one.left_out) + sum(item.is_critical for item in said)
    total = sum(gathered.total for gathered in what.gathered)
    assert total == sum(left.count for left in one.left_out) + len(said)


@given(some_candidates, st.integers(0, 300))
def test_the_same_candidates_make_the_same_text(some: list[Candidate], budget: int) -> None:
    assert composed(collected(some), budget) == composed(collected(some), budget)


def letters(text: str) -> int:
    """Count a token for four letters, as hooks do at least."""
    return -(-len(text) // 4)


class TestCriticalRules:
    def test_a_long_one_takes_no_line_from_short_ones(self) -> None:
        short = [candidate(n, "rules", text=f"no edits in {n}", priority=4, changed_at=NOW - 1) for n in range(1, 13)]
        long = candidate(13, "rules", text="keep it. " + "word " * 300, priority=4)
        for budget in (150, 310, 330, 360, 400):
            one = compose(collected([*short, long]), words, budget, NORMAL, now=NOW)
            assert sorted(refs(one)) == sorted(rule.ref for rule in (*short, long))
            assert any(item.is_title for item in one.items) == (budget < 400)

    @given(
        st.lists(st.tuples(st.integers(20, 8_000), st.integers(1, 400)), min_size=1, max_size=20),
        st.lists(st.integers(0, 4_000), min_size=1, max_size=9),
        st.sampled_from([words, letters]),
        st.sampled_from([{}, {"status": STUCK}, {"notes": [LONG], "claims": [("a" * 90, None)]}]),
    )
    @example(
        [(20, 15), (53, 45), (68, 60), *[(88, 80)] * 5, (136, 80), (143, 135), (71, 65), (91, 85)], [0], letters, {}
    )
    def test_a_larger_budget_never_names_fewer_and_all_whose_titles_fit(
        self, some: list[tuple[int, int]], budgets: list[int], count: Any, frame: dict[str, Any]
    ) -> None:
        texts = [
            f"{n} {'word ' * (sentence // 5)}end. {'more ' * 1600}"[:length]
            for n, (length, sentence) in enumerate(some)
        ]
        rules = [candidate(n, "rules", text=text, priority=4) for n, text in enumerate(texts, 1)]
        others = [candidate(1, text=LONG), candidate(50, "rules", text="a rule that is not critical")]
        titles = [
            "critical",
            *map(title_line, rules),
            OPENING,
            f"left out: {len(rules)} critical, 2 more (search)",
            "\n",
        ]
        least = sum(count(f"{line}\n") for line in titles)
        before = 0
        for budget in sorted({*budgets, 299, 300, least}):
            one = compose(collected([*rules, *others], **frame), count, budget, NORMAL, now=NOW)
            named = sum(item.candidate.is_critical for item in one.items)
            assert count(one.text) <= budget
            assert before <= named
            assert named == len(rules) or budget < least
            before = named
