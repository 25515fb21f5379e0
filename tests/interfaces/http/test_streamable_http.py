"""The rules of the HTTP transport: media types, headers and the status of what is refused."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from satchel.interfaces.http.mcp import TransportError, admit, check_media_types, read_body, status_of
from satchel.interfaces.mcp.call import Call
from satchel.interfaces.mcp.jsonrpc import Request, RpcError
from satchel.interfaces.mcp.protocol import Server
from satchel.interfaces.mcp.registry import Registry, Tool
from tables import in_one_test

STATELESS = "2026-07-28"
HANDSHAKE = "2025-11-25"
BOTH = "application/json, text/event-stream"
META = {
    "io.modelcontextprotocol/protocolVersion": STATELESS,
    "io.modelcontextprotocol/clientCapabilities": {},
}
SCHEMA = {"type": "object", "properties": {}, "additionalProperties": False}


def echo(_call: Call[None], /) -> str:
    return ""


SERVER: Server[None] = Server(
    "test", "1", lambda: None, Registry([Tool("echo", "test", "Echo", "It.", SCHEMA, echo, read_only=True)])
)


def refusal(status: int, given: TransportError) -> dict[str, Any]:
    assert given.status == status
    answer: dict[str, Any] = json.loads(given.body)
    return answer


def call(name: str, **meta: object) -> Request:
    return Request(7, "tools/call", {"name": name, "_meta": meta or META})


@in_one_test("accept", [BOTH, "*/*", "text/*,application/*;q=0.5", "TEXT/EVENT-STREAM; q=1 , application/json"])
def test_both_forms_of_an_answer_are_listed_one_by_one_or_by_wildcards(accept: str) -> None:
    check_media_types("Application/JSON; charset=utf-8", accept)


@in_one_test(
    ("content_type", "accept", "status"),
    [
        ("application/json", "application/json", 406),
        ("application/json", "text/event-stream", 406),
        ("application/json", "", 406),
        ("text/plain", BOTH, 415),
        ("application/jsonp", BOTH, 415),
        ("", BOTH, 415),
    ],
)
def test_other_media_types_are_refused(content_type: str, accept: str, status: int) -> None:
    with pytest.raises(TransportError) as caught:
        check_media_types(content_type, accept)
    assert refusal(status, caught.value)["id"] is None


@in_one_test(
    ("body", "request_id", "code"),
    [
        (b"{", None, -32700),
        (b"", None, -32700),
        (b"\xff", None, -32700),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', None, -32600),
        (b'"text"', None, -32600),
        (b'{"id":7,"method":"ping"}', 7, -32600),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}', 7, -32602),
    ],
)
def test_a_body_that_is_no_message_is_answered_with_400(body: bytes, request_id: object, code: int) -> None:
    with pytest.raises(TransportError) as caught:
        read_body(body)
    answer = refusal(400, caught.value)
    assert (answer["id"], answer["error"]["code"]) == (request_id, code)


@pytest.mark.parametrize("sent", [{"mcp-protocol-version": "2025-06-18"}, {}])
def test_without_an_envelope_the_header_says_the_revision(sent: dict[str, str]) -> None:
    assert admit(SERVER, Request(1, "tools/list", {}), sent) == sent.get("mcp-protocol-version", "2025-03-26")


def test_a_session_that_was_never_issued_is_unknown() -> None:
    sent = {"mcp-protocol-version": HANDSHAKE, "mcp-session-id": "s1"}
    with pytest.raises(TransportError) as caught:
        admit(SERVER, Request(1, "tools/list", {}), sent)
    assert "initialize again" in refusal(404, caught.value)["error"]["message"]


def test_a_client_whose_session_is_unknown_may_initialize_again() -> None:
    hello = Request(1, "initialize", {"protocolVersion": HANDSHAKE})
    assert admit(SERVER, hello, {"mcp-session-id": "s1"}) == HANDSHAKE


@pytest.mark.parametrize(
    "request_", [Request(1, "tools/list", {}), call("echo", **{**META, next(iter(META)): "2031-01-01"})]
)
def test_a_revision_that_is_not_spoken_is_answered_with_those_that_are(request_: Request) -> None:
    sent = {"mcp-protocol-version": "2031-01-01", "mcp-method": request_.method, "mcp-name": "echo"}
    with pytest.raises(TransportError) as caught:
        admit(SERVER, request_, sent)
    error = refusal(400, caught.value)["error"]
    assert (error["code"], error["data"]["supported"][:2]) == (-32022, [STATELESS, HANDSHAKE])


@pytest.mark.parametrize("name", ["echo", "größer", "=?base64?x?="])
def test_headers_repeat_a_stateless_message(name: str) -> None:
    encoded = name if name == "echo" else f"=?base64?{base64.b64encode(name.encode()).decode()}?="
    sent = {"mcp-protocol-version": STATELESS, "mcp-method": "tools/call", "mcp-name": encoded}
    assert admit(SERVER, call(name), sent) == STATELESS


@in_one_test(
    "wrong",
    [
        {"mcp-protocol-version": HANDSHAKE},
        {"mcp-protocol-version": None},
        {"mcp-method": "tools/list"},
        {"mcp-method": None},
        {"mcp-name": "other"},
        {"mcp-name": None},
        {"mcp-name": "=?base64?!?="},
    ],
)
def test_headers_that_contradict_a_stateless_message_are_refused(wrong: dict[str, str | None]) -> None:
    right = {"mcp-protocol-version": STATELESS, "mcp-method": "tools/call", "mcp-name": "echo"}
    sent = {header: value for header, value in {**right, **wrong}.items() if value is not None}
    with pytest.raises(TransportError) as caught:
        admit(SERVER, call("echo"), sent)
    answer = refusal(400, caught.value)
    assert (answer["id"], answer["error"]["code"]) == (7, -32020)


@pytest.mark.parametrize(("code", "status"), [(-32601, 404), (-32602, 400), (-32603, 200)])
def test_only_the_stateless_era_gives_an_answer_that_is_an_error_a_status(code: int, status: int) -> None:
    error = RpcError(code, "no")
    assert (status_of(error, STATELESS), status_of(error, HANDSHAKE)) == (status, 200)
