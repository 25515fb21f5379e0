"""Opening a store file: checks of the file, and the set-up of a connection."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from pathlib import Path

import apsw

from satchel.base.errors import InvalidInput, Refused, StoreDamaged, StoreForeign, Untrusted
from satchel.base.file_checks import IGNORED_BY_GIT, sync
from satchel.base.paths import FOLDER_NAME, refuse_network_filesystem
from satchel.base.records import dataclass

# The engine and its version, for people.
ENGINE = f"SQLite {apsw.sqlite_lib_version()}"

_MAGIC = b"SQLite format 3\0"
_HEADER_BYTES = 100
_WAL_LIMIT_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Access:
    """The file of a store and the settings to open it with.

    Attributes:
        durability: ``full`` syncs every commit; ``relaxed`` may lose the last commits at power failure.
        wait_ms: how long a statement waits for a lock, in milliseconds.
        vfs: name of a SQLite VFS, for simulated faults; None is the system's own.
    """

    file: Path
    durability: str = "full"
    wait_ms: int = 10_000
    vfs: str | None = None


def prepare_file(access: Access) -> None:
    """Create a missing folder and an empty file with private modes."""
    from satchel.store.failures import explained  # the fast path, which creates nothing, does without

    with explained(access.file):
        _prepare(access.file)


def _prepare(file: Path) -> None:
    folder = file.parent
    if folder.name == FOLDER_NAME:
        refuse_network_filesystem(folder if folder.is_dir() else folder.parent)
        if not folder.is_dir():
            folder.mkdir(mode=0o700, exist_ok=True)
            sync(folder.parent)
        with suppress(FileExistsError), (folder / ".gitignore").open("x", encoding="utf-8") as ignore:
            ignore.write(IGNORED_BY_GIT)
    elif not folder.is_dir():
        raise InvalidInput(f"the folder {folder} does not exist", "Create it first, or name another path")
    else:
        refuse_network_filesystem(folder)
    os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
    sync(folder)


def identity_of(file: Path) -> tuple[int, int]:
    status = file.stat()
    return status.st_dev, status.st_ino


def is_writable(file: Path) -> bool:
    """Return whether this process may write the store: its file, its folder, and a file system mounted for writing."""
    return os.access(file, os.W_OK) and os.access(file.parent, os.W_OK)


def is_database(file: Path) -> bool:
    """Return whether a file begins as every SQLite database does."""
    with file.open("rb") as stream:
        return stream.read(len(_MAGIC)) == _MAGIC


def check_header(file: Path) -> None:
    """Refuse a file whose first bytes cannot be those of a whole store, without touching it.

    Format: https://sqlite.org/fileformat2.html#the_database_header
    """
    from satchel.store.schema import APPLICATION_ID  # the fast path, which reads no header, does without

    header = _header(file)
    if not header:
        return
    if not header.startswith(_MAGIC[: len(header)]):
        raise StoreForeign(f"{file} is not a SQLite database", "It was left untouched; name another file")
    if len(header) < _HEADER_BYTES:
        raise _truncated(file)
    application = int.from_bytes(header[68:72], "big")
    if application not in {0, APPLICATION_ID}:
        raise StoreForeign(
            f"{file} belongs to another application (id {application:#x})",
            "It was left untouched; name another file",
        )
    if not wal_bytes(file):
        page_size = int.from_bytes(header[16:18], "big")
        pages = int.from_bytes(header[28:32], "big")
        too_short = file.stat().st_size < (65536 if page_size == 1 else page_size) * pages
        # a header that changed since means that another process has just made the file smaller
        if too_short and _header(file) == header:
            raise _truncated(file)


def wal_bytes(file: Path) -> int:
    """Return the size of a file's write-ahead log; 0 if it is missing, as after the last close."""
    try:
        return Path(f"{file}-wal").stat().st_size
    except FileNotFoundError:
        return 0


def _header(file: Path) -> bytes:
    with file.open("rb") as stream:
        return stream.read(_HEADER_BYTES)


