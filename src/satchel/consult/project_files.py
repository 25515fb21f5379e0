"""The files of a project, as consultations look at them."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection, Sequence
from pathlib import Path

from satchel.base.errors import Refused
from satchel.base.file_checks import open_inside, why_unreadable
from satchel.consult.gathering import DEFAULT_LIMITS, gather, too_large
from satchel.consult.records import Content, FoundFile, Gathering, HeldBack, IsCancelled, Stat, digest_of
from satchel.redaction import first_secret


class ProjectFiles:
    """The files of one project; nothing else is looked at but what the caller allows."""

    def __init__(self, root: str | None) -> None:
        """Name the folder.

        Args:
            root: absolute; None where there is no project, and so no files.
        """
        self._root = root

    def gather(
        self,
        paths: Sequence[str],
        known: Collection[str],
        *,
        allow_roots: Sequence[str] = (),
        force: bool,
        is_cancelled: IsCancelled,
    ) -> Gathering:
        """Look at what paths name; one that the conversation knows and that is gone is a removal, not an error.

        Args:
            paths: relative to the project's folder, or absolute.
            known: the paths that the conversation knows; a folder is known by the files that were in it.
            allow_roots: folders outside the project that may be looked at too, absolute.
            force: whether files are sent whose names say that they hold secrets.
            is_cancelled: asked again and again; True ends it.

        Raises:
            InvalidInput, NotFound, Refused, TooLarge: a path is not acceptable.
            Interrupted: it was cancelled.
        """
        if not paths:
            return Gathering((), ())
        if self._root is None:
            raise Refused("there is no project here to take files from", "Call it in a project, or give no paths")
        there = [path for path in paths if not (self.is_gone(path) and _knows(known, self._known_as(path)))]
        return gather(there, [self._root, *allow_roots], base=self._root, force=force, is_cancelled=is_cancelled)

    def is_gone(self, path: str) -> bool:
        """Tell whether a path is there no more; one that cannot be looked at is not known to be gone."""
        if self._root is None:
            return False
        try:
            Path(self._root, path).lstat()
        except OSError as error:
            return error.errno in {errno.ENOENT, errno.ENOTDIR}
        except ValueError:
            # a name that no file can have, such as one with a zero byte; gathering refuses it
            return False
        return False

    def _known_as(self, path: str) -> str:
        """Return what a path that is gone was called in the conversation."""
        root = self._root or "/"
        # a link to the folder itself is resolved in the names that gathering gives
        for base in (root, os.path.realpath(root)):
            name = os.path.relpath(os.path.join(base, path), base)  # noqa: PTH118 -- a Path keeps `..`
            if not name.startswith(".."):
                return name
        return path


def _knows(known: Collection[str], path: str) -> bool:
    """Tell whether a path is among those that are known, or a folder of them."""
    return path in known or any(one.startswith(f"{path}/") for one in known)


_ATTEMPTS = 3
_LOOKED_AT = 8_192
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def read_content(
    found: FoundFile, *, force: bool = False, max_bytes: int = DEFAULT_LIMITS.file_bytes
) -> Content | HeldBack:
    """Read a file once, inside its root, whatever links say by now.

    The text is what the file holds, its line ends and byte order mark included. A file that changes while it is read
    is read again; what is recorded of it belongs to the read that is returned.

    Args:
        found: the file as it was gathered.
        force: whether it is sent though it holds what looks like a secret.
        max_bytes: the largest file that is sent.

    Returns:
        What it holds, or why it is held back; for the reasons see ``gathering``.
    """
    for _ in range(_ATTEMPTS):
        try:
            read = _read(found, max_bytes)
        except OSError as error:
            gone = isinstance(error, (FileNotFoundError, NotADirectoryError))
            return HeldBack(found.path, "vanished" if gone else "unreadable", f"it {why_unreadable(error)}")
        if isinstance(read, HeldBack):
            return read
        if read is not None:
            return _judged(found.path, *read, force=force)
    return HeldBack(found.path, "changing", "it changed each time it was read; ask again once it rests")


def _read(found: FoundFile, max_bytes: int) -> tuple[bytes, Stat] | HeldBack | None:
    """Read a file through one descriptor; None where it changed meanwhile."""
    descriptor = open_inside(found.root, found.real_path)
    try:
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode):
            return HeldBack(found.path, "special", "it is no ordinary file")
        if before.st_size > max_bytes:
            return HeldBack(found.path, "too_large", too_large(before.st_size, max_bytes))
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data = file.read(_LOOKED_AT)
            if b"\0" in data:
                return _binary(found.path, data)
            # one byte more than it had tells that it grew, and nothing grows without bound in memory
            data += file.read(max(0, before.st_size - len(data) + 1))
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


def _binary(path: str, data: bytes) -> HeldBack:
    if data.startswith(_UTF_16):
        return HeldBack(path, "undecodable", "it is text in UTF-16 or UTF-32, not in UTF-8; send it converted")
    return HeldBack(path, "binary", "it is no text: it holds zero bytes")
