"""Opening a Satchel, on a local store or on a server."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from satchel.base.folders import current_folder
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
    """Open the store of a folder: that of its server if one is configured, else the local one.

    A store named by ``db`` takes precedence.
    """
    environ = os.environ if environ is None else environ
    if db is None:
        folder = Path(cwd) if cwd is not None else current_folder()
        server = server_for(environ, folder)
        if server is not None:
            from satchel.remote.service import open_server  # slow to import, mostly because of HTTP

            return open_server(server, folder, environ, project, agent, run, read_only, settings, caller)
    return open_satchel(
        db, project, agent, run, cwd=cwd, environ=environ, read_only=read_only, settings=settings, caller=caller, **more
    )
