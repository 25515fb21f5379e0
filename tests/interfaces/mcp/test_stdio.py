"""The stdio transport as a real process, spoken to in raw bytes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

SERVED = Path(__file__).with_name("served.py")
ENVELOPE = {
    "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
}


class Client:
    """A client that says exactly the bytes it is told to."""

    def __init__(self, folder: Path, grace_seconds: float = 60, max_line_bytes: int = 1_000_000) -> None:
        self.folder = folder
        self._stderr = (folder / "stderr").open("wb")
        self.process = subprocess.Popen(
            [sys.executable, SERVED, folder, str(grace_seconds), str(max_line_bytes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout

    def say(self, *lines: bytes | dict[str, Any] | list[Any]) -> None:
        for line in lines:
            self.stdin.write(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n")
        self.stdin.flush()

    def hear(self) -> Any:
        return json.loads(self.stdout.readline())

    def ask(self, line: bytes | dict[str, Any] | list[Any]) -> Any:
        self.say(line)
        return self.hear()

    def hear_rest(self) -> list[Any]:
        """End the input; return what still comes until the server has left."""
        self.stdin.close()
        return [json.loads(line) for line in self.stdout]

    def leave(self) -> int:
        self.stdin.close()
        status = self.process.wait()
        self.stdout.close()
        self._stderr.close()
        return status

    @property
    def log(self) -> str:
        return (self.folder / "stderr").read_text()


def call(tool: str, request_id: object = 1, token: object = None, **arguments: object) -> dict[str, Any]:
    meta = ENVELOPE["_meta"] | ({} if token is None else {"progressToken": token})
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    return {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}


def request(method: str, request_id: object = 1, **params: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def text(answer: Any) -> str:
    content = answer["result"]["content"]
    assert len(content) == 1
    return str(content[0]["text"])


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Client]]:
    clients: list[Client] = []

    def start(**limits: float) -> Client:
        clients.append(Client(tmp_path, **limits))  # type: ignore[arg-type] # the line limit is an int
        return clients[-1]

    yield start
    for client in clients:
        client.process.kill()
        client.leave()


@pytest.fixture
def client(start: Callable[..., Client]) -> Client:
    return start()


def hold(client: Client, name: str, request_id: object = 1) -> None:
    """Start a call that lasts until :func:`release`, and wait until its handler runs."""
    progress = client.ask(call("hold", request_id, token=f"token of {name}", name=name))
    assert progress["params"]["progressToken"] == f"token of {name}"


def release(client: Client, name: str) -> None:
    (client.folder / f"{name}.go").touch()


def test_a_call_is_answered_in_the_stateless_shape(client: Client) -> None:
    assert client.ask(call("echo", 1, text="ä", times=2)) == {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {
            "resultType": "complete",
            "content": [{"type": "text", "text": "ää"}],
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "served", "version": "1.2.3"}},
        },
    }


@pytest.mark.parametrize("request_id", ["", "ä", "\ud800", "7", 0, -1, 2**63, 10**400])
def test_an_id_comes_back_as_it_was_sent(client: Client, request_id: str | int) -> None:
    assert client.ask(call("echo", request_id, text="x"))["id"] == request_id


@pytest.mark.parametrize("request_id", [None, True, 1.5, [], {}])
def test_an_id_of_another_type_is_refused_with_a_null_id(client: Client, request_id: object) -> None:
    answer = client.ask(call("echo", request_id, text="x"))
    assert (answer["id"], answer["error"]["code"]) == (None, -32600)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{\n", -32700),
        (b"\xff\xfe\n", -32700),
        (b'{"jsonrpc":"2.0","id":%b,"method":"ping"}\n' % (b"1" * 5_000), -32700),
        (b"[" * 100_000 + b"\n", -32700),
        (b'"text"\n', -32600),
        (b"[]\n", -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]\n', -32600),
        (b"{}\n", -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}\n', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":5}\n', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}\n', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"no/such"}\n', -32601),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n', -32602),
        (
            b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":%b}}\n' % (b"[" * 64 + b"]" * 64),
            -32600,
        ),
    ],
)
def test_a_faulty_line_is_answered_by_an_error_and_the_next_one_served(client: Client, line: bytes, code: int) -> None:
    assert client.ask(line)["error"]["code"] == code
    assert text(client.ask(call("echo", text="x"))) == "x"


def test_the_id_of_a_readable_but_invalid_request_is_kept(client: Client) -> None:
    assert client.ask({"id": 5, "method": "ping"})["id"] == 5


def test_brackets_inside_text_are_no_nesting(client: Client) -> None:
    assert text(client.ask(call("echo", text="[{" * 1_000))) == "[{" * 1_000


def test_blank_lines_notifications_and_answers_are_passed_over(client: Client) -> None:
    client.say(
        b"\n \r\n",
        {"jsonrpc": "2.0", "method": "notifications/unknown"},
        {"jsonrpc": "2.0", "method": "notifications/unknown", "params": []},
        {"jsonrpc": "2.0", "id": 4, "result": {}},
    )
    assert client.ask(call("echo", 9, text="x"))["id"] == 9


def test_a_line_over_the_limit_is_refused_and_skipped(start: Callable[..., Client]) -> None:
    client = start(max_line_bytes=400)
    answer = client.ask(call("echo", 1, text="x" * 200_000))
    assert (answer["id"], answer["error"]["code"]) == (None, -32600)
    assert "longer than 400 bytes" in answer["error"]["message"]
    assert text(client.ask(call("echo", text="x"))) == "x"


def test_a_line_of_exactly_the_limit_is_served(start: Callable[..., Client]) -> None:
    client = start(max_line_bytes=400)
    line = json.dumps(call("echo", text="")).encode()
    padding = "x" * (400 - len(line))
    assert text(client.ask(call("echo", text=padding))) == padding


def test_a_last_line_without_a_newline_is_served(client: Client) -> None:
    client.say(json.dumps(call("echo", text="x")).encode())
    assert [text(answer) for answer in client.hear_rest()] == ["x"]


def test_half_a_last_line_is_answered_by_an_error(client: Client) -> None:
    client.say(b'{"jsonrpc":"2.0","id":1,"meth')
    assert [answer["error"]["code"] for answer in client.hear_rest()] == [-32700]


def test_the_server_leaves_at_end_of_input_without_a_word(client: Client) -> None:
    assert client.ask(call("echo", text="x"))
    assert (client.hear_rest(), client.leave(), client.log) == ([], 0, "")


def test_more_calls_than_workers_are_all_answered_after_end_of_input(client: Client) -> None:
    release(client, "many")
    client.say(*(call("hold", n, name="many") for n in range(40)))
    assert sorted(answer["id"] for answer in client.hear_rest()) == list(range(40))


def test_a_call_running_at_end_of_input_is_answered(client: Client) -> None:
    client.say(call("linger"))
    assert [text(answer) for answer in client.hear_rest()] == ["lingered"]
    assert client.leave() == 0


def test_a_call_is_interrupted_when_the_grace_is_over(start: Callable[..., Client]) -> None:
    client = start(grace_seconds=0)
    hold(client, "a")
    assert [text(answer) for answer in client.hear_rest()] == ["error [interrupted]: the call was cancelled"]
    assert client.leave() == 0
    assert (client.folder / "a.interrupted").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_like_end_of_input(start: Callable[..., Client], number: int) -> None:
    client = start(grace_seconds=0)
    hold(client, "a")
    client.process.send_signal(number)
    assert text(client.hear()).startswith("error [interrupted]")
    assert (client.process.wait(), client.log) == (0, "")


def test_a_signal_ends_an_idle_server(client: Client) -> None:
    assert client.ask(call("echo", text="x"))
    client.process.send_signal(signal.SIGTERM)
    assert (client.process.wait(), client.log) == (0, "")


def test_a_second_signal_ends_the_grace(client: Client) -> None:
    hold(client, "a")
    client.stdin.close()
    client.process.send_signal(signal.SIGTERM)
    client.process.send_signal(signal.SIGINT)
    assert text(client.hear()).startswith("error [interrupted]")
    assert client.process.wait() == 0


def test_a_client_that_reads_no_more_ends_the_server_quietly(client: Client) -> None:
    hold(client, "a")
    client.stdout.close()
    client.say(call("echo", 2, text="x"))
    assert (client.process.wait(), client.log) == (0, "")


def test_a_call_is_served_while_another_runs(client: Client) -> None:
    hold(client, "a", 1)
    assert client.ask(call("echo", 2, text="x"))["id"] == 2
    release(client, "a")
    assert client.hear()["id"] == 1


def test_a_cancelled_call_is_interrupted_and_not_answered(client: Client) -> None:
    hold(client, "a", 1)
    client.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    assert client.ask(call("echo", 2, text="x"))["id"] == 2
    assert client.hear_rest() == []
    assert (client.folder / "a.interrupted").exists()


@pytest.mark.parametrize("request_id", ["1", 2, None, True, [1]])
def test_a_cancellation_of_another_id_changes_nothing(client: Client, request_id: object) -> None:
    hold(client, "a", 1)
    client.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request_id}})
    release(client, "a")
    assert text(client.hear()) == "a held"


def test_an_id_is_refused_while_its_request_runs(client: Client) -> None:
    hold(client, "a", 7)
    assert client.ask(call("echo", 7, text="x"))["error"]["code"] == -32600
    release(client, "a")
    assert text(client.hear()) == "a held"
    assert text(client.ask(call("echo", 7, text="free again"))) == "free again"


def test_the_id_of_a_cancelled_request_is_free_at_once(client: Client) -> None:
    release(client, "b")
    hold(client, "a", 7)
    client.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}})
    assert text(client.ask(call("hold", 7, name="b"))) == "b held"


def test_progress_is_told_only_upwards_and_only_when_asked_for(client: Client) -> None:
    client.say(call("count", 1, token=0))
    steps = [client.hear()["params"] for _ in range(3)]
    assert steps == [{"progressToken": 0, "progress": n, "total": 3, "message": f"step {n}"} for n in (1, 2, 3)]
    assert text(client.hear()) == "counted"
    assert text(client.ask(call("count", 2))) == "counted"


def test_stray_output_never_reaches_the_client(client: Client) -> None:
    assert text(client.ask(call("shout"))) == "shouted; the child read b''"
    assert "printed by a handler" in client.log
    assert (client.hear_rest(), client.leave()) == ([], 0)
    for stray in (
        "printed by a handler",
        "written to descriptor 1",
        "printed by a child",
        "buffered until exit",
    ):
        assert stray in client.log


def test_a_fault_is_logged_and_its_text_kept_from_the_client(client: Client) -> None:
    answer = client.ask(call("fail", how="unknown"))
    assert answer["result"]["isError"] is True
    assert text(answer) == "error [internal]: internal error; see the server's log"
    assert "RuntimeError: the password is hunter2" in client.log


def test_a_result_that_is_no_json_costs_only_its_own_request(client: Client) -> None:
    answer = client.ask(request("resources/read", 1, uri="test://no-text", **ENVELOPE))
    assert answer["error"] == {"code": -32603, "message": "internal error; see the server's log"}
    assert text(client.ask(call("echo", 2, text="x"))) == "x"


def test_a_handler_that_exits_costs_only_its_own_call(client: Client) -> None:
    assert client.ask(call("fail", 1, how="exit"))["error"]["code"] == -32603
    assert text(client.ask(call("echo", 2, text="x"))) == "x"


def test_a_lone_surrogate_in_an_answer_becomes_the_replacement_character(client: Client) -> None:
    assert text(client.ask(call("surrogate"))) == "half \ufffd a pair"


def initialize(client: Client, revision: str) -> Any:
    params = {
        "protocolVersion": revision,
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "0"},
    }
    return client.ask(request("initialize", "init", **params))


def test_a_batch_is_answered_in_one_line_in_the_revision_that_has_them(client: Client) -> None:
    initialize(client, "2025-03-26")
    release(client, "a")
    answers = client.ask(
        [
            request("tools/call", 1, name="hold", arguments={"name": "a"}),
            request("ping", 2),
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            request("initialize", 3, protocolVersion="2025-03-26"),
            "no message",
        ]
    )
    errors = {answer["id"]: answer["error"]["code"] for answer in answers if "error" in answer}
    assert errors == {3: -32600, None: -32600}
    assert {answer["id"] for answer in answers} == {1, 2, 3, None}


def test_a_batch_of_notifications_is_not_answered(client: Client) -> None:
    initialize(client, "2025-03-26")
    client.say([{"jsonrpc": "2.0", "method": "notifications/initialized"}])
    assert client.ask(request("ping", 2)) == {"jsonrpc": "2.0", "id": 2, "result": {}}


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-06-18", "2025-11-25"])
def test_a_batch_is_refused_in_every_other_revision(client: Client, revision: str) -> None:
    initialize(client, revision)
    assert client.ask([request("ping", 2)])["error"]["code"] == -32600


def test_stray_output_goes_nowhere_in_a_server_without_stderr(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, SERVED, tmp_path, "60", "1000"],
        input=json.dumps(call("shout")).encode(),
        stdout=subprocess.PIPE,
        preexec_fn=lambda: os.close(2),
        check=True,
    )
    assert text(json.loads(done.stdout)) == "shouted; the child read b''"


@pytest.mark.parametrize("wrapper", [[], ["sh", "-c", '"$@"; true', "sh"]], ids=["no wrapper", "a shell between"])
def test_a_server_leaves_with_its_client_though_another_process_holds_the_pipe(
    tmp_path: Path, wrapper: list[str]
) -> None:
    reading, writing = os.pipe()
    starting = f"import subprocess, sys; subprocess.Popen(sys.argv[1:], stdin={reading}); sys.stdin.read()"
    command = [*wrapper, sys.executable, str(SERVED), str(tmp_path), "60", "1000"]
    with subprocess.Popen(
        [sys.executable, "-c", starting, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=(reading,),
    ) as client:
        os.close(reading)
        assert client.stdout is not None
        os.write(writing, json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode() + b"\n")
        assert b'"id":1' in client.stdout.readline()
        client.kill()
        assert client.stdout.read() == b""  # its end is the end of the server, which has this pipe too
    os.close(writing)
