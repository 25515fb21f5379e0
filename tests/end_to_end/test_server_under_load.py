"""One server and 32 clients at once, one of which is killed in mid-call, and one asleep with half a request sent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from uuid import uuid4

import pytest

from satchel import open_satchel
from satchel.base.clock import system_clock
from satchel.interfaces.http.tokens import Tokens
from satchel.keep.sessions.caller import SERVER, Caller
from satchel.remote.service import open_server
from satchel.remote.where import Server

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="memory and files are read from /proc"),
]

_PLAIN, _PROGRAMS, _WRITES = 15, 15, 25
_MOST_FILES, _MOST_MB = 30, 60
"""How many files, and how much memory, a server may hold afterwards beyond what it held when it was idle."""

_CLIENT = """
import json, socket, sys
port, token, what, acknowledged = int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
connection = socket.create_connection(("127.0.0.1", port))
stream = connection.makefile("rb")

def request(number):
    body = json.dumps({"type": "discovery", "content": f"{what} {number}"}).encode()
    head = f"POST /api/write_context HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\nAuthorization: Bearer {token}\\r\\n"
    return f"{head}Content-Type: application/json\\r\\nContent-Length: {len(body)}\\r\\n\\r\\n".encode() + body

for number in range(acknowledged):
    connection.sendall(request(number))
    assert b" 200 " in stream.readline()
    size = 0
    while line := stream.readline().strip():
        size = int(line.split()[1]) if line.lower().startswith(b"content-length") else size
    stream.read(size)
last = request(acknowledged)
connection.sendall(last if what == "killed" else last[: len(last) // 2])
print("sent", flush=True)
sys.stdin.read()
"""


class Running:
    """A server in a process of its own.

    Attributes:
        process, port: its own.
    """

    def __init__(self, store: Path, folder: Path) -> None:
        state = folder / "state"
        self._tokens, self._store = Tokens(state / "satchel", system_clock), store
        environ = {**os.environ, "XDG_STATE_HOME": str(state), "SATCHEL_TRUST": "1"}
        self.token("first")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "satchel", "serve", "--port", "0", "--json"],
            cwd=folder,
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self.process.stdout is not None
        self.port = int(json.loads(self.process.stdout.readline())["url"].rpartition(":")[2])

    def token(self, name: str) -> str:
        """Return a token of an agent of that name."""
        return self._tokens.new(name, store=self._store, project="project", agent=name)[1]

    def files(self) -> int:
        """Return how many files it has open."""
        return len([*Path(f"/proc/{self.process.pid}/fd").iterdir()])

    def megabytes(self) -> float:
        """Return how much memory it holds."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:")) / 1_024


@pytest.fixture
def store(tmp_path: Path) -> Path:
    file = tmp_path / "store.db"
    with open_satchel(file, "project", "somebody", cwd=tmp_path, environ={}) as satchel:
        satchel.entries.write("discovery", "what is there before")
    return file


@pytest.fixture
def server(store: Path, tmp_path: Path) -> Iterator[Running]:
    running = Running(store, tmp_path)
    yield running
    running.process.kill()
    running.process.communicate()


def post(connection: HTTPConnection, token: str, content: str) -> None:
    body = json.dumps({"type": "discovery", "content": content})
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection.request("POST", "/api/write_context", body, headers)
    response = connection.getresponse()
    said = response.read()
    assert response.status == 200, said


def plain(server: Running, name: str) -> None:
    token = server.token(name)
    with closing(HTTPConnection("127.0.0.1", server.port, timeout=60)) as connection:
        for number in range(_WRITES):
            post(connection, token, f"{name} {number}")


def program(server: Running, name: str, folder: Path) -> None:
    caller = Caller(SERVER, {})
    caller.set_client("claude-code", "1")
    caller.set_session_id(str(uuid4()))
    named = Server(f"http://127.0.0.1:{server.port}", server.token(name), "the test")
    opened = open_server(named, folder, {}, None, None, None, False, None, caller)
    with closing(opened):
        assert opened.remote is not None
        for number in range(_WRITES):
            opened.remote.call("write_context", type="discovery", content=f"{name} {number}")


@contextmanager
def client(server: Running, what: str, acknowledged: int) -> Iterator[subprocess.Popen[str]]:
    """Start a client that has some writes acknowledged, sends its last one, or half of it, and waits."""
    command = [sys.executable, "-c", _CLIENT, str(server.port), server.token(what), what, str(acknowledged)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "sent\n"
            yield process
        finally:
            process.kill()


def at_once(jobs: list[Callable[[], None]]) -> Callable[[], None]:
    """Start jobs in threads; return what waits for them and raises what one raised."""
    failed: list[BaseException] = []

    def run(job: Callable[[], None]) -> None:
        try:
            job()
        except BaseException as error:  # noqa: BLE001 -- it is raised below
            failed.append(error)

    threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()

    def wait() -> None:
        for thread in threads:
            thread.join()
        if failed:
            raise failed[0]

    return wait


def test_others_go_on_and_lose_nothing_while_one_is_killed_and_one_is_asleep(
    server: Running, store: Path, tmp_path: Path
) -> None:
    idle_files, idle_mb = server.files(), server.megabytes()
    with ExitStack() as stack:
        asleep = stack.enter_context(client(server, "asleep", 3))
        asleep.send_signal(signal.SIGSTOP)
        jobs: list[Callable[[], None]] = [partial(plain, server, f"plain-{number}") for number in range(_PLAIN)]
        jobs += [partial(program, server, f"program-{number}", tmp_path) for number in range(_PROGRAMS)]
        wait = at_once(jobs)
        killed = stack.enter_context(client(server, "killed", 5))
        killed.send_signal(signal.SIGKILL)
        wait()
        assert asleep.poll() is None, "it slept while the others worked"
        with closing(HTTPConnection("127.0.0.1", server.port, timeout=60)) as connection:
            post(connection, server.token("afterwards"), "afterwards 0")
        assert server.files() - idle_files <= _MOST_FILES
        assert server.megabytes() - idle_mb <= _MOST_MB
    with open_satchel(store, "project", cwd=tmp_path, environ={}) as satchel:
        total = satchel.entries.read(limit=1).total
        pages = [satchel.entries.read(order="asc", limit=100, offset=at) for at in range(0, total, 100)]
        kept = [entry.content for page in pages for entry in page]
        failed = [check.name for check in satchel.housekeeping.doctor() if check.status == "failed"]
    names = [f"plain-{number}" for number in range(_PLAIN)] + [f"program-{number}" for number in range(_PROGRAMS)]
    for name in names:
        assert [one for one in kept if one.startswith(f"{name} ")] == [f"{name} {number}" for number in range(_WRITES)]
    assert [one for one in kept if one.startswith("killed ")][:5] == [f"killed {number}" for number in range(5)]
    assert [one for one in kept if one.startswith("asleep ")] == [f"asleep {number}" for number in range(3)]
    assert failed == []
