"""Every filter of a search, and the project it keeps to."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from keep.finding.story import MINUTE, Story
from satchel import NewEntry, Satchel
from satchel.store.sqlite_transaction import SqliteTransaction
from tables import in_one_test

if TYPE_CHECKING:
    pass


@in_one_test(
    ("filters", "keys"),
    [
        ({}, {"middleware", "expiry-asked", "clock-skew", "logout"}),
        ({"run_id": "r2"}, set()),
        ({"types": ["error"]}, {"clock-skew"}),
        ({"types": ["error", "decision"]}, {"clock-skew"}),
        ({"kinds": ["entry"], "types": ["error"]}, {"clock-skew"}),
        ({"kinds": ["entry"]}, {"middleware", "expiry-asked", "clock-skew", "logout"}),
        ({"author": "ben"}, {"expiry-asked", "clock-skew", "logout"}),
        ({"author": "nobody"}, set()),
        ({"loop_id": "auth"}, {"middleware", "expiry-asked", "clock-skew", "logout"}),
        ({"loop_id": "config"}, set()),
        ({"task_id": "T1"}, set()),
        ({"file": "src/auth.py"}, {"middleware", "clock-skew"}),
        ({"file": "./src/../src/auth.py"}, {"middleware", "clock-skew"}),
        ({"status": "superseded"}, set()),
        ({"status": "live"}, {"middleware", "expiry-asked", "clock-skew", "logout"}),
    ],
)
@in_one_test("syntax", ["natural", "operators"])
def test_every_filter_is_kept_to(story: Story, filters: dict[str, Any], keys: set[str], syntax: str) -> None:
    query = "login OR logout OR token" if syntax == "operators" else "login logout"
    wanted = keys if syntax == "operators" else keys - {"middleware"}
    page = story.page(query, syntax=syntax, **filters)
    assert {story.keys[one.ref] for one in page.results} == wanted
    assert page.total == len(wanted)


@in_one_test("form", ["iso", "age", "milliseconds"])
def test_since_takes_only_what_was_written_from_then_on(story: Story, form: str) -> None:
    moment = story.times["clock-skew"]
    since = {
        "iso": datetime.fromtimestamp(moment / 1_000, UTC).isoformat(),
        "age": f"{(story.clock.now - moment) // MINUTE}m",
        "milliseconds": moment,
    }[form]
    assert set(story.found("login logout", since=since)) == {"clock-skew", "logout"}
    assert set(story.found("login logout", since=moment + 1)) == {"logout"}


@pytest.mark.parametrize("query", [None, "tokens"])
@pytest.mark.parametrize(
    ("file", "matching"),
    [
        ("src/auth.py", {"src/auth.py", "src/**", "*.py"}),
        ("src/other.py", {"src/**", "*.py"}),
        ("src/", {"src/auth.py", "src/**"}),
        ("docs/", set()),
    ],
)
def test_rules_and_decisions_are_of_the_files_that_their_paths_match(
    satchel: Satchel, query: str | None, file: str, matching: set[str]
) -> None:
    refs: dict[str, set[str]] = {}
    for glob in ("src/auth.py", "src/**", "*.py", "lib/a.py"):
        rule = satchel.constraints.add(f"tokens are checked in {glob}", category="security", paths=[glob])
        decision = satchel.decisions.set(glob, "tokens are short", paths=[glob])
        refs[glob] = {rule.ref, decision.ref}
    satchel.constraints.add("tokens are checked everywhere", category="security")
    note = satchel.entries.write("discovery", "tokens", file="src/auth.py").ref
    results = {one.ref for one in satchel.finding.search(query, file=file).results}
    assert results - {note} == {ref for glob in matching for ref in refs[glob]}
    assert (note in results) == (file in {"src/", "src/auth.py"})


def test_a_task_is_kept_to(satchel: Satchel) -> None:
    for task in ("T1", "T2", None):
        satchel.entries.write("discovery", "gamma", task_id=task)
    assert [one.task_id for one in satchel.finding.search("gamma", task_id="T1").results] == ["T1"]


def test_superseded_entries_are_found_alone_or_not_at_all_when_asked_so(satchel: Satchel) -> None:
    for summary in ("gamma first", "gamma second"):
        satchel.entries.write("review_verdict", {"passed": True, "summary": summary}, task_id="T1")
    found = {
        status: [one.status for one in satchel.finding.search("gamma", status=status).results]
        for status in ("all", "live", "superseded")
    }
    assert found == {"all": ["live", "superseded"], "live": ["live"], "superseded": ["superseded"]}


@pytest.mark.parametrize("others", [1, 40])
@pytest.mark.parametrize("question", ["gamma", "gamma delta epsilon", "gamma*"])
def test_another_project_never_shows(
    open_in: Callable[..., Satchel], tmp_path: Path, question: str, others: int
) -> None:
    file = tmp_path / "shared.db"
    mine, theirs = (open_in(tmp_path, db=file, project=name) for name in ("mine", "theirs"))
    for number in range(others):
        theirs.entries.write("discovery", f"gamma delta epsilon of theirs {number}")
    mine.entries.write("discovery", "gamma of mine")
    for number in range(others):
        theirs.entries.write("discovery", f"gamma delta epsilon of theirs too {number}")
    syntax = "operators" if question.endswith("*") else "natural"
    found = mine.finding.search(question, syntax=syntax, limit=500)
    assert [one.snippet.text for one in found.results] == ["gamma of mine"]
    assert found.total == 1
    their_page = theirs.finding.search(question, syntax=syntax, limit=500)
    assert their_page.total == len(their_page.results) == 2 * others
    assert all("theirs" in one.snippet.text for one in their_page.results)


def test_the_project_is_left_out_of_the_scope_where_it_is_nearly_everything(
    open_in: Callable[..., Satchel], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, str]] = []

    def watched(transaction: SqliteTransaction, sql: str, parameters: Any = None) -> Any:
        told = re.search(r"satchel_counts.* MATCH :match(?: AND (.*?))? ORDER BY", sql)
        if told:
            asked.append((parameters["match"], told[1] or ""))
        return everything(transaction, sql, parameters)

    everything = SqliteTransaction.all
    monkeypatch.setattr(SqliteTransaction, "all", watched)
    file = tmp_path / "shared.db"
    big, small = (open_in(tmp_path, db=file, project=name) for name in ("big", "small"))
    big.entries.write_many([NewEntry("discovery", "gamma")] * 40)
    small.entries.write("discovery", "gamma")
    assert big.finding.search("gamma").total == 40
    assert small.finding.search("gamma").total == 1
    assert asked == [
        ('{text parts} : ("gamma")', "d.project_id = 1"),
        ('scope : (p2) AND {text parts} : ("gamma")', ""),
    ]
