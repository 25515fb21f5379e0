"""Every error Satchel raises on purpose, each with a stable code and a remedy."""

# One table, `ERROR_KINDS`, says what a code means to each interface: the exit status of the command line and the HTTP
# status; MCP tools return the same code and text as an error result.

from __future__ import annotations

import errno
from collections.abc import Iterable
from typing import ClassVar

from satchel.base.records import dataclass


@dataclass(frozen=True, slots=True)
class ErrorKind:
    """The meaning of an error code outside the library."""

    code: str
    exit_status: int
    http_status: int
    meaning: str


ERROR_KINDS: dict[str, ErrorKind] = {
    kind.code: kind
    for kind in (
        ErrorKind("internal", 70, 500, "a fault in Satchel itself"),
        ErrorKind("unconfirmed", 1, 409, "probably a mistake, and no person was there to ask; nothing was done"),
        ErrorKind("invalid_input", 2, 400, "an argument is missing, unknown, malformed or out of range"),
        ErrorKind("not_found", 3, 404, "the named run, item or file does not exist"),
        ErrorKind("conflict", 4, 409, "the request contradicts what is stored, or is ambiguous"),
        ErrorKind("refused", 5, 403, "a safety rule forbids it here"),
        ErrorKind("read_only", 6, 403, "the store can be read but not written"),
        ErrorKind("too_large", 7, 413, "the content is larger than the configured limit"),
        ErrorKind("busy", 8, 503, "another process kept the store locked for longer than the wait"),
        ErrorKind("store_damaged", 9, 500, "the store file is corrupt or truncated"),
        ErrorKind("store_foreign", 10, 409, "the file is not a Satchel store"),
        ErrorKind("store_newer", 11, 409, "the store needs a newer Satchel"),
        ErrorKind("store_full", 12, 507, "the disk or quota is full"),
        ErrorKind("unavailable", 13, 501, "an optional part is not installed or not built yet"),
        ErrorKind("assistant_failed", 14, 502, "the provider of an assistant refused, failed or was cut off"),
        ErrorKind("incomplete", 15, 500, "done, except for the parts that the message names"),
        ErrorKind("timed_out", 16, 504, "a statement ran for longer than its deadline"),
        ErrorKind("store_missing", 17, 410, "the store's file is missing or empty, although there was a store"),
        ErrorKind("io_error", 18, 500, "the disk, the file system or the operating system reported an error"),
        ErrorKind("unreachable", 19, 502, "the server cannot be reached, or its answer was lost"),
        ErrorKind("store_older", 20, 409, "the store was last opened before Satchel 0.2.0"),
        ErrorKind("interrupted", 130, 499, "the caller cancelled the request"),
    )
}


class SatchelError(Exception):
    """Base of all errors that Satchel raises on purpose.

    Args:
        problem: what was wrong, naming the value.
        remedy: what would be right; becomes the second sentence of the text.
    """

    code: ClassVar[str] = "internal"

    def __init__(self, problem: str, remedy: str | None = None) -> None:
        self.problem = problem
        self.remedy = remedy
        super().__init__(problem if remedy is None else f"{problem}. {remedy}")

    @property
    def kind(self) -> ErrorKind:
        return ERROR_KINDS[self.code]


class InvalidInput(SatchelError):
    """An argument is missing, unknown, malformed or out of range; nothing was written."""

    code = "invalid_input"


class NotFound(SatchelError):
    """The named item does not exist."""

    code = "not_found"


class Unconfirmed(SatchelError):
    """The request is probably a mistake, or a person has to confirm it; nothing was done.

    Attributes:
        person: the name of the person who has to confirm it at the terminal, or None.
    """

    code = "unconfirmed"

    def __init__(self, problem: str, remedy: str | None = None, *, person: str | None = None) -> None:
        super().__init__(problem, remedy)
        self.person = person


class Conflict(SatchelError):
    """The request contradicts what is stored, or leaves a choice open."""

    code = "conflict"


class Refused(SatchelError):
    """A safety rule forbids the request here."""

    code = "refused"


class NoProject(Refused):
    """The folder is not in a project, and creating one here needs an explicit request."""


class Detached(Refused):
    """The folder is a git worktree whose repository is missing, so that its project's store is unknown."""


class Untrusted(Refused):
    """The store here was neither created nor trusted by the user, or contains what Satchel never creates."""


class StoreCopied(Untrusted):
    """A store that is a copy of another one of the user's."""


class ReadOnly(SatchelError):
    """The store was opened for reading, or its file cannot be written."""

    code = "read_only"


class TooLarge(SatchelError):
    """Content exceeds the configured limit."""

    code = "too_large"


