"""The stdio transport over streams in this process, above all: whatever comes, every request gets one answer."""

from __future__ import annotations

import io
import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from satchel.interfaces.mcp.call import Call
from satchel.interfaces.mcp.protocol import Server
from satchel.interfaces.mcp.registry import Registry, Tool
from satchel.interfaces.mcp.stdio import serve_stdio

pytestmark = pytest.mark.slow


def echo(_call: Call[None], /, text: str = "") -> str:
    return text


PARAMETERS = {"type": "object", "properties": {"text": {"type": "string"}}, "additionalProperties": False}
ECHO = Tool("echo", "test", "Echo", "DuplicateDelivery.", PARAMETERS, echo, read_only=True)
SERVER = Server("hostile", "1", lambda: None, Registry([ECHO]))

any_text = st.text(st.characters(), max_size=8)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | any_text
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3))
ids = st.integers(0, 3) | st.sampled_from(["0", "\ud800", ""]) | st.just(10**400) | scalars
metas = st.fixed_dictionaries(
    {},
    optional={
        "io.modelcontextprotocol/protocolVersion": st.just("2026-07-28") | values,
        "io.modelcontextprotocol/clientCapabilities": st.just({}) | values,
        "progressToken": values,
    },
)
params = st.fixed_dictionaries(
    {},
    optional={
        "_meta": metas | values,
        "name": st.sampled_from(["echo", "ecco"]) | values,
        "arguments": st.fixed_dictionaries({"text": any_text | values}) | values,
        "protocolVersion": st.sampled_from(["2025-03-26", "2025-11-25"]) | values,
        "cursor": values,
    },
)
methods = st.sampled_from(["tools/call", "tools/list", "initialize", "ping", "server/discover", "no/such"])
messages = st.fixed_dictionaries(
    {"method": methods, "jsonrpc": st.just("2.0")}, optional={"id": ids, "params": params | values}
)
loose_messages = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | values,
        "id": ids | values,
        "method": methods | values,
        "params": params | values,
        "result": values,
        "error": values,
    },
)
lines = (
    st.builds(lambda value: json.dumps(value).encode(), messages | loose_messages | values)
    | st.builds(lambda batch: json.dumps(batch).encode(), st.lists(messages | values, max_size=4))
    | st.binary(max_size=40).map(lambda line: line.replace(b"\n", b""))
)


def identity(request_id: object) -> str:
    return json.dumps(request_id)


def requests_in(message: object) -> list[str]:
    """Return the ids of the requests that must be answered, those of a batch among them."""
    if not isinstance(message, dict) or type(message.get("id")) not in {str, int}:
        return []
    is_answer = "method" not in message and ("result" in message or "error" in message)
    return [] if is_answer else [identity(message["id"])]


def parsed(line: bytes) -> Any:
    try:
        return json.loads(line.decode())
    except ValueError:
        return None


def serve(stream: bytes) -> list[Any]:
    out = io.BytesIO()
    assert serve_stdio(SERVER, stdin=io.BytesIO(stream), stdout=out, grace_seconds=60) == 0
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_a_call_says_nothing_after_its_answer() -> None:
    calls: list[Call[None]] = []

    def keep(call: Call[None], /) -> str:
        calls.append(call)
        return "kept"

    parameters = {"type": "object", "properties": {}, "additionalProperties": False}
    tool = Tool("keep", "test", "Keep", "Keep.", parameters, keep, read_only=True)
    server = Server("kept", "1", lambda: None, Registry([tool]))
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "progressToken": 1,
    }
    line = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "keep", "_meta": meta}}
    out = io.BytesIO()
    serve_stdio(server, stdin=io.BytesIO(json.dumps(line).encode()), stdout=out)
    answered = out.getvalue()
    calls[0].progress(1)
    assert out.getvalue() == answered


@given(st.lists(lines, max_size=12), st.booleans())
@settings(deadline=None)
def test_every_request_gets_exactly_one_answer(sent: list[bytes], newline_at_end: bool) -> None:
    answers = serve(b"\n".join(sent) + b"\n" * newline_at_end)
    single = [answer for answer in answers if isinstance(answer, dict)]
    assert all(answer["jsonrpc"] == "2.0" and ("result" in answer) != ("error" in answer) for answer in single)
    alone = [message for message in map(parsed, sent) if not isinstance(message, list)]
    expected = Counter(name for message in alone for name in requests_in(message))
    assert Counter(identity(answer["id"]) for answer in single if answer["id"] is not None) == expected


@given(st.lists(messages | loose_messages | values, min_size=1, max_size=8))
@settings(deadline=None)
def test_every_request_of_a_batch_gets_exactly_one_answer(batch: list[object]) -> None:
    # An initialize inside is refused, so the revision agreed on before stays.
    opening = {
        "jsonrpc": "2.0",
        "id": "open",
        "method": "initialize",
        "params": {"protocolVersion": "2025-03-26"},
    }
    _, *answered = serve(json.dumps(opening).encode() + b"\n" + json.dumps(batch).encode())
    answers = answered[0] if answered else []
    expected = Counter(name for message in batch for name in requests_in(message))
    assert Counter(identity(answer["id"]) for answer in answers if answer["id"] is not None) == expected
