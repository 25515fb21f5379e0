"""The real server, spoken to in bytes: what no well-behaved client would send, and how it leaves."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO

import apsw
import pytest

from satchel import open_satchel

pytestmark = pytest.mark.slow

MANY = 10 * 1024 * 1024


class RawClient:
    """A server process and its pipes, after the handshake."""

    def __init__(self, folder: Path, environment: dict[str, str], log: BinaryIO, *options: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "satchel", "mcp", "--agent", "raw", *options],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self._last_id = 0
        opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
        assert "result" in self.ask("initialize", opening)

    def send(self, method: str, params: object) -> int:
        """Send a request; return its id."""
        self._last_id += 1
        self.send_line(json.dumps({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params}).encode())
        return self._last_id

    def send_line(self, line: bytes) -> None:
        self.stdin.write(line + b"\n")
        self.stdin.flush()

    def receive(self) -> dict[str, Any]:
        message = json.loads(self.stdout.readline())
        assert isinstance(message, dict)
        return message

    def ask(self, method: str, params: object) -> dict[str, Any]:
        """Send a request and return its answer, the next message."""
        sent = self.send(method, params)
        answer = self.receive()
        assert answer["id"] == sent
        return answer

    def call(self, tool: str, **arguments: object) -> str:
        """Call a tool; return its text, an error's too."""
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]
        return str(result["content"][0]["text"])

    def leave(self) -> int:
        """End the input; return the exit status."""
        self.stdin.close()
        return self.process.wait(60)


Start = Callable[..., RawClient]


@pytest.fixture
def start(folder: Path, environment: dict[str, str], tmp_path: Path) -> Iterator[Start]:
    """Start a server with more variables; what it logs goes to the file ``log``."""
    started: list[RawClient] = []
    with (tmp_path / "log").open("wb") as log:

        def run(*options: str, **variables: str) -> RawClient:
            started.append(RawClient(folder, environment | variables, log, *options))
            return started[-1]

        yield run
        for client in started:
            client.stdin.close()
            client.process.wait(60)
            client.stdout.close()


@pytest.fixture
def server(start: Start) -> RawClient:
    return start()


def still_serves(server: RawClient) -> bool:
    return server.call("write_context", type="discovery", content="calm").startswith("saved e")


