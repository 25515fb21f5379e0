"""A server in a thread of the test, with tokens of its own making, asked over real sockets."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from satchel.base.records import dataclass
from satchel.interfaces.http.access import AGENT, PERSON, Access, Store
from satchel.interfaces.http.databases import Databases
from satchel.interfaces.http.server import Server, bind
from satchel.interfaces.http.serving import Serving
from satchel.interfaces.http.settings import Settings
from satchel.interfaces.http.stores import Stores
from satchel.interfaces.http.tokens import Token
from satchel.interfaces.web.logins import Logins
from satchel.remote.connection import identify
from satchel.store.postgres import Address


class FixedTokens:
    """Two tokens: ``agent-token`` and ``person-token``."""

    def __init__(self, store: Store, project: str = "project") -> None:
        self._accesses = {f"{role}-token": Access(f"id-{role}", role, role, store, project) for role in (AGENT, PERSON)}

    def access(self, text: str) -> Access | None:
        """Return the rights of a token."""
        return self._accesses.get(text)

    def access_of(self, token_id: str) -> Access | None:
        """Return the rights of the token of a public id."""
        return next((access for access in self._accesses.values() if access.token == token_id), None)

    def digest(self, token_id: str) -> bytes | None:
        """Return the digest of a token by what names it."""
        return dict(map(identify, self._accesses)).get(token_id)

    def stores(self) -> list[Path | str]:
        """Return the files of the stores that tokens lead to."""
        return list({access.store for access in self._accesses.values()})

    def every(self) -> list[Token]:
        """Return all tokens."""
        return [
            Token(one.token, one.name, one.role, one.store, one.project, None, read_only=False, created_at=0)
            for one in self._accesses.values()
        ]


def databases_of(address: Address, folder: Path) -> Path:
    """Write the file that names a server's databases: one, of the name ``team``; return it."""
    file = folder / "databases.toml"
    file.write_text(f"[databases.team]\nurl = '{address.url}'\nschema = '{address.schema}'\n")
    return file


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of the server."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """Return the body, read as JSON."""
        return json.loads(self.body)


class Served:
    """A server that runs."""

    def __init__(self, serving: Serving, server: Server, port: int) -> None:
        self.serving = serving
        self.server = server
        self.port = port

    def connect(self) -> socket.socket:
        """Return a connection to it."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    def ask(
        self,
        path: str = "/health",
        *,
        method: str = "GET",
        token: str | None = "person-token",
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
    ) -> Answer:
        """Send one request on a connection of its own, and return the answer."""
        fields = {"Host": f"127.0.0.1:{self.port}"} | ({"Authorization": f"Bearer {token}"} if token else {})
        fields |= {"Content-Length": str(len(body))} if body else {}
        lines = [f"{name}: {value}" for name, value in {**fields, **(headers or {})}.items()]
        return self.ask_raw("\r\n".join([f"{method} {path} HTTP/1.1", *lines, "Connection: close", "", ""]), body)

    def ask_raw(self, head: str, body: bytes = b"") -> Answer:
        """Send these very bytes on a connection of its own, and return the answer."""
        with self.connect() as connection:
            connection.sendall(head.encode("latin-1") + body)
            return answer_from(connection)


def answer_from(connection: socket.socket) -> Answer:
    """Read one answer that has a length, or that ends with the connection."""
    with connection.makefile("rb") as stream:
        status = int(stream.readline().split()[1])
        headers = {}
        while line := stream.readline().strip():
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        length = headers.get("content-length")
        return Answer(status, headers, stream.read() if length is None else stream.read(int(length)))


@contextmanager
def served(
    tokens: Any,
    settings: Settings | None = None,
    environ: Mapping[str, str] | None = None,
    logins: Logins | None = None,
    databases: Databases | None = None,
) -> Iterator[Served]:
    """Serve in a thread until the block is left; pages only with logins."""
    listener = bind("127.0.0.1", 0)
    serving = Serving(tokens, Stores(environ or {}, databases), settings, logins)
    is_ready = threading.Event()
    server = Server(serving, is_ready.set)
    thread = threading.Thread(target=server.run, args=([listener],))
    port = listener.getsockname()[1]
    thread.start()
    try:
        assert is_ready.wait(60)
        yield Served(serving, server, port)
    finally:
        server.should_exit = True
        thread.join(60)
        serving.stores.close()
        assert not thread.is_alive()
