"""The state of a file according to git's index, read from its file: https://git-scm.com/docs/index-format."""

# Running git would take longer than a write may.

from __future__ import annotations

import os
import stat
from functools import lru_cache
from pathlib import Path

from satchel.base.cited import File
from satchel.base.git_files import git_folder, read_regular

# The state of a file: as committed, different, or unknown to git.
CLEAN, DIRTY, UNTRACKED = 1, 2, 3

# About 160,000 files; larger indexes take too long to read.
_MAX_BYTES = 16 * 1024 * 1024

_MAX_CACHED_BYTES = 1024 * 1024

# How a readable index starts; version 4 shortens names.
_READABLE = (b"DIRC\0\0\0\2", b"DIRC\0\0\0\3")

_HEADER, _BEFORE_HASH = 12, 40
_LONG_NAME = 0xFFF
_EXTENDED, _OF_STAGE = 0x4000, 0x3000
# The extended flag of what a sparse checkout leaves out.
_SKIPPED = 0x4000

_SPLIT, _TREES = b"link\0\0", b"TREE"


def standing(top: str, path: str, file: File, commit: str | None) -> tuple[int | None, bytes | None]:
    """Return whether a file is clean, dirty or untracked, or None, and git's hash of its content in the index.

    Staged content is dirty before the first commit; afterwards the state of files in a folder with staged changes is
    unknown. After ``git reset --soft`` the index does not show the difference, and such a file is clean. ``path`` is
    relative to the worktree's top, and ``commit`` is the checked-out one, which tells the length of hashes.
    """
    index = _index(top)
    if index is None:
        return None, None
    hash_bytes = 20 if commit is None else len(commit) // 2
    entry = _entry(*index, os.fsencode(path), hash_bytes)
    if not entry:
        return None if entry is None else UNTRACKED, None
    state = _compare(entry, file, index[1][2], hash_bytes)
    if state != CLEAN:
        return state, None
    blob = entry[_BEFORE_HASH : _BEFORE_HASH + hash_bytes]
    if commit is None:
        return DIRTY, blob
    return CLEAN if _is_written(*index, os.fsencode(path.rpartition("/")[0]), hash_bytes) else None, blob


def is_left_out(top: str, path: str, commit: str | None) -> bool:
    """Return whether a sparse checkout leaves a file out, alone or with a folder around it."""
    index = _index(top)
    if index is None:
        return False
    hash_bytes = 20 if commit is None else len(commit) // 2
    steps = os.fsencode(path).split(b"/")
    # a sparse index names the outermost folder alone, with a slash
    names = [b"/".join(steps), *(b"/".join(steps[:depth]) + b"/" for depth in range(1, len(steps)))]
    extended = [(_entry(*index, name, hash_bytes) or b"")[_BEFORE_HASH + hash_bytes + 2 :] for name in names]
    return any(int.from_bytes(flags, "big") & _SKIPPED for flags in extended)


def path_of(top: str, blob: bytes) -> str | None:
    """Return a path with some content according to the index, by git's hash of it, or None."""
    index = _index(top)
    data = b"" if index is None else _content(*index)
    place = data.find(blob)
    while place >= 0:
        start, flags = place - _BEFORE_HASH, place + len(blob)
        if start >= _HEADER and not (start - _HEADER) % 8:
            name = flags + (4 if int.from_bytes(data[flags : flags + 2], "big") & _EXTENDED else 2)
            return os.fsdecode(data[name : data.find(b"\0", name)])
        place = data.find(blob, place + 1)
    return None


def _index(top: str) -> tuple[str, tuple[int, int, int]] | None:
    index = f"{top}/.git/index"
    try:
        try:
            status = os.stat(index)  # noqa: PTH116 -- runs on every write about a file
        except NotADirectoryError:
            index = f"{git_folder(top)}/index"
            status = os.stat(index)  # noqa: PTH116 -- as above
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_BYTES:
        return None
    return index, (status.st_ino, status.st_size, status.st_mtime_ns)


def _content(index: str, moment: tuple[int, int, int]) -> bytes:
    return (_cached_content if moment[1] <= _MAX_CACHED_BYTES else _read)(index, moment)


