"""Backups of a store: made online, verified when made, and restored while others use the store."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from itertools import chain
from pathlib import Path

import apsw

from satchel.base.clock import DAY_MS, iso, system_clock
from satchel.base.errors import InvalidInput, NotFound, StoreDamaged
from satchel.base.file_checks import sync
from satchel.base.paths import FOLDER_NAME
from satchel.base.records import dataclass
from satchel.store import damage, opening, side_files
from satchel.store.failures import explained
from satchel.store.opening import Access
from satchel.store.trust import Trust, uid_in
from satchel.store.turnstile import only_one

# Called with the number of pages done and in total.
Progress = Callable[[int, int], None]

_PAGES_PER_STEP = 512
# How the names of automatic backups begin, for each reason; each reason has its own allowance.
_REASONS = ("daily-", "recent-", "before-restore-", "before-v")
# How soon a new store has its first backup: by then something is in it, and a command or server has ended since.
_FIRST_MS = 60_000
_RECENT_KEEP = 3
_RECENT_LEAST_MS = 10 * 60_000
# A larger store is copied less often, so that copying takes the same small part of the time.
_RECENT_MS_PER_MIB = 60_000
_CLOCK_SLACK_MS = 5 * 60_000
_MAX_BYTES_IN_STATE = 1 << 30


@dataclass(frozen=True, slots=True)
class Backup:
    file: Path
    size_bytes: int
    created_at: int


def backup_folders(file: Path, trust: Trust | None = None) -> tuple[Path, ...]:
    """Return the folders that hold backups of a store; new ones go to the first.

    Backups of a listed store go to the user's state folder, so that removing the project does not remove them.
    """
    beside = file.parent / ("backups" if file.parent.name == FOLDER_NAME else f"{file.stem}-backups")
    in_state = None if trust is None else trust.backup_folder
    return (beside,) if in_state is None else (in_state, beside)


def in_order(folders: Iterable[Path], now: int | None = None) -> list[Backup]:
    """Return the backups in some folders, the oldest first; those dated in the future count as the oldest."""
    until = (system_clock() if now is None else now) + _CLOCK_SLACK_MS
    every = [backup for folder in folders for backup in backups_in(folder)]
    return sorted(every, key=lambda backup: (backup.created_at <= until, backup.created_at, backup.file.name))


def backups_in(folder: Path) -> Iterator[Backup]:
    for path in folder.glob("*.db") if folder.is_dir() and not folder.is_symlink() else ():
        with suppress(FileNotFoundError):  # another process may be removing the oldest
            status = path.lstat()
            if stat.S_ISREG(status.st_mode):
                yield Backup(path, status.st_size, status.st_mtime_ns // 1_000_000)


def copies_with_row(copies: Iterable[Path], table: str, uid: bytes) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Return the copies of a store that hold a row, and those that could not be read.

    A copy from before the table existed does not hold the row.
    """
    holding: list[Path] = []
    unreadable: list[Path] = []
    for path in copies:
        try:
            with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as copy:
                is_there = copy.execute("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?", (table,)).get
                if is_there and copy.execute(f"SELECT 1 FROM {table} WHERE uid = ?", (uid,)).get:
                    holding.append(path)
                    continue
            is_whole = not path.name.endswith((side_files.PARTIAL, side_files.DRAFT))
        except apsw.Error:
            is_whole = False
        # a file that SQLite cannot read may still hold the row: then its bytes contain the uid
        if not is_whole:
            (holding if _holds_bytes(path, uid) else unreadable).append(path)
    return tuple(holding), tuple(unreadable)


def set_aside(file: Path) -> list[Path]:
    """Return the files that a restore has set aside, without SQLite's side files."""
    return sorted(
        path for path in file.parent.glob(f"{file.name}.damaged-*") if not path.name.endswith(side_files.SIDE_FILES)
    )


def _holds_bytes(path: Path, wanted: bytes) -> bool:
    import mmap

    for part in (path, *(Path(f"{path}{suffix}") for suffix in side_files.SIDE_FILES)):
        # an empty file cannot be mapped
        with (
            suppress(OSError, ValueError),
            part.open("rb") as stream,
            mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content,
        ):
            if content.find(wanted) >= 0:
                return True
    return False