HOSTILE: dict[str, tuple[str, dict[str, object], str]] = {
    "huge content": ("write_context", {"type": "discovery", "content": "a" * MANY}, "too_large"),
    "huge name": ("write_context", {"type": "discovery", "content": "x", "agent": "a" * MANY}, "invalid_input"),
    "huge entry type": ("search", {"limit": 0, "types": ["a" * MANY]}, "invalid_input"),
    "NUL in a name": ("write_context", {"type": "discovery", "content": "x", "task_id": "a\0b"}, "invalid_input"),
    "surrogate in a name": ("write_context", {"type": "error", "content": "x", "loop_id": "\ud800"}, "invalid_input"),
    "placeholder": ("write_context", {"type": "error", "content": "x", "loop_id": "{{loopId}}"}, "invalid_input"),
    "file outside": ("write_context", {"type": "discovery", "content": "x", "file": "../x"}, "invalid_input"),
    "content of another type": ("write_context", {"type": "discovery", "content": True}, "invalid_input"),
    "content missing": ("write_context", {"type": "discovery"}, "invalid_input"),
    "no arguments": ("write_context", {}, "invalid_input"),
    "no entries": ("write_context", {"entries": []}, "invalid_input"),
    "entries of another type": ("write_context", {"entries": [1]}, "invalid_input"),
    "a field of an entry": ("write_context", {"entries": [{"type": "error", "contents": "x"}]}, "invalid_input"),
    "a half number": ("search", {"limit": 2.5}, "invalid_input"),
    "no limit": ("search", {"limit": -1}, "invalid_input"),
    "a truth value as run": ("search", {"run_id": True}, "invalid_input"),
    "an empty list": ("search", {"types": []}, "invalid_input"),
    "no time": ("search", {"since": "yesterday-ish"}, "invalid_input"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_argument_is_answered_with_its_error_and_the_server_goes_on(server: RawClient, name: str) -> None:
    tool, arguments, code = HOSTILE[name]
    answer = server.call(tool, **arguments)
    assert answer.startswith(f"error [{code}]: ")
    assert len(answer) < 2_000
    assert still_serves(server)


@pytest.mark.parametrize(
    ("escaped", "note"),
    [(rb"a\u0000b", "1 control character removed"), (rb"a\ud800b", "1 lone surrogate replaced by U+FFFD")],
)
def test_what_content_cannot_hold_is_cleaned_and_said(server: RawClient, escaped: bytes, note: str) -> None:
    server.send_line(
        b'{"jsonrpc":"2.0","id":"x","method":"tools/call","params":'
        b'{"name":"write_context","arguments":{"type":"discovery","content":"%b"}}}' % escaped
    )
    assert note in server.receive()["result"]["content"][0]["text"]
    assert still_serves(server)


def test_a_search_for_anything_is_no_error(server: RawClient) -> None:
    still_serves(server)
    for search in ("\0", "\ud800", '"half', "foo-bar AND (", "?", "NEAR(", "*", "{{x}}", "a" * 65_536):
        assert not server.call("search", query=search).startswith("error"), search[:20]


def test_a_line_longer_than_the_limit_is_refused_and_the_server_goes_on(server: RawClient) -> None:
    server.send_line(b'"' + b"a" * (17 * 1024 * 1024) + b'"')
    assert "longer than" in server.receive()["error"]["message"]
    assert still_serves(server)


def test_a_store_locked_by_another_process_is_busy_and_later_free(start: Start, folder: Path) -> None:
    server = start(SATCHEL_STORE_LOCK_WAIT_MS="20")
    assert still_serves(server)
    with closing(apsw.Connection(str(folder / ".satchel" / "satchel.db"))) as other:
        other.execute("BEGIN IMMEDIATE")
        assert server.call("write_context", type="discovery", content="x").startswith("error [busy]: ")
        assert server.call("search").startswith("1 result")
        other.execute("ROLLBACK")
    assert still_serves(server)


def test_a_call_that_runs_when_the_input_ends_still_gets_its_answer(server: RawClient, folder: Path) -> None:
    still_serves(server)
    with closing(apsw.Connection(str(folder / ".satchel" / "satchel.db"))) as other:
        other.execute("BEGIN IMMEDIATE")  # the call waits for this
        sent = server.send("tools/call", {"name": "write_context", "arguments": {"type": "error", "content": "last"}})
        server.stdin.close()
        other.execute("ROLLBACK")
        answer = server.receive()
    assert (answer["id"], answer["result"]["content"][0]["text"][:14]) == (sent, "saved e2 error")
    assert server.leave() == 0


def test_the_server_leaves_when_its_input_ends(server: RawClient) -> None:
    assert server.leave() == 0


def test_standard_output_carries_nothing_but_the_protocol(start: Start, tmp_path: Path) -> None:
    server = start(SATCHEL_STORE_DURABILITY="sometimes", SATCHEL_NOTHING="1")
    server.call("write_context", type="nothing", content="x")
    still_serves(server)
    server.stdin.close()
    assert server.stdout.read() == b""  # every line before was an answer, in order
    server.process.wait(60)
    log = (tmp_path / "log").read_text()
    assert "store.durability" in log
    assert "SATCHEL_NOTHING" in log
    assert "calm" not in log


def test_outside_a_project_each_call_answers_with_the_remedy_until_there_is_one(
    environment: dict[str, str], tmp_path: Path
) -> None:
    nowhere = tmp_path / "nowhere"
    nowhere.mkdir()
    with (tmp_path / "log").open("wb") as log:
        server = RawClient(nowhere, environment, log)
    assert server.ask("tools/list", {})["result"]["tools"]
    for _ in range(2):
        assert server.call("get_briefing").startswith("error [refused]: ")
    assert "satchel init" in server.call("write_context", type="discovery", content="x")
    subprocess.run([sys.executable, "-m", "satchel", "init"], check=True, cwd=nowhere, env=environment, timeout=60)
    assert still_serves(server)
    assert server.call("get_team").startswith("1 session")
    assert server.leave() == 0
    server.stdout.close()


def refused_start(folder: Path, environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "satchel", "mcp", *arguments],
        check=False,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_an_unknown_toolset_is_refused_with_the_valid_ones(folder: Path, environment: dict[str, str]) -> None:
    done = refused_start(folder, environment, "--toolsets", "contxt")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error [invalid_input]: unknown toolset 'contxt'. Did you mean 'context'? Valid: ")


def test_calls_that_wait_for_a_claim_hold_up_no_other_call_and_are_cancelled_or_granted(
    start: Start, folder: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", environment["HOME"])
    server = start("--toolsets", "context,files")
    assert still_serves(server)
    with open_satchel(cwd=folder, environ={}) as satchel:

        def waiting() -> int:
            with satchel.workplace.engine.read() as transaction:
                row = transaction.one("SELECT count(*) FROM claim_waiters")
            assert row is not None
            return int(row[0])

        def until(count: int) -> None:
            while waiting() != count:
                pass

        satchel.files.claim(["a"], agent="ann")
        arguments = {"paths": ["a"], "wait_seconds": 45}
        sent = [server.send("tools/call", {"name": "claim_files", "arguments": arguments}) for _ in range(4)]
        until(4)
        assert still_serves(server)
        refused = server.call("claim_files", **arguments)
        assert refused.startswith("error [conflict]: too many calls of this connection are already waiting for claims")
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": sent[1]}}
        server.send_line(json.dumps(cancelled).encode())
        until(3)
        assert still_serves(server)
        satchel.files.release(agent="ann")
        answers = [server.receive() for _ in range(3)]
        assert {answer["id"] for answer in answers} == {sent[0], *sent[2:]}
        assert all(not answer["result"].get("isError") for answer in answers)
        assert (waiting(), [claim.agent for claim in satchel.files.claims()]) == (0, ["raw"])
