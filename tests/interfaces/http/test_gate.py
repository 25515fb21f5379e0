"""The gate: who is let in, and what the others are told."""

from __future__ import annotations

import pytest

from http_serving import Served


def test_a_right_token_is_let_in(server: Served) -> None:
    assert server.ask("/health").json() == {"status": "ok", "project": "project", "store": "ok"}


@pytest.mark.parametrize(
    "path", ["/.well-known/oauth-protected-resource", "/register", "/", "/mcp/", "/health/", "//health"]
)
def test_unknown_paths_are_not_found_without_a_token(server: Served, path: str) -> None:
    answer = server.ask(path, token=None)
    assert (answer.status, answer.json()["error"]["code"]) == (404, "not_found")
    assert answer.headers["content-type"] == "application/json"
    assert "www-authenticate" not in answer.headers


def test_without_a_token_the_answer_names_the_scheme(server: Served) -> None:
    answer = server.ask("/metrics", token=None)
    assert (answer.status, answer.headers["www-authenticate"]) == (401, 'Bearer realm="satchel"')
