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

# Maximum size of a package that can be read.
MAX_BYTES = 64 * 1024 * 1024


_NO_FOLDER = "starts from no folder: the project has none here"
_OUTSIDE = "leads out of the project through a link"
_HELD_BACK = "has a name, or a folder's name, of a file with secrets"
_ON_CALLERS_DISK = "is a file of your working tree, which the server does not see: open it there"


@dataclass(frozen=True, slots=True)
class FileText:
    text: str | None
    reason: str | None = None
    notes: tuple[str, ...] = ()


@seen_by_caller(1, 2)
def check_saved(path: str, root: str | None, max_bytes: int) -> tuple[str, ...]:
    """Refuse a path that cannot be a package's file, and return notes."""
    try:
        _, real = _resolved(path, root)
    except _Unreadable as error:
        remedy = {_OUTSIDE: ", or a copy", _HELD_BACK: ", without the secrets"}.get(str(error), "")
        refusal = InvalidInput if root is None else Refused
        raise refusal(f"path {path!r} {error}", f"Give content instead{remedy}") from None
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
    try:
        content = storable(_read(path, root, max_bytes))
    except _Unreadable as error:
        return FileText(None, f"{path} {error}")
    return FileText(content.text, notes=content.notes)


def _read(path: str, root: str | None, max_bytes: int) -> str:
    if caller_elsewhere() is not None:
        raise _Unreadable(_ON_CALLERS_DISK)
    base, real = _resolved(path, root)
    try:
        descriptor = open_inside(base, real)
        try:
            _check_status(os.fstat(descriptor), max_bytes)
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                data = file.read(max_bytes + 1)
        finally:
            os.close(descriptor)
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise _Unreadable(why_unreadable(error)) from error
    except UnicodeDecodeError:
        raise _Unreadable("is not UTF-8 text") from None
    if len(data) > max_bytes:
        raise _Unreadable(too_large(len(data), max_bytes))
    if "\0" in text:
        raise _Unreadable("is not text: it contains zero bytes")
    return text


def unreadable(path: str, root: str | None, max_bytes: int) -> str | None:
    """Return the reason a package's file cannot be read, without opening it, or None; None over a server."""
    if caller_elsewhere() is not None:
        return None
    try:
        _, real = _resolved(path, root)
        _check_status(os.lstat(real), max_bytes)
    except _Unreadable as error:
        return str(error)
    except OSError as error:
        return why_unreadable(error)
    return None


class _Unreadable(Exception):
    pass


def _resolved(path: str, root: str | None) -> tuple[str, str]:
    # the real paths of the root and the file
    if root is None:
        raise _Unreadable(_NO_FOLDER)
    base = os.path.realpath(root)
    real = os.path.realpath(f"{base}/{path}")
    if not is_inside(real, base):
        raise _Unreadable(_OUTSIDE)
    # the same files that consulting withholds
    if is_secret_path(path) or is_secret_path(os.path.relpath(real, base).replace(os.sep, "/")):
        raise _Unreadable(_HELD_BACK)
    return base, real


def _check_status(status: os.stat_result, max_bytes: int) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise _Unreadable("is no ordinary file")
    if status.st_size > max_bytes:
        raise _Unreadable(too_large(status.st_size, max_bytes))


def too_large(size: int, max_bytes: int) -> str:
    return f"has {size:,} bytes, more than the {max_bytes:,} that are read"
