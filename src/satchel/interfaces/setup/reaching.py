"""Whether a server answers, and takes the token, before its address is written."""

from __future__ import annotations

import json
from urllib.parse import urlsplit

from satchel.base.errors import InvalidInput, Refused, Unreachable
from satchel.base.text import shortened

_SECONDS = 5.0
_MOST_BYTES = 65_536
_NO_SERVER = "Check the address; it is that of a `satchel serve`, or of the proxy in front of it"


def reach(url: str, token: str) -> str:
    """Ask a server for its health with a token, and return a sentence about its answer."""
    if url.startswith("http:"):
        _checked(url, *_asked(url, None))
    fields = _checked(url, *_asked(url, token))
    if "project" not in fields:
        return "the server answers, and does not say whether it takes the token"
    project = _printable(str(fields["project"]))
    if fields.get("store", "ok") != "ok":
        return f"the server takes the token for project {project}, but its store is {_printable(str(fields['store']))}"
    return f"the server takes the token, for project {project}"


def _checked(url: str, status: int, headers: dict[str, str], body: bytes) -> dict[str, object]:
    if status in {301, 302, 303, 307, 308}:
        raise InvalidInput(
            f"{url} leads elsewhere: {_printable(headers.get('location', 'it does not say where'))}",
            "Name the address that it leads to; a token is not sent on",
        )
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise InvalidInput(f"what answers at {url} is no server of Satchel (status {status})", _NO_SERVER)
    error = fields.get("error")
    if isinstance(error, dict):
        problem, remedy = (_printable(str(error.get(key, ""))) for key in ("problem", "remedy"))
        if status == 401:
            raise Refused(f"the server {url} does not take this token: {problem}", remedy)
        raise InvalidInput(f"the server {url} answers {status}: {problem}", remedy or _NO_SERVER)
    if status not in {200, 503} or "status" not in fields:
        raise InvalidInput(f"what answers at {url} is no server of Satchel (status {status})", _NO_SERVER)
    return fields


def _asked(url: str, token: str | None) -> tuple[int, dict[str, str], bytes]:
    from http.client import HTTPException  # as the next, only for this

    from satchel.remote.connection import ask, connect, prove

    parts = urlsplit(url)
    try:
        with connect(parts, _SECONDS) as sock:
            if token is not None and parts.scheme == "http":
                try:
                    prove(sock, parts.path, parts.netloc, token)
                except Refused as error:
                    raise Refused(f"the server {url} does not take this token: {error.problem}", error.remedy) from None
            headers = {} if token is None else {"Authorization": f"Bearer {token}"}
            with ask(sock, "GET", f"{parts.path}/health", parts.netloc, headers) as answer:
                received = {name.lower(): value for name, value in answer.getheaders()}
                return answer.status, received, answer.read(_MOST_BYTES)
    except (OSError, HTTPException) as error:
        why = _printable(str(error) or type(error).__name__)
        raise Unreachable(
            f"the server {url} cannot be reached ({why})",
            "Nothing was written; check address and network, or add --offline to write it without asking",
        ) from error


def _printable(text: str) -> str:
    return shortened("".join(char if char.isprintable() else " " for char in text), 200)
