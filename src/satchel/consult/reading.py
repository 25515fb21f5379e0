"""Reading of files: texts, images and PDF, and the tokens that providers count for media.

Sources, read in November 2026. Anthropic: https://platform.claude.com/docs/en/build-with-claude/vision (width times
height by 750; large images are scaled down) and .../pdf-support (1,500 to 3,000 a page). Google:
https://ai.google.dev/gemini-api/docs/media-resolution. OpenAI's guide "Images and vision", as the libraries repeat it
that count by it (openai-image-token-counter 1.0.0 on PyPI): tiles of 512 pixels, or patches of 32 for small models.
Newer models are counted as 2,500 patches at most; a page of a PDF, its text and an image, as Anthropic's. Measured
pages took up to 2,481 tokens at Anthropic and 561 at Google (the data set JOHNISKING/pdf-token-cost).
"""

from __future__ import annotations

import os
import re
import stat
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from math import ceil

from satchel.base.file_checks import open_inside, why_unreadable
from satchel.base.records import dataclass
from satchel.consult.records import Content, HeldBack, Media, SourceFile, Stat, digest_of
from satchel.redaction import first_secret

# Maximum bytes of an image or PDF: with the third that base64 adds, it fits into a request of 32 MB.
MAX_BYTES = 20 * 1024 * 1024

_MAX_SIDE = 8_000
_PDF = "application/pdf"
_ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf")
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", _PDF),
)
_MAX_INFLATED = 64 * 1024 * 1024
_CHUNK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Extent:
    """Pixels of an image, or pages of a document."""

    width: int = 0
    height: int = 0
    pages: int = 0


class Damaged(ValueError):
    """A file whose content does not match its name or header."""


def has_media_name(path: str) -> bool:
    return path.lower().endswith(_ENDINGS)


