"""What a server takes for facts of a caller's machine, and how long."""

from __future__ import annotations

from typing import Any

import pytest

from satchel.base import processes
from satchel.base.errors import Conflict, InvalidInput
from satchel.base.machine import ROOT, reset_elsewhere, set_elsewhere
from satchel.base.processes import Process
from satchel.base.project_paths import canonical_path
from satchel.interfaces.http.ask import MAX_FACTS, CallerElsewhere, Recorded, read_facts
from satchel.keep.citations import COMPARED
from satchel.remote.facts import fact
from tables import in_one_test

LAPTOP, OTHER = ("token", "laptop", "/web", ""), ("token", "laptop", "/web", "/linked")


def unnamed(worktree: str | None) -> str | None:
    return worktree


@in_one_test(
    "facts",
    [
        [5],
        [["own", []]],
        [["own", {}, {}]],
        [["own", [], 5]],
        [["place_named", ["a"], {"answer": {"$r": "keep.files.places:Place", "path": "a", "worktree": []}}]],
        [["own", [], {}]] * (MAX_FACTS + 1),
    ],
)
def test_malformed_facts_are_refused(facts: list[Any]) -> None:
    with pytest.raises(InvalidInput, match="fact"):
        read_facts(facts, unnamed)


def test_a_path_that_the_program_has_not_resolved_is_refused() -> None:
    facts = read_facts([fact(canonical_path, "a.py", "/web", "file")], unnamed)
    token = set_elsewhere(CallerElsewhere(facts, "project", None, lambda: 0))
    try:
        assert canonical_path("a.py", ROOT, "file") == "a.py"
        with pytest.raises(Conflict, match="same version"):
            canonical_path("b.py", ROOT, "file")
        assert processes.own() is None
    finally:
        reset_elsewhere(token)


def test_citations_and_ended_processes_are_known_of_a_tree_until_its_next_session_starts() -> None:
    recorded = Recorded()
    ended = fact(processes.is_alive, Process(2**22, 1))
    running = ["is_alive", [5], {"answer": True}]
    changed = [COMPARED, [1, "00"], {"answer": None}]
    sent = read_facts([ended, running, changed], unnamed)
    assert recorded.of(LAPTOP, sent) == sent
    assert recorded.of(OTHER, {}) == {}
    assert recorded.of(LAPTOP, {}) == {key: one for key, one in sent.items() if one != {"answer": True}}
    later = read_facts([changed], unnamed)
    recorded.of(LAPTOP, later)
    assert recorded.of(LAPTOP, {}) == later


def test_trees_are_forgotten_when_many_others_call() -> None:
    recorded = Recorded()
    sent = read_facts([[COMPARED, [1, "00"], {"answer": None}]], unnamed)
    recorded.of(LAPTOP, sent)
    for number in range(100):
        recorded.of(("token", str(number)), sent)
    assert recorded.of(LAPTOP, {}) == {}
