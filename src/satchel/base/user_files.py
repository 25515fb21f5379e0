"""Files of the user that Satchel edits (configuration, AGENTS.md): atomic writes that follow links only in the home
folder.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from satchel.base.errors import Conflict, InvalidInput, Refused
from satchel.base.file_checks import FILE_FLAGS, my_users, owner_name
from satchel.base.private_file import naming
from satchel.base.records import dataclass

# The size limit of a configuration file; Claude Code stores project histories in its own.
MAX_BYTES = 4 << 20

# Permissions of a file that only its user may read.
PRIVATE = 0o600

# The UTF-8 byte order mark.
BOM = b"\xef\xbb\xbf"

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A configuration file as it was read.

    Attributes:
        root: the folder below which no link is followed.
        text: its contents without a byte order mark; empty if there is no file.
        mode: its permissions; None if there is no file.
        digest: the SHA-256 of its bytes; None if there is no file.
    """

    path: Path
    root: Path
    text: str = ""
    existed: bool = False
    bom: bool = False
    mode: int | None = None
    digest: str | None = None

    def encoded(self, text: str) -> bytes:
        """Encode a text for this file, with a byte order mark if the file had one."""
        return (BOM if self.bom else b"") + text.encode(errors="surrogateescape")


def read(path: Path, root: Path | None = None, *, any_bytes: bool = False) -> ConfigFile:
    path = Path(os.path.abspath(path))  # noqa: PTH100 -- resolving would follow links
    if root is None:
        root = Path.home() if path.is_relative_to(Path.home()) else path.parent
    file = ConfigFile(path, Path(os.path.abspath(root)))  # noqa: PTH100
    if path == file.root or not path.is_relative_to(file.root):
        raise InvalidInput(f"{path} is not below {root}", "Name a file in that folder")
    with naming(path, "read"), _folder_of(file, make=False) as folder:
        if folder is None or (existing := _content(folder, file)) is None:
            return file
    content, status = existing
    bom = content.startswith(BOM) and not any_bytes
    if content.startswith((b"\xff\xfe", b"\xfe\xff")) and not any_bytes:
        raise InvalidInput(f"{path} is UTF-16", "Save it as UTF-8, then try again")
    try:
        text = content[len(BOM) if bom else 0 :].decode(errors="surrogateescape" if any_bytes else "strict")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{path} is not UTF-8: byte {error.start + bom * len(BOM)}", "Save it as UTF-8, then try again"
        ) from None
    return ConfigFile(path, file.root, text, True, bom, stat.S_IMODE(status.st_mode), sha256(content).hexdigest())


def followed(path: Path, home: Path) -> Path:
    """Resolve the links of a user's configuration file, such as those made by a dotfile manager.

    Links are followed only inside the home folder. Any other path is returned unchanged; :func:`read` then refuses it
    because of its link. It also refuses files that belong to another user.
    """
    try:
        real, real_home = path.resolve(), home.resolve()
    except RuntimeError:  # a loop of links, before Python 3.13
        return path
    is_dangling = path.is_symlink() and not real.exists()
    if is_dangling or not path.is_relative_to(home) or not real.is_relative_to(real_home):
        return path
    return home / real.relative_to(real_home)


def write(file: ConfigFile, text: str) -> None:
    """Replace a configuration file atomically, preserving its permissions and byte order mark.

    Missing folders are created; in the home folder they are private to the user.
    """
    overwrite(file, file.encoded(text))


def overwrite(file: ConfigFile, content: bytes, *, is_program: bool = False, is_private: bool = False) -> None:
    """Replace a configuration file with bytes, like :func:`write`."""
    with naming(file.path, "written"), _folder_of(file, make=True) as folder:
        if folder is not None:
            _replace(folder, file, content, is_program=is_program, is_private=is_private)


def delete(file: ConfigFile, folders: Sequence[str] = ()) -> None:
    with naming(file.path, "deleted"), _folder_of(file, make=False) as folder:
        if folder is not None:
            _refuse_read_only(file.path.parent, os.fstat(folder).st_mode)
            os.unlink(file.path.name, dir_fd=folder)
    for made in reversed(folders):
        with suppress(OSError):  # the folder contains something else
            Path(made).rmdir()


def check_writable(file: ConfigFile) -> None:
    """Check that :func:`write` could replace a file, before any other file is written."""
    folder = file.path.parent
    while not folder.exists():
        folder = folder.parent
    _refuse_read_only(folder, folder.stat().st_mode)
    if not os.access(folder, os.W_OK):
        raise Refused(f"{folder} cannot be written", "Check its permissions and whose it is")
    if file.mode is not None:
        _refuse_read_only(file.path, file.mode)


@contextmanager
def _folder_of(file: ConfigFile, *, make: bool) -> Iterator[int | None]:
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
                if error.errno not in (errno.ENOTDIR, errno.ELOOP):  # the error for a link on Linux and macOS
                    raise
                is_link = stat.S_ISLNK(os.lstat(step, dir_fd=folder).st_mode)
                raise Refused(
                    f"{current} is {'a link' if is_link else 'no folder'}",
                    "Setup follows your own links inside your home folder only: make the change by hand",
                ) from None
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


def _content(folder: int, file: ConfigFile) -> tuple[bytes, os.stat_result] | None:
    path = file.path
    try:
        status = os.lstat(path.name, dir_fd=folder)
        if stat.S_ISREG(status.st_mode):
            descriptor = os.open(path.name, FILE_FLAGS, dir_fd=folder)
        else:
            if stat.S_ISLNK(status.st_mode):
                raise Refused(
                    f"{path} is a link",
                    "Setup follows your own links to files inside your home folder only: make the change by hand",
                )
            raise Refused(f"{path} is no regular file", "Put a file in its place, or make the change by hand")
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


def _replace(folder: int, file: ConfigFile, content: bytes, *, is_program: bool, is_private: bool) -> None:
    name = file.path.name
    _refuse_read_only(file.path.parent, os.fstat(folder).st_mode)
    draft, is_placed = f".{name}.{secrets.token_hex(8)}", False
    mode = (
        PRIVATE
        if is_private
        else (0o666 if file.root != Path.home() and not file.existed else 0o600) | (0o111 if is_program else 0)
    )
    descriptor = os.open(draft, _NEW, mode, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            if (existing := _content(folder, file)) is not None:
                status = existing[1]
                _refuse_read_only(file.path, status.st_mode)
                with suppress(PermissionError):  # this user is not a member of the group
                    os.fchown(descriptor, status.st_uid, status.st_gid)
                os.fchmod(descriptor, PRIVATE if is_private else stat.S_IMODE(status.st_mode))
            os.fsync(descriptor)
        if (sha256(existing[0]).hexdigest() if existing else None) != file.digest:
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
