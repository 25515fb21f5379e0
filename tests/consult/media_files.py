"""Images and documents for tests."""

from __future__ import annotations

import struct
import zlib


def png(width: int = 30, height: int = 20, *, header_size: tuple[int, int] | None = None) -> bytes:
    """A black image; another size may be written into its header."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", *(header_size or (width, height)), 8, 2, 0, 0, 0)
    rows = zlib.compress((b"\0" + bytes(3 * width)) * height)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def pdf(pages: int = 2, *, is_packed: bool = False) -> bytes:
    """A document of empty pages; they may be compressed."""
    objects = b"<< /Type /Pages >>" + b"<</Type/Page /Parent 1 0 R>>" * pages
    if is_packed:
        packed = zlib.compress(objects)
        objects = b"<</Type /ObjStm /Length %d>>\nstream\r\n%s\nendstream" % (len(packed), packed)
    return b"%PDF-1.7\n" + objects + b"\n%%EOF\n"
