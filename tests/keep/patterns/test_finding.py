from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from days_of_use import vouch, vouch_in
from index_tables import indexed
from satchel import ErrorPattern, InvalidInput, NotFound, Satchel, StoreDamaged
from satchel.base.clock import iso
from satchel.base.paging import KeptPage
from satchel.keep import expiry
from satchel.keep.patterns import updates
from tables import in_one_test

if TYPE_CHECKING:
    from conftest import ManualClock

DAY = 86_400_000
LETTERS = "bcdfghjklm"


def name(number: int) -> str:
    """A word of its own without a digit, which would be masked."""
    return "zz" + "".join(LETTERS[int(digit)] for digit in f"{number:03}")


def examples(page: KeptPage[ErrorPattern]) -> list[str]:
    return [pattern.example for pattern in page]


# Each filter lets exactly one of two values through, so that in the grid, which holds every combination, one that is
# ignored doubles the result.
FILTERS: dict[str, Any] = {
    "query": "needle",
    "lang": "Python",
    "error_type": "ValueError",
    "state": "confirmed",
    "since": 1_795_000_000_000 + DAY,
}
SIZES = (0, 1, 2, len(FILTERS) - 1, len(FILTERS))
SUBSETS = [set(chosen) for size in SIZES for chosen in itertools.combinations(FILTERS, size)]
"""Each alone, with each other, all but each, and all: conditions joined by AND have no more ways to hinder another."""


@pytest.fixture
def grid(satchel: Satchel, clock: ManualClock) -> Satchel:
    """32 errors: each combination of two words, languages, types, states of their solution and times."""
    for days in (0, 1):
        clock.now = 1_795_000_000_000 + days * DAY
        for number, (word, lang, kind, helped) in enumerate(
            itertools.product(("needle", "hay"), ("python", "go"), ("ValueError", "KeyError"), (True, False))
        ):
            told = satchel.patterns.report(kind, f"{word} {name(number + 16 * days)}", lang=lang, solution="fix")
            assert told.recorded is not None
            if helped:
                satchel.patterns.outcome(told.recorded.ref, helped=True)
    return satchel


def passes(pattern: ErrorPattern, chosen: set[str]) -> bool:
    tests = {
        "query": "needle" in pattern.example,
        "lang": pattern.lang == "python",
        "error_type": pattern.error_type == "ValueError",
        "state": pattern.solutions[0].state == "confirmed",
        "since": pattern.last_seen >= FILTERS["since"],
    }
    return all(tests[filtered] for filtered in chosen)


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_filters_together_let_through_what_passes_all_of_them(grid: Satchel, order: str) -> None:
    everything = grid.patterns.find(order=order, limit=500).items
    assert len(everything) == 32
    for chosen in SUBSETS:
        page = grid.patterns.find(order=order, limit=500, **{filtered: FILTERS[filtered] for filtered in chosen})
        expected = [pattern.id for pattern in everything if passes(pattern, chosen)]
        assert [pattern.id for pattern in page] == expected, chosen
        assert page.total == len(expected) == 32 >> len(chosen)


def test_an_error_of_no_language_is_one_of_every_language(satchel: Satchel) -> None:
    for lang in ("python", "go", None):
        satchel.patterns.report("E", f"in {lang}", lang=lang)
    assert examples(satchel.patterns.find(lang=" PYTHON", order="asc")) == ["in python", "in None"]
    assert examples(satchel.patterns.find(lang="python", query="in python go none", order="asc"))[-1] == "in None"
    assert examples(satchel.patterns.find(lang="rust")) == ["in None"]
    assert satchel.patterns.find().total == 3


@pytest.fixture
def states(satchel: Satchel) -> Satchel:
    """Errors with solutions in every state, named after them; a demoted one of 3 tenths and one that is observed."""
    for text, outcomes in (("active", ""), ("confirmed", "+"), ("demoted", "-"), ("observed", "--")):
        satchel.patterns.report("E", text)
        fix = satchel.patterns.solve(len(satchel.patterns.find()), f"cure {text}")
        for place, outcome in enumerate(outcomes):
            satchel.patterns.outcome(fix.ref, outcome == "+", agent=f"judge {place}")
    satchel.patterns.report("E", "unsolved")
    return satchel


