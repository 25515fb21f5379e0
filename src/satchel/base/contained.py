"""Opening a file inside a folder and nowhere else, even if links are created in the meantime.

A path is resolved first, so that links inside the folder work; the result is opened step by step without following
links, so that a link created since is refused.
"""

from __future__ import annotations

import errno
import os

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# non-blocking, because opening a pipe would wait for its writer
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def is_inside(real: str, base: str) -> bool:
    """Return whether a path is below a folder, both absolute and resolved; a folder is not below itself."""
    return real.startswith(f"{base.rstrip('/')}/") and len(real) > len(base)


def open_inside(base: str, real: str) -> int:
    """Open a file below a folder for reading without following links, and return its descriptor.

    Both paths are resolved; OSError is raised if a part of the path is a link.
    """
    *above, name = real[len(base) :].strip("/").split("/")
    folder = os.open(base, _FOLDER)
    try:
        for step in above:
            inner = os.open(step, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(name, _FILE, dir_fd=folder)
    finally:
        os.close(folder)


def why_unreadable(error: OSError) -> str:
    """Return the rest of a sentence about a file that could not be read."""
    if isinstance(error, FileNotFoundError):
        return "is not there"
    if isinstance(error, NotADirectoryError):
        return "is not there: a part of the path is not a folder"
    if error.errno == errno.ELOOP:
        return "leads through a link that cannot be followed"
    return f"cannot be read ({error.strerror or error})"
