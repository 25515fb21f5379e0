"""What answers at a server's address is no Satchel server, or one of another version."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from http_serving import Served
from satchel import Satchel
from satchel.base import wire
from satchel.base.errors import AnswerLost, Conflict, SatchelError, Unreachable
from satchel.interfaces.http.public import operation_named
from satchel.remote import calls, connection
from satchel.remote.connection import identify, proof

Opens = Callable[..., Satchel]


@contextmanager
def answering(*answers: bytes | Callable[[socket.socket], None]) -> Iterator[str]:
    """Answer each connection as told, the last way for all that follow; return the URL."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        for number in range(1_000):
            try:
                client, _ = listener.accept()
            except OSError:
                return
            with client:
                read = head_from(client)
                if read.startswith(b"GET /proof"):
                    client.sendall(proven(read))
                    head_from(client)
                answer = answers[min(number, len(answers) - 1)]
                try:
                    if callable(answer):
                        answer(client)
                    else:
                        client.sendall(answer)
                        client.shutdown(socket.SHUT_WR)
                    while client.recv(65_536):
                        pass
                except OSError:
                    pass

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(60)


def head_from(client: socket.socket) -> bytes:
    """Read the head of a request, and what comes with it."""
    read = b""
    while b"\r\n\r\n" not in read and (part := client.recv(65_536)):
        read += part
    return read


def proven(request: bytes, token: str = "person-token") -> bytes:
    """Return the proof that a server would give which knows the token."""
    nonce, host = re.search(rb"nonce=(\w+)", request), re.search(rb"(?i)host: (\S+)", request)
    assert nonce
    assert host
    body = json.dumps({"proof": proof(identify(token)[1], host[1].decode(), nonce[1].decode())}).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


def reply(status: str, content_type: str, body: str | bytes, *more: str) -> bytes:
    body = body.encode() if isinstance(body, str) else body
    head = [
        f"HTTP/1.1 {status}",
        f"Content-Type: {content_type}",
        f"Content-Length: {len(body)}",
        "Connection: close",
        *more,
        "",
        "",
    ]
    return "\r\n".join(head).encode() + body


def told(value: object, status: str = "200 OK") -> bytes:
    return reply(status, "application/json", json.dumps(value))


def send(satchel: Satchel) -> None:
    operation_named("send_message").bound(satchel)(message="text", to="ben")


STRANGERS = {
    "questions": told({"asks": [["machine", []]]}),
    "a page": reply("200 OK", "text/html", "<html>Welcome</html>"),
    "a way to elsewhere": reply("302 Found", "text/html", "", "Location: http://127.0.0.1:1/login"),
    "a page that is not there": reply("404 Not Found", "text/html", "<html>nginx</html>"),
    "a limit of a proxy": reply("413 Too Large", "text/html", "<html>nginx</html>"),
    "nothing": reply("200 OK", "text/plain", ""),
    "other JSON": told({"hello": 1}),
    "JSON with an answer": told({"answer": 1}),
    "a list": told([1, 2]),
    "another form of error": told({"error": {"message": "no such model", "code": 404}}, "404 Not Found"),
    "JSON in a page": reply("200 OK", "text/html", "[" * 200_000),
}


@pytest.mark.parametrize("name", STRANGERS)
def test_what_is_no_satchel_server_is_called_so(name: str, open_at: Opens) -> None:
    with answering(STRANGERS[name]) as url, pytest.raises(Unreachable, match="is no Satchel server") as refused:
        send(open_at(url))
    assert "SATCHEL_URL" in str(refused.value)
    assert not isinstance(refused.value, AnswerLost)


UNSURE = {
    "a proxy whose server is gone": reply("502 Bad Gateway", "text/html", "<html>nginx</html>"),
    "a proxy that waited too long": reply("504 Gateway Timeout", "text/plain", "timed out"),
    "half of an answer": reply("200 OK", "application/json", '{"answer": 1, "kep'),
    "a server that stops": told({"error": {"code": "unreachable", "problem": "it stops", "remedy": None}}, "503 Busy"),
    "an end": b"",
    "half of a head": b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Le",
    "what is no HTTP": b"SSH-2.0-OpenSSH_9.6\r\n",
    "more than is taken": b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n{}",
}


