"""The projects that a login leads to, each under an address of its own."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING

from satchel.base.errors import NotFound, SatchelError
from satchel.base.records import dataclass, replace
from satchel.client import Satchel
from satchel.interfaces.http import logs
from satchel.interfaces.http.access import PERSON, Access, Store
from satchel.interfaces.http.room.logins import Login
from satchel.interfaces.http.room.looks import Looks
from satchel.keep import projects
from satchel.keep.sessions.caller import Caller

if TYPE_CHECKING:
    from satchel.interfaces.http.serving import Serving

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,80}")
_DIGITS = 8


@dataclass(frozen=True, slots=True)
class Project:
    """One project, as a login sees it.

    Attributes:
        address: what stands for it in addresses: its name where that is plain and no other project has it.
        name: its name.
        store: its store.
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

    Attributes:
        looks: what persons were shown of them.
    """

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self.looks = Looks()

    def of(self, login: Login) -> list[Project]:
        """Return the projects that a login leads to.

        A login that a link began leads to all projects of the stores that active tokens and the server's own folder
        lead to; one for a token to the token's.
        """
        return self._of(login)[0]

    def find(self, login: Login, address: str) -> Project:
        """Return the project of an address.

        Raises:
            NotFound: the login leads to no such project.
            SatchelError: it may be one of a store that cannot be read.
        """
        found, unreadable = self._of(login)
        for project in found:
            if project.address == address:
                return project
        if unreadable:
            raise unreadable[0]
        raise NotFound(f"this login leads to no project {address[:80]!r}", "The first page lists those that there are")

    def access(self, project: Project, login: Login) -> Access:
        """Return the rights of a login in one of its projects: those of a person."""
        name = f"login-{login.id}"
        return Access(name, name, PERSON, project.store, project.name, login.author, project.read_only)

    def satchel(self, project: Project, login: Login, *, is_looking: bool = False) -> Satchel:
        """Return what a request of a login works with.

        Args:
            project: one of its projects.
            login: whose request it is.
            is_looking: as nobody, for whom nothing counts as read.
        """
        access = self.access(project, login)
        if is_looking:
            return self._serving.stores.satchel(access)
        caller = Caller.of_request(access.token, None, is_of_person=True)
        return self._serving.stores.satchel(access, caller=caller, agent=login.author)

    def beside_files(self, project: Project, login: Login) -> Satchel | None:
        """Return what works with the repository of a project, which a login by a link may.

        Returns:
            None where this server has no files of the project, or the login is for a token.
        """
        if login.token is not None:
            return None
        opened = self._serving.stores.opened(project.store)
        here = opened.workplace
        if here.files_root is None:
            return None
        with here.engine.read() as transaction:
            found = projects.find(transaction, here)
        if not found.id or found.name != project.name:
            return None
        made = self.satchel(project, login)
        work = replace(made.workplace, root=here.root, files_root=here.files_root)
        return Satchel(work, opened.place, opened.config, made.environ)

    def _of(self, login: Login) -> tuple[list[Project], list[SatchelError]]:
        """Return the projects that a login leads to, and why stores of more cannot be read."""
        if login.token is not None:
            access = self._serving.tokens.access_of(login.token)
            own = [] if access is None else [(access.project, access.store)]
            return _addressed(own, read_only=access is not None and access.read_only), []
        found: list[tuple[str, Store]] = []
        unreadable: list[SatchelError] = []
        for store in sorted({*self._serving.tokens.stores(), *self._serving.own_stores}, key=str):
            try:
                engine = self._serving.stores.opened(store).workplace.engine
                with engine.read() as transaction:
                    found += [(name, store) for (name,) in transaction.all("SELECT name FROM projects ORDER BY name")]
            except (SatchelError, OSError) as error:
                # the others are there all the same
                logs.fault(error, store=str(store))
                unreadable += [error] if isinstance(error, SatchelError) else []
        return _addressed(found), unreadable


def _addressed(found: list[tuple[str, Store]], *, read_only: bool = False) -> list[Project]:
    names = [name for name, _ in found]
    return [
        Project(
            name if _PLAIN.fullmatch(name) and names.count(name) == 1 else _made(name, store), name, store, read_only
        )
        for name, store in found
    ]


def _made(name: str, store: Store) -> str:
    """Return an address for a project whose name is none: what is plain of it, and a digest."""
    plain = re.sub("[^A-Za-z0-9]+", "-", name).strip("-")[:40] or "project"
    return f"{plain}~{sha256(f'{store}:{name}'.encode()).hexdigest()[:_DIGITS]}"
