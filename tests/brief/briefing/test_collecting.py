"""What a briefing does when something is broken or slow: it says so, and goes on with the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from satchel import Satchel
from satchel.base.errors import Interrupted
from satchel.brief.briefing import answering, collecting, packages, run, sources
from satchel.brief.briefing.answering import Relevance
from satchel.brief.briefing.sources import BriefingContext, Source
from satchel.find.query import Query

ENDLESS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
MISSING = "packages, messages, error patterns, strategies, entries were not read"


def change(store: Satchel, sql: str) -> None:
    """Change the store as another tool may."""
    with store.workplace.engine.write() as transaction:
        transaction.run(sql)


class Processor:
    """Stands for the processor time of the thread: it stands still until a test spends it, or runs with every look."""

    def __init__(self) -> None:
        self.now = 0.0
        self.a_look = 0.0

    def __call__(self) -> float:
        self.now += self.a_look
        return self.now

    def spend(self, milliseconds: float) -> None:
        self.now += milliseconds / 1_000


@pytest.fixture
def processor(monkeypatch: pytest.MonkeyPatch) -> Processor:
    """The processor time that deadlines see."""
    made = Processor()
    monkeypatch.setattr(collecting, "thread_time", made)
    return made


def until_out_of_time(context: BriefingContext, processor: Processor, a_look: float = 6.0) -> None:
    """Run a statement that ends only because the time is over while it runs; PostgreSQL is looked at every 0.1 s."""
    processor.a_look = a_look
    try:
        context.transaction.one(ENDLESS)
    finally:
        processor.a_look = 0.0


@pytest.fixture
def filled(store: Satchel) -> Satchel:
    """A store with a scratchpad e1, a review issue e2, a constraint c1 and a note e3."""
    store.entries.write("scratchpad", {"iteration": 1, "attempted": ["kafka"]}, loop_id="L")
    store.entries.write("review_issue", {"description": "no test of kafka"}, task_id="T1")
    store.constraints.add("kafka only", priority="critical")
    store.entries.write("discovery", "kafka holds the orders")
    return store


def refs(store: Satchel, **given: Any) -> list[str]:
    briefing = store.brief(**{"loop_id": "L", "task_id": "T1", "budget": 5_000, "dry_run": True, **given})
    return sorted(item.ref for item in briefing.items)


class TestADeadline:
    def test_leaves_out_what_was_not_reached_and_says_so(
        self, filled: Satchel, processor: Processor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def slow(context: BriefingContext) -> Source:
            until_out_of_time(context, processor)
            raise AssertionError("the statement ended by itself")

        slow.__name__ = "packages"
        monkeypatch.setattr(
            collecting, "_SOURCES", tuple(slow if one is packages.packages else one for one in collecting._SOURCES)
        )
        briefing = filled.brief(loop_id="L", task_id="T1", budget=5_000, query="kafka")
        assert sorted(item.ref for item in briefing.items) == ["c1", "e1", "e2"]
        assert briefing.notes == (f"the store was slow: {MISSING}",)
        assert f"note: {briefing.notes[0]}" in briefing.text

    def test_that_the_query_takes_up_lets_it_try_fewer_candidates(
        self, filled: Satchel, processor: Processor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        find = answering._find

        def slow(context: BriefingContext, query: Query, small: int, candidates: int) -> Relevance:
            if candidates > 200:
                until_out_of_time(context, processor)
            return find(context, query, small, candidates)

        monkeypatch.setattr(answering, "_find", slow)
        briefing = filled.brief(loop_id="L", task_id="T1", budget=5_000, query="kafka")
        assert sorted(item.ref for item in briefing.items) == ["c1", "e1", "e2", "e3"]
        assert briefing.notes == ("the store was slow: the query was answered from the newest 200 that match",)

    def test_leaves_the_query_unanswered_where_only_that_is_slow(
        self, filled: Satchel, processor: Processor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(answering, "_find", lambda context, *_: until_out_of_time(context, processor))
        briefing = filled.brief(loop_id="L", task_id="T1", budget=5_000, query="kafka")
        assert len(briefing.items) == 4
        assert briefing.notes == ("the store was slow: the query was not answered",)

    @pytest.mark.usefixtures("processor")
    def test_of_the_clock_too_is_left_for_the_rest_where_the_query_takes_long(
        self, filled: Satchel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        clock = Processor()
        monkeypatch.setattr(collecting, "monotonic", clock)

        def slow(context: BriefingContext, *_: object) -> None:
            until_out_of_time(context, clock, 24.0)

        monkeypatch.setattr(answering, "_find", slow)
        briefing = filled.brief(loop_id="L", task_id="T1", budget=5_000, query="kafka")
        assert sorted(item.ref for item in briefing.items) == ["c1", "e1", "e2", "e3"]
        assert briefing.notes == ("the store was slow: the query was not answered",)

    def test_that_is_over_at_once_leaves_out_everything(self, filled: Satchel, processor: Processor) -> None:
        processor.a_look = 120.0
        briefing = filled.brief(loop_id="L", task_id="T1", budget=5_000)
        assert (briefing.items, briefing.left_out) == ((), ())
        assert briefing.notes == (f"the store was slow: attempts, constraints, decisions, reviews, {MISSING}",)

    def test_leaves_the_store_as_usable_as_before(
        self, filled: Satchel, processor: Processor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as slow:
            slow.setattr(answering, "_find", lambda context, *_: until_out_of_time(context, processor))
            filled.brief(query="kafka")
        assert refs(filled, query="kafka") == ["c1", "e1", "e2", "e3"]

    def test_of_the_real_time_ends_a_statement_that_never_would(
        self, open_in: Callable[..., Satchel], filled: Satchel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def attempts(context: BriefingContext) -> Source:
            context.transaction.one(ENDLESS)
            return run.attempts(context)

        monkeypatch.setattr(collecting, "_SOURCES", (attempts, sources.constraints))
        hurried = open_in(filled.place.file.parent.parent, settings={"brief.deadline_ms": 5})
        assert hurried.brief(budget=5_000).notes == ("the store was slow: attempts, constraints were not read",)

    @pytest.mark.usefixtures("processor")
    def test_by_the_clock_comes_to_a_thread_that_gets_no_processor_too(
        self, filled: Satchel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        clock = iter([0.0, *[241.0] * 100])
        monkeypatch.setattr(collecting, "monotonic", lambda: next(clock))
        assert filled.brief(budget=5_000).notes[0].startswith("the store was slow: attempts")

    def test_is_no_excuse_for_a_call_that_was_interrupted(
        self, filled: Satchel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        interrupt = filled.interrupter()

        def attempts(context: BriefingContext) -> Source:
            interrupt()
            return run.attempts(context)

        monkeypatch.setattr(collecting, "_SOURCES", (attempts,))
        with pytest.raises(Interrupted):
            filled.brief(loop_id="L")


class TestAnItemThatCannotBeRead:
    @pytest.mark.parametrize(
        ("sql", "ref", "said"),
        [
            ("UPDATE context SET content = '{' WHERE id = 1", "e1", "e1 could not be read: "),
            ("UPDATE context SET content = '[]' WHERE id = 1", "e1", "e1 could not be read: "),
            ("UPDATE context SET content = '{}' WHERE id = 1", "e1", "e1 could not be read: "),
            ("UPDATE context SET content = '{' WHERE id = 2", "e2", "e2 could not be read: "),
            ("UPDATE context SET created_at = 'now' WHERE id = 3", "e3", "e3 could not be read: TypeError: its time"),
        ],
    )
    def test_is_said_counted_and_does_not_keep_the_others_away(
        self, filled: Satchel, sql: str, ref: str, said: str
    ) -> None:
        change(filled, sql)
        briefing = filled.brief(loop_id="L", task_id="T1", budget=5_000)
        assert sorted(item.ref for item in briefing.items) == sorted({"c1", "e1", "e2", "e3"} - {ref})
        assert [note.startswith(said) for note in briefing.notes] == [True]
        assert [left.count for left in briefing.left_out] == [1]
        assert f"note: {briefing.notes[0]}" in briefing.text

    def test_is_left_out_of_what_a_query_finds_too(self, filled: Satchel) -> None:
        change(filled, "UPDATE context SET content = '{' WHERE id = 2")
        assert refs(filled, query="kafka") == ["c1", "e1", "e3"]

    def test_is_no_attempt_where_its_text_is_damaged(self, filled: Satchel) -> None:
        change(filled, "UPDATE context SET content = CAST(x'ff' AS TEXT) WHERE id = 1")
        briefing = filled.brief(loop_id="L", task_id="T1", budget=5_000)
        assert sorted(item.ref for item in briefing.items) == ["c1", "e2", "e3"]
        assert [note.partition(":")[0] for note in briefing.notes] == ["e1 could not be read"]


def test_what_is_left_out_is_counted_no_further_than_is_said(filled: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, least in (("COUNTED", 1), ("MAX_CANDIDATES", 1)):
        monkeypatch.setattr(sources, name, least)
    for number in range(6):
        filled.entries.write("discovery", f"note {number}")
    left = filled.brief(budget=0, dry_run=True).left_out
    assert [one.count for one in left if one.kind == "entries"] == [3]


class TestAQuery:
    def test_without_a_word_to_search_for_is_said_and_everything_is_packed(self, filled: Satchel) -> None:
        briefing = filled.brief(budget=5_000, query=" ?! ", dry_run=True)
        assert (len(briefing.items), briefing.notes) == (2, ("'?!' holds no word to search for",))

    def test_that_finds_nothing_leaves_everything_as_without_it(self, filled: Satchel) -> None:
        with_query = filled.brief(loop_id="L", task_id="T1", budget=5_000, query="zebra", dry_run=True)
        assert with_query == filled.brief(loop_id="L", task_id="T1", budget=5_000, dry_run=True)

    def test_counts_what_it_found_once_whatever_section_shows_it(self, filled: Satchel) -> None:
        briefing = filled.brief(loop_id="L", task_id="T1", budget=5_000, query="kafka", dry_run=True)
        assert (len(briefing.items), briefing.left_out) == (4, ())
        none = filled.brief(loop_id="L", task_id="T1", budget=0, query="kafka")
        assert [str(left) for left in none.left_out] == [
            "1 scratchpad (search)",
            "1 critical rule (search)",
            "1 review issue (search)",
            "1 entry (search)",
        ]

    def test_ranks_notes_by_how_rare_its_words_are_among_notes(self, store: Satchel) -> None:
        notes = [*("the usual beta stands here too" for _ in range(9)), "the rare alpha stands here once"]
        for number, note in enumerate(notes):
            store.entries.write("discovery", f"{note}, {number}")
        for number in range(60):
            store.decisions.set(f"key-{number}", f"alpha {number} of sixty")
        found = [item.ref for item in store.brief(query="alpha beta", budget=20_000).items if item.ref[0] == "e"]
        assert (found[0], len(found)) == ("e10", 10)

    def test_finds_scratchpads_and_reviews_of_others_among_the_entries(self, filled: Satchel) -> None:
        assert refs(filled, loop_id=None, task_id=None, query="kafka") == ["c1", "e1", "e2", "e3"]
        assert refs(filled, loop_id=None, task_id=None) == ["c1", "e3"]


class TestAStuckLoop:
    def pads(self, store: Satchel, *attempts: str, loop: str = "L") -> None:
        for place, attempt in enumerate(attempts):
            store.entries.write("scratchpad", {"iteration": place, "attempted": [attempt]}, loop_id=loop)

    def test_is_told_to_stop(self, store: Satchel) -> None:
        self.pads(store, "clear the cache", "lock the table", "retry with backoff")
        briefing = store.brief(loop_id="L")
        assert (briefing.is_stuck, "STUCK: 3 iterations without progress" in briefing.text) == (True, True)

    def test_is_told_so_again_although_its_scratchpads_were_delivered(self, store: Satchel) -> None:
        self.pads(store, "clear the cache", "lock the table", "retry with backoff")
        store.brief(loop_id="L")
        assert "STUCK" in store.brief(loop_id="L").text

    def test_one_that_repeats_itself_is_told_to_do_something_else(self, store: Satchel) -> None:
        self.pads(store, "clear the cache", "Clear the cache")
        briefing = store.brief(loop_id="L")
        assert (briefing.is_stuck, "REPEATING: find another approach" in briefing.text) == (False, True)

    def test_another_loop_or_run_is_not(self, store: Satchel) -> None:
        self.pads(store, "clear the cache", "lock the table", "retry with backoff")
        store.runs.start("day")
        for loop, run_id in (("M", "night"), ("L", "day"), (None, "night")):
            assert not store.brief(loop_id=loop, run_id=run_id).is_stuck
