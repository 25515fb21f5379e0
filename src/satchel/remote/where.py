"""Which server a folder works with."""

from __future__ import annotations

import os
from collections.abc import Mapping

from satchel.base.records import dataclass


@dataclass(frozen=True, slots=True)
class Server:
    """A server, and what gives access to it."""

    url: str
    token: str
    source: str


def server_for(environ: Mapping[str, str], folder: str | os.PathLike[str]) -> Server | None:  # noqa: ARG001
    """Return the server that a folder works with, or None."""
    url, token = environ.get("SATCHEL_URL"), environ.get("SATCHEL_TOKEN")
    return Server(url, token, "environment") if url and token else None
