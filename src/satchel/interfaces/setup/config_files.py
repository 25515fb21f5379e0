"""Configuration files on disk: read without following links, replaced in one step, given back as they were."""

from __future__ import annotations

import errno
import json
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import TypedDict, cast

from satchel.base.errors import Conflict, InvalidInput, Refused, system_error
from satchel.base.file_checks import my_users, owner_name
from satchel.base.folders import state_folder
from satchel.base.records import dataclass, replace

MAX_BYTES = 4 << 20
"""What a configuration file may have; Claude Code keeps histories of projects in its own."""

_BOM = b"\xef\xbb\xbf"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# without waiting, since opening a pipe would wait for its writer
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_COPIES = 5
_MOST_DIGESTS = 16


@dataclass(frozen=True)
class ConfigFile:
    """A configuration file as it was read.

    Attributes:
        path: where it is, or would be; absolute.
        root: the folder below which no link is followed.
        text: what it holds, without a byte order mark; empty where there is no file.
        existed: whether there was a file.
        bom: whether it begins with a byte order mark.
        mode: its permissions; None where there is no file.
        digest: the SHA-256 of its bytes; None where there is no file.
    """

    path: Path
    root: Path
    text: str = ""
    existed: bool = False
    bom: bool = False
    mode: int | None = None
    digest: str | None = None

    def encoded(self, text: str) -> bytes:
        """Return the bytes of a text for this file."""
        return (_BOM if self.bom else b"") + text.encode()


def read(path: Path, root: Path | None = None) -> ConfigFile:
    """Read a configuration file, which need not exist.

    Args:
        path: the file.
        root: a folder above it that the user named, such as a project's; links up to it are followed, below it they
            are refused. None is the home folder, and for a path outside that the file's own folder.

    Raises:
        Refused: it or a folder below the root is a link; it is no regular file, larger than 4 MiB, or another user's.
        InvalidInput: it cannot be read, or is not UTF-8.
    """
    path = Path(os.path.abspath(path))  # noqa: PTH100 -- resolving would follow links
    if root is None:
        root = Path.home() if path.is_relative_to(Path.home()) else path.parent
    file = ConfigFile(path, Path(os.path.abspath(root)))  # noqa: PTH100
    if path == file.root or not path.is_relative_to(file.root):
        raise InvalidInput(f"{path} is not below {root}", "Name a file in that folder")
    with _naming(path, "read"), _folder_of(file, make=False) as folder:
        if folder is None or (found := _content(folder, file)) is None:
            return file
    content, status = found
    bom = content.startswith(_BOM)
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InvalidInput(f"{path} is UTF-16", "Save it as UTF-8, then try again")
    try:
        text = content[len(_BOM) if bom else 0 :].decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{path} is not UTF-8: byte {error.start + bom * len(_BOM)}", "Save it as UTF-8, then try again"
        ) from None
    return ConfigFile(path, file.root, text, True, bom, stat.S_IMODE(status.st_mode), sha256(content).hexdigest())


def write(file: ConfigFile, text: str) -> None:
    """Replace a configuration file in one step; its permissions and byte order mark stay.

    Missing folders are made, in the home folder for the user alone.

    Args:
        file: the file as it was read.
        text: what it is to hold.

    Raises:
        Conflict: it changed since it was read; nothing was written.
        Refused: it or its folder is read-only, or became what :func:`read` refuses.
        IoError: the system could not write it; the file is as it was.
    """
    with _naming(file.path, "written"), _folder_of(file, make=True) as folder:
        if folder is not None:
            _replace(folder, file, file.encoded(text))


class _Copy(TypedDict):
    name: str
    digest: str


class _Record(TypedDict):
    """What is known of one path.

    ``before`` is the copy of what was there before the first edit, None where setup made the file; ``ours`` are the
    digests of what setup wrote, ``folders`` those it made, outermost first; ``mixed`` is whether others changed the
    file between two edits.
    """

    root: str
    before: _Copy | None
    ours: list[str]
    folders: list[str]
    mixed: bool


class _Book(TypedDict):
    files: dict[str, _Record]
    copies: dict[str, list[_Copy]]


