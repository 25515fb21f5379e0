"""Background work at the start of a session: reading the shared text of the repository."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from satchel.base.errors import SatchelError
from satchel.client import Satchel

_PAUSE_SECONDS = 0.2
"""The pause before it begins, so that the client has its first answers."""

_LAST_SECONDS = 2.0


@contextmanager
def shared_text_read(satchel: Satchel) -> Iterator[None]:
    """Read the repository's shared text in a thread while the block runs."""
    import threading

    done = threading.Event()

    def read() -> None:
        if done.wait(_PAUSE_SECONDS):
            return
        # satchel sync reads it again and reports the error
        with suppress(SatchelError, OSError):
            from satchel.keep.shared.folder import may_be_news

            if may_be_news(satchel.workplace, satchel.config.share_branch):
                satchel.shared.read_news()

    thread = threading.Thread(target=read, name="shared-text", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(_LAST_SECONDS)
