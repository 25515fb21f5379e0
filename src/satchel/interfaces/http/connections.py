"""Connections: how long one may wait, and which has to go when there are too many.

uvicorn bounds how long a connection is kept between two requests, but not how long it may take to send a request head,
nor how long an answer may stay unread; and above its limit of connections it refuses whoever asks next. So its protocol
is extended here: docs/decisions/0040.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from satchel.interfaces.http.failing import Refusal, body_of, head_too_long, headers_of
from satchel.interfaces.http.settings import Settings

_SHOWN_CHARS = 200
_RESET = struct.pack("ii", 1, 0)
"""Of ``SO_LINGER``: on, and for no time."""


def protocol_with(settings: Settings) -> type[H11Protocol]:
    """Return the protocol of connections under these limits; those of one class are counted together."""
    waiting: dict[Connection, None] = {}

    class Limited(Connection):
        limits = settings
        idle = waiting

    return Limited


class Connection(H11Protocol):
    """A connection that is closed when it keeps the server waiting.

    Attributes:
        limits: the settings of its server.
        idle: the connections that no request of is being answered, the one that has waited longest first.
    """

    limits: Settings
    idle: dict[Connection, None]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.idle[self] = None
        self._start_head_timer()
        if len(self.connections) > self.limits.connections:
            longest = next(iter(self.idle))
            del self.idle[longest]  # it is lost only later, and the next one must not choose it again
            longest.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.idle.pop(self, None)
        self._stop_head_timer()
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self.idle.pop(self, None)
            self._stop_head_timer()
        elif self._head_timer is None and not self.transport.is_closing():
            self._start_head_timer()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing() and self.conn.their_state is h11.IDLE:
            self.idle[self] = None

    def pause_writing(self) -> None:
        super().pause_writing()
        self._write_timer = self.loop.call_later(self.limits.write_seconds, self._cut)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def shutdown(self) -> None:
        """Let the connection end; for a stream whose listener takes nothing, at once."""
        if self.flow.write_paused and self.scope.get("state", {}).get("is_stream"):
            self.transport.abort()
        super().shutdown()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 -- uvicorn's signature
        """Refuse what is no request: as JSON, where uvicorn sends text."""
        error = sys.exception()
        if getattr(error, "error_status_hint", 400) == 431:
            refusal = head_too_long(self.limits.head_bytes)
        else:
            problem = f"this is no request of HTTP/1.1 ({str(error)[:_SHOWN_CHARS]})"
            refusal = Refusal(400, "invalid_input", problem, "Check what sends it")
        body = body_of(refusal)
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            headers = [*headers_of(refusal, body), (b"connection", b"close")]
            for event in (
                h11.Response(status_code=refusal.status, headers=headers),
                h11.Data(data=body),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _cut(self) -> None:
        """End the connection with a reset: the system would go on offering what it holds for its reader."""
        reached = self.transport.get_extra_info("socket")
        if reached is not None:
            reached.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.transport.abort()

    def _start_head_timer(self) -> None:
        self._head_timer = self.loop.call_later(self.limits.head_seconds, self.transport.abort)

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
