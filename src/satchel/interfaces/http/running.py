"""The running servers of this user: each writes down its address, and removes it when it ends."""

from __future__ import annotations

import json
import os
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from satchel.base import processes
from satchel.base.errors import Refused, Unavailable
from satchel.base.processes import Process
from satchel.base.records import dataclass, field_names
from satchel.interfaces.http.private_file import PrivateFile

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
        self._file = PrivateFile(folder / _FILE_NAME, "the list of servers")

    def enter(self, url: str, port: int) -> None:
        """Write down that this process serves."""
        own = processes.own()
        running = Running(url, port, os.getpid(), 0 if own is None else own.started)
        with self._file.changing():
            self._save([one for one in self._load() if _is_alive(one) and one.pid != running.pid] + [running])

    def leave(self) -> None:
        """Take away what this process wrote down."""
        with self._file.changing():
            self._save([one for one in self._load() if _is_alive(one) and one.pid != os.getpid()])

    def find(self, port: int | None = None) -> Running:
        """Return the server that runs, started last where there are several; it has answered just now.

        Args:
            port: only the one at this port.

        Raises:
            Unavailable: none runs.
            Refused: the list is not to be believed.
        """
        alive = [one for one in self._load() if _is_alive(one) and port in {None, one.port}]
        for one in reversed(alive):
            if _answers(one):
                return one
        where = "" if port is None else f" at port {port}"
        raise Unavailable(f"no server of this user runs{where}", "Start one with `satchel serve`, then ask again")

    def _load(self) -> list[Running]:
        read = self._file.read()
        if read is None:
            return []
        kinds = {"url": str, "port": int, "pid": int, "started": int}
        try:
            book: dict[str, Any] = json.loads(read[1])
            if book["schema"] != _SCHEMA:
                return []
            servers = [one for one in book["servers"] if one.keys() == kinds.keys()]
            return [Running(**one) for one in servers if all(type(one[name]) is kinds[name] for name in kinds)]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Refused(
                f"the list of servers in {self._file.path} cannot be read ({error})", "Remove it, and start them again"
            ) from error

    def _save(self, servers: list[Running]) -> None:
        fields = [{name: getattr(one, name) for name in field_names(one) or ()} for one in servers]
        self._file.replace(json.dumps({"schema": _SCHEMA, "servers": fields}, indent=1).encode())


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
