from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from satchel.base.errors import NotFound
from satchel.interfaces.mcp.call import Call
from satchel.interfaces.mcp.guidance import Prompt, Resource
from satchel.interfaces.mcp.jsonrpc import Request, RpcError
from satchel.interfaces.mcp.protocol import HANDSHAKE_REVISIONS, Connection, Server
from satchel.interfaces.mcp.registry import Registry, Tool
from tables import in_one_test

STATELESS = "2026-07-28"
HANDSHAKE = "2025-11-25"
REVISION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"


def echo(_call: Call[None], /, text: str = "") -> str:
    return text


PARAMETERS = {"type": "object", "properties": {"text": {"type": "string"}}, "additionalProperties": False}
ECHO = Tool("echo", "test", "Echo", "DuplicateDelivery.", PARAMETERS, echo, read_only=True)


def missing(_values: Mapping[str, str] | None = None) -> str:
    raise NotFound("it is gone", "List what there is")


def broken(_values: Mapping[str, str] | None = None) -> str:
    raise RuntimeError("the password is hunter2")


def make_server(**offers: Any) -> Server[None]:
    return Server("test", "1", lambda: None, Registry([ECHO]), **offers)


FULL = make_server(
    instructions="Use it well.",
    resources=[
        Resource("s://plain", "plain", "Plain.", lambda _: "plain text"),
        Resource("s://runs/all", "all", "All runs.", lambda _: "all runs"),
        Resource("s://missing", "missing", "Missing.", missing),
        Resource("s://broken", "broken", "Broken.", broken),
        Resource("s://runs/{run}", "run", "A run.", lambda values: values["run"]),
    ],
    prompts=[
        Prompt("plain", "Plain.", lambda _given: "plain prompt"),
        Prompt("missing", "Missing.", missing),
        Prompt("broken", "Broken.", broken),
    ],
)


def ask(server: Server[None], method: str, revision: str = HANDSHAKE, **params: object) -> dict[str, Any]:
    return server.answer(Request(1, method, params), revision, Call(lambda: None))


def refusal(server: Server[None], method: str, revision: str = HANDSHAKE, **params: object) -> tuple[int, str, object]:
    with pytest.raises(RpcError) as caught:
        ask(server, method, revision, **params)
    return caught.value.code, caught.value.message, caught.value.data


def admit(connection: Connection, method: str, **params: object) -> str:
    return connection.admit(Request(1, method, params))


def not_admitted(method: str, **params: object) -> tuple[int, str, object]:
    with pytest.raises(RpcError) as caught:
        admit(Connection(FULL), method, **params)
    return caught.value.code, caught.value.message, caught.value.data


# Admission.


@in_one_test("revision", HANDSHAKE_REVISIONS)
def test_a_known_handshake_revision_is_agreed_on_and_kept(revision: str) -> None:
    connection = Connection(FULL)
    assert admit(connection, "initialize", protocolVersion=revision) == revision
    assert admit(connection, "tools/list") == revision


@pytest.mark.parametrize("wanted", ["1999-01-01", STATELESS, ""])
def test_another_revision_is_answered_by_the_newest_with_a_handshake(wanted: str) -> None:
    assert admit(Connection(FULL), "initialize", protocolVersion=wanted) == HANDSHAKE


def test_a_handshake_without_a_revision_agrees_on_nothing() -> None:
    connection = Connection(FULL)
    with pytest.raises(RpcError, match="protocolVersion must be a string"):
        admit(connection, "initialize")
    assert connection.revision is None


def test_an_enveloped_request_needs_no_handshake() -> None:
    meta = {REVISION_KEY: STATELESS, CAPABILITIES_KEY: {}}
    assert admit(Connection(FULL), "tools/list", _meta=meta) == STATELESS