class Unreachable(SatchelError):
    """The server cannot be reached, or its answer was lost."""

    code = "unreachable"


class AnswerLost(Unreachable):
    """The write succeeded, but the response was lost."""


class Busy(SatchelError):
    """Another process held the store's write lock for longer than the configured wait."""

    code = "busy"


class StoreDamaged(SatchelError):
    """The store file is corrupt or truncated."""

    code = "store_damaged"


class StoreForeign(SatchelError):
    """The file exists but is not a Satchel store; it was left untouched."""

    code = "store_foreign"


class StoreNewer(SatchelError):
    """The store was written by a Satchel newer than this one can serve; it was left untouched."""

    code = "store_newer"


class StoreOlder(SatchelError):
    """The store, or a backup, is of a Satchel before 0.2.0, which this one cannot migrate; it was left untouched."""

    code = "store_older"


class StoreFull(SatchelError):
    """The disk is full; the transaction was rolled back."""

    code = "store_full"


class IoError(SatchelError):
    """The disk, the file system or the operating system reported an error; the text says what became of a write."""

    code = "io_error"


class Incomplete(SatchelError):
    """The request succeeded except for the parts that the message names."""

    code = "incomplete"


_SYSTEM_FAILED = frozenset({errno.EIO, errno.ENXIO, errno.ENOMEM, errno.ESTALE})
_NO_DESCRIPTOR = frozenset({errno.EMFILE, errno.ENFILE})


def system_error(error: OSError, action: str | None = None) -> IoError | None:
    """Return the error for a failure of the operating system; None if it only refused.

    ``action`` is what was being done, such as ``reading /p/s.db``; without it the file of the error is named.
    """
    action = action or f"using {error.filename or 'a file'}"
    if error.errno in _NO_DESCRIPTOR:
        return IoError(
            f"{action} failed: this process may open no more files",
            "Nothing was written; raise the limit (`ulimit -n`), or close what has too many files open",
        )
    if error.errno in _SYSTEM_FAILED:
        return IoError(
            f"{action} failed ({error.strerror})",
            "Nothing was written; check the disk and the system's log, then try again",
        )
    return None


class TimedOut(SatchelError):
    """A statement ran for longer than its deadline; its transaction was rolled back."""

    code = "timed_out"


class StoreMissing(SatchelError):
    """The store's file is gone or empty, though there was a store; nothing was made in its place."""

    code = "store_missing"


class Unavailable(SatchelError):
    """An optional part is not installed or not built yet."""

    code = "unavailable"


class MissingExtra(Unavailable):
    """A package of an extra is not installed; the remedy is the command that adds it to this copy of Satchel."""


class AssistantFailed(SatchelError):
    """The provider of an assistant refused, failed or was cut off; nothing of the consultation was recorded.

    Attributes:
        reason: a short name of what happened, such as ``rate_limited``.
        is_passing: whether the same request may succeed a little later.
        retry_after: how long the provider asks to wait, in seconds; None when it does not say.
    """

    code = "assistant_failed"

    def __init__(
        self,
        problem: str,
        remedy: str | None = None,
        *,
        reason: str = "failed",
        is_passing: bool = False,
        retry_after: float | None = None,
    ) -> None:
        self.reason = reason
        self.is_passing = is_passing
        self.retry_after = retry_after
        super().__init__(problem, remedy)


class Interrupted(SatchelError):
    """The caller cancelled the request; the transaction was rolled back."""

    code = "interrupted"


_SHOWN_CHARS = 80


def nearest(name: str, valid: Iterable[str]) -> str | None:
    """Return the valid name closest to a misspelt one, or None if none is close."""
    import difflib

    by_folded = {candidate.casefold(): candidate for candidate in valid}
    close = difflib.get_close_matches(name.casefold(), by_folded, n=1, cutoff=0.6)
    return by_folded[close[0]] if close else None


def unknown_name(what: str, name: object, valid: Iterable[str], *, suggestion: str | None = None) -> InvalidInput:
    """Return the error for a name outside a closed list, with the nearest valid name and the list.

    ``what`` is the kind of thing, such as "entry type"; ``suggestion`` replaces the nearest name.
    """
    names = list(valid)
    text = name[:_SHOWN_CHARS] if isinstance(name, str) else None
    close = suggestion or (nearest(text, names) if text is not None else None)
    hint = f"Did you mean {close!r}? " if close else ""
    quoted = repr(name)[:_SHOWN_CHARS] if text is None else repr(text)
    return InvalidInput(f"unknown {what} {quoted}", f"{hint}Valid: {', '.join(names)}")
