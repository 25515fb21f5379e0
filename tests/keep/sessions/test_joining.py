"""Which session a call belongs to, where the processes are a table: what a test cannot let real ones do."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from conftest import ManualClock
from keep.sessions.kept import kept
from keep.sessions.table import Table
from satchel import Conflict, ReadOnly, Satchel
from satchel.base import processes

Open = Callable[..., Satchel]

MINUTE = 60_000
DAY = 24 * 60 * MINUTE
ID = "CLAUDE_CODE_SESSION_ID"


def write(satchel: Satchel, content: str, *, agent: str | None = None) -> int | None:
    """Write a note; return the number of the session that it was written in."""
    satchel.entries.write("discovery", content, agent=agent)
    return kept(satchel).notes[content].session


def change(satchel: Satchel, assigned: str) -> None:
    """Change every session behind everyone's back."""
    with satchel.workplace.engine.write() as transaction:
        transaction.run(f"UPDATE sessions SET {assigned}")


def hear(satchel: Satchel, meta: dict[str, object]) -> None:
    """Let a server's client send something with its calls."""
    assert satchel.workplace.caller is not None
    satchel.workplace.caller.read_meta(meta)


def machines(satchel: Satchel) -> list[str]:
    """Return the machine of each session's processes."""
    with satchel.workplace.engine.read() as transaction:
        return [machine for (machine,) in transaction.all("SELECT machine FROM sessions")]


def test_a_later_process_with_the_number_of_a_client_does_not_join(serve: Open, command: Open, table: Table) -> None:
    first = write(serve("qwen"), "first")
    table.add(100)
    assert write(command(), "by hand") is None
    second = serve("qwen")
    assert write(second, "second") not in {None, first}
    assert [one.predecessor for one in kept(second).sessions] == [None, first]


def test_a_later_process_with_the_number_of_a_client_resumes_its_session_by_id(serve: Open, table: Table) -> None:
    first = write(serve(environ={ID: "a"}), "first")
    table.add(100)
    assert write(serve(environ={ID: "a"}), "second") == first


def test_processes_of_another_machine_are_not_taken_for_ones_of_this(serve: Open, command: Open) -> None:
    satchel = serve(environ={ID: "a"})
    first = write(satchel, "first")
    change(satchel, "machine = 'another'")
    assert write(command(), "by hand") is None
    assert write(serve("claude-code"), "second") not in {None, first}
    change(satchel, "machine = 'another'")
    assert write(serve(environ={ID: "a"}), "with the id") == first


def test_a_server_that_a_person_starts_in_a_shell_makes_no_client_of_the_shell(
    serve: Open, command: Open, table: Table
) -> None:
    table.add(100, "bash", arguments=("--login",))
    satchel = serve("inspector")
    assert write(satchel, "served") is not None
    assert kept(satchel).sessions[0].process is None
    assert write(command(), "by hand") is None
    assert kept(satchel).notes["by hand"].agent == "human"


def test_a_newer_id_of_the_same_client_is_added_to_its_session(serve: Open, table: Table) -> None:
    first = write(serve(environ={ID: "a"}), "first")
    assert write(serve(environ={ID: "b"}), "second") == first
    table.add(100)
    satchel = serve(environ={ID: "b"})
    assert write(satchel, "third") == first
    assert kept(satchel).host_ids == [(first, "a"), (first, "b")]


def test_the_id_of_another_client_is_nothing_to_a_server(serve: Open) -> None:
    satchel = serve("gemini-cli", environ={ID: "of the outer", "CLAUDECODE": "1"})
    write(satchel, "first")
    assert kept(satchel).host_ids == []
    assert kept(satchel).sessions[0].client == "gemini"