def back_up(
    access: Access,
    target: Path | None,
    now: int,
    progress: Progress | None = None,
    *,
    trust: Trust | None = None,
    stem: str = "backup",
) -> Backup:
    """Copy a store while it is in use, check the copy, and only then give it its name.

    If no target is named, the file goes to the backup folder and its name begins with `stem`.
    """
    with explained(access.file):
        if target is None and access.file.exists():
            target = free_name(backup_folders(access.file, trust)[0], stem, now)
        side_files.sweep(access.file, backup_folders(access.file, trust))
        return _back_up(access, target, now, progress)


def _back_up(access: Access, target: Path | None, now: int, progress: Progress | None) -> Backup:
    if target is None or not access.file.exists():
        raise NotFound(f"there is no store at {access.file}", "Write something first")
    with (
        making(target) as partial,
        closing(opening.open_reader(access, writable=opening.is_writable(access.file))) as source,
    ):
        # one read transaction for the whole copy: without it every commit of another process starts it over
        source.execute("BEGIN")
        source.execute("SELECT count(*) FROM sqlite_schema").get  # noqa: B018 -- the read takes the snapshot
        with closing(apsw.Connection(str(partial))) as copy:
            copy_pages(source, copy, progress)
            copy.pragma("journal_mode", "delete")
    return Backup(target, target.stat().st_size, now)


@contextmanager
def making(target: Path) -> Iterator[Path]:
    """Yield an empty file for a new backup; when the block ends, check the file and give it its name."""
    if target.exists():
        raise InvalidInput(f"{target} exists already", "Name a new file; a backup never overwrites a file")
    if not target.parent.is_dir():
        raise InvalidInput(f"the folder {target.parent} does not exist", "Make it first")
    partial = target.with_name(f"{target.name}{side_files.PARTIAL}")
    with side_files.making(partial):
        yield partial
        verify(partial)
        sync(partial)
        partial.rename(target)
        sync(target.parent)


def back_up_before(access: Access, reason: str, now: int, keep: int, trust: Trust | None = None) -> Backup:
    """Make an automatic backup, then remove the oldest of the same reason beyond ``keep``."""
    return _back_up_automatically(access, f"before-{reason}", now, keep, trust)


def back_up_when_due(access: Access, now: int, keep: int, trust: Trust) -> Backup | None:
    """Make an automatic backup in the state folder, if something has changed and the newest is old enough.

    That is a minute for the first, a day for those of each day, and minutes for the recent ones. Returns None if none
    is due, if there is no folder for it, or if another process is making it.
    """
    folder = trust.backup_folder
    if folder is None or _stem_due(access.file, folder, now, trust) is None:
        return None
    with explained(access.file):
        _make_folder(folder)
        with only_one(folder / "daily-lock") as is_mine:
            # another process may have made it before the lock was free
            stem = _stem_due(access.file, folder, now, trust) if is_mine else None
            keep = min(keep, _RECENT_KEEP) if stem == "recent" else keep
            return None if stem is None else _back_up_automatically(access, stem, now, keep, trust)


def _stem_due(file: Path, folder: Path, now: int, trust: Trust) -> str | None:
    try:
        size = file.stat().st_size
    except FileNotFoundError:  # removed while a server runs
        return None
    past = [one for one in backups_in(folder) if one.created_at <= now + _CLOCK_SLACK_MS]
    listed_at = trust.listed_at if trust.listed_at <= now + _CLOCK_SLACK_MS else 0  # the clock was ahead then
    newest = max((one.created_at for one in past), default=listed_at)
    newest_of_days = max((one.created_at for one in past if not one.file.name.startswith("recent-")), default=0)
    if newest >= _changed_at(file):
        return None
    if now - newest_of_days >= DAY_MS and (past or now - newest >= _FIRST_MS):
        return "daily"
    if not past:
        return None
    return "recent" if now - newest >= max(_RECENT_LEAST_MS, size * _RECENT_MS_PER_MIB >> 20) else None


