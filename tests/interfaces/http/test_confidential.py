"""What answers of a server never repeat: its paths, the address of its database, and tokens."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from http_serving import FixedTokens, served
from satchel.base import wire
from satchel.interfaces.http.exchange import SAFETY_HEADERS
from satchel.interfaces.http.stores import without_places
from satchel.remote.calls import CONTENT_TYPE
from server_process import made_store
from tables import in_one_test

_MCP = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


def test_the_error_of_a_store_names_no_path_of_the_server_by_any_way_to_call_it(tmp_path: Path) -> None:
    store = made_store(tmp_path / "secret place")
    with served(FixedTokens(store)) as server:
        store.chmod(0o666)
        call, state = {"name": "read_context", "arguments": {}}, {"uri": "satchel://state"}
        ways: tuple[tuple[str, dict[str, object], dict[str, str]], ...] = (
            ("/api/read_context", {}, {}),
            ("/api/read_context", {"wire": wire.VERSION}, {"Content-Type": CONTENT_TYPE}),
            ("/mcp?toolsets=all", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}, _MCP),
            ("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": state}, _MCP),
        )
        for path, body, headers in ways:
            answer = server.ask(path, method="POST", body=json.dumps(body).encode(), headers=headers)
            assert b"every user can write (a path of the server)" in answer.body
            assert b"secret place" not in answer.body


@in_one_test(
    ("text", "code", "hidden"),
    [
        ("cannot reach postgresql://ann:pw@db/x.", "unavailable", "cannot reach (the server's database)"),
        (f"no token 'satchel_{'0' * 10}_{'a' * 43}'", "not_found", "no token '(a token)'"),
        ("the file /srv/p/.satchel/satchel.db.", "refused", "the file (a path of the server)."),
        ("in `/srv/p/backups/a.db`, or /srv/pq/x", "refused", "in `(a path of the server)`, or /srv/pq/x"),
        ("/srv/p/a.py is not in the project", "invalid_input", "/srv/p/a.py is not in the project"),
    ],
)
def test_places_are_removed_and_what_a_caller_sent_stays(text: str, code: str, hidden: str) -> None:
    assert without_places(text, code, [Path("/srv/p/.satchel/satchel.db")]) == hidden


@pytest.mark.parametrize("path", ["/api/nothing", "/projects.json", "/nowhere"])
def test_errors_have_the_safety_headers_of_pages(tmp_path: Path, path: str) -> None:
    with served(FixedTokens(made_store(tmp_path / "p"))) as server:
        answer = server.ask(path, token=None)
    assert answer.status >= 400
    assert SAFETY_HEADERS.items() <= {name.title(): value for name, value in answer.headers.items()}.items()