@pytest.mark.parametrize("name", UNSURE)
def test_what_may_have_reached_a_server_is_said_to_be_unknown(name: str, open_at: Opens) -> None:
    with answering(UNSURE[name]) as url, pytest.raises(Unreachable, match="whether anything was kept is not known"):
        send(open_at(url))


@pytest.mark.parametrize("begin", [b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: "])
def test_an_answer_that_comes_in_drops_ends_in_time(
    begin: bytes, open_at: Opens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "SECONDS", 0.3)

    def drip(client: socket.socket) -> None:
        client.sendall(begin)
        client.settimeout(0.02)
        for _ in range(500):
            client.sendall(b" ")
            try:
                if not client.recv(1):
                    return
            except TimeoutError:
                pass

    with answering(drip) as url, pytest.raises(Unreachable, match="no answer in time"):
        send(open_at(url))


def test_an_endless_answer_is_cut(open_at: Opens, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MAX_ANSWER_BYTES", 100_000)
    endless = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + b"x" * 200_000
    with answering(endless) as url, pytest.raises(Unreachable, match="more than 100,000 bytes"):
        send(open_at(url))


def test_a_lost_answer_then_a_stranger_is_unknown(open_at: Opens) -> None:
    with answering(b"", STRANGERS["a page"]) as url, pytest.raises(Unreachable, match="not known"):
        send(open_at(url))


def test_an_answer_of_another_version_to_a_call_that_was_kept_is_lost_and_no_error(open_at: Opens) -> None:
    answer = {"answer": {"$r": "keep.messages.records:Unheard"}, "kept": True}
    with answering(told(answer)) as url, pytest.raises(AnswerLost, match="done, but the answer was lost: "):
        send(open_at(url))
    with answering(told({**answer, "kept": False})) as url, pytest.raises(SatchelError, match="same version"):
        send(open_at(url))


def test_a_program_of_another_version_is_told_both_versions(
    open_at: Opens, server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    satchel = open_at(f"http://127.0.0.1:{server.port}")
    monkeypatch.setattr(calls, "__version__", "9.9.9")
    packed_as = wire.VERSION
    call = calls.Calls.call

    def call_as_newer(*given: object, **named: object) -> object:
        monkeypatch.setattr(wire, "VERSION", packed_as + 1)
        exchange = calls.Calls._exchange

        def sent(self: calls.Calls, name: str, request: dict[str, object], deadline: float) -> dict[str, object]:
            monkeypatch.setattr(wire, "VERSION", packed_as)
            return exchange(self, name, request, deadline)

        monkeypatch.setattr(calls.Calls, "_exchange", sent)
        return call(*given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(calls.Calls, "call", call_as_newer)
    with pytest.raises(Conflict, match="Bring both to the same version") as refused:
        send(satchel)
    assert "9.9.9" in str(refused.value)


def test_the_error_of_a_hostile_server_has_no_characters_that_act_on_a_terminal(open_at: Opens) -> None:
    error = {
        "code": "refused\x1b[2J",
        "problem": "no\x1b]0;owned\x07 \u202epermission\x9b2J",
        "remedy": "\x1b[31mgo\x00",
    }
    body = json.dumps({"error": error})
    with answering(reply("403 No", "application/json", body)) as url, pytest.raises(SatchelError) as caught:
        open_at(url).sessions.end()
    assert str(caught.value).isprintable()


def test_a_reply_that_is_no_http_is_shown_without_such_characters(open_at: Opens) -> None:
    with answering(b"\x1b[2Jowned\r\n\r\n") as url, pytest.raises(SatchelError) as caught:
        open_at(url).sessions.end()
    assert str(caught.value).isprintable()


def test_an_item_of_a_hostile_server_has_no_characters_that_act_on_a_terminal(open_at: Opens) -> None:
    hostile = "\x1b]0;owned\x07a\x9b2Jb\u202ec\x1b[2J"
    body = json.dumps({"kept": False, "answer": [hostile, {hostile: [hostile]}], "notice": hostile})
    with answering(reply("200 OK", "application/json", body)) as url:
        satchel = open_at(url)
        answer: object = satchel.sessions.end()
        assert answer == ["abc", {"abc": ["abc"]}]
        assert satchel.notices.line() == "abc"
