"""Whether a store may be believed: it was made here, or the user said so. A cloned or unpacked one was not."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

import apsw

from satchel.base import file_checks
from satchel.base.errors import Refused, StoreCopied, Untrusted
from satchel.base.file_checks import Vouched
from satchel.base.paths import FOLDER_NAME
from satchel.base.records import replace
from satchel.store.known_stores import Identity, KnownStore, KnownStores

TYPE_CHECKING = False  # importing typing takes 4 ms
if TYPE_CHECKING:
    from satchel.base.clock import Clock

# page by page damage may put the rows of another table in this one's place: a uid of theirs says nothing
_OWN_ROW = """
    SELECT uid FROM store
    WHERE id = 1 AND length(uid) = 16 AND (SELECT count(*) FROM store) = 1
        AND typeof(uid) || typeof(min_reader) || typeof(min_writer) || typeof(created_at) = 'blobintegerintegerinteger'
"""


class Trust:
    """What is known of the trustworthiness of one store file, asked before anything in it is believed.

    A store below a ``.satchel`` folder must be on the user's list of stores; one under any other path was named by the
    caller, whose choice it is.

    Args:
        file: the database file, an absolute path.
        known: the user's list.
        clock: the time.
        folders: what is trusted wholly, with all below it.
        everywhere: whether every place is trusted so (``SATCHEL_TRUST=1``).
    """

    def __init__(
        self,
        file: Path,
        known: KnownStores,
        clock: Clock,
        *,
        folders: Sequence[Path] = (),
        everywhere: bool = False,
    ) -> None:
        self.file = file
        self.known = known
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
        """Whether the user has vouched for the whole place."""
        return self._everywhere or self._folder is not None

    @property
    def knows_place(self) -> bool:
        """Whether what lies beside the store, such as backups, is the user's own or vouched for."""
        return not self.is_listed or self.vouches_for_place or self._look_up() is not None

    @property
    def backup_folder(self) -> Path | None:
        """Where backups of this store are kept in the state folder; None where they stay beside it."""
        store = self._look_up()
        if store is None or not self.known.is_writable():
            return None
        return self.known.folder / "backups" / store.uid.hex()

    @property
    def listed_at(self) -> int:
        """When the store was listed, in milliseconds UTC; 0 for one that is not."""
        return 0 if self._here is None else self._here.listed_at

    def check_files(self, *, owner: int | None = None) -> None:
        """Look at the store's files and their folder before any of them is opened.

        Args:
            owner: the number of another user whose files are accepted; None is the one that is listed with the store.

        Raises:
            Refused: something there is a link or no regular file, another user's, or writable by others.
        """
        store = self._look_up()
        if owner is None and store is not None:
            owner = store.owner
        vouched = Vouched(owner, self.vouches_for_place)
        names = None
        if self._own_folder is not None:
            found = file_checks.refuse_unsafe_folder(self._own_folder, vouched)
            names = found if self._own_folder == self.file.parent else None
        else:
            file_checks.refuse_unsafe_place(self.file.parent, vouched)
        file_checks.refuse_unsafe_file(self.file, vouched, names)

    def expects_store(self) -> bool:
        """Whether the list knows a store here, so that a file that is gone or empty is a loss."""
        store = None if self.new_wanted else self._look_up()
        return store is not None and store.complete

    def check_known(self, identity: Identity) -> None:
        """Refuse a file that is not on the list, before SQLite writes anything beside it. Follows :meth:`check_files`.

        Args:
            identity: of the file.

        Raises:
            Refused: the store was neither made nor trusted here, is a copy of one that was, or is tracked by git.
        """
        if not self.is_listed or self.vouches_for_place or self._here is not None:
            return
        uid = peek(self.file)
        if uid is not None:
            self._check_listed(uid, identity)

    def admit(self, uid: bytes, identity: Identity) -> None:
        """Refuse a store whose uid is not the one that is listed; bring the list up to date where it was moved.

        Raises:
            Refused: as for :meth:`check_known`.
        """
        if self.is_listed and not self.vouches_for_place:
            self._check_listed(uid, identity)

    def _look_up(self) -> KnownStore | None:
        """Return what is listed under the path, kept for the checks that follow: one look costs 0.09 ms."""
        self._here = self.known.at(self.file) if self.is_listed else None
        return self._here

    def _check_listed(self, uid: bytes, identity: Identity) -> None:
        store = self._here
        if store is None or store.uid != uid:
            store = self._look_up()  # another process may have listed it since
        if store is None or store.uid != uid:
            store = self._moved(uid)
        if store.file == self.file and store.identity == identity and store.complete:
            return
        if store.identity != identity:
            self.refuse_tracked()
        self.new_wanted, self.new_uid = False, None
        # where the list cannot be written, what is on it still counts
        with suppress(Refused):
            self.known.put(replace(store, file=self.file, identity=identity, complete=True))

    def _moved(self, uid: bytes) -> KnownStore:
        store = self.known.of(uid)
        if store is None and self._here is not None:
            raise Untrusted(
                f"{self.file} is another store than the one that is listed here, and was neither made nor trusted by "
                "you",
                f"This is for a person to decide: `satchel restore` goes back to a backup of yours, `satchel trust "
                f"{self._project}` accepts this one if you put it there",
            )
        if store is None:
            raise Untrusted(
                f"{self.file} was neither made nor trusted by you (your list of stores is in {self.known.folder}): "
                "it may have come with a clone or an archive, and agents would follow what it says",
                f"This is for a person to decide: `satchel trust {self._project}` if you know where it comes from, else"
                " move it away",
            )
        if store.file != self.file and store.file.exists():
            raise StoreCopied(
                f"{self.file} is a copy of {store.file}",
                f"This is for a person to decide: `satchel trust {self._project}` makes it a store of its own, with all"
                f" that it holds; else work in {store.file.parent.parent}",
            )
        return store

    @property
    def _project(self) -> Path:
        return self.file.parent.parent if self.file.parent.name == FOLDER_NAME else self.file

    def refuse_tracked(self) -> None:
        """Refuse a folder in which git tracks files.

        Raises:
            Refused: it does.
        """
        tracked = self.tracked()
        if tracked:
            shown = ", ".join(tracked[:3]) + (" and more" if len(tracked) > 3 else "")
            raise Refused(
                f"git tracks {shown} in {self.file.parent}, so that anyone who can push to the repository could change "
                "what agents are told",
                f"Run `git -C {self.file.parent} rm -r --cached -- {' '.join(tracked)}` and commit, "
                "then `satchel trust`",
            )

    def tracked(self) -> tuple[str, ...]:
        """Return the files beside the store that git tracks, though they are no business of a repository."""
        if not self.is_listed:
            return ()
        from satchel.store import tracked_files  # .4 ms of every command, for a store that is listed or was replaced

        return tracked_files.tracked_below(self.file.parent)

    def list_new(self, uid: bytes, identity: Identity) -> None:
        """List a store that is about to be made; :meth:`admit` completes that when it is opened.

        Raises:
            Refused: the list cannot be written, or git tracks files in the folder.
        """
        if not self.is_listed or (self.vouches_for_place and not self.known.is_writable()):
            return
        self.refuse_tracked()
        self.known.put(KnownStore(uid, self.file, identity, "made", self._clock(), complete=False))

    def expect_copy(self, uid: bytes) -> bytes:
        """Let a copy of a store take this place; return the uid that it gets.

        That is the uid of the store that is listed here, else its own unless another place has it.

        Args:
            uid: of the copy.
        """
        here, other = self._look_up(), self.known.of(uid) if self.is_listed else None
        if here is not None:
            uid = here.uid
        elif other is not None and other.file.exists():
            uid = os.urandom(16)
        self.new_wanted, self.new_uid = True, uid
        return uid

    def list_copy(self, uid: bytes, identity: Identity) -> None:
        """List a store that the user has put in this place from a backup."""
        here = self._look_up()
        if not self.is_listed or (self.vouches_for_place and not self.known.is_writable()):
            return
        if here is None or (here.uid, here.identity, here.complete) != (uid, identity, True):
            how, when = ("made", self._clock()) if here is None else (here.how, here.listed_at)
            self.known.put(KnownStore(uid, self.file, identity, how, when))
        self.new_wanted, self.new_uid = False, None

    def reason(self) -> str:
        """Say why the store is trusted."""
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
        return "there is nothing yet to be trusted"


def peek(file: Path) -> bytes | None:
    """Return the uid of a store without changing anything beside it, as opening it in WAL mode would.

    Returns:
        None where the file alone, without its WAL, holds no store.
    """
    try:
        with closing(open_untouched(file)) as connection:
            return uid_in(connection)
    except apsw.Error:
        return None


def open_untouched(file: Path) -> apsw.Connection:
    """Open a database file alone, without its WAL, so that SQLite makes nothing beside it."""
    from urllib.parse import quote

    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    connection = apsw.Connection(f"file:{quote(str(file))}?immutable=1", flags=flags)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    return connection


def uid_in(connection: apsw.Connection) -> bytes | None:
    """Return the uid that a store states; None where its row is not as Satchel writes it, so that nothing is known.

    Raises:
        apsw.Error: the file is damaged there, or has no such table.
    """
    uid: bytes | None = connection.execute(_OWN_ROW).get
    return uid
