"""Trust in a store: it was created here, or the user trusts it. A cloned or unpacked one is not trusted."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

import apsw

from satchel.base import file_checks
from satchel.base.errors import Refused, StoreCopied, Untrusted
from satchel.base.file_checks import SHARED_FOLDER, Vouched
from satchel.base.paths import FOLDER_NAME
from satchel.base.records import replace
from satchel.store.known_stores import Identity, KnownStore, KnownStores

TYPE_CHECKING = False  # importing typing is slow
if TYPE_CHECKING:
    from satchel.base.clock import Clock

_GIT_SECONDS = 10

# damage of whole pages may put the rows of another table in this one's place: their uid means nothing
_OWN_ROW = """
    SELECT uid FROM store
    WHERE id = 1 AND length(uid) = 16 AND (SELECT count(*) FROM store) = 1
        AND typeof(uid) || typeof(min_reader) || typeof(min_writer) || typeof(created_at) = 'blobintegerintegerinteger'
"""


class Trust:
    """Trust in one store file, checked before any of its content is used.

    A store below a ``.satchel`` folder must be on the user's list of stores; any other path was named by the caller,
    whose choice it is.
    """

    def __init__(
        self,
        file: Path,
        stores: KnownStores,
        clock: Clock,
        *,
        folders: Sequence[Path] = (),
        everywhere: bool = False,
    ) -> None:
        self.file = file
        self.stores = stores
        self._clock = clock
        self._everywhere = everywhere
        self._folder = next((folder for folder in folders if file.is_relative_to(folder)), None)
        self._own_folder = next((above for above in file.parents if above.name == FOLDER_NAME), None)
        self.is_listed = self._own_folder is not None
        self.new_wanted = False
        self.new_uid: bytes | None = None
        self._here: KnownStore | None = None

    @property
    def vouches_for_place(self) -> bool:
        return self._everywhere or self._folder is not None

    @property
    def knows_place(self) -> bool:
        """Return whether the files in the store's folder, such as backups, are the user's own or vouched for."""
        return not self.is_listed or self.vouches_for_place or self._look_up() is not None

    @property
    def backup_folder(self) -> Path | None:
        """The folder for this store's backups in the state folder; None if they stay in the store's folder."""
        store = self._look_up()
        if store is None or not self.stores.is_writable():
            return None
        return self.stores.folder / "backups" / store.uid.hex()

    @property
    def listed_at(self) -> int:
        """Time at which the store was listed, in milliseconds UTC; 0 if it is not."""
        return 0 if self._here is None else self._here.listed_at

    def check_files(self, *, owner: int | None = None) -> None:
        """Check the store's files and their folder before any of them is opened.

        `owner` is the number of another user whose files are accepted; by default the one listed with the store.
        """
        store = self._look_up()
        if owner is None and store is not None:
            owner = store.owner
        vouched = Vouched(owner, self.vouches_for_place)
        names = None
        if self._own_folder is not None:
            names_in_folder = file_checks.refuse_unsafe_folder(self._own_folder, vouched)
            names = names_in_folder if self._own_folder == self.file.parent else None
        else:
            file_checks.refuse_unsafe_place(self.file.parent, vouched)
        file_checks.refuse_unsafe_file(self.file, vouched, names)

    def expects_store(self) -> bool:
        """Return whether the list has a store here, so that a missing or empty file is a loss."""
        store = None if self.new_wanted else self._look_up()
        return store is not None and store.complete

    def check_known(self, identity: Identity) -> None:
        """Refuse a file that is not on the list, before SQLite creates any file. Follows :meth:`check_files`."""
        if not self.is_listed or self.vouches_for_place or self._here is not None:
            return
        uid = peek(self.file)
        if uid is not None:
            self._check_listed(uid, identity)

    def admit(self, uid: bytes, identity: Identity) -> None:
        """Refuse a store whose uid is not the listed one; update the list if the store was moved."""
        if self.is_listed and not self.vouches_for_place:
            self._check_listed(uid, identity)

    def _look_up(self) -> KnownStore | None:
        self._here = self.stores.at(self.file) if self.is_listed else None
        return self._here

    def _check_listed(self, uid: bytes, identity: Identity) -> None:
        store = self._here
        if store is None or store.uid != uid:
            store = self._look_up()  # another process may have listed it since
        if store is None or store.uid != uid:
            store = self._find_moved(uid)
        if store.file == self.file and store.identity == identity and store.complete:
            return
        if store.identity != identity:
            self.refuse_tracked()
        self.new_wanted, self.new_uid = False, None
        # if the list cannot be written, its entries still count
        with suppress(Refused):
            self.stores.put(replace(store, file=self.file, identity=identity, complete=True))

    def _find_moved(self, uid: bytes) -> KnownStore:
        store = self.stores.of(uid)
        if store is None and self._here is not None:
            raise Untrusted(
                f"{self.file} is not the store that is listed here, and was neither made nor trusted by you",
                f"This is for a person to decide: `satchel restore` goes back to one of your backups, `satchel trust "
                f"{self._project}` accepts this one if you put it there",
            )
        if store is None:
            raise Untrusted(
                f"{self.file} was neither made nor trusted by you (your list of stores is in {self.stores.folder}): "
                "it may have come with a clone or an archive, and agents would follow what it says",
                f"This is for a person to decide: `satchel trust {self._project}` if you know where it comes from, else"
                " move it away",
            )
        if store.file != self.file and store.file.exists():
            raise StoreCopied(
                f"{self.file} is a copy of {store.file}",
                f"This is for a person to decide: `satchel trust {self._project}` makes it a separate store with the "
                f"same content; else work in {store.file.parent.parent}",
            )
        return store

    @property
    def _project(self) -> Path:
        return self.file.parent.parent if self.file.parent.name == FOLDER_NAME else self.file

    def refuse_tracked(self) -> None:
        """Refuse a folder in which git tracks files."""
        tracked = self.tracked()
        if tracked:
            names = ", ".join(tracked[:3]) + (" and more" if len(tracked) > 3 else "")
            raise Refused(
                f"git tracks {names} in {self.file.parent}, so anyone who can push to the repository could change what "
                "agents read",
                f"Run `git -C {self.file.parent} rm -r --cached -- {' '.join(tracked)}` and commit, "
                "then `satchel trust`",
            )

    def tracked(self) -> tuple[str, ...]:
        """Return the files in the store's folder that git tracks, which do not belong in a repository."""
        if not self.is_listed:
            return ()
        return tracked_below(self.file.parent)

    def list_new(self, uid: bytes, identity: Identity) -> None:
        """List a store that is about to be created; :meth:`admit` completes the entry when the store is opened."""
        if not self.is_listed or (self.vouches_for_place and not self.stores.is_writable()):
            return
        self.refuse_tracked()
        self.stores.put(KnownStore(uid, self.file, identity, "made", self._clock(), complete=False))

    def expect_copy(self, uid: bytes) -> bytes:
        """Allow a copy of a store here; return the uid that it gets.

        That is the uid of the store listed here, else its own unless another place has it.
        """
        here, other = self._look_up(), self.stores.of(uid) if self.is_listed else None
        if here is not None:
            uid = here.uid
        elif other is not None and other.file.exists():
            uid = os.urandom(16)
        self.new_wanted, self.new_uid = True, uid
        return uid

    def list_copy(self, uid: bytes, identity: Identity) -> None:
        """List a store that the user has restored here from a backup."""
        here = self._look_up()
        if not self.is_listed or (self.vouches_for_place and not self.stores.is_writable()):
            return
        if here is None or (here.uid, here.identity, here.complete) != (uid, identity, True):
            how, when = ("made", self._clock()) if here is None else (here.how, here.listed_at)
            self.stores.put(KnownStore(uid, self.file, identity, how, when))
        self.new_wanted, self.new_uid = False, None

    def reason(self) -> str:
        if not self.is_listed:
            return "its path was given"
        from satchel.base.clock import iso

        store = self._look_up()
        if store is not None:
            owner = "" if store.owner is None else f", as a store of user {file_checks.owner_name(store.owner)}"
            return f"{'made here' if store.how == 'made' else 'trusted by you'} on {iso(store.listed_at)[:10]}{owner}"
        if self._everywhere:
            return "SATCHEL_TRUST is set"
        if self._folder is not None:
            return f"{self._folder} is one of your trust.folders"
        return "there is no store yet"


