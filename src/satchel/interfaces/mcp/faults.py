"""Unexpected errors: logged in full on stderr, hidden from the client."""

from __future__ import annotations

import sys

from satchel.base.errors import SatchelError

INTERNAL_TEXT = "internal error; see the server's log"
"""All that a client learns about an exception nobody expected."""


def reason_of(error: Exception, where: str) -> str:
    """Return a short reason for a failure; log the traceback of an unexpected one."""
    if isinstance(error, SatchelError):
        return error.problem
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    log_fault(where)
    return INTERNAL_TEXT


def log_fault(where: str) -> None:
    """Write the exception being handled to stderr, with its traceback."""
    from contextlib import suppress

    with suppress(Exception):  # a client that closed stderr must still get its answer
        import traceback

        print(f"satchel: fault in {where}\n{traceback.format_exc()}", file=sys.stderr, end="", flush=True)  # noqa: T201 - stderr is the log
