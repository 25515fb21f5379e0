"""A server for a tour of a database: a process at a free port of this machine, over a schema that goes with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from satchel.base.clock import DAY_MS, system_clock
from satchel.base.errors import Unavailable
from satchel.client import passing_schema
from satchel.interfaces.http.databases import TABLE, store_of
from satchel.interfaces.http.tokens import Tokens
from satchel.interfaces.setup.config_files import write_private

_LEAVE_SECONDS = 15.0
_STATE, _CONFIG = "XDG_STATE_HOME", "XDG_CONFIG_HOME"


@contextmanager
def team_server(url: str, project: str, folder: Path) -> Iterator[dict[str, str]]:
    """Serve a new store in a database until the block is left.

    Args:
        url: of the database.
        project: the project that the tour works in.
        folder: a folder for what the server and its callers keep.

    Returns:
        The environment variables that lead a program to the server.

    Raises:
        SatchelError: the database cannot be used, or the server does not start.
    """
    with passing_schema(url) as address:
        configuration = folder / "databases.toml"
        # in a file of this user's alone, since the command line of a process is for everybody to see
        text = f"[{TABLE}.{project}]\nurl = {json.dumps(address.url)}\nschema = {json.dumps(address.schema)}\n"
        text += "" if address.role is None else f"role = {json.dumps(address.role)}\n"
        write_private(configuration, text.encode())
        own = {_STATE: str(folder / "state"), _CONFIG: str(folder / "config")}
        tokens = Tokens(folder / "state" / "satchel", system_clock)
        _, token = tokens.new("tour", store=store_of(project), project=project, expires_at=system_clock() + DAY_MS)
        with _serving(configuration, own) as where:
            yield own | {"SATCHEL_URL": where, "SATCHEL_TOKEN": token, "SATCHEL_PROJECT": project}


@contextmanager
def _serving(configuration: Path, own: Mapping[str, str]) -> Iterator[str]:
    """Run a server, and hand out its address."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("SATCHEL_")}
    command = [sys.executable, "-m", "satchel", "serve", "--port", "0", "--json", "--config", str(configuration)]
    log = configuration.with_name("server.log")
    with log.open("wb") as errors:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**environ, **own},
            cwd=configuration.parent,
            start_new_session=True,
        )
    assert process.stdout is not None
    try:
        with process.stdout:
            said = process.stdout.readline()
            if not said:
                last = log.read_text(errors="replace").strip()[-500:]
                raise Unavailable("the tour's server did not start", f"Its last words: {last}")
            yield str(json.loads(said)["url"])
    finally:
        process.terminate()
        try:
            process.wait(_LEAVE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