def type_of(data: bytes) -> str:
    """Return the type of an image or PDF by its first bytes."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    for magic, name in _MAGIC:
        if data.startswith(magic):
            return name
    raise Damaged("it begins as no image or PDF does; send it converted")


def measure(data: bytes) -> Extent:
    """Return the extent of a whole image or PDF."""
    try:
        extent = _MEASURES[type_of(data)](data)
    except (struct.error, IndexError, zlib.error):
        raise Damaged("its header is damaged; save it again") from None
    if not extent.pages and not (0 < extent.width <= _MAX_SIDE and 0 < extent.height <= _MAX_SIDE):
        raise Damaged(f"it has {extent.width:,} x {extent.height:,} pixels, and 1 to {_MAX_SIDE:,} are sent; resize it")
    return extent


def _png(data: bytes) -> Extent:
    size, kind, width, height, depth, colors = struct.unpack_from(">I4sIIBB", data, 8)
    if kind != b"IHDR" or size != 13 or struct.unpack_from(">I", data, 29)[0] != zlib.crc32(data[12:29]):
        raise struct.error
    samples = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}.get(colors, 0)
    needed = height * (1 + ceil(width * depth * samples / 8))
    is_interlaced, at, packed = data[28], 33, []
    for _ in range(_MAX_SEGMENTS):
        if at >= len(data):
            break
        size, kind = struct.unpack_from(">I4s", data, at)
        if kind == b"IDAT":
            packed.append(data[at + 8 : at + 8 + size])
        at += 12 + size
    if width <= _MAX_SIDE and height <= _MAX_SIDE and needed <= 4 * _MAX_INFLATED and not is_interlaced:
        there = sum(map(len, _inflate(b"".join(packed), needed + 1)))
        if there != needed or not samples:
            raise Damaged(f"its header names {width:,} x {height:,} pixels, and it holds others; save it again")
    return Extent(width, height)


def _jpeg(data: bytes) -> Extent:
    at = 2
    for _ in range(_MAX_SEGMENTS):
        marker = data[at + 1]
        if data[at] != 0xFF:
            raise struct.error
        if 0xC0 <= marker <= 0xCF and marker not in {0xC4, 0xC8, 0xCC}:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return Extent(width, height)
        at += 1 if marker == 0xFF else 2 + struct.unpack_from(">H", data, at + 2)[0]
    raise struct.error


def _gif(data: bytes) -> Extent:
    return Extent(*struct.unpack_from("<HH", data, 6))


def _webp(data: bytes) -> Extent:
    kind = data[12:16]
    if kind == b"VP8X":
        return Extent(1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little"))
    if kind == b"VP8L":
        bits = struct.unpack_from("<I", data, 21)[0]
        return Extent(1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF))
    width, height = struct.unpack_from("<HH", data, 26)
    return Extent(width & 0x3FFF, height & 0x3FFF)


_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
_HEAD_BYTES = 500
_MAX_SEGMENTS = 100_000


def _pdf(data: bytes) -> Extent:
    if b"/Encrypt" in data:
        raise Damaged("it is encrypted, which providers do not read; send it without a password")
    pages, remaining, at = len(_PAGE.findall(data)), _MAX_INFLATED, 0
    while (at := data.find(b"/ObjStm", at) + 7) > 6:
        if (begin := data.find(b"stream", at, at + _HEAD_BYTES)) < 0:
            continue
        if (at := data.find(b"endstream", begin + 6)) < 0:
            break
        # pages may be compressed objects; read whole, since a part may end within a name
        parts: list[bytes] = []
        with suppress(zlib.error):
            parts.extend(_inflate(data[begin + 6 : at].lstrip(b"\r\n"), remaining))
            pages += len(_PAGE.findall(b"".join(parts)))
        remaining -= sum(map(len, parts))  # from a broken stream too
        if remaining <= 0:
            raise Damaged(f"its objects take more than {_MAX_INFLATED:,} bytes; send a part of it")
    if not pages:
        raise Damaged("no page was found in it; print it to a new PDF")
    return Extent(pages=pages)


def _inflate(data: bytes, most: int) -> Iterator[bytes]:
    inflating = zlib.decompressobj()
    while most > 0 and (part := inflating.decompress(data, min(most, _CHUNK))):
        yield part
        most, data = most - len(part), inflating.unconsumed_tail


_MEASURES: dict[str, Callable[[bytes], Extent]] = {
    "image/png": _png,
    "image/jpeg": _jpeg,
    "image/gif": _gif,
    "image/webp": _webp,
    _PDF: _pdf,
}


def is_document(media: Media) -> bool:
    return media.type == _PDF


def takes_media(assistant: str) -> bool:
    return assistant.partition(":")[0] in _COUNTS


def searches_media(assistant: str, media: Media) -> bool:
    """Return whether the provider's search reads it."""
    return assistant.startswith("openai:") and is_document(media)


def media_tokens(assistant: str, media: Media) -> int:
    """Return how many tokens of its window an assistant's provider counts for an image or PDF."""
    provider, _, model = assistant.partition(":")
    return _COUNTS[provider](model, measure(media.data))


_EARLIER_CLAUDE = re.compile(r"-4-[0-6]\b")
_OF_TILES = re.compile(r"gpt-4|gpt-5(\.[0-2])?($|-)|o\d")


def _anthropic(model: str, extent: Extent) -> int:
    most = 1_600 if _EARLIER_CLAUDE.search(model) else 4_784
    return 3_000 * extent.pages or min(most, ceil(extent.width * extent.height / 750))


def _openai(model: str, extent: Extent) -> int:
    if extent.pages:
        return 3_000 * extent.pages
    is_small = "mini" in model or "nano" in model
    if _OF_TILES.match(model) and (not is_small or model.startswith("gpt-4o")):
        scale = min(1, 2_048 / max(extent.width, extent.height), 768 / min(extent.width, extent.height))
        tiles = ceil(extent.width * scale / 512) * ceil(extent.height * scale / 512)
        return 2_833 + 5_667 * tiles if is_small else 85 + 170 * tiles
    patches = ceil(extent.width / 32) * ceil(extent.height / 32)
    if not is_small:
        return min(2_500, patches)
    return ceil(min(1_536, patches) * (2.46 if "nano" in model else 1.72))


