"""SQLite file systems of the tests' own: one that loses power, and one that runs full or fails."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import apsw

_Name = str | apsw.URIFilename | None


def _text(name: _Name) -> str:
    if name is None:
        return ""
    return Path(name if isinstance(name, str) else name.filename()).name


@dataclass(frozen=True, slots=True)
class _Operation:
    """One thing that was asked of the disk: a write at a place, a truncation to a size, a sync, or a removal."""

    kind: str
    file: str
    place: int = 0
    data: bytes = b""


class _RecordedFile(apsw.VFSFile):
    def __init__(self, disk: PowerDisk, name: _Name, flags: list[int]) -> None:
        self._disk = disk
        self._name = _text(name)
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 -- SQLite's name
        self._disk.log.append(_Operation("write", self._name, offset, bytes(data)))
        super().xWrite(data, offset)

    def xTruncate(self, size: int) -> None:  # noqa: N802
        self._disk.log.append(_Operation("truncate", self._name, size))
        super().xTruncate(size)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._disk.log.append(_Operation("sync", self._name))
        super().xSync(flags)


class PowerDisk(apsw.VFS):
    """Records what SQLite asks of the disk, so that a power failure can be simulated afterwards at any point."""

    def __init__(self, name: str) -> None:
        self.log: list[_Operation] = []
        super().__init__(name, "")

    def xOpen(self, name: _Name, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return _RecordedFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        self.log.append(_Operation("delete", _text(filename)))
        super().xDelete(filename, syncdir)

    def after_power_failure(self, cut: int, chance: random.Random, folder: Path) -> None:
        """Lay out the files as they could be when the power failed after ``cut`` operations.

        What was synced is there; of what was not, any part may have reached the platter.
        """
        files: dict[str, bytearray] = defaultdict(bytearray)
        unsynced: dict[str, list[_Operation]] = defaultdict(list)
        for operation in self.log[:cut]:
            match operation.kind:
                case "sync":
                    for earlier in unsynced.pop(operation.file, []):
                        _apply(files[operation.file], earlier)
                case "delete":
                    files.pop(operation.file, None)
                    unsynced.pop(operation.file, None)
                case _:
                    unsynced[operation.file].append(operation)
        for name, operations in unsynced.items():
            for operation in operations:
                if chance.random() < 0.5:
                    _apply(files[name], operation)
        for name, content in files.items():
            (folder / name).write_bytes(content)


def _apply(content: bytearray, operation: _Operation) -> None:
    if operation.kind == "truncate":
        del content[operation.place :]
        return
    if len(content) < operation.place:
        content.extend(bytes(operation.place - len(content)))
    content[operation.place : operation.place + len(operation.data)] = operation.data


@dataclass(slots=True)
class Fault:
    """Which calls fail, and how.

    Attributes:
        call: write, sync or read.
        error: makes what is raised.
        after: how many calls still succeed; None lets all of them succeed.
        suffix: only files whose names end so.
        most: how often it fails; None for ever.
        struck: how often it has failed.
    """

    call: str
    error: Callable[[], apsw.Error]
    after: int | None = None
    suffix: str = ""
    most: int | None = None
    struck: int = field(default=0)

    def check(self, call: str, name: str) -> None:
        """Fail if this call is to fail."""
        if self.after is None or call != self.call or not name.endswith(self.suffix):
            return
        if self.after > 0:
            self.after -= 1
            return
        if self.struck == self.most:
            return
        self.struck += 1
        raise self.error()


class _FaultyFile(apsw.VFSFile):
    def __init__(self, disk: FaultyDisk, name: _Name, flags: list[int]) -> None:
        self._disk = disk
        self._name = _text(name)
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._disk.fault.check("write", self._name)
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._disk.fault.check("sync", self._name)
        super().xSync(flags)

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        self._disk.fault.check("read", self._name)
        return super().xRead(amount, offset)


class FaultyDisk(apsw.VFS):
    """A disk with one fault, which the test moves."""

    def __init__(self, name: str, fault: Fault) -> None:
        self.fault = fault
        super().__init__(name, "")

    def xOpen(self, name: _Name, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return _FaultyFile(self, name, flags)


def full() -> apsw.Error:
    """SQLite's error for a disk without room."""
    return apsw.FullError("no space left")


def io_error(extended: int) -> Callable[[], apsw.Error]:
    """Return a maker of an input/output error of the given extended kind."""

    def make() -> apsw.Error:
        error = apsw.IOError("the device failed")
        setattr(error, "extendedresult", extended)  # noqa: B010 -- apsw reads it, its stubs do not name it
        return error

    return make
