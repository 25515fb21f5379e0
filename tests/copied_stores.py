"""Stores that tests make: copies of a template, synced by nobody, in a list that is read once after each change."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from inspect import unwrap
from pathlib import Path
from typing import Any

import apsw
import pytest

from satchel.store import contents, known_stores, migrations, opening
from satchel.store.known_stores import KnownStore, KnownStores, _connect
from satchel.store.migrations import bring_up_to_date
from satchel.store.opening import Access, open_writable
from satchel.store.trust import Trust
from satchel.store.turnstile import Turnstile

CopyStore = Callable[[bytes], bytes]
"""Returns a copy of a store with the uid that it is given."""


def copier_of(store: bytes, uid: bytes) -> CopyStore:
    """Return what copies a store without opening it, which takes a millisecond; each copy gets a uid of its own."""
    before, after = store.split(uid)
    return lambda own: before + own + after


def sync_nothing(patch: pytest.MonkeyPatch) -> None:
    """Have this process sync nothing to the disk, which takes a third of the time of a test that makes a store.

    Only a power failure can tell. Those that tests have are below SQLite: a store whose VFS is named is synced.
    """

    def open_unsynced(access: Access, *, query_only: bool = False) -> apsw.Connection:
        connection = open_writable(access, query_only=query_only)
        if access.vfs is None and not query_only:
            connection.pragma("synchronous", "OFF")
        return connection

    def connect_unsynced(file: Path, *flags: int) -> apsw.Connection:
        connection = _connect(file, *flags)
        connection.pragma("synchronous", "OFF")
        return connection

    patch.setattr(opening, "open_writable", open_unsynced)
    patch.setattr(known_stores, "_connect", connect_unsynced)
    patch.setattr(os, "fsync", lambda _descriptor: None)


def copy_stores(patch: pytest.MonkeyPatch, template: CopyStore, template_in_memory: CopyStore) -> None:
    """Have stores that this process makes be copies of a template, with a uid of their own."""
    one_at_a_time = threading.Lock()

    def copy(file: Path, trust: Trust | None) -> None:
        uid = (trust and trust.new_uid) or os.urandom(16)
        file.write_bytes(template(uid))
        if trust is not None:
            trust.refuse_tracked()
            trust.list_copy(uid, opening.identity_of(file))

    def copy_first(
        access: Access,
        turnstile: Turnstile,
        trust: Trust | None,
        *,
        writable: bool,
        **how: Any,
    ) -> apsw.Connection:
        with one_at_a_time:
            if writable and not access.file.stat().st_size and access.vfs is None:
                copy(access.file, trust)
        return bring_up_to_date(access, turnstile, trust, writable=writable, **how)

    def copy_in_memory() -> apsw.Connection:
        connection = apsw.Connection(":memory:")
        connection.deserialize("main", template_in_memory(os.urandom(16)))
        return connection

    def sweep_nothing(_connection: apsw.Connection, _now: int) -> None:
        """Every change of the list of stores would look for all that are on it, which are those of a whole module."""

    patch.setattr(migrations, "bring_up_to_date", copy_first)
    patch.setattr(migrations, "empty_store", copy_in_memory)
    patch.setattr(known_stores, "_sweep", sweep_nothing)
    # the schema of every copy is the same long text, which takes a third of a millisecond to compare
    patch.setattr(contents, "_without_layout", lru_cache(maxsize=64)(unwrap(contents._without_layout)))


def remember_lookups(patch: pytest.MonkeyPatch) -> None:
    """Have this process read the list of stores once after each change of it, not seven times for each store."""
    select, changing = KnownStores._select, KnownStores._changing
    found: dict[tuple[object, ...], list[KnownStore]] = {}

    def select_once(self: KnownStores, condition: str, *values: str | bytes) -> list[KnownStore]:
        try:
            state = self._file.stat()
        except OSError:
            return select(self, condition, *values)
        key = (self._file, state.st_ino, state.st_mtime_ns, state.st_size, condition, *values)
        if key not in found:
            found[key] = select(self, condition, *values)
        return found[key]

    @contextmanager
    def changing_anew(self: KnownStores, now: int | None) -> Iterator[apsw.Connection]:
        try:
            with changing(self, now) as connection:
                yield connection
        finally:
            found.clear()

    patch.setattr(KnownStores, "_select", select_once)
    patch.setattr(KnownStores, "_changing", changing_anew)
