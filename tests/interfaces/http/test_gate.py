"""The gate: who is let in, and what the others are told."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, repeat

import pytest

from http_serving import Answer, Served, answer_from
from satchel.base.errors import Refused
from serving_probes import SECRET
from tables import in_one_test

MIB = 1024 * 1024


def code_of(answer: Answer) -> tuple[int, str]:
    """Return status and code of an answer that must be an error in JSON with a problem."""
    assert answer.headers["content-type"] == "application/json"
    error = answer.json()["error"]
    assert set(error) == {"code", "problem", "remedy"}
    assert error["problem"]
    return answer.status, error["code"]


def head(server: Served, *lines: str, path: str = "/echo/x", method: str = "GET") -> str:
    """Return a request head with exactly these headers beside the token; PORT stands for the server's."""
    fields = [line.replace("PORT", str(server.port)) for line in lines]
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Authorization: Bearer agent-token", *fields, "", ""])


def test_a_right_token_is_let_in_with_its_rights(server: Served) -> None:
    assert server.ask("/echo/word", method="POST", body=b"said").body == b"person word b'said'"
    assert server.ask("/echo/word", token="agent-token", headers={"authorization": "bearer agent-token"}).status == 400
    assert server.ask("/echo/word", token=None, headers={"authorization": "bearer agent-token"}).status == 200


UNKNOWN = (
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-authorization-server/mcp",
    "/register",
    "/",
    "/health/",
    "//health",
    "/../health",
    "/health%2f..",
    "*",
    "http://127.0.0.1/health",
)


@in_one_test("method", ["GET", "POST", "OPTIONS", "MADE-UP"])
@in_one_test("token", [None, "wrong", "agent-token"])
def test_unknown_paths_are_not_found_with_and_without_a_token(server: Served, method: str, token: str | None) -> None:
    for path in UNKNOWN:
        answer = server.ask(path, method=method, token=token)
        assert code_of(answer) == (404, "not_found"), path
        assert "www-authenticate" not in answer.headers


def test_without_a_token_the_answer_names_the_scheme(server: Served) -> None:
    answer = server.ask("/echo/x", token=None)
    assert code_of(answer) == (401, "refused")
    assert answer.headers["www-authenticate"] == 'Bearer realm="satchel"'


@pytest.mark.parametrize(
    "given", ["Bearer wrong", "Bearer", "Basic YTpi", "agent-token", f"Bearer {'x' * 5000}", "Bearer \xff", "Bearer  "]
)
def test_a_wrong_token_is_called_invalid_everywhere(server: Served, given: str) -> None:
    for path in ("/echo/x", "/health"):
        answer = server.ask(path, token=None, headers={"Authorization": given})
        assert code_of(answer) == (401, "refused")
        assert answer.headers["www-authenticate"] == 'Bearer realm="satchel", error="invalid_token"'


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:PORT", "127.0.0.1", "127.0.0.1:1", "127.0.0.1:PORT.evil.example", "", "PORT"]
)
def test_a_host_of_another_name_is_misdirected(server: Served, host: str) -> None:
    answer = server.ask_raw(head(server, f"Host: {host}"))
    assert code_of(answer) == (421, "refused")
    assert "--host-name" in answer.json()["error"]["remedy"]


def test_the_loopback_names_and_those_it_was_started_for_are_its_own(serve: Callable[..., Served]) -> None:
    server = serve(host_names=("Satchel.example.org", "other:8443"), behind_tls=True)
    for host in ("localhost:PORT", "LOCALHOST:PORT", "[::1]:PORT", "satchel.example.org", "satchel.example.org:443"):
        assert server.ask_raw(head(server, f"Host: {host}")).status == 200, host
    assert server.ask_raw(head(server, "Host: other:8443", "Origin: https://other:8443")).status == 200
    for host in ("other:8444", "other"):  # a proxy must not leave the port out
        assert server.ask_raw(head(server, f"Host: {host}")).status == 421, host


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:PORT", "http://127.0.0.1", "x"])
def test_pages_of_other_sites_are_refused_and_get_no_word_of_cors(server: Served, origin: str) -> None:
    for method in ("GET", "OPTIONS"):
        answer = server.ask_raw(head(server, "Host: 127.0.0.1:PORT", f"Origin: {origin}", method=method))
        assert code_of(answer) == (403, "refused")
        assert not any(name.startswith("access-control") for name in answer.headers)


