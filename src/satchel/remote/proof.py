"""Proof that a server knows a token, asked for before the token is sent to it over plain HTTP.

Whatever listens at the port of a stopped server would otherwise receive the tokens of its clients. The server answers a
nonce with a MAC whose key is the digest of the token that it stores; the token itself is not sent. The MAC covers the
``Host`` header too, so that no program can pass the question on to the server at another address.
"""

from __future__ import annotations

import re

from satchel.base import wire
from satchel.base.errors import SatchelError
from satchel.base.text import clean_content

PATH = "/proof"
NONCE = re.compile(r"[0-9a-f]{32}")
_TOKEN = re.compile(r"satchel_([0-9a-f]{10})_(.+)")


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
