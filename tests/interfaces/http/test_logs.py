"""What a server logs, and what it never does."""

from __future__ import annotations

import io
import json
import logging
import sys
from contextlib import redirect_stderr
from typing import Any

import pytest

from http_serving import Served
from satchel.interfaces.http import logs
from satchel.interfaces.http.exchange import Exchange

SAID = "never to be logged"


def logged(server: Served, stderr: io.StringIO, request_id: str) -> tuple[dict[str, Any], str]:
    """Return the line of a request, and all that was logged until it was there: it comes after the answer.

    Emptying stderr, as `capsys` does, could lose what the server's thread writes meanwhile.
    """
    while not (found := [line for line in stderr.getvalue().splitlines() if request_id in line and '"status"' in line]):
        server.ask(token=None)
    return json.loads(found[0]), stderr.getvalue()


@pytest.mark.parametrize(("is_terminal", "status", "lines"), [(True, 200, 0), (True, 500, 1), (False, 200, 1)])
def test_a_terminal_sees_only_requests_that_failed(is_terminal: bool, status: int, lines: int) -> None:
    stderr = io.StringIO()
    stderr.isatty = lambda: is_terminal  # type: ignore[method-assign]
    unused: Any = None
    exchange = Exchange({"type": "http", "method": "GET", "path": "/", "headers": []}, unused, unused, unused)
    exchange.status = status
    with redirect_stderr(stderr):
        logs.request(exchange)
    assert len(stderr.getvalue().splitlines()) == lines


def test_a_request_has_a_line_without_what_was_said(server: Served) -> None:
    body = SAID.encode()
    path = f"/echo/{SAID.replace(' ', '%20')}?q={SAID.replace(' ', '+')}"
    with redirect_stderr(io.StringIO()) as stderr:
        answer = server.ask(path, method="POST", body=body, headers={"User-Agent": SAID, "X-Request-Id": SAID})
        line, text = logged(server, stderr, answer.headers["x-request-id"])
    assert line.pop("time").endswith("Z")
    assert line.pop("ms") >= 0
    assert line == {
        "request": answer.headers["x-request-id"],
        "token": "id-person",
        "method": "POST",
        "route": "/echo/{word}",
        "status": 200,
        "bytes_in": len(body),
        "bytes_out": len(answer.body),
    }
    assert "never" not in text
    assert "person-token" not in text


def test_a_wrong_token_and_a_path_that_leads_nowhere_are_not_repeated(server: Served) -> None:
    with redirect_stderr(io.StringIO()) as stderr:
        answer = server.ask("/echo/x", token="wrong-secret")
        line, text = logged(server, stderr, answer.headers["x-request-id"])
        assert (line["token"], line["status"]) == (None, 401)
        assert "wrong-secret" not in text
        answer = server.ask("/never/to/be/logged", method="NEVER")
        line, text = logged(server, stderr, answer.headers["x-request-id"])
        assert (line["route"], line["method"]) == ("none", "other")
        assert "never" not in text.lower()


def test_nothing_is_logged_between_two_tests(capfd: pytest.CaptureFixture[str]) -> None:
    with redirect_stderr(sys.__stderr__):
        logs.fault(ValueError())
    logs.fault(KeyError())
    logged = capfd.readouterr().err
    assert ("ValueError" in logged, "KeyError" in logged) == (False, True)


@pytest.fixture
def taken_over() -> Any:
    """The libraries' logs, taken over for one test."""
    root = logging.getLogger()
    before = root.handlers[:], root.level
    logs.take_over()
    yield
    logging.captureWarnings(False)
    root.handlers[:], root.level = before


@pytest.mark.usefixtures("taken_over")
def test_what_libraries_log_is_told_without_what_they_say(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        raise ValueError(SAID)
    except ValueError:
        logging.getLogger("a.library").exception("failed with %s", SAID)
    logging.getLogger("a.library").warning(SAID)
    logging.getLogger("a.library").info(SAID)
    text = capsys.readouterr().err
    # a server's line about its last request may come as late as this
    first, second = (json.loads(line) for line in text.splitlines() if '"logger"' in line)
    assert (first["logger"], first["level"], first["fault"]) == ("a.library", "error", "ValueError")
    assert first["at"][-1].startswith("test_logs.py:")
    assert (second["logger"], second["level"]) == ("a.library", "warning")
    assert SAID not in text


def test_a_group_of_one_error_is_named_by_that_error(capsys: pytest.CaptureFixture[str]) -> None:
    logs.fault(ExceptionGroup("outer", [ExceptionGroup("inner", [KeyError(SAID)])]), request="id")
    (line,) = (json.loads(line) for line in capsys.readouterr().err.splitlines() if '"fault"' in line)
    assert (line["request"], line["fault"]) == ("id", "KeyError")
