"""The names under which a server answers: what `Host` and `Origin` of a request may say."""

from __future__ import annotations

from satchel.interfaces.http.failing import Refusal
from satchel.interfaces.http.settings import LOOPBACK_NAMES, Settings

_PORTS = {"http": 80, "https": 443}


class Names:
    """What one server is called, at one of its ports.

    Args:
        settings: the names that it was started for.
        port: the one that a request came to.
    """

    def __init__(self, settings: Settings, port: int) -> None:
        self._hosts = {_with_port(name, port) for name in LOOPBACK_NAMES}
        if port == _PORTS["http"]:
            self._hosts.update(LOOPBACK_NAMES)
        self._origins = {f"http://{host}" for host in self._hosts}
        for name in map(str.lower, settings.host_names):
            hosts = {name} if _has_port(name) else {name, _with_port(name, port)}
            self._hosts |= hosts
            self._origins |= {f"http://{host}" for host in hosts}
            if settings.behind_tls:
                self._origins |= {f"https://{host}" for host in hosts}
                self._hosts |= {name, _with_port(name, _PORTS["https"])}

    def check(self, host: bytes | None, origin: bytes | None) -> None:
        """Refuse a request that was meant for another server, or that a page of another site has sent.

        Raises:
            Refusal: 421 for the host, 403 for the origin.
        """
        if host is None or _text(host) not in self._hosts:
            raise Refusal(
                421,
                "refused",
                "this server was not started for the name in Host",
                "Use the address that it printed, or start it with --host-name NAME",
            )
        if origin is not None and _text(origin) not in self._origins:
            raise Refusal(
                403,
                "refused",
                "a page of another site has sent this",
                "Programs send no Origin; pages are served only to themselves",
            )


def _text(value: bytes) -> str:
    return value.decode("latin-1").lower()


def _has_port(name: str) -> bool:
    return name.rpartition("]")[2].count(":") == 1


def _with_port(name: str, port: int) -> str:
    return f"{name}:{port}"
