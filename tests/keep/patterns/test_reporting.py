from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from agents_here import agents
from days_of_use import vouch_in
from satchel import InvalidInput, Satchel, TooLarge
from satchel.keep.patterns import mask, signature
from tables import in_one_test

if TYPE_CHECKING:
    from conftest import ManualClock

DAY = 86_400_000
TOKEN = "ghp_" + "a1B2" * 9
MISSING = ("ModuleNotFoundError", "No module named 'foo'")


def texts(satchel: Satchel, **given: Any) -> list[str]:
    return [one.text for one in satchel.patterns.report(*MISSING, **given).solutions]


def test_a_report_without_a_solution_makes_a_pattern_without_one(satchel: Satchel, clock: ManualClock) -> None:
    told = satchel.patterns.report(*MISSING)
    pattern = told.pattern
    assert (told.is_new, told.solutions, told.recorded, told.notes) == (True, (), None, ())
    assert (pattern.ref, pattern.error_type, pattern.example) == ("x1", *MISSING)
    assert (pattern.hash, pattern.message) == (signature(*MISSING), mask(MISSING[1]))
    assert (pattern.occurrences, pattern.lang, pattern.ttl_days) == (1, None, 90)
    assert (pattern.created_at, pattern.last_seen, pattern.expires_at) == (clock.now, clock.now, clock.now + 90 * DAY)
    assert satchel.patterns.get("x1") == pattern


def test_the_same_error_is_counted_and_lives_longer(satchel: Satchel, clock: ManualClock) -> None:
    first = satchel.patterns.report(*MISSING).pattern
    now = clock.advance(DAY)
    told = satchel.patterns.report(*MISSING)
    again = told.pattern
    assert (told.is_new, again.id, again.uid, again.occurrences) == (False, first.id, first.uid, 2)
    assert (again.created_at, again.last_seen, again.expires_at) == (first.created_at, now, now + 90 * DAY)
    assert again.seq > first.seq


def test_a_fix_that_its_finder_brings_is_no_second_meeting(satchel: Satchel) -> None:
    satchel.patterns.report(*MISSING, agent="Ann")
    assert satchel.patterns.report(*MISSING, solution="pip install foo", agent="Ann").pattern.occurrences == 1
    assert satchel.patterns.report(*MISSING, solution="pip install foo", agent="Ann").pattern.occurrences == 2
    assert satchel.patterns.report(*MISSING, solution="pip install foo", agent="Bob").pattern.occurrences == 3


def test_known_errors_use_up_no_numbers(satchel: Satchel) -> None:
    for _ in range(3):
        satchel.patterns.report(*MISSING)
    assert satchel.patterns.report("TypeError", "other").pattern.ref == "x2"


def test_what_differs_only_in_a_number_or_folder_is_the_same_error(satchel: Satchel) -> None:
    satchel.patterns.report("OSError", "cannot read /home/ann/app/main.py after 17 seconds")
    told = satchel.patterns.report("OSError", "cannot read /srv/build/main.py after 9000 seconds")
    assert (told.is_new, told.pattern.occurrences) == (False, 2)
    assert told.pattern.example == "cannot read /home/ann/app/main.py after 17 seconds"


@pytest.mark.parametrize("other", [("ModuleNotFoundError", "No module named 'bar'"), ("KeyError", MISSING[1])])
def test_another_name_or_type_is_another_error(satchel: Satchel, other: tuple[str, str]) -> None:
    satchel.patterns.report(*MISSING, solution="pip install foo")
    told = satchel.patterns.report(*other)
    assert (told.is_new, told.solutions) == (True, ())


def test_a_clock_that_was_put_back_shortens_no_life(satchel: Satchel, clock: ManualClock) -> None:
    first = satchel.patterns.report(*MISSING).pattern
    clock.advance(-DAY)
    again = satchel.patterns.report(*MISSING).pattern
    assert (again.last_seen, again.expires_at, again.occurrences) == (first.last_seen, first.expires_at, 2)


