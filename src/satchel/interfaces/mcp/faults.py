"""Unexpected errors: logged in full on stderr, never shown to the client."""

from __future__ import annotations

import sys

from satchel.base.errors import SatchelError

INTERNAL_TEXT = "internal error; see the server's log"
"""All that a client learns about an exception nobody expected."""


def reason_of(error: Exception, where: str) -> str:
    """Return the reason of a failure in a few words; log the traceback of an unexpected one.

    Args:
        where: what was being done, for the log.
    """
    if isinstance(error, SatchelError):
        return error.problem
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    log_fault(where)
    return INTERNAL_TEXT


def log_fault(where: str) -> None:
    """Write the exception being handled to stderr, with its traceback.

    Args:
        where: what was being done, as in ``tool search``.
    """
    from contextlib import suppress

    with suppress(Exception):  # a client that closed our stderr must not lose its answer for it
        import traceback

        print(f"satchel: fault in {where}\n{traceback.format_exc()}", file=sys.stderr, end="", flush=True)  # noqa: T201 - stderr is the log
