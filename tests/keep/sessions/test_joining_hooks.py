"""Which session a hook belongs to, where the processes are a table."""

from __future__ import annotations

from collections.abc import Callable

from keep.sessions.kept import kept
from keep.sessions.table import Table
from satchel import Satchel

Open = Callable[..., Satchel]

ID = "CLAUDE_CODE_SESSION_ID"


def entered(satchel: Satchel) -> str:
    """Enter the session of a hook or server; return its uid."""
    found = satchel.sessions.enter()
    assert found is not None
    return found.session


def test_a_server_and_a_hook_meet_by_the_id_of_the_session(serve: Open, hook: Open) -> None:
    assert entered(hook("a", begins=True)) == entered(serve(environ={ID: "a"})) == entered(hook("a"))


def test_they_meet_by_the_clients_process_where_the_server_knows_no_id(serve: Open, hook: Open) -> None:
    server = entered(serve("qwen-code"))
    assert entered(hook("q", client="qwen", begins=True)) == server
    assert entered(hook("q", client="qwen")) == server


def test_a_server_that_starts_after_the_hook_goes_on_with_its_session(serve: Open, hook: Open) -> None:
    begun = entered(hook("q", client="qwen", begins=True))
    assert entered(serve("qwen-code")) == begun


def test_another_conversation_in_the_same_client_goes_on_in_its_session_under_another_id(
    serve: Open, hook: Open
) -> None:
    server = serve(environ={ID: "a"})
    begun = entered(server)
    assert entered(hook("b")) == begun
    assert entered(hook("b")) == begun
    assert entered(server) == begun


def test_one_that_the_client_took_up_again_joins_too_though_it_had_a_session_before(
    serve: Open, hook: Open, table: Table
) -> None:
    before = entered(hook("old", begins=True, below=table.add(200)))
    table.end(200)
    now = entered(serve(environ={ID: "a"}))
    assert now != before
    assert entered(hook("old")) == now


def test_a_conversation_that_begins_beside_another_in_one_process_has_a_session_of_its_own(hook: Open) -> None:
    first = entered(hook("a", client="cursor", begins=True))
    second = entered(hook("b", client="cursor", begins=True))
    assert first != second
    assert [entered(hook(one, client="cursor")) for one in ("a", "b")] == [first, second]


def test_an_id_is_resumed_under_a_later_process(hook: Open, table: Table) -> None:
    first = entered(hook("a", begins=True))
    table.add(100)
    assert entered(hook("a")) == first


def test_the_same_id_in_two_living_clients_is_two_sessions(hook: Open, table: Table) -> None:
    first = entered(hook("a", begins=True))
    table.add(200)
    assert entered(hook("a", below=200)) != first


def test_the_variable_of_a_session_wins_over_the_id(hook: Open) -> None:
    first = entered(hook("a", begins=True))
    assert entered(hook("b", begins=True, environ={"SATCHEL_SESSION": first})) == first


def test_a_client_started_inside_another_has_a_session_of_its_own(hook: Open, table: Table) -> None:
    outer = entered(hook("a", begins=True))
    inner = table.add(300, "codex", below=100)
    environ = {"SATCHEL_SESSION": outer}
    assert entered(hook("b", client="codex", begins=True, below=inner, environ=environ)) != outer


def test_a_session_that_had_ended_goes_on_when_it_is_entered(hook: Open) -> None:
    satchel = hook("a", begins=True)
    first = entered(satchel)
    satchel.sessions.end("other")
    assert entered(hook("a")) == first
    assert [one.ended_at for one in satchel.sessions.team().sessions] == [None]


def test_a_hook_without_an_id_finds_the_session_of_its_client(serve: Open, hook: Open) -> None:
    assert entered(serve(environ={ID: "a"})) == entered(hook(None))


def test_the_end_of_a_session_that_was_never_begun_makes_none(hook: Open) -> None:
    satchel = hook("a")
    assert not satchel.sessions.end()
    assert kept(satchel).sessions == []


def test_the_end_of_an_unknown_conversation_ends_no_other_in_its_process(serve: Open, hook: Open) -> None:
    server = serve(environ={ID: "a"})
    entered(server)
    assert not hook("unknown").sessions.end()
    assert [one.ended_at for one in server.sessions.team().sessions] == [None]


def test_an_end_that_names_no_conversation_ends_that_of_its_variable_alone(serve: Open, hook: Open) -> None:
    server = serve("qwen-code")
    uid = entered(server)
    assert not hook(None, client="qwen").sessions.end()
    assert hook(None, client="qwen", environ={"SATCHEL_SESSION": uid}).sessions.end()


def test_an_unknown_conversation_of_a_client_with_several_joins_no_other(hook: Open) -> None:
    first = entered(hook("a", client="codex", begins=True))
    assert entered(hook("b", client="codex")) != first


def test_the_call_of_a_server_revives_its_session_however_soon(serve: Open, hook: Open) -> None:
    server = serve(environ={ID: "a"})
    entered(server)
    assert hook("a").sessions.end()
    server.entries.write("discovery", "still here")
    assert [one.ended_at for one in server.sessions.team().sessions] == [None]


def test_a_server_and_hooks_of_one_client_that_did_not_meet_are_named(serve: Open, hook: Open, table: Table) -> None:
    server = serve(environ={ID: "a"})
    assert entered(server)
    assert server.sessions.unmet() == ()
    hooks = hook("b", begins=True, below=table.add(200))
    assert entered(hooks)
    ((of_server, of_hooks),) = server.sessions.unmet()
    assert (of_server, of_hooks) == tuple(f"claude-{one.uid[:4]}" for one in kept(server).sessions)
    assert hooks.sessions.end()
    assert server.sessions.unmet() == ()


def test_a_session_of_another_project_is_none_that_was_to_be_met(serve: Open, hook: Open, table: Table) -> None:
    server = serve(environ={ID: "a"})
    entered(server)
    entered(hook("b", begins=True, below=table.add(200), project="other"))
    assert server.sessions.unmet() == ()


def test_two_servers_of_one_client_have_nothing_to_meet(serve: Open, table: Table) -> None:
    first = serve(environ={ID: "a"})
    entered(first)
    entered(serve(environ={ID: "b"}, below=table.add(200)))
    assert len(kept(first).sessions) == 2
    assert first.sessions.unmet() == ()