def test_its_own_page_is_let_in_without_a_word_of_cors(server: Served) -> None:
    answer = server.ask_raw(head(server, "Host: localhost:PORT", "Origin: http://localhost:PORT"))
    assert answer.status == 200
    assert not any(name.startswith("access-control") for name in answer.headers)


HOST = "Host: 127.0.0.1:PORT"


@pytest.mark.parametrize(
    "lines",
    [
        (HOST, HOST),
        (HOST, "Host: evil.example"),
        (),
        (HOST, "Authorization: Bearer agent-token"),
        (HOST, "Content-Length: 1", "Content-Length: 2"),
        (HOST, "Content-Length: 1", "Transfer-Encoding: chunked"),
        (HOST, "Content-Length: -1"),
        (HOST, "Origin: http://127.0.0.1:PORT", "Origin: http://evil.example"),
        (HOST, "no header at all"),
        (HOST, "Name : with a space"),
    ],
)
def test_heads_that_can_be_read_in_two_ways_are_refused(server: Served, lines: tuple[str, ...]) -> None:
    assert code_of(server.ask_raw(head(server, *lines))) == (400, "invalid_input")


@pytest.mark.parametrize("text", ["nonsense\r\n\r\n", "\x16\x03\x01\x02\x00\x01\r\n\r\n"])
def test_what_is_no_request_is_told_so_in_json(server: Served, text: str) -> None:
    assert code_of(server.ask_raw(text)) == (400, "invalid_input")


def test_a_head_that_is_too_long_is_refused_in_json(server: Served) -> None:
    with server.connect() as connection:
        connection.sendall(head(server, HOST, f"X: {'x' * MIB}").encode())
        assert code_of(answer_from(connection)) == (431, "too_large")


def test_a_method_that_a_path_does_not_take_is_told_which_it_takes(server: Served) -> None:
    answer = server.ask("/health", method="DELETE")
    assert code_of(answer) == (405, "invalid_input")
    assert answer.headers["allow"] == "GET, HEAD"


def test_errors_have_the_status_of_their_code(server: Served) -> None:
    assert code_of(server.ask("/fail/full")) == (507, "store_full")
    assert code_of(server.ask("/fail/busy")) == (503, "busy")
    assert server.ask("/fail/busy").json()["error"]["remedy"] == "Wait"
    assert server.ask("/fail/teapot").status == 418
    assert code_of(server.ask("/fail/teapot"))[0] == 418


