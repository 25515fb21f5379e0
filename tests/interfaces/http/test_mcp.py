"""MCP over HTTP, judged by the official SDK's client of both eras against a real server."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from mcp_over_http import DIALECTS, Served, ask, served
from satchel import Satchel
from satchel.base.clock import system_clock
from satchel.base.errors import Interrupted
from satchel.interfaces.http import mcp
from satchel.interfaces.http.access import PERSON
from satchel.interfaces.http.serving import Serving
from satchel.interfaces.operations.as_tool import ALL_TOOLS
from satchel.store.sqlite import SqliteEngine
from tables import in_one_test

NOTE = {"type": "discovery", "content": "Sessions expire after 300 s"}


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served() as one:
        yield one


@pytest.fixture
def store(open_in: Callable[..., Satchel], project: Path) -> Satchel:
    """A store with one note in it, by the clock that the server has too."""
    satchel = open_in(project, clock=system_clock)
    satchel.entries.write("discovery", "salt", agent="ann")
    return satchel


def named(session: str) -> dict[str, str]:
    return {"Satchel-Session": session}


def request(method: str, params: dict[str, Any] | None = None, number: object = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}


def tools(server: Served, token: str, query: str = "") -> set[str]:
    async def listed(client: Client) -> set[str]:
        return {tool.name for tool in (await client.list_tools()).tools}

    found: set[str] = server.converse(listed, token, query=query)
    return found


@contextmanager
def watched() -> Iterator[tuple[threading.Event, threading.Event]]:
    """Tell when a call has begun to wait for others, and when it was interrupted there."""
    waits, interrupted = threading.Event(), threading.Event()
    watch = SqliteEngine.watch

    @contextmanager
    def told(engine: SqliteEngine) -> Iterator[Callable[[], bool]]:
        def is_changed() -> bool:
            waits.set()
            return changed()

        try:
            with watch(engine) as changed:
                yield is_changed
        except Interrupted:
            interrupted.set()
            raise

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SqliteEngine, "watch", told)
        yield waits, interrupted


# who acts


@pytest.mark.parametrize("mode", DIALECTS)
def test_a_store_that_is_not_there_is_an_answer_of_the_tool(
    server: Served, open_in: Callable[..., Satchel], project: Path, mode: str
) -> None:
    token = server.give(open_in(project))
    assert server.call(token, "search", {"query": "salt"}, mode=mode).startswith("error [")


@pytest.mark.parametrize("mode", DIALECTS)
def test_without_a_session_a_call_is_that_of_an_agent_named_after_the_token(
    server: Served, store: Satchel, mode: str
) -> None:
    token = server.give(store, name="build-box")
    assert server.call(token, "write_context", NOTE, mode=mode).endswith(" by build-box; shown in briefings, searches")
    assert store.sessions.team(all=True).sessions == ()


def test_the_agent_of_the_token_acts_where_a_call_names_nobody(server: Served, store: Satchel) -> None:
    token = server.give(store, name="build-box", agent="ben")
    assert server.call(token, "write_context", NOTE).endswith(" by ben; shown in briefings, searches")
    assert " by cat; " in server.call(token, "write_context", {**NOTE, "content": "pepper", "agent": "cat"})


@pytest.mark.parametrize("session", [{}, named("mine")], ids=["none", "named"])
def test_a_person_has_the_name_of_the_token_unless_an_agent_is_named(
    server: Served, store: Satchel, session: dict[str, str]
) -> None:
    token = server.give(store, name="anns-token", role=PERSON)
    assert server.call(token, "write_context", NOTE, headers=session).endswith(
        " by human:anns-token; shown in briefings, searches"
    )
    said = server.call(token, "write_context", {**NOTE, "content": "mint", "agent": "cat"}, headers=session)
    assert said.endswith(" by cat; shown in briefings, searches")


def test_only_a_person_settles_what_a_person_wrote(server: Served, store: Satchel) -> None:
    person, agent = server.give(store, role=PERSON), server.give(store)
    written = server.call(person, "write_context", NOTE).split()[1]
    arguments = {"id": written, "verdict": "retract", "evidence": "it is 600 s"}
    server.call(agent, "review_item", {**arguments, "agent": "human"})
    assert written in {entry.ref for entry in store.entries.read()}
    server.call(person, "review_item", arguments)
    assert written not in {entry.ref for entry in store.entries.read()}


@pytest.mark.parametrize("mode", DIALECTS)
def test_calls_with_one_header_are_one_session(server: Served, store: Satchel, mode: str) -> None:
    token = server.give(store)
    for content in ("one", "two"):
        server.call(token, "write_context", {**NOTE, "content": content}, mode=mode, headers=named("mine"))
    (session,) = store.sessions.team().sessions
    assert (session.client, session.branch, session.worktree) == ("mcp", None, None)
    assert [entry.agent for entry in store.entries.read(limit=2)] == [session.agents[0]] * 2


def test_two_tokens_never_share_a_session(server: Served, store: Satchel) -> None:
    for token in (server.give(store), server.give(store)):
        server.call(token, "write_context", {**NOTE, "content": token}, headers=named("mine"))
    assert len(store.sessions.team().sessions) == 2


def test_a_session_of_a_request_has_no_process(server: Served, store: Satchel) -> None:
    server.call(server.give(store), "write_context", NOTE, headers=named("mine"))
    with store.workplace.engine.read() as transaction:
        row = transaction.one("SELECT machine, process, server FROM sessions")
    assert row == (None, None, None)


def test_claims_belong_to_the_session(server: Served, store: Satchel) -> None:
    token = server.give(store)
    claim = {"paths": ["src/auth.py"]}
    assert "claimed" in server.call(token, "claim_files", claim, headers=named("one"))
    assert "error [conflict]" in server.call(token, "claim_files", claim, headers=named("two"))
    # another name in the same session
    assert "error" not in server.call(token, "claim_files", {**claim, "agent": "helper"}, headers=named("one"))
    (session, _) = sorted(store.sessions.team().sessions, key=lambda one: -one.claims_total)
    assert [one.path for one in session.claims] == ["src/auth.py"]


def test_without_a_session_claims_hold_by_token_and_agent(server: Served, store: Satchel) -> None:
    one, two = server.give(store, name="one"), server.give(store, name="two")
    claim = {"paths": ["src/auth.py"]}
    server.call(one, "claim_files", claim)
    assert "error" not in server.call(one, "claim_files", claim)
    assert "held by one" in server.call(two, "claim_files", claim)
    assert "src/auth.py" in server.call(one, "release_files")


def test_what_is_released_with_a_description_is_recorded_as_modified(server: Served, store: Satchel) -> None:
    token = server.give(store)
    server.call(token, "claim_files", {"paths": ["src/auth.py"]})
    server.call(token, "release_files", {"description": "mended"})
    (change,) = store.files.changes()
    assert (change.file, change.change, change.description) == ("src/auth.py", "modified", "mended")


def test_a_briefing_is_recorded_for_the_session_alone(server: Served, store: Satchel) -> None:
    token = server.give(store)
    asked = {"agent": "ben"}
    assert all("salt" in server.call(token, "get_briefing", asked) for _ in range(2))
    assert "salt" in server.call(token, "get_briefing", asked, headers=named("one"))
    assert "salt" not in server.call(token, "get_briefing", asked, headers=named("one"))
    assert "salt" in server.call(token, "get_briefing", asked, headers=named("two"))
    assert "salt" in server.call(token, "get_briefing", asked)


def test_a_local_session_does_not_go_on_with_one_of_a_request(server: Served, store: Satchel) -> None:
    from satchel.keep.sessions import updates
    from satchel.keep.sessions.caller import SERVER, Caller

    server.call(server.give(store), "claim_files", {"paths": ["a.py"], "minutes": 9_000}, headers=named("mine"))
    work, day = store.workplace, 86_400_000
    local = Caller(SERVER, {})
    local.set_client("mcp", None)
    with work.engine.write() as transaction:
        transaction.run("UPDATE sessions SET seen_at = seen_at - :day", {"day": day})
        (seen,) = transaction.one("SELECT seen_at FROM sessions") or (0,)
        updates.start(transaction, work, 1, local, seen + day)
        assert transaction.one("SELECT count(*) FROM sessions WHERE predecessor_id IS NOT NULL") == (0,)


def test_nothing_of_another_project_is_told(
    server: Served, store: Satchel, open_in: Callable[..., Satchel], project: Path
) -> None:
    other = open_in(project, project="other", clock=system_clock)
    other.entries.write("discovery", "zebra", file="src/zebra.py", agent="zoe")
    other.files.claim(["src/zebra.py"], agent="zoe")
    (note,) = other.entries.read()
    token = server.give(store)
    asked: list[tuple[str, dict[str, object]]] = [
        ("get_items", {"ids": [note.ref]}),
        ("review_item", {"id": note.ref, "verdict": "retract"}),
        ("search", {"query": "zebra"}),
        ("search", {"like": note.ref}),
        ("read_context", {"author": "zoe"}),
        ("get_items", {"ids": ["file:src/"]}),
        ("get_briefing", {"query": "zebra"}),
        ("get_team", {"all": True}),
        ("write_context", {**NOTE, "supersedes": note.ref}),
    ]
    for tool, arguments in asked:
        said = server.call(token, tool, arguments, query="?toolsets=all")
        assert "zebra.py" not in said, said
        assert "zoe" not in said.replace("'zoe'", "").replace("author=zoe", ""), said
    assert [one.content for one in other.entries.read()] == ["zebra"]
    assert "src/zebra.py" in server.call(token, "claim_files", {"paths": ["src/zebra.py"]})


# what is chosen


def test_toolsets_are_chosen_in_the_address(server: Served, store: Satchel) -> None:
    token = server.give(store)
    assert tools(server, token, "?toolsets=search,admin") == {
        tool.name for tool in ALL_TOOLS if tool.toolset in {"search", "admin"}
    }
    assert tools(server, token, "?toolsets=all") == {tool.name for tool in ALL_TOOLS}


def test_a_tool_that_is_not_chosen_names_the_address(server: Served, store: Satchel) -> None:
    body = request("tools/call", {"name": "get_stats", "arguments": {}})
    said = server.post(server.give(store), body).text
    assert "add it to ?toolsets= in the server's address" in said


@pytest.mark.parametrize(("rights", "query"), [({"read_only": True}, ""), ({}, "?read_only=1")])
def test_who_only_reads_is_offered_only_that_and_leaves_no_trace(
    server: Served, store: Satchel, rights: dict[str, object], query: str
) -> None:
    token = server.give(store, **rights)
    assert tools(server, token, f"{query or '?'}&toolsets=all") == {tool.name for tool in ALL_TOOLS if tool.read_only}
    with store.workplace.engine.read() as transaction:
        before = [transaction.one(f"SELECT count(*) FROM {table}") for table in ("sessions", "windows", "events")]
    how: dict[str, Any] = {"query": query, "headers": named("mine")}
    for _ in range(2):
        assert "salt" in server.call(token, "get_briefing", {"query": "salt", "agent": "ben"}, **how)
    with store.workplace.engine.read() as transaction:
        after = [transaction.one(f"SELECT count(*) FROM {table}") for table in ("sessions", "windows", "events")]
    assert after == before
    said = server.post(token, request("tools/call", {"name": "write_context", "arguments": NOTE}), query).text
    assert "It writes, and this token or address only reads" in said


@in_one_test(
    ("query", "session", "problem"),
    [
        ("?toolsets=serch", "", "unknown toolset 'serch'"),
        ("?toolsets=", "", "unknown toolset ''"),
        ("?read_only=maybe", "", "read_only 'maybe' is neither yes nor no"),
        ("", "s" * 201, "Satchel-Session has 201 characters"),
        ("", "${SATCHEL_SESSION}", "is a variable without a value"),
    ],
)
def test_what_cannot_be_chosen_is_refused_with_a_remedy(
    server: Served, store: Satchel, query: str, session: str, problem: str
) -> None:
    answer = server.post(server.give(store), request("ping"), query, **named(session))
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (400, "invalid_input")
    assert problem in error["problem"]
    assert error["remedy"]


# the transport


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_only_post_has_a_meaning(server: Served, store: Satchel, method: str) -> None:
    import httpx2

    headers = {"Authorization": f"Bearer {server.give(store)}", "Accept": "text/event-stream"}
    answer = httpx2.request(method, f"{server.url}/mcp", headers=headers)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert answer.json()["error"]["remedy"] == "Use POST"


def test_no_session_of_the_transport_is_issued(server: Served, store: Satchel) -> None:
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "probe", "version": "1"}}
    assert "mcp-session-id" not in server.post(server.give(store), request("initialize", hello)).headers


@pytest.mark.parametrize(
    ("status", "headers"), [(406, {"Accept": "application/json"}), (415, {"Content-Type": "text/plain"})]
)
def test_media_types_that_cannot_be_served_are_refused(
    server: Served, store: Satchel, status: int, headers: dict[str, str]
) -> None:
    assert server.post(server.give(store), request("ping"), **headers).status_code == status


def test_what_cannot_be_read_is_answered_and_the_server_goes_on(server: Served, store: Satchel) -> None:
    token = server.give(store)
    deep = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"query":%b}}}'
    for body in (b"{", b"[]", b'"text"', b"\xff", deep % (b"[" * 100 + b"]" * 100), deep % (b"9" * 5_000)):
        assert server.post(token, body).status_code < 500
    assert "salt" in server.call(token, "search", {"query": "salt"})


def test_a_lone_surrogate_is_answered_in_unicode(server: Served, store: Satchel) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": "analyse", "arguments": {"focus": "half \ud83d"}, "_meta": meta}
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "prompts/get", "Mcp-Name": "analyse"}
    answer = server.post(server.give(store), request("prompts/get", params), **headers)
    assert "half \ufffd" in answer.json()["result"]["messages"][0]["content"]["text"]


def test_a_store_that_is_gone_costs_a_call_and_not_the_listing(server: Served, store: Satchel) -> None:
    token = server.give(store)
    store.close()
    for file in store.place.file.parent.glob("satchel.db*"):
        file.unlink()
    assert "write_context" in tools(server, token)
    assert server.call(token, "search", {"query": "salt"}).startswith("error [")


# calls under way


@pytest.mark.parametrize("mode", DIALECTS)
def test_a_call_whose_client_goes_away_is_cancelled(server: Served, store: Satchel, mode: str) -> None:
    token = server.give(store, agent="ben")
    store.files.claim(["src/auth.py"], agent="ann")

    async def leave(client: Client) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: ask(client, "claim_files", paths=["src/auth.py"], wait_seconds=45))
            await anyio.to_thread.run_sync(waits.wait, 20)
            group.cancel_scope.cancel()

    with watched() as (waits, interrupted):
        server.converse(leave, token, mode=mode)
        assert interrupted.wait(60)


def test_a_client_of_the_handshake_era_cancels_a_call_of_its_session(server: Served, store: Satchel) -> None:
    token, stranger = server.give(store, agent="ben"), server.give(store, agent="cat")
    store.files.claim(["src/auth.py"], agent="ann")
    arguments = {"paths": ["src/auth.py"], "wait_seconds": 45}
    body = request("tools/call", {"name": "claim_files", "arguments": arguments}, "one")
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "one"}}
    answers: list[str] = []
    with watched() as (waits, interrupted):
        caller = threading.Thread(target=lambda: answers.append(server.post(token, body, **named("mine")).text))
        caller.start()
        assert waits.wait(60)
        for other, session in ((stranger, "mine"), (token, "other")):
            assert server.post(other, cancelled, **named(session)).status_code == 202
        assert not interrupted.is_set()
        assert server.post(token, cancelled, **named("mine")).status_code == 202
        caller.join()
        assert interrupted.is_set()
    assert "error [interrupted]" in answers[0]


def test_a_call_that_the_end_of_the_server_meets_is_answered(store: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
    store.files.claim(["src/auth.py"], agent="ann")
    arguments = {"paths": ["src/auth.py"], "wait_seconds": 45}
    body = request("tools/call", {"name": "claim_files", "arguments": arguments})
    answers: list[str] = []
    ends = threading.Event()
    end = Serving.end

    def told_to_end(serving: Serving) -> None:
        end(serving)
        ends.set()

    monkeypatch.setattr(Serving, "end", told_to_end)
    with watched() as (waits, interrupted), served() as one:
        token = one.give(store, agent="ben")
        caller = threading.Thread(target=lambda: answers.append(one.post(token, body).text))
        caller.start()
        assert waits.wait(60)
        one.end()
        assert ends.wait(60)
        store.files.release(["src/auth.py"], agent="ann")
        caller.join(60)
        assert not interrupted.is_set()
    assert "src/auth.py" in answers[0]
    assert "isError" not in answers[0]


@pytest.mark.parametrize("mode", DIALECTS)
def test_progress_is_told_before_the_answer(server: Served, store: Satchel, mode: str) -> None:
    store.messages.send("mind it", to="ben", agent="ann")
    told: list[float] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)

    async def clear(client: Client) -> str:
        arguments = {"messages_hours": 0, "confirm": True}
        await client.call_tool("clear_old_data", arguments, progress_callback=hear)
        return ""

    server.converse(clear, server.give(store), mode=mode, query="?toolsets=admin")
    assert told
    assert told == sorted(told)


def test_a_call_that_takes_long_is_a_stream_that_says_it_is_alive(
    server: Served, store: Satchel, monkeypatch: pytest.MonkeyPatch
) -> None:
    import httpx2

    monkeypatch.setattr(mcp, "_KEEP_ALIVE_SECONDS", 0.01)
    store.files.claim(["src/auth.py"], agent="ann")
    body = request("tools/call", {"name": "claim_files", "arguments": {"paths": ["src/auth.py"], "wait_seconds": 45}})
    headers = {"Authorization": f"Bearer {server.give(store, agent='ben')}", "Accept": "*/*"}
    with httpx2.stream("POST", f"{server.url}/mcp", json=body, headers=headers, timeout=60) as answer:
        lines = answer.iter_lines()
        assert next(lines) == ": keep-alive"
        store.files.release(["src/auth.py"], agent="ann")
        (message,) = [line for line in lines if line.startswith("data: ")]
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert "src/auth.py" in message
    assert "isError" not in message
