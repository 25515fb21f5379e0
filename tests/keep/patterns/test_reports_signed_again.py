"""Patterns of older rules are signed anew, a bounded number at a time, and merge where they are one error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from satchel import NotFound, Satchel
from satchel.keep.patterns import reports, signature
from satchel.keep.patterns.signing import VERSION

if TYPE_CHECKING:
    from conftest import ManualClock

SAME = ("requests.exceptions.ConnectionError: the pool is closed", "ConnectionError: the pool is closed")


def make_old(satchel: Satchel, messages: Sequence[str]) -> list[str]:
    """Report errors, and let the store hold them as the rules before would have signed them, each by itself."""
    numbers = [
        satchel.patterns.report("ConnectionError", f"old {'abcde'[place] * 9}: {message}").pattern.id
        for place, message in enumerate(messages)
    ]
    with satchel.workplace.engine.write() as transaction:
        for number, message in zip(numbers, messages, strict=True):
            transaction.run(
                "UPDATE error_patterns SET pattern_hash = :hash, signed_by = 1, example = :example WHERE id = :id",
                {"hash": f"{number:064}", "example": message, "id": number},
            )
    return [f"x{number}" for number in numbers]


def versions(satchel: Satchel) -> list[int]:
    with satchel.workplace.engine.read() as transaction:
        return [row[0] for row in transaction.all("SELECT signed_by FROM error_patterns ORDER BY id")]


def test_an_error_of_older_rules_is_met_again(satchel: Satchel) -> None:
    (ref,) = make_old(satchel, [SAME[0]])
    told = satchel.patterns.report("ConnectionError", "the pool is closed")
    assert (told.is_new, told.pattern.ref, told.pattern.occurrences) == (False, ref, 2)
    assert told.pattern.hash == signature("ConnectionError", "the pool is closed")
    assert versions(satchel) == [VERSION]


def test_a_report_signs_a_bounded_number_anew(satchel: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "AT_ONCE", 2)
    make_old(satchel, [f"no such plan: {name}" for name in "abcde"])
    assert versions(satchel).count(1) == 5
    for left in (3, 1, 0):
        satchel.patterns.report("ValueError", "something else")
        assert versions(satchel).count(1) == left


def test_those_of_its_type_are_signed_before_an_error_is_taken_for_new(
    satchel: Satchel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "AT_ONCE", 1)
    make_old(satchel, ["one", "two"])
    with satchel.workplace.engine.write() as transaction:
        transaction.run("UPDATE error_patterns SET error_type = 'a.b.KeyError' WHERE id = 2")
    told = satchel.patterns.report("KeyError", "two")
    assert (told.is_new, told.pattern.ref) == (False, "x2")
    assert versions(satchel) == [1, VERSION]


class TestMerging:
    @pytest.fixture
    def merged(self, satchel: Satchel, clock: ManualClock) -> Satchel:
        make_old(satchel, SAME)
        satchel.patterns.solve("x1", "Open it first", agent="Ann")
        satchel.patterns.solve("x2", "open it FIRST", agent="Bob")
        satchel.patterns.outcome("y2", helped=True, agent="Cid")
        satchel.patterns.solve("x2", "Wait", agent="Bob")
        clock.advance(1_000)
        satchel.patterns.report("ValueError", "something else")
        return satchel

    def test_the_older_one_stays_with_the_meetings_of_both(self, merged: Satchel) -> None:
        assert merged.patterns.get("x1").occurrences == 2
        with pytest.raises(NotFound):
            merged.patterns.get("x2")

    def test_solutions_move_and_equal_ones_are_one(self, merged: Satchel) -> None:
        found = merged.patterns.get("x1").solutions
        assert [(one.ref, one.text, one.confidence, one.confirmed) for one in found] == [
            ("y1", "Open it first", 6, 1),
            ("y3", "Wait", 5, 0),
        ]

    def test_a_word_that_was_heard_of_either_counts_once(self, merged: Satchel) -> None:
        assert merged.patterns.outcome("y1", helped=True, agent="Cid").confirmed == 1

    def test_what_moved_is_found_with_the_older_one(self, merged: Satchel) -> None:
        assert [one.ref for one in merged.patterns.find(query="wait").items] == ["x1"]

    def test_only_reports_that_the_equal_solution_ended_are_ended_by_the_other(self, satchel: Satchel) -> None:
        make_old(satchel, SAME)
        satchel.patterns.solve("x1", "Open it first", agent="Ann")
        satchel.patterns.solve("x2", "open it FIRST", agent="Bob")
        with satchel.workplace.engine.write() as transaction:
            transaction.run("UPDATE error_reports SET solution_id = 2 WHERE pattern_id = 2")
        satchel.patterns.report("ValueError", "something else")
        with satchel.workplace.engine.read() as transaction:
            reports = transaction.all("SELECT pattern_id, solution_id FROM error_reports ORDER BY id")
        assert reports == [(1, None), (1, 1), (3, None)]

    def test_another_language_makes_it_one_of_any(self, satchel: Satchel) -> None:
        make_old(satchel, SAME)
        with satchel.workplace.engine.write() as transaction:
            transaction.run("UPDATE error_patterns SET lang = CASE id WHEN 1 THEN 'go' ELSE 'rust' END")
        satchel.patterns.report("ValueError", "something else")
        assert satchel.patterns.get("x1").lang is None


def test_what_has_expired_is_removed_instead(satchel: Satchel, clock: ManualClock) -> None:
    make_old(satchel, SAME)
    clock.advance(91 * 86_400_000)
    told = satchel.patterns.report("ConnectionError", "the pool is closed")
    assert told.is_new
    assert versions(satchel) == [VERSION]
