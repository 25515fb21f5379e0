"""Asking for a briefing: what is accepted, what is recorded, and that it never waits for others."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import pytest

from agents_here import agents
from held_stores import held_by_another
from satchel import InvalidInput, NotFound, Satchel, TooLarge
from satchel.base.errors import Busy, ReadOnly, StoreFull
from satchel.base.tokens import TokenCounter
from satchel.brief.briefing.records import Briefing
from satchel.keep import deliveries
from tables import in_one_test

LONG = "a rule about the way in which tokens are written to the log of the gateway; " * 8


@pytest.fixture
def ruled(store: Satchel) -> Satchel:
    """A store with the constraint c1 and the entry e1."""
    store.constraints.add("never log a token")
    store.entries.write("discovery", "auth lives in src/auth.py", task_id="T1")
    return store


def refs(briefing: Briefing) -> set[str]:
    return {item.ref for item in briefing.items}


EVERYTHING = {"c1", "e1"}


class TestBadInput:
    @in_one_test(
        ("given", "problem"),
        [
            ({"budget": -1}, "budget -1 is out of range"),
            ({"budget": 1_000_001}, "budget 1000001 is out of range"),
            ({"budget": 1.5}, "budget 1.5 is not a whole number"),
            ({"budget": "x"}, "budget 'x' is not a whole number"),
            ({"budget": True}, "budget True is not a whole number"),
            ({"iteration": -1}, "iteration -1 is out of range"),
            ({"iteration": 2**31}, "iteration 2147483648 is out of range"),
            ({"iteration": "1"}, "iteration '1' is not a whole number"),
            ({"window_used": 1.2}, "window_used 1.2 is out of range"),
            ({"window_used": math.nan}, "window_used nan is out of range"),
            ({"query": ""}, "query is empty"),
            ({"query": " \n"}, "query is empty"),
            ({"query": 5}, "query is empty"),
            ({"role": "{{role}}"}, "role '{{role}}' is an unresolved placeholder"),
            ({"role": " "}, "role "),
            ({"role": 5}, "role "),
            ({"role": "x" * 201}, "role "),
            ({"task_id": "a\nb"}, "task_id "),
            ({"task_id": ""}, "task_id "),
            ({"loop_id": ""}, "loop_id "),
            ({"agent": "{{agent}}"}, "agent "),
            ({"run_id": ""}, "run_id "),
            ({"role": "ghp_" + "a1B2" * 9}, "role looks like a secret"),
        ],
    )
    def test_is_refused_with_what_is_wrong_and_records_nothing(
        self, ruled: Satchel, given: dict[str, Any], problem: str
    ) -> None:
        with pytest.raises(InvalidInput) as caught:
            ruled.brief(**given)
        assert caught.value.problem.startswith(problem)
        assert refs(ruled.brief()) == EVERYTHING

    def test_a_query_of_more_than_64_kib_is_refused(self, ruled: Satchel) -> None:
        with pytest.raises(TooLarge, match=r"^the text to search for has 65,537 bytes"):
            ruled.brief(query="x" * 65_537)

    def test_an_unknown_run_is_refused(self, ruled: Satchel) -> None:
        with pytest.raises(NotFound, match="nihgt"):
            ruled.brief(run_id="nihgt")

    @pytest.mark.parametrize("given", [{"query": "x" * 65_536}, {"iteration": 2**31 - 1}, {"budget": 1_000_000}])
    def test_the_largest_is_accepted(self, ruled: Satchel, given: dict[str, Any]) -> None:
        assert refs(ruled.brief(**given)) == EVERYTHING


class TestAProjectWithoutAnything:
    def test_is_said_and_no_store_is_made(self, satchel: Satchel) -> None:
        briefing = satchel.brief("developer")
        assert briefing.notes == ("no rules, decisions or notes are stored here yet; nobody else is at work",)
        assert (briefing.run_id, briefing.items, briefing.is_recorded) == (None, (), False)
        assert not satchel.place.file.exists()

    def test_that_has_a_run_alone_is_said(self, store: Satchel) -> None:
        assert store.brief("developer").notes == (
            "no rules, decisions or notes are stored here yet; nobody else is at work",
        )

    def test_that_has_nothing_which_helps_is_said(self, store: Satchel) -> None:
        store.entries.write("scratchpad", {"iteration": 1, "done": True}, loop_id="other", agent="ben")
        assert store.brief("developer", agent="ann").notes == ("nothing stored here helps yet",)


class TestWhatIsAnswered:
    def test_is_what_was_asked_for(self, ruled: Satchel) -> None:
        briefing = ruled.brief(
            "Developer",
            task_id="T1",
            loop_id="L",
            iteration=2,
            budget=700,
            window_used=0.7,
            agent="ann",
            run_id="night",
        )
        assert (briefing.role, briefing.task_id, briefing.loop_id, briefing.iteration) == ("Developer", "T1", "L", 2)
        assert (briefing.run_id, briefing.budget, briefing.zone) == ("night", 700, "soft warning")
        assert (briefing.is_stuck, briefing.is_recorded, briefing.notes) == (False, True, ())

    def test_says_of_each_item_what_it_is(self, ruled: Satchel) -> None:
        ruled.constraints.add(LONG, category="security", priority="high")
        ruled.entries.write("error", "red", file="src/a.py", agent="ann")
        items = {item.ref: item for item in ruled.brief(budget=130).items}
        constraint, entry = items["c2"], items["e2"]
        assert (constraint.kind, constraint.section, constraint.priority) == ("constraint", "rules", "high")
        assert (constraint.is_shortened, entry.is_shortened, entry.file, constraint.file) == (
            True,
            False,
            "src/a.py",
            None,
        )

    def test_comes_within_the_configured_budget_by_default(
        self, open_in: Callable[..., Satchel], ruled: Satchel
    ) -> None:
        small = open_in(ruled.place.file.parent.parent, settings={"brief.budget": 9})
        briefing = small.brief(dry_run=True)
        assert (briefing.budget, briefing.tokens <= 9, len(briefing.items) < 2) == (9, True, True)

    def test_counts_as_the_model_does_whose_tokens_are_smaller(
        self, open_in: Callable[..., Satchel], ruled: Satchel
    ) -> None:
        for _ in range(12):
            ruled.entries.write("discovery", LONG)
        wordy = open_in(ruled.place.file.parent.parent, settings={"brief.token_factor": 2.5})
        briefing = wordy.brief(budget=300, dry_run=True)
        counted = wordy.briefings.counter.count(briefing.text)
        assert (briefing.tokens, briefing.tokens <= 300) == (math.ceil(counted * 2.5), True)

    def test_keeps_a_margin_where_tokens_are_only_estimated(
        self, ruled: Satchel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for _ in range(12):
            ruled.entries.write("discovery", LONG)
        estimating = TokenCounter("estimate", False, "no extra", lambda text, _: len(text) // 4)
        monkeypatch.setattr(ruled.briefings, "counter", estimating)
        briefing = ruled.brief(budget=300)
        assert briefing.counter == "estimate"
        assert briefing.tokens == len(briefing.text) // 4 <= 300 / 1.3

    def test_is_the_same_for_the_same_question(self, open_in: Callable[..., Satchel], ruled: Satchel) -> None:
        asked: dict[str, Any] = {"role": "developer", "query": "where is auth", "dry_run": True, "budget": 90}
        other = open_in(ruled.place.file.parent.parent)
        assert ruled.brief(**asked) == ruled.brief(**asked) == other.brief(**asked)

    def test_critical_rules_are_all_named_where_they_have_room(self, store: Satchel) -> None:
        for number in range(20):
            store.constraints.add(f"no {number}", priority="critical")
        for budget in (160, 200, 300):
            assert len(store.brief(budget=budget, dry_run=True).items) == 20


class TestWhatIsDelivered:
    def test_is_not_repeated_and_that_is_said(self, ruled: Satchel) -> None:
        assert refs(ruled.brief("developer", agent="ann")) == EVERYTHING
        second = ruled.brief("developer", agent="ann")
        assert (second.items, second.is_recorded) == ((), False)
        assert second.notes == ("nothing new since your last briefing; again=true repeats 2 items",)

    @pytest.mark.parametrize(
        "given",
        [
            {"iteration": 1},
            {"agent": "ben"},
            {"agent": "ben", "iteration": 1},
            {"role": "qa_expert"},
            {"role": None},
            {"task_id": "T2"},
            {"task_id": None},
        ],
    )
    def test_is_new_to_another_iteration_agent_role_and_task(self, ruled: Satchel, given: dict[str, Any]) -> None:
        asked: dict[str, Any] = {"role": "developer", "agent": "ann", "task_id": "T1", **given}
        ruled.brief("developer", agent="ann", task_id="T1")
        assert refs(ruled.brief(**asked)) == EVERYTHING

    def test_is_the_same_receiver_whatever_the_case_of_role_and_agent(self, ruled: Satchel) -> None:
        ruled.brief("developer", agent="ann")
        assert refs(ruled.brief("Developer", agent="Ann")) == set()

    def test_can_be_repeated_and_then_is_not_new_either(self, ruled: Satchel) -> None:
        ruled.brief(agent="ann")
        assert refs(ruled.brief(again=True, agent="ann")) == EVERYTHING
        assert refs(ruled.brief(agent="ann")) == set()

    def test_is_new_once_it_changes(self, ruled: Satchel) -> None:
        ruled.decisions.set("ttl", 1)
        ruled.brief(agent="ann")
        ruled.decisions.set("ttl", 2)
        assert refs(ruled.brief(agent="ann")) == {"d1"}

    def test_a_package_whose_priority_rises_and_an_error_whose_solution_is_confirmed_are_new(
        self, ruled: Satchel
    ) -> None:
        ruled.packages.save("a spike", content="all of it")
        ruled.patterns.report("TypeError", "x is not callable", solution="call it by name")
        ruled.brief(agent="ann")
        assert refs(ruled.brief(agent="ann")) == set()
        ruled.packages.set_priority("p1", "critical")
        ruled.patterns.outcome("y1", helped=True)
        assert refs(ruled.brief(agent="ann")) == {"p1", "x1"}

    def test_is_only_what_was_shown(self, ruled: Satchel) -> None:
        for place in range(20):
            ruled.constraints.add(f"{place}: {LONG}")
        seen: list[str] = []
        while found := [item.ref for item in ruled.brief(budget=200, agent="ann").items]:
            seen += found
        assert sorted(seen) == sorted(EVERYTHING | {f"c{place}" for place in range(2, 22)})

    def test_is_repeated_to_those_who_give_no_name(self, ruled: Satchel) -> None:
        for _ in range(2):
            briefing = ruled.brief()
            assert (refs(briefing), briefing.is_recorded) == (EVERYTHING, False)

    def test_a_critical_rule_stays_as_a_line(self, ruled: Satchel) -> None:
        ruled.constraints.add(f"Log nothing secret. {LONG} NEVER log a token.", priority="critical")
        assert "c2" in refs(ruled.brief(agent="ann"))
        again = ruled.brief(agent="ann")
        assert refs(again) == {"c2"}
        (line,) = [line for line in again.text.splitlines() if line.startswith("c2: ")]
        assert len(line) < 160
        assert line == "c2: Log nothing secret. …"
        assert again.notes == ("nothing new since your last briefing; again=true repeats 3 items",)
        assert again.left_out == ()

    def test_a_preview_is_no_delivery(self, ruled: Satchel) -> None:
        assert not ruled.brief(dry_run=True, agent="new").is_recorded
        assert agents(ruled) == ()
        assert refs(ruled.brief()) == EVERYTHING

    def test_one_of_a_store_opened_for_reading_is_none(self, open_in: Callable[..., Satchel], ruled: Satchel) -> None:
        reader = open_in(ruled.place.file.parent.parent, read_only=True)
        for _ in range(2):
            briefing = reader.brief()
            assert (refs(briefing), briefing.is_recorded, briefing.notes) == (EVERYTHING, False, ())

    def test_an_agent_that_never_acted_is_known_from_then_on(self, ruled: Satchel) -> None:
        assert (refs(ruled.brief(agent="new")), refs(ruled.brief(agent="new"))) == (EVERYTHING, set())

    def test_the_default_agent_gets_it(self, open_in: Callable[..., Satchel], ruled: Satchel) -> None:
        default = open_in(ruled.place.file.parent.parent, agent="ann")
        default.brief()
        assert (refs(ruled.brief(agent="ann")), refs(ruled.brief())) == (set(), EVERYTHING)

    def test_is_recorded_with_its_run(self, ruled: Satchel) -> None:
        ruled.runs.start("day")
        ruled.brief(run_id="day", agent="ann")
        again, other = ruled.brief(run_id="day", agent="ann"), ruled.brief(run_id="night", agent="ann")
        assert (refs(again), refs(other)) == (set(), EVERYTHING)


class TestABusyStore:
    SAID = "the delivery was not recorded: "

    def test_held_by_another_connection_keeps_no_briefing_back(self, ruled: Satchel) -> None:
        with held_by_another(ruled):
            briefing = ruled.brief(agent="ann")
        assert (refs(briefing), briefing.is_recorded) == (EVERYTHING, False)
        assert [note.startswith(self.SAID) for note in briefing.notes] == [True]
        assert briefing.notes[0].endswith("The next briefing may repeat it")
        assert refs(ruled.brief(agent="ann")) == EVERYTHING

    def test_or_by_another_thread_either(self, ruled: Satchel) -> None:
        holding, done = threading.Event(), threading.Event()

        def hold() -> None:
            with ruled.workplace.engine.write():
                holding.set()
                done.wait()

        thread = threading.Thread(target=hold)
        thread.start()
        holding.wait()
        briefing = ruled.brief(agent="ann")
        done.set()
        thread.join()
        assert (refs(briefing), briefing.is_recorded) == (EVERYTHING, False)
        assert "other threads" in briefing.notes[0]

    @pytest.mark.parametrize("error", [StoreFull, ReadOnly, Busy])
    def test_nor_does_one_that_cannot_be_written(
        self, ruled: Satchel, monkeypatch: pytest.MonkeyPatch, error: Callable[[str, str], Exception]
    ) -> None:
        def fail(*_: object) -> None:
            raise error("the disk is full", "Make room")

        monkeypatch.setattr(deliveries, "record", fail)
        briefing = ruled.brief(agent="ann")
        assert (refs(briefing), briefing.is_recorded) == (EVERYTHING, False)
        assert briefing.notes == (f"{self.SAID}the disk is full. The next briefing may repeat it",)
