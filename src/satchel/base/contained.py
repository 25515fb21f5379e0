"""Opening a file inside a folder and nowhere else, whatever links are put there in between.

A path is resolved first, so that links inside the folder work; what it leads to is then opened step by step without
following any link, so that a link put there since is met as a link and never followed.
"""

from __future__ import annotations

import errno
import os

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# without waiting, since opening a pipe would wait for its writer
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def is_inside(real: str, base: str) -> bool:
    """Whether a path lies below a folder, both absolute and behind every link; a folder is not below itself."""
    return real.startswith(f"{base.rstrip('/')}/") and len(real) > len(base)


def open_inside(base: str, real: str) -> int:
    """Open a file below a folder for reading, each step from the one before, following no link.

    Args:
        base: the folder, behind every link.
        real: the file as it was resolved, below the folder.

    Returns:
        A descriptor, which the caller closes.

    Raises:
        OSError: it cannot be opened, or something on the way is a link.
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
    """Say what an error of the system means for a file that was to be read, as what follows its name."""
    if isinstance(error, FileNotFoundError):
        return "is not there"
    if isinstance(error, NotADirectoryError):
        return "is not there: something on the way is no folder"
    if error.errno == errno.ELOOP:
        return "leads through a link that cannot be followed"
    return f"cannot be read ({error.strerror or error})"
