"""Every error Satchel raises on purpose, each with a stable code and a remedy."""

# The kind of an error says what its code means to each interface: the exit status of the command line and the HTTP
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


class SatchelError(Exception):
    """Base of all errors that Satchel raises on purpose.

    Args:
        problem: what was wrong, naming the value.
        remedy: what would be right; becomes the second sentence of the text.
    """

    kind: ClassVar[ErrorKind] = ErrorKind("internal", 70, 500, "a fault in Satchel itself")
    code: ClassVar[str] = kind.code

    def __init_subclass__(cls) -> None:
        cls.code = cls.kind.code
        ERRORS.setdefault(cls.code, cls)

    def __init__(self, problem: str, remedy: str | None = None) -> None:
        self.problem = problem
        self.remedy = remedy
        super().__init__(problem if remedy is None else f"{problem}. {remedy}")


# The errors by code; of several with one code, the most general.
ERRORS: dict[str, type[SatchelError]] = {SatchelError.code: SatchelError}


class InvalidInput(SatchelError):
    """An argument is missing, unknown, malformed or out of range; nothing was written."""

    kind = ErrorKind("invalid_input", 2, 400, "an argument is missing, unknown, malformed or out of range")


class NotFound(SatchelError):
    kind = ErrorKind("not_found", 3, 404, "the named run, item or file does not exist")


class Unconfirmed(SatchelError):
    """The request is probably a mistake, or a person has to confirm it; nothing was done.

    Attributes:
        person: the name of the person who has to confirm it at the terminal, or None.
    """

    kind = ErrorKind("unconfirmed", 1, 409, "probably a mistake, and no person was there to ask; nothing was done")

    def __init__(self, problem: str, remedy: str | None = None, *, person: str | None = None) -> None:
        super().__init__(problem, remedy)
        self.person = person


class Conflict(SatchelError):
    kind = ErrorKind("conflict", 4, 409, "the request contradicts what is stored, or is ambiguous")


class Refused(SatchelError):
    kind = ErrorKind("refused", 5, 403, "a safety rule forbids it here")


class NoProject(Refused):
    """The folder is not in a project, and creating one here needs an explicit request."""


class Detached(Refused):
    """The folder is a git worktree whose repository is missing, so that its project's store is unknown."""


class Untrusted(Refused):
    """The store here was neither created nor trusted by the user, or contains what Satchel never creates."""


class StoreCopied(Untrusted):
    """A store that is a copy of another one of the user's."""


class ReadOnly(SatchelError):
    kind = ErrorKind("read_only", 6, 403, "the store can be read but not written")


class TooLarge(SatchelError):
    kind = ErrorKind("too_large", 7, 413, "the content is larger than the configured limit")


class Unreachable(SatchelError):
    kind = ErrorKind("unreachable", 19, 502, "the server cannot be reached, or its answer was lost")


class AnswerLost(Unreachable):
    """The write succeeded, but the response was lost."""


class Busy(SatchelError):
    kind = ErrorKind("busy", 8, 503, "another process kept the store locked for longer than the wait")


class StoreDamaged(SatchelError):
    kind = ErrorKind("store_damaged", 9, 500, "the store file is corrupt or truncated")


class StoreForeign(SatchelError):
    """The file exists but is not a Satchel store; it was left untouched."""

    kind = ErrorKind("store_foreign", 10, 409, "the file is not a Satchel store")


class StoreNewer(SatchelError):
    """The store was written by a Satchel newer than this one can serve; it was left untouched."""

    kind = ErrorKind("store_newer", 11, 409, "the store needs a newer Satchel")


class StoreOlder(SatchelError):
    """The store, or a backup, is of a Satchel before 0.2.0, which this one cannot migrate; it was left untouched."""

    kind = ErrorKind("store_older", 20, 409, "the store was last opened before Satchel 0.2.0")


class StoreFull(SatchelError):
    """The disk is full; the transaction was rolled back."""

    kind = ErrorKind("store_full", 12, 507, "the disk or quota is full")


class IoError(SatchelError):
    """The disk, the file system or the operating system reported an error; the text says what became of a write."""

    kind = ErrorKind("io_error", 18, 500, "the disk, the file system or the operating system reported an error")


class Incomplete(SatchelError):
    kind = ErrorKind("incomplete", 15, 500, "done, except for the parts that the message names")


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

    kind = ErrorKind("timed_out", 16, 504, "a statement ran for longer than its deadline")


class StoreMissing(SatchelError):
    """The store's file is gone or empty, though there was a store; nothing was made in its place."""

    kind = ErrorKind("store_missing", 17, 410, "the store's file is missing or empty, although there was a store")


class Unavailable(SatchelError):
    kind = ErrorKind("unavailable", 13, 501, "an optional part is not installed or not built yet")


class MissingExtra(Unavailable):
    """A package of an extra is not installed; the remedy is the command that adds it to this copy of Satchel."""


class AssistantFailed(SatchelError):
    """The provider of an assistant refused, failed or was cut off; nothing of the consultation was recorded.

    Attributes:
        reason: a short name of what happened, such as ``rate_limited``.
        is_passing: whether the same request may succeed a little later.
        retry_after: how long the provider asks to wait, in seconds; None when it does not say.
    """

    kind = ErrorKind("assistant_failed", 14, 502, "the provider of an assistant refused, failed or was cut off")

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

    kind = ErrorKind("interrupted", 130, 499, "the caller cancelled the request")


# The meaning of each code.
ERROR_KINDS = {code: error.kind for code, error in ERRORS.items()}

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
