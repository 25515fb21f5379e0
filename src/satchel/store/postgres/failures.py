"""Translation of PostgreSQL's errors to Satchel's, with a remedy."""

from __future__ import annotations

import re

import psycopg
from psycopg import errors

from satchel.base.errors import (
    Busy,
    Interrupted,
    InvalidInput,
    IoError,
    ReadOnly,
    Refused,
    SatchelError,
    StoreDamaged,
    StoreFull,
    StoreMissing,
    TimedOut,
    TooLarge,
    Unreachable,
)
from satchel.store.running import timed_out

_NOTHING = "Nothing was written"
_OF_EVERY_STORE = re.compile(r"\b(projects|store)\b")
"""Tables that are there as long as the store is."""


def explain(error: psycopg.Error, location: str, *, interrupted: bool = False) -> SatchelError | None:
    """Translate an error of the database; None for a bug in Satchel, which should surface as it is.

    `interrupted` tells that another thread interrupted the transaction.
    """
    match error:
        case errors.LockNotAvailable() | errors.DeadlockDetected():
            return Busy(
                f"{location} stayed locked by others for longer than the wait",
                f"{_NOTHING}; try again, or raise store.lock_wait_ms",
            )
        case errors.UndefinedTable() if _OF_EVERY_STORE.search(error.diag.message_primary or ""):
            return StoreMissing(
                f"the store {location} is gone, though there was one; nothing was written",
                "This is for a person to decide: restore the schema from a backup; restarting the program creates "
                "an empty store",
            )
        case errors.QueryCanceled():
            return Interrupted("the call was interrupted", _NOTHING) if interrupted else timed_out(location)
        case errors.TooManyConnections() | errors.ConfigurationLimitExceeded():
            return no_connection(location)
        case errors.ReadOnlySqlTransaction():
            return ReadOnly(
                f"{location} cannot be written: the server is a standby, or the session is for reading",
                "Name the primary; `target_session_attrs=read-write` in the URL finds it among several hosts",
            )
        case errors.DiskFull() | errors.OutOfMemory():
            return StoreFull(f"the server of {location} has no room left", f"{_NOTHING}; free some space there")
        case errors.IoError():
            return IoError(f"the server of {location} reports a failing disk", "See its log; nothing was written")
        case errors.DataCorrupted() | errors.IndexCorrupted():
            return StoreDamaged(f"{location} is damaged ({one_line(error)})", "Restore the database from a backup")
        case errors.ProgramLimitExceeded():
            return TooLarge(
                f"{location} cannot store a name or path of that length ({one_line(error)})", f"{_NOTHING}; shorten it"
            )
        case errors.InsufficientPrivilege():
            return Refused(
                f"the role may not do that in {location} ({one_line(error)})",
                "Grant the role what docs/postgresql.md lists, or use the one that owns the schema",
            )
        case errors.InvalidParameterValue() if 'role "' in str(error):
            return Refused(f"{location} has no such role ({one_line(error)})", "Check the role in the URL")
        case errors.InvalidSqlStatementName() | errors.DuplicatePreparedStatement():
            return Refused(
                f"the pooler in front of {location} does not keep prepared statements ({one_line(error)})",
                "PgBouncer does from 1.21 on, with max_prepared_statements above 0",
            )
        case errors.InvalidPassword() | errors.InvalidAuthorizationSpecification():
            return Refused(f"the server of {location} refuses the login", "Check the user and the password")
        case errors.InvalidCatalogName():
            return InvalidInput(f"there is no database of {location}", "Create it, or check the name in the URL")
        case psycopg.DataError() if error.sqlstate is None and "NUL" in str(error):
            return InvalidInput("a text contains the character NUL, which PostgreSQL cannot store", "Remove it")
        case errors.IdleInTransactionSessionTimeout() | errors.TransactionTimeout():
            return TimedOut(
                f"a transaction on {location} stayed open for too long", f"{_NOTHING}; ask for less at once"
            )
        case psycopg.OperationalError() | psycopg.InterfaceError():
            return unreachable(location, error)
        case _:
            return None


def unreachable(location: str, error: Exception) -> Unreachable:
    """Return the error for a connection that was lost, or could not be opened, before anything was committed."""
    return Unreachable(
        f"{location} cannot be reached ({one_line(error)})", f"{_NOTHING}; check that the server runs, and the address"
    )


def no_connection(location: str) -> Busy:
    """Return the error for a server that takes no more connections, or a pool without an idle one."""
    return Busy(
        f"{location} has no connection left",
        f"{_NOTHING}; try again, or raise max_connections there, or put PgBouncer between",
    )


def unknown_outcome(location: str) -> IoError:
    """Return the error for a commit whose answer was lost and whose outcome is unknown."""
    return IoError(
        f"the connection to {location} was lost in the middle of a commit, and the server does not know the outcome",
        "It is unknown whether the write was saved: read it back before you write it again",
    )


def one_line(error: object) -> str:
    """Return the beginning of the server's message on one line: it may quote stored content."""
    return " ".join(str(error).split())[:160].replace("`", "'")


_REFUSED_LOGIN = ("password authentication failed", "no password supplied", "no pg_hba.conf entry", "fe_sendauth")
_FULL = ("too many clients", "too many connections", "remaining connection slots", "max_client_conn")


def explain_connecting(error: psycopg.Error, location: str) -> SatchelError:
    """Translate an error of connecting, for which libpq gives only the server's text and no code."""
    text = str(error)
    if any(part in text for part in _FULL):
        return no_connection(location)
    if any(part in text for part in _REFUSED_LOGIN) or ('role "' in text and "does not exist" in text):
        return Refused(
            f"the server of {location} refuses the login ({one_line(error)})", "Check the user, and the password"
        )
    if 'database "' in text and "does not exist" in text:
        return InvalidInput(f"there is no database of {location}", "Create it, or check the name in the URL")
    return failed if (failed := explain(error, location)) is not None else unreachable(location, error)
