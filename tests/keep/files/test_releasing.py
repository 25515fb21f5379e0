"""Releasing claims."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from keep.files.seen import held
from satchel import Released, Satchel
from satchel.keep.sessions.caller import SERVER


def test_releasing_frees_what_is_named_and_says_what_was_not_held(satchel: Satchel) -> None:
    satchel.files.claim(["a", "src/", "c"], agent="Ann")
    satchel.files.claim(["theirs"], agent="bob")
    assert satchel.files.release(["theirs", "./src/", "a", "src/x", "a", "never"], agent="ann") == Released(
        agent="Ann", released=("src/**", "a"), not_held=("theirs", "src/x", "never")
    )
    assert held(satchel) == [("Ann", "c"), ("bob", "theirs")]


def test_releasing_without_paths_frees_all_of_the_agents_own(satchel: Satchel) -> None:
    satchel.files.claim(["b", "a"], agent="ann")
    satchel.files.claim(["c"], agent="bob")
    assert satchel.files.release(agent="ann") == Released("ann", ("a", "b"), ())
    assert held(satchel) == [("bob", "c")]


def test_an_agent_that_nobody_is_holds_nothing_and_is_not_registered(satchel: Satchel) -> None:
    satchel.files.claim(["a"], agent="ann")
    assert satchel.files.release(["a"], agent="bob") == Released("bob", (), ("a",))
    assert [agent.name for agent in satchel.agents.list()] == ["ann"]


def test_releasing_before_the_first_write_frees_nothing(satchel: Satchel) -> None:
    assert satchel.files.release(agent="ann") == Released("ann", (), ())
    assert satchel.housekeeping.statistics().project is None


def test_the_default_agent_claims_and_releases(open_in: Callable[..., Satchel], project: Path) -> None:
    satchel = open_in(project, agent="ann")
    satchel.files.claim(["a", "b"])
    satchel.files.claim(["c"], agent="bob")
    assert satchel.files.release(["a", "c"]) == Released("ann", ("a",), ("c",))


def test_a_new_name_releases_what_its_session_holds(open_in: Callable[..., Satchel], project: Path) -> None:
    server = open_in(project, caller=SERVER)
    server.files.claim(["a"], agent="ann")
    assert server.files.release(agent="sub").released == ("a",)


def test_what_is_held_by_name_and_in_a_session_is_released_together(
    satchel: Satchel, open_in: Callable[..., Satchel], project: Path
) -> None:
    server = open_in(project, caller=SERVER)
    server.files.claim(["a"], exclusive=False, agent="bob")
    satchel.files.claim(["a"], exclusive=False, agent="ann")
    assert server.files.release(agent="ann").released == ("a",)
    assert held(satchel) == []
