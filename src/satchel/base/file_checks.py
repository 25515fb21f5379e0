"""Checks of files and folders before they are used (git's rule for unsafe folders, no links), and reading them."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Container, Mapping
from pathlib import Path

from satchel.base.errors import InvalidInput, Refused
from satchel.base.records import dataclass

# The part of a project's folder that git tracks; its readers check each file.
SHARED_FOLDER = "shared"

# The ``.gitignore`` in a project's folder.
IGNORED_BY_GIT = (
    "# what agents keep here is theirs, not the repository's; shared/ is the repository's\n*\n!/shared/\n!/shared/**\n"
)

_VOUCH = "If this is right, set SATCHEL_TRUST=1, or add the folder to trust.folders in your configuration"
# Suffixes of a database file and its companions.
_COMPANIONS = ("", "-wal", "-shm", "-journal", "-turn", "-lock")


@dataclass(frozen=True, slots=True)
class Vouched:
    """Exceptions that the user has approved.

    Attributes:
        owner: the number of another user whose files are accepted, or None.
        place: whether to ignore owner and modes in this place, as on mounts without them.
    """

    owner: int | None = None
    place: bool = False


def my_users() -> frozenset[int]:
    """Return the users whose files count as this process's own: its user, and under sudo the caller.

    The rule of git: https://git-scm.com/docs/git-config#Documentation/git-config.txt-safedirectory
    """
    me = os.geteuid()
    caller = os.environ.get("SUDO_UID", "") if me == 0 else ""
    return frozenset((me, int(caller))) if caller.isdecimal() else frozenset((me,))


def is_mine(path: Path) -> bool:
    """Return whether a file or folder belongs to this process's user."""
    try:
        return path.stat().st_uid in my_users()
    except OSError:
        return False


def owner_name(user: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)


def refuse_unsafe_folder(folder: Path, vouched: Vouched) -> set[str] | None:
    """Refuse a project's ``.satchel`` unless everything in it was created by this user.

    A folder that does not exist is accepted if its parent is. Returns the names directly in it, or None if they cannot
    be listed. Raises Refused for links, anything but files and folders, and if others can write there.
    """
    _refuse_sticky(folder.parent, vouched)
    status = _status(folder)
    if status is None:
        return set()
    if not stat.S_ISDIR(status.st_mode):
        raise Refused(
            f"{folder} is {kind_of(status.st_mode)}, not a folder", "Remove it, or name a store with --db PATH"
        )
    _refuse_others(folder, status, vouched)
    odd, names = _scan(str(folder))
    for path in odd:
        status = _status(path)
        if status is not None:
            raise Refused(
                f"{path} is {kind_of(status.st_mode)}; in {folder} only regular files and folders are accepted",
                "See where it comes from and remove it",
            )
    return names


def refuse_unsafe_file(file: Path, vouched: Vouched, names: Container[str] | None = None) -> None:
    """Refuse a database file or one of its companions unless it is a regular file of this user's.

    A file that does not exist is accepted. ``names`` are the names in its folder, if known, which saves looking for
    missing companions.
    """
    name, own = str(file), file.name
    for suffix in _COMPANIONS:
        if suffix and names is not None and own + suffix not in names:
            continue
        status = _status(name + suffix)
        if status is None:
            continue
        if not stat.S_ISREG(status.st_mode):
            raise Refused(
                f"{name}{suffix} is {kind_of(status.st_mode)}, not a regular file", "Name the file itself, or remove it"
            )
        if not suffix:
            _refuse_others(file, status, vouched)


def refuse_unsafe_place(folder: Path, vouched: Vouched) -> None:
    """Refuse a folder in which every user can create files."""
    _refuse_sticky(folder, vouched)
    status = _status(folder)
    if status is not None and not vouched.place and status.st_mode & stat.S_IWOTH:
        raise Refused(f"every user can write in {folder}", f"Run `chmod o-w {folder}`. {_VOUCH}")


def _refuse_sticky(folder: Path, vouched: Vouched) -> None:
    status = _status(folder)
    shared_folder = stat.S_ISVTX | stat.S_IWOTH
    if status is not None and not vouched.place and status.st_mode & shared_folder == shared_folder:
        raise Refused(
            f"{folder} is a folder in which every user can make files, so a store directly in it could be anyone's",
            "Keep it in a folder of your own below",
        )


def _refuse_others(path: Path, status: os.stat_result, vouched: Vouched) -> None:
    if vouched.place:
        return
    mine = my_users()
    if status.st_uid not in mine and status.st_uid != vouched.owner:
        name = owner_name(status.st_uid)
        raise Refused(
            f"{path} belongs to user {name}, not to you",
            f"If you trust what user {name} keeps there, run `satchel trust --owner {name}`",
        )
    if status.st_mode & stat.S_IWOTH:
        raise Refused(f"every user can write {path}", f"Run `chmod go-w {path}`. {_VOUCH}")
    if status.st_mode & stat.S_IWGRP and not _is_private_group(status.st_gid, status.st_uid):
        raise Refused(f"other users of its group can write {path}", f"Run `chmod g-w {path}`. {_VOUCH}")


def _is_private_group(group: int, user: int) -> bool:
    import grp
    import pwd

    try:
        owner, members = pwd.getpwuid(user), grp.getgrgid(group).gr_mem
    except KeyError:
        return False
    return owner.pw_gid == group and set(members) <= {owner.pw_name}


