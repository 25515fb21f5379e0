"""JSON files that belong to one user: refused if anyone else can read or write them, replaced as a whole."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, TypeVar, get_args, get_type_hints

from satchel.base.errors import Busy, Refused, system_error
from satchel.base.file_checks import kind_of, my_users, owner_name, sync
from satchel.base.records import field_names

Content = TypeVar("Content")
Record = TypeVar("Record")
# Device, inode, size and both times of a file: at least one differs after every change.
_State = tuple[int, int, int, int, int]

_WAIT_SECONDS, _PAUSE_SECONDS = 10, 0.005
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW


class PrivateFile(Generic[Content]):
    """One JSON file of the user's state folder. Safe between processes and threads.

    Every method raises Refused if the file or its folder is open to other users, or if the file is damaged; a damaged
    file is never overwritten.
    """

    def __init__(
        self,
        path: Path,
        what: str,
        *,
        schema: int,
        parse: Callable[[dict[str, Any]], Content],
        empty: Callable[[], Content],
        remedy: str,
        unnamed_schema: int | None = None,
    ) -> None:
        self.path = path
        self._what = what
        self._schema = schema
        self._parse = parse
        self._empty = empty
        self._remedy = remedy
        self._unnamed_schema = unnamed_schema
        self._last_read: tuple[_State, Content] | None = None

    def current(self) -> Content:
        """Return the content; the file is read again only if it changed."""
        last_read = self._last_read
        with naming(self.path, "read"):
            try:
                state = _state_of(os.lstat(self.path))
            except FileNotFoundError:
                state = None
        if last_read is None or last_read[0] != state:
            self._last_read = last_read = self._read()
        return self._empty() if last_read is None else last_read[1]

    def load(self) -> Content:
        reading = self._read()
        return self._empty() if reading is None else reading[1]

    @contextmanager
    def changing(self) -> Iterator[Content]:
        """Lock the file and yield its content, for :meth:`save`."""
        with naming(self.path, "written"):
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._refuse_open_folder()
            lock = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                self._take(lock)
                yield self.load()
            finally:
                os.close(lock)

    def save(self, fields: Mapping[str, object]) -> None:
        """Replace the content in one step, on the disk; only inside :meth:`changing`."""
        draft = self.path.with_name(f"{self.path.name}.{secrets.token_hex(8)}")
        try:
            write_private(draft, json.dumps({"schema": self._schema, **fields}, indent=1).encode())
            try:
                # the system's clock of files stands still for some milliseconds, and an inode is soon used again
                changed_at = max(time.time_ns(), self.path.lstat().st_mtime_ns + 1)
                os.utime(draft, ns=(changed_at, changed_at))
            except FileNotFoundError:
                pass
            draft.replace(self.path)
        finally:
            draft.unlink(missing_ok=True)
        sync(self.path.parent)

    def _read(self) -> tuple[_State, Content] | None:
        with naming(self.path, "read"):
            try:
                status = os.lstat(self.path)
                if not stat.S_ISREG(status.st_mode):
                    raise self._refused(self.path, f"is {kind_of(status.st_mode)}, not a file", "Remove it")
                descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            except FileNotFoundError:
                return None
            with os.fdopen(descriptor, "rb") as stream:
                status = os.fstat(descriptor)
                self._refuse_others(self.path, status, _OTHERS, "read or write", "600")
                self._refuse_open_folder()
                data = stream.read()
        try:
            fields = json.loads(data)
            if not isinstance(fields, dict):
                raise ValueError("it is not a JSON object")
            schema = fields.get("schema", self._unnamed_schema)
            if schema != self._schema:
                raise ValueError(f"another version of Satchel wrote it, schema {schema!r}")
            return _state_of(status), self._parse(fields)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise Refused(f"{self._what} in {self.path} cannot be read ({error})", self._remedy) from error

    def _take(self, lock: int) -> None:
        deadline = time.monotonic() + _WAIT_SECONDS
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise Busy(
                        f"another process has held {self._what} in {self.path} for more than {_WAIT_SECONDS} s",
                        "Nothing was changed; try again, or end the `satchel` that is stuck",
                    ) from None
                time.sleep(_PAUSE_SECONDS)
            else:
                return

    def _refuse_open_folder(self) -> None:
        folder = self.path.parent
        self._refuse_others(folder, folder.stat(), _OTHERS_WRITE, "write in", "700")

    def _refuse_others(self, path: Path, status: os.stat_result, modes: int, may: str, right: str) -> None:
        if status.st_uid not in my_users():
            owner = owner_name(status.st_uid)
            raise self._refused(path, f"belongs to user {owner}, not to you", "Run this as that user, or move it away")
        if status.st_mode & modes:
            raise self._refused(
                path,
                f"has the mode {stat.S_IMODE(status.st_mode):o}, so that other users can {may} it",
                f"Run `chmod {right} {path}`; where modes do not hold, point XDG_STATE_HOME to a disk that has them",
            )

    def _refused(self, path: Path, why: str, remedy: str) -> Refused:
        return Refused(f"{self._what} cannot be trusted: {path} {why}", remedy)


def to_fields(record: object) -> dict[str, Any]:
    return {name: getattr(record, name) for name in field_names(record) or ()}


def from_fields(kind: type[Record], fields: Any) -> Record:
    """Return the record of :func:`to_fields`; ValueError unless exactly its fields are there, of the right types."""
    cls: Any = kind
    types = _types_of(cls)
    if not isinstance(fields, dict) or fields.keys() != types.keys():
        raise ValueError("an item has missing or unknown fields")
    for name, allowed in types.items():
        if type(fields[name]) not in allowed:
            raise ValueError(f"the {name} of an item is not of the right type")
    return kind(**fields)


def write_private(path: Path, content: bytes) -> None:
    """Write a new file with mode 0600, synced to the disk."""
    with os.fdopen(os.open(path, _NEW, 0o600), "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


@contextmanager
def naming(path: Path, done: str) -> Iterator[None]:
    """Turn an OSError into an error that names the file and what was being done with it."""
    try:
        yield
    except OSError as error:
        why = error.strerror or error
        refused = Refused(f"{path} cannot be {done} ({why})", "Check the permissions of it and its folders")
        raise (system_error(error, str(path)) or refused) from error


@lru_cache(maxsize=16)
def _types_of(kind: Any) -> dict[str, tuple[type, ...]]:
    return {name: get_args(hint) or (hint,) for name, hint in get_type_hints(kind).items()}


def _state_of(status: os.stat_result) -> _State:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
