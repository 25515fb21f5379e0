"""Translation of errors of SQLite and of the operating system."""

from __future__ import annotations

import errno
import os
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from satchel.base import errors
from satchel.store import migrations
from satchel.store.failures import explain, explained
from tables import in_one_test

STORE = Path("/p/.satchel/satchel.db")

OF_SQLITE = [
    (apsw.BusyError, errors.Busy),
    (apsw.LockedError, errors.Busy),
    (apsw.ProtocolError, errors.Busy),
    (apsw.NotADBError, errors.StoreForeign),
    (apsw.CorruptError, errors.StoreDamaged),
    (apsw.FormatError, errors.StoreDamaged),
    (apsw.FullError, errors.StoreFull),
    (apsw.ReadOnlyError, errors.ReadOnly),
    (apsw.PermissionsError, errors.ReadOnly),
    (apsw.AuthError, errors.ReadOnly),
    (apsw.CantOpenError, errors.ReadOnly),
    (apsw.InterruptError, errors.Interrupted),
    (apsw.IOError, errors.IoError),
    (apsw.NoMemError, errors.IoError),
    (apsw.ConstraintError, None),
    (apsw.MismatchError, None),
]
OF_THE_SYSTEM = [
    (errno.ENOSPC, errors.StoreFull),
    (errno.EDQUOT, errors.StoreFull),
    (errno.EROFS, errors.ReadOnly),
    (errno.EACCES, errors.ReadOnly),
    (errno.EPERM, errors.ReadOnly),
    (errno.EIO, errors.IoError),
    (errno.EMFILE, errors.IoError),
    (errno.ENOTDIR, errors.SatchelError),
]


def test_an_error_of_sqlite_is_told_by_its_kind_and_a_fault_of_satchel_is_not_hidden() -> None:
    errors_of = [(kind, explain(kind("it failed"), STORE)) for kind, _ in OF_SQLITE]
    assert [(kind, error and type(error)) for kind, error in errors_of] == OF_SQLITE
    assert all(
        str(STORE) in str(error) for _, error in errors_of if error and not isinstance(error, errors.Interrupted)
    )


@in_one_test(("number", "kind"), OF_THE_SYSTEM)
def test_an_error_of_the_system_is_told_by_its_number(number: int, kind: type[errors.SatchelError]) -> None:
    with pytest.raises(errors.SatchelError) as raised, explained(STORE):
        raise OSError(number, os.strerror(number), "/p/backups")
    assert type(raised.value) is kind
    assert "/p/backups" in str(raised.value)


def test_a_store_that_cannot_be_opened_for_want_of_files_is_not_called_read_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(os, "open", refuse)
    error = explain(apsw.CantOpenError("unable to open database file"), STORE)
    assert isinstance(error, errors.IoError)
    assert "may open no more files" in str(error)


def test_a_missing_table_is_damage_only_where_the_store_lacks_one() -> None:
    missing = apsw.SQLError("no such table: context")
    with closing(migrations.empty_store()) as store:
        assert explain(missing, STORE, store) is None
        assert explain(apsw.SQLError("near SELCT: syntax error"), STORE, store) is None
        store.execute("DROP TABLE file_claims")
        assert isinstance(explain(missing, STORE, store), errors.StoreDamaged)
    assert explain(missing, STORE) is None


def test_what_sqlite_quotes_of_a_damaged_file_stays_on_one_line() -> None:
    error = explain(apsw.CorruptError("bad `x`\n" + "y" * 500), STORE)
    assert "bad 'x' yyy" in str(error)
    assert "y" * 120 not in str(error)
