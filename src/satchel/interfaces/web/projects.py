"""The projects that a login may open, each with an address."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from satchel.base.errors import NotFound, SatchelError
from satchel.base.records import dataclass, replace
from satchel.client import Satchel
from satchel.interfaces.http import logs
from satchel.interfaces.http.access import PERSON, Access, Store
from satchel.interfaces.web.logins import Login
from satchel.keep import projects
from satchel.keep.sessions.caller import Caller
from satchel.store.backups import Backup

if TYPE_CHECKING:
    from satchel.interfaces.http.serving import Serving
    from satchel.interfaces.http.tokens import Token

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,80}")
_DIGITS = 8
# An open page is loaded at least this often, so that no need comes and goes unseen.
_UNSEEN_MS = 120_000


@dataclass(frozen=True, slots=True)
class Project:
    """A project that a login may open.

    Attributes:
        address: its part of the path: the name, if that is plain and unique.
        read_only: whether every write is refused.
    """

    address: str
    name: str
    store: Store
    read_only: bool = False


class Projects:
    """The projects of a server.

    Args:
        serving: what the server works with.
    """

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        # since when nothing needs a person, 0 where something does, None where that is unknown; and when they looked
        self._quiet: dict[tuple[Store, str, str], tuple[int | None, int]] = {}

    def of(self, login: Login) -> list[Project]:
        """Return the projects that a login may open.

        A login by a link may open all projects in the stores of active tokens and of the server's own folder, a login
        by a token only the token's project.
        """
        return self._load(login)[0]

    def find(self, login: Login, address: str) -> Project:
        """Return the project with an address.

        Raises:
            NotFound: the login may open no such project.
            SatchelError: a store that may contain it cannot be read.
        """
        projects_of_login, unreadable = self._load(login)
        for project in projects_of_login:
            if project.address == address:
                return project
        if unreadable:
            raise unreadable[0]
        raise NotFound(f"this login cannot open a project {address[:80]!r}", "Open one from the first page")

    def access(self, project: Project, login: Login) -> Access:
        """Return the rights of a login in a project: those of a person."""
        name = f"login-{login.id}"
        return Access(name, name, PERSON, project.store, project.name, login.author, project.read_only)

    def satchel(self, project: Project, login: Login, *, is_reader: bool = False) -> Satchel:
        """Open a project for a request.

        Args:
            is_reader: open it as nobody, so that nothing counts as read.
        """
        access = self.access(project, login)
        if is_reader:
            satchel = self._serving.stores.satchel(access)
        else:
            caller = Caller.of_request(access.token, None, is_of_person=True)
            satchel = self._serving.stores.satchel(access, caller=caller, agent=login.author)
        if login.token is None:  # of this machine's user, whose commands own the local conversations
            satchel.workplace = replace(satchel.workplace, owner=projects.LOCAL)
        return satchel

    def beside_files(self, project: Project, login: Login) -> Satchel | None:
        """Open a project with the files of its repository.

        Returns:
            None where this server has no files of the project, or the login is by a token.
        """
        if login.token is not None:
            return None
        opened = self._serving.stores.opened(project.store)
        here = opened.workplace
        if here.files_root is None:
            return None
        with here.engine.read() as transaction:
            own = projects.find(transaction, here)
        if not own.id or own.name != project.name:
            return None
        satchel = self.satchel(project, login)
        work = replace(satchel.workplace, root=here.root, files_root=here.files_root)
        return Satchel(work, opened.place, opened.config, satchel.environ)

    def quiet_since(self, project: Project, person: str, now: int, *, is_quiet: bool) -> int | None:
        """Return since when nothing needs a person, if open pages have shown the project to them until then."""
        key = project.store, project.name, person
        since, looked_at = self._quiet.get(key, (None, 0))
        if not is_quiet or now - looked_at > _UNSEEN_MS:
            since = None if is_quiet else 0
        elif since == 0:
            since = now
        self._quiet[key] = since, now
        return since or None

    def backups(self, project: Project) -> list[Backup]:
        """Return the backups of a project's store, the oldest first; none of a database."""
        is_file = isinstance(project.store, Path)
        return self._serving.stores.opened(project.store).housekeeping.backups() if is_file else []

    def tokens(self, project: Project) -> list[Token]:
        every = self._serving.tokens.every()
        return [one for one in every if (one.store, one.project) == (project.store, project.name)]

    def logins(self) -> list[Login]:
        assert self._serving.logins is not None
        return self._serving.logins.every()

    def _load(self, login: Login) -> tuple[list[Project], list[SatchelError]]:
        """Return the projects that a login may open, and the errors of stores that cannot be read."""
        if login.token is not None:
            access = self._serving.tokens.access_of(login.token)
            own = [] if access is None else [(access.project, access.store)]
            return _with_addresses(own, read_only=access is not None and access.read_only), []
        names: list[tuple[str, Store]] = []
        unreadable: list[SatchelError] = []
        for store in sorted({*self._serving.tokens.stores(), *self._serving.own_stores}, key=str):
            try:
                engine = self._serving.stores.opened(store).workplace.engine
                with engine.read() as transaction:
                    names += [(name, store) for (name,) in transaction.all("SELECT name FROM projects ORDER BY name")]
            except (SatchelError, OSError) as error:
                # the projects of the other stores can still be opened
                logs.fault(error, store=str(store))
                unreadable += [error] if isinstance(error, SatchelError) else []
        return _with_addresses(names), unreadable


def _with_addresses(stored: list[tuple[str, Store]], *, read_only: bool = False) -> list[Project]:
    names = [name for name, _ in stored]
    return [
        Project(
            name if _PLAIN.fullmatch(name) and names.count(name) == 1 else _address(name, store), name, store, read_only
        )
        for name, store in stored
    ]


def _address(name: str, store: Store) -> str:
    """Return an address for a name that cannot be one: its plain characters and a digest."""
    plain = re.sub("[^A-Za-z0-9]+", "-", name).strip("-")[:40] or "project"
    return f"{plain}~{sha256(f'{store}:{name}'.encode()).hexdigest()[:_DIGITS]}"