def _changed_at(file: Path) -> int:
    times = []
    for part in (file, Path(f"{file}-wal")):
        with suppress(FileNotFoundError):
            times.append(part.stat().st_mtime_ns // 1_000_000)
    return max(times, default=0)


def _back_up_automatically(access: Access, stem: str, now: int, keep: int, trust: Trust | None) -> Backup:
    made = back_up(access, None, now, trust=trust, stem=stem)
    reason = next(reason for reason in _REASONS if f"{stem}-".startswith(reason))
    every = in_order(backup_folders(access.file, trust), now)
    others = [old.file for old in every if old.file.name.startswith(reason) and old.file != made.file]
    for old in others[: max(0, len(others) + 1 - max(1, keep))]:
        old.unlink(missing_ok=True)
    if trust is not None and trust.backup_folder == made.file.parent:
        _limit(made.file.parent.parent, made.file, now)
    return made


def _limit(folder: Path, made: Path, now: int) -> None:
    # the newest backup of each project stays: an idle project may have no other
    of_projects = [in_order([one], now) for one in folder.iterdir() if one != made.parent]
    spared = {made, *(every[-1].file for every in of_projects if every)}
    every = sorted(chain(backups_in(made.parent), *of_projects), key=lambda backup: backup.created_at)
    total = sum(backup.size_bytes for backup in every)
    for backup in every:
        if total > _MAX_BYTES_IN_STATE and backup.file not in spared and backup.file.name.startswith(_REASONS):
            backup.file.unlink(missing_ok=True)
            total -= backup.size_bytes


def copy_pages(source: apsw.Connection, target: apsw.Connection, progress: Progress | None = None) -> None:
    """Copy a whole database with SQLite's online backup."""
    with target.backup("main", source, "main") as copying:
        copy_the_rest(copying, progress)


def copy_the_rest(copying: apsw.Backup, progress: Progress | None = None) -> None:
    """Finish an online backup that was started."""
    while not copying.done:
        copying.step(_PAGES_PER_STEP)
        if progress is not None:
            progress(copying.page_count - copying.remaining, copying.page_count)


def verify(file: Path) -> None:
    """Check that a file is a whole Satchel store by reading all of it."""
    if not file.is_file():
        raise NotFound(f"there is no file {file}", "`satchel backup --list` shows the backups")
    opening.check_header(file)
    with closing(apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        try:
            ours = opening.check_ours(connection, file)
            problems = integrity_problems(connection)
            if ours and not problems and uid_in(connection) is None:
                problems = ["it has no store uid"]
        except apsw.Error as error:
            problems = [str(error)]
            ours = True
    if not ours:
        problems = ["it is not a store"]
    if problems:
        raise StoreDamaged(f"{file} fails its integrity check: {problems[0]}", "Try an older backup")


def integrity_problems(connection: apsw.Connection) -> list[str]:
    """Return the problems that SQLite's full integrity check and its foreign key check report."""
    problems = [str(text) for (text,) in connection.execute("PRAGMA integrity_check(20)") if text != "ok"]
    problems += [
        f"row {row} of {table} points to a missing {parent}"
        for table, row, parent, _ in connection.execute("PRAGMA foreign_key_check")
    ]
    return problems + _unreadable_objects(connection)


def _unreadable_objects(connection: apsw.Connection) -> list[str]:
    # SQLite's own check misses a table's page in the place of an empty partial index, as after two pages were
    # swapped, and then every write to it fails
    problems = []
    objects = "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE rootpage > 0"
    for kind, name, table, sql in damage.fetch_all(connection, objects, None):
        way = "NOT INDEXED" if kind == "table" else f'INDEXED BY "{name}"'
        _, where, condition = str(sql if kind == "index" else "").partition(" WHERE ")
        try:
            # a newer Satchel may write the condition of a partial index in another way
            with suppress(apsw.SQLError):
                connection.execute(f'SELECT 1 FROM "{table}" {way}{where}{condition} LIMIT 1').fetchall()
        except apsw.CorruptError:
            problems.append(f"{kind} {name} cannot be read")
    return problems


def free_name(folder: Path, stem: str, now: int) -> Path:
    """Return the path of a file that does not exist yet, named after a time; the folder is created."""
    _make_folder(folder)
    stamp = iso(now).replace(":", "").replace("-", "").replace(".", "")
    candidate, number = folder / f"{stem}-{stamp}.db", 1
    while candidate.exists():
        number += 1
        candidate = folder / f"{stem}-{stamp}-{number}.db"
    return candidate


def _make_folder(folder: Path) -> None:
    for missing in [above for above in (folder, *folder.parents) if not above.is_dir()][::-1]:
        missing.mkdir(mode=0o700, exist_ok=True)
