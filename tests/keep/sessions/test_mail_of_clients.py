"""Messages to a client by its name: people and agents know each other as claude or codex, not as claude-3f2a."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from keep.sessions.table import Table
from satchel import Conflict, Satchel
from satchel.keep.sessions.actors import touch_session

Serve = Callable[..., Satchel]


@pytest.fixture
def ann(serve: Serve, table: Table) -> Satchel:
    """An agent that has written; a client stands beside its own."""
    table.add(200)
    table.add(300)
    satchel = serve()
    satchel.entries.write("discovery", "hello", agent="ann")
    return satchel


def name_of(satchel: Satchel) -> str:
    """Let an unnamed agent write, and return its name."""
    return satchel.entries.write("discovery", "hello").agent or ""


def test_a_client_at_work_gets_what_is_sent_to_its_name(ann: Satchel, serve: Serve) -> None:
    codex = serve("codex-mcp-client", below=200)
    name = name_of(codex)
    sent = ann.messages.send("may I?", to="Codex", agent="ann")
    assert (sent.to, sent.notes[0]) == (name, f"Codex is {name} here, who gets it")
    assert [one.message for one in codex.messages.inbox()] == ["may I?"]


def test_of_several_sessions_of_a_client_one_has_to_be_named(ann: Satchel, serve: Serve) -> None:
    names = sorted(name_of(serve("codex-mcp-client", below=below)) for below in (200, 300))
    with pytest.raises(Conflict) as refused:
        ann.messages.send("may I?", to="codex", agent="ann")
    assert all(name in refused.value.problem for name in names)
    assert ann.messages.inbox(agent=names[0]).total == 0


def test_what_was_sent_before_a_client_came_reaches_its_first_session(ann: Satchel, serve: Serve) -> None:
    sent = ann.messages.send("welcome", to="codex", agent="ann")
    assert "waits" in sent.notes[0]
    first = serve("codex-mcp-client", below=200)
    name_of(first)
    second = serve("codex-mcp-client", below=300)
    name_of(second)
    assert [one.message for one in first.messages.inbox()] == ["welcome"]
    assert second.messages.inbox().total == 0


def test_of_a_client_that_has_left_the_next_session_gets_what_is_sent_to_its_name(
    ann: Satchel, serve: Serve, table: Table
) -> None:
    name_of(serve("codex-mcp-client", below=200))
    table.end(200)
    sent = ann.messages.send("welcome back", to="codex", agent="ann")
    assert sent.notes == ("no codex is at work; its next session gets it",)
    assert [one.message for one in serve("codex-mcp-client", below=300).messages.inbox()] == ["welcome back"]
    (note,) = ann.messages.send("and I?", to="codx", agent="ann").notes
    assert note.endswith("did you mean 'codex'?")


@pytest.mark.parametrize(
    ("sessions", "told"),
    [
        (1, "client codex is connected; its session gets it"),
        (2, "client codex is connected; the first of its 2 sessions to act gets it"),
    ],
)
def test_of_a_client_that_is_connected_and_wrote_nothing_it_is_said_so(
    ann: Satchel, serve: Serve, sessions: int, told: str
) -> None:
    connected = [serve("codex-mcp-client", below=below) for below in (200, 300)[:sessions]]
    for one in connected:
        touch_session(one.workplace)
    assert ann.messages.send("may I?", to="codex", agent="ann").notes == (told,)
    assert [one.message for one in connected[0].messages.inbox()] == ["may I?"]
    (note,) = ann.messages.send("and I?", to="cid", agent="ann").notes
    assert note.startswith("nobody of that name is here yet; it waits for them")


def test_an_agent_that_calls_itself_as_a_client_keeps_its_mail(ann: Satchel, serve: Serve) -> None:
    ann.entries.write("discovery", "I am here", agent="codex")
    ann.messages.send("to the agent", to="codex", agent="ann")
    other = serve("codex-mcp-client", below=200)
    name_of(other)
    assert other.messages.inbox().total == 0
    assert ann.messages.inbox(agent="codex").total == 1
