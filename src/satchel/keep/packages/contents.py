"""Files of packages: checked to be inside the project when saved and whenever read, since links may change."""

from __future__ import annotations

import os
import stat

from satchel.base.errors import InvalidInput, Refused
from satchel.base.file_checks import is_inside, open_inside, why_unreadable
from satchel.base.machine import caller_elsewhere, seen_by_caller
from satchel.base.records import dataclass
from satchel.keep.texts import storable
from satchel.redaction.filenames import is_secret_path

MAX_BYTES = 64 * 1024 * 1024
"""Maximum size of a package that can be read."""


_ON_CALLERS_DISK = "is a file of your working tree, which the server does not see: open it there"


@dataclass(frozen=True, slots=True)
class FileText:
    """The text of a file, or the reason it is missing; notes tell what was cleaned or redacted."""

    text: str | None
    reason: str | None = None
    notes: tuple[str, ...] = ()


@seen_by_caller(1, 2)
def check_saved(path: str, root: str | None, max_bytes: int) -> tuple[str, ...]:
    """Refuse a path that cannot be a package's file, and return notes."""
    if root is None:
        raise InvalidInput(f"path {path!r} starts from no folder: the project has none here", "Give content instead")
    base, real = _resolved(path, root)
    if not is_inside(real, base):
        raise Refused(f"path {path!r} leads out of the project through a link", "Give content instead, or a copy")
    if _says_secret(path, base, real):
        raise Refused(f"path {path!r} {_HELD_BACK}", "Give content instead, without the secrets")
    try:
        status = os.lstat(real)
    except OSError as error:
        return (f"{path} {why_unreadable(error)}: readers get the summary alone until it can be read",)
    if not stat.S_ISREG(status.st_mode):
        what = "a folder" if stat.S_ISDIR(status.st_mode) else "no ordinary file"
        raise InvalidInput(f"path {path!r} is {what}", "Name one file, or give content instead")
    if status.st_size > max_bytes:
        return (f"{path} {too_large(status.st_size, max_bytes)}: readers have to ask for more",)
    return ()


def read_file(path: str, root: str | None, max_bytes: int) -> FileText:
    """Read a project file as text with secrets redacted; a failure is returned as a reason, not raised."""
    if caller_elsewhere() is not None:
        return FileText(None, f"{path} {_ON_CALLERS_DISK}")
    if root is None:
        return FileText(None, f"{path} starts from no folder: the project has none here")
    base, real = _resolved(path, root)
    if not is_inside(real, base):
        return FileText(None, f"{path} leads out of the project through a link")
    if _says_secret(path, base, real):
        return FileText(None, f"{path} {_HELD_BACK}")
    try:
        descriptor = open_inside(base, real)
    except OSError as error:
        return FileText(None, f"{path} {why_unreadable(error)}")
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return FileText(None, f"{path} is no ordinary file")
        if status.st_size > max_bytes:
            return FileText(None, f"{path} {too_large(status.st_size, max_bytes)}")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data = file.read(max_bytes + 1)
    except OSError as error:
        return FileText(None, f"{path} {why_unreadable(error)}")
    finally:
        os.close(descriptor)
    if len(data) > max_bytes:
        return FileText(None, f"{path} {too_large(len(data), max_bytes)}")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return FileText(None, f"{path} is not UTF-8 text")
    if "\0" in text:
        return FileText(None, f"{path} is not text: it contains zero bytes")
    content = storable(text)
    return FileText(content.text, notes=content.notes)


def unreadable(path: str, root: str | None, max_bytes: int) -> str | None:
    """Return the reason a package's file cannot be read, without opening it, or None; None over a server."""
    if caller_elsewhere() is not None:
        return None
    if root is None:
        return "starts from no folder: the project has none here"
    base, real = _resolved(path, root)
    if not is_inside(real, base):
        return "leads out of the project through a link"
    if _says_secret(path, base, real):
        return _HELD_BACK
    try:
        status = os.lstat(real)
    except OSError as error:
        return why_unreadable(error)
    if not stat.S_ISREG(status.st_mode):
        return "is no ordinary file"
    return too_large(status.st_size, max_bytes) if status.st_size > max_bytes else None


def _resolved(path: str, root: str) -> tuple[str, str]:
    base = os.path.realpath(root)
    return base, os.path.realpath(f"{base}/{path}")


_HELD_BACK = "has a name, or a folder's name, of a file with secrets"


def _says_secret(path: str, base: str, real: str) -> bool:
    # the same files that consulting withholds
    return is_secret_path(path) or is_secret_path(os.path.relpath(real, base).replace(os.sep, "/"))


def too_large(size: int, max_bytes: int) -> str:
    """Return the message for a file that is too large."""
    return f"has {size:,} bytes, more than the {max_bytes:,} that are read"