def _truncated(file: Path) -> StoreDamaged:
    return StoreDamaged(
        f"{file} is shorter than its header says: it was truncated",
        "It was left untouched; go back to a backup with `satchel restore`",
    )


def check_ours(connection: apsw.Connection, file: Path) -> bool:
    """Return whether a database is a store, False if it has no tables; refuse anything else."""
    from satchel.store.contents import unknown_objects
    from satchel.store.schema import APPLICATION_ID

    if connection.pragma("application_id") == APPLICATION_ID:
        unknown = unknown_objects(connection)
        if unknown:
            raise Untrusted(
                f"the schema of {file} has objects that Satchel never creates: {', '.join(unknown[:3])}"
                f"{f' and {len(unknown) - 3} more' if len(unknown) > 3 else ''}",
                "Go back to a backup with `satchel restore`, or remove them with another SQLite tool if they are yours",
            )
        return True
    if connection.execute("SELECT count(*) FROM sqlite_schema").get:
        raise StoreForeign(
            f"{file} is a SQLite database of another application", "It was left untouched; name another file"
        )
    return False


def open_writable(access: Access, *, query_only: bool = False) -> apsw.Connection:
    """Open a connection in WAL mode; with `query_only` it still refuses writing."""
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW
    connection = apsw.Connection(str(access.file), flags=flags, vfs=access.vfs)
    try:
        _set_up(connection, access)
        if query_only:
            connection.pragma("query_only", True)
        else:
            _enter_wal_mode(connection, access)
            # FULL syncs the WAL at every commit: NORMAL loses acknowledged commits at power failure
            connection.pragma("synchronous", "FULL" if access.durability == "full" else "NORMAL")
            connection.pragma("journal_size_limit", _WAL_LIMIT_BYTES)
            if sys.platform == "darwin":
                connection.pragma("fullfsync", True)
                connection.pragma("checkpoint_fullfsync", True)
    except BaseException:
        connection.close()
        raise
    return connection


def open_reader(access: Access, *, writable: bool) -> apsw.Connection:
    """Open a connection that only reads.

    `writable` tells whether the file and its folder may be written, as the WAL's shared memory needs. A cleanly closed
    store on a read-only mount opens only as immutable, and that is right only without a WAL file: the WAL would hold
    newer commits that an immutable reader does not see.
    """
    if writable:
        return open_writable(access, query_only=True)
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_NOFOLLOW
    name = str(access.file)
    if not Path(f"{name}-wal").exists() and not os.access(access.file.parent, os.W_OK):
        from urllib.parse import quote

        name = f"file:{quote(name)}?immutable=1"
        flags |= apsw.SQLITE_OPEN_URI
    connection = apsw.Connection(name, flags=flags, vfs=access.vfs)
    try:
        _set_up(connection, access)
    except BaseException:
        connection.close()
        raise
    return connection


def is_reusable(connection: apsw.Connection) -> bool:
    """Return whether a reader may serve again: an immutable one would never see a change, one in memory has no file."""
    return bool(connection.db_filename("main")) and not connection.open_flags & apsw.SQLITE_OPEN_URI


def roll_back(connection: apsw.Connection) -> None:
    """Roll back, unless SQLite has already done so, as after a full disk."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")


def _set_up(connection: apsw.Connection, access: Access) -> None:
    connection.set_busy_timeout(access.wait_ms)
    # without this guarantee SQLite prepares a statement again whenever a value that might change its plan is bound
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
    connection.pragma("foreign_keys", True)
    connection.pragma("trusted_schema", False)
    connection.pragma("mmap_size", 0)


def _enter_wal_mode(connection: apsw.Connection, access: Access) -> None:
    # the switch needs an exclusive lock and does not call the busy handler, so several first starts collide here
    deadline = time.monotonic() + access.wait_ms / 1_000
    while True:
        try:
            mode = connection.pragma("journal_mode", "wal")
        except apsw.BusyError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.005)
        else:
            break
    if mode != "wal":
        raise Refused(
            f"{access.file} cannot be used in WAL mode here (SQLite chose {mode!r})",
            "Keep the store on a local disk with --db PATH",
        )