def _read(index: str, moment: tuple[int, int, int]) -> bytes:
    data = read_regular(Path(index), moment[1])
    return data if data.startswith(_READABLE) else b""


_cached_content = lru_cache(maxsize=1)(_read)


def _compare(entry: bytes, file: File, written: int, hash_bytes: int) -> int:
    if int.from_bytes(entry[_BEFORE_HASH + hash_bytes :][:2], "big") & _OF_STAGE:
        return DIRTY  # a conflict
    seconds, nanoseconds = int.from_bytes(entry[8:12], "big"), int.from_bytes(entry[12:16], "big")
    changed = seconds * 1_000_000_000 + nanoseconds
    size = int.from_bytes(entry[36:40], "big")
    is_same = changed == file.status.st_mtime_ns and size == file.status.st_size
    # a file as recent as the index may have changed since without a new time
    if is_same and changed < written:
        return CLEAN
    has_crlf = b"\r\n" in file.data
    if size not in {0, file.status.st_size} and not has_crlf:
        return DIRTY  # as git does, without hashing; git writes 0 where it was not sure
    indexed = entry[_BEFORE_HASH : _BEFORE_HASH + hash_bytes]
    if _blob(file.data, hash_bytes) == indexed:
        return CLEAN
    return CLEAN if has_crlf and _blob(file.data.replace(b"\r\n", b"\n"), hash_bytes) == indexed else DIRTY


def _blob(content: bytes, hash_bytes: int) -> bytes:
    import hashlib

    made = hashlib.new("sha1" if hash_bytes == 20 else "sha256", usedforsecurity=False)
    made.update(b"blob %d\0" % len(content))
    made.update(content)
    return made.digest()


@lru_cache(maxsize=256)
def _is_written(index: str, moment: tuple[int, int, int], folder: bytes, hash_bytes: int) -> bool:
    # staging a file removes the tree hash of its folder and of the folders around it
    data = _content(index, moment)
    place = data.rfind(_TREES)
    while place >= 0 and not _ends_in_extensions(data, place, len(data) - hash_bytes):
        place = data.rfind(_TREES, 0, place)
    if place < 0:
        return False
    wanted = folder.split(b"/") if folder else []
    place += 8
    # for each open folder: how many of its subfolders remain, and whether the wanted one may be among them
    around: list[list[int]] = []
    while True:
        name_end = data.find(b"\0", place)
        line_end = data.find(b"\n", name_end)
        entries, _, folders = data[name_end + 1 : line_end].partition(b" ")
        depth = len(around)
        # the outermost folder has no name
        if min(name_end, line_end) < 0 or not folders.isdigit() or (not depth and name_end > place):
            return False
        is_on_way = not depth or (around[-1][1] and depth <= len(wanted) and data[place:name_end] == wanted[depth - 1])
        is_valid = not entries.startswith(b"-")
        if is_on_way and (is_valid or depth == len(wanted)):
            return is_valid
        place = line_end + 1 + hash_bytes * is_valid
        if depth:
            around[-1][0] -= 1
        around.append([int(folders), is_on_way])
        while around and not around[-1][0]:
            around.pop()
        if not around:
            return False


def _ends_in_extensions(data: bytes, place: int, end: int) -> bool:
    while place < end:
        place += 8 + int.from_bytes(data[place + 4 : place + 8], "big")
    return place == end


@lru_cache(maxsize=256)
def _entry(index: str, moment: tuple[int, int, int], path: bytes, hash_bytes: int) -> bytes | None:
    # the path is searched for as bytes, because parsing all entries takes 100 times as long
    data = _content(index, moment)
    if not data:
        return None
    head = _BEFORE_HASH + hash_bytes
    wanted = path + b"\0"
    place = data.find(wanted)
    while place >= 0:
        for extended in (0, 2):
            flags = place - 2 - extended
            start = flags - head
            if start >= _HEADER and not (start - _HEADER) % 8:
                value = int.from_bytes(data[flags : flags + 2], "big")
                is_extended = bool(value & _EXTENDED)
                if value & _LONG_NAME == min(len(path), _LONG_NAME) and is_extended == bool(extended):
                    return data[start:place]
        place = data.find(wanted, place + 1)
    # most entries of a split index are in another file
    return None if _SPLIT in data else b""