class Journal:
    """What was there before setup changed it: a file ``setup.json`` and copies beside it, each for this user alone.

    A record is changed under a lock, so that setups at the same time lose nothing of each other's.

    Args:
        folder: where it is kept; None is the user's state folder.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or state_folder()
        self._file = self._folder / "setup.json"
        self._copies = self._folder / "setup-copies"

    def paths(self) -> list[Path]:
        """Return the files that setup has edited and not yet given back."""
        return sorted(map(Path, self._load()["files"]))

    def copies(self, path: Path) -> list[Path]:
        """Return the copies of what a file held before edits, oldest first."""
        return [self._copies / copy["name"] for copy in self._load()["copies"].get(str(path), [])]

    def write(self, file: ConfigFile, text: str) -> None:
        """Keep what a file holds, then replace it as :func:`write` does.

        Raises:
            SatchelError: as :func:`write`, or the journal itself cannot be written; the file is as it was.
        """
        with self._changing() as book:
            self._note(book, file, sha256(file.encoded(text)).hexdigest())
            self._save(book)
            write(file, text)

    def note(self, path: Path, before: ConfigFile, after: bytes) -> None:
        """Keep what a file holds and what it is about to hold; for those who write by other means than :meth:`write`.

        Args:
            path: the file.
            before: the file as it was read.
            after: the bytes that will be written.
        """
        with self._changing() as book:
            self._note(book, replace(before, path=path), sha256(after).hexdigest())
            self._save(book)

    def restore(self, path: Path) -> bool:
        """Give a file back as it was before the first edit; one that setup made is deleted, with the folders it made.

        Returns:
            Whether that was done; False where others changed the file since, or nothing is known of it: then what
            setup put in is to be taken out by edits, followed by :meth:`leave`.

        Raises:
            SatchelError: it cannot be read or written.
        """
        with self._changing() as book:
            record = book["files"].get(str(path))
            if record is None or record["mixed"]:
                return False
            file = read(path, Path(record["root"]))
            if file.digest not in record["ours"]:
                return False
            if (before := record["before"]) is not None:
                try:
                    content = (self._copies / before["name"]).read_bytes()
                except OSError:
                    return False
                if sha256(content).hexdigest() != before["digest"]:
                    return False
                with _naming(path, "written"), _folder_of(file, make=False) as folder:
                    if folder is not None:
                        _replace(folder, file, content)
            else:
                _delete(file, record["folders"])
            del book["files"][str(path)]
            self._save(book)
        return True

    def leave(self, path: Path) -> None:
        """End the record of a file whose parts were taken out by edits; if setup made it and it is blank, delete it.

        Raises:
            SatchelError: it cannot be read or deleted.
        """
        with self._changing() as book:
            record = book["files"].pop(str(path), None)
            if record is not None:
                if record["before"] is None:
                    file = read(path, Path(record["root"]))
                    if file.existed and not file.text.strip():
                        _delete(file, record["folders"])
                self._save(book)

    def _note(self, book: _Book, file: ConfigFile, after: str) -> None:
        name = str(file.path)
        copy = self._copy(book, file) if file.digest is not None else None
        record = book["files"].get(name)
        if record is None:
            folders = [str(folder) for folder in reversed(file.path.parents) if folder.is_relative_to(file.root)]
            missing = [folder for folder in folders if not os.path.lexists(folder)]
            record = _Record(root=str(file.root), before=copy, ours=[], folders=missing, mixed=False)
            book["files"][name] = record
        else:
            before = record["before"]["digest"] if record["before"] else None
            record["mixed"] |= file.digest != before and file.digest not in record["ours"]
        record["ours"] = [*(digest for digest in record["ours"] if digest != after), after][-_MOST_DIGESTS:]
        kept = book["copies"].get(name, [])
        for old in kept[:-_MOST_COPIES]:
            if old != record["before"]:
                kept.remove(old)
                (self._copies / old["name"]).unlink(missing_ok=True)

    def _copy(self, book: _Book, file: ConfigFile) -> _Copy:
        """Keep what a file holds; what is the newest copy already is not kept again."""
        kept = book["copies"].setdefault(str(file.path), [])
        if kept and kept[-1]["digest"] == file.digest and (self._copies / kept[-1]["name"]).exists():
            return kept[-1]
        self._copies.mkdir(mode=0o700, exist_ok=True)
        copy = _Copy(name=f"{secrets.token_hex(8)}-{file.path.name[-100:]}", digest=file.digest or "")
        _write_new(self._copies / copy["name"], file.encoded(file.text))
        kept.append(copy)
        return copy

    @contextmanager
    def _changing(self) -> Iterator[_Book]:
        with _naming(self._folder, "written"):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(self._folder / "setup.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                if sys.platform != "win32":
                    import fcntl

                    fcntl.flock(lock, fcntl.LOCK_EX)
                yield self._load()
            finally:
                os.close(lock)

    def _load(self) -> _Book:
        try:
            book = json.loads(self._file.read_bytes())
        except FileNotFoundError:
            return _Book(files={}, copies={})
        except (OSError, ValueError) as error:
            raise self._unreadable(error) from error
        if not isinstance(book, dict) or not book.keys() >= {"files", "copies"}:
            raise self._unreadable("it holds something else")
        return cast(_Book, book)

    def _unreadable(self, why: object) -> Refused:
        return Refused(
            f"{self._file}, which says what setup has changed, cannot be read ({why})",
            f"Move it away; copies of what was there are in {self._copies}",
        )

    def _save(self, book: _Book) -> None:
        draft = self._file.with_name(f"setup.json.{secrets.token_hex(8)}")
        try:
            _write_new(draft, json.dumps(book, indent=1).encode())
            draft.replace(self._file)
        finally:
            draft.unlink(missing_ok=True)


@contextmanager
def _naming(path: Path, done: str) -> Iterator[None]:
    """Turn an error of the system into one that names the file and what was being done with it."""
    try:
        yield
    except OSError as error:
        failed = system_error(error, str(path))
        raise (
            failed
            if failed is not None
            else Refused(
                f"{path} cannot be {done} ({error.strerror or error})", "Check the permissions of it and its folders"
            )
        ) from error


@contextmanager
def _folder_of(file: ConfigFile, *, make: bool) -> Iterator[int | None]:
    """Open a file's folder step by step from its root, following no link below that; None where it is missing."""
    mode = 0o700 if file.root == Path.home() else 0o777
    current = file.root
    try:
        folder = os.open(current, _FOLDER)
    except FileNotFoundError:
        if make:
            raise
        yield None
        return
    try:
        for step in file.path.parent.relative_to(file.root).parts:
            current /= step
            try:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(step, mode, dir_fd=folder)
                inner = os.open(step, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
            except FileNotFoundError:
                yield None
                return
            except OSError as error:
                if error.errno not in (errno.ENOTDIR, errno.ELOOP):  # what Linux and macOS give for a link
                    raise
                is_link = stat.S_ISLNK(os.lstat(step, dir_fd=folder).st_mode)
                raise Refused(
                    f"{current} is {'a link' if is_link else 'no folder'}",
                    "Name the place behind it, or make the change by hand",
                ) from None
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


def _content(folder: int, file: ConfigFile) -> tuple[bytes, os.stat_result] | None:
    """Return what stands in a file, refusing all that :func:`read` refuses; None where there is no file."""
    path = file.path
    try:
        status = os.lstat(path.name, dir_fd=folder)
        if stat.S_ISREG(status.st_mode):
            descriptor = os.open(path.name, _FILE, dir_fd=folder)
        else:
            kind = "a link" if stat.S_ISLNK(status.st_mode) else "no regular file"
            raise Refused(f"{path} is {kind}", "Put a file in its place, or make the change by hand")
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Refused(f"{path} is no regular file", "Put a file in its place, or make the change by hand")
        if status.st_uid not in my_users():
            raise Refused(f"{path} belongs to user {owner_name(status.st_uid)}, not to you", "Run setup as that user")
        content = stream.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise Refused(f"{path} has more than {MAX_BYTES} bytes", "Make the change by hand")
    return content, status


def _replace(folder: int, file: ConfigFile, content: bytes) -> None:
    """Put bytes in the place of a file that is as it was read."""
    name = file.path.name
    _refuse_read_only(file.path.parent, os.fstat(folder).st_mode)
    draft, is_placed = f".{name}.{secrets.token_hex(8)}", False
    descriptor = os.open(draft, _NEW, 0o666 if file.root != Path.home() and not file.existed else 0o600, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            if (found := _content(folder, file)) is not None:
                status = found[1]
                _refuse_read_only(file.path, status.st_mode)
                with suppress(PermissionError):  # a group that this user is not in
                    os.fchown(descriptor, status.st_uid, status.st_gid)
                os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
            os.fsync(descriptor)
        if (sha256(found[0]).hexdigest() if found else None) != file.digest:
            raise Conflict(f"{file.path} changed since it was read", "Nothing was written; try again")
        os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
        is_placed = True
        os.fsync(folder)
    finally:
        if not is_placed:
            os.unlink(draft, dir_fd=folder)


def _refuse_read_only(path: Path, mode: int) -> None:
    if not mode & stat.S_IWUSR:
        raise Refused(f"{path} is read-only", f"Run `chmod u+w {path}` if it may be changed")


def _delete(file: ConfigFile, folders: list[str]) -> None:
    """Delete a file, and of the folders that setup made those that are empty now."""
    with _naming(file.path, "deleted"), _folder_of(file, make=False) as folder:
        if folder is not None:
            _refuse_read_only(file.path.parent, os.fstat(folder).st_mode)
            os.unlink(file.path.name, dir_fd=folder)
    for made in reversed(folders):
        with suppress(OSError):  # something of others is in it
            Path(made).rmdir()


def _write_new(path: Path, content: bytes) -> None:
    with os.fdopen(os.open(path, _NEW, 0o600), "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