def test_both_eras_are_served_on_one_connection() -> None:
    connection = Connection(FULL)
    meta = {REVISION_KEY: STATELESS, CAPABILITIES_KEY: {}}
    assert admit(connection, "tools/list", _meta=meta) == STATELESS
    assert admit(connection, "initialize", protocolVersion="2025-06-18") == "2025-06-18"
    assert admit(connection, "tools/list", _meta=meta) == STATELESS
    assert admit(connection, "tools/list", _meta={"progressToken": 1}) == "2025-06-18"


def test_ping_needs_no_handshake() -> None:
    assert admit(Connection(FULL), "ping") == HANDSHAKE


@in_one_test("meta", [None, [], {}, {"progressToken": 1}, {CAPABILITIES_KEY: {}}])
def test_a_request_of_no_era_is_told_both_ways(meta: object) -> None:
    code, message, _ = not_admitted("tools/list", _meta=meta)
    assert code == -32602
    assert REVISION_KEY in message
    assert "initialize" in message


@pytest.mark.parametrize("method", ["tools/call", "resources/list"])
def test_what_comes_with_a_request_is_heard(method: str) -> None:
    heard: list[Mapping[str, Any]] = []
    server = make_server(on_meta=heard.append, resources=[Resource("s://a", "a", "A.", lambda _: "a")])
    server.answer(Request(1, method, {"name": "echo"}), HANDSHAKE, Call(lambda: None, {"threadId": "t"}))
    assert heard == [{"threadId": "t"}]


def test_an_unknown_method_is_told_before_any_handshake() -> None:
    assert not_admitted("no/such")[0] == -32601


@in_one_test(
    ("meta", "told"),
    [
        ({REVISION_KEY: STATELESS}, CAPABILITIES_KEY),
        ({REVISION_KEY: STATELESS, CAPABILITIES_KEY: None}, CAPABILITIES_KEY),
        ({REVISION_KEY: 20260728, CAPABILITIES_KEY: {}}, "must be a string"),
        ({REVISION_KEY: None, CAPABILITIES_KEY: {}}, "must be a string"),
    ],
)
def test_a_faulty_envelope_is_refused_with_what_it_lacks(meta: dict[str, object], told: str) -> None:
    code, message, _ = not_admitted("tools/list", _meta=meta)
    assert code == -32602
    assert told in message


@pytest.mark.parametrize("revision", ["2099-01-01", "2025-11-25"])
def test_an_enveloped_revision_not_spoken_here_is_told_which_are(revision: str) -> None:
    code, _, data = not_admitted("tools/list", _meta={REVISION_KEY: revision, CAPABILITIES_KEY: {}})
    assert code == -32022
    assert data == {
        "supported": ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
        "requested": revision,
    }


# Answers.


def test_the_handshake_is_answered_with_revision_capabilities_and_instructions() -> None:
    assert ask(FULL, "initialize", "2025-06-18") == {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
        "serverInfo": {"name": "test", "version": "1"},
        "instructions": "Use it well.",
    }


def test_discovery_is_answered_with_the_stateless_revisions_alone() -> None:
    assert ask(FULL, "server/discover", STATELESS) == {
        "resultType": "complete",
        "ttlMs": 0,
        "cacheScope": "private",
        "supportedVersions": [STATELESS],
        "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
        "instructions": "Use it well.",
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "test", "version": "1"}},
    }


@pytest.mark.parametrize(
    ("method", "revision"),
    [("server/discover", HANDSHAKE), ("ping", STATELESS), ("initialize", STATELESS)],
)
def test_a_method_of_the_other_era_is_unknown(method: str, revision: str) -> None:
    assert refusal(FULL, method, revision)[0] == -32601


@in_one_test("method", ["logging/setLevel", "completion/complete", "resources/subscribe", "subscriptions/listen"])
@in_one_test("revision", [HANDSHAKE, STATELESS])
def test_what_is_not_advertised_is_unknown(method: str, revision: str) -> None:
    assert refusal(FULL, method, revision)[0] == -32601