def _scan(folder: str) -> tuple[list[str], set[str] | None]:
    odd: list[str] = []
    names: set[str] | None = None
    waiting = [folder]
    while waiting:
        current = waiting.pop()
        try:
            with os.scandir(current) as listing:
                entries = list(listing)
        except FileNotFoundError:
            continue  # it was removed
        except PermissionError:
            continue  # this process cannot use it either
        if current == folder:
            names = {entry.name for entry in entries}
        for entry in entries:
            # the listing has these without another system call
            if entry.is_file(follow_symlinks=False):
                continue
            if not entry.is_dir(follow_symlinks=False):
                odd.append(entry.path)
            elif entry.name != SHARED_FOLDER or current != folder:
                waiting.append(entry.path)
    return odd, names


def _status(path: str | Path) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}", "Check its permissions") from error


def kind_of(mode: int) -> str:
    """Return a description of a file's mode, such as ``a link``."""
    for is_kind, name in (
        (stat.S_ISLNK, "a link"),
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISREG, "a file"),
        (stat.S_ISFIFO, "a pipe"),
        (stat.S_ISSOCK, "a socket"),
    ):
        if is_kind(mode):
            return name
    return "a device"


_SECRET_BYTES = 4_096
_OTHERS, _OTHERS_WRITE = stat.S_IRWXG | stat.S_IRWXO, stat.S_IWGRP | stat.S_IWOTH
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# non-blocking, because opening a pipe would wait for its writer
FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


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
        return os.open(name, FILE_FLAGS, dir_fd=folder)
    finally:
        os.close(folder)


def read_secret(path: Path, what: str, remedy: str) -> str:
    """Return the text of a file with a secret, at most 4 KiB; refuse what is no file, or what others can read."""
    try:
        with os.fdopen(os.open(path, FILE_FLAGS & ~os.O_NOFOLLOW), "rb") as stream:
            status = os.fstat(stream.fileno())
            content = stream.read(_SECRET_BYTES) if stat.S_ISREG(status.st_mode) else b""
    except OSError as error:
        raise InvalidInput(f"the file with {what}, {path}, cannot be read ({error.strerror})", remedy) from None
    if not stat.S_ISREG(status.st_mode):
        raise Refused(f"{path} is no regular file", f"Put a file with {what} in its place")
    refuse_readers(path, status, f"holds {what}")
    return content.decode("utf-8", "replace")


def refuse_readers(path: Path, status: os.stat_result, why: str) -> None:
    """Refuse a file that others can read, except one that root mounted into a container for this user."""
    is_mine = status.st_uid in my_users()
    if not is_mine and status.st_uid != 0:
        raise Refused(f"{path} {why} and belongs to user {owner_name(status.st_uid)}", "Make one of your own")
    if status.st_mode & (_OTHERS if is_mine else _OTHERS_WRITE):
        may = "read" if is_mine else "change"
        raise Refused(f"{path} {why}, and others can {may} it", f"Run `chmod 600 {path}`")


def why_unreadable(error: OSError) -> str:
    """Return the rest of a sentence about a file that could not be read."""
    if isinstance(error, FileNotFoundError):
        return "is not there"
    if isinstance(error, NotADirectoryError):
        return "is not there: a part of the path is not a folder"
    if error.errno == errno.ELOOP:
        return "leads through a link that cannot be followed"
    return f"cannot be read ({error.strerror or error})"


def sync(path: Path) -> None:
    """Sync a file, or a folder with the new names in it, so that it survives a power failure."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


_TOML_BYTES = 1_048_576


def read_toml(path: Path, *, links: bool, about: bytes = b"") -> dict[str, object]:
    """Return the tables of a TOML file; empty if it is missing.

    ``links`` allows links, as a user's dotfiles often are. A file without the word ``about`` is not parsed, and counts
    as empty. Refuses other links, irregular and too large files, and invalid TOML.
    """
    try:
        descriptor = os.open(path, FILE_FLAGS & ~os.O_NOFOLLOW if links else FILE_FLAGS)
    except FileNotFoundError:
        return {}
    except OSError as error:
        if path.is_symlink() and not links:
            raise Refused(f"{path} is a link", "Put a file in its place, or remove it") from error
        raise InvalidInput(f"cannot be read ({error.strerror})", "None of its keys count") from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Refused(f"{path} is not a regular file", "Put a file in its place, or remove it")
        if status.st_size > _TOML_BYTES:
            raise Refused(f"{path} has {status.st_size} bytes; a configuration has at most {_TOML_BYTES}", "Remove it")
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            raw = stream.read(_TOML_BYTES)
    except OSError as error:
        raise InvalidInput(f"cannot be read ({error.strerror})", "None of its keys count") from error
    finally:
        os.close(descriptor)
    if about not in raw or all(_sets_nothing(line) for line in map(bytes.strip, raw.splitlines())):
        return {}  # as `satchel init` writes it; this saves loading the parser
    import tomllib

    try:
        return tomllib.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:  # ValueError itself: a number of too many digits
        raise InvalidInput(f"is not valid TOML ({error})", "None of its keys count") from error


def _sets_nothing(line: bytes) -> bool:
    # empty, a comment, or the name of a table
    return not line or line.startswith(b"#") or (line.startswith(b"[") and line.endswith(b"]") and line.isascii())


def flat(tables: Mapping[str, object]) -> dict[str, object]:
    """Return the keys of all tables, prefixed with the table's name."""
    keys: dict[str, object] = {}
    for table, content in tables.items():
        if isinstance(content, dict):
            keys |= {f"{table}.{name}": value for name, value in content.items()}
        else:
            keys[table] = content
    return keys
