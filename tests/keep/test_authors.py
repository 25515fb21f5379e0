"""Who is meant by a filter for authors: an agent, a client with all its sessions, or the one who asks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keep.test_listing import BY_AUTHOR, LISTS, fill
from satchel import InvalidInput, Satchel
from satchel.keep.names import _MAX_AUTHORS
from satchel.keep.sessions.caller import COMMAND, SERVER, Caller
from satchel.keep.sessions.standing import PERSON_VARIABLE
from tables import in_one_test
from tool_asking import Asker

Find = Callable[..., Any]
READS: dict[str, Callable[[Satchel], Find]] = {
    **{kind: LISTS[kind] for kind in BY_AUTHOR},
    "search": lambda satchel: lambda **given: satchel.finding.search(given.pop("query", "needle"), **given),
}
FILTER = {**BY_AUTHOR, "search": "author"}


@pytest.fixture
def connect(open_in: Callable[..., Satchel], project: Path) -> Callable[[str], Satchel]:
    """Opens the store as the server of a client."""

    def open_as(client: str) -> Satchel:
        satchel = open_in(project, caller=SERVER)
        assert satchel.workplace.caller is not None
        satchel.workplace.caller.set_client(client, None)
        return satchel

    return open_as


@pytest.fixture
def two(connect: Callable[[str], Satchel]) -> tuple[Satchel, Satchel]:
    """Two sessions of the client ben and one of ann, each of which has written one thing of every kind."""
    first, second, other = connect("ben"), connect("ben"), connect("ann")
    for number, (satchel, agent) in enumerate(((first, None), (second, "bens-helper"), (other, None))):
        if agent is not None:
            satchel.brief(agent=agent)
        fill(satchel, number, agent=agent)
    return first, other


def authors(items: Any) -> set[str]:
    return {
        getattr(one, "sender", None) or getattr(one, "producer", None) or one.agent
        for one in getattr(items, "results", items)
    }


def name_of(satchel: Satchel) -> str:
    (own,) = (one for one in satchel.sessions.team().sessions if one.own)
    return own.agents[0]


@in_one_test("kind", READS)
@in_one_test("query", [None, "needle"])
def test_a_client_stands_for_all_its_agents(two: tuple[Satchel, Satchel], kind: str, query: str | None) -> None:
    given = {} if query is None else {"query": query}
    page = READS[kind](two[1])(**{FILTER[kind]: "BEN"}, **given, limit=50)
    assert authors(page) == {name_of(two[0]), "bens-helper"}
    assert page.total == (14 if kind == "search" else 2)


@in_one_test("kind", [kind for kind in READS if kind != "messages"])
def test_me_is_who_asks(two: tuple[Satchel, Satchel], kind: str) -> None:
    for satchel in two:
        assert authors(READS[kind](satchel)(**{FILTER[kind]: "me"}, limit=50)) == {name_of(satchel)}


def test_of_messages_me_is_the_reader_and_shows_what_it_sent(two: tuple[Satchel, Satchel]) -> None:
    ben = two[0]
    assert authors(ben.messages.inbox(sender="me")) == {name_of(ben)}
    assert authors(ben.messages.inbox(sender="me", agent="bens-helper")) == {"bens-helper"}
    assert authors(ben.messages.inbox(sender="ben")) == {name_of(ben), "bens-helper"}


def test_who_holds_claims_is_found_by_client_and_as_me(two: tuple[Satchel, Satchel]) -> None:
    for number, satchel in enumerate(two):
        satchel.files.claim([f"{number}.py"])
    ann = two[1]
    assert [claim.path for claim in ann.files.claims(author="ben").items] == ["0.py"]
    assert [claim.path for claim in ann.files.claims(author="me").items] == ["1.py"]


def test_an_agent_goes_before_a_client_of_its_name(two: tuple[Satchel, Satchel]) -> None:
    two[1].entries.write("discovery", "mine", agent="ben")
    assert [one.content for one in two[1].entries.read(author="ben")] == ["mine"]


def test_one_who_was_only_written_to_is_no_author(two: tuple[Satchel, Satchel]) -> None:
    two[1].messages.send("hello", to="cid")
    note = two[1].entries.read(author="cid").notes[0]
    assert note.startswith("nobody here is called 'cid'; authors here: ")
    assert note.count("cid") == 1


def test_me_of_one_who_wrote_nothing_finds_nothing_and_of_nobody_is_refused(
    two: tuple[Satchel, Satchel], connect: Callable[[str], Satchel], satchel: Satchel
) -> None:
    page = connect("cid").entries.read(author="me")
    assert (page.total, page.notes) == (0, ("no match for author=me (3 without that filter)",))
    with pytest.raises(InvalidInput, match="'me' needs an agent"):
        satchel.entries.read(author="me")


def test_of_many_authors_the_nearest_and_the_newest_are_named(satchel: Satchel) -> None:
    for number in range(_MAX_AUTHORS + 2):
        satchel.entries.write("discovery", "x", agent=f"agent-{'abcdefghijkl'[number] * 5}")
    note = satchel.entries.read(author="agent-aaaab").notes[0]
    assert note.startswith("nobody here is called 'agent-aaaab'; authors here: agent-aaaaa, agent-lllll, agent-kkkkk, ")
    assert note.endswith(", agent-ddddd and 2 more")


def test_me_beside_the_name_of_a_subagent_is_that_subagent(satchel: Satchel) -> None:
    ask = Asker(satchel)
    for agent in ("ann", "ben"):
        ask.text("write_context", type="discovery", content=f"of {agent}", agent=agent)
    found = ask.fields("read_context", author="me", agent="ben")
    assert [one["content"] for one in found["entries"]] == ["of ben"]


def test_a_person_is_found_by_the_name_that_lists_show(open_in: Callable[..., Satchel], project: Path) -> None:
    at_terminal = Caller(COMMAND, {PERSON_VARIABLE: "zoe"}, ())
    with open_in(project, caller=at_terminal, settings={"person.name": "zoe"}) as satchel:
        assert satchel.constraints.add("Be kind").agent == "human:zoe"
        (rule,) = satchel.constraints.find(author="zoe").items
    assert rule.agent == "human:zoe"
