from __future__ import annotations

import json

import pytest

from satchel.interfaces.mcp.jsonrpc import (
    Rejected,
    RpcError,
    encode_error,
    encode_notification,
    encode_result,
    parse,
    read_message,
)
from tables import in_one_test


def nested(depth: int) -> dict[str, object]:
    """Return a message whose objects and lists nest to this depth."""
    inner: list[object] = []
    for _ in range(depth - 3):
        inner = [inner]
    return {"jsonrpc": "2.0", "id": 1, "method": "m", "params": {"x": inner}}


def test_the_deepest_allowed_message_is_read() -> None:
    assert not isinstance(read_message(nested(64)), Rejected)


def test_a_message_one_level_deeper_is_refused_under_its_id() -> None:
    rejected = read_message(nested(65))
    assert isinstance(rejected, Rejected)
    assert (rejected.id, rejected.error.message) == (1, "the message nests deeper than 64")


@in_one_test(
    ("line", "told"),
    [
        (b"\xff", "not UTF-8 at byte 0"),
        (b"{]", "not JSON: .* at character 1"),
        (b"1" * 5_000, "too many digits"),
        (b"[" * 100_000, "nests deeper"),
    ],
)
def test_what_is_wrong_with_a_line_is_told(line: bytes, told: str) -> None:
    with pytest.raises(RpcError, match=told) as caught:
        parse(line)
    assert caught.value.code == -32700


def test_a_message_with_an_id_and_a_result_is_an_answer() -> None:
    assert read_message({"jsonrpc": "2.0", "id": 1, "result": {}}) is None


def test_a_faulty_notification_is_not_answered() -> None:
    assert read_message({"jsonrpc": "2.0", "method": "m", "params": 3}) is None


@in_one_test("request_id", ["\ud800", '"', "\u2028", 10**4_000])
def test_an_id_survives_the_round_trip(request_id: str | int) -> None:
    assert json.loads(encode_result(request_id, {}))["id"] == request_id


def test_a_lone_surrogate_is_replaced_in_every_kind_of_message() -> None:
    for message in (
        encode_result(1, {"text": "\udc00"}),
        encode_error(1, RpcError(-32602, "\udc00")),
        encode_notification("m", {"message": "\udc00"}),
    ):
        assert "\ufffd" in message.decode()


def test_a_message_is_one_line_whatever_its_text() -> None:
    assert encode_result(1, {"text": "a\nb\r\u0085"}).splitlines() == [encode_result(1, {"text": "a\nb\r\u0085"})]


def test_an_error_has_data_only_if_there_is_some() -> None:
    assert json.loads(encode_error(None, RpcError(-32700, "x"))) == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": -32700, "message": "x"},
    }
    assert json.loads(encode_error(1, RpcError(-32700, "x", {"a": 1})))["error"]["data"] == {"a": 1}
