"""Which calls are of one session: servers and commands of real clients, below them and beside them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from keep.sessions.conftest import Running
from keep.sessions.kept import Kept
from satchel.keep.names import person_here

pytestmark = pytest.mark.slow

Start = Callable[..., Running]
Look = Callable[[], Kept]

ID = "CLAUDE_CODE_SESSION_ID"
IN_CLAUDE = {"CLAUDECODE": "1"}


def one_session(kept: Kept, *notes: str) -> int:
    """Check that there is one session, in which all of some notes were written; return its number."""
    assert len(kept.sessions) == 1
    assert {kept.notes[note].session for note in notes} == {kept.sessions[0].id}
    return kept.sessions[0].id


def two_sessions(kept: Kept, *notes: str) -> None:
    """Check that each of two notes was written in a session of its own, by an agent of its own."""
    assert len(kept.sessions) == 2
    first, second = (kept.notes[note] for note in notes)
    assert {first.session, second.session} == {one.id for one in kept.sessions}
    assert first.agent != second.agent


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_a_server_and_commands_meet_by_the_clients_process(client: Start, look: Look, shell: str) -> None:
    host = client("qwen")
    host.serve("qwen-cli-mcp-client")
    host.write("from the server")
    assert host.note("from a command", shell=shell) == ""
    host.write("again")
    kept = look()
    one_session(kept, "from the server", "from a command", "again")
    (session,) = kept.sessions
    assert (session.client, session.process) == ("qwen", host.pid)
    assert {note.agent for note in kept.notes.values()} == {session.agent}
    assert session.agent == f"qwen-{session.uid[:4]}"


@pytest.mark.parametrize("server_first", [True, False])
def test_a_server_and_commands_meet_by_the_id_that_their_client_gave_them(
    client: Start, look: Look, server_first: bool
) -> None:
    # no process is above both
    host = client("claude", **{ID: "id-1"}, **IN_CLAUDE)
    other = client("elsewhere", **{ID: "id-1"}, **IN_CLAUDE)

    def from_server() -> None:
        host.serve()
        host.write("from the server")

    if server_first:
        from_server()
    other.note("from a command")
    if not server_first:
        other.leave()
        from_server()
    kept = look()
    session = one_session(kept, "from the server", "from a command")
    assert kept.host_ids == [(session, "id-1")]


def test_a_command_before_its_server_is_of_its_session(client: Start, look: Look) -> None:
    host = client("claude", **IN_CLAUDE)
    host.note("from a command")
    host.serve()
    host.write("from the server")
    host.note("from a later command", shell="bash")
    one_session(look(), "from the server", "from a command", "from a later command")
    assert look().sessions[0].process == host.pid


def test_a_session_that_the_environment_names_wins(client: Start, look: Look) -> None:
    host, terminal = client("qwen"), client("terminal")
    host.serve("qwen")
    host.write("from the server")
    uid = look().sessions[0].uid
    terminal.note("from a terminal", environ={"SATCHEL_SESSION": uid})
    other = client("gemini", GEMINI_SESSION_ID="g")
    other.serve("gemini-cli")
    other.write("from another client")
    other.note("in spite of it", environ={"SATCHEL_SESSION": uid})
    kept = look()
    assert len(kept.sessions) == 2
    first, second = (one.id for one in kept.sessions)
    assert [kept.notes[note].session for note in ("from the server", "from a terminal", "in spite of it")] == [
        first
    ] * 3
    assert kept.notes["from another client"].session == second
    assert kept.notes["from a terminal"].agent == kept.sessions[0].agent


@pytest.mark.parametrize("uid", ["00" * 16, "no uid", "f" * 10_240, "\N{SNOWMAN}"])
def test_a_session_that_is_none_is_no_session(client: Start, look: Look, uid: str) -> None:
    terminal = client("terminal")
    terminal.note("from a terminal", environ={"SATCHEL_SESSION": uid})
    # who names a session speaks for an agent, never as the person
    assert look().notes["from a terminal"] == (None, None)


def test_a_command_of_another_terminal_does_not_join(client: Start, look: Look) -> None:
    host, terminal = client("qwen"), client("terminal")
    host.serve("qwen")
    host.write("from the server")
    terminal.note("from a terminal")
    kept = look()
    assert kept.notes["from a terminal"] == (person_here(None, os.environ), None)
    assert len(kept.sessions) == 1


def test_two_clients_at_once_are_two_sessions(client: Start, look: Look) -> None:
    hosts = [client("claude", **{ID: f"id-{number}"}, **IN_CLAUDE) for number in range(2)]
    for number, host in enumerate(hosts):
        host.serve()
        host.write(f"note {number}")
        host.note(f"command {number}")
    kept = look()
    two_sessions(kept, "note 0", "note 1")
    for number in range(2):
        assert kept.notes[f"command {number}"] == kept.notes[f"note {number}"]
    assert [one.predecessor for one in kept.sessions] == [None, None]


def test_one_id_under_two_live_clients_is_two_sessions_and_that_is_said(client: Start, look: Look) -> None:
    first, second = client("claude", **{ID: "id-1"}, **IN_CLAUDE), client("claude", **{ID: "id-1"}, **IN_CLAUDE)
    for host in (first, second):
        host.serve()
    assert "running" not in first.call("write_context", type="discovery", content="first")
    said = second.call("write_context", type="discovery", content="second")
    assert "another running client uses the session id 'id-1' too, so this is a new session" in said
    assert "another running client" not in second.call("write_context", type="discovery", content="said once")
    second.note("command of the second")
    kept = look()
    two_sessions(kept, "first", "second")
    assert kept.notes["said once"] == kept.notes["command of the second"] == kept.notes["second"]


def test_one_id_under_a_later_client_is_the_session_resumed(client: Start, look: Look) -> None:
    first = client("claude", **{ID: "id-1"}, **IN_CLAUDE)
    first.serve(options=["--agent", "builder"])
    first.call("add_constraint", text="Passwords are never logged", category="security", agent="planner")
    assert "Passwords" in first.call("get_briefing")
    first.leave()
    before = look()
    second = client("claude", **{ID: "id-1"}, **IN_CLAUDE)
    second.serve(options=["--agent", "builder"])
    assert "Passwords" not in second.call("get_briefing"), "what was delivered stays delivered"
    second.write("resumed")
    after = look()
    assert one_session(after, "resumed") == before.sessions[0].id
    assert after.sessions[0][:5] == before.sessions[0][:5]
    assert (after.sessions[0].window, after.sessions[0].process) == (1, second.pid)


@pytest.mark.parametrize("how", ["close", "kill"])
def test_a_client_that_starts_its_server_again_goes_on_in_its_session(client: Start, look: Look, how: str) -> None:
    host = client("qwen")
    host.serve("qwen")
    host.write("before")
    host.stop(how=how)
    host.note("between")
    host.serve("qwen", through=["bash", "-c", '"$@"; exit $?', "bash"])
    host.write("after")
    one_session(look(), "before", "between", "after")


def test_a_server_and_commands_below_scripts_meet_by_the_clients_program(
    client: Start, look: Look, tmp_path: Path
) -> None:
    script = tmp_path / "start.sh"
    script.write_text('"$@"\nexit $?\n')
    host = client("claude", **IN_CLAUDE)
    host.note("from a command", shell="bash")
    host.serve(through=["bash", str(script)])
    host.write("from the server")
    one_session(look(), "from a command", "from the server")


@pytest.mark.parametrize("program", ["codex", "node"])
def test_a_client_in_the_shell_of_another_has_a_session_of_its_own(client: Start, look: Look, program: str) -> None:
    outer = client("claude", **{ID: "outer"}, **IN_CLAUDE)
    outer.serve()
    outer.write("outer")
    uid = look().sessions[0].uid
    inner = outer.start(program, environ={"SATCHEL_SESSION": uid})
    inner.serve("codex-mcp-client")
    inner.write("inner")
    assert inner.note("command of the inner", environ={"CODEX_THREAD_ID": "thread"}) == ""
    outer.note("command of the outer", environ={"SATCHEL_SESSION": uid})
    kept = look()
    two_sessions(kept, "outer", "inner")
    assert [one.client for one in kept.sessions] == ["claude", "codex"]
    assert kept.notes["command of the inner"] == kept.notes["inner"]
    assert kept.notes["command of the outer"] == kept.notes["outer"]
    assert kept.sessions[1].predecessor is None
    assert kept.host_ids == [(kept.sessions[0].id, "outer")]


def test_a_client_in_the_shell_of_its_like_has_a_session_of_its_own(client: Start, look: Look) -> None:
    outer = client("claude", **{ID: "outer"}, **IN_CLAUDE)
    outer.serve()
    outer.write("outer")
    inner = outer.start("claude", environ={"SATCHEL_SESSION": look().sessions[0].uid, ID: "inner"})
    inner.serve()
    inner.write("inner")
    inner.note("command of the inner")
    kept = look()
    two_sessions(kept, "outer", "inner")
    assert kept.notes["command of the inner"] == kept.notes["inner"]


def test_a_command_of_an_inner_client_without_a_server_is_not_of_the_outer_session(client: Start, look: Look) -> None:
    outer = client("claude", **{ID: "outer"}, **IN_CLAUDE)
    outer.serve()
    outer.write("outer")
    inner = outer.start("codex", environ={"SATCHEL_SESSION": look().sessions[0].uid, "CODEX_THREAD_ID": "thread"})
    inner.note("inner")
    inner.note("inner again", shell="bash")
    kept = look()
    two_sessions(kept, "outer", "inner")
    assert kept.notes["inner again"] == kept.notes["inner"]
    assert kept.sessions[1].client == "codex"


def test_two_servers_of_one_process_stay_two_and_its_command_is_of_neither(client: Start, look: Look) -> None:
    host = client("qwen")
    for number in ("one", "two"):
        host.serve("qwen", server=number)
        host.write(number, server=number)
    two_sessions(look(), "one", "two")
    for marker in ({}, {"QWEN_CODE": "1"}):
        said = host.note(f"command {len(marker)}", environ=marker)
        uids = [one.uid[:8] for one in look().sessions]
        assert "this call could belong to several sessions" in said
        assert all(uid in said for uid in uids)
        assert look().notes[f"command {len(marker)}"] == (None, None)
    assert len(look().sessions) == 2
    _, said = host.run("file", "claim", "src/a.py", fails=True)
    assert "claiming files needs an agent" in said
    assert "could belong to several sessions" in said
    host.note("told apart", environ={"SATCHEL_SESSION": look().sessions[1].uid})
    assert look().notes["told apart"].session == look().sessions[1].id
    host.note("named", "--agent", "builder")
    assert look().notes["named"] == ("builder", None)


def test_a_host_that_hangs_up_before_the_answer_finds_what_was_written(client: Start, look: Look) -> None:
    host = client("qwen")
    host.serve("qwen")
    host.call_and_hang_up("write_context", type="discovery", content="kept")
    assert set(look().notes) == {"kept"}
    host.serve("qwen")
    host.write("after")
    one_session(look(), "kept", "after")


def test_an_id_of_any_length_and_kind_joins(client: Start, look: Look) -> None:
    for number, identity in enumerate(("x" * 10_240, "a\x1b[31m\nb", "\udcff" * 3)):
        first = client("claude", **{ID: identity}, **IN_CLAUDE)
        first.serve()
        first.write(f"first {number}")
        first.leave()
        second = client("claude", **{ID: identity}, **IN_CLAUDE)
        second.serve()
        second.write(f"second {number}")
        second.note(f"command {number}")
        second.leave()
        kept = look()
        assert len(kept.sessions) == number + 1
        assert {kept.notes[f"{what} {number}"].session for what in ("first", "second", "command")} == {
            kept.sessions[-1].id
        }
    assert all(re.fullmatch("sha256:[0-9a-f]{64}", identity) for _, identity in look().host_ids)


def test_a_new_session_of_a_client_goes_on_from_its_last_one(client: Start, look: Look) -> None:
    first = client("claude", **{ID: "id-1"}, **IN_CLAUDE)
    first.serve(options=["--agent", "builder"])
    first.call("claim_files", paths=["src/a.py"])
    second = client("claude", **{ID: "id-2"}, **IN_CLAUDE)
    second.serve(options=["--agent", "builder"])
    assert "src/a.py is held by builder" in second.refused("claim_files", paths=["src/a.py"]), (
        "the first is there still"
    )
    second.write("beside it")
    first.leave()
    third = client("claude", **{ID: "id-3"}, **IN_CLAUDE)
    third.serve(options=["--agent", "builder"])
    third.write("after it")
    assert "src/a.py is held by builder" in second.refused("claim_files", paths=["src/a.py"]), (
        "another has inherited it"
    )
    assert "renewed" in third.call("claim_files", paths=["src/a.py"])
    kept = look()
    assert [one.predecessor for one in kept.sessions] == [None, None, kept.sessions[0].id]


def test_a_person_writes_as_human_and_a_client_never(client: Start, look: Look) -> None:
    terminal = client("terminal")
    terminal.note("by hand")
    terminal.run("file", "claim", "src/a.py")
    for number, marker in enumerate(("CLAUDECODE", "GEMINI_CLI", "QWEN_CODE", "CODEX_SANDBOX", ID)):
        terminal.note(f"by a client {number}", environ={marker: "1"})
    kept = look()
    assert kept.notes.pop("by hand") == (person_here(None, os.environ), None)
    assert [note.agent for note in kept.notes.values() if note.agent is None or "human" in note.agent] == []
    assert len(kept.notes) == 5
