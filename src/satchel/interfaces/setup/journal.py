"""Record of the files that setup changed, with their contents before."""

from __future__ import annotations

import os
import secrets
from hashlib import sha256
from pathlib import Path
from typing import TypedDict

from satchel.base.folders import state_folder
from satchel.base.private_file import PrivateFile, write_private
from satchel.base.records import replace
from satchel.base.user_files import BOM, ConfigFile, delete, overwrite, read, write

_MOST_COPIES = 5
_MOST_DIGESTS = 16


class _Copy(TypedDict):
    name: str
    digest: str


class _Record(TypedDict):
    """The record of one path.

    ``before`` is the copy from before the first edit, None if setup made the file; ``ours`` are the
    digests of what setup wrote, ``folders`` those it made, outermost first; ``mixed`` is whether others changed the
    file between two edits.
    """

    root: str
    before: _Copy | None
    ours: list[str]
    folders: list[str]
    mixed: bool


class _Book(TypedDict):
    files: dict[str, _Record]
    copies: dict[str, list[_Copy]]


class Journal:
    """The file ``setup.json`` with copies of changed files in its folder, readable by this user alone.

    A record is changed under a lock, so that setups at the same time lose nothing of each other's.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or state_folder()
        self._copies = self._folder / "setup-copies"
        self._file = PrivateFile(
            self._folder / "setup.json",
            "the record of what setup has changed",
            schema=1,
            parse=lambda fields: _Book(files=dict(fields["files"]), copies=dict(fields["copies"])),
            empty=lambda: _Book(files={}, copies={}),
            remedy=f"Move it away; copies of what was there are in {self._copies}",
            unnamed_schema=1,  # 0.2.0 wrote none
        )

    def paths(self) -> list[Path]:
        """Return the files that setup has edited and not yet given back."""
        return sorted(map(Path, self._file.load()["files"]))

    def copies(self, path: Path) -> list[Path]:
        """Return the copies of what a file held before edits, oldest first."""
        return [self._copies / copy["name"] for copy in self._file.load()["copies"].get(str(path), [])]

    def write(self, file: ConfigFile, text: str) -> None:
        """Keep what a file holds, then replace it as :func:`write` does."""
        with self._file.changing() as book:
            self._note(book, file, sha256(file.encoded(text)).hexdigest())
            self._file.save(book)
            write(file, text)

    def note(self, path: Path, before: ConfigFile, after: bytes) -> None:
        """Record a file's content before and after a change that :meth:`write` does not make."""
        with self._file.changing() as book:
            self._note(book, replace(before, path=path), sha256(after).hexdigest())
            self._file.save(book)

    def restore(self, path: Path) -> bool:
        """Restore a file as it was before the first edit; delete one that setup made, with the folders it made."""
        with self._file.changing() as book:
            record = book["files"].get(str(path))
            result = None if record is None else self._look_up(path, record)
            if record is None or result is None:
                return False
            file, content = result
            if content is None:
                delete(file, record["folders"])
            else:
                overwrite(file, content)
            del book["files"][str(path)]
            self._file.save(book)
        return True

    def original(self, path: Path) -> ConfigFile | None:
        """Return a file as :meth:`restore` would leave it; None where that would do nothing."""
        record = self._file.load()["files"].get(str(path))
        result = None if record is None else self._look_up(path, record)
        if result is None:
            return None
        file, content = result
        if content is None:
            return ConfigFile(path, file.root)
        return ConfigFile(path, file.root, content.removeprefix(BOM).decode(), existed=True)

    def made(self, path: Path) -> bool:
        """Whether setup made a file, and has not yet given it back."""
        record = self._file.load()["files"].get(str(path))
        return record is not None and record["before"] is None

    def leave(self, path: Path) -> None:
        """End the record of a file whose parts were taken out by edits; if setup made it and it is blank, delete it."""
        with self._file.changing() as book:
            record = book["files"].pop(str(path), None)
            if record is not None:
                if record["before"] is None:
                    file = read(path, Path(record["root"]))
                    if file.existed and not file.text.strip():
                        delete(file, record["folders"])
                self._file.save(book)

    def _look_up(self, path: Path, record: _Record) -> tuple[ConfigFile, bytes | None] | None:
        file = read(path, Path(record["root"]))
        if record["mixed"] or file.digest not in record["ours"]:
            return None
        if (before := record["before"]) is None:
            return file, None
        try:
            content = (self._copies / before["name"]).read_bytes()
        except OSError:
            return None
        return (file, content) if sha256(content).hexdigest() == before["digest"] else None

    def _note(self, book: _Book, file: ConfigFile, after: str) -> None:
        name = str(file.path)
        copy = self._copy(book, file) if file.digest is not None else None
        record = book["files"].get(name)
        if record is None:
            folders = [str(folder) for folder in reversed(file.path.parents) if folder.is_relative_to(file.root)]
            missing = [folder for folder in folders if not os.path.lexists(folder)]
            record = _Record(root=str(file.root), before=copy, ours=[], folders=missing, mixed=False)
            book["files"][name] = record
        else:
            before = record["before"]["digest"] if record["before"] else None
            record["mixed"] |= file.digest != before and file.digest not in record["ours"]
        record["ours"] = [*(digest for digest in record["ours"] if digest != after), after][-_MOST_DIGESTS:]
        stored = book["copies"].get(name, [])
        for old in stored[:-_MOST_COPIES]:
            if old != record["before"]:
                stored.remove(old)
                (self._copies / old["name"]).unlink(missing_ok=True)

    def _copy(self, book: _Book, file: ConfigFile) -> _Copy:
        stored = book["copies"].setdefault(str(file.path), [])
        if stored and stored[-1]["digest"] == file.digest and (self._copies / stored[-1]["name"]).exists():
            return stored[-1]
        self._copies.mkdir(mode=0o700, exist_ok=True)
        copy = _Copy(name=f"{secrets.token_hex(8)}-{file.path.name[-100:]}", digest=file.digest or "")
        write_private(self._copies / copy["name"], file.encoded(file.text))
        stored.append(copy)
        return copy
