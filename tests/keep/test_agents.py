from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agents_here import agents, register
from satchel import InvalidInput, Satchel
from satchel.base.text import fold
from satchel.keep import names
from tables import in_one_test


def test_names_that_differ_in_case_are_one_agent(satchel: Satchel) -> None:
    first = register(satchel, "Planner")
    assert register(satchel, " PLANNER ").id == first.id
    assert satchel.entries.write("discovery", "x", agent="planner").agent == "Planner"
    assert [agent.name for agent in agents(satchel)] == ["Planner"]


def test_names_that_look_the_same_are_one_agent(satchel: Satchel) -> None:
    first = register(satchel, "René")
    assert register(satchel, "Rene\u0301").id == first.id
    assert register(satchel, "Ｒｅｎé").id == first.id
    assert [agent.name for agent in agents(satchel)] == ["René"]


def test_writing_as_an_agent_records_it(satchel: Satchel) -> None:
    satchel.entries.write("discovery", "x", agent="dev")
    assert [agent.name for agent in agents(satchel)] == ["dev"]


def test_agents_are_listed_in_the_order_they_first_acted(satchel: Satchel) -> None:
    for name in ("zoe", "adam", "Zoe"):
        register(satchel, name)
    assert [agent.name for agent in agents(satchel)] == ["zoe", "adam"]


def test_without_any_agent_the_author_is_null(satchel: Satchel) -> None:
    assert satchel.entries.write("discovery", "x").agent is None
    assert satchel.entries.read().entries[0].agent is None
    assert agents(satchel) == ()


def test_the_default_agent_acts_where_a_call_names_none(open_in: Callable[..., Satchel], project: Path) -> None:
    satchel = open_in(project, agent="planner", environ={"SATCHEL_AGENT": "other"})
    assert satchel.entries.write("discovery", "x").agent == "planner"
    assert satchel.entries.write("discovery", "x", agent="dev").agent == "dev"


def test_the_environment_names_the_default_agent(open_in: Callable[..., Satchel], project: Path) -> None:
    satchel = open_in(project, environ={"SATCHEL_AGENT": "theirs"})
    assert satchel.entries.write("discovery", "x").agent == "theirs"


@in_one_test("name", ["", "a\nb", "{{agent}}", "\ud800", "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"])
def test_what_is_no_name_of_an_agent_is_refused_and_nothing_is_written(satchel: Satchel, name: str) -> None:
    with pytest.raises(InvalidInput, match=r"^agent "):
        register(satchel, name)
    with pytest.raises(InvalidInput, match=r"^agent "):
        satchel.entries.write("discovery", "x", agent=name)
    assert agents(satchel) == ()
    assert satchel.entries.read().total == 0


LOOK_ALIKES = (
    *(
        "hum\u0430n:ann",
        "human :ann",
        "human\u2236ann",
        "human\ua789ann",
        "human\u02d0ann",
        "hu\u2800man",
        "builder by human:ann",
        "human:ann (agent)",
        "human:ann (imported)",
        "ann (imported)",
        "Ann (\u0456mported)",
    ),
    *(
        "hurnan:ann",
        "by human ann",
        "\u0455\u0443\u0455tem",
        "system",
        "Satchel",
        "satche1",
        "USER",
        "us\u0435r",
        "syst\u00e9m",
    ),
    *("\uff53ystem", "build\u0435r", "builder\u2801", "\u039fmega ann", "ann\u02b9"),
)


@in_one_test("name", LOOK_ALIKES)
def test_a_name_that_could_pass_for_another_is_refused_and_nothing_is_written(satchel: Satchel, name: str) -> None:
    with pytest.raises(InvalidInput, match=r"^agent "):
        satchel.entries.write("discovery", "x", agent=name)
    assert agents(satchel) == ()
    assert satchel.entries.read().total == 0


@in_one_test(
    "name",
    ["René", "Строитель", "構築エージェント", "佐藤 kei", "빌더-2", "O\u2019Brien", "plugin:reviewer", "human_liaison"],
)
def test_a_name_in_any_one_script_is_accepted(satchel: Satchel, name: str) -> None:
    assert satchel.entries.write("discovery", "x", agent=name).agent == name


@pytest.mark.parametrize("name", ["ann", "ANN", "\uff41nn"])
def test_an_agent_named_like_a_person_is_marked_whoever_came_first(satchel: Satchel, name: str) -> None:
    satchel.entries.write("discovery", "first", agent=name)
    for person in ("human:ann", "human:Ann"):
        satchel.entries.write("discovery", "mine", agent=person)
    note = satchel.entries.write("discovery", "second", agent=name)
    assert fold(note.agent or "") == "ann (agent)"
    assert satchel.entries.read(author="ann").total == 2
    assert satchel.entries.read(author="ann (agent)").total == 2
    assert len(agents(satchel)) == 2
    satchel.messages.send("for the person", to="ann", agent="ben")
    assert satchel.messages.inbox(agent=name).total == 0


def test_an_agent_that_chose_the_marked_name_does_not_keep_a_person_out(satchel: Satchel) -> None:
    for agent in ("ann", "ann (agent)"):
        satchel.entries.write("discovery", f"of {agent}", agent=agent)
    assert satchel.entries.write("discovery", "mine", agent="human:ann").agent == "human:ann"
    names_of = {entry.content: entry.agent for entry in satchel.entries.read().items}
    assert names_of == {"of ann": "ann (agent) (agent)", "of ann (agent)": "ann (agent)", "mine": "human:ann"}


def test_a_name_that_looks_like_a_persons_is_marked(satchel: Satchel) -> None:
    satchel.entries.write("discovery", "mine", agent="human:carl")
    assert satchel.entries.write("discovery", "x", agent="car1").agent == "car1 (agent)"
    assert satchel.entries.write("discovery", "x", agent="carla").agent == "carla"


def test_a_tag_may_mix_scripts(satchel: Satchel) -> None:
    assert satchel.decisions.set("k", "v", tags=["api-строитель"], agent="dev").tags == ("api-строитель",)


def test_a_name_that_was_stored_before_stays_in_use(satchel: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(names, "check_author_name", lambda *_: None)
        satchel.entries.write("discovery", "x", agent="system")
    assert satchel.entries.write("discovery", "y", agent="system").agent == "system"
    assert satchel.entries.read(author="system").total == 2
