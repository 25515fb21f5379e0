"""Adding a store to the user's list of trusted stores."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from satchel.base.errors import InvalidInput, NotFound, Refused, SatchelError, StoreForeign
from satchel.base.file_checks import my_users, owner_name
from satchel.base.records import dataclass, replace
from satchel.store import backups, migrations, opening
from satchel.store.failures import explained
from satchel.store.known_stores import KnownStore
from satchel.store.trust import open_untouched

if TYPE_CHECKING:
    from satchel.store.sqlite import SqliteEngine

_FIRST_LOOK = """
    SELECT (SELECT count(*) FROM projects), (SELECT count(*) FROM documents), (SELECT count(*) FROM agents)
"""


@dataclass(frozen=True, slots=True)
class Accepted:
    """A store that was added to the list.

    Attributes:
        was_listed: whether it was on the list before.
        copy_of: the store that it is a copy of, so that it got a new uid; None if it is no copy.
    """

    store: KnownStore
    was_listed: bool
    copy_of: Path | None
    projects: int
    items: int
    agents: int


def accept(engine: SqliteEngine, *, owner: str | None = None, tree: bool = False) -> Accepted:
    """Add a store to the user's list of trusted stores.

    `owner` names another user whose store it is, by name or number. `tree` lets projects below the store's project
    folder use it too, unless they have their own.
    """
    trust, file = engine.trust, engine.file
    if trust is None or not trust.is_listed:
        raise InvalidInput(f"{file} was named by its path, so it needs no list", "Use it with --db PATH or SATCHEL_DB")
    if not os.path.lexists(file):
        raise NotFound(f"there is no store at {file}", "Begin one with `satchel init`")
    user = None if owner is None else _user_number(owner)
    trust.check_files(owner=user)
    if trust.tracked():
        trust.refuse_tracked()
    opening.check_header(file)
    listed = trust.stores.at(file)
    with explained(file):
        uid, copy_of = _own_uid(engine)
        with closing(opening.open_reader(engine.access, writable=opening.is_writable(file))) as connection:
            counts = connection.execute(_FIRST_LOOK).get
    was_listed = listed is not None and listed.uid == uid
    store = KnownStore(
        uid, file, opening.identity_of(file), "trusted", engine.clock(), tree=tree, owner=_other(user, file)
    )
    if was_listed and listed is not None:
        store = replace(store, how=listed.how, listed_at=listed.listed_at)
    trust.stores.put(store)
    return Accepted(store, was_listed, copy_of, *counts)


def _own_uid(engine: SqliteEngine) -> tuple[bytes, Path | None]:
    file, access = engine.file, engine.access
    assert engine.trust is not None
    with closing(opening.open_reader(access, writable=opening.is_writable(file))) as connection:
        uid = _checked_uid(connection, file)
    other = engine.trust.stores.of(uid)
    if other is None or other.file == file or not other.file.exists():
        return uid, None
    fresh, roots = os.urandom(16), (str(file.parent.parent), str(other.file.parent.parent))
    with closing(opening.open_writable(access)) as connection, connection:
        connection.execute("UPDATE store SET uid = ?", (fresh,))
        connection.execute("UPDATE projects SET root = ? WHERE root = ?", roots)
    return fresh, other.file


def _checked_uid(connection: apsw.Connection, file: Path) -> bytes:
    uid = migrations.check_readable(connection, file)
    if uid is None:
        raise StoreForeign(f"{file} holds no store", "Begin one with `satchel init --new`")
    return uid


def is_acceptable(engine: SqliteEngine) -> bool:
    """Return whether :func:`accept` would list the store and a full check of the file finds no problem.

    Changes nothing, and creates no file next to a store that was closed cleanly.
    """
    file = engine.file
    try:
        engine.check_files()
        opening.check_header(file)
        # a file alone is not whole while a WAL holds pages of it
        has_wal = opening.wal_bytes(file) > 0
        with closing(
            opening.open_reader(engine.access, writable=False) if has_wal else open_untouched(file)
        ) as connection:
            _checked_uid(connection, file)
            return not backups.integrity_problems(connection)
    except (SatchelError, apsw.Error):
        return False


def _user_number(owner: str) -> int:
    import pwd

    if owner.isdecimal():
        return int(owner)
    try:
        return pwd.getpwnam(owner).pw_uid
    except KeyError:
        raise InvalidInput(f"there is no user {owner!r}", "Name the owner that `ls -l` shows") from None


def _other(user: int | None, file: Path) -> int | None:
    if user is None or user in my_users():
        return None
    actual = file.stat().st_uid
    if actual != user:
        raise Refused(
            f"{file} belongs to user {owner_name(actual)}, not to {owner_name(user)}", "Name the owner it has"
        )
    return user
