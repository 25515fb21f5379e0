"""The running servers of this user: each writes down its address, and removes it when it ends."""

from __future__ import annotations

import os
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlsplit

from satchel.base import processes
from satchel.base.errors import Unavailable
from satchel.base.private_file import PrivateFile, from_fields, to_fields
from satchel.base.processes import Process
from satchel.base.records import dataclass

SERVER_HEADER = "satchel"
_FILE_NAME, _SCHEMA = "servers.json", 1
_PROBE_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Running:
    """One server.

    Attributes:
        url: where it listens.
        port: there.
        pid: its process.
        started: when that started, as :class:`satchel.base.processes.Process` has it.
    """

    url: str
    port: int
    pid: int
    started: int


class Servers:
    """The servers of one user.

    Args:
        folder: the user's state folder.
    """

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
        """Write down that this process serves."""
        own = processes.own()
        running = Running(url, port, os.getpid(), 0 if own is None else own.started)
        with self._file.changing() as servers:
            self._save([one for one in servers if _is_alive(one) and one.pid != running.pid] + [running])

    def leave(self) -> None:
        """Take away what this process wrote down."""
        with self._file.changing() as servers:
            self._save([one for one in servers if _is_alive(one) and one.pid != os.getpid()])

    def find(self, port: int | None = None) -> Running:
        """Return the server that runs, started last where there are several; it has answered just now.

        Args:
            port: only the one at this port.

        Raises:
            Unavailable: none runs.
            Refused: the list is not to be believed.
        """
        alive = [one for one in self._file.load() if _is_alive(one) and port in {None, one.port}]
        for one in reversed(alive):
            if _answers(one):
                return one
        where = "" if port is None else f" at port {port}"
        raise Unavailable(f"no server of this user runs{where}", "Start one with `satchel serve`, then ask again")

    def _save(self, servers: list[Running]) -> None:
        self._file.save({"servers": [to_fields(one) for one in servers]})


def _is_alive(one: Running) -> bool:
    found = processes.find(one.pid)
    return found is not None and one.started in {0, Process(found.pid, found.started).started}


def _answers(one: Running) -> bool:
    """Whether a Satchel server answers at its address."""
    where = urlsplit(one.url)
    connection = HTTPConnection(where.hostname or "", one.port, timeout=_PROBE_SECONDS)
    try:
        connection.request("GET", "/health", headers={"Host": where.netloc})
        return connection.getresponse().getheader("server") == SERVER_HEADER
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
