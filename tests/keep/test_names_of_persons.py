"""What a person is called, stored as and shown as."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from satchel import InvalidInput, Satchel
from satchel.keep.names import person_here, person_named, shown_name
from satchel.keep.sessions.caller import COMMAND


def test_names_from_elsewhere_become_names_that_can_be_stored() -> None:
    cases = {
        "ann": "human:ann",
        "Ann  Lee ": "human:Ann Lee",
        "human:ann": "human:ann",
        "Human": "human",
        "Åsa 東": "human:Åsa 東",
        "a:n\x1b\nn": "human:a n n",
        "a\u202ebé": "human:abé",
        "Ann \U0001f680": "human:Ann",
        "\u0410nn": None,
        "Анна": "human:Анна",
        "\udcff:": None,
        "": None,
        "x" * 300: f"human:{'x' * 60}",
    }
    assert {name: person_named(name) for name in cases} == cases


def test_the_name_is_the_configured_one_else_gits_else_the_logins(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "LOGNAME": "al", "GIT_CONFIG_NOSYSTEM": "1"}
    assert person_here(None, environ) == "human:al"
    (tmp_path / ".gitconfig").write_text('[user]\n\tname = "Ann Lee" # me\n')
    assert person_here(None, environ) == "human:Ann Lee"
    assert person_here("ben", environ) == "human:ben"
    with pytest.raises(InvalidInput, match=r"person\.name"):
        person_here("\x1b", environ)


def test_a_repositorys_own_configuration_names_nobody(
    open_in: Callable[..., Satchel], project: Path, tmp_path: Path
) -> None:
    (project / ".git" / "config").write_text("[user]\n\tname = mallory\n")
    environ = {"HOME": str(tmp_path), "LOGNAME": "al", "GIT_CONFIG_NOSYSTEM": "1"}
    person = open_in(project, caller=COMMAND, environ=environ, settings={"person.name": None})
    assert person.entries.write("discovery", "x").agent == "human:al"


def test_only_a_persons_name_is_shown_without_what_it_is_stored_with() -> None:
    assert [shown_name(one) for one in ("human:ann", "human", "dev", "dev:ann")] == ["ann", "human", "dev", "dev:ann"]


@pytest.mark.no_store
def test_a_person_reads_an_inbox_before_the_first_write_and_makes_no_store(
    open_in: Callable[..., Satchel], project: Path
) -> None:
    person = open_in(project, caller=COMMAND, settings={"person.name": "ann"})
    assert person.messages.inbox().total == 0
    assert not person.workplace.engine.exists()


def test_a_message_reaches_a_person_by_each_name(open_in: Callable[..., Satchel], project: Path) -> None:
    ann = open_in(project, caller=COMMAND, settings={"person.name": "ann"})
    ann.entries.write("discovery", "x")
    agent = open_in(project)
    for name in ("ann", "human:ann", "human"):
        agent.messages.send(f"to {name}", to=name, agent="dev")
    assert {one.message for one in ann.messages.inbox()} == {"to ann", "to human:ann", "to human"}
    assert ann.room.needs().total == 3