def test_who_reports_is_recorded_as_one_who_acts(satchel: Satchel) -> None:
    satchel.patterns.report(*MISSING, agent="Ann")
    assert [(agent.name, agent.has_acted) for agent in agents(satchel)] == [("Ann", True)]


class TestLife:
    def test_it_is_given_in_days(self, satchel: Satchel, clock: ManualClock) -> None:
        pattern = satchel.patterns.report(*MISSING, ttl_days=2).pattern
        assert (pattern.ttl_days, pattern.expires_at) == (2, clock.now + 2 * DAY)

    def test_a_later_report_keeps_what_was_said_or_says_it_anew(self, satchel: Satchel, clock: ManualClock) -> None:
        satchel.patterns.report(*MISSING, ttl_days=300)
        assert satchel.patterns.report(*MISSING).pattern.ttl_days == 300
        changed = satchel.patterns.report(*MISSING, ttl_days=7).pattern
        assert (changed.ttl_days, changed.expires_at) == (7, clock.now + 7 * DAY)

    def test_an_error_whose_life_was_over_is_known_until_it_is_deleted(
        self, satchel: Satchel, clock: ManualClock
    ) -> None:
        first = satchel.patterns.report(*MISSING, solution="pip install foo", ttl_days=1).pattern
        clock.advance(DAY)
        assert satchel.patterns.find().total == 0
        told = satchel.patterns.report(*MISSING)
        assert (told.is_new, told.pattern.occurrences, told.solutions) == (False, 2, first.solutions)

    def test_an_error_that_was_deleted_after_its_life_is_new_again(self, satchel: Satchel, clock: ManualClock) -> None:
        first = satchel.patterns.report(*MISSING, solution="pip install foo", ttl_days=1).pattern
        vouch_in(satchel, clock.advance(DAY))
        satchel.housekeeping.clear(dry_run=False)
        told = satchel.patterns.report(*MISSING)
        assert (told.is_new, told.pattern.occurrences, told.solutions) == (True, 1, ())
        assert (told.pattern.ttl_days, told.pattern.id != first.id) == (90, True)
        assert satchel.patterns.find(limit=0).total == satchel.finding.search("foo").total == 1

    @in_one_test(
        ("days", "problem"),
        [
            (0, "ttl_days 0 is out of range"),
            (-1, "out of range"),
            (3_651, "out of range"),
            (1.5, "ttl_days 1.5 is not a whole number"),
            (True, "ttl_days True is not a whole number"),
        ],
    )
    def test_what_is_no_number_of_days_is_refused(self, satchel: Satchel, days: Any, problem: str) -> None:
        with pytest.raises(InvalidInput, match=problem):
            satchel.patterns.report(*MISSING, ttl_days=days)


class TestLanguage:
    @pytest.mark.parametrize(
        ("first", "second", "kept"),
        [
            (None, None, None),
            ("Python ", None, "python"),
            ("python", "PYTHON", "python"),
            (None, "python", None),
            ("python", "go", None),
        ],
    )
    def test_an_error_met_in_two_languages_is_kept_for_any(
        self, satchel: Satchel, first: str | None, second: str | None, kept: str | None
    ) -> None:
        satchel.patterns.report(*MISSING, lang=first, solution="fix it")
        told = satchel.patterns.report(*MISSING, lang=second)
        assert (told.pattern.lang, len(told.solutions)) == (kept, 1)


