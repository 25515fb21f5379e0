"""What tells contents apart, in the state of conversations and among the contents that diffs are made from."""

from __future__ import annotations

DIGEST_BYTES = 16
"""Half of SHA-256: two contents that agree by chance are not to be expected among less than 2^64 of them."""


def digest_of(data: bytes) -> bytes:
    """Return the digest of a content: the first 16 bytes of its SHA-256."""
    import hashlib

    return hashlib.sha256(data).digest()[:DIGEST_BYTES]


def digest_of_text(text: str) -> bytes:
    """Return the digest of a text in UTF-8; lone surrogates count as what they are stored as."""
    return digest_of(text.encode("utf-8", "surrogatepass"))
