"""Gathering: what paths hold, looked at but not read, each file once, and what is held back with the reason.

The reasons that a file is held back for, here and in ``reading``:

``secret_name``, ``secret``: its name, or what it holds, says that it holds secrets; sent only with force.
``outside``: a link leads out of the allowed roots. ``git``: it belongs to git's own folder.
``too_large``, ``special``, ``unreadable``, ``vanished``, ``changing``, ``binary``, ``undecodable``: it cannot be sent.
``name``: its name cannot stand in a prompt. ``ignored``, ``empty``: a folder that was
named holds nothing but ignored files, or none.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from itertools import islice

from satchel.base.contained import is_inside, why_unreadable
from satchel.base.errors import InvalidInput, NotFound, Refused, TooLarge, nearest
from satchel.base.records import dataclass
from satchel.base.text import shortened
from satchel.consult.cancelling import IsCancelled, never, raise_if_cancelled
from satchel.consult.ignoring import Chain, Folders, chain_in, is_ignored
from satchel.consult.plain_names import UNSAYABLE, plain_names
from satchel.consult.records import FoundFile, Gathering, HeldBack, found_file
from satchel.redaction.filenames import is_secret_folder, is_secret_name

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_STRIDE = 500
_MAX_NAMES = 2_000
_HELD_BY_NAME = "its name says that it holds secrets; it is sent only with force"
_HELD_BY_FOLDER = "it is in a folder that holds secrets; it is sent only with force"
_OUTSIDE = "a link leads from it out of the folders that may be sent; send a copy"
_GIT = "it is part of what git keeps for itself, which is never sent; send a copy"


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one turn may look at.

    Attributes:
        files: how many files, those that are held back included.
        file_bytes: the largest file that is sent.
    """

    files: int = 20_000
    file_bytes: int = 2 * 1_024 * 1_024


DEFAULT_LIMITS = Limits()


def gather(
    paths: Iterable[str],
    roots: Sequence[str],
    *,
    base: str,
    limits: Limits = DEFAULT_LIMITS,
    force: bool = False,
    is_cancelled: IsCancelled = never,
) -> Gathering:
    """Look at every file that paths name and every file in the folders that they name.

    Folders are expanded as git sees them: what ignore files leave out is left out without a word, unless it is named
    itself; git's own folder is never entered. Links that stay inside the roots are followed, as far as what they lead
    to is not ignored, and what they lead to is named for where it is. Nothing is read but ignore files.

    Args:
        paths: files and folders, relative to ``base`` or absolute.
        roots: the folders, absolute, that nothing outside of is looked at; links to them are resolved.
        base: the absolute folder that relative paths start from and that files inside it are named from.
        limits: how much may be looked at.
        force: whether files are sent whose names say that they hold secrets.
        is_cancelled: asked before every folder and every few hundred files.

    Returns:
        The files in the order of their paths, and what is held back, in that order too.

    Raises:
        InvalidInput: a path is empty or holds a control character.
        NotFound: a path that was named is not there.
        Refused: a path that was named is outside the roots.
        TooLarge: there are more files than the limit.
        Interrupted: it was cancelled.
    """
    walk = _Walk(roots, base, limits, force, is_cancelled)
    # in an order that does not depend on the caller's, a folder before what is in it
    for path in sorted({_checked(path) for path in paths}):
        walk.take_named(path)
    return Gathering(
        tuple([walk.files[path] for path in sorted(walk.files)]),
        # what could be looked at once may be gone at the second look: the reader of the file says so
        tuple([walk.held[path] for path in sorted(walk.held.keys() - walk.files.keys())]),
    )