def peek(file: Path) -> bytes | None:
    """Return the uid of a store without creating files, as opening it in WAL mode would.

    None if the file alone, without its WAL, is not a store.
    """
    try:
        with closing(open_untouched(file)) as connection:
            return uid_in(connection)
    except apsw.Error:
        return None


def open_untouched(file: Path) -> apsw.Connection:
    """Open a database file alone, without its WAL, so that SQLite creates no files."""
    from urllib.parse import quote

    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    connection = apsw.Connection(f"file:{quote(str(file))}?immutable=1", flags=flags)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    return connection


def uid_in(connection: apsw.Connection) -> bytes | None:
    """Return the uid of a store; None if its row is malformed, so that the uid is unknown."""
    uid: bytes | None = connection.execute(_OWN_ROW).get
    return uid


def tracked_below(folder: Path) -> tuple[str, ...]:
    """Return the files in a ``.satchel`` folder that git tracks, relative to it, without those in ``shared/``.

    Anyone who can push can change them. The result is empty without a repository or git.
    """
    if not _may_be_tracked(folder):
        return ()
    from satchel.base.git_commands import ask_git  # rarely needed: when a store is listed or was replaced

    answer = ask_git(str(folder), ("ls-files", "-z", "--full-name", "--", "."), _GIT_SECONDS) or b""
    # next to a bare repository with an index, git takes every folder for the top and lists files of other folders
    names = (f"/{os.fsdecode(name)}".partition(f"/{folder.name}/")[2] for name in answer.split(b"\0"))
    return tuple(name for name in names if name and not name.startswith(f"{SHARED_FOLDER}/"))


def _may_be_tracked(folder: Path) -> bool:
    # without an index it tracks nothing, and git need not be started
    for above in folder.parents:
        dot_git = above / ".git"
        if dot_git.is_dir():
            return (dot_git / "index").exists()
        if dot_git.exists():
            return True
    return False
