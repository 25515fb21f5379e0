"""``satchel serve`` as a process, which can be killed and started again at its port."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from http_serving import Served
from satchel import open_satchel
from satchel.base.clock import system_clock
from satchel.base.folders import state_folder
from satchel.interfaces.http.server import bind
from satchel.interfaces.http.tokens import Tokens


class ServerProcess:
    """A server in a process of its own, at one port.

    Args:
        environ: what its environment has beside that of the test.
        options: further ones of ``satchel serve``.

    Attributes:
        port: where it listens.
        proxy_port: where a proxy before it may listen.
    """

    def __init__(self, environ: Mapping[str, str] | None = None, *options: str) -> None:
        listeners = [bind("127.0.0.1", 0) for _ in range(2)]
        self.port, self.proxy_port = (int(one.getsockname()[1]) for one in listeners)
        for one in listeners:
            one.close()
        # it is asked by the name of what lies between
        self._options = ("--host-name", f"127.0.0.1:{self.proxy_port}", *options)
        self._environ = {**os.environ, **(environ or {})}
        self._process: subprocess.Popen[str] | None = None
        self.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "satchel", "serve", "--port", str(self.port), "--json", *self._options],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=self._environ,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline().startswith("{")

    def kill(self) -> None:
        """End it by SIGKILL, if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            assert self._process.stdout is not None
            self._process.stdout.close()
            self._process = None

    def restart(self) -> None:
        """Kill it and start it again."""
        self.kill()
        self.start()

    def ask(self, *given: object, **named: object) -> object:
        """Ask it as :meth:`http_serving.Served.ask` does."""
        return Served(None, None, self.port).ask(*given, **named)  # type: ignore[arg-type]


def made_store(folder: Path) -> Path:
    """Make a store in a folder and return its file."""
    (folder / ".git").mkdir(parents=True)
    with open_satchel(cwd=folder, environ={}) as satchel, satchel.workplace.engine.write():
        return satchel.place.file


def token_for(store: Path, project: str, **rights: object) -> str:
    """Make a token of this user."""
    name = f"t{len(Tokens(state_folder(), system_clock).every())}"
    return Tokens(state_folder(), system_clock).new(name, store=store, project=project, **rights)[1]  # type: ignore[arg-type]