class _Walk:
    """One gathering under way; files and what is held back are kept by their names in the conversation."""

    def __init__(self, roots: Sequence[str], base: str, limits: Limits, force: bool, is_cancelled: IsCancelled) -> None:
        self._from = base
        self._base = os.path.realpath(base)
        self._roots = tuple(sorted({os.path.realpath(root) for root in roots}))
        self._as_named = (*self._roots, *(os.path.normpath(root) for root in roots))
        self._limits = limits
        self._force = force
        self._is_cancelled = is_cancelled
        self._rules = Folders(self._roots)
        self._seen: set[str] = set()
        self._resolved: dict[str, str] = {}
        self.files: dict[str, FoundFile] = {}
        self.held: dict[str, HeldBack] = {}

    def take_named(self, path: str) -> None:
        """Take a file, or what is in a folder, that the caller named, ignored or not."""
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
        """Walk a folder that was named, and say so where that led to nothing."""
        found, ignored = self._walk([(real, root, self._rules.above(real))])
        if found:
            return
        name = self._name(real)
        if ignored:
            self._hold(name, "ignored", "ignore files leave out all that the folder holds; files of it can be named")
        else:
            self._hold(name, "empty", "the folder holds no file")

    def _walk(self, waiting: list[tuple[str, str, Chain]]) -> tuple[bool, bool]:
        """Take what is in folders, each with the root that holds it and the rules that hold above it.

        Returns:
            Whether anything was found, be it held back, and whether anything was ignored.
        """
        found = ignored = False
        while waiting:
            self._raise_if_cancelled()
            folder, root, chain = waiting.pop()
            if folder in self._seen:
                found = True
                continue
            self._seen.add(folder)
            descriptor = -1
            try:
                # looking at files by their names in it takes less than by their paths
                descriptor = os.open(folder, _FOLDER)
                entries = self._listed(descriptor)
            except OSError as error:
                self._hold(self._name(folder), "unreadable", f"the folder {why_unreadable(error)}")
                found = True
            else:
                found_here, ignored_here = self._look(folder, entries, root, chain, waiting)
                found, ignored = found or found_here, ignored or ignored_here
            finally:
                if descriptor >= 0:
                    os.close(descriptor)
        self._raise_if_cancelled()
        return found, ignored

    def _listed(self, descriptor: int) -> dict[str, os.DirEntry[str]]:
        entries: dict[str, os.DirEntry[str]] = {}
        with os.scandir(descriptor) as listing:
            while some := {entry.name: entry for entry in islice(listing, _STRIDE)}:
                entries |= some
                raise_if_cancelled(self._is_cancelled)
        return entries

    def _look(
        self,
        folder: str,
        entries: dict[str, os.DirEntry[str]],
        root: str,
        chain: Chain,
        waiting: list[tuple[str, str, Chain]],
    ) -> tuple[bool, bool]:
        """Take what is in one folder, and let the folders in it wait; returns as :meth:`_walk` does."""
        found = ignored = False
        is_repository = entries.pop(".git", None) is not None
        if is_repository or ".gitignore" in entries:
            chain = chain_in(folder, chain, has_file=".gitignore" in entries, is_repository=is_repository)
        prefix = "" if folder == self._base else f"{self._name(folder).rstrip('/')}/"
        above = folder.rstrip("/")
        plain = plain_names(tuple([here.rules for here in chain]))
        is_sayable = not UNSAYABLE.search(prefix)
        files, max_bytes, is_regular = self.files, self._limits.file_bytes, stat.S_ISREG
        for count, (name, entry) in enumerate(entries.items(), 1):
            if not count % _STRIDE:
                self._raise_if_cancelled()
            real = f"{above}/{name}"
            try:
                is_folder = entry.is_dir(follow_symlinks=False)
            except OSError:
                # the file system names no kinds, and the caller that looks at it is told why not
                is_folder = False
            is_plain = name in plain.known
            if not is_plain:
                if is_ignored(chain, real, name, is_folder):
                    ignored = True
                    continue
                plain.learn(name)
                if not self._force and (is_secret_folder(name) if is_folder else is_secret_name(name)):
                    found = True
                    self._hold(prefix + name, "secret_name", _HELD_BY_FOLDER if is_folder else _HELD_BY_NAME)
                    continue
            if is_folder:
                waiting.append((real, root, chain))
                continue
            found = True
            path = prefix + name
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError as error:
                gone = isinstance(error, FileNotFoundError)
                self._hold(path, "vanished" if gone else "unreadable", f"it {why_unreadable(error)}")
                continue
            size = status.st_size
            if is_plain and is_sayable and size <= max_bytes and is_regular(status.st_mode):
                # the usual case, without a call
                files[path] = found_file((path, real, root, size, status.st_mtime_ns))
            elif stat.S_ISLNK(status.st_mode):
                self._follow(real, path, waiting)
            else:
                self._take(path, real, root, status)
        return found, ignored

    def _take_file(self, real: str, root: str, status: os.stat_result) -> None:
        """Take a file that was named, or that a link leads to."""
        path = self._name(real)
        *above, name = _steps(real, root)
        if name == ".git" or ".git" in above:
            self._hold(path, "git", _GIT)
        elif self._force:
            self._take(path, real, root, status)
        elif any(map(is_secret_folder, above)):
            self._hold(path, "secret_name", _HELD_BY_FOLDER)
        elif is_secret_name(name):
            self._hold(path, "secret_name", _HELD_BY_NAME)
        else:
            self._take(path, real, root, status)

    def _take(self, path: str, real: str, root: str, status: os.stat_result) -> None:
        """Take what nothing in its name speaks against."""
        if not stat.S_ISREG(status.st_mode):
            self._hold(path, "special", "it is no ordinary file")
        elif status.st_size > self._limits.file_bytes:
            self._hold(path, "too_large", too_large(status.st_size, self._limits.file_bytes))
        elif not path.isprintable() and UNSAYABLE.search(path):
            self._hold(path, "name", "its name holds a control character or is no text in UTF-8; send a copy")
        else:
            self.files[path] = FoundFile(path, real, root, status.st_size, status.st_mtime_ns)

    def _follow(self, link: str, path: str, waiting: list[tuple[str, str, Chain]]) -> None:
        """Take what a link leads to, if that is inside a root and not ignored there."""
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
        elif self._rules.leaves_out(real, stat.S_ISDIR(status.st_mode)):
            return
        elif not stat.S_ISDIR(status.st_mode):
            self._take_file(real, root, status)
        elif self._may_enter(real, root):
            waiting.append((real, root, self._rules.above(real)))

    def _may_enter(self, real: str, root: str) -> bool:
        """Whether a folder that was named, or that a link leads to, may be walked; otherwise it is held back."""
        steps = _steps(real, root)
        if ".git" in steps:
            self._hold(self._name(real), "git", _GIT)
        elif not self._force and any(map(is_secret_folder, steps)):
            self._hold(self._name(real), "secret_name", _HELD_BY_FOLDER)
        else:
            return True
        return False

    def _hold(self, path: str, reason: str, detail: str) -> None:
        path = path if path.isprintable() else UNSAYABLE.sub(lambda found: ascii(found[0])[1:-1], path)
        self.held[path] = HeldBack(path, reason, detail)

    def _raise_if_cancelled(self) -> None:
        """Go on, unless the call is cancelled or there are too many files."""
        raise_if_cancelled(self._is_cancelled)
        most = self._limits.files
        if len(self.files) + len(self.held) <= most:
            return
        folders: dict[str, int] = {}
        for path in self.files:
            above = path.rpartition("/")[0]
            folders[above] = folders.get(above, 0) + 1
        fullest = max(folders, key=lambda folder: folders[folder], default="")
        raise TooLarge(
            f"the paths hold more than {most:,} files",
            f"Name fewer folders, or let a .gitignore leave out what is generated; {fullest or '.'} holds most of them",
        )

    def _name(self, real: str) -> str:
        """Return what a real path is called in the conversation."""
        if real == self._base:
            return "."
        return real[len(self._base.rstrip("/")) + 1 :] if is_inside(real, self._base) else real

    def _real(self, path: str) -> str:
        """Return a path behind every link, the folders of files that lie together looked at once."""
        folder, name = os.path.split(path)
        if name in {"", ".", ".."}:
            return os.path.realpath(path)
        above = self._resolved.get(folder)
        if above is None:
            above = self._resolved[folder] = os.path.realpath(folder)
        real = f"{above.rstrip('/')}/{name}"
        return os.path.realpath(real) if os.path.islink(real) else real  # noqa: PTH114 -- a Path costs more than the call

    def _missing(self, path: str, real: str) -> NotFound:
        """Build the error for a path that is not there, with the nearest that is."""
        above, _, name = real.rpartition("/")
        rest = ""
        while _root_of(above, self._roots) is not None and not os.path.isdir(above):  # noqa: PTH112 -- as above
            rest = f"/{name}{rest}"
            above, _, name = above.rpartition("/")
        close = None
        if _root_of(above, self._roots) is not None:
            try:
                with os.scandir(above) as listing:
                    close = nearest(name, [entry.name for entry in islice(listing, _MAX_NAMES)])
            except OSError:
                close = None
        if close is not None:
            whole = f"{above}/{close}{rest}"
            hint = f"Did you mean {self._name(whole if os.path.lexists(whole) else f'{above}/{close}')!r}?"
        elif any(char in path for char in "*?["):
            hint = "Name files or folders: patterns are not expanded"
        else:
            hint = f"Name a file or folder, relative to {self._base} or absolute"
        return NotFound(f"there is no file or folder {shortened(path)!r}", hint)


def too_large(size: int, max_bytes: int) -> str:
    """Say of a file that it is too large to be sent."""
    return f"it has {size:,} bytes, more than the {max_bytes:,} that are sent; send a part of it"


def _root_of(real: str, roots: Iterable[str]) -> str | None:
    """Return a root that a path lies in, or is."""
    for root in roots:
        if real == root or is_inside(real, root):
            return root
    return None


def _steps(real: str, root: str) -> list[str]:
    """Return the steps that lead from a root to what lies in it."""
    return real[len(root) :].strip("/").split("/")


def _checked(path: object) -> str:
    if not isinstance(path, str) or not path.strip():
        raise InvalidInput(f"{path!r} is no path", "Give the path of a file or folder, such as src/app.py")
    if not path.isprintable() and UNSAYABLE.search(path):
        raise InvalidInput(
            f"path {shortened(path)!r} holds a control character or a lone surrogate", "Rename it, or send a copy"
        )
    return path
