"""Notes that say the same are one: who wrote it again is counted, and found by what the writer named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from satchel import NewEntry, Satchel
from satchel.keep.entries.records import LEAST_CHARS
from tables import in_one_test

NOTE = "Tokens are refreshed in src/refresh.py"
"""Shorter than what is compared with deliveries, so that these tests meet sightings alone."""


@pytest.fixture
def seen(satchel: Satchel) -> Satchel:
    """A note by ann, which ben wrote again for another task, and cat in another run."""
    satchel.runs.start("r2")
    satchel.entries.write("discovery", NOTE, agent="ann", task_id="T1")
    satchel.entries.write("discovery", f"  {NOTE.upper()}\n", agent="ben", task_id="T2", loop_id="L2")
    satchel.entries.write("discovery", NOTE.replace(" ", "  "), agent="cat", run_id="r2")
    return satchel


def test_it_is_one_note_of_its_first_author(seen: Satchel) -> None:
    assert len(NOTE) < LEAST_CHARS
    (one,) = seen.entries.read()
    assert (one.ref, one.content, one.agent, one.task_id, one.run_id) == ("e1", NOTE, "ann", "T1", "main")
    assert (one.seen, one.seen_by, one.seen_text) == (3, ("ann", "ben", "cat"), "seen 3 times by ann, ben, cat")
    assert seen.finding.search("tokens").total == 1
    assert [item.ref for item in seen.briefings.brief(agent="dan").items] == ["e1"]


def test_its_writer_is_told_which_says_it_already(satchel: Satchel) -> None:
    first = satchel.entries.write("discovery", NOTE, agent="ann")
    again = satchel.entries.write("discovery", NOTE, agent="ben")
    assert (first.notes, again.ref) == ((), first.ref)
    assert again.notes == ("e1 already says this: seen 2 times by ann, ben",)


def test_a_sighting_is_no_change_of_the_note(satchel: Satchel) -> None:
    satchel.entries.write("discovery", NOTE)
    cursor = satchel.entries.read().cursor
    satchel.entries.write("discovery", NOTE, agent="ben")
    assert satchel.entries.read(after_seq=cursor).total == 0


@in_one_test(
    "filters",
    [
        {"author": "ben"},
        {"author": "cat"},
        {"task_id": "T1"},
        {"task_id": "T2"},
        {"loop_id": "L2"},
        {"run_id": "r2"},
        {"author": "cat", "run_id": "r2"},
    ],
)
def test_filters_find_it_by_whoever_wrote_it_again(seen: Satchel, filters: dict[str, Any]) -> None:
    assert [one.ref for one in seen.entries.read(**filters)] == ["e1"]
    assert [one.ref for one in seen.entries.read(query="tokens", **filters)] == ["e1"]
    assert [one.ref for one in seen.finding.search("tokens", **filters).results] == ["e1"]


@pytest.mark.parametrize("filters", [{"author": "dan"}, {"task_id": "T3"}, {"loop_id": "L1"}, {"run_id": "r3"}])
def test_filters_by_what_nobody_named_leave_it_out(seen: Satchel, filters: dict[str, Any]) -> None:
    seen.runs.start("r3")
    seen.entries.write("discovery", "another note of dan", agent="dan", task_id="T9")
    assert "e1" not in [one.ref for one in seen.entries.read(**filters)]
    assert "e1" not in [one.ref for one in seen.finding.search("tokens", **filters).results]


@pytest.mark.parametrize(
    "other",
    [
        {"type": "decision"},
        {"file": "src/refresh.py"},
        {"content": f"{NOTE} twice"},
        {"type": "error"},
    ],
    ids=str,
)
def test_another_type_place_or_text_is_another_note(satchel: Satchel, other: dict[str, Any]) -> None:
    satchel.entries.write("discovery", NOTE)
    assert satchel.entries.write(**{"type": "discovery", "content": NOTE, **other}).ref == "e2"


def test_an_error_is_the_same_only_for_its_agent_and_loop(satchel: Satchel) -> None:
    def met(**where: str) -> str:
        return satchel.entries.write("error", "the build fails again", **where).ref  # type: ignore[arg-type] # names

    first = met(agent="ann", loop_id="L1")
    assert met(agent="ann", loop_id="L1") == first
    assert len({first, met(agent="ann", loop_id="L2"), met(agent="ben", loop_id="L1")}) == 3


@pytest.mark.parametrize(
    ("type_", "content"),
    [
        ("scratchpad", {"iteration": 1, "done": False, "next_step": "look at the lock again"}),
        ("review_issue", {"description": "the lock is held", "issue_type": "dead-code", "suggestion": "drop it"}),
        ("codebase_analysis", {"summary": "a library of two modules"}),
    ],
)
def test_scratchpads_reviews_and_analyses_are_never_merged(satchel: Satchel, type_: str, content: Any) -> None:
    refs = [satchel.entries.write(type_, content, agent="ann").ref for _ in range(2)]
    assert refs == ["e1", "e2"]


def test_a_text_of_two_words_says_too_little_to_be_the_same(satchel: Satchel) -> None:
    assert [satchel.entries.write("discovery", "tests pass").ref for _ in range(2)] == ["e1", "e2"]


def test_of_one_batch_the_same_is_kept_once(satchel: Satchel) -> None:
    kept = satchel.entries.write_many([NewEntry("discovery", text) for text in (NOTE, "of its own kind", NOTE)])
    assert [one.ref for one in kept] == ["e1", "e2", "e1"]
    assert satchel.items.read(["e1"]).items[0].record == kept[2].__class__(
        **{**{name: getattr(kept[2], name) for name in kept[2].__slots__}, "notes": ()}
    )


def test_what_holds_no_more_is_kept_anew_and_that_is_said(satchel: Satchel) -> None:
    satchel.entries.write("discovery", NOTE)
    satchel.corrections.retract("e1")
    again = satchel.entries.write("discovery", NOTE)
    assert (again.ref, again.notes) == (
        "e2",
        ("e1 said the same but is no longer valid, so this was saved as a new note",),
    )
    assert satchel.entries.write("discovery", NOTE).ref == "e2"


def test_what_replaces_another_is_written_whatever_it_says(satchel: Satchel) -> None:
    satchel.entries.write("discovery", NOTE)
    old = satchel.entries.write("discovery", "Tokens are never refreshed").ref
    assert satchel.entries.write("discovery", NOTE, supersedes=old).ref == "e3"


def test_what_was_delivered_to_its_writer_is_not_counted(satchel: Satchel) -> None:
    satchel.entries.write("discovery", NOTE, agent="ann")
    satchel.briefings.brief(agent="ben", run_id="main")
    again = satchel.entries.write("discovery", NOTE, agent="ben")
    assert (again.seen, again.notes) == (None, ("e1 already says this, and was delivered to you: nothing was written",))


def test_forgetting_it_forgets_who_saw_it(seen: Satchel) -> None:
    seen.housekeeping.forget("e1")
    with seen.workplace.engine.read() as transaction:
        assert transaction.all("SELECT * FROM sightings") == []
    assert seen.entries.write("discovery", NOTE).seen is None


_WRITES = st.lists(
    st.tuples(*(st.sampled_from(some) for some in (range(4), ("T1", "T2", None), ("ann", "ben"), ("main", "r2")))),
    min_size=1,
    max_size=12,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    writes=_WRITES,
    task=st.sampled_from(["T1", "T2", None]),
    author=st.sampled_from(["ann", "ben", None]),
    run=st.sampled_from(["main", "r2", "*"]),
    order=st.sampled_from(["asc", "desc"]),
    limit=st.integers(1, 5),
)
def test_pages_hold_each_note_once_that_each_filter_finds_by_one_of_its_writers(
    open_in: Callable[..., Satchel],
    project: Path,
    writes: list[tuple[int, str | None, str, str]],
    task: str | None,
    author: str | None,
    run: str,
    order: str,
    limit: int,
) -> None:
    with open_in(project, project=uuid4().hex) as satchel:
        satchel.runs.start("r2")
        by_note: dict[int, list[tuple[str | None, str, str]]] = {}
        for text, of_task, agent, of_run in writes:
            satchel.entries.write("discovery", f"note {text} of few", task_id=of_task, agent=agent, run_id=of_run)
            by_note.setdefault(text, []).append((of_task, agent, of_run))
        passing = [
            f"note {text} of few"
            for text, written in by_note.items()
            if all(
                asked in (None, "*") or any(names[place] == asked for names in written)
                for place, asked in enumerate((task, author, run))
            )
        ]
        if order == "desc":
            passing.reverse()
        listed: list[str] = []
        for offset in range(0, len(passing) + 1, limit):
            page = satchel.entries.read(
                task_id=task, author=author, run_id=run, order=order, limit=limit, offset=offset
            )
            assert page.total == len(passing)
            listed += [entry.content for entry in page.entries]
        assert listed == passing
