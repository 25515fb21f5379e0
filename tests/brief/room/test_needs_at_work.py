"""What needs a person, as agents bring it about: by the tools of two servers, and through git."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from clients_at_work import Clients
from conftest import ManualClock
from satchel import Satchel
from sharing_clones import Team
from tool_asking import Asker

Agents = tuple[Asker, Asker]


@pytest.fixture
def agents(clients: Clients) -> Agents:
    """Two agents at work, each with a server of its own; the second one's client runs."""
    ann, ben = clients.start(), clients.start()
    for one in (ann, ben):
        Asker(clients.turn_to(one)).text("write_context", type="discovery", content=f"{id(one)} is here")
    return Asker(ann), Asker(ben)


def kinds(satchel: Satchel) -> list[tuple[str, tuple[str, ...]]]:
    return [(one.kind, one.actions) for one in satchel.room.needs().items]


def test_an_error_that_two_met_is_solved_by_either(agents: Agents, person: Satchel) -> None:
    for agent in (agents[0], agents[0], agents[1]):
        assert kinds(person) == []
        agent.text("report_error", error_type="KeyError", message="no key")
    assert kinds(person) == [("error", ("solve", "see"))]
    person.patterns.report("KeyError", "no key", solution="use get", agent="human:ann")
    assert kinds(person) == []


def test_what_a_persons_claim_refused_stays_a_need_after_the_session_has_ended(
    agents: Agents, clients: Clients, person: Satchel
) -> None:
    person.files.claim(["tests/"], agent="human:ann")
    agents[0].refused("claim_files", paths=["tests/a.py"])
    for _ in range(2):
        (need,) = person.room.needs().items
        assert (need.kind, need.text) == ("refusal", "tests/a.py is held by ann")
        clients.end()
    person.files.release(["tests/"], agent="human:ann")
    assert person.room.needs().items == ()


def test_a_refusal_needs_nobody_once_its_session_has_edited_other_files_but_stays_a_conflict_with_a_person(
    agents: Agents, person: Satchel, clock: ManualClock
) -> None:
    person.files.claim(["src/a.py"], agent="human:ann")
    agents[0].refused("claim_files", paths=["src/a.py"])
    agents[1].text("record_file_change", file="src/b.py", change="modified")
    assert [one.kind for one in person.room.needs().items] == ["refusal"]
    clock.now += 1_000
    agents[0].text("record_file_change", file="src/b.py", change="modified")
    assert person.room.needs().items == ()
    assert "src/a.py" in [one.path for one in person.room.conflicts().files]
    assert person.room.status().conflicts.count == person.room.conflicts().count
    agents[0].refused("claim_files", paths=["src/a.py"])
    assert [one.kind for one in person.room.needs().items] == ["refusal"]


def test_a_decision_is_overtaken_and_a_draft_waits(agents: Agents, person: Satchel) -> None:
    agents[0].text("set_decision", key="port", value=80)
    agents[1].text("set_decision", key="port", value=8080)
    agents[1].text("set_decision", key="host", value="a", status="draft")
    assert kinds(person) == [("overtaken", ("decide", "see")), ("draft", ("accept", "reject"))]
    person.decisions.set("port", 443)
    person.decisions.set("host", status="active")
    assert kinds(person) == []


def test_a_failed_review_needs_nobody_once_its_run_has_ended(agents: Agents, person: Satchel) -> None:
    agents[0].text("start_run", run_id="r1")
    agents[0].text("write_context", type="review_verdict", content={"passed": False}, task_id="T1")
    agents[1].text("write_context", type="review_verdict", content={"passed": False}, task_id="T2")
    assert kinds(person) == [("verdict", ("answer", "see")), ("verdict", ("answer", "see"))]
    person.runs.end("r1")
    assert [one.text[:2] for one in person.room.needs().items] == ["T2"]


def test_a_refused_claim_names_the_session_that_holds_it(agents: Agents, person: Satchel) -> None:
    agents[0].text("claim_files", paths=["src/"])
    assert agents[1]("claim_files", paths=["src/a.py"]).is_error
    (need,) = person.room.needs().items
    assert (need.kind, need.actions, need.place) == ("refusal", ("release", "answer"), "src/a.py")
    assert need.holder_session in {one.uid for one in person.sessions.team().sessions}
    agents[0].text("release_files", paths=["src/"])
    assert kinds(person) == []


def test_what_a_person_says_reaches_an_agent_as_theirs(agents: Agents, person: Satchel) -> None:
    asked = agents[0].fields("send_message", message="which port?", to="human")
    assert kinds(person) == [("message", ("answer", "read"))]
    person.messages.send("8080", reply_to=asked["id"])
    assert "from human" in agents[0].text("get_messages")
    assert kinds(person) == []
    assert agents[1]("send_message", message="no", to="human", agent="human:ann").is_error


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    """Two clones that share a decision."""
    one = Team(tmp_path / "team", ("ann", "ben"))
    yield one
    one.close()


def send(team: Team, sender: str, receiver: str) -> None:
    team.sync(sender)
    team.commit(sender)
    team.git(team.top(sender), "push", "--quiet")
    team.git(team.top(receiver), "pull", "--quiet")
    team.clones[receiver].shared.sync()


def test_shared_text_waits_until_a_person_accepts_it_and_conflicts_are_urgent(team: Team) -> None:
    ann, ben = team.clones["ann"], team.clones["ben"]
    ref = ann.decisions.set("db", "SQLite", agent="ann").ref
    ann.shared.share([ref])
    send(team, "ann", "ben")
    (need,) = ben.room.needs().items
    assert (need.kind, need.severity, need.actions) == ("shared", "medium", ("accept", "reject"))
    ben.shared.accept([str(need.ref)])
    assert kinds(ben) == []
    for one, value in ((ann, "MySQL"), (ben, "PostgreSQL")):
        one.decisions.set("db", value)
    send(team, "ann", "ben")
    need = next(one for one in ben.room.needs().items if one.kind == "shared")
    assert (need.severity, "both sides" in need.text) == ("high", True)
    ben.shared.reject([str(need.ref)])
    assert [one for one in ben.room.needs().items if one.kind == "shared"] == []
