"""The rules of MCP's streamable HTTP transport, for any web server: media types, headers, statuses, events."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final

from satchel.interfaces.mcp import jsonrpc, protocol
from satchel.interfaces.mcp.jsonrpc import Id, Notification, Rejected, Request, RpcError

REVISION_HEADER: Final = "mcp-protocol-version"
METHOD_HEADER: Final = "mcp-method"
NAME_HEADER: Final = "mcp-name"
SESSION_ID_HEADER: Final = "mcp-session-id"

JSON: Final = "application/json"
EVENT_STREAM: Final = "text/event-stream"

HEADER_MISMATCH: Final = -32020
_REVISION_WITHOUT_HEADER: Final = protocol.BATCH_REVISION
"""The revision of a client that sends no header, which 2025-06-18 introduced."""

_NAMED_BY: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""By method, the parameter that the header ``Mcp-Name`` repeats."""

_STATUSES: Final = {
    jsonrpc.PARSE_ERROR: 400,
    jsonrpc.INVALID_REQUEST: 400,
    jsonrpc.INVALID_PARAMS: 400,
    jsonrpc.METHOD_NOT_FOUND: 404,
    HEADER_MISMATCH: 400,
    protocol.UNSUPPORTED_REVISION: 400,
}

KEEP_ALIVE_EVENT: Final = b": keep-alive\r\n\r\n"


class TransportError(Exception):
    """A message refused by the transport."""

    def __init__(self, status: int, error: RpcError, id: Id | None = None) -> None:  # noqa: A002 -- JSON-RPC's name
        super().__init__(error.message)
        self.status = status
        self.body = jsonrpc.encode_error(id, error)


def check_media_types(content_type: str, accept: str) -> None:
    """Check that a client sends JSON and accepts both kinds of response."""
    types = {_media_type(one) for one in accept.split(",")}
    if not (types & {"*/*", "application/*", JSON} and types & {"*/*", "text/*", EVENT_STREAM}):
        raise _invalid(406, f"Accept must list both {JSON} and {EVENT_STREAM}")
    if _media_type(content_type) != JSON:
        raise _invalid(415, f"Content-Type must be {JSON}")


def read_body(body: bytes) -> Request | Notification | None:
    """Return the one message of a body; None for an answer, since this server sends no requests."""
    try:
        value = jsonrpc.parse(body)
    except RpcError as error:
        raise TransportError(400, error) from None
    if isinstance(value, list):
        raise _invalid(400, "the body must be one message: send those of a batch one by one")
    message = jsonrpc.read_message(value)
    if isinstance(message, Rejected):
        raise TransportError(400, message.error, message.id)
    return message


def admit(server: protocol.Server[Any], request: Request, headers: Mapping[str, str]) -> str:
    """Return the revision for a request."""
    connection, header = protocol.Connection(server), headers.get(REVISION_HEADER)
    try:
        if request.method == "initialize":
            return connection.admit(request)
        if protocol.REVISION_KEY in protocol.meta_of(request):
            _check_headers(request, headers)
        elif header is None or header in protocol.HANDSHAKE_REVISIONS:
            connection.revision = header or _REVISION_WITHOUT_HEADER
        elif header not in protocol.STATELESS_REVISIONS:
            raise protocol.unsupported_revision(header)
        revision = connection.admit(request)
    except RpcError as error:
        raise TransportError(_STATUSES.get(error.code, 400), error, request.id) from None
    if revision in protocol.HANDSHAKE_REVISIONS and SESSION_ID_HEADER in headers:
        problem = "there is no such session, and none is needed: initialize again, and leave out Mcp-Session-Id"
        raise TransportError(404, RpcError(jsonrpc.INVALID_REQUEST, problem), request.id)
    return revision


def status_of(error: RpcError, revision: str) -> int:
    """Return the HTTP status of an error answer, which is 200 in the handshake era."""
    return _STATUSES.get(error.code, 200) if revision in protocol.STATELESS_REVISIONS else 200


def encode_event(message: bytes) -> bytes:
    """Return a message as a server-sent event."""
    return b"event: message\r\ndata: %b\r\n\r\n" % message


def _check_headers(request: Request, headers: Mapping[str, str]) -> None:
    expected = {REVISION_HEADER: protocol.meta_of(request)[protocol.REVISION_KEY], METHOD_HEADER: request.method}
    name = request.params.get(_NAMED_BY.get(request.method, ""))
    if name is not None:
        expected[NAME_HEADER] = name
    for header, value in expected.items():
        if _decoded(headers.get(header)) != value:
            raise RpcError(HEADER_MISMATCH, f"the header {header} does not match the message")


def _decoded(header: str | None) -> str | None:
    if header is None or not (header.startswith("=?base64?") and header.endswith("?=")):
        return header
    try:
        return base64.b64decode(header[9:-2], validate=True).decode()
    except ValueError:
        return None


def _media_type(text: str) -> str:
    return text.partition(";")[0].strip().lower()


def _invalid(status: int, problem: str) -> TransportError:
    return TransportError(status, RpcError(jsonrpc.INVALID_REQUEST, problem))
