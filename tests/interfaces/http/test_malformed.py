"""Malformed calls: whatever is sent to an operation, a method or a tool is answered, and never by a fault of ours."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from examples import examples
from http_serving import Answer, FixedTokens, Served, served
from satchel.base import wire
from satchel.interfaces.http.public import operations
from satchel.interfaces.operations.as_tool import ALL_TOOLS
from satchel.remote.calls import CONTENT_TYPE, RECORD, SERVED

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.sampled_from(["e1", "1h"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
_MARKS = st.sampled_from(["$t", "$s", "$b", "$m", "$p", "$r"])
_WIRED = _JSON | st.builds(lambda mark, inner: {mark: inner}, _MARKS, _JSON)
_MEMBERS = ("standing", "caller", "settings", "facts", "recorded", "key", "notice", "arguments", "named")
_OPERATIONS = sorted(set(operations()) - {"consult"})
_PARAMETERS = sorted({one.passed_as or one.name for of in operations().values() for one in of.parameters})


@pytest.fixture(scope="module")
def server(store: Path) -> Iterator[Served]:
    """A server that tests of this module share."""
    with served(FixedTokens(store)) as running:
        yield running


Asks = Callable[[str, object], Answer]


@pytest.fixture(scope="module")
def ask(server: Served) -> Asks:
    """Send a body to an operation by its name, as any program does or, where it is a call, as our own does."""

    def send(name: str, body: object) -> Answer:
        is_call = isinstance(body, dict) and "wire" in body
        headers = {"Content-Type": CONTENT_TYPE} if is_call else {}
        return server.ask(f"/api/{name}", method="POST", headers=headers, body=json.dumps(body).encode())

    return send


def has_fault(answer: Answer) -> bool:
    """Return whether an answer reports a fault of ours, or has an error without a remedy."""
    error = answer.json().get("error") if answer.status != 200 else None
    return answer.status == 500 or (error is not None and not error["remedy"])


@st.composite
def _calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    name = draw(st.sampled_from([*_OPERATIONS, *sorted(SERVED), RECORD]))
    operation = operations().get(name)
    own = [one.passed_as or one.name for one in operation.parameters] if operation is not None else _PARAMETERS
    named = draw(st.dictionaries(st.sampled_from([*own, "detail", "dry_run", "run_id"]), _WIRED, max_size=3))
    named.pop("wait_seconds", None)  # it would wait
    call = {"wire": wire.VERSION, "named": named, "arguments": draw(st.lists(_WIRED, max_size=3))}
    return name, call | draw(st.dictionaries(st.sampled_from(_MEMBERS), _WIRED, max_size=1))


@example(call=("read_context", {"wire": wire.VERSION, "named": {"since": "word", "detail": 5}}))
@example(call=("find_decisions", {"wire": wire.VERSION, "named": {"detail": "full"}}))
@example(call=("moments.make", {"wire": wire.VERSION, "arguments": [3]}))
@example(call=("search", {"wire": wire.VERSION, "named": {"$t": [1]}}))
@given(call=_calls())
@settings(max_examples=examples(60))
def test_a_malformed_call_of_a_program_is_no_fault_of_ours(ask: Asks, call: tuple[str, dict[str, Any]]) -> None:
    answer = ask(*call)
    assert not has_fault(answer), (call, answer.body)


@example(call=("read_context", {"since": "word"}))
@given(call=st.tuples(st.sampled_from(_OPERATIONS), st.dictionaries(st.sampled_from(_PARAMETERS), _JSON, max_size=3)))
@settings(max_examples=examples(60))
def test_malformed_arguments_of_an_operation_are_no_fault_of_ours(ask: Asks, call: tuple[str, dict[str, Any]]) -> None:
    name, arguments = call
    arguments.pop("wait_seconds", None)
    answer = ask(name, arguments)
    assert not has_fault(answer), (call, answer.body)


_METHODS = (
    "initialize",
    "ping",
    "tools/list",
    "resources/list",
    "resources/read",
    "prompts/get",
    "completion/complete",
)


@example(call=("tools/call", {"name": "read_context", "arguments": {"since": "word"}}))
@given(
    call=st.tuples(
        st.just("tools/call"),
        st.fixed_dictionaries(
            {
                "name": st.sampled_from(sorted({one.name for one in ALL_TOOLS} - {"consult"})),
                "arguments": st.dictionaries(st.sampled_from(_PARAMETERS), _JSON, max_size=3),
            }
        ),
    )
    | st.tuples(
        st.sampled_from(("tools/call", *_METHODS)),
        st.dictionaries(st.sampled_from(["name", "uri", "arguments", "_meta"]), _JSON, max_size=3) | _JSON,
    )
)
@settings(max_examples=examples(60))
def test_a_malformed_message_of_mcp_is_no_fault_of_ours(server: Served, call: tuple[str, Any]) -> None:
    method, params = call
    if isinstance(params, dict) and isinstance(params.get("arguments"), dict):
        params["arguments"].pop("wait_seconds", None)
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    answer = server.ask("/mcp?toolsets=all", method="POST", headers=headers, body=json.dumps(message).encode())
    assert answer.status < 500
    assert b"[internal]" not in answer.body, (call, answer.body)
    assert answer.json().get("error", {}).get("code") != -32603, (call, answer.body)


@pytest.mark.parametrize(
    ("named", "right"),
    [
        ({"limit": "many"}, "limit must be a whole number"),
        ({"since": "word"}, "since"),
        ({"types": {"a": 1}}, "types must be a list"),
        ({"colour": "red"}, "Valid: query"),
    ],
)
def test_a_malformed_argument_of_a_call_is_answered_with_what_would_be_right(
    ask: Asks, named: dict[str, object], right: str
) -> None:
    answer = ask("read_context", {"wire": wire.VERSION, "named": named})
    assert answer.status == 400
    assert right in answer.body.decode()
