"""JSON-RPC 2.0 messages: parsed from untrusted input, and encoded so that any client can read them.

Source: the JSON-RPC 2.0 specification; the Model Context Protocol narrows ids to strings and integers
and params to objects, in every revision.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from satchel.base.records import dataclass

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

MAX_DEPTH = 64

Id = str | int

_SURROGATE = "[\ud800-\udfff]"
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


class RpcError(Exception):
    """A request answered with a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


@dataclass(frozen=True, slots=True)
class Request:
    """A message that expects exactly one answer."""

    id: Id
    method: str
    params: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Notification:
    """A message that expects no answer."""

    method: str
    params: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Rejected:
    """An invalid message; the id is None if it could not be read."""

    id: Id | None
    error: RpcError


def parse(text: bytes) -> Any:
    """Parse a line or body as JSON."""
    try:
        return json.loads(text.decode())
    except UnicodeDecodeError as error:
        raise RpcError(PARSE_ERROR, f"the message is not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise RpcError(PARSE_ERROR, f"the message is not JSON: {error.msg} at character {error.pos}") from None
    except ValueError:  # the interpreter's limit on digits
        raise RpcError(PARSE_ERROR, "the message holds a number with too many digits") from None
    except RecursionError:
        raise RpcError(PARSE_ERROR, f"the message nests deeper than {MAX_DEPTH}") from None


def read_message(value: object, *, may_nest: bool = True) -> Request | Notification | Rejected | None:
    if not isinstance(value, dict):
        return Rejected(None, RpcError(INVALID_REQUEST, "a message must be an object"))
    if "method" not in value and ("result" in value or "error" in value):
        return None
    raw_id = value.get("id")
    known_id: Id | None = raw_id if type(raw_id) in {str, int} else None
    try:
        method, params = _read_body(value, may_nest)
        if "id" in value and known_id is None:
            raise RpcError(INVALID_REQUEST, "id must be a string or an integer")
    except RpcError as error:
        return None if _is_notification(value) else Rejected(known_id, error)
    return Notification(method, params) if known_id is None else Request(known_id, method, params)


def _read_body(value: Mapping[str, Any], may_nest: bool) -> tuple[str, Mapping[str, Any]]:
    if may_nest and _too_deep(value):
        raise RpcError(INVALID_REQUEST, f"the message nests deeper than {MAX_DEPTH}")
    if value.get("jsonrpc") != "2.0":
        raise RpcError(INVALID_REQUEST, 'jsonrpc must be "2.0"')
    method, params = value.get("method"), value.get("params")
    if not isinstance(method, str):
        raise RpcError(INVALID_REQUEST, "method must be a string")
    if params is None:
        return method, {}
    if not isinstance(params, dict):
        raise RpcError(INVALID_PARAMS, "params must be an object")
    return method, params


def _is_notification(value: Mapping[str, object]) -> bool:
    return value.get("jsonrpc") == "2.0" and isinstance(value.get("method"), str) and "id" not in value


def _too_deep(value: Mapping[str, Any]) -> bool:
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, (dict, list))
        ]
        if not level:
            return False
    return True


def encode_result(request_id: Id, result: Mapping[str, Any]) -> bytes:
    """Return the answer to a request, without a newline."""
    return _envelope(request_id, b"result", result)


def encode_error(request_id: Id | None, error: RpcError) -> bytes:
    """Return an error answer, without a newline; its id is null when the request's could not be read."""
    body: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.data is not None:
        body["data"] = error.data
    return _envelope(request_id, b"error", body)


def encode_notification(method: str, params: Mapping[str, Any]) -> bytes:
    return _utf8({"jsonrpc": "2.0", "method": method, "params": params})


def _envelope(request_id: Id | None, kind: bytes, body: Mapping[str, Any]) -> bytes:
    # The id goes back unchanged, escapes included: the client matches its request by it.
    return b'{"jsonrpc":"2.0","id":%b,"%b":%b}' % (json.dumps(request_id).encode(), kind, _utf8(body))


def _utf8(body: Mapping[str, Any]) -> bytes:
    text = _encode(body)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return re.sub(_SURROGATE, "\ufffd", text).encode()