@in_one_test(
    ("state", "offered", "everything"),
    [
        (None, 5, 5),
        ("active", ["active"], ["active"]),
        ("confirmed", ["confirmed"], ["confirmed"]),
        ("demoted", ["demoted"], ["demoted", "observed"]),
        ("unsolved", ["observed", "unsolved"], ["unsolved"]),
    ],
)
@in_one_test("search", [None, "active confirmed demoted observed unsolved"])
def test_a_state_is_one_of_the_solutions_that_are_shown(
    states: Satchel, state: str | None, offered: list[str] | int, everything: list[str] | int, search: str | None
) -> None:
    for status, expected in (("offered", offered), ("all", everything)):
        page = states.patterns.find(state=state, status=status, order="asc", query=search)
        assert page.total == (expected if isinstance(expected, int) else len(expected))
        assert isinstance(expected, int) or examples(page) == expected


def test_solutions_that_are_only_observed_are_shown_where_all_is_asked_for(states: Satchel) -> None:
    assert [len(pattern.solutions) for pattern in states.patterns.find(order="asc")] == [1, 1, 1, 0, 0]
    assert [len(pattern.solutions) for pattern in states.patterns.find(order="asc", status="all")] == [1, 1, 1, 1, 0]
    assert [len(states.patterns.get("x4", status=status).solutions) for status in ("offered", "all")] == [0, 1]
    assert states.patterns.get("x4").solutions == states.patterns.report("E", "observed").solutions == ()


@in_one_test("word", ["RangeError", "index", "traceback", "lengthen"])
def test_type_message_stack_and_solutions_are_all_searched(satchel: Satchel, word: str) -> None:
    wanted = satchel.patterns.report("RangeError", "index out of it", stack="traceback follows").pattern
    satchel.patterns.report("Timeout", "nothing alike", solution="wait")
    satchel.patterns.solve(wanted.ref, "first fix")
    satchel.patterns.solve(wanted.ref, "lengthen the array")
    assert [pattern.id for pattern in satchel.patterns.find(query=word)] == [wanted.id]
    assert [(one.ref, one.kind) for one in satchel.finding.search(word, kinds=["error_pattern"]).results] == [
        (wanted.ref, "error_pattern")
    ]


def test_a_search_without_an_order_is_by_relevance(satchel: Satchel) -> None:
    satchel.patterns.report("E", "tokens tokens tokens")
    satchel.patterns.report("E", "tokens and a lot of other words that say little about anything")
    page = satchel.patterns.find(query="tokens")
    assert [text[:13] for text in examples(page)] == ["tokens tokens", "tokens and a "]
    assert page.order == "relevance"
    scores = [pattern.score or 0 for pattern in page]
    assert scores[0] > scores[1] > 0
    assert satchel.patterns.find().items[0].score is None


def test_a_search_pages_as_it_counts(satchel: Satchel) -> None:
    for number in range(7):
        satchel.patterns.report("E", f"needle {name(number)}", solution="fix")
    satchel.entries.write("discovery", "needle")
    pages = [satchel.patterns.find(query="needle", limit=3, offset=offset) for offset in (0, 3, 6)]
    assert [len(page) for page in pages] == [3, 3, 1]
    assert {page.total for page in pages} == {7}
    assert len({pattern.id for page in pages for pattern in page}) == 7
    assert satchel.patterns.find(query="needle", limit=0).total == 7


def test_a_search_without_a_usable_word_says_so(satchel: Satchel) -> None:
    satchel.patterns.report("E", "x")
    page = satchel.patterns.find(query="?!")
    assert (page.total, page.notes) == (0, ("'?!' holds no word to search for",))


@in_one_test(("order", "shown"), [(None, "dcba"), ("desc", "dcba"), ("asc", "abcd")])
def test_the_order_is_by_first_report_and_id(
    satchel: Satchel, clock: ManualClock, order: str | None, shown: str
) -> None:
    for text in "abcd":
        satchel.patterns.report("E", text)
        if text != "c":  # c and d in the same millisecond
            clock.advance(1_000)
    satchel.patterns.report("E", "a")
    page = satchel.patterns.find(order=order)
    assert ("".join(examples(page)), page.order) == (shown, "oldest" if order == "asc" else "newest")


