"""Faults of our own: told in full to the log on stderr, never to the client."""

from __future__ import annotations

import sys

INTERNAL_TEXT = "internal error; see the server's log"
"""All that a client learns about an exception nobody expected."""


def log_fault(where: str) -> None:
    """Write the exception being handled to stderr, with its traceback.

    Args:
        where: what was being done, as in ``tool search``.
    """
    import traceback
    from contextlib import suppress

    with suppress(OSError, ValueError):  # a client that closed our stderr must not lose its answer for it
        print(f"satchel: fault in {where}\n{traceback.format_exc()}", file=sys.stderr, end="", flush=True)  # noqa: T201 - stderr is the log
