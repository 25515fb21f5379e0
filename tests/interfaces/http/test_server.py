"""The server's process: its port, its connections, its start and its end."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from http_serving import Answer, Served, answer_from
from satchel.base.errors import InvalidInput, Refused
from satchel.interfaces.cli import run
from satchel.interfaces.http.server import _NOT_SERVED, _PACKAGES, address_of, bind


def asked(port: int, path: str) -> str:
    """Return a request with a right token."""
    lines = f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer agent-token\r\n"
    return f"GET {path} HTTP/1.1\r\n{lines}\r\n"


def test_a_port_in_use_says_so_and_that_satchel_serves_there(server: Served) -> None:
    with pytest.raises(Refused, match="is in use: another satchel serves there") as refused:
        bind("127.0.0.1", server.port)
    assert "--port" in str(refused.value.remedy)


def test_a_port_in_use_by_another_program_says_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:

        def answer() -> None:
            connection, _ = other.accept()
            with connection:
                connection.sendall(b"220 a mail server\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(Refused, match="another program listens there"):
            bind("127.0.0.1", other.getsockname()[1])
        thread.join()


def test_an_address_that_is_not_here_is_refused() -> None:
    with pytest.raises(InvalidInput, match="is no address of this machine"):
        bind("192.0.2.1", 0)
    with pytest.raises(InvalidInput, match="there is no address"):
        bind("no.such.name.invalid", 0)
    with pytest.raises(InvalidInput, match="there is no address"):
        bind("a" * 300, 0)


def test_the_url_of_an_address_of_version_6_has_brackets() -> None:
    with socket.socket(socket.AF_INET6) as listener:
        try:
            listener.bind(("::1", 0))
        except OSError:
            pytest.skip("this machine has no IPv6")
        assert address_of(listener) == f"http://[::1]:{listener.getsockname()[1]}"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--host", "0.0.0.0"], "--behind-tls"),
        (["--host", "192.0.2.1"], "--insecure"),
        (["--host", "0.0.0.0", "--behind-tls"], "--host-name NAME"),
        (["--host", "::", "--insecure"], "--host-name NAME"),
        (["--host-name", "https://satchel.example.org"], "no scheme"),
        (["--host-name", "*.example.org"], "no name of a host"),
        (["--host-name", ""], "no name of a host"),
        (["--host-name", "::1"], "no name of a host"),
        (["--host", "no.such.name.invalid"], "no address"),
        (["--port", "65536"], "--port"),
    ],
)
def test_what_would_expose_it_or_cannot_be_is_refused(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["serve", *arguments]) in {2, 5}
    assert said in capsys.readouterr().err


@pytest.mark.slow
def test_without_the_extra_it_says_how_to_install_it(tmp_path: Path) -> None:
    program = "import sys; sys.modules['uvicorn'] = None; from satchel.interfaces.cli import main; main(['serve'])"
    ended = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 13
    assert "[serve]" in ended.stderr
    assert "'satchel[serve]'" not in ended.stderr  # it is on no index


@pytest.mark.slow
def test_a_server_loads_all_operations_before_it_is_ready_and_no_driver_that_no_store_needs(tmp_path: Path) -> None:
    program = """
import sys
from satchel.interfaces.http.server import preload
preload()
names = "satchel.brief.briefing.service", "satchel.interfaces.operations.briefing", "psycopg", "numpy"
print(*(name in sys.modules for name in names))
"""
    ended = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["True", "True", "False", "False"]


def test_the_packages_to_preload_and_to_leave_out_exist() -> None:
    for name in (*(f"satchel.{one}" for one in _PACKAGES), *_NOT_SERVED):
        assert find_spec(name) is not None, name


@pytest.mark.slow
def test_no_other_command_loads_what_the_server_is_made_of(tmp_path: Path) -> None:
    program = """
import sys
from satchel.interfaces.cli import run
for command in ("config", "trust --list", "serve --help", "serve --host 0.0.0.0", "token list"):
    run(command.split())