def _gemini(model: str, extent: Extent) -> int:
    if extent.pages:
        return 560 * extent.pages
    tiles = ceil(extent.width / 768) * ceil(extent.height / 768)
    return 258 * tiles if model.startswith("gemini-2") else 1_120


_COUNTS: dict[str, Callable[[str, Extent], int]] = {"anthropic": _anthropic, "openai": _openai, "gemini": _gemini}


_ATTEMPTS = 3
_LOOKED_AT = 8_192
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def read_content(file: SourceFile, *, force: bool = False) -> Content | HeldBack:
    """Read a file once, inside its root even if a link has changed.

    The text is unchanged, with its line ends and byte order mark. A file that changes during the read is read again;
    the recorded size and time belong to the returned read.
    """
    max_bytes = MAX_BYTES if file.is_media else MAX_FILE_BYTES
    for _ in range(_ATTEMPTS):
        try:
            read = _read(file, max_bytes)
        except OSError as error:
            is_gone = isinstance(error, (FileNotFoundError, NotADirectoryError))
            return HeldBack(file.path, "vanished" if is_gone else "unreadable", f"it {why_unreadable(error)}")
        if isinstance(read, HeldBack):
            return read
        if read is not None and file.is_media:
            return _examined(file.path, *read)
        if read is not None:
            return _judged(file.path, *read, force=force)
    return HeldBack(file.path, "changing", "it changed each time it was read; ask again once it rests")


def _read(file: SourceFile, max_bytes: int) -> tuple[bytes, Stat] | HeldBack | None:
    descriptor = open_inside(file.root, file.real_path)
    try:
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode):
            return HeldBack(file.path, "special", "it is no ordinary file")
        if before.st_size > max_bytes:
            return HeldBack(file.path, "too_large", too_large(before.st_size, max_bytes))
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            data = stream.read(_LOOKED_AT)
            if b"\0" in data and not file.is_media:
                return _binary(file.path, data)
            # one byte more than expected shows that the file grew, without reading an endless file
            data += stream.read(max(0, before.st_size - len(data) + 1))
        after = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    if len(data) != before.st_size or _moment(before) != _moment(after):
        return None
    return data, Stat(after.st_size, after.st_mtime_ns)


def _moment(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _judged(path: str, data: bytes, status: Stat, *, force: bool) -> Content | HeldBack:
    if b"\0" in data:
        return _binary(path, data)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return HeldBack(path, "undecodable", f"it is no text in UTF-8, from byte {error.start:,} on; send it converted")
    if not force:
        secret = first_secret(text)
        if secret is not None:
            start, _, kind = secret
            line = text.count("\n", 0, start) + 1
            detail = f"line {line:,} holds what looks like a secret ({kind}); it is sent only with force"
            return HeldBack(path, "secret", detail)
    return Content(text, digest_of(data), status)


def _examined(path: str, data: bytes, status: Stat) -> Content | HeldBack:
    try:
        measure(data)
    except Damaged as error:
        return HeldBack(path, "damaged", str(error))
    return Content("", digest_of(data), status, Media(path, type_of(data), data))


def _binary(path: str, data: bytes) -> HeldBack:
    if data.startswith(_UTF_16):
        return HeldBack(path, "undecodable", "it is text in UTF-16 or UTF-32, not in UTF-8; send it converted")
    hint = "; name it itself to send it" if has_media_name(path) else ""
    return HeldBack(path, "binary", f"it is no text: it holds zero bytes{hint}")


# Maximum bytes of a text.
MAX_FILE_BYTES = 2 * 1_024 * 1_024


def too_large(size: int, max_bytes: int) -> str:
    return f"it has {size:,} bytes, more than the {max_bytes:,} that are sent; send a part of it"
