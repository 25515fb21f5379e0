"""What a file holds where it is cited: digests of lines, and whether a file holds them still, or elsewhere."""

from __future__ import annotations

import os
import stat
from io import BytesIO
from itertools import accumulate, islice
from typing import Final

from satchel.base.contained import open_inside
from satchel.base.records import NamedTuple

try:
    # hashlib itself loads OpenSSL, 2.4 ms of a command that writes one note
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

MAX_BYTES: Final = 1_048_576
"""Files that are larger are not cited."""

UNCHANGED, MOVED, CHANGED, GONE, ELSEWHERE = "unchanged", "moved", "changed", "gone", "elsewhere"
"""How a file stands by what was cited of it; elsewhere: the file cannot tell, since that was of another clone."""

_MAX_PLACES = 100
_NO_FILE = (FileNotFoundError, NotADirectoryError)


class Digest(NamedTuple):
    """What was cited of a file.

    Attributes:
        line: the first line, from 1; None for the whole file.
        last: the last line; None for one line or the whole file.
        value: the digest of these lines without their last line end, CRLF taken as LF.
        size: their bytes.
        places: how often they stood in the file, 100 at most; None for the whole file.
    """

    line: int | None
    last: int | None
    value: bytes
    size: int
    places: int | None


class File(NamedTuple):
    """A file that was read: all of it, and its status at the time."""

    data: bytes
    status: os.stat_result


class Found(NamedTuple):
    """How a file stands by a digest: one of the states, and the first line where the cited ones stand now."""

    state: str
    line: int | None


def read_cited(root: str, path: str) -> File | None:
    """Read a file of a project through no link; None where it is no regular file of at most 1 MB, or unreadable.

    Args:
        root: the project's folder, behind every link.
        path: canonical, relative to it.

    Raises:
        FileNotFoundError, NotADirectoryError: it is not there.
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
    return File(data, status) if len(data) == status.st_size else None  # else it is being written


def digest_of(data: bytes, line: int | None, last: int | None) -> Digest | None:
    """Return the digest of a file's lines, or of all of it without a line.

    A last line beyond the end of the file is taken for the end.

    Returns:
        None where the file has no such line, or the lines are blank, and so could not be told from others.
    """
    text = _plain(data)
    if line is None:
        whole = _without_end(text)
        return Digest(None, None, _hashed(whole), len(whole), None)
    cited, count = _lines(text, line, line if last is None else last)
    if not cited.strip():
        return None
    end = line + count - 1
    return Digest(line, end if end > line else None, _hashed(cited), len(cited), _places(text, cited))


def find(data: bytes, cited: Digest) -> Found:
    """Return how a file stands by what was cited of it.

    Lines that stand elsewhere have moved if they stand there as often as they did when they were cited: else a copy
    that was there before would be taken for them. Which of several places it is cannot be told, so none is named.
    """
    text = _plain(data)
    if cited.line is None:
        whole = _without_end(text)
        is_same = len(whole) == cited.size and _hashed(whole) == cited.value
        return Found(UNCHANGED if is_same else CHANGED, None)
    end = cited.line if cited.last is None else cited.last
    here, _ = _lines(text, cited.line, end)
    if len(here) == cited.size and _hashed(here) == cited.value:
        return Found(UNCHANGED, cited.line)
    places = _find_lines(text, cited, end - cited.line + 1)
    if not places or len(places) < min(cited.places or 1, _MAX_PLACES):
        return Found(CHANGED, None)
    return Found(MOVED, places[0] if len(places) == 1 else None)


def _find_lines(text: bytes, cited: Digest, count: int) -> list[int]:
    """Return at which lines the cited ones stand: only where as many lines have as many bytes is looked closer."""
    starts = list(accumulate((len(line) + 1 for line in text.removesuffix(b"\n").split(b"\n")), initial=0))
    length = cited.size + 1
    return [
        number
        for number, (start, end) in enumerate(zip(starts, starts[count:], strict=False), 1)
        if end - start == length and _hashed(text[start : end - 1]) == cited.value
    ]


def _places(text: bytes, lines: bytes) -> int:
    """Return how often some lines stand in a text, 100 at most."""
    # what stands first or last is asked for apart: to frame a text in line ends is to copy it, 0.3 ms for 1 MB
    wanted = b"\n%b\n" % lines
    found = int(text.startswith(wanted[1:]))
    if not text.endswith(b"\n"):
        found += (text == lines) + text.endswith(wanted[:-1])
    place = text.find(wanted)
    while place >= 0 and found < _MAX_PLACES:
        found += 1
        place = text.find(wanted, place + 1)
    return found


def _lines(text: bytes, line: int, last: int) -> tuple[bytes, int]:
    """Return some lines without their last line end, and how many there are; what follows them is not copied."""
    lines = list(islice(BytesIO(text), line - 1, last))
    return b"".join(lines).removesuffix(b"\n"), len(lines)


def _plain(data: bytes) -> bytes:
    # trees of one commit differ by this alone where git is told to convert line ends
    return data.replace(b"\r\n", b"\n") if b"\r" in data else data


def _without_end(text: bytes) -> memoryview:
    return memoryview(text)[: len(text) - text.endswith(b"\n")]


def _hashed(data: bytes | memoryview) -> bytes:
    return blake2b(data, digest_size=16).digest()