@pytest.mark.parametrize("as_text", [True, False])
def test_since_shows_what_was_seen_from_then_on(satchel: Satchel, clock: ManualClock, as_text: bool) -> None:
    for text in ("ancient", "recent"):
        satchel.patterns.report("E", text)
    moment = clock.advance(1_000)
    satchel.patterns.report("E", "recent")
    since = iso(moment) if as_text else moment
    for search in (None, "ancient recent"):
        assert examples(satchel.patterns.find(since=since, query=search)) == ["recent"]
        assert satchel.patterns.find(since=moment + 1, query=search).total == 0
    clock.advance(3_600_000)
    assert satchel.patterns.find(since="1h").total == 1


def test_changes_after_a_cursor_come_in_their_order_without_a_gap(satchel: Satchel, clock: ManualClock) -> None:
    for text in "abc":
        satchel.patterns.report("E", text)
    cursor = satchel.patterns.find().cursor
    clock.advance(-10_000)  # a clock that went back changes nothing
    satchel.patterns.report("E", "c")
    fix = satchel.patterns.solve("x1", "fix")
    satchel.patterns.report("E", "d")
    satchel.patterns.outcome(fix.ref, helped=False)
    page = satchel.patterns.find(after_seq=cursor, limit=2)
    assert (examples(page), page.order, page.total, page.after_seq) == (["c", "d"], "seq", 3, cursor)
    rest = satchel.patterns.find(after_seq=page.cursor, limit=2)
    assert examples(rest) == ["a"]
    assert satchel.patterns.find(after_seq=rest.cursor).total == 0


def test_a_page_knows_its_total_and_what_comes_next(satchel: Satchel) -> None:
    for number in range(21):
        satchel.patterns.report("E", name(number))
    page = satchel.patterns.find(limit=2, offset=2)
    assert (examples(page), page.total, page.offset, page.limit, page.next_offset) == (
        [name(18), name(17)],
        21,
        2,
        2,
        4,
    )
    assert satchel.patterns.find(limit=2, offset=19).next_offset is None
    total = satchel.patterns.find(limit=0)
    assert (total.items, total.total, len(satchel.patterns.find())) == ((), 21, 20)


@in_one_test(
    ("error_type", "notes"),
    [
        ("ValueErro", ("there is no error_type 'ValueErro' yet; did you mean 'ValueError'?",)),
        ("Nothing", ("there is no error_type 'Nothing' yet",)),
        ("ValueError", ()),
    ],
)
def test_a_type_that_nobody_reported_is_said(satchel: Satchel, error_type: str, notes: tuple[str, ...]) -> None:
    satchel.patterns.report("ValueError", "x", lang="go")
    page = satchel.patterns.find(error_type=error_type, lang="python")
    assert (page.total, page.notes[:-1]) == (0, notes)


