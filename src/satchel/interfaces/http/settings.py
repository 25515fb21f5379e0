"""The limits of a server (sizes, times, rates) and the names that it answers to."""

from __future__ import annotations

from satchel.base.records import dataclass, field

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """The limits of listeners to streams of events.

    Attributes:
        in_all, of_token: the most listeners at once, and with one token.
        queue: the most messages that wait for one listener; later ones are read again from the store.
        stalled_seconds: a listener that reads nothing for so long is cut; at ``write_seconds`` its connection ends.
        heartbeat_seconds: the time between two heartbeats, at which the token is checked again.
    """

    in_all: int = 256
    of_token: int = 32
    queue: int = 1_000
    stalled_seconds: float = 20.0
    heartbeat_seconds: float = 15.0


@dataclass(frozen=True, slots=True)
class Settings:
    """The limits of one server.

    Attributes:
        host_names: the names that callers may give in ``Host`` as well as the loopback names, with or without a port.
        behind_tls: whether a program in front of it ends TLS, so that it is reached by ``https`` too.
        body_bytes: the largest body of a request.
        bodies_bytes: the size of all bodies that are being read, together.
        head_bytes: the longest request line with all headers.
        head_seconds: the time in which a connection must send a whole request head.
        body_seconds: the time in which a body must arrive.
        write_seconds: the time after which an unread answer ends the connection.
        keep_alive_seconds: the time that a connection is kept for its next request.
        connections: the most connections; requests on further ones get status 503.
        requests_per_minute: of one token.
        failures_per_minute: requests with a wrong token from one address, before it must wait.
        remembered: the number of tokens, and of addresses, whose rate is remembered.
        grace_seconds: the time that requests have to end when the server stops.
        health_seconds: the time for which the state of a store is remembered.
        streams: the limits of listeners to events.
    """

    host_names: tuple[str, ...] = ()
    behind_tls: bool = False
    # as MAX_LINE_BYTES of mcp/stdio.py: what one transport takes the other takes too
    body_bytes: int = 16 * 1024 * 1024
    # 16 of the largest; ordinary bodies are a few KB, so only many large ones at once meet this
    bodies_bytes: int = 256 * 1024 * 1024
    # eight times what the official SDK's client sends with a token, a session and a trace
    head_bytes: int = 16 * 1024
    # over a network that loses packets a head takes one or two seconds
    head_seconds: float = 10.0
    # the largest body at 2.3 Mbit/s
    body_seconds: float = 60.0
    write_seconds: float = 30.0
    # longer than clients pause between two calls of a burst; hooks and commands are new processes and never wait here
    keep_alive_seconds: int = 15
    # with a file descriptor each, beside those of the stores
    connections: int = 1_000
    # 200 in every second: a team at one token makes a few, a loop that has gone wild thousands
    requests_per_minute: int = 12_000
    failures_per_minute: int = 60
    remembered: int = 10_000
    # a statement of a store may take longer, and is then interrupted
    grace_seconds: int = 5
    health_seconds: float = 10.0
    streams: StreamLimits = field(default_factory=StreamLimits)
