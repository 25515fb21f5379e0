"""The limits of a server (sizes, times, rates), its host names, and the buckets that limit rates."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from time import monotonic

from satchel.base.records import dataclass, field

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """The limits of streams of events.

    Attributes:
        in_all, of_token: the most listeners at once, in total and per token.
        stalled_seconds: how long a listener may go without reading; at ``write_seconds`` its connection ends.
        heartbeat_seconds: the interval of heartbeats, at which the token is checked again.
    """

    in_all: int = 256
    of_token: int = 32
    stalled_seconds: float = 20.0
    heartbeat_seconds: float = 15.0


@dataclass(frozen=True, slots=True)
class Settings:
    """The limits of one server.

    Attributes:
        host_names: names accepted in ``Host`` in addition to the loopback names, with or without a port.
        behind_tls: whether a reverse proxy terminates TLS, so that it is also reached by ``https``.
        body_bytes: the largest body of a request.
        bodies_bytes: the total size of all bodies being read.
        head_bytes: the longest request line with all headers.
        head_seconds: the time limit for a request head.
        body_seconds: the time limit for a body.
        write_seconds: how long a response may stay unread before the connection ends.
        keep_alive_seconds: how long an idle connection stays open.
        connections: the most connections; requests on further ones get status 503.
        requests_per_minute: the rate limit of one token.
        failures_per_minute: the limit of requests with an invalid token from one address.
        remembered: the number of tokens, and of addresses, whose rate is tracked.
        grace_seconds: the time that requests have to end when the server stops.
        health_seconds: how long the state of a store is cached.
        streams: the limits of streams of events.
    """

    host_names: tuple[str, ...] = ()
    behind_tls: bool = False
    # eight times the longest content that is stored by default
    body_bytes: int = 2 * 1024 * 1024
    # 16 of the largest; ordinary bodies are a few KB, so only many large ones at once hit this
    bodies_bytes: int = 32 * 1024 * 1024
    # eight times what the official SDK's client sends with a token, a session and a trace
    head_bytes: int = 16 * 1024
    # over a network that loses packets a head takes one or two seconds
    head_seconds: float = 10.0
    # the largest body at 280 kbit/s
    body_seconds: float = 60.0
    write_seconds: float = 30.0
    # longer than the pauses in a burst of calls; hooks and commands are new processes and never reuse a connection
    keep_alive_seconds: int = 15
    # each takes a file descriptor, in addition to those of the stores
    connections: int = 1_000
    # 200 per second: a team with one token makes a few, a runaway loop thousands
    requests_per_minute: int = 12_000
    failures_per_minute: int = 60
    remembered: int = 10_000
    # a database statement may take longer, and is then interrupted
    grace_seconds: int = 5
    health_seconds: float = 10.0
    streams: StreamLimits = field(default_factory=StreamLimits)


class Buckets:
    """A token bucket per key, which refills evenly and holds one minute's worth.

    The least recently used key is dropped, so its bucket is full again.
    """

    def __init__(self, per_minute: int, remembered: int, now: Callable[[], float] = monotonic) -> None:
        self._per_minute = per_minute
        self._remembered = remembered
        self._now = now
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._left)

    def take(self, key: str) -> int:
        """Take a token for a key; return 0, or the whole seconds until there is one."""
        now = self._now()
        tokens, since = self._left.pop(key, (float(self._per_minute), now))
        tokens = min(float(self._per_minute), tokens + (now - since) * self._per_minute / 60)
        is_given = tokens >= 1
        self._left[key] = (tokens - is_given, now)
        if len(self._left) > self._remembered:
            self._left.popitem(last=False)
        return 0 if is_given else max(1, -int(-(1 - tokens) * 60 // self._per_minute))