def test_a_command_in_a_sandbox_meets_its_server_by_the_id_that_came_with_a_call(
    serve: Open, command: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    satchel = serve("codex-mcp-client")
    hear(satchel, {"threadId": "t"})
    first = write(satchel, "served")
    process = kept(satchel).sessions[0].process
    with monkeypatch.context() as patch:
        patch.setattr(processes, "machine", lambda: "a sandbox")
        assert write(command(environ={"CODEX_THREAD_ID": "t"}), "in the sandbox") == first
    assert (kept(satchel).sessions[0].process, machines(satchel)) == (process, [processes.machine()])


def test_a_server_finds_the_session_of_the_sandbox_by_the_id_of_its_first_call(
    serve: Open, command: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(processes, "machine", lambda: "a sandbox")
        first = write(command(environ={"CODEX_THREAD_ID": "t"}), "in the sandbox")
    satchel = serve("codex-mcp-client")
    hear(satchel, {"threadId": "t"})
    assert write(satchel, "served") == first
    assert machines(satchel) == [processes.machine()]


def test_an_id_that_comes_with_a_later_call_is_added_to_the_session(serve: Open) -> None:
    satchel = serve("codex-mcp-client")
    first = write(satchel, "without")
    hear(satchel, {"threadId": "t"})
    assert write(satchel, "with t") == first
    assert kept(satchel).host_ids == [(first, "t")]


def test_each_conversation_that_one_server_serves_has_a_session_of_its_own(serve: Open) -> None:
    satchel = serve("codex-mcp-client")
    numbers: list[int | None] = []
    for identity in ("t", "u", "t"):
        hear(satchel, {"threadId": identity})
        numbers.append(write(satchel, f"{len(numbers)} with {identity}"))
    assert numbers[0] == numbers[2] != numbers[1]


@pytest.mark.parametrize(
    ("name", "meta"),
    [
        ("claude-code", {"threadId": "t"}),
        ("codex-mcp-client", {"sessionId": "t"}),
        ("codex-mcp-client", {"threadId": 7}),
        ("codex-mcp-client", {"threadId": " "}),
        (None, {"threadId": "t"}),
    ],
)
def test_a_call_without_the_id_of_a_session_tells_none(serve: Open, name: str | None, meta: dict[str, object]) -> None:
    satchel = serve(name)
    hear(satchel, meta)
    write(satchel, "served")
    assert kept(satchel).host_ids == []


def test_a_server_joins_the_session_that_it_is_told_to_beside_its_live_client(serve: Open, table: Table) -> None:
    satchel = serve()
    first = write(satchel, "first")
    uid = kept(satchel).sessions[0].uid
    assert write(serve(below=table.add(200), environ={"SATCHEL_SESSION": uid}), "beside it") == first
    assert write(serve("gemini-cli", below=200, environ={"SATCHEL_SESSION": uid}), "another client") != first


def test_two_clients_in_one_process_have_a_session_each(serve: Open, command: Open) -> None:
    first, second = write(serve("claude-code"), "of claude"), write(serve("gemini-cli"), "of gemini")
    assert first != second
    assert write(serve("claude-code"), "of claude again") == first
    assert write(serve("gemini-cli"), "of gemini again") == second
    assert write(command(environ={"GEMINI_CLI": "1"}), "gemini runs it") == second
    assert write(command(), "either runs it") is None


def test_commands_that_a_client_runs_at_once_make_one_session(command: Open, folder: Path) -> None:
    write(command(below=1), "by hand")
    opened = [command(environ={ID: "a"}) for _ in range(8)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda one: one[1].entries.write("discovery", str(one[0])), enumerate(opened)))
    (session,) = kept(opened[0]).sessions
    notes = kept(opened[0]).notes
    del notes["by hand"]
    assert set(notes) == set("01234567")
    assert set(notes.values()) == {(session.agent, session.id)}


def test_a_command_between_clients_that_cannot_be_told_apart_belongs_to_none(serve: Open, command: Open) -> None:
    write(serve(environ={ID: "a"}), "served")
    both = command(below=1, environ={ID: "a", "CODEX_THREAD_ID": "b"})
    assert write(both, "of either") is None
    caller = both.workplace.caller
    assert caller is not None
    said = caller.pop_warning()
    assert said == "this command runs in several clients (claude, codex): it belongs to none; SATCHEL_SESSION names one"
    assert caller.pop_warning() is None, "once"
    assert kept(both).notes["of either"].agent is None
    assert len(kept(both).sessions) == 1


def test_a_command_between_clients_is_of_the_nearer_one_where_its_program_is_known(
    serve: Open, command: Open, table: Table
) -> None:
    environ = {ID: "a", "CODEX_THREAD_ID": "b"}
    first = write(serve(environ={ID: "a"}), "served")
    table.add(200, "codex", below=table.add(150, "claude", below=100))
    inner = command(below=200, environ=environ)
    assert write(inner, "in codex") not in {None, first}
    assert kept(inner).sessions[-1].client == "codex"
    table.add(300, "claude", below=table.add(250, "codex"))
    assert write(command(below=300, environ=environ), "in claude") == first


def test_a_session_that_its_client_ended_takes_no_more_commands_and_is_resumed_by_a_server(
    serve: Open, command: Open
) -> None:
    satchel = serve(environ={ID: "a"})
    first = write(satchel, "first")
    change(satchel, "ended_at = 1")
    assert write(command(below=1), "by hand") is None
    again = serve(environ={ID: "a"})
    assert write(again, "resumed") == first
    with again.workplace.engine.read() as transaction:
        assert transaction.all("SELECT ended_at FROM sessions") == [(None,)]


def test_after_its_client_came_back_a_session_of_commands_knows_its_process(command: Open, table: Table) -> None:
    environ = {ID: "a", "CLAUDECODE": "1"}
    table.add(100, "claude")
    first = write(command(environ=environ), "first")
    table.end(100)
    table.add(300, "claude")
    satchel = command(below=table.add(400, "make", below=300), environ=environ)
    assert write(satchel, "second") == first
    assert kept(satchel).sessions[0].process == 300


def test_a_read_only_store_records_nothing_and_finds_its_session(serve: Open, open_in: Open, folder: Path) -> None:
    satchel = serve("qwen", agent="builder")
    first = write(satchel, "first")
    satchel.constraints.add("Passwords are never logged", category="security", agent="planner")
    assert "Passwords" in satchel.brief(agent="builder").text
    before = kept(satchel)
    reader = serve("qwen", read_only=True)
    briefing = reader.brief(agent="builder")
    assert "Passwords" not in briefing.text, "it is of the session, to which this was delivered"
    assert not briefing.is_recorded
    with pytest.raises(ReadOnly):
        reader.entries.write("discovery", "refused")
    assert kept(satchel) == before
    assert first == before.sessions[0].id


def test_a_read_only_server_finds_a_session_that_is_made_beside_it(serve: Open, command: Open, table: Table) -> None:
    command(below=1).constraints.add("Passwords are never logged", category="security")
    reader = serve(environ={ID: "a"}, read_only=True)
    assert "Passwords" in reader.brief(agent="builder").text
    assert "Passwords" in command(environ={ID: "a"}).brief(agent="builder").text
    assert "Passwords" not in reader.brief(agent="builder").text


@pytest.mark.parametrize("jump", [-400 * DAY, -MINUTE, -1, MINUTE, 400 * DAY])
def test_a_clock_that_jumps_and_comes_back_breaks_no_session(serve: Open, clock: ManualClock, jump: int) -> None:
    satchel = serve(environ={ID: "a"})
    first = write(satchel, "before")
    clock.advance(jump)
    assert write(satchel, "while") == first
    assert kept(satchel).sessions[0].seen_at == clock.now
    assert write(serve(environ={ID: "a"}), "joined") == first
    clock.advance(-jump)
    assert write(satchel, "after") == first
    assert write(serve(environ={ID: "a"}), "joined after") == first
    assert kept(satchel).sessions[0].seen_at == clock.now


def test_it_is_recorded_once_a_minute_that_a_session_was_seen(serve: Open, clock: ManualClock) -> None:
    satchel = serve()
    write(satchel, "first")
    began = clock.now
    clock.advance(MINUTE - 1)
    write(satchel, "second")
    assert kept(satchel).sessions[0].seen_at == began
    clock.advance(1)
    write(satchel, "third")
    assert kept(satchel).sessions[0].seen_at == began + MINUTE


def test_a_session_whose_first_write_was_refused_is_made_by_the_next(serve: Open) -> None:
    other = serve("gemini-cli", below=1)
    other.decisions.set("ttl", 60)
    satchel = serve("qwen")
    with pytest.raises(Conflict):
        satchel.decisions.set("ttl", 30, expected_revision=5)
    assert len(kept(satchel).sessions) == 1
    assert satchel.entries.read().entries == ()
    second = write(satchel, "kept")
    assert [one.id for one in kept(satchel).sessions][1:] == [second]


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("", "1" * 10_240),
        (" ", "1\x1b[31m\n"),
        ("x" * 10_240, "\ud800"),
        ("\x1b[31m\n", "\N{RIGHT-TO-LEFT OVERRIDE}2"),
        ("\ud800", ""),
        ("\N{SNOWMAN}", "\N{SNOWMAN}"),
        (None, "1"),
    ],
)
def test_whatever_a_client_says_of_itself_it_has_a_session(serve: Open, name: str | None, version: str) -> None:
    satchel = serve(name, version=version)
    assert write(satchel, "first") is not None
    with satchel.workplace.engine.read() as transaction:
        row = transaction.one("SELECT client, version FROM sessions")
    assert row is not None
    assert all(text is None or (len(text) <= 100 and text.isprintable()) for text in row)
    agent = kept(satchel).sessions[0].agent
    assert agent is not None
    assert agent.isascii()