def test_a_server_without_resources_and_prompts_advertises_none() -> None:
    bare = make_server()
    assert ask(bare, "initialize")["capabilities"] == {"tools": {}}
    assert refusal(bare, "resources/list")[0] == -32601
    assert refusal(bare, "prompts/list")[0] == -32601


@in_one_test(
    ("method", "params", "cacheable"),
    [
        ("tools/list", {}, True),
        ("resources/list", {}, True),
        ("resources/templates/list", {}, True),
        ("resources/read", {"uri": "s://plain"}, True),
        ("prompts/list", {}, True),
        ("prompts/get", {"name": "plain"}, False),
        ("tools/call", {"name": "echo"}, False),
    ],
)
def test_only_the_results_that_may_be_kept_say_for_how_long(
    method: str, params: dict[str, Any], cacheable: bool
) -> None:
    result = ask(FULL, method, STATELESS, **params)
    assert ("ttlMs" in result, "cacheScope" in result) == (cacheable, cacheable)


@in_one_test("method", ["tools/list", "resources/list", "resources/templates/list", "prompts/list"])
def test_a_cursor_that_was_never_given_out_is_refused(method: str) -> None:
    assert refusal(FULL, method, cursor="x")[0] == -32602
    assert ask(FULL, method, cursor=None) == ask(FULL, method)


@in_one_test(
    ("method", "params"),
    [
        ("tools/call", {}),
        ("tools/call", {"name": 5}),
        ("tools/call", {"name": "echo", "arguments": []}),
        ("tools/call", {"name": "echo", "arguments": '{"text": "x"}'}),
        ("resources/read", {}),
        ("resources/read", {"uri": ["s://plain"]}),
        ("prompts/get", {"name": None}),
        ("prompts/get", {"name": "plain", "arguments": "x"}),
    ],
)
def test_params_of_the_wrong_shape_are_refused(method: str, params: dict[str, Any]) -> None:
    assert refusal(FULL, method, **params)[0] == -32602


def test_arguments_may_be_left_out_or_null() -> None:
    assert ask(FULL, "tools/call", name="echo") == ask(FULL, "tools/call", name="echo", arguments=None)


def test_a_resource_goes_before_a_template_with_the_same_address() -> None:
    assert ask(FULL, "resources/read", uri="s://runs/all")["contents"][0]["text"] == "all runs"
    assert ask(FULL, "resources/read", uri="s://runs/r7")["contents"][0]["text"] == "r7"


@pytest.mark.parametrize(("revision", "code"), [(HANDSHAKE, -32002), (STATELESS, -32602)])
def test_an_unknown_resource_is_told_in_the_revisions_own_code(revision: str, code: int) -> None:
    uri = "s://none"
    assert refusal(FULL, "resources/read", revision, uri=uri) == (
        code,
        "no resource has the address 's://none'",
        {"uri": uri},
    )


def test_an_unknown_prompt_is_refused_with_the_nearest_name() -> None:
    code, message, data = refusal(FULL, "prompts/get", name="plane")
    assert (code, data) == (-32602, {"code": "invalid_input"})
    assert "Did you mean 'plain'" in message


@pytest.mark.parametrize(
    ("method", "params"),
    [("resources/read", {"uri": "s://missing"}), ("prompts/get", {"name": "missing"})],
)
def test_an_error_on_purpose_is_told_with_its_code(method: str, params: dict[str, Any]) -> None:
    assert refusal(FULL, method, **params) == (
        -32602,
        "it is gone. List what there is",
        {"code": "not_found"},
    )


@pytest.mark.parametrize(
    ("method", "params"),
    [("resources/read", {"uri": "s://broken"}), ("prompts/get", {"name": "broken"})],
)
def test_a_fault_is_logged_and_its_text_kept_from_the_client(
    method: str, params: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert refusal(FULL, method, **params) == (-32603, "internal error; see the server's log", None)
    assert "hunter2" in capsys.readouterr().err
