"""Finding the store: as git finds its repository, shared by linked worktrees, refused where it is unsafe."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from satchel.base.errors import Detached, InvalidInput, NoProject, Refused, Unavailable
from satchel.base.file_checks import is_mine, owner_name
from satchel.base.records import NamedTuple, dataclass, field, replace

FOLDER_NAME = ".satchel"
FILE_NAME = "satchel.db"

_DATABASES = ("postgresql:", "postgres:")
_PASSWORD = "password="  # noqa: S105 -- the keyword in a connection string of libpq

_MAX_POINTER_BYTES = 16_384

_INIT_HINT = "Go into a git repository, run `satchel init` in the project's folder, or name a store with --db PATH"

# Locks and shared memory of SQLite's WAL mode do not work across machines: https://sqlite.org/wal.html
_NETWORK_FILESYSTEMS = frozenset(
    """
    9p afpfs afs ceph cifs coda davfs fuse.ceph fuse.glusterfs fuse.s3fs fuse.sshfs fuse.rclone gfs gfs2 gpfs lustre
    ncpfs nfs nfs4 ocfs2 orangefs smb2 smb3 smbfs webdav
    """.split()
)


@dataclass(frozen=True, slots=True)
class StorePlace:
    """The location of a store, which may not exist yet, and the project that a folder belongs to.

    Attributes:
        store_file: absolute path of the database file; None for a store in PostgreSQL, whose address is not repeated
            here.
        root: the project's root folder, or None outside of any project.
        worktree: the linked worktree that the search started in, or None in the main one.
        suggested_name: the name of the project unless configured.
        origin: how the store was found, in words.
    """

    store_file: Path | None
    exists: bool
    root: Path | None
    worktree: Path | None
    suggested_name: str
    origin: str = field(default="", compare=False)

    @property
    def file(self) -> Path:
        """Return the database file; raises Refused for a store in PostgreSQL."""
        if self.store_file is None:
            raise Refused("the store is in a database", "Name a store that is a file: --db PATH")
        return self.store_file

    @property
    def folder(self) -> Path | None:
        """The folder of the store, its configuration and its backups; None for a store in PostgreSQL."""
        return None if self.store_file is None else self.store_file.parent

    @property
    def owns_folder(self) -> bool:
        """Return whether the folder is a ``.satchel``, with modes and a .gitignore that Satchel sets."""
        return self.folder is not None and self.folder.name == FOLDER_NAME

    @property
    def files_root(self) -> Path | None:
        """The folder that relative file names refer to: the worktree, else the root."""
        return self.worktree or self.root


class Worktree(NamedTuple):
    """A worktree of a repository.

    Attributes:
        root: identifies the repository, as in :class:`StorePlace`.
        worktree: the top of a linked one; None for the main one.
    """

    root: Path
    worktree: Path | None


@dataclass(frozen=True, slots=True)
class _Repository:
    top: Path  # of this worktree
    home: Path  # identifies the repository, and contains .satchel: the main worktree, else the bare repository
    name: str
    git: Path  # git's folder of this worktree
    problem: Refused | None = None  # why the worktree belongs to no repository

    @property
    def linked(self) -> bool:
        return self.top != self.home


def named_store(db: str | os.PathLike[str] | None, environ: Mapping[str, str]) -> str | None:
    """Return the store named by the caller, else by ``SATCHEL_DB``, else None."""
    return os.fspath(db) if db is not None else environ.get("SATCHEL_DB") or None


def is_database(name: str) -> bool:
    """Return whether a text names a store in PostgreSQL, even incorrectly, instead of a file."""
    return name.startswith(_DATABASES)


def locate_store(
    db: str | os.PathLike[str] | None,
    environ: Mapping[str, str],
    cwd: Path,
    *,
    here: bool = False,
    is_tree: Callable[[Path], bool] = lambda _: False,
    is_listed: Callable[[Path], bool] = lambda _: False,
) -> StorePlace:
    """Find the store for a process in ``cwd``.

    The order: ``db``; ``SATCHEL_DB``; the nearest ``.satchel/satchel.db`` upwards; a new one at the root of the git
    repository, which is the main worktree for a linked one, the superproject for a submodule, and a bare repository
    itself. The search upwards ends at that root, outside of a repository at the first folder of another user, and
    always below the home folder. Variables of git such as ``GIT_DIR`` count nowhere.
    """
    cwd = cwd.resolve()
    forbidden = _never_a_project(environ)
    repository = _find_repository(cwd, forbidden)
    store_name = named_store(db, environ)
    if store_name is not None:
        place = _named_place(store_name, cwd, repository, forbidden)
        return replace(place, origin="named by --db or db=" if db is not None else "named by SATCHEL_DB")
    for folder in _search_path(cwd, repository):
        if folder in forbidden:
            break
        file = folder / FOLDER_NAME / FILE_NAME
        if repository is None and not is_mine(folder) and not (file.exists() and is_listed(file)):
            if here or not (folder / FOLDER_NAME).exists():
                break
            raise _of_another_user(folder)
        if file.exists():
            return replace(_place_at(folder, repository, file), origin=_where(folder, cwd, repository))
    if repository is not None:
        if repository.problem is not None:
            raise repository.problem
        for folder in repository.top.parents:
            if folder in forbidden:
                break
            file = folder / FOLDER_NAME / FILE_NAME
            if file.exists() and is_tree(file):
                return replace(_place_at(folder, None, file), origin=f"that of the tree {folder}, above the repository")
        root = repository.home
    elif here:
        root = cwd
    else:
        raise NoProject(f"{cwd} is not inside a project: no {FOLDER_NAME} folder, no git repository", _INIT_HINT)
    if root in forbidden:
        raise NoProject(f"{root} is no place for a project's store", _INIT_HINT)
    return replace(_place_at(root, repository, root / FOLDER_NAME / FILE_NAME), origin=_where(root, cwd, repository))


def worktree_of(path: str) -> Worktree | None:
    """Return the worktree that an absolute path is in, whether or not it exists; None outside of any.

    Raises Detached if it belongs to no repository.
    """
    repository = _find_repository(Path(path), _never_a_project(os.environ))
    if repository is None:
        return None
    if repository.problem is not None:
        raise repository.problem
    return Worktree(repository.home, repository.top if repository.linked else None)


def _where(folder: Path, cwd: Path, repository: _Repository | None) -> str:
    if repository is not None and folder == repository.home:
        return "that of the main worktree" if repository.linked else "at the top of the repository"
    return "in this folder" if folder == cwd else f"in {folder}, above this folder"


def _of_another_user(folder: Path) -> Refused:
    name = owner_name(folder.stat().st_uid)
    return Refused(
        f"{folder} holds a {FOLDER_NAME} and belongs to user {name}, not to you, so its store is not used",
        f"If you trust that user's store, run `satchel trust {folder} --owner {name}`; for a project of your own here, "
        "`satchel init`",
    )


def refuse_network_filesystem(folder: Path) -> None:
    """Refuse a folder on a network file system, where SQLite's locks do not work; checked on Linux only."""
    kind = filesystem_kind(folder)
    if kind in _NETWORK_FILESYSTEMS:
        raise Refused(
            f"{folder} is on a network file system ({kind}), where the store's locks do not hold",
            "Keep the store on a local disk with --db PATH; teams across machines need the PostgreSQL engine",
        )


