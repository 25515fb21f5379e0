"""The tools of the toolset ``runs``, called as an agent calls them."""

from __future__ import annotations

import pytest

from tool_asking import Asker


def work(ask: Asker) -> None:
    """Start the run r1, and fail and pass in it."""
    ask.text("start_run", run_id="r1", title="New login")
    place = {"task_id": "token-refresh", "loop_id": "L", "run_id": "r1"}
    for attempt, status in (("retry at once", "failing"), ("back off", "passing")):
        pad = {"iteration": 1, "attempted": [attempt], "test_status": status}
        ask.text("write_context", type="scratchpad", content=pad, **place)
    ask.text("write_context", type="review_verdict", content={"passed": True}, **place)


def test_a_run_that_was_started_is_worked_in_by_its_name(empty: Asker) -> None:
    assert empty.text("start_run", run_id="r1") == (
        "started run r1: your session works in it until it ends; others join it with run_id=r1"
    )
    assert empty.text("write_context", type="discovery", content="x", run_id="r1") == (
        "saved e1 discovery in run r1, author unnamed; shown in briefings, searches"
    )
    assert (
        empty.text("write_context", type="discovery", content="x")
        == "saved e2 discovery, author unnamed; shown in briefings, searches"
    )
    fields = empty.fields("start_run", title="t", effort="high", spec_path="docs/spec.md")
    assert (fields["run_id"], fields["title"], fields["status"]) == ("2026-11-18-1", "t", "active")


def test_the_end_of_a_run_says_what_it_has_taught(empty: Asker) -> None:
    work(empty)
    lines = empty.text("end_run", run_id="r1").splitlines()
    assert lines[0] == "run r1 is completed"
    assert "save_strategy" in lines[1]
    assert lines[2:] == [
        "token-refresh (from e1, e2, e3)",
        " back off (passed review after failing once: retry at once)",
    ]


def test_the_end_of_a_run_as_json(empty: Asker) -> None:
    work(empty)
    fields = empty.fields("end_run", run_id="r1", status="failed")
    assert (fields["run_id"], fields["status"], fields["title"]) == ("r1", "failed", "New login")
    assert [one["topic"] for one in fields["proposals"]] == ["token-refresh"]
    empty.text("start_run", run_id="r2")
    assert empty.text("end_run", run_id="r2") == "run r2 is completed"


@pytest.mark.parametrize(
    ("tool", "arguments", "error"),
    [
        ("end_run", {}, "the run 'main' never ends"),
        ("end_run", {"run_id": "main"}, "the run 'main' never ends"),
        ("end_run", {"run_id": "r12"}, "Did you mean 'r1'"),
        ("end_run", {"run_id": "r1", "status": "active"}, "status"),
        ("end_run", {"run_id": "*"}, "means all runs"),
        ("start_run", {"run_id": "r1"}, "exists already and is active"),
        ("start_run", {"run_id": "main"}, "every project has the run 'main'"),
        ("start_run", {"run_id": "*"}, "means all runs"),
        ("get_runs", {"status": "done"}, "status"),
        ("get_runs", {"limit": -1}, "limit"),
        ("write_context", {"type": "discovery", "content": "x", "run_id": "*"}, "means all runs"),
        ("read_context", {"run_id": "r12"}, "Did you mean 'r1'"),
    ],
)
def test_what_is_not_possible_is_refused(empty: Asker, tool: str, arguments: dict[str, object], error: str) -> None:
    empty.text("start_run", run_id="r1")
    assert error in empty.refused(tool, **arguments)
    assert [run.run_id for run in empty.satchel.runs.list("active")] == ["r1"]


def test_runs_are_listed_the_newest_first(empty: Asker) -> None:
    assert empty.text("get_runs") == "0 runs"
    empty.text("start_run", run_id="a run", title="New\nlogin", effort="low")
    empty.text("start_run", run_id="r2")
    empty.text("end_run", run_id="r2", status="failed")
    head, *lines = empty.text("get_runs").splitlines()
    assert head == "2 runs, newest first, UTC times of 2026"
    assert [line.split(" started ")[0] for line in lines] == ["r2 failed", '"a run" active effort:low', " New login"]
    assert " ended 11:06" in lines[0]
    assert empty.text("get_runs", limit=1).startswith("1 of 2 runs, newest first, UTC times of 2026, next: offset=1\n")
    assert [run["run_id"] for run in empty.fields("get_runs", status="active")["runs"]] == ["a run"]


def test_lists_over_all_runs_name_a_run_only_where_it_is_another_than_main(empty: Asker) -> None:
    empty.text("start_run", run_id="r1")
    for run, text in (("main", "x"), ("main", "y"), ("r1", "z")):
        empty.text("write_context", type="discovery", content=text, run_id=run)
        empty.text("save_package", summary=text, content="c", run_id=run)
    for tool in ("read_context", "get_packages"):
        text = empty.text(tool)
        assert text.count("run:r1") == 1
        assert "main" not in text
        assert "run:" not in empty.text(tool, run_id="r1") + empty.text(tool, run_id="main")
    assert [entry["run_id"] for entry in empty.fields("read_context")["entries"]] == ["r1", "main", "main"]
    assert empty.fields("read_context")["run_id"] is None


def test_where_most_are_of_another_run_what_is_of_main_says_so(empty: Asker) -> None:
    empty.text("start_run", run_id="r1")
    for run in ("r1", "r1", "main"):
        empty.text("write_context", type="discovery", content="x", run_id=run)
        empty.text("save_package", summary="x", content="c", run_id=run)
    for tool in ("read_context", "get_packages"):
        text = empty.text(tool)
        assert (text.count("run:r1"), text.count("run:main")) == (1, 1)
