"""The benchmarks: one small family runs and prints its table; a wrong call is refused."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks import memory_stores, session_day, study
from benchmarks.briefing import silent, unshown
from benchmarks.harness import NotMeasuredError
from benchmarks.repositories import Repository, Task, commits_of, repositories

from satchel.brief.briefing.records import Briefed, Briefing, LeftOut
from tables import in_one_test

ROOT = Path(__file__).resolve().parent.parent


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_a_quick_family_prints_a_table_and_writes_the_same_figures_as_json(tmp_path: Path) -> None:
    done = bench("--quick", "--only", "durable-write", "--json", str(tmp_path / "figures.json"))
    assert (done.returncode, done.stderr) == (0, "")
    (family,) = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))["families"]
    rows = [line for line in done.stdout.splitlines() if line.startswith("| write")]
    assert len(rows) == len(family["figures"]) == 2
    for row, figure in zip(rows, family["figures"], strict=True):
        assert f" {figure['ratio']:.2f}x " in row


@pytest.mark.slow
def test_the_store_in_postgresql_is_measured_beside_sqlite(tmp_path: Path) -> None:
    done = bench("--quick", "--only", "postgresql", "--json", str(tmp_path / "figures.json"))
    assert (done.returncode, done.stderr) == (0, "")
    (family,) = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))["families"]
    acts = [figure["what"].partition(":")[0] for figure in family["figures"] if figure["beside"] == "SQLite"]
    assert {"write", "page of 20", "search", "briefing"} <= set(acts)


def test_the_families_are_listed_by_name() -> None:
    done = bench("--list")
    assert done.returncode == 0
    assert "durable-write   one durable write beside bare apsw\n" in done.stdout


def test_a_report_of_only_some_families_is_not_written(tmp_path: Path) -> None:
    done = bench("--only", "sizes", "--write", str(tmp_path / "report.md"))
    assert done.returncode == 2
    assert "leave out --only" in done.stderr
    assert not (tmp_path / "report.md").exists()


def test_every_repository_has_four_tasks_and_every_task_some_commits() -> None:
    assert [len(repository.tasks) for repository in repositories()] == [4] * 5
    for task in (task for repository in repositories() for task in repository.tasks):
        assert 5 <= len(task.relevant) <= 40
        assert all(re.fullmatch("[0-9a-f]{10}", number) for number in task.relevant)


def test_commits_are_taken_only_if_they_are_those_that_were_tagged(tmp_path: Path) -> None:
    raw = b'{"hash": "0123456789"}\n'
    (tmp_path / "made.commits.jsonl").write_bytes(raw)
    made = Repository("made", hashlib.sha256(raw).hexdigest(), (Task("find it", frozenset({"0123456789"})),))
    assert commits_of(made, tmp_path) == [{"hash": "0123456789"}]
    with pytest.raises(NotMeasuredError, match="not hold the commits that were tagged"):
        commits_of(replace(made, sha256="0" * 64), tmp_path)
    with pytest.raises(NotMeasuredError, match="lacks 9876543210"):
        commits_of(replace(made, tasks=(Task("find it", frozenset({"9876543210"})),)), tmp_path)
    with pytest.raises(NotMeasuredError, match="holds no other"):
        commits_of(replace(made, name="other"), tmp_path)


@in_one_test("name", memory_stores.NAMES)
def test_a_day_of_sessions_needs_only_items_that_hold_at_its_end(name: str) -> None:
    store = memory_stores.load(name)
    labels = {
        label
        for session in store.sessions
        for label in (*session["fits"], *(one for event in session["events"] for one in event.get("needs", ())))
    }
    assert labels <= store.live().keys()
    main = {label for event in store.sessions[0]["events"] for label in event.get("needs", ())}
    assert 14 <= len(main) <= 16


def test_a_session_is_played_over_its_store(tmp_path: Path) -> None:
    (session,), judge = session_day.play(tmp_path, memory_stores.NAMES[0], only_main=True)
    (start,) = (moment for moment in session.moments if moment.kind == "start")
    critical = {name for name, item in judge.live.items() if item.get("priority") == "critical"}
    assert critical <= judge.names(start.text)
    assert [moment.text for moment in session.moments if moment.kind == "small"] == [""] * 3


def test_a_grown_store_is_the_same_each_time_and_keeps_the_items_of_its_own() -> None:
    own = memory_stores.load(memory_stores.GROWN)
    store = memory_stores.grown(own)
    assert list(store.items) == list(memory_stores.grown(own).items)
    assert [item for item in store.items if item in own.items] == list(own.items)
    assert len(store.items) == memory_stores.SIZE
    assert len({item["decision"] for item in store.items if "decision" in item}) == memory_stores.DECISIONS


def test_joined_stores_keep_their_items_and_what_sessions_need_of_them() -> None:
    stores = [memory_stores.load(name) for name in study.LIBRARIES]
    both = memory_stores.joined(*stores)
    assert len(both.items) == sum(len(store.items) for store in stores)
    assert len(both.sessions) == sum(len(store.sessions) for store in stores)
    assert {label for session in both.sessions for label in session["fits"]} <= both.live().keys()
    assert len(both.live()) >= sum(len(store.live()) for store in stores)


def briefed(text: str, stands_for: tuple[str, ...] = (), counted: int = 0) -> Briefing:
    """A briefing that shows c1, whatever else its text says, and counts so many critical items as left out."""
    items = (Briefed("c1", "constraint", "rules", "critical", False, stands_for=stands_for),)
    left_out = (LeftOut("messages", counted, counted, "get_messages"),) if counted else ()
    return Briefing(
        text, 9, "words", 99, "normal", None, None, None, None, 0, items, left_out, (), is_stuck=False, is_recorded=True
    )


@in_one_test(
    ("briefing", "missing"),
    [
        (briefed("c1 halt\nm1 halt"), set()),
        (briefed("c1 halt"), {"m1"}),
        (briefed("c1 halt", stands_for=("m1",)), set()),
        (briefed("m2 stop", stands_for=("m1",)), {"c1", "m1"}),
    ],
)
def test_a_critical_item_is_shown_by_its_line_or_by_that_of_its_twin(briefing: Briefing, missing: set[str]) -> None:
    assert unshown({"c1": "halt", "m1": "halt"}, briefing) == missing


def test_an_item_with_another_text_is_no_twin() -> None:
    assert unshown({"c1": "halt", "m1": "go"}, briefed("c1 halt", stands_for=("m1",))) == {"m1"}


@in_one_test(
    ("briefing", "dropped"),
    [
        (briefed("c1 halt"), 2),
        (briefed("c1 halt", counted=2), 2),
        (briefed("c1 halt\nleft out: 1 critical message (get_messages)", counted=1), 1),
        (briefed("c1 halt\nleft out: 2 critical messages (get_messages)", counted=2), 0),
    ],
)
def test_a_critical_item_that_is_neither_shown_nor_counted_and_told_is_dropped_silently(
    briefing: Briefing, dropped: int
) -> None:
    assert silent(2, briefing) == dropped