class TestExample:
    def test_it_is_the_message_and_the_beginning_of_the_stack(self, satchel: Satchel) -> None:
        pattern = satchel.patterns.report(*MISSING, stack="Traceback\n  File main.py, line 3").pattern
        assert pattern.example == f"{MISSING[1]}\nTraceback\n  File main.py, line 3"

    @pytest.mark.parametrize(("message", "stack"), [("short", "é line\n" * 2_000), ("ü" * 5_000, None)])
    def test_it_is_cut_at_4_kib(self, satchel: Satchel, message: str, stack: str | None) -> None:
        example = satchel.patterns.report("E", message, stack=stack).pattern.example
        assert 4_090 <= len(example.encode()) <= 4_096
        begin, end = example.split("…")
        assert f"{message}\n{stack}".startswith(begin)
        assert message.endswith(end)

    def test_nothing_is_kept_of_the_hints_and_the_rest_of_the_stack(self, satchel: Satchel) -> None:
        satchel.patterns.report(*MISSING, stack="kept\n" + "x\n" * 3_000 + "zebra", hints=["giraffe"])
        with satchel.workplace.engine.read() as transaction:
            (row,) = transaction.all("SELECT * FROM error_patterns")
        assert "kept" in str(row)
        assert not any(word in str(row) for word in ("zebra", "giraffe"))
        assert satchel.finding.search("zebra giraffe").total == 0


class TestSecrets:
    def test_every_stored_text_is_redacted_and_that_is_said(self, satchel: Satchel) -> None:
        told = satchel.patterns.report(
            "E", f"refused {TOKEN}", stack=f"at {TOKEN}", hints=[f"hint {TOKEN}"], solution=f"use {TOKEN}"
        )
        assert "a secret was redacted (github-token)" in told.notes
        with satchel.workplace.engine.read() as transaction:
            kept = [transaction.all(f"SELECT * FROM {table}") for table in ("error_patterns", "error_solutions")]
        assert all(kept)
        assert "ghp_" not in str(kept) + str(told)
        assert satchel.finding.search(TOKEN).total == 0

    @pytest.mark.parametrize("field", ["stack", "solution"])
    def test_each_text_that_holds_one_is_noted(self, satchel: Satchel, field: str) -> None:
        given: dict[str, Any] = {field: TOKEN}
        assert satchel.patterns.report("E", "x", **given).notes == ("a secret was redacted (github-token)",)

    def test_it_is_redacted_before_it_is_hashed(self, satchel: Satchel) -> None:
        satchel.patterns.report("E", f"bad token {TOKEN}")
        assert not satchel.patterns.report("E", "bad token ghp_" + "9zY8" * 9).is_new

    def test_one_that_message_and_stack_show_only_together_is_redacted(self, satchel: Satchel) -> None:
        body = "MIIEowIBAAKCAQEA" + "q7Rt92LmXc04VbNe81" * 8
        told = satchel.patterns.report(
            "E", "-----BEGIN RSA PRIVATE KEY-----", stack=f"{body}\n-----END RSA PRIVATE KEY-----"
        )
        assert told.pattern.example == "[redacted:private-key]"

    @in_one_test("field", ["error_type", "lang", "agent"])
    def test_one_in_a_name_is_refused(self, satchel: Satchel, field: str) -> None:
        given: dict[str, Any] = {"error_type": "E", "message": "m", field: TOKEN}
        with pytest.raises(InvalidInput, match=f"{field} looks like a secret"):
            satchel.patterns.report(**given)

    def test_hints_with_one_are_refused_without_repeating_it(self, satchel: Satchel) -> None:
        with pytest.raises(InvalidInput) as refused:
            satchel.patterns.report("E", "m", hints=f"hint {TOKEN}")
        assert TOKEN not in str(refused.value)


