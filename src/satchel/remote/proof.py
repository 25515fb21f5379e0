"""Proof that a server knows a token, asked for before the token is sent to it over plain HTTP.

Whatever listens at the port of a stopped server would otherwise receive the tokens of its clients. The server answers a
nonce with a MAC whose key is the digest of the token that it stores; the token itself is not sent. The MAC covers the
``Host`` header too, so that no program can pass the question on to the server at another address.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress

from satchel.base import wire
from satchel.base.errors import SatchelError, Unreachable
from satchel.base.text import clean_content

TYPE_CHECKING = False  # importing typing takes 4 ms
if TYPE_CHECKING:
    from http.client import HTTPConnection

PATH = "/proof"
NONCE = re.compile(r"[0-9a-f]{32}")
_MOST_BYTES = 4_096
_TOKEN = re.compile(r"satchel_([0-9a-f]{10})_(.+)")


def prove(connection: HTTPConnection, path: str, host: str, token: str) -> None:
    """Check that the server of a connection knows a token, without sending the token.

    Args:
        connection: an open connection, which stays open.
        path: what precedes the path of every request to the server.
        host: the ``Host`` header.
        token: the token.

    Raises:
        Unreachable: what answers has not proven it.
        SatchelError: the error of the server, which does not know the token or accepts no requests.
        OSError: the connection failed; as does http.client.HTTPException.
    """
    token_id, key = identify(token)
    nonce = os.urandom(16).hex()
    headers = {"Host": host, "Accept": "application/json"}
    connection.request("GET", f"{path}{PATH}?token={token_id}&nonce={nonce}", headers=headers)
    connection.send(b"")  # which ends a head that waits for its body
    response = connection.getresponse()
    body = response.read(_MOST_BYTES)
    fields = None
    with suppress(ValueError, RecursionError):
        fields = json.loads(body)
    if response.status != 200 and (error := error_in(fields)) is not None:
        raise error
    if response.status != 200 or not isinstance(fields, dict) or "proof" not in fields:
        kind = plain(response.headers.get("Content-Type", "") or "no type")[:80]
        raise Unreachable(
            f"what answered is no Satchel server: status {response.status}, {kind}",
            "Your token was not sent. See that SATCHEL_URL or server.url names the server itself, and what stands in "
            "front of it",
        )
    if fields["proof"] != proof(key, host, nonce):
        raise Unreachable(
            f"the program at {host} does not know your token: it is not the server that made it",
            "Your token was not sent. Start the server again at its address, or correct SATCHEL_URL or server.url",
        )
    if response.will_close or response.length:
        raise Unreachable(
            f"the program at {host} ends connections after one answer",
            "Your token was not sent. A proxy in front of the server must keep connections open, or end TLS",
        )


def identify(token: str) -> tuple[str, bytes]:
    """Return the public id of a token, and the digest of its secret."""
    from hashlib import sha256  # slow to import

    match = _TOKEN.fullmatch(token)
    digest = sha256((match[2] if match else token).encode()).digest()
    return (match[1] if match else digest.hex()[:10]), digest


def proof(key: bytes, host: str, nonce: str) -> str:
    """Return the proof for a nonce by the one who knows the digest of a token's secret."""
    from hashlib import blake2b  # as above

    return blake2b(f"satchel server\n{host}\n{nonce}".encode("latin-1", "replace"), key=key, digest_size=32).hexdigest()


def error_in(fields: object) -> SatchelError | None:
    """Return the error that a server has answered with; None for any other answer."""
    error = fields.get("error") if isinstance(fields, dict) else None
    if not isinstance(error, dict) or not all(isinstance(error.get(name), str) for name in ("code", "problem")):
        return None
    return wire.error_of({name: plain(text) for name, text in error.items() if isinstance(text, str)})


def plain(text: str) -> str:
    """Return a text of a server without characters that act on a terminal, since it may be any program's."""
    return clean_content(text).text