def filesystem_kind(folder: Path, mounts: str | None = None) -> str | None:
    """Return the type of a folder's file system, such as ``ext4``, or None if unknown.

    ``mounts`` replaces the contents of ``/proc/self/mountinfo`` (proc(5)).
    """
    if mounts is None:
        if not sys.platform.startswith("linux"):
            return None
        try:
            mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            return None
    best, kind = "", None
    target = f"{folder}/"
    for line in mounts.splitlines():
        mount, _, source = line.partition(" - ")
        fields = mount.split(" ")
        if len(fields) < 5 or not source:
            continue
        point = _unescape_mount(fields[4])
        if target.startswith(point.rstrip("/") + "/") and len(point) >= len(best):
            best, kind = point, source.split(" ", 1)[0]
    return kind


def _unescape_mount(point: str) -> str:
    for escaped, plain in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        point = point.replace(escaped, plain)
    return point


def _never_a_project(environ: Mapping[str, str]) -> frozenset[Path]:
    home = environ.get("HOME")
    places = {Path(Path(os.sep).absolute().anchor)}
    if home:
        places.add(Path(home).resolve())
    return frozenset(places)


def _named_place(store_name: str, cwd: Path, repository: _Repository | None, forbidden: frozenset[Path]) -> StorePlace:
    if is_database(store_name):
        if repository is None and cwd in forbidden:
            return StorePlace(None, exists=False, root=None, worktree=None, suggested_name=cwd.name or "project")
        return _place_at(cwd if repository is None else repository.home, repository, None)
    scheme, separator, _ = store_name.partition("://")
    if (separator and scheme.isalnum()) or store_name.startswith(_PASSWORD) or f" {_PASSWORD}" in store_name:
        # the rest is not repeated, because it may contain a password
        raise Unavailable(
            f"a store at a {scheme} URL is not supported" if separator else "a store is not named by its parameters",
            "Give the path of a file, or postgresql://USER@HOST/DATABASE?schema=NAME",
        )
    if "\0" in store_name or not store_name.strip():
        raise InvalidInput("the store's path is empty or holds a NUL", "Give the path of a file: --db PATH")
    file = (cwd / Path(store_name).expanduser()).absolute()
    if file.is_dir():
        raise InvalidInput(f"{file} is a folder", f"Name a file in it, such as {file / FILE_NAME}")
    if not file.parent.is_dir():
        raise InvalidInput(f"the folder {file.parent} does not exist", "Make it first, or name another path")
    file = file.parent.resolve() / file.name
    if repository is None and file.parent.name == FOLDER_NAME:
        return _place_at(file.parent.parent, None, file)
    if repository is None and cwd in forbidden:
        return StorePlace(file, file.exists(), None, None, file.stem)
    return _place_at(cwd if repository is None else repository.home, repository, file)


