from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from satchel.base.errors import InvalidInput, SatchelError, Unavailable
from satchel.interfaces.cli.tour import client
from satchel.interfaces.cli.tour.client import ToolClient

# A server of its own: it answers in the 2026-07-28 revision and does by name what a broken one would do.
SERVER = """
import json, os, subprocess, sys, time

ENVELOPE = "io.modelcontextprotocol/"

def send(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\\n")
    sys.stdout.flush()


def tool(name, arguments):
    if name == "die":
        sys.stderr.write("one\\nout of cheese\\n")
        sys.exit(3)
    if name == "sleep":
        time.sleep(60)
    if name == "garbage":
        print("hello from a print", flush=True)
    if name == "chatter":
        sys.stderr.write("x" * 200 + "\\n")
        sys.stderr.write(("y" * 99 + "\\n") * 20_000)
        send(method="notifications/progress", params={"progress": 1})
    if name == "incomplete":
        return {"resultType": "input_required"}
    if name == "child":
        arguments["pid"] = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid
    text = os.environ.get("MOOD", "") if name == "mood" else json.dumps(arguments)
    text = meta[ENVELOPE + "clientInfo"]["name"] if name == "caller" else text
    blocks = [{"type": "text", "text": text}, {"type": "image"}, {"type": "text", "text": "."}]
    return {"resultType": "complete", "content": blocks, "isError": name == "refuse"}


for line in sys.stdin:
    request = json.loads(line)
    params = request["params"]
    meta = params["_meta"]
    if meta[ENVELOPE + "protocolVersion"] != "2026-07-28" or meta[ENVELOPE + "clientCapabilities"] != {}:
        send(id=request["id"], error={"code": -32602, "message": "bad envelope"})
    elif request["method"] == "server/discover":
        send(id=request["id"], result={})
        if os.environ.get("DEAF"):
            time.sleep(60)
    elif params["name"] == "unknown":
        send(id=request["id"], error={"code": -32602, "message": "no such tool"})
    else:
        send(id=request["id"], result=tool(params["name"], params["arguments"]))

if os.environ.get("LINGER"):
    time.sleep(60)
with open(os.environ["LEFT"], "w") as file:
    file.write("left in order")
"""

Connect = Callable[..., ToolClient]


@pytest.fixture
def left(tmp_path: Path) -> Path:
    return tmp_path / "left"


@pytest.fixture
def connect(tmp_path: Path, left: Path) -> Connect:
    script = tmp_path / "server.py"
    script.write_text(SERVER)

    def make(timeout_seconds: float = 30.0, **variables: str) -> ToolClient:
        env = {**os.environ, "LEFT": str(left), **variables}
        return ToolClient(
            [sys.executable, "-S", str(script)], env=env, name="newcomer", timeout_seconds=timeout_seconds
        )

    return make


def test_the_server_learns_who_calls(connect: Connect) -> None:
    with connect() as agent:
        assert (agent.name, agent.call("caller", {})) == ("newcomer", "newcomer\n.")


def test_a_call_carries_its_arguments_and_brings_the_text_back(connect: Connect) -> None:
    arguments = {"text": "né 漢 \n \u2028", "list": [1, None], "nested": {"a": True}}
    with connect() as agent:
        answer = agent.call("echo", arguments)

    spoken, _, rest = answer.rpartition("\n")
    assert (json.loads(spoken), rest) == (arguments, ".")


def test_a_refusal_is_an_error_and_the_connection_goes_on(connect: Connect) -> None:
    with connect() as agent:
        with pytest.raises(SatchelError, match="the server refused refuse"):
            agent.call("refuse", {})
        assert agent.call("echo", {}) == "{}\n."


def test_a_refusal_that_is_expected_is_an_answer(connect: Connect) -> None:
    with connect() as agent:
        assert agent.call("refuse", {}, refused=True) == "{}\n."
        with pytest.raises(SatchelError, match="the server allowed echo"):
            agent.call("echo", {}, refused=True)


def test_the_server_gets_the_environment_that_was_given(connect: Connect) -> None:
    with connect(MOOD="cheerful") as agent:
        assert agent.call("mood", {}) == "cheerful\n."


def test_leaving_lets_the_server_end_in_order(connect: Connect, left: Path) -> None:
    with connect() as agent:
        agent.call("echo", {})

    assert left.read_text() == "left in order"


def test_a_server_that_does_not_leave_is_ended(connect: Connect, left: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_LEAVE_SECONDS", 0.1)
    with connect(LINGER="1") as agent:
        process = agent._process
        assert process is not None

    assert process.poll() == -9
    assert not left.exists()


def test_a_child_that_holds_the_pipes_does_not_hold_us(connect: Connect) -> None:
    with connect() as agent:
        child = json.loads(agent.call("child", {}).splitlines()[0])["pid"]

    # fails if the child has ended: then it was waited for
    os.kill(child, signal.SIGKILL)


def test_a_server_that_dies_is_told_with_its_last_words(connect: Connect) -> None:
    with connect() as agent, pytest.raises(SatchelError, match=r"(?s)ended before.*out of cheese"):
        agent.call("die", {})


def test_a_dead_server_stays_dead(connect: Connect) -> None:
    with connect() as agent:
        for _ in range(2):
            with pytest.raises(SatchelError, match="ended before"):
                agent.call("die", {})


def test_a_server_that_keeps_silent_is_told_after_the_bound(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_LEAVE_SECONDS", 0.1)
    with connect() as agent:
        agent._timeout = 0.1
        with pytest.raises(SatchelError, match=r"no answer to tools/call within 0\.1 seconds"):
            agent.call("sleep", {})


def test_a_request_larger_than_the_pipe_does_not_block_a_silent_server(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_LEAVE_SECONDS", 0.1)
    with connect(DEAF="1") as agent:
        agent._timeout = 0.1
        with pytest.raises(SatchelError, match="no answer"):
            agent.call("echo", {"text": "x" * 1_000_000})


def test_a_flood_on_stderr_and_a_notification_are_passed_over(connect: Connect) -> None:
    with connect() as agent:
        assert agent.call("chatter", {}) == "{}\n."


def test_a_line_that_is_no_message_is_shown(connect: Connect) -> None:
    with connect() as agent, pytest.raises(SatchelError, match="hello from a print"):
        agent.call("garbage", {})


def test_a_protocol_error_is_told_in_the_server_s_words(connect: Connect) -> None:
    with connect() as agent, pytest.raises(SatchelError, match="no such tool"):
        agent.call("unknown", {})


def test_an_answer_that_is_not_complete_is_an_error(connect: Connect) -> None:
    with connect() as agent, pytest.raises(SatchelError, match="not a complete tool result"):
        agent.call("incomplete", {})


def test_a_program_that_does_not_exist_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="cannot be started"), ToolClient([str(tmp_path / "nothing")]):
        pass


def test_a_program_that_ends_at_once_is_told_on_entering() -> None:
    command = [sys.executable, "-S", "-c", "import sys; sys.exit('no store here')"]
    with pytest.raises(SatchelError, match=r"(?s)server/discover.*no store here"), ToolClient(command):
        pass


def test_a_client_outside_its_block_refuses_to_call() -> None:
    with pytest.raises(InvalidInput, match="not connected"):
        ToolClient([sys.executable]).call("echo", {})
