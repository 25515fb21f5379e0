"""Listing the files under the given paths, each once and unread, and the files that are held back.

Reasons to hold a file back:

``secret_name``, ``secret``: its name or content suggests secrets; sent only with force.
``outside``: a link leads out of the allowed roots. ``git``: it belongs to git's own folder.
``too_large``, ``special``, ``unreadable``, ``vanished``, ``changing``, ``binary``, ``undecodable``: it cannot be sent.
``damaged``: it has the name of an image or PDF but is none. ``name``: a prompt cannot contain its name.
``ignored``, ``empty``: the folder contains only ignored files, or no files.
"""

from __future__ import annotations

import os
import re
import stat
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from itertools import islice
from operator import itemgetter

from satchel.base.errors import InvalidInput, NotFound, Refused, TooLarge, nearest
from satchel.base.file_checks import is_inside, why_unreadable
from satchel.base.git_listing import list_files
from satchel.base.text import shortened
from satchel.consult.reading import MAX_BYTES, MAX_FILE_BYTES, has_media_name, too_large
from satchel.consult.records import Gathering, HeldBack, IsCancelled, SourceFile, never, raise_if_cancelled
from satchel.redaction.filenames import is_secret_folder, is_secret_name

_STRIDE = 500
_MAX_NAMES = 2_000
_HELD_BY_NAME = "its name says that it holds secrets; it is sent only with force"
_HELD_BY_FOLDER = "it is in a folder that holds secrets; it is sent only with force"
_OUTSIDE = "a link leads from it out of the folders that may be sent; send a copy"
_GIT = "it is part of what git keeps for itself, which is never sent; send a copy"

# not allowed in names in a prompt: control characters, ends of lines and invalid text
_UNSAYABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


# Maximum files of one turn.
MAX_FILES = 20_000

_is_secret = lru_cache(maxsize=50_000)(is_secret_name)
_path_of = itemgetter(0)


def gather(
    paths: Iterable[str],
    roots: Sequence[str],
    *,
    base: str,
    recorded: Collection[str] = (),
    force: bool = False,
    is_cancelled: IsCancelled = never,
) -> Gathering:
    """List the given files and the files of the given folders, without reading them.

    Folders are expanded as git lists them: ignored files are left out silently unless they are named themselves, and
    git's own folder is never entered. Links inside the roots are followed unless their target is ignored, and listed
    under the path of the target. Images and PDF are listed if they are named themselves or in ``recorded``, the paths
    of the conversation.
    """
    walk = _Walk(roots, base, recorded, force, is_cancelled)
    # sorted, so that a folder comes before its files
    for path in sorted({_checked(path) for path in paths}):
        walk.take_named(path)
    return Gathering(
        tuple([walk.files[path] for path in sorted(walk.files)]),
        # a file that was listed once may be gone at the second look: reading it reports that
        tuple([walk.held[path] for path in sorted(walk.held.keys() - walk.files.keys())]),
    )


