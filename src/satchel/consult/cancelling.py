"""Ending a consultation that is no longer wanted, between two steps of its work."""

from __future__ import annotations

from collections.abc import Callable

from satchel.base.errors import Interrupted

IsCancelled = Callable[[], bool]
"""Asked again and again, several times a second while a provider is waited for, then from another thread; True ends the
call."""


def never() -> bool:
    """Answer for a call that nobody can cancel."""
    return False


def raise_if_cancelled(is_cancelled: IsCancelled) -> None:
    """Go on, unless the call is cancelled.

    Raises:
        Interrupted: it is.
    """
    if is_cancelled():
        raise Interrupted("the consultation was cancelled", "Nothing of it was recorded")