def test_an_error_that_nobody_expected_is_told_without_what_it_says(
    server: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = server.ask("/fail/otherwise")
    assert code_of(answer) == (500, "internal")
    assert SECRET.encode() not in answer.body
    log = capsys.readouterr().err
    assert "ValueError" in log
    assert answer.headers["x-request-id"] in log
    assert SECRET not in log


def test_what_is_no_exception_is_answered_in_json_too(server: Served) -> None:
    assert code_of(server.ask("/fail/kept")) == (500, "internal")


def test_an_answer_that_breaks_off_ends_its_connection_alone(
    server: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    with server.connect() as connection:
        connection.sendall(head(server, HOST, path="/broken").replace("PORT", str(server.port)).encode())
        answer = answer_from(connection)
    assert (answer.status, answer.body) == (200, b"5\r\nfirst\r\n")  # its last, empty chunk is missing
    assert server.ask("/health").status == 200
    assert SECRET not in capsys.readouterr().err


def test_a_body_above_the_limit_is_refused_also_when_all_of_it_is_sent(server: Served) -> None:
    assert code_of(server.ask("/echo/x", method="POST", body=bytes(50 * MIB))) == (413, "too_large")


def test_a_body_without_a_length_is_counted(server: Served) -> None:
    chunk = b"100000\r\n" + bytes(MIB) + b"\r\n"
    with server.connect() as connection:
        connection.sendall(head(server, HOST, "Transfer-Encoding: chunked", method="POST").encode())
        for part in chain(repeat(chunk, 50), [b"0\r\n\r\n"]):
            connection.sendall(part)
        assert code_of(answer_from(connection)) == (413, "too_large")


def test_a_body_of_the_limit_is_taken(serve: Callable[..., Served]) -> None:
    server = serve(body_bytes=10)
    assert server.ask("/echo/x", method="POST", body=bytes(10)).status == 200
    assert code_of(server.ask("/echo/x", method="POST", body=bytes(11))) == (413, "too_large")


def test_who_asks_first_need_not_send_a_body_that_is_too_large(server: Served) -> None:
    lines = (HOST, f"Content-Length: {50 * MIB}", "Expect: 100-continue")
    answer = server.ask_raw(head(server, *lines, method="POST"))
    assert code_of(answer) == (413, "too_large")
    assert answer.headers["connection"] == "close"


def test_a_stranger_sends_no_body(server: Served) -> None:
    assert code_of(server.ask("/health", token=None, body=b"x")) == (413, "too_large")
    answer = server.ask("/echo/x", token="wrong", method="POST", body=bytes(10_000))
    assert code_of(answer) == (401, "refused")


def test_a_body_that_does_not_arrive_is_given_up(serve: Callable[..., Served]) -> None:
    server = serve(body_seconds=0.05)
    with server.connect() as connection:
        connection.sendall(head(server, HOST, "Content-Length: 10", method="POST").encode() + b"begun")
        answer = answer_from(connection)
        assert code_of(answer) == (408, "timed_out")
        assert connection.recv(1) == b""


def test_bodies_share_a_bounded_room(serve: Callable[..., Served]) -> None:
    server = serve(bodies_bytes=1_000)
    answer = server.ask("/echo/x", method="POST", body=bytes(1_001))
    assert code_of(answer) == (503, "busy")
    assert answer.headers["retry-after"] == "1"
    assert server.ask("/echo/x", method="POST", body=bytes(1_000)).status == 200


def test_a_token_is_held_to_its_rate_and_others_are_not(serve: Callable[..., Served]) -> None:
    server = serve(requests_per_minute=2)
    answers = [server.ask("/echo/x") for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 200, 429]
    assert code_of(answers[2]) == (429, "busy")
    assert answers[2].headers["retry-after"] == "30"
    assert server.ask("/echo/x", token="agent-token").status == 200


def test_wrong_tokens_are_held_to_a_rate_and_right_ones_still_taken(serve: Callable[..., Served]) -> None:
    server = serve(failures_per_minute=2)
    answers = [server.ask("/echo/x", token="wrong") for _ in range(3)]
    assert [answer.status for answer in answers] == [401, 401, 429]
    assert "retry-after" in answers[2].headers
    assert server.ask("/echo/x").status == 200


def test_a_server_that_cannot_read_its_tokens_says_so_to_its_log_alone(
    serve: Callable[..., Served], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve()

    def access(_text: str) -> None:
        raise Refused("the tokens cannot be believed: /home/x/tokens.json is a link", "Remove it")

    monkeypatch.setattr(server.serving.tokens, "access", access)
    answer = server.ask("/echo/x")
    assert code_of(answer) == (503, "unavailable")
    assert b"tokens.json" not in answer.body
    assert "/home/x/tokens.json is a link" in capsys.readouterr().err


def test_a_connection_takes_the_next_request_after_a_refusal(server: Served) -> None:
    with server.connect() as connection:
        connection.sendall(head(server, HOST, "Content-Length: 3", path="/nowhere", method="POST").encode() + b"abc")
        assert answer_from(connection).status == 404
        connection.sendall(head(server, HOST).encode())
        assert answer_from(connection).status == 200
