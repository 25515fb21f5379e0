"""What each section offers to whom, and what it never does."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from satchel import Package, Satchel
from satchel.keep.packages.contents import MAX_BYTES

if TYPE_CHECKING:
    from conftest import ManualClock

DAY = 86_400_000
Refs = Callable[..., list[str]]


def package(store: Satchel, summary: str = "what the spike found", **given: Any) -> Package:
    return store.packages.save(summary, **({} if "path" in given else {"content": "all of it"}), **given)


def line(store: Satchel, ref: str, **given: Any) -> str:
    """Return the one line of a preview for a developer that begins with a short id."""
    text = store.brief(**{"role": "developer", "budget": 20_000, "dry_run": True, **given}).text
    (found,) = (line for line in text.splitlines() if line.startswith(f"{ref} "))
    return found


def _remove(file: Path) -> None:
    file.unlink()


def _grow(file: Path) -> None:
    os.truncate(file, MAX_BYTES + 1)


def _escape(file: Path) -> None:
    file.unlink()
    file.symlink_to("/etc/hostname")


class TestPackages:
    def test_those_for_the_role_or_for_any_are_briefed(self, store: Satchel, refs: Refs) -> None:
        for consumers in ((), ("developer", "qa_expert"), ("qa_expert",)):
            package(store, consumers=consumers)
        assert sorted(refs()) == ["p1", "p2"]
        assert sorted(refs(role="Developer")) == ["p1", "p2"]
        assert sorted(refs(role="gardener")) == ["p1"]

    def test_every_package_that_fits_the_budget_is_briefed(self, store: Satchel, refs: Refs) -> None:
        for number in range(11):
            package(
                store,
                f"package {number} on topic {number}",
                priority="low" if number > 7 else "high",
                consumers=["developer"],
            )
        assert sorted(refs(budget=4_000)) == sorted(f"p{number}" for number in range(1, 12))
        assert refs(budget=4_000, role="developer", again=True)[-3:] == ["p9", "p10", "p11"]

    def test_whoever_has_no_role_gets_those_of_every_role(self, store: Satchel, refs: Refs) -> None:
        package(store, consumers=["qa_expert"])
        assert refs(role=None) == ["p1"]

    def test_a_critical_one_is_for_everyone(self, store: Satchel, refs: Refs) -> None:
        package(store, consumers=["qa_expert"], priority="critical")
        assert refs() == ["p1"]

    def test_superseded_ones_are_not(self, store: Satchel, refs: Refs) -> None:
        package(store)
        package(store, "found more", supersedes="p1")
        assert refs() == ["p2"]

    @pytest.mark.parametrize("run", [None, "night", "day", "main", "*"])
    def test_those_of_all_runs_are_briefed(self, store: Satchel, refs: Refs, run: str | None) -> None:
        store.runs.start("day")
        names = ("main", "night", "day")
        for name in names:
            package(store, run_id=name)
        assert sorted(refs(run_id=run)) == ["p1", "p2", "p3"]

    def test_a_task_of_another_run_is_another_where_a_run_is_chosen(self, store: Satchel, refs: Refs) -> None:
        package(store)
        package(store, task_id="T1", run_id="night")
        assert (refs(task_id="T1"), refs(task_id="T1", run_id="main")) == (["p2", "p1"], ["p1", "p2"])

    def test_they_are_ranked_by_priority_task_role_and_age(
        self, store: Satchel, refs: Refs, clock: ManualClock
    ) -> None:
        package(store, "old")
        clock.advance(2 * DAY)
        package(store, "new")
        package(store, "for the role", consumers=["developer"])
        package(store, "of the task", task_id="T1")
        package(store, "high", priority="high")
        package(store, "of both", task_id="T1", consumers=["developer"])
        package(store, "critical", priority="critical")
        assert refs(task_id="T1") == ["p7", "p5", "p6", "p4", "p3", "p2", "p1"]
        assert refs(task_id="T1", role="tech_lead") == ["p7", "p5", "p4", "p2", "p1"]

    def test_one_that_was_not_touched_for_long_counts_as_low_unless_it_is_critical(
        self, store: Satchel, clock: ManualClock
    ) -> None:
        package(store, priority="high")
        package(store, priority="critical")
        clock.advance(30 * DAY)
        assert store.brief("developer", budget=20_000, dry_run=True).items[1].priority == "high"
        clock.advance(1)
        priorities = {item.ref: item.priority for item in store.brief("developer", budget=20_000, dry_run=True).items}
        assert priorities == {"p1": "low", "p2": "critical"}

    def test_its_line_says_who_made_it_what_it_is_and_where_it_stands(self, store: Satchel) -> None:
        (Path(store.workplace.files_root or "") / "docs").mkdir()
        (Path(store.workplace.files_root or "") / "docs" / "spike.md").write_text("all of it")
        package(store, path="docs/spike.md", type="handoff", agent="ann", task_id="T1", priority="high")
        assert line(store, "p1") == "p1 handoff by ann task T1 docs/spike.md: what the spike found"
        assert line(store, "p1", task_id="T1") == "p1 handoff by ann docs/spike.md: what the spike found"

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            (_remove, "is not there"),
            (_grow, f"has {MAX_BYTES + 1:,} bytes, more than the {MAX_BYTES:,} that are read"),
            (_escape, "leads out of the project through a link"),
        ],
    )
    def test_a_file_that_cannot_be_read_by_now_is_said(
        self, store: Satchel, project: Path, change: Callable[[Path], None], said: str
    ) -> None:
        file = project / "spike.md"
        file.write_text("all of it")
        package(store, path="spike.md")
        change(file)
        assert line(store, "p1").endswith(f": what the spike found (its file {said})")


class TestErrors:
    def report(self, store: Satchel, message: str = "x is not callable", **given: Any) -> None:
        store.patterns.report("TypeError", message, **{"solution": "call it by name", **given})

    @pytest.mark.parametrize(
        ("outcomes", "said"),
        [
            ([], "y1 (tentative)"),
            ([True], "y1 (tentative)"),
            ([True, True], "y1"),
            ([True, True, False], "y1 (tentative)"),
            ([False], "y1 (weak)"),
        ],
    )
    def test_a_solution_is_briefed_as_known_tentative_or_weak(
        self, store: Satchel, outcomes: list[bool], said: str
    ) -> None:
        self.report(store)
        for place, helped in enumerate(outcomes):
            store.patterns.outcome("y1", helped=helped, agent=f"judge {place}")
        assert line(store, "x1") == f"x1 TypeError: x is not callable -> {said}: call it by name"

    @pytest.mark.parametrize("outcomes", [[False, False], [True, False, False]])
    def test_one_that_is_less_sure_is_not(self, store: Satchel, refs: Refs, outcomes: list[bool]) -> None:
        self.report(store)
        for place, helped in enumerate(outcomes):
            store.patterns.outcome("y1", helped=helped, agent=f"judge {place}")
        assert (refs(), refs(query="not callable")) == ([], [])

    def test_an_error_without_a_solution_is_not(self, store: Satchel, refs: Refs) -> None:
        self.report(store, solution=None)
        assert (refs(), refs(query="not callable")) == ([], [])

    def test_of_several_solutions_the_best_is(self, store: Satchel) -> None:
        self.report(store)
        store.patterns.solve("x1", "import it late")
        store.patterns.outcome("y2", helped=True)
        assert line(store, "x1").endswith("-> y2 (tentative): import it late")

    def test_a_weak_one_gives_way_to_a_better_one(self, store: Satchel) -> None:
        self.report(store)
        store.patterns.outcome("y1", helped=False, agent="judge")
        store.patterns.solve("x1", "import it late")
        assert line(store, "x1").endswith("-> y2 (tentative): import it late")

    def test_an_expired_error_is_not(self, store: Satchel, refs: Refs, clock: ManualClock) -> None:
        self.report(store, ttl_days=1)
        clock.advance(DAY - 1)
        assert refs() == ["x1"]
        clock.advance(1)
        assert (refs(), refs(query="not callable")) == ([], [])

    def test_what_the_own_task_met_comes_before_what_others_did(self, store: Satchel, refs: Refs) -> None:
        self.report(store, "one is not callable", loop_id="L1", task_id="T1")
        self.report(store, "two is missing an argument", loop_id="L2", task_id="T2")
        self.report(store, "three cannot be iterated")
        assert (refs(task_id="T1")[0], refs(task_id="T2")[0], refs(loop_id="L1")[0]) == ("x1", "x2", "x1")

    def test_known_ones_come_before_tentative_ones(self, store: Satchel, refs: Refs, clock: ManualClock) -> None:
        self.report(store)
        for judge in ("lea", "tom"):
            store.patterns.outcome("y1", helped=True, agent=judge)
        clock.advance(5 * DAY)
        self.report(store, "two is missing an argument")
        assert refs() == ["x1", "x2"]

    def test_errors_belong_to_the_project_whatever_the_run(self, store: Satchel, refs: Refs) -> None:
        self.report(store)
        store.runs.end("night")
        assert refs() == refs(run_id="night") == ["x1"]


class TestStrategies:
    def test_one_that_is_briefed_counts_as_seen_then(self, store: Satchel, clock: ManualClock) -> None:
        store.strategies.save("lexers", "read the grammar first")
        clock.advance(DAY)
        store.brief(agent="reader", dry_run=True)
        assert store.strategies.find().items[0].last_seen == clock.now - DAY
        store.brief(agent="reader")
        assert store.strategies.find().items[0].last_seen == clock.now

    @pytest.mark.parametrize(
        ("outcomes", "is_briefed"), [("", True), ("+", True), ("+-", True), ("-", False), ("+--", False)]
    )
    def test_what_helped_at_least_as_often_as_not_is_briefed(
        self, store: Satchel, refs: Refs, outcomes: str, is_briefed: bool
    ) -> None:
        store.strategies.save("token-refresh", "refresh before expiry")
        (ref,) = refs()
        for outcome in outcomes:
            store.strategies.outcome(ref, helped=outcome == "+")
        assert (refs() != []) == is_briefed

    def test_its_line_says_for_what_it_is(self, store: Satchel, refs: Refs) -> None:
        store.strategies.save("token-refresh", "refresh early", lang="python", framework="django", agent="ann")
        (ref,) = refs()
        assert line(store, ref) == f"{ref} token-refresh: refresh early"


class TestRules:
    def test_active_constraints_are_briefed_the_most_urgent_first(self, store: Satchel, refs: Refs) -> None:
        for priority in ("low", "critical", "medium", "high"):
            store.constraints.add(f"a {priority} rule about {priority} things", priority=priority)
        assert refs() == ["c2", "c4", "c3", "c1"]
        store.corrections.retract("c4", "over")
        assert (refs(), refs(query="high things")[0]) == (["c2", "c3", "c1"], "c2")

    def test_active_decisions_and_drafts_are_briefed_with_value_and_rationale(self, store: Satchel, refs: Refs) -> None:
        store.decisions.set("session_ttl", 300, rationale="matches the gateway", agent="ann")
        store.decisions.set("queue", "kafka", status="draft")
        store.decisions.set("cache", "redis")
        store.decisions.set("cache", status="deprecated")
        assert (refs(), sorted(refs(query="kafka redis session"))) == (["d1", "d2"], ["d1", "d2"])
        assert line(store, "d1") == "d1 session_ttl: 300 (because: matches the gateway)"
        assert line(store, "d2") == "d2 queue (draft): kafka"


class TestMessages:
    def test_to_the_agent_is_not_crowded_out_by_newer_ones_to_all(self, store: Satchel, refs: Refs) -> None:
        store.messages.send("to ben", to="ben", priority="high", agent="ann")
        for number in range(20):
            store.messages.send(f"to all {number}", priority="high", agent="ann")

        assert refs(agent="ben", budget=100)[0] == "m1"

    def test_an_answer_names_its_question(self, store: Satchel) -> None:
        asked = store.messages.send("May exports be UTF-8?", to="ann", agent="ben")
        answer = store.messages.send("No, the till needs cp1252", reply_to=asked.ref, agent="ann")
        briefing = store.brief(agent="ben")
        assert f'{answer.ref} by ann in answer to "May exports be UTF-8?": No, the till needs cp1252' in briefing.text

    def test_only_an_agent_gets_them_and_only_its_own(self, store: Satchel, refs: Refs) -> None:
        store.messages.send("to ben", to="ben", agent="ann")
        store.messages.send("to all", agent="ann")
        store.messages.send("to ann", to="ann", agent="ben")
        assert {name: sorted(refs(agent=name)) for name in ("ann", "ben", "new")} == {
            "ann": ["m3"],
            "ben": ["m1", "m2"],
            "new": ["m2"],
        }
        assert refs() == []

    def test_read_and_expired_ones_are_not_briefed(self, store: Satchel, refs: Refs, clock: ManualClock) -> None:
        store.messages.send("first", to="ben", agent="ann")
        store.messages.send("second", to="ben", agent="ann")
        store.messages.mark_read(["m1"], agent="ben")
        assert refs(agent="ben") == ["m2"]
        clock.advance(8 * DAY)
        assert (refs(agent="ben"), refs(agent="ben", query="second")) == ([], [])

    def test_a_briefing_does_not_mark_them_as_read(self, store: Satchel) -> None:
        store.messages.send("first", to="ben", agent="ann")
        store.brief("developer", agent="ben")
        assert store.messages.inbox(agent="ben", unread=True).total == 1

    def test_its_line_says_from_whom_it_is_and_of_what_kind(self, store: Satchel) -> None:
        store.messages.send("stop", agent="ann", type="warning", priority="high", payload={"a": 1})
        assert line(store, "m1", agent="ben") == "m1 warning by ann to all with payload: stop"
        store.messages.send("rebase", agent="ann", type="request", to="ben")
        assert line(store, "m2", agent="ben") == "m2 request by ann: rebase"


class TestTheRun:
    def pad(self, store: Satchel, iteration: int, *attempted: str, **more: Any) -> None:
        loop, agent = more.pop("loop_id", "L"), more.pop("agent", None)
        content = {"iteration": iteration, "attempted": list(attempted), **more}
        store.entries.write("scratchpad", content, loop_id=loop, agent=agent)

    def test_the_notes_of_all_runs_are_briefed_those_of_the_own_task_first(
        self, store: Satchel, refs: Refs, clock: ManualClock
    ) -> None:
        store.entries.write("discovery", "auth lives in src/auth.py", task_id="T1", file="src/auth.py", line=3)
        clock.advance(DAY)
        store.entries.write("error", "the build is red", task_id="T2", agent="ann")
        store.runs.start("day")
        clock.advance(-2 * DAY)
        store.entries.write("discovery", "another run", run_id="day", task_id="T1")
        clock.advance(2 * DAY)
        assert refs(task_id="T1") == ["e1", "e3", "e2"]
        assert refs(run_id="main", task_id="T1") == ["e1", "e2", "e3"]
        assert refs(run_id="day", task_id="T1") == ["e3", "e2", "e1"]
        assert refs(task_id="T2") == ["e2", "e1", "e3"]
        assert line(store, "e1") == "e1 task T1 src/auth.py:3: auth lives in src/auth.py"
        assert line(store, "e2", task_id="T2") == "e2 error: the build is red"

    def test_other_runs_answer_a_query(self, store: Satchel, refs: Refs) -> None:
        store.runs.start("day")
        store.entries.write("discovery", "the kafka topic is called orders", run_id="day", agent="ann")
        assert refs(run_id="night") == refs(run_id="night", query="kafka topic") == ["e1"]

    @pytest.mark.parametrize("run", [None, "night", "day"])
    def test_notes_of_all_runs_compete_on_equal_terms(self, store: Satchel, refs: Refs, run: str | None) -> None:
        store.runs.start("day")
        store.entries.write("discovery", "the kafka topic is called orders", run_id="day")
        store.entries.write("discovery", "the build of the gateway takes long, as the kafka tests do", run_id="night")
        assert refs(run_id=run, query="how is the kafka topic called") == ["e1", "e2"]

    def test_superseded_entries_are_not_briefed(self, store: Satchel, refs: Refs) -> None:
        for summary in ("an old analysis of kafka", "a new analysis of kafka"):
            store.entries.write("codebase_analysis", {"summary": summary})
        assert refs(query="kafka analysis") == ["e2"]

    def test_scratchpads_reviews_and_analyses_are_no_mere_notes(self, store: Satchel, refs: Refs) -> None:
        self.pad(store, 1, "a")
        store.entries.write("review_issue", {"description": "no tests"}, task_id="T1")
        store.entries.write("codebase_analysis", {"summary": "a monolith"})
        assert refs() == []

    def test_the_scratchpads_of_the_own_loop_are_briefed(self, store: Satchel, refs: Refs) -> None:
        self.pad(store, 1, "clear the cache", blockers=["no key"], next_step="ask", test_status="failing")
        self.pad(store, 2, test_status="12 failed")
        self.pad(store, 1, "x", loop_id="M")
        assert refs(loop_id="L") == ["e2"]
        assert line(store, "e2", loop_id="L") == ("e2 iteration 2, tests 12 failed: tried before: clear the cache")
        self.pad(store, 4, done=True)
        assert line(store, "e4", loop_id="L") == "e4 iteration 4, done"
        assert refs(loop_id="L") == ["e4"]
        assert line(store, "e3", loop_id="M") == "e3 iteration 1: tried: x"

    def test_where_an_older_scratchpad_is_found_the_newest_says_how_it_stands(self, store: Satchel, refs: Refs) -> None:
        self.pad(store, 1, "clear the kafka cache", agent="ann")
        self.pad(store, 2, "pin the version", agent="ann", done=True)
        self.pad(store, 1, "kafka", agent="ben")
        assert sorted(refs(query="kafka cache", agent="cat")) == ["e2", "e3"]

    def test_a_scratchpad_says_what_was_tried_what_blocks_and_what_is_next(self, store: Satchel) -> None:
        self.pad(
            store, 1, "a", "b", blockers=["no key"], next_step="ask", test_status="failing", done=False, lost=["c"]
        )
        expected = "e1 iteration 1, not done, tests failing: tried: a; b; blocked: no key; next: ask; lost: c"
        assert line(store, "e1", loop_id="L") == expected

    def test_of_each_agent_the_newest_scratchpad_is_shown_with_what_it_tried_before(
        self, store: Satchel, refs: Refs, clock: ManualClock
    ) -> None:
        for iteration, agent, tried in ((1, "ann", "alpha"), (2, "ann", "bravo"), (1, "ben", "c"), (3, "ann", "Alpha")):
            clock.advance(1)
            content = {"iteration": iteration, "attempted": [tried]}
            store.entries.write("scratchpad", content, loop_id="L", task_id="T1", agent=agent)
        text = store.brief("developer", loop_id="L", task_id="T1", dry_run=True).text
        assert [part for part in text.splitlines() if part[0] == "e"] == [
            "e3 iteration 1 by ben: tried: c",
            "e4 iteration 3 by ann: tried: Alpha; tried before: bravo",
        ]
        assert sorted(refs(query="alpha bravo")) == ["e4"]
        assert "tried before: bravo" in line(store, "e4", query="alpha bravo")

    def test_scratchpads_that_the_newest_stands_for_are_delivered_with_it(self, store: Satchel) -> None:
        self.pad(store, 1, "a", agent="ann")
        self.pad(store, 2, "b", agent="ann")
        (item,) = store.brief("developer", loop_id="L", agent="ann").items
        assert (item.ref, item.stands_for) == ("e2", ("e1",))
        assert store.brief("developer", loop_id="L", agent="ann").items == ()

    def test_a_verdict_found_elsewhere_says_whether_it_passed(self, store: Satchel) -> None:
        store.entries.write("review_verdict", {"passed": False, "summary": "kafka is missing"}, task_id="T9")
        store.entries.write("review_verdict", {"passed": True, "summary": "kafka is fine"}, task_id="T8")
        assert line(store, "e1", query="kafka") == "e1 review verdict task T9: FAILED: kafka is missing"
        assert line(store, "e2", query="kafka") == "e2 review verdict task T8: PASSED: kafka is fine"

    def test_the_open_review_of_the_own_task_is_briefed(self, store: Satchel, refs: Refs) -> None:
        issue = {"description": "no tests", "issue_type": "dead-code", "suggestion": "write some"}
        store.entries.write("review_issue", issue, task_id="T1", file="src/a.py", line=2, agent="lea")
        store.entries.write("review_verdict", {"passed": False, "intent_satisfied": False}, task_id="T1", agent="lea")
        store.entries.write("review_issue", {"description": "another"}, task_id="T2")
        assert sorted(refs(task_id="T1")) == ["e1", "e2"]
        assert line(store, "e1", task_id="T1") == "e1 dead-code by lea src/a.py:2: no tests; suggested: write some"
        assert line(store, "e2", task_id="T1") == "e2 review FAILED, intent not satisfied by lea: no summary"

    def test_a_later_verdict_takes_the_place_of_the_earlier_review(self, store: Satchel, refs: Refs) -> None:
        store.entries.write("review_issue", {"description": "no tests"}, task_id="T1")
        store.entries.write("review_verdict", {"passed": False}, task_id="T1")
        store.entries.write("review_verdict", {"passed": True, "summary": "fine"}, task_id="T1")
        assert refs(task_id="T1") == ["e3"]
        assert line(store, "e3", task_id="T1") == "e3 review PASSED: fine"

    def test_without_a_task_the_review_of_the_loop_is(self, store: Satchel, refs: Refs) -> None:
        store.entries.write("review_issue", {"description": "no tests"}, loop_id="L")
        assert (refs(loop_id="L"), refs(loop_id="M"), refs()) == (["e1"], [], [])


def test_a_rule_and_a_decision_say_which_files_they_bind_and_until_when(store: Satchel) -> None:
    store.constraints.add("never sleep", paths=["tests/**"], until="the freeze")
    store.decisions.set("queue", "kafka", paths=["a.py", "b.py", "c.py", "d.py"])
    assert line(store, "c1:").endswith("never sleep (for tests/**) (until the freeze)")
    assert line(store, "d1").endswith("kafka (for a.py, b.py, c.py and 1 more)")


def test_other_projects_never_show(open_in: Callable[..., Satchel], project: Path, store: Satchel, refs: Refs) -> None:
    other = open_in(project, project="other", agent="ann")
    other.runs.start("night")
    other.entries.write("discovery", "kafka holds the orders", task_id="T1", loop_id="L")
    other.entries.write("scratchpad", {"iteration": 1, "attempted": ["kafka"]}, task_id="T1", loop_id="L")
    other.entries.write("review_issue", {"description": "kafka"}, task_id="T1")
    other.packages.save("kafka", content="kafka", priority="critical")
    other.constraints.add("kafka only", priority="critical")
    other.decisions.set("queue", "kafka")
    other.messages.send("kafka is down", priority="critical")
    other.messages.send("kafka is down", to="ben", priority="critical")
    other.patterns.report("TypeError", "kafka", solution="use kafka")
    other.strategies.save("kafka", "use kafka early")
    briefing = other.brief("developer", agent="ben", budget=20_000, task_id="T1", loop_id="L", dry_run=True)
    assert len(briefing.items) == 9
    store.messages.send("hello", to="ann", agent="ben")
    for query in (None, "kafka"):
        briefing = store.brief("developer", agent="ben", budget=20_000, task_id="T1", loop_id="L", query=query)
        assert (briefing.items, briefing.left_out, "kafka" in briefing.text.replace(repr(query), "")) == ((), (), False)
