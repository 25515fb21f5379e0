"""Fast path to a store, for programs that start often: a prompt, a hook of git."""

# It handles the usual case only: a store in the folder's own place, listed under this path and file, not writable by
# others, and no configuration that changes any of it. It loads little, creates and migrates nothing and waits for
# nobody. In any other case it raises, and the caller opens the store fully.

from __future__ import annotations

import os
import stat

import apsw

from satchel.base.folders import config_path, state_path

TYPE_CHECKING = False  # importing typing is slow
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TypeAlias

    from satchel.store.transaction import Transaction

    Rows: TypeAlias = "Transaction | Glance"


# Variables that choose the store, the project or what is trusted.
_CHOOSING = (
    "SATCHEL_DB",
    "SATCHEL_TRUST",
    "SATCHEL_TRUST_FOLDERS",
    "SATCHEL_PROJECT",
    "SATCHEL_PROJECT_NAME",
    "SATCHEL_URL",
)

# Words in the user's configuration file that do the same.
_CHOOSING_KEYS = (b"name", b"folders", b"server")

_LISTED = "SELECT uid, device, inode, complete, owner FROM stores WHERE path = ?"
_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class NeedsFullOpen(Exception):
    """The fast path cannot decide; open the store fully."""


class Glance:
    """One snapshot of a store.

    Attributes:
        project: the number of the folder's project.
    """

    __slots__ = ("connection", "project")

    def __init__(self, connection: apsw.Connection, project: int) -> None:
        self.connection = connection
        self.project = project

    def one(self, sql: str, parameters: Mapping[str, Any] | None = None) -> tuple[Any, ...] | None:
        row: tuple[Any, ...] | None = self.connection.execute(sql, parameters).fetchone()
        return row

    def all(self, sql: str, parameters: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        return self.connection.execute(sql, parameters).fetchall()

    def transaction(self) -> Transaction:
        from satchel.store.sqlite_transaction import SqliteTransaction

        return SqliteTransaction(self.connection)

    def close(self) -> None:
        self.connection.close()


def glance(folder: str, environ: Mapping[str, str]) -> Glance | None:
    """Open the store of a folder, an absolute path without links; None if it has no store."""
    if any(environ.get(name) for name in _CHOOSING) or _is_configured(f"{config_path()}/config.toml"):
        raise NeedsFullOpen
    root = _root_of(folder, environ)
    if root is None:
        return None
    file = f"{root}/.satchel/satchel.db"
    uid = _listed_uid(root, file)
    try:
        connection = apsw.Connection(file, flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW)
        try:
            # the schema is unchecked: its triggers and views must not run
            connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
            connection.config(apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0)
            connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
            connection.pragma("query_only", True)
            connection.execute("BEGIN")
            select = "SELECT p.id FROM projects p, store s WHERE p.root = ? AND s.id = 1 AND s.uid = ? ORDER BY p.id"
            row = connection.execute(select, (root, uid)).fetchone()
            if row is None:
                raise NeedsFullOpen
            return Glance(connection, row[0])
        except BaseException:
            connection.close()
            raise
    except apsw.Error as error:
        raise NeedsFullOpen from error


def _root_of(folder: str, environ: Mapping[str, str]) -> str | None:
    home = os.path.realpath(environ.get("HOME") or os.sep)
    is_above = False
    while folder not in {os.sep, home}:
        if os.path.lexists(f"{folder}/.satchel/satchel.db"):
            if is_above:  # it may serve the repositories below
                raise NeedsFullOpen
            return folder
        if os.path.lexists(f"{folder}/.satchel") and _listing(f"{folder}/.satchel/satchel.db") is not None:
            raise NeedsFullOpen  # the store is gone
        try:
            is_folder = stat.S_ISDIR(os.lstat(f"{folder}/.git").st_mode)
        except OSError:
            pass
        else:
            if not is_folder and not is_above:  # a linked worktree or a submodule
                raise NeedsFullOpen
            is_above = True
        folder = os.path.dirname(folder)  # noqa: PTH120 -- importing pathlib is slow
    return None


def _listing(file: str) -> tuple[Any, ...] | None:
    try:
        stores = apsw.Connection(f"{state_path()}/stores.db", flags=apsw.SQLITE_OPEN_READONLY)
        try:
            row: tuple[Any, ...] | None = stores.execute(_LISTED, (file,)).fetchone()
            return row
        finally:
            stores.close()
    except apsw.Error:
        return None


def _listed_uid(root: str, file: str) -> bytes:
    row = _listing(file)
    if row is None:
        raise NeedsFullOpen
    uid, device, inode, complete, owner = row
    me = os.geteuid()
    try:
        above, folder, file_status = os.lstat(root), os.lstat(f"{root}/.satchel"), os.lstat(file)
        is_usual = (
            (complete, owner) == (1, None)
            and (file_status.st_dev, file_status.st_ino) == (device, inode)
            and (stat.S_ISREG(file_status.st_mode), stat.S_ISDIR(folder.st_mode)) == (True, True)
            and above.st_uid == folder.st_uid == file_status.st_uid == me
            and not (above.st_mode & stat.S_IWOTH or (folder.st_mode | file_status.st_mode) & _BY_OTHERS)
            and all(_is_usual(file + suffix) for suffix in ("-wal", "-shm", "-journal"))
            and os.access(file, os.W_OK)
        )
    except OSError as error:
        raise NeedsFullOpen from error
    if not is_usual:
        raise NeedsFullOpen
    return bytes(uid)


def _is_usual(path: str) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except FileNotFoundError:
        return True


def _is_configured(file: str) -> bool:
    try:
        with open(file, "rb", buffering=0) as stream:  # noqa: PTH123 -- importing pathlib is slow
            content = stream.readall()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return any(key in content for key in _CHOOSING_KEYS)
