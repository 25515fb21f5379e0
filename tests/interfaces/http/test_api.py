"""The JSON API: each operation by its name, for programs of anybody."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from http_serving import FixedTokens, Served, served
from satchel.base.errors import ERROR_KINDS
from satchel.interfaces.http.public import description, operations
from satchel.interfaces.operations.all import OPERATIONS


@pytest.fixture(scope="module")
def api(store: Path) -> Iterator[Served]:
    """A server whose project has a note."""
    with served(FixedTokens(store)) as running:
        told = post(running, "write_context", type="discovery", content="sessions expire after 300 s", file="src/a.py")
        assert told["entries"][0]["id"] == "e1"
        yield running


def post(server: Served, name: str, token: str = "agent-token", status: int = 200, **arguments: object) -> Any:
    """Call an operation."""
    answer = server.ask(f"/api/{name}", method="POST", token=token, body=json.dumps(arguments).encode())
    assert answer.status == status, answer.body
    assert answer.headers["content-type"] == "application/json"
    return answer.json()


def get(server: Served, name: str, status: int = 200, **arguments: object) -> Any:
    """Ask an operation that reads."""
    answer = server.ask(f"/api/{name}?{urlencode(arguments, doseq=True)}", token="agent-token")
    assert answer.status == status, answer.body
    return answer.json()


def test_what_was_written_is_read_by_get_and_by_post(api: Served) -> None:
    assert get(api, "read_context", query="expire", limit=1) == post(api, "read_context", query="expire", limit=1)
    assert get(api, "read_context", query="expire")["entries"][0]["content"] == "sessions expire after 300 s"


def test_a_list_in_the_address_is_the_name_several_times(api: Served) -> None:
    assert get(api, "read_context", types=["discovery", "error"])["total"] >= 1
    assert get(api, "read_context", types=["error"])["total"] == 0


def test_pages_go_on_by_their_offset_and_their_cursor(api: Served) -> None:
    post(api, "write_context", type="discovery", content="cookies are signed")
    page = get(api, "read_context", limit=1)
    assert page["next_offset"] == 1
    later = post(api, "write_context", type="discovery", content="tokens are random")["entries"][0]["id"]
    assert [one["id"] for one in get(api, "read_context", after_seq=page["seq"])["entries"]] == [later]


def test_who_names_nobody_is_called_as_its_token(api: Served) -> None:
    assert post(api, "write_context", type="discovery", content="x")["entries"][0]["agent"] == "agent"
    assert (
        post(api, "write_context", type="discovery", content="y", token="person-token")["entries"][0]["agent"]
        == "human:person"
    )


def test_a_notice_stands_beside_an_answer(api: Served) -> None:
    post(api, "send_message", to="ben", message="look at src/a.py")
    assert "1 unread message" in get(api, "file_check", paths="src/a.py", agent="ben")["notice"]


def test_what_writes_is_no_get(api: Served) -> None:
    error = get(api, "write_context", status=400, type="discovery", content="z")["error"]
    assert error["code"] == "invalid_input"
    assert "POST" in error["remedy"]


@pytest.mark.parametrize(
    ("name", "body", "status", "code"),
    [
        ("get_constraint", b"{}", 404, "not_found"),
        ("read_context", b"[]", 400, "invalid_input"),
        ("read_context", b"{", 400, "invalid_input"),
        ("read_context", b"\xff", 400, "invalid_input"),
        ("read_context", b"[" * 1_000, 400, "invalid_input"),
        ("read_context", b'{"limit": 9999}', 400, "invalid_input"),
        ("read_context", b'{"colour": "red"}', 400, "invalid_input"),
        ("get_items", b'{"ids": ["e999"]}', 404, "not_found"),
        ("share", b'{"refs": ["e1"]}', 403, "refused"),
        ("housekeeping.doctor", b"{}", 404, "not_found"),
        ("__class__", b"{}", 404, "not_found"),
    ],
)
def test_what_is_wrong_is_said_with_its_code_and_a_remedy(
    api: Served, name: str, body: bytes, status: int, code: str
) -> None:
    answer = api.ask(f"/api/{name}", method="POST", token="agent-token", body=body)
    error = answer.json()["error"]
    assert (answer.status, error["code"]) == (status, code)
    assert error["problem"]
    assert error["remedy"]


def test_what_removes_something_only_says_so_unless_told_otherwise(api: Served) -> None:
    run = post(api, "start_run", run_id="r9")["run_id"]
    for n in range(3):
        post(api, "write_context", type="discovery", content=f"note {n} of that run", run_id=run)
    post(api, "entries_prune", run_id=run, keep=1)
    assert get(api, "read_context", run_id=run)["total"] == 3
    post(api, "entries_prune", run_id=run, keep=1, dry_run=False)
    assert get(api, "read_context", run_id=run)["total"] == 1


def test_the_description_names_every_operation_that_is_served(api: Served) -> None:
    described = api.ask("/api/openapi.json", token="agent-token").json()
    assert described == json.loads(json.dumps(description()))
    assert described["openapi"].startswith("3.1")
    assert {path.removeprefix("/api/") for path in described["paths"]} == {
        name for name, one in operations().items() if not one.only_here
    }


def test_every_reference_in_the_description_leads_somewhere() -> None:
    whole = description()

    def references(value: Any) -> Iterator[str]:
        if isinstance(value, dict):
            if "$ref" in value:
                yield value["$ref"]
            for one in value.values():
                yield from references(one)
        elif isinstance(value, list):
            for one in value:
                yield from references(one)

    for reference in set(references(whole)):
        found: Any = whole
        for step in reference.removeprefix("#/").split("/"):
            found = found[step]
        assert found


def test_operation_ids_are_unique_and_codes_are_those_of_the_table() -> None:
    whole = description()
    ids = [method["operationId"] for path in whole["paths"].values() for method in path.values()]
    assert len(set(ids)) == len(ids)
    codes = whole["components"]["schemas"]["Error"]["properties"]["error"]["properties"]["code"]["enum"]
    assert codes == list(ERROR_KINDS)


def test_every_operation_has_one_name_of_its_own() -> None:
    every = [one for top in OPERATIONS for one in (top, *top.instead.values())]
    # one that is reached in two ways is still one
    assert len({one.name for one in every}) == len({(one.name, str(one.run)) for one in every})
