"""The open stores of a server, and the Satchel of each request."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from satchel.base import processes
from satchel.base.errors import InvalidInput, MissingExtra, NotFound, SatchelError, Unavailable
from satchel.base.folders import config_folder, state_folder
from satchel.base.paths import FOLDER_NAME
from satchel.base.records import replace
from satchel.client import Satchel, open_satchel
from satchel.interfaces.http import logs
from satchel.interfaces.http.access import Access, Store, owner_of, person_of
from satchel.interfaces.http.databases import Databases, name_of
from satchel.keep import projects
from satchel.keep.sessions.caller import Caller
from satchel.store.engine import Engine, automatic_backups
from satchel.store.postgres import Address


class Stores:
    """The stores of one server, opened on the first request and then left open."""

    def __init__(self, environ: Mapping[str, str], databases: Databases | None = None) -> None:
        self._databases = databases or Databases(Path(os.devnull))
        self._environ = {name: value for name, value in environ.items() if name not in _OF_CALLERS}
        self._opened: dict[tuple[Store, bool], Satchel] = {}
        self._named: set[Store] = set()
        self._roots: dict[tuple[Store, str], str | None] = {}
        self._machine = processes.machine()
        self._lock = threading.Lock()
        self._backups = ExitStack()

    def satchel(self, access: Access, *, caller: Caller | None = None, agent: str | None = None) -> Satchel:
        """Return the Satchel for a request, limited to the store and project of its token.

        It reads no files: paths are treated as text, and citations are neither made nor compared.
        """
        opened = self.opened(access.store, read_only=access.read_only)
        engine = self.engine(access, read_only=access.read_only)
        # an engine checks them only when it opens the file, which may be weeks ago
        engine.check_files()
        workplace = replace(
            opened.workplace,
            engine=engine,
            project_name=access.project,
            root=None,
            files_root=None,
            worktree=None,
            run_id=None,
            agent=agent,
            caller=caller,
            person=lambda: person_of(access),
            owner=owner_of(access),
            is_confined=True,
        )
        settings = tuple(one for one in opened.config.settings if one.key.name.startswith(_SHARED))
        config = opened.config.with_changes(settings=settings, warnings=())
        return Satchel(workplace, opened.place, config, self._environ)

    def engine(self, access: Access, *, read_only: bool) -> Engine:
        return self.opened(access.store, read_only=read_only).workplace.engine.of_project(access.project)

    def opened(self, store: Store, *, read_only: bool = False) -> Satchel:
        key = store, read_only
        with self._lock:
            self._named.add(store)
            if key not in self._opened:
                try:
                    satchel = open_satchel(
                        store if isinstance(store, Path) else self._address(store),
                        cwd=store.parent if isinstance(store, Path) else Path("/"),
                        environ=self._environ,
                        read_only=read_only,
                        migrates=not read_only,
                    )
                except MissingExtra as error:
                    raise _for_operator(error) from None
                if satchel.workplace.engine.has_automatic_backups and not read_only:
                    self._backups.enter_context(automatic_backups(satchel.workplace.engine))
                self._opened[key] = satchel
            return self._opened[key]

    def _address(self, store: str) -> Address:
        try:
            return self._databases.address(name_of(store))
        except SatchelError as error:
            raise _for_operator(error) from None

    def known_as(self, standing: Mapping[str, Any], access: Access, worktree: str | None) -> str | None:
        """Return the public name of a caller's worktree; None for the project's own main one."""
        root, host = standing.get("root"), standing.get("host")
        if standing.get("machine") == self._machine and root == self._root_of(access):
            return worktree
        return f"{host}:{worktree or root}"

    def _root_of(self, access: Access) -> str | None:
        key = access.store, access.project
        if key not in self._roots:
            engine = self.opened(access.store, read_only=access.read_only).workplace.engine
            with engine.read() as transaction:
                project = projects.with_name(transaction, access.project)
            # a project created over the server has none, unless the store is in its folder
            folder = engine.folder
            root = str(folder.parent) if folder is not None and folder.name == FOLDER_NAME else None
            if project is None:
                return root
            self._roots[key] = project.root or root
        return self._roots[key]

    def every(self) -> list[Store]:
        with self._lock:
            return list(dict.fromkeys(store for store, _ in self._opened))

    def without_places(self, text: str, code: str) -> str:
        """Return the text of an error for a token holder, without what only the operator of the server may know."""
        with self._lock:
            named = tuple(self._named)
        return without_places(text, code, named)

    def close(self) -> None:
        """Close all stores, with a last backup where one is due."""
        self._backups.close()
        with self._lock:
            opened = list(self._opened.values())
        for satchel in opened:
            satchel.close()


def _for_operator(error: SatchelError) -> Unavailable:
    """Log a fault of the server's configuration or installation, and return an error without its details."""
    logs.fault(error, problem=str(error))
    return Unavailable("the server cannot open the database of this token", "Its log says why")


# The keys that say how what a token holder writes is kept and given, beginnings of their names.
#
# The others are the operator's: they name folders, addresses and accounts of the server, or act on a caller's machine.
_SHARED = ("context.", "layers.", "claims.", "retention.", "brief.", "tokens.")

# Variables that say where and as whom a local program works, which a server takes from its tokens.
_OF_CALLERS = frozenset(
    {"SATCHEL_DB", "SATCHEL_PROJECT", "SATCHEL_AGENT", "SATCHEL_RUN", "SATCHEL_SESSION", "SATCHEL_PERSON"}
)


_TOKEN = re.compile(r"satchel_[0-9a-f]{10}_[A-Za-z0-9_-]{20,}")
_DATABASE = re.compile(r"\bpostgres(?:ql)?(?:\+\w+)?://[^\s\"'`\\]+")
_REST = r"(?![\w-])(?:/[^\s\"'`\\,;()]*[^\s\"'`\\,;().:])?"
# Errors about what the caller sent, which may name paths of the caller's own.
_OF_CALLER = frozenset({InvalidInput.code, NotFound.code})


def without_places(text: str, code: str, stores: Iterable[Store]) -> str:
    """Return the text of an error without tokens, database addresses and paths of the server."""
    text = _DATABASE.sub("(the server's database)", _TOKEN.sub("(a token)", text))
    if code in _OF_CALLER or "/" not in text:
        return text
    folders = {str(folder) for folder in (state_folder(), config_folder(), *map(_folder, stores)) if folder is not None}
    for folder in sorted(folders - {"/"}, key=len, reverse=True):
        if folder in text:
            text = re.sub(re.escape(folder) + _REST, "(a path of the server)", text)
    return text


def _folder(store: Store) -> Path | None:
    if not isinstance(store, Path):
        return None
    return store.parent.parent if store.parent.name == FOLDER_NAME else store.parent