@in_one_test(
    ("given", "problem"),
    [
        ({"limit": -1}, "limit -1 is out of range"),
        ({"limit": 501}, "limit 501 is out of range"),
        ({"offset": -1}, "offset -1 is out of range"),
        ({"query": " "}, "query is empty"),
        ({"lang": ""}, "lang is empty"),
        ({"error_type": ""}, "error_type is empty"),
        ({"state": "confirmd"}, "unknown state 'confirmd'. Did you mean 'confirmed'"),
        ({"status": "every"}, "unknown status 'every'. Valid: offered, all"),
        ({"since": "yesterday"}, "since 'yesterday' is not a time"),
        ({"after_seq": -1}, "after_seq -1 is out of range"),
        ({"after_seq": 1, "order": "asc"}, "after_seq reads changes in their order"),
        ({"order": "newest"}, "unknown order 'newest'. Valid: desc, asc"),
    ],
)
def test_a_filter_that_is_none_is_refused(satchel: Satchel, given: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        satchel.patterns.find(**given)


def test_getting_refuses_an_unknown_status(satchel: Satchel) -> None:
    with pytest.raises(InvalidInput, match="unknown status 'some'"):
        satchel.patterns.get("x1", status="some")


@pytest.mark.no_store
def test_before_the_first_write_there_is_nothing_and_reading_makes_nothing(satchel: Satchel, project: Path) -> None:
    page = satchel.patterns.find()
    assert (page.items, page.total, page.seq) == ((), 0, 0)
    assert page.notes == ("nothing was written for this project yet",)
    assert not satchel.workplace.engine.exists()
    assert not (project / ".satchel").exists()


class TestExpiry:
    def test_an_expired_error_is_gone_before_any_sweep(self, satchel: Satchel, clock: ManualClock) -> None:
        pattern = satchel.patterns.report("E", "cat", solution="dog", ttl_days=1).pattern
        clock.advance(DAY - 1)
        assert satchel.patterns.find().total == satchel.finding.search("cat dog").total == 1
        clock.advance(1)
        assert satchel.patterns.find().total == satchel.patterns.find(after_seq=0).total == 0
        assert satchel.patterns.find(query="cat").total == satchel.finding.search("cat dog").total == 0
        assert satchel.patterns.find(error_type="E").notes == ("there is no error_type 'E' yet",)
        for call in (
            lambda: satchel.patterns.get(pattern.ref),
            lambda: satchel.patterns.get(pattern.hash),
            lambda: satchel.patterns.solve(pattern.ref, "fix"),
        ):
            with pytest.raises(NotFound):
                call()

    def test_a_sweep_takes_it_with_its_solutions_and_its_text(self, satchel: Satchel, clock: ManualClock) -> None:
        satchel.patterns.report("E", "cat", solution="dog", ttl_days=1)
        satchel.patterns.report("E", "stays", solution="dog", ttl_days=2)
        now = clock.advance(DAY)
        with satchel.workplace.engine.write() as transaction:
            vouch(transaction, now)
            assert expiry.sweep(transaction, 1, now) == 1
            counts = [
                transaction.all(f"SELECT count(*) FROM {table}")
                for table in ("error_patterns", "error_solutions", "documents")
            ]
            assert indexed(transaction) == 1
        assert counts == [[(1,)]] * 3
        assert examples(satchel.patterns.find()) == ["stays"]

    def test_a_later_report_keeps_it_from_the_sweep(self, satchel: Satchel, clock: ManualClock) -> None:
        satchel.patterns.report("E", "cat", ttl_days=1)
        clock.advance(DAY - 1)
        satchel.patterns.report("E", "cat")
        now = clock.advance(DAY - 1)
        with satchel.workplace.engine.write() as transaction:
            vouch(transaction, now)
            assert expiry.sweep(transaction, 1, now) == 0
        assert satchel.finding.search("cat").total == 1

    def test_reporting_sweeps(self, satchel: Satchel, clock: ManualClock) -> None:
        satchel.patterns.report("E", "cat", ttl_days=1)
        vouch_in(satchel, clock.advance(DAY))
        satchel.patterns.report("E", "new")
        with satchel.workplace.engine.read() as transaction:
            assert transaction.all("SELECT count(*) FROM error_patterns") == [(1,)]


@pytest.fixture
def two(open_in: Callable[..., Satchel], project: Path) -> tuple[Satchel, Satchel]:
    """Two projects of one store that met the same error; each has its own solution."""
    both = open_in(project, project="one"), open_in(project, project="other")
    for satchel, fix in zip(both, ("alpha", "omega"), strict=True):
        satchel.patterns.report("E", "boom", lang="go", solution=fix)
    return both


class TestProjects:
    def test_are_apart(self, two: tuple[Satchel, Satchel]) -> None:
        filters: list[dict[str, Any]] = [{}, {"query": "boom alpha omega"}, {"lang": "go"}, {"error_type": "E"}]
        for satchel, fix in zip(two, ("alpha", "omega"), strict=True):
            for given in filters:
                (pattern,) = satchel.patterns.find(**given)
                assert [one.text for one in pattern.solutions] == [fix]
                assert satchel.patterns.get(pattern.hash).uid == pattern.uid
            told = satchel.patterns.report("E", "boom")
            assert (told.pattern.occurrences, [one.text for one in told.solutions]) == (2, [fix])

    def test_take_nothing_by_another_s_ids(self, two: tuple[Satchel, Satchel]) -> None:
        one, other = two
        theirs = other.patterns.find().items
        (fix,) = theirs[0].solutions
        for call in (
            lambda: one.patterns.get(theirs[0].ref),
            lambda: one.patterns.solve(theirs[0].ref, "fix"),
            lambda: one.patterns.outcome(fix.ref, helped=True),
            lambda: one.housekeeping.forget(theirs[0].ref),
        ):
            with pytest.raises(NotFound):
                call()
        assert other.patterns.find().items == theirs

    def test_the_same_fix_in_another_confirms_nothing(self, two: tuple[Satchel, Satchel]) -> None:
        one, other = two
        for satchel, agent in ((one, "Ann"), (other, "Bob")):
            told = satchel.patterns.report("E", "boom", solution="same", agent=agent)
            assert told.recorded is not None
            assert told.recorded.confirmed == 0


def test_a_forgotten_error_takes_its_solutions_along(satchel: Satchel) -> None:
    satchel.patterns.report("E", "cat", solution="dog")
    told = satchel.housekeeping.forget("x1", dry_run=False)
    assert (told.kind, "dog" in told.text) == ("error_pattern", True)
    with satchel.workplace.engine.read() as transaction:
        assert transaction.all("SELECT count(*) FROM error_solutions") == [(0,)]
    assert satchel.patterns.find(limit=0).total == satchel.finding.search("cat dog").total == 0


def test_reading_changes_and_registers_nothing(satchel: Satchel) -> None:
    satchel.patterns.report("E", "x")
    before = satchel.patterns.find().seq, satchel.patterns.get("x1")
    page = satchel.patterns.find(query="x", lang="go")
    assert (page.seq, satchel.patterns.get("x1")) == before


def test_an_index_that_names_what_is_gone_is_reported(satchel: Satchel) -> None:
    satchel.patterns.report("E", "x")
    with satchel.workplace.engine.write() as transaction:
        transaction.run("DELETE FROM error_patterns")
    with pytest.raises(StoreDamaged, match="lists an item that does not exist"):
        satchel.patterns.find(query="x")


def test_the_index_made_anew_knows_what_it_knew(satchel: Satchel, clock: ManualClock) -> None:
    satchel.patterns.report("KindError", "needle", stack="zeta", solution="cure", ttl_days=1)
    with satchel.workplace.engine.write() as transaction:
        transaction.run("DELETE FROM documents")
    satchel.finding.rebuild(lambda _done, _total: None)
    for word in ("KindError", "needle", "zeta", "cure"):
        assert satchel.finding.search(word).total == 1
    clock.advance(DAY)
    assert satchel.finding.search("needle").total == 0


def test_a_fix_that_has_failed_is_called_so(satchel: Satchel) -> None:
    satchel.patterns.report("KeyError", "zebra", solution="feed it", agent="ann")
    satchel.patterns.solve("x1", "brush it", agent="ann")
    satchel.patterns.outcome("y1", helped=False, agent="ben")
    with satchel.workplace.engine.read() as transaction:
        (text,) = updates.display_texts(transaction, [1]).values()
    assert text.splitlines()[1:] == ["a fix that has failed: feed it", "fix: brush it"]


STACK = """Traceback (most recent call last):
  File "invoicer/__main__.py", line 12, in main
    total = with_tax(rows, rate)
  File "invoicer/load.py", line 5, in read_rows
    return handle.read()
UnicodeDecodeError: 'utf-8' codec can't decode byte 0xe9 in position 14: invalid continuation byte"""


def test_an_error_is_found_by_what_it_says_and_by_its_stack_only_where_nothing_else_matches(satchel: Satchel) -> None:
    satchel.patterns.report("UnicodeDecodeError", STACK, solution="open exports with encoding='cp1252'")
    assert satchel.finding.search("tax rate").total == 0
    for words in ("codec decode", "UnicodeDecodeError", "cp1252 exports", "with_tax", "load.py"):
        assert [one.ref for one in satchel.finding.search(words).results] == ["x1"], words
    (shown,) = satchel.finding.search("codec decode").results
    assert shown.text == (
        "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xe9 in position 14: invalid continuation byte\n"
        "fix: open exports with encoding='cp1252'"
    )
    satchel.decisions.set("with_tax", "22 %")
    assert [one.ref for one in satchel.finding.search("with_tax").results] == ["d1"]
