"""The address of a provider as it may be shown: without a name, a password or a query, which may hold a key."""

from __future__ import annotations

import re

from satchel.redaction import redact

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)(?:[^/?#]*@)?([^?#]*)")
_SHOWN_CHARS = 200


def public_address(url: str) -> str:
    """Return what may be shown of an address: scheme, host, port and path, at most 200 characters.

    Format: https://www.rfc-editor.org/rfc/rfc3986#section-3.2
    """
    printable = "".join(char for char in url if char.isprintable()).strip()
    parts = _URL.match(printable)
    if parts is not None:
        shown = redact(parts[1] + parts[2].rstrip("/")).text
    else:
        # no address at all: what stands before an @ may still be meant as a password
        shown = "(not a URL)" if "@" in printable else redact(re.split(r"[?#]", printable)[0]).text
    return shown if len(shown) <= _SHOWN_CHARS else f"{shown[: _SHOWN_CHARS - 1]}…"