class TestHintsAndStack:
    @pytest.fixture
    def undecided(self, satchel: Satchel) -> Satchel:
        """Three solutions of equal confidence, the last the newest."""
        for fix in ("add the tsconfig path", "repair the import statement", "install the wheel"):
            satchel.patterns.report(*MISSING, solution=fix)
        return satchel

    def test_without_them_the_newest_comes_first(self, undecided: Satchel) -> None:
        assert [text.split()[-1] for text in texts(undecided)] == ["wheel", "statement", "path"]

    @pytest.mark.parametrize(
        "given",
        [
            {"hints": ["import statement"]},
            {"hints": ("other", "import statement")},
            {"hints": json.dumps(["import statement"])},
            {"stack": "at import statement"},
            {"stack": "word " * 400, "hints": ["import statement"]},
        ],
    )
    def test_of_equals_what_shares_words_with_them_comes_first(self, undecided: Satchel, given: dict[str, Any]) -> None:
        assert [text.split()[-1] for text in texts(undecided, **given)] == ["statement", "wheel", "path"]

    def test_what_is_better_confirmed_stays_first(self, undecided: Satchel) -> None:
        undecided.patterns.outcome("y1", helped=True)
        assert texts(undecided, hints=["import statement"])[:2] == [
            "add the tsconfig path",
            "repair the import statement",
        ]

    @pytest.mark.parametrize("hints", [None, [], "[]", (), [""]])
    def test_there_may_be_none(self, undecided: Satchel, hints: Any) -> None:
        assert len(texts(undecided, hints=hints)) == 3

    @in_one_test(
        ("hints", "problem"),
        [
            ("import statement", "hints is not JSON, at character 1"),
            ('["open', "hints is not JSON, at character 2"),
            ("", "hints is not JSON"),
            ("NaN", "hints is not a JSON list of texts"),
            ("[" * 100_000, "hints is not a JSON"),
            ("null", "not null"),
            ('{"a": 1}', "hints must be a list of texts, not dict"),
            ('"text"', "hints must be a list of texts, not str"),
            (7, "hints must be a list of texts, not int"),
            ({"a"}, "hints must be a list of texts, not set"),
            (["a", 1], r"hints\[1\] must be text, not int"),
            ("[null]", r"hints\[0\] must be text, not NoneType"),
            (["a"] * 51, "51 hints were given"),
        ],
    )
    def test_what_is_no_list_of_texts_is_refused(self, satchel: Satchel, hints: Any, problem: str) -> None:
        with pytest.raises(InvalidInput, match=problem):
            satchel.patterns.report(*MISSING, hints=hints)
        assert satchel.patterns.find().total == 0

    @in_one_test("given", [{"hints": ["x" * 300_000]}, {"hints": "x" * 300_000}, {"stack": "x" * 300_000}])
    def test_what_is_too_large_is_refused(self, satchel: Satchel, given: dict[str, Any]) -> None:
        with pytest.raises(TooLarge, match=next(iter(given))):
            satchel.patterns.report(*MISSING, **given)


@pytest.mark.no_store
@in_one_test(
    ("given", "problem"),
    [
        ({"error_type": ""}, "error_type is empty"),
        ({"error_type": "x" * 201}, "error_type has 201 characters"),
        ({"error_type": None}, "error_type must be text"),
        ({"message": " "}, "message is empty"),
        ({"message": 5}, "message must be text, not int"),
        ({"stack": ""}, "stack is empty"),
        ({"solution": "\n"}, "solution is empty"),
        ({"lang": ""}, "lang is empty"),
        ({"agent": ""}, "agent is empty"),
    ],
)
def test_what_is_not_acceptable_is_refused_and_nothing_written(
    satchel: Satchel, given: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InvalidInput, match=problem):
        satchel.patterns.report(**{"error_type": "E", "message": "m", **given})
    assert not satchel.workplace.engine.exists()


@pytest.mark.parametrize("message", ["\x1b[31merror\x1b[0m: no such table", "a\x00b", "one\r\ntwo", "lone \ud800 half"])
def test_an_error_has_the_hash_that_anybody_computes_for_it(satchel: Satchel, message: str) -> None:
    pattern = satchel.patterns.report("E", message).pattern
    assert pattern.hash == signature("E", message)
    assert satchel.patterns.get(signature("E", message)) == pattern
    assert pattern.message.isprintable()


def test_control_characters_are_removed_and_that_is_said(satchel: Satchel) -> None:
    told = satchel.patterns.report("E", "a\x00b", solution="c\x07d")
    assert (told.pattern.example, told.solutions[0].text) == ("ab", "cd")
    assert told.notes == ("1 control character removed",)
