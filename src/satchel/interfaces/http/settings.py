"""What a server takes from callers before it refuses: sizes, times and rates; and the names that it answers to."""

from __future__ import annotations

from satchel.base.records import dataclass, field

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """What those may take who listen to streams of events.

    Attributes:
        in_all, of_token: how many may listen at once, and with one token.
        queue: how many messages wait for one listener. What is more is not kept: it is read again from the store.
        stalled_seconds: one that takes nothing for so long is cut; at ``write_seconds`` its connection ends.
        heartbeat_seconds: so often one hears something, though nothing happens, and its token is looked at again.
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
        host_names: what callers may call it in ``Host`` beside the loopback names, each with a port or without.
        behind_tls: whether a program in front of it ends TLS, so that it is reached by ``https`` too.
        body_bytes: the largest body of a request.
        bodies_bytes: what the bodies that are being read may take together.
        head_bytes: the longest request line with all headers.
        head_seconds: how long a connection may take to send a whole request head.
        body_seconds: how long a body may take to arrive.
        write_seconds: how long a caller may leave an answer unread.
        keep_alive_seconds: how long a connection is kept for its next request.
        connections: how many connections are held; requests on more are refused.
        requests_per_minute: of one token.
        failures_per_minute: how many requests with a wrong token are told so, of one address.
        remembered: of how many tokens and of how many addresses the rate is known.
        grace_seconds: how long requests may go on once the server was told to stop.
        health_seconds: how long what was found out about a store counts.
        streams: the limits of those who listen to events.
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