def _place_at(folder: Path, repository: _Repository | None, file: Path | None) -> StorePlace:
    exists = file is not None and file.exists()
    if repository is None or repository.home != folder:
        return StorePlace(file, exists, folder, None, folder.name or (file.stem if file else "project"))
    worktree = repository.top if repository.linked else None
    return StorePlace(file, exists, repository.home, worktree, repository.name)


def _search_path(cwd: Path, repository: _Repository | None) -> Iterator[Path]:
    for folder in (cwd, *cwd.parents):
        yield folder
        if repository is not None and folder == repository.top:
            if folder != repository.home:
                yield repository.home
            return


def _find_repository(cwd: Path, forbidden: frozenset[Path]) -> _Repository | None:
    for folder in (cwd, *cwd.parents):
        dot_git = folder / ".git"
        if dot_git.is_symlink() and dot_git.is_dir() and _is_anothers(dot_git.resolve(), folder):
            repository = _Repository(folder, folder, folder.name, dot_git, _detached(dot_git, dot_git))
        elif dot_git.is_dir():
            repository = _superproject(folder, forbidden) or _Repository(folder, folder, folder.name, dot_git)
        elif dot_git.is_file():
            repository = _pointed_repository(folder, dot_git, forbidden)
        elif _is_git_directory(folder) and ".git" not in folder.parts:
            home = _home_of(folder, forbidden)
            repository = _Repository(home, home, _bare_name(folder), folder)
        else:
            continue
        return None if repository.top in forbidden else repository
    return None


def _superproject(top: Path, forbidden: frozenset[Path]) -> _Repository | None:
    for folder in top.parents:
        if os.path.lexists(f"{folder}/.gitmodules"):  # runs at every start
            outer = _find_repository(folder, forbidden)
            is_listed = outer is not None and outer.top == folder and top.relative_to(folder) in _submodules(folder)
            return outer if is_listed else None
    return None


def _submodules(top: Path) -> Iterator[Path]:
    for line in _text_of(top / ".gitmodules").splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "path":
            yield Path(value.strip().strip('"'))


def _pointed_repository(top: Path, dot_git: Path, forbidden: frozenset[Path]) -> _Repository:
    git = (top / _text_of(dot_git).strip().removeprefix("gitdir:").strip()).resolve()
    pointer = git / "commondir"
    if pointer.is_file():
        common = (git / _text_of(pointer).strip()).resolve()
        # checked both ways: otherwise such a file could open the store of any other repository
        back = (git / _text_of(git / "gitdir").strip()).resolve()
        if git.parent != common / "worktrees" or back != dot_git.resolve():
            return _Repository(top, top, top.name, git, _detached(dot_git, common))
        return _Repository(top, _home_of(common, forbidden), _bare_name(common), git)
    outer = _find_repository(top.parent, forbidden)
    if outer is not None and git.is_relative_to(outer.git / "modules"):
        return outer
    is_known = (git / "HEAD").is_file() and not _is_anothers(git, top)
    return _Repository(top, top, top.name, git, None if is_known else _detached(dot_git, git))


def _is_anothers(git: Path, top: Path) -> bool:
    if ".git" not in git.parts:
        return False
    owner = Path(*git.parts[: git.parts.index(".git")])
    return git.name == ".git" or not top.is_relative_to(owner)


def _detached(dot_git: Path, target: Path) -> Detached:
    # the target is not repeated: a planted link could make it the text of any file
    what = "does not know this worktree" if target.exists() else "does not exist"
    return Detached(
        f"{dot_git} leads to a repository that {what}, so the project's store is unknown",
        "Run `git worktree repair` in the main worktree if one of them was moved, remove that file if this folder is "
        "no worktree any more, or name the store: SATCHEL_DB=PATH",
    )


def _home_of(common: Path, forbidden: frozenset[Path]) -> Path:
    around = common.parent
    if common.name in {".git", ".bare"} or (around / _text_of(around / ".git").strip()[7:].strip()) == common:
        return around
    superproject = _find_repository(around, forbidden) if ".git" in around.parts else None
    return common if superproject is None else superproject.home


def _text_of(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            text = stream.read(_MAX_POINTER_BYTES)
    except OSError:
        return ""
    return os.fsdecode(text).split("\0")[0]


def _is_git_directory(folder: Path) -> bool:
    return (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir()


def _bare_name(directory: Path) -> str:
    return directory.parent.name if directory.name in {".git", ".bare"} else directory.name.removesuffix(".git")
