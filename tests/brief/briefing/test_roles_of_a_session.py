"""Several roles behind one server that has one name: each is a reader of its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from clients_at_work import Clients
from satchel import Satchel
from tool_asking import Asker

RULE = "Dates are kept in UTC"


@pytest.fixture
def server(open_in: Callable[..., Satchel], project: Path, monkeypatch: pytest.MonkeyPatch) -> Satchel:
    clients = Clients(partial(open_in, project), monkeypatch)
    server = clients.turn_to(clients.start(agent="orchestrator"))
    server.constraints.add(RULE, category="data", priority="medium", agent="planner")
    return server


def test_another_role_gets_what_the_first_has_and_each_gets_it_once(server: Satchel) -> None:
    asked = Asker(server)
    got = [
        RULE in asked.text("get_briefing", role=role)
        for role in ("developer", "qa_expert", "developer", "qa_expert", "tech_lead")
    ]
    assert got == [True, True, False, False, True]


def test_another_iteration_gets_it_again(server: Satchel) -> None:
    asked = Asker(server)
    assert [RULE in asked.text("get_briefing", iteration=number) for number in (0, 1, 1)] == [True, True, False]


def test_the_first_role_has_what_its_session_was_given_without_one(server: Satchel) -> None:
    asked = Asker(server)
    assert [RULE in asked.text("get_briefing", **role) for role in ({}, {"role": "developer"})] == [True, False]


def test_the_first_role_keeps_the_window_in_which_a_hook_showed_what_binds_a_file(
    server: Satchel, project: Path
) -> None:
    asked = Asker(server)
    assert RULE in asked.text("get_briefing")
    server.constraints.add("Sizes are ints", category="data", priority="medium", agent="planner", paths=["a.py"])
    work = server.working
    answer = work.before_edit(str(project), [("a.py", "modified")])
    assert "Sizes are ints" in answer.text
    work.record(answer)
    assert RULE not in asked.text("get_briefing", role="developer")
