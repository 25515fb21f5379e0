"""What a briefing shows where no run was chosen."""

from __future__ import annotations

from collections.abc import Callable

from satchel import Satchel

Refs = Callable[..., list[str]]


class TestWithoutAChoiceOfRun:
    def test_a_briefing_is_recorded_before_main_was_used(self, store: Satchel) -> None:
        store.constraints.add("never log a token")
        store.runs.end("night")
        first, second = store.brief("developer", agent="ann"), store.brief("developer", agent="ann")
        assert ([item.ref for item in first.items], first.run_id, first.is_recorded) == (["c1"], None, True)
        assert [item.ref for item in second.items] == []
        assert [run.run_id for run in store.runs.list("active")] == ["main"]

    def test_a_preview_makes_no_run(self, store: Satchel) -> None:
        store.constraints.add("never log a token")
        assert store.brief("developer", dry_run=True).items
        assert [run.run_id for run in store.runs.list()] == ["night"]

    def test_what_was_delivered_in_main_is_not_what_was_in_another_run(self, store: Satchel) -> None:
        store.constraints.add("never log a token")
        shown = [
            len(store.brief("developer", run_id=run, agent="ann").items)
            for run in (None, "main", "*", "night", "night")
        ]
        assert shown == [1, 0, 0, 1, 0]

    def test_the_attempts_are_those_of_the_loop_in_main(self, store: Satchel, refs: Refs) -> None:
        for run in ("night", "main"):
            store.entries.write("scratchpad", {"iteration": 1, "attempted": [run]}, loop_id="L", run_id=run)
        assert (refs(loop_id="L"), refs(loop_id="L", run_id="night")) == (["e2"], ["e1"])

    def test_whether_a_loop_is_stuck_is_said_of_the_loop_in_main(self, store: Satchel) -> None:
        for number, approach in enumerate(("clear the cache", "pin a version", "ask for the key")):
            pad = {"iteration": number, "attempted": [approach], "test_status": "failing", "blockers": ["no key"]}
            store.entries.write("scratchpad", pad, loop_id="L", run_id="night")
        assert [store.brief(loop_id="L", run_id=run).is_stuck for run in (None, "night")] == [False, True]

    def test_the_reviews_are_those_of_the_task_in_any_run(self, store: Satchel, refs: Refs) -> None:
        for run in ("night", "main"):
            store.entries.write("review_issue", {"description": run}, task_id="T1", loop_id="L", run_id=run)
        assert sorted(refs(task_id="T1")) == ["e1", "e2"]
        assert (refs(task_id="T1", run_id="night"), refs(loop_id="L")) == (["e1"], ["e2"])
