"""Opening a Satchel: the store of this machine, or one that a server has."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from satchel.client import Satchel, open_satchel
from satchel.keep.sessions.caller import Caller
from satchel.remote.where import server_for


def open_anywhere(
    db: str | os.PathLike[str] | None = None,
    project: str | None = None,
    agent: str | None = None,
    run: str | None = None,
    *,
    cwd: str | os.PathLike[str] | None = None,
    environ: Mapping[str, str] | None = None,
    read_only: bool = False,
    settings: Mapping[str, object] | None = None,
    caller: str | Caller | None = None,
    **more: Any,
) -> Satchel:
    """Open what a folder works with: the store of a server where one is named, else that of this machine.

    A store that ``db`` names comes first.

    Args:
        more: as for :func:`satchel.client.open_satchel`, as are the others.
    """
    environ = os.environ if environ is None else environ
    if db is None:
        folder = Path(cwd) if cwd is not None else Path.cwd()
        server = server_for(environ, folder)
        if server is not None:
            from satchel.remote.service import open_server  # 20 ms, most of it for HTTP

            return open_server(server, folder, environ, project, agent, run, read_only, settings, caller)
    return open_satchel(
        db,
        project,
        agent,
        run,
        cwd=cwd,
        environ=environ,
        read_only=read_only,
        settings=settings,
        caller=caller,
        **more,
    )