print(sorted({"starlette", "uvicorn", "mcp", "prometheus_client", "anyio"} & set(sys.modules)))
"""
    ended = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == "[]"


def test_a_request_head_that_does_not_arrive_ends_its_connection(serve: Callable[..., Served]) -> None:
    server = serve(head_seconds=0.05)
    for begun in (b"", b"GET /health HT", b"GET /health HTTP/1.1\r\nHost: x\r\n"):
        with server.connect() as connection:
            connection.sendall(begun)
            assert is_closed(connection)


def test_a_second_head_that_does_not_arrive_ends_its_connection(serve: Callable[..., Served]) -> None:
    server = serve()
    with server.connect() as connection:
        connection.sendall(asked(server.port, "/health").encode())
        assert answer_from(connection).status == 200
        let_heads_take(0.05, server)
        connection.sendall(b"GET /hea")
        assert is_closed(connection)


def test_a_connection_without_a_next_request_is_closed(serve: Callable[..., Served]) -> None:
    server = serve(keep_alive_seconds=0)
    with server.connect() as connection:
        connection.sendall(asked(server.port, "/health").encode())
        assert answer_from(connection).status == 200
        assert is_closed(connection)


def test_an_answer_that_nobody_reads_ends_its_connection(serve: Callable[..., Served]) -> None:
    server = serve(write_seconds=0.05)
    with server.connect() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        connection.sendall(asked(server.port, "/large").encode())
        poll = select.poll()
        poll.register(connection, 0)  # errors and the end are told all the same
        assert poll.poll(60_000)


def test_a_request_above_the_limit_of_connections_is_told_to_come_again(serve: Callable[..., Served]) -> None:
    server = serve(connections=2)
    with server.connect() as one, server.connect() as other:
        for connection in (one, other):
            connection.sendall(asked(server.port, "/health").encode())
            assert answer_from(connection).status == 200
        assert server.ask().status == 503


def test_connections_left_open_hold_up_others_only_until_they_time_out(serve: Callable[..., Served]) -> None:
    server = serve(connections=2, head_seconds=0.05)
    with ExitStack() as stack:
        for connection in [stack.enter_context(server.connect()) for _ in range(5)]:
            assert is_closed(connection)
    let_heads_take(30, server)
    assert server.ask().status == 200


def test_requests_that_follow_each_other_at_once_are_answered_in_turn(server: Served) -> None:
    with server.connect() as connection:
        connection.sendall((asked(server.port, "/echo/one") + asked(server.port, "/echo/two")).encode())
        connection.shutdown(socket.SHUT_WR)
        with connection.makefile("rb") as stream:
            text = stream.read()
    assert 0 < text.index(b"agent one") < text.index(b"agent two")


@contextmanager
def process(store: Path, **limits: object) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Start a server of its own process, and give its port."""
    tests = Path(__file__).resolve().parents[2]
    environ = {**os.environ, "PYTHONPATH": str(tests)}
    command = [sys.executable, str(tests / "serving_process.py"), str(store), json.dumps(limits)]
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            yield running, int(running.stdout.readline())
        finally:
            running.kill()


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=60)


def answer(port: int, path: str) -> Answer:
    with connect(port) as connection:
        connection.sendall(asked(port, path).encode())
        return answer_from(connection)


def let_heads_take(seconds: float, server: Served) -> None:
    """Give heads that begin from now on another time: a busy machine may be late with one that a test wants whole."""
    object.__setattr__(server.serving.settings, "head_seconds", seconds)


def is_closed(connection: socket.socket) -> bool:
    """Wait until the other side has closed a connection without a word."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_streams_lets_requests_end_and_leaves_with_success(store: Path, number: signal.Signals) -> None:
    with process(store) as (running, port), connect(port) as waiting, connect(port) as streaming, connect(port) as idle:
        streaming.sendall(asked(port, "/stream").encode())
        stream = streaming.makefile("rb")
        assert b"data: first\n" in iter(stream.readline, b"")
        waiting.sendall(asked(port, "/wait").encode())
        assert answer(port, "/asked").body == b"somebody waits"
        running.send_signal(number)
        assert answer_from(waiting).body == b"answered all the same"
        assert stream.read().endswith(b"0\r\n\r\n")  # an end, not a break
        stream.close()
        assert is_closed(idle)
        out, log = running.communicate(timeout=60)
        assert (out, running.returncode) == ("done\n", 0)
    lines = [json.loads(line) for line in log.splitlines()]
    assert {line["route"]: line["status"] for line in lines} == {"/stream": 200, "/wait": 200, "/asked": 200}


@pytest.mark.slow
def test_a_request_that_does_not_end_is_told_so_after_the_grace(store: Path) -> None:
    with process(store, grace_seconds=0) as (running, port), connect(port) as waiting:
        waiting.sendall(asked(port, "/forever").encode())
        assert answer(port, "/asked").body == b"somebody waits"
        running.send_signal(signal.SIGTERM)
        assert answer_from(waiting).json()["error"]["problem"] == "the server stops"
        assert running.communicate(timeout=60)[0] == "done\n"


@pytest.mark.slow
def test_a_thread_that_does_not_end_does_not_keep_the_process(store: Path) -> None:
    with process(store, grace_seconds=0) as (running, port), connect(port) as waiting:
        waiting.sendall(asked(port, "/stuck").encode())
        assert answer(port, "/asked").body == b"somebody waits"
        running.send_signal(signal.SIGTERM)
        assert running.communicate(timeout=60)[0] == "left\n"
        assert running.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("address", ["127.0.0.1", *(["127.0.0.2"] if sys.platform == "linux" else [])])
def test_the_command_prints_one_line_of_json_when_it_is_ready(tmp_path: Path, address: str) -> None:
    environ = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    command = [sys.executable, "-m", "satchel", "serve", "--host", address, "--port", "0", "--json"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        try:
            assert running.stdout is not None
            ready = json.loads(running.stdout.readline())
            assert ready["pid"] == running.pid
            own_name = ready["url"].removeprefix("http://")
            with socket.create_connection((address, int(own_name.rpartition(":")[2])), timeout=60) as connection:
                connection.sendall(f"GET /nowhere HTTP/1.1\r\nHost: {own_name}\r\n\r\n".encode())
                assert answer_from(connection).status == 404
            running.send_signal(signal.SIGTERM)
            out, err = running.communicate(timeout=60)
        finally:
            running.kill()
    assert (out, running.returncode) == ("", 0)
    assert f"satchel serves at {ready['url']}" in err
    assert "`satchel token new NAME`" in err