class _Walk:
    """State of one gathering; files and held-back files by their names in the conversation."""

    def __init__(
        self,
        roots: Sequence[str],
        base: str,
        recorded: Collection[str],
        force: bool,
        is_cancelled: IsCancelled,
    ) -> None:
        self._from = base
        self._base = os.path.realpath(base)
        self._roots = tuple(sorted({os.path.realpath(root) for root in roots}))
        self._as_named = (*self._roots, *(os.path.normpath(root) for root in roots))
        self._recorded = recorded
        self._force = force
        self._is_cancelled = is_cancelled
        self._followed: set[str] = set()
        self._listings: dict[str, list[tuple[str, os.stat_result | OSError]]] = {}
        self._prefixes: dict[str, str | None] = {}
        self._resolve: Callable[[str], str] = cache(os.path.realpath)
        self.files: dict[str, SourceFile] = {}
        self.held: dict[str, HeldBack] = {}

    def take_named(self, path: str) -> None:
        """Add a file, or the files of a folder, that the caller named, ignored or not."""
        joined = os.path.join(self._from, path)  # noqa: PTH118 -- a Path would drop a step such as `link/.`
        real = self._real(joined)
        root = _root_of(real, self._roots)
        if root is None:
            if _root_of(os.path.normpath(joined), self._as_named) is None:
                raise Refused(
                    f"path {shortened(path)!r} is outside the folders that may be sent",
                    f"Name files in {' or '.join(self._roots)}" if self._roots else "There are none: name a root",
                )
            self._hold(path, "outside", _OUTSIDE)
            return
        try:
            status = os.lstat(real)
        except (FileNotFoundError, NotADirectoryError):
            name = self._name(real)
            if name in self._recorded or any(one.startswith(f"{name}/") for one in self._recorded):
                return  # a file of the conversation was removed: no error
            raise self._missing(path, real) from None
        except OSError as error:
            self._hold(self._name(real), "unreadable", f"it {why_unreadable(error)}")
            return
        if stat.S_ISLNK(status.st_mode):
            raise NotFound(f"path {shortened(path)!r} is a link that leads nowhere", "Name a file or a folder")
        if stat.S_ISDIR(status.st_mode):
            if self._may_enter(real, root):
                self._take_folder(real, root)
        else:
            self._take_file(real, root, status)
        self._raise_if_cancelled()

    def _take_folder(self, real: str, root: str) -> None:
        before = len(self.held)
        files = 0
        for path, status in self._walk(real, root, is_named=True):
            files += 1
            self._take_listed(path, root, status)
        if files or len(self.held) > before:
            return
        if any(names for _, _, names in os.walk(real)):
            self._hold(self._name(real), "ignored", "git ignores all that the folder holds; files of it can be named")
        else:
            self._hold(self._name(real), "empty", "the folder holds no file")

    def _walk(self, folder: str, root: str, *, is_named: bool) -> Iterator[tuple[str, os.stat_result | OSError]]:
        waiting = [folder]
        while waiting:
            self._raise_if_cancelled()
            here = waiting.pop()
            paths = list_files(
                here,
                root,
                is_named=is_named and here == folder,
                hold_unreadable=self._hold_unreadable,
                raise_if_cancelled=self._raise_if_cancelled,
            )
            for count, path in enumerate(paths, 1):
                if not count % _STRIDE:
                    self._raise_if_cancelled()
                above = path.rpartition("/")[0]
                # git also lists files whose folder was replaced by a link
                if self._resolve(above) != above:
                    continue
                try:
                    status = os.lstat(path)
                except (FileNotFoundError, NotADirectoryError):
                    # and tracked files that were deleted
                    continue
                except OSError as error:
                    yield path, error
                    continue
                if stat.S_ISDIR(status.st_mode):
                    waiting.append(path)
                else:
                    yield path, status
        self._raise_if_cancelled()

    def _take_listed(self, real: str, root: str, status: os.stat_result | OSError) -> None:
        above, _, name = real.rpartition("/")
        if above not in self._prefixes:
            self._prefixes[above] = self._prefix(above, root)
        prefix = self._prefixes[above]
        if prefix is None:
            return
        path = prefix + name
        if not self._force and _is_secret(name):
            self._hold(path, "secret_name", _HELD_BY_NAME)
        elif isinstance(status, OSError):
            self._hold(path, "unreadable", f"it {why_unreadable(status)}")
        elif stat.S_ISLNK(status.st_mode):
            self._follow(real, path)
        else:
            self._take(path, real, root, status)

    def _prefix(self, folder: str, root: str) -> str | None:
        at = root.rstrip("/")
        for step in _steps(folder, root) if not self._force else ():
            at = f"{at}/{step}"
            if is_secret_folder(step):
                self._hold(self._name(at), "secret_name", _HELD_BY_FOLDER)
                return None
        return "" if folder == self._base else f"{self._name(folder).rstrip('/')}/"

    def _take_file(self, real: str, root: str, status: os.stat_result) -> None:
        path, folder, name = self._name(real), *real.rpartition("/")[::2]
        if name == ".git":
            self._hold(path, "git", _GIT)
        elif not self._may_enter(folder, root, path):
            return
        elif not self._force and is_secret_name(name):
            self._hold(path, "secret_name", _HELD_BY_NAME)
        else:
            self._take(path, real, root, status, is_named=True)

    def _take(self, path: str, real: str, root: str, status: os.stat_result, *, is_named: bool = False) -> None:
        is_media = has_media_name(path) and (is_named or path in self._recorded)
        most = MAX_BYTES if is_media else MAX_FILE_BYTES
        if not stat.S_ISREG(status.st_mode):
            self._hold(path, "special", "it is no ordinary file")
        elif status.st_size > most:
            self._hold(path, "too_large", too_large(status.st_size, most))
        elif not path.isprintable() and _UNSAYABLE.search(path):
            self._hold(path, "name", "its name holds a control character or is no text in UTF-8; send a copy")
        else:
            self.files[path] = SourceFile(path, real, root, status.st_size, status.st_mtime_ns, is_media)

    def _follow(self, link: str, path: str) -> None:
        real = os.path.realpath(link)
        root = _root_of(real, self._roots)
        if root is None:
            self._hold(path, "outside", _OUTSIDE)
            return
        try:
            status = os.lstat(real)
        except OSError as error:
            self._hold(path, "vanished", f"it is a link to what {why_unreadable(error)}")
            return
        if stat.S_ISLNK(status.st_mode):
            self._hold(path, "vanished", "it is a link that leads in a circle")
            return
        folder = real if stat.S_ISDIR(status.st_mode) else real.rpartition("/")[0]
        if real not in self._followed and self._may_enter(folder, root):
            self._followed.add(real)
            for file, listed in self._listed_below(real, root):
                self._take_listed(file, root, listed)

    def _listed_below(self, real: str, root: str) -> list[tuple[str, os.stat_result | OSError]]:
        if root not in self._listings:
            self._listings[root] = sorted(self._walk(root, root, is_named=False), key=_path_of)
        listing = self._listings[root]
        if (first := bisect_left(listing, real, key=_path_of)) < len(listing) and listing[first][0] == real:
            return [listing[first]]
        # the character after the slash ends the range of paths below it
        folder = real.rstrip("/")
        return listing[
            bisect_left(listing, f"{folder}/", key=_path_of) : bisect_left(listing, f"{folder}0", key=_path_of)
        ]

    def _may_enter(self, folder: str, root: str, path: str | None = None) -> bool:
        steps = _steps(folder, root)
        if ".git" in steps:
            self._hold(path or self._name(folder), "git", _GIT)
        elif not self._force and any(map(is_secret_folder, steps)):
            self._hold(path or self._name(folder), "secret_name", _HELD_BY_FOLDER)
        else:
            return True
        return False

    def _hold_unreadable(self, folder: str, error: OSError) -> None:
        self._hold(self._name(folder), "unreadable", f"the folder {why_unreadable(error)}")

    def _hold(self, path: str, reason: str, detail: str) -> None:
        path = path if path.isprintable() else _UNSAYABLE.sub(lambda match: ascii(match[0])[1:-1], path)
        self.held[path] = HeldBack(path, reason, detail)

    def _raise_if_cancelled(self) -> None:
        raise_if_cancelled(self._is_cancelled)
        if len(self.files) + len(self.held) <= MAX_FILES:
            return
        folders = Counter(path.rpartition("/")[0] for path in self.files)
        fullest = max(folders, key=lambda folder: folders[folder], default="")
        raise TooLarge(
            f"the paths hold more than {MAX_FILES:,} files",
            f"Name fewer folders, or let a .gitignore leave out what is generated; {fullest or '.'} holds most of them",
        )

    def _name(self, real: str) -> str:
        if real == self._base:
            return "."
        return real[len(self._base.rstrip("/")) + 1 :] if is_inside(real, self._base) else real

    def _real(self, path: str) -> str:
        folder, name = os.path.split(path)
        if name in {"", ".", ".."}:
            return os.path.realpath(path)
        real = f"{self._resolve(folder).rstrip('/')}/{name}"
        return os.path.realpath(real) if os.path.islink(real) else real  # noqa: PTH114 -- a Path costs more than the call

    def _missing(self, path: str, real: str) -> NotFound:
        above, _, name = real.rpartition("/")
        rest = ""
        while _root_of(above, self._roots) is not None and not os.path.isdir(above):  # noqa: PTH112 -- as above
            rest = f"/{name}{rest}"
            above, _, name = above.rpartition("/")
        close = None
        if _root_of(above, self._roots) is not None:
            with suppress(OSError), os.scandir(above) as listing:
                close = nearest(name, [entry.name for entry in islice(listing, _MAX_NAMES)])
        if close is not None:
            whole = f"{above}/{close}{rest}"
            hint = f"Did you mean {self._name(whole if os.path.lexists(whole) else f'{above}/{close}')!r}?"
        elif any(char in path for char in "*?["):
            hint = "Name files or folders: patterns are not expanded"
        else:
            hint = f"Name a file or folder, relative to {self._base} or absolute"
        return NotFound(f"there is no file or folder {shortened(path)!r}", hint)


def _root_of(real: str, roots: Iterable[str]) -> str | None:
    return next((root for root in roots if real == root or is_inside(real, root)), None)


def _steps(real: str, root: str) -> list[str]:
    return real[len(root) :].strip("/").split("/")


def _checked(path: object) -> str:
    if not isinstance(path, str) or not path.strip():
        raise InvalidInput(f"{path!r} is no path", "Give the path of a file or folder, such as src/app.py")
    if not path.isprintable() and _UNSAYABLE.search(path):
        raise InvalidInput(
            f"path {shortened(path)!r} holds a control character or a lone surrogate", "Rename it, or send a copy"
        )
    return path
