"""The running servers of this user: each registers its address, and removes it on exit."""

from __future__ import annotations

import os
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlsplit

from satchel.base import processes
from satchel.base.errors import Unavailable
from satchel.base.private_file import PrivateFile, from_fields, to_fields
from satchel.base.records import dataclass

SERVER_HEADER = "satchel"
_FILE_NAME, _SCHEMA = "servers.json", 1
_PROBE_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Running:
    """A running server.

    Attributes:
        url: its address.
        port: its port.
        pid: its process.
        started: when the process started, as in :class:`satchel.base.processes.Process`.
    """

    url: str
    port: int
    pid: int
    started: int


class Servers:
    """The servers of one user."""

    def __init__(self, folder: Path) -> None:
        self._file = PrivateFile(
            folder / _FILE_NAME,
            "the list of servers",
            schema=_SCHEMA,
            parse=lambda fields: [from_fields(Running, one) for one in fields["servers"]],
            empty=list[Running],
            remedy="Remove it, then start the servers again",
        )

    def enter(self, url: str, port: int) -> None:
        own = processes.own()
        running = Running(url, port, os.getpid(), 0 if own is None else own.started)
        with self._file.changing() as servers:
            self._save([one for one in servers if _is_alive(one) and one.pid != running.pid] + [running])

    def leave(self) -> None:
        with self._file.changing() as servers:
            self._save([one for one in servers if _is_alive(one) and one.pid != os.getpid()])

    def alive(self) -> list[Running]:
        """Return the registered servers whose processes run, the most recently started last."""
        return [one for one in self._file.load() if _is_alive(one)]

    def find(self, port: int | None = None) -> Running:
        """Return the most recently started server that responds."""
        for one in reversed([one for one in self.alive() if port in {None, one.port}]):
            where = urlsplit(one.url)
            if is_satchel(where.hostname or "", one.port, where.netloc, _PROBE_SECONDS):
                return one
        at_port = "" if port is None else f" at port {port}"
        raise Unavailable(f"no server of this user runs{at_port}", "Start one with `satchel serve`, then ask again")

    def _save(self, servers: list[Running]) -> None:
        self._file.save({"servers": [to_fields(one) for one in servers]})


def _is_alive(one: Running) -> bool:
    process = processes.find(one.pid)
    return process is not None and one.started in {0, process.started}


def is_satchel(host: str, port: int, name: str, seconds: float) -> bool:
    """Return whether a Satchel server answers at an address within some seconds; ``name`` is the ``Host`` header."""
    connection = HTTPConnection(host, port, timeout=seconds)
    try:
        connection.request("GET", "/health", headers={"Host": name})
        return connection.getresponse().getheader("server") == SERVER_HEADER
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
