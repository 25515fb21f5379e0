"""The stores that a server has open, and what one request may do in one of them."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

from satchel.base.records import replace
from satchel.client import Satchel, open_satchel
from satchel.interfaces.http.access import Access
from satchel.keep.sessions.caller import Caller


class Stores:
    """The stores of one server, each opened when the first request for it comes, and kept.

    Args:
        environ: the server's environment.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = {name: value for name, value in environ.items() if name not in _OF_CALLERS}
        self._opened: dict[Path, Satchel] = {}
        self._read_only: dict[Path, Satchel] = {}
        self._lock = threading.Lock()

    def satchel(self, access: Access, *, caller: Caller | None = None, agent: str | None = None) -> Satchel:
        """Return what a request works with: the store and project of its token, and nothing of another.

        Nobody's disk is looked at: paths are taken as text, citations are neither made nor compared.

        Args:
            access: the rights of its token.
            caller: who calls, and in which session; None is a program without one.
            agent: who acts where the call itself names nobody; the token's own agent comes first.

        Raises:
            SatchelError: the store is not to be believed, or cannot be opened.
        """
        opened = self._opened_to_read(access.store) if access.read_only else self.opened(access.store)
        workplace = replace(
            opened.workplace,
            project_name=access.project,
            root=None,
            files_root=None,
            worktree=None,
            run_id=None,
            agent=access.agent or agent,
            caller=caller,
        )
        return Satchel(workplace, opened.place, opened.config, self._environ)

    def opened(self, store: Path) -> Satchel:
        """Return a store, opened."""
        with self._lock:
            if store not in self._opened:
                self._opened[store] = open_satchel(store, cwd=store.parent, environ=self._environ, migrates=True)
            return self._opened[store]

    def _opened_to_read(self, store: Path) -> Satchel:
        """Return a store, opened so that nothing can be written through it."""
        with self._lock:
            if store not in self._read_only:
                self._read_only[store] = open_satchel(store, cwd=store.parent, environ=self._environ, read_only=True)
            return self._read_only[store]

    def every(self) -> list[Satchel]:
        """Return the stores that are open."""
        with self._lock:
            return list(self._opened.values())

    def close(self) -> None:
        """Close all of them."""
        with self._lock:
            opened = [*self._opened.values(), *self._read_only.values()]
        for satchel in opened:
            satchel.close()


_OF_CALLERS = frozenset({"SATCHEL_DB", "SATCHEL_PROJECT", "SATCHEL_AGENT", "SATCHEL_RUN", "SATCHEL_SESSION"})
"""Variables that say where and as whom a local program works, which a server takes from its tokens."""
