"""The file of a package: inside the project when it is saved, and again when it is read, whatever links say by then."""

from __future__ import annotations

import os
import stat

from satchel.base.contained import is_inside, open_inside, why_unreadable
from satchel.base.errors import InvalidInput, Refused
from satchel.base.machine import asked_of_caller, caller_elsewhere
from satchel.base.records import dataclass
from satchel.keep.texts import storable
from satchel.redaction.filenames import is_secret_path

MAX_BYTES = 64 * 1024 * 1024
"""The largest package that can be read at all."""


_ON_CALLERS_DISK = "is a file of your working tree, which the server does not see: open it there"


@dataclass(frozen=True, slots=True)
class FileText:
    """The text of a file, or the reason why there is none; notes say what was cleaned or redacted."""

    text: str | None
    reason: str | None = None
    notes: tuple[str, ...] = ()


@asked_of_caller(unknown=())
def check_saved(path: str, root: str | None, max_bytes: int) -> tuple[str, ...]:
    """Refuse a path that cannot be the file of a package.

    Args:
        path: canonical.
        root: the folder that it starts from, or None.
        max_bytes: the largest file that is read without being asked for more.

    Returns:
        Notes on what a reader would miss: a file that is not there yet, or that is too large.

    Raises:
        InvalidInput: it is no file, or there is no folder to find it in.
        Refused: a link leads out of the project, or a name says that the file holds secrets.
    """
    if root is None:
        raise InvalidInput(f"path {path!r} starts from no folder: the project has none here", "Give content instead")
    base, real = _resolved(path, root)
    if not is_inside(real, base):
        raise Refused(f"path {path!r} leads out of the project through a link", "Give content instead, or a copy")
    if _says_secret(path, base, real):
        raise Refused(f"path {path!r} {_HELD_BACK}", "Give content instead, without the secrets")
    try:
        found = os.lstat(real)
    except OSError as error:
        return (f"{path} {why_unreadable(error)}: readers get the summary alone until it can be read",)
    if not stat.S_ISREG(found.st_mode):
        what = "a folder" if stat.S_ISDIR(found.st_mode) else "no ordinary file"
        raise InvalidInput(f"path {path!r} is {what}", "Name one file, or give content instead")
    if found.st_size > max_bytes:
        return (f"{path} {too_large(found.st_size, max_bytes)}: readers have to ask for more",)
    return ()


def read_file(path: str, root: str | None, max_bytes: int) -> FileText:
    """Read a file of the project as text, its secrets redacted; what cannot be read has a reason, never an error.

    Args:
        path: canonical.
        root: the folder that it starts from, or None.
        max_bytes: the largest file to read.
    """
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
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return FileText(None, f"{path} is no ordinary file")
        if found.st_size > max_bytes:
            return FileText(None, f"{path} {too_large(found.st_size, max_bytes)}")
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
        return FileText(None, f"{path} is no text in UTF-8")
    if "\0" in text:
        return FileText(None, f"{path} is no text: it holds zero bytes")
    kept = storable(text)
    return FileText(kept.text, notes=kept.notes)


@asked_of_caller()
def unreadable(path: str, root: str | None, max_bytes: int) -> str | None:
    """Return why the file of a package cannot be read, without opening it; None where nothing speaks against it.

    Args:
        path, root, max_bytes: as for :func:`read_file`.
    """
    if root is None:
        return "starts from no folder: the project has none here"
    base, real = _resolved(path, root)
    if not is_inside(real, base):
        return "leads out of the project through a link"
    if _says_secret(path, base, real):
        return _HELD_BACK
    try:
        found = os.lstat(real)
    except OSError as error:
        return why_unreadable(error)
    if not stat.S_ISREG(found.st_mode):
        return "is no ordinary file"
    return too_large(found.st_size, max_bytes) if found.st_size > max_bytes else None


def _resolved(path: str, root: str) -> tuple[str, str]:
    """Return the root and the file as they are behind every link."""
    base = os.path.realpath(root)
    return base, os.path.realpath(f"{base}/{path}")


_HELD_BACK = "says by its name, or that of its folder, that it holds secrets"


def _says_secret(path: str, base: str, real: str) -> bool:
    """Say whether a path, or where it leads, is one that consulting holds back as well."""
    return is_secret_path(path) or is_secret_path(os.path.relpath(real, base).replace(os.sep, "/"))


def too_large(size: int, max_bytes: int) -> str:
    """Say that something is too large to be read."""
    return f"has {size:,} bytes, more than the {max_bytes:,} that are read"
