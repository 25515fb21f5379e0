"""How a command ended, where only the client's own record of the session says it."""

from __future__ import annotations

import json
import os
import stat
from contextlib import suppress

_TAIL_BYTES = 256 * 1024
"""So much is read, from the end. Codex records a command right before it calls the hook; the record of one that had
printed 3 MB took 68 KB, since it keeps the output in part."""


def exit_status(path: str, call: str) -> int | None:
    """Return the exit status of a command in Codex."""
    with suppress(OSError):
        for line in reversed(_end_of(path).splitlines()):
            if call.encode() in line and b'"exit_code"' in line:
                with suppress(ValueError, RecursionError, KeyError, TypeError):
                    item = json.loads(line)["payload"]["item"]
                    if item["id"] == call and type(item["exit_code"]) is int:
                        return int(item["exit_code"])
    return None


def _end_of(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return b""
        return os.pread(descriptor, _TAIL_BYTES, max(0, found.st_size - _TAIL_BYTES))
    finally:
        os.close(descriptor)
