"""What is said of the server that keeps what is kept in a folder; of its token only the public id."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from satchel.base.errors import SatchelError
from satchel.remote.where import public_id, server_for


def server_fields(environ: Mapping[str, str], folder: Path) -> dict[str, str] | None:
    """Return what is known of the server for a folder; None where the store on this machine is meant.

    Returns:
        Its ``url``, the id of its ``token`` and the ``source`` of its address; of one that cannot be asked ``fault``.
    """
    try:
        server = server_for(environ, folder)
    except SatchelError as error:
        return {"fault": str(error)}
    if server is None:
        return None
    return {"url": server.url, "token": public_id(server.token), "source": server.source}


def server_line(fields: Mapping[str, str]) -> str:
    """Return it as one line."""
    if "fault" in fields:
        return fields["fault"]
    return f"{fields['url']} with token {fields['token']} ({fields['source']})"
