"""Schema migrations: each step in one transaction with its record, safe when many processes start."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import apsw

from satchel.base.clock import Clock
from satchel.base.errors import ReadOnly, StoreDamaged
from satchel.store import opening
from satchel.store.failures import RESTORE, check_version, newer
from satchel.store.opening import Access
from satchel.store.schema import APPLICATION_ID, BASE_VERSION, SCHEMA_VERSION, Migration, records, steps
from satchel.store.trust import Trust, uid_in
from satchel.store.turnstile import Turnstile


def bring_up_to_date(
    access: Access,
    turnstile: Turnstile,
    trust: Trust | None,
    *,
    writable: bool,
    may_migrate: bool,
    clock: Clock,
    backups_keep: int,
) -> apsw.Connection:
    """Check that this program can serve the store, and apply the missing migrations.

    The turnstile is held while migrating, so that one of several starting processes works and the others wait.
    Returns a connection for reading, which the check had to open anyway.
    """
    reader, version = _open_and_check(access, writable, trust)
    if version >= SCHEMA_VERSION:
        return reader
    reader.close()
    if not may_migrate:
        raise ReadOnly(
            f"{access.file} has schema version {version} and must be brought to {SCHEMA_VERSION} before it is read",
            "Open it once where it can be written",
        )
    turnstile.enter(access.wait_ms / 1_000)
    try:
        connection = opening.open_writable(access)
        try:
            _apply_missing(connection, access, clock, backups_keep, trust)
        finally:
            connection.close()
    finally:
        turnstile.leave()
    return _open_and_check(access, writable, trust)[0]


def _open_and_check(access: Access, writable: bool, trust: Trust | None) -> tuple[apsw.Connection, int]:
    reader = opening.open_reader(access, writable=writable)
    try:
        # one snapshot: between two reads another process may create the tables, which would seem foreign
        reader.execute("BEGIN")
        version, uid = 0, None
        if opening.check_ours(reader, access.file):
            uid, version = _uid_and_version(reader, access.file)
        reader.execute("COMMIT")
        if trust is not None and uid is not None:
            trust.admit(uid, opening.identity_of(access.file))
        return reader, version
    except BaseException:
        reader.close()
        raise


def check_writable(connection: apsw.Connection, file: Path) -> None:
    """Refuse to write a store that another process has migrated past this program's version."""
    for (needed,) in connection.execute("SELECT min_writer FROM store"):
        if needed > SCHEMA_VERSION:
            raise newer(str(file), needed, "written")


def check_readable(connection: apsw.Connection, file: Path) -> bytes | None:
    """Refuse a store of an unsupported version; return its uid, None for an empty database."""
    if not opening.check_ours(connection, file):
        return None
    return _uid_and_version(connection, file)[0]


def empty_store() -> apsw.Connection:
    """Return an empty store in memory, for reading before a file exists."""
    connection = apsw.Connection(":memory:")
    connection.deserialize("main", _empty_store(SCHEMA_VERSION))
    return connection


@cache
def _empty_store(version: int) -> bytes:
    # every step of the schema takes time, and before a file exists every read asks for one
    connection = apsw.Connection(":memory:")
    try:
        _apply_all(connection, 0, version, 0)
        return connection.serialize("main")
    finally:
        connection.close()


def finish_copy(connection: apsw.Connection, file: Path, now: int, trust: Trust | None) -> bytes:
    """Migrate a copy of a store that nobody else has open, give it the uid of its destination, and return that."""
    uid, version = _uid_and_version(connection, file)
    _apply_all(connection, version, SCHEMA_VERSION, now)
    if trust is not None:
        uid = trust.expect_copy(uid)
        connection.execute("UPDATE store SET uid = ?", (uid,))
    return uid


def _apply_all(connection: apsw.Connection, version: int, target: int, now: int) -> None:
    connection.execute("BEGIN")
    for number, step in steps(version, target):
        _apply(connection, number, step, now)
    connection.execute("COMMIT")


def _uid_and_version(connection: apsw.Connection, file: Path) -> tuple[bytes, int]:
    uid = uid_in(connection)
    needed, version = connection.execute("SELECT (SELECT min_reader FROM store), max(version) FROM migrations").get
    if uid is None or not isinstance(version, int):
        raise StoreDamaged(f"{file} is damaged: it has no uid or schema version", RESTORE)
    check_version(str(file), needed, version)
    return uid, version


def _apply_missing(
    connection: apsw.Connection, access: Access, clock: Clock, backups_keep: int, trust: Trust | None
) -> None:
    file = access.file
    is_backed_up = False
    while True:
        connection.execute("BEGIN IMMEDIATE")
        try:
            version = _uid_and_version(connection, file)[1] if opening.check_ours(connection, file) else 0
            # a new store needs no backup between its steps, so they are one transaction
            following = min(version + 1, SCHEMA_VERSION) if version else SCHEMA_VERSION
            if 0 < version < following and not is_backed_up:
                from satchel.store import backups  # rarely needed: for a store of an older version

                check_writable(connection, file)
                backups.back_up_before(access, f"v{version}-to-v{SCHEMA_VERSION}", clock(), backups_keep, trust)
                is_backed_up = True
            for number, step in steps(version, following):
                _apply(connection, number, step, clock(), None if trust is None else trust.new_uid)
            if not version and trust is not None:
                # before the commit: a store that is not listed would be refused as untrusted
                trust.list_new(connection.execute("SELECT uid FROM store").get, opening.identity_of(file))
            connection.execute("COMMIT")
        except BaseException:
            opening.roll_back(connection)
            raise
        if following >= SCHEMA_VERSION:
            return


def _apply(connection: apsw.Connection, number: int, migration: Migration, now: int, uid: bytes | None = None) -> None:
    for statement in migration.statements:
        connection.execute(statement)
    if number == BASE_VERSION:
        connection.pragma("application_id", APPLICATION_ID)
    for statement, values in records(number, migration, now, uid):
        connection.execute(statement, values)
