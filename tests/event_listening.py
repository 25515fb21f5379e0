"""A server of events in a thread of the test, listeners on real sockets, and a process that writes beside it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any, NamedTuple, Self

from satchel.interfaces.http.access import AGENT, Access
from satchel.interfaces.http.server import Server
from satchel.interfaces.http.serving import Serving
from satchel.interfaces.http.settings import Settings
from satchel.interfaces.http.stores import Stores
from satchel.interfaces.http.tokens import Token

_PATIENCE_SECONDS = 60.0
_WRITER = """
import json, sys
from satchel import open_satchel
from satchel.keep.sessions.caller import Caller
store, project, agent = sys.argv[1:]
with open_satchel(store, project, agent=agent) as satchel:
    print(flush=True)
    for line in sys.stdin:
        service, method, given, named = json.loads(line)
        try:
            getattr(getattr(satchel, service), method)(*given, **named)
            print("done", flush=True)
        except Exception as error:
            print(repr(error), flush=True)
"""


class Message(NamedTuple):
    """One message of a stream."""

    event: str
    id: str | None
    data: Any


class Book:
    """Tokens by their text; one is revoked by taking it out."""

    def __init__(self, **tokens: Access) -> None:
        self.known = tokens

    def access(self, text: str) -> Access | None:
        """Return the rights of a token."""
        return self.known.get(text)

    def digest(self, _token_id: str) -> bytes | None:
        """Return the digest of a token by what names it: nobody asks here."""
        return None

    def access_of(self, token_id: str) -> Access | None:
        """Return the rights of the token of a public id."""
        return next((one for one in self.known.values() if one.token == token_id), None)

    def stores(self) -> list[Path | str]:
        """Return the files of the stores that tokens lead to."""
        return list({one.store for one in self.known.values()})

    def every(self) -> list[Token]:
        """Return no token: nobody asks here."""
        return []


class EventServer(Server):
    """Satchel's server, on a free port, in a thread."""

    def __init__(self, tokens: Book, settings: Settings) -> None:
        self.book = tokens
        self.serving = Serving(tokens, Stores(os.environ), settings)
        self.followers = self.serving.followers
        self._is_ready = threading.Event()
        super().__init__(self.serving, self._is_ready.set)
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)
        self.listener.bind(("127.0.0.1", 0))
        self._thread = threading.Thread(target=lambda: self.run([self.listener]))

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.listener.getsockname()[1])

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._is_ready.wait(_PATIENCE_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self.serving.stores.close()

    @property
    def has_unread(self) -> bool:
        """Whether something waits for a listener that does not take it."""
        return any(one.flow.write_paused for one in list(self.server_state.connections))  # type: ignore[union-attr]

    def stop(self) -> None:
        """Stop, and wait until all is over."""
        self.should_exit = True
        self._thread.join(_PATIENCE_SECONDS)
        assert not self._thread.is_alive()

    def get(self, query: str = "", token: str = "one", **headers: str) -> HTTPResponse:
        """Ask for events, and return the answer, whose body was not read."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=_PATIENCE_SECONDS)
        headers |= {"Authorization": f"Bearer {token}", "Connection": "close"}
        connection.request("GET", f"/api/events{query}", headers=headers)
        return connection.getresponse()

    def page(self, query: str = "", token: str = "one") -> Any:
        """Ask for one page."""
        with self.get(f"?wait=0{query}", token) as answer:
            return json.loads(answer.read())

    @contextmanager
    def listen(self, query: str = "", token: str = "one", last: str | None = None) -> Iterator[Stream]:
        """Listen, from the moment that the server says so."""
        with self.get(query, token, **({} if last is None else {"Last-Event-ID": last})) as answer:
            assert answer.status == 200, answer.read()
            assert answer.headers["content-type"].startswith("text/event-stream")
            stream = Stream(answer)
            assert stream.message().event == "ready"
            yield stream

    @contextmanager
    def ignore(self) -> Iterator[socket.socket]:
        """Listen, and read nothing but the beginning."""
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            listener.settimeout(_PATIENCE_SECONDS)
            listener.connect(("127.0.0.1", self.port))
            head = f"GET /api/events HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nAuthorization: Bearer one\r\n\r\n"
            listener.sendall(head.encode())
            assert listener.recv(15) == b"HTTP/1.1 200 OK"
            yield listener


class Stream:
    """What a listener reads.

    Attributes:
        last: the id of the last message with one, as browsers keep it.
    """

    def __init__(self, answer: HTTPResponse) -> None:
        self.last: str | None = None
        self._answer = answer

    def line(self) -> str:
        """Wait for the next line."""
        return self._answer.readline().decode()

    def message(self) -> Message:
        """Wait for the next message; an empty one is the end of the stream."""
        fields: dict[str, str] = {}
        while line := self.line():
            name, _, value = line.rstrip("\n").partition(": ")
            if name:
                fields[name] = value
            elif "event" in fields:
                self.last = fields.get("id", self.last)
                return Message(fields["event"], fields.get("id"), json.loads(fields["data"]))
            else:
                fields = {}
        return Message("", None, None)

    def messages(self, count: int) -> list[Message]:
        """Wait for so many."""
        return [self.message() for _ in range(count)]

    def until(self, item: str) -> list[Message]:
        """Wait until an item is named, and return all until there."""
        read = [self.message()]
        while read[-1].data is not None and read[-1].data.get("item") != item:
            read.append(self.message())
        return read


class Writer:
    """Another process that writes to a store."""

    def __init__(self, store: Path, project: str, agent: str = "ann") -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(store), project, agent],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        assert self._process.stdin is not None
        self._out, self._in = self._process.stdout, self._process.stdin
        self._out.readline()

    def call(self, service: str, method: str, *given: object, **named: object) -> None:
        """Call a method of a service there, and wait until it is done."""
        self.begin(service, method, *given, **named)
        self.wait()

    def begin(self, service: str, method: str, *given: object, **named: object) -> None:
        """Call a method of a service there."""
        self._in.write(json.dumps([service, method, given, named]) + "\n")
        self._in.flush()

    def wait(self) -> None:
        """Wait until a call that was begun is done."""
        said = self._out.readline().strip()
        assert said == "done", said

    def note(self, text: str) -> None:
        """Write a note."""
        self.call("entries", "write", "discovery", text)

    def close(self) -> None:
        """End it."""
        self._in.close()
        self._out.close()
        assert self._process.wait(_PATIENCE_SECONDS) == 0


def access(store: Path, project: str, token: str = "t1") -> Access:
    """Return the rights of an agent's token."""
    return Access(token, token, AGENT, store, project)


def items(messages: Sequence[Message]) -> list[str | None]:
    """Return the short ids that messages name."""
    return [message.data["item"] for message in messages]
