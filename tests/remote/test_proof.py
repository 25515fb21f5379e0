"""A token is sent over plain HTTP only to a server that has proven that it knows it."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable

import pytest

from accepting import Accepting
from http_serving import Served, answer_from
from satchel import Satchel
from satchel.base.errors import SatchelError, Unreachable
from satchel.remote.connection import identify, proof

Opens = Callable[..., Satchel]
TOKEN = "person-token"


class Thief(Accepting):
    """A program at the port of a server, which keeps what it is sent and answers by a function of it."""

    def __init__(self, answer: Callable[[bytes], bytes], port: int = 0) -> None:
        self._answer = answer
        self.received = b""
        super().__init__(port)

    def _pass_on(self, client: socket.socket) -> None:
        with client:
            while part := client.recv(65_536):
                self.received += part
                if not (answer := self._answer(part)):
                    return
                client.sendall(answer)


def json_of(value: object, status: str = "200 OK", *more: str) -> bytes:
    body = json.dumps(value)
    lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {len(body)}", *more, "", body]
    return "\r\n".join(lines).encode()


ANSWER = {"answer": True, "kept": True}


@pytest.mark.parametrize(
    "answer",
    [
        json_of({"proof": "0" * 64}),
        json_of({"proof": None}),
        json_of(ANSWER),
        json_of({**ANSWER, "proof": ""}, "500 Fault"),
        json_of(ANSWER, "302 Found", "Location: /api/x"),
        json_of({"error": {"code": "conflict", "problem": "other", "remedy": None}}, "409 Conflict"),
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        b"",
    ],
)
def test_what_does_not_know_the_token_does_not_receive_it(open_at: Opens, answer: bytes) -> None:
    thief = Thief(lambda _: answer)
    try:
        with pytest.raises(SatchelError) as caught:
            open_at(f"http://127.0.0.1:{thief.port}").sessions.end()
    finally:
        thief.close()
    assert thief.received.startswith(b"GET /proof")
    assert TOKEN.encode() not in thief.received
    assert b"uthorization" not in thief.received
    assert TOKEN not in str(caught.value)


def test_a_thief_that_passes_the_question_on_to_the_server_gets_no_valid_proof(open_at: Opens, server: Served) -> None:
    def pass_on(request: bytes) -> bytes:
        match = re.search(rb"GET (\S+)", request)
        assert match
        answer = server.ask(match[1].decode(), token=None)
        return json_of(answer.json())

    thief = Thief(pass_on)
    try:
        with pytest.raises(Unreachable, match="does not know your token"):
            open_at(f"http://127.0.0.1:{thief.port}").sessions.end()
    finally:
        thief.close()
    assert TOKEN.encode() not in thief.received


def test_what_takes_the_port_of_a_server_that_stopped_does_not_receive_the_token(open_at: Opens) -> None:
    def know(request: bytes) -> bytes:
        """Answer as the server that knows the token, for whose calls nothing is kept."""
        nonce, host = re.search(rb"nonce=(\w+)", request), re.search(rb"Host: (\S+)", request)
        if nonce is None or host is None:
            return json_of({"answer": True, "kept": False}, "200 OK", "Connection: close")
        return json_of({"proof": proof(identify(TOKEN)[1], host[1].decode(), nonce[1].decode())})

    server = Thief(know)
    port = server.port
    satchel = open_at(f"http://127.0.0.1:{port}")
    assert satchel.sessions.end()
    server.close()
    assert TOKEN.encode() in server.received
    thief = Thief(lambda _: json_of(ANSWER), port)
    try:
        with pytest.raises(Unreachable):
            satchel.sessions.end()
    finally:
        thief.close()
    assert thief.received
    assert TOKEN.encode() not in thief.received


def test_a_connection_is_proven_once(open_at: Opens, server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    digest = server.serving.tokens.digest

    def count(token_id: str) -> bytes | None:
        asked.append(token_id)
        return digest(token_id)

    monkeypatch.setattr(server.serving.tokens, "digest", count)
    satchel = open_at(f"http://127.0.0.1:{server.port}")
    for _ in range(3):
        satchel.sessions.end()
    assert asked == [identify(TOKEN)[0]]


def test_a_server_proves_nothing_without_a_nonce_and_of_no_unknown_token(server: Served) -> None:
    token_id, nonce = identify(TOKEN)[0], "0" * 32
    assert server.ask(f"/proof?token={token_id}&nonce={nonce}", token=None).status == 200
    assert server.ask(f"/proof?token={token_id}&nonce=0", token=None).status == 400
    assert server.ask(f"/proof?token=x&nonce={nonce}", token=None).status == 401
    with server.connect() as connection:
        connection.sendall(f"GET /proof?token={token_id}&nonce={nonce} HTTP/1.1\r\nHost: evil\r\n\r\n".encode())
        assert answer_from(connection).status == 421
