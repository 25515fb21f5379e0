"""Digests of cited lines, and whether a file still contains them, there or elsewhere."""

from __future__ import annotations

import os
import stat
from io import BytesIO
from itertools import accumulate, islice
from typing import Final

from satchel.base.file_checks import open_inside
from satchel.base.records import NamedTuple

try:
    # hashlib loads OpenSSL, which takes long at a start
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

# Larger files are not cited.
MAX_BYTES: Final = 1_048_576

UNCHANGED, MOVED, CHANGED, GONE, ELSEWHERE = "unchanged", "moved", "changed", "gone", "elsewhere"
# The states of a cited file; elsewhere means that another clone was cited, so that the file cannot tell, and not
# checked out that a sparse checkout leaves it out.
LEFT_OUT = "not checked out"

_MAX_PLACES = 100
_NO_FILE = (FileNotFoundError, NotADirectoryError)


class Digest(NamedTuple):
    """The cited part of a file.

    Attributes:
        line: the first line, from 1; None for the whole file.
        value: the digest of these lines without their last line end, with CRLF as LF.
        places: how often they occurred in the file, up to 100; None for the whole file.
    """

    line: int | None
    last: int | None
    value: bytes
    size: int
    places: int | None


class File(NamedTuple):
    """The contents of a file, and its status when it was read."""

    data: bytes
    status: os.stat_result


class Comparison(NamedTuple):
    """The state of a cited file, and the first line where the cited ones are now."""

    state: str
    line: int | None


def read_cited(root: str, path: str) -> File | None:
    """Read a file of a project without following links; None unless it is a regular file of at most 1 MB.

    ``root`` is the project's resolved folder, and ``path`` is canonical and relative to it. Raises FileNotFoundError or
    NotADirectoryError if the file does not exist.
    """
    try:
        descriptor = open_inside(root, f"{root}/{path}")
    except _NO_FILE:
        raise
    except (OSError, ValueError):
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
            return None
        data = os.read(descriptor, status.st_size + 1)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return File(data, status) if len(data) == status.st_size else None  # otherwise it is being written


def digest_of(data: bytes, line: int | None, last: int | None) -> Digest | None:
    """Return the digest of some lines of a file, or of all of it without a line.

    A last line beyond the end counts as the end. Returns None if the line does not exist or the lines are blank, since
    blank lines are not distinguishable.
    """
    text = _plain(data)
    if line is None:
        whole = _without_end(text)
        return Digest(None, None, digest_16(whole), len(whole), None)
    cited, count = _lines(text, line, line if last is None else last)
    if not cited.strip():
        return None
    end = line + count - 1
    return Digest(line, end if end > line else None, digest_16(cited), len(cited), _places(text, cited))


def find(data: bytes, cited: Digest) -> Comparison:
    """Compare a file with what was cited of it.

    Lines elsewhere have moved only if they occur at least as often as when they were cited; otherwise a copy that
    already existed would be mistaken for them. If there are several places, no line is given.
    """
    text = _plain(data)
    if cited.line is None:
        whole = _without_end(text)
        is_same = len(whole) == cited.size and digest_16(whole) == cited.value
        return Comparison(UNCHANGED if is_same else CHANGED, None)
    end = cited.line if cited.last is None else cited.last
    here, _ = _lines(text, cited.line, end)
    if len(here) == cited.size and digest_16(here) == cited.value:
        return Comparison(UNCHANGED, cited.line)
    places = _find_lines(text, cited, end - cited.line + 1)
    if not places or len(places) < min(cited.places or 1, _MAX_PLACES):
        return Comparison(CHANGED, None)
    return Comparison(MOVED, places[0] if len(places) == 1 else None)


def _find_lines(text: bytes, cited: Digest, count: int) -> list[int]:
    starts = list(accumulate((len(line) + 1 for line in text.removesuffix(b"\n").split(b"\n")), initial=0))
    length = cited.size + 1
    return [
        number
        for number, (start, end) in enumerate(zip(starts, starts[count:], strict=False), 1)
        if end - start == length and digest_16(text[start : end - 1]) == cited.value
    ]


def _places(text: bytes, lines: bytes) -> int:
    # the first and last lines are checked separately, because framing the text in line ends would copy it
    framed = b"\n%b\n" % lines
    count = int(text.startswith(framed[1:]))
    if not text.endswith(b"\n"):
        count += (text == lines) + text.endswith(framed[:-1])
    place = text.find(framed)
    while place >= 0 and count < _MAX_PLACES:
        count += 1
        place = text.find(framed, place + 1)
    return count


def _lines(text: bytes, line: int, last: int) -> tuple[bytes, int]:
    lines = list(islice(BytesIO(text), line - 1, last))
    return b"".join(lines).removesuffix(b"\n"), len(lines)


def _plain(data: bytes) -> bytes:
    # checkouts of one commit differ by this alone where git converts line ends
    return data.replace(b"\r\n", b"\n") if b"\r" in data else data


def _without_end(text: bytes) -> memoryview:
    return memoryview(text)[: len(text) - text.endswith(b"\n")]


def digest_16(data: bytes | memoryview) -> bytes:
    """Return a digest of 16 bytes, without loading OpenSSL at a start."""
    return blake2b(data, digest_size=16).digest()
