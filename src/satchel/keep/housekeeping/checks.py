"""The doctor: real checks, one after the other; nothing is changed."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from satchel.base.errors import SatchelError
from satchel.base.paths import filesystem_kind
from satchel.find import index_sqlite as index
from satchel.keep.finding import index_problems
from satchel.keep.housekeeping.counts import count_problems
from satchel.keep.housekeeping.handed import count_deliveries
from satchel.keep.projects import Workplace
from satchel.store import backups, upkeep
from satchel.store.opening import ENGINE
from satchel.store.schema import SCHEMA_VERSION
from satchel.store.sqlite import SqliteEngine

_WAL_WARNING_BYTES = 128 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was examined.

    Attributes:
        status: ok, warning or failed.
        detail: what was found; for anything but ok with what to do.
    """

    name: str
    status: str
    detail: str


Examination = tuple[str, Callable[[SqliteEngine], Check]]
"""What a check is called, and what makes it; a :class:`SatchelError` is a check that failed."""


def examine(engine: SqliteEngine, warnings: tuple[str, ...], further: tuple[Examination, ...] = ()) -> Iterator[Check]:
    """Examine a store, as :meth:`satchel.keep.housekeeping.Housekeeping.doctor` says."""
    file = engine.file
    if warnings:
        yield Check("configuration", "warning", "; ".join(warnings))
    else:
        yield Check("configuration", "ok", "every value is valid")
    if not file.exists():
        yield Check("store", "warning", f"{file} does not exist yet; the first write makes it")
        return
    yield _check_place(file)
    for name, examination in (
        ("store", _check_version),
        ("file", _check_file),
        ("git", _check_tracked),
        ("index", _check_index),
        ("counts", _check_counts),
        ("deliveries", _check_deliveries),
        *further,
    ):
        check = _guarded(name, examination, engine)
        yield check
        if check.status == "failed" and name in {"store", "file"}:
            break
    yield _check_backups(engine)


def whereabouts(workplace: Workplace, found: str) -> Check:
    """Say what :meth:`satchel.keep.housekeeping.Housekeeping.whereabouts` returns."""
    engine = workplace.engine
    agent = "no agent is named" if workplace.agent is None else f"agent {workplace.agent}"
    run = "no run is chosen" if workplace.run_id is None else f"run {workplace.run_id}"
    trusted = "trusted" if engine.trust is None else engine.trust.reason()
    place = f"{agent}; {run}; store {engine.file}, {found}; "
    if engine.trust is not None and engine.trust.is_listed and not engine.trust.known.is_writable():
        return Check(
            "here",
            "warning",
            f"{place}trusted: {trusted}; {engine.trust.known.folder} cannot be written, so backups stay beside the "
            "store and no new store can be listed: make it writable, or point XDG_STATE_HOME elsewhere",
        )
    return Check("here", "ok", f"{place}trusted: {trusted}")


def _check_place(file: Path) -> Check:
    kind = filesystem_kind(file.parent)
    mode = stat.S_IMODE(file.stat().st_mode)
    if mode & 0o077:
        return Check("place", "warning", f"{file} has mode {mode:04o}: others can read it; run chmod 600 on it")
    writable = "" if os.access(file, os.W_OK) else ", cannot be written here"
    return Check("place", "ok", f"{file}{f' on {kind}' if kind else ''}, mode {mode:04o}{writable}")


def _check_version(engine: SqliteEngine) -> Check:
    with engine.read() as transaction:
        rows = transaction.all("SELECT max(version), (SELECT min_writer FROM store) FROM migrations")
    version, needed = rows[0]
    if needed > SCHEMA_VERSION:
        return Check(
            "store",
            "warning",
            f"schema {version} can be read but not written by this Satchel: upgrade it",
        )
    wal = Path(f"{engine.file}-wal")
    size = 0
    with suppress(FileNotFoundError):
        size = wal.stat().st_size
    if size > _WAL_WARNING_BYTES:
        return Check(
            "store",
            "warning",
            f"the WAL has grown to {size / 1e6:,.0f} MB: a reader may hold it; `satchel compact` empties it",
        )
    return Check("store", "ok", f"schema {version}, {ENGINE}")


def _check_file(engine: SqliteEngine) -> Check:
    found = upkeep.file_problems(engine)
    if found:
        # the index can be made anew from what is kept, so its damage is no reason to go back to a backup
        is_index = all(index.is_about_index(problem) for problem in found)
        remedy = "`satchel rebuild` makes the index anew" if is_index else "`satchel restore` goes back to a backup"
        return Check("file", "failed", f"{found[0]} ({len(found)} in all); {remedy}")
    return Check("file", "ok", "the full integrity check passed")


def _check_index(engine: SqliteEngine) -> Check:
    with engine.read() as transaction:
        found = index_problems(transaction)
    if found:
        return Check("index", "failed", f"{'; '.join(found)}; `satchel rebuild` makes it anew")
    return Check("index", "ok", "index, spine and tables agree")


def _check_counts(engine: SqliteEngine) -> Check:
    with engine.read() as transaction:
        found = count_problems(transaction)
    if found:
        return Check("counts", "failed", f"{'; '.join(found)}; `satchel rebuild` counts anew")
    return Check("counts", "ok", "the decisions are counted as they are")


def _check_deliveries(engine: SqliteEngine) -> Check:
    with engine.read() as transaction:
        recorded, gone, of_others = count_deliveries(transaction)
    if of_others:
        return Check(
            "deliveries",
            "failed",
            f"{of_others} of {recorded} are of another project's items than their run is: somebody changed the file; "
            "`satchel restore` goes back to a backup",
        )
    left = f", {gone} of items that are gone; `satchel compact` removes those" if gone else ""
    return Check("deliveries", "ok", f"{recorded} recorded{left}")


def _check_tracked(engine: SqliteEngine) -> Check:
    tracked = () if engine.trust is None else engine.trust.tracked()
    if tracked:
        return Check(
            "git",
            "failed",
            f"git tracks {', '.join(tracked[:3])} of {engine.file.parent}, so that anyone who can push could change "
            f"what agents are told: `git rm -r --cached {engine.file.parent.name}` in its project",
        )
    return Check("git", "ok", "git tracks nothing of the store")


def _check_backups(engine: SqliteEngine) -> Check:
    made = backups.list_backups(engine.file, engine.trust)
    if not made:
        return Check("backups", "warning", "there is none; `satchel backup` makes one")
    try:
        backups.verify(made[-1].file)
    except SatchelError as error:
        return Check("backups", "failed", f"the newest is not usable: {error.problem}")
    return Check("backups", "ok", f"{len(made)}, the newest {made[-1].file.name} passed its check")


def _guarded(name: str, examination: Callable[[SqliteEngine], Check], engine: SqliteEngine) -> Check:
    try:
        return examination(engine)
    except SatchelError as error:
        return Check(name, "failed", str(error))
