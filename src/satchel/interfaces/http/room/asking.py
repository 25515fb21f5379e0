"""What the pages and actions of the control room share: a request, a page, and what an action says."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from satchel.base.errors import InvalidInput
from satchel.base.records import dataclass
from satchel.client import Satchel
from satchel.interfaces.http.room.logins import Login
from satchel.interfaces.http.room.projects import Project, Projects


@dataclass(frozen=True, slots=True)
class Asked:
    """One request for a page or an action.

    Attributes:
        projects: those of the server.
        login: whose it is.
        project: the project that it is about; None where it is about none.
        given: what its address or form says.
        path: what of its path varies.
    """

    projects: Projects
    login: Login
    project: Project | None
    given: Mapping[str, str]
    path: Mapping[str, str]

    @property
    def place(self) -> Project:
        """The project, of a request that is about one."""
        assert self.project is not None
        return self.project

    @property
    def here(self) -> str:
        """The address of the project, without a slash at its end."""
        return f"/p/{self.place.address}"

    @property
    def satchel(self) -> Satchel:
        """What the person works with."""
        return self.projects.satchel(self.place, self.login)

    @property
    def looking(self) -> Satchel:
        """The same as nobody, for whom nothing counts as read."""
        return self.projects.satchel(self.place, self.login, is_looking=True)

    def text(self, field: str, problem: str, remedy: str) -> str:
        """Return what a field of the form says, without space around it.

        Raises:
            InvalidInput: nothing; with the problem and remedy that are given.
        """
        text = self.given.get(field, "").strip()
        if not text:
            raise InvalidInput(problem, remedy)
        return text

    def number(self, field: str, default: int | None = None) -> int:
        """Return the whole number of a field, from 0.

        Raises:
            InvalidInput: it is none.
        """
        text = self.given.get(field, "")
        if not text and default is not None:
            return default
        if not (text.isascii() and text.isdigit() and len(text) <= 18):
            raise InvalidInput(f"{field}={text[:40]!r} is no number", "Give a whole number from 0")
        return int(text)


@dataclass(frozen=True, slots=True)
class Page:
    """One page.

    Attributes:
        title: what it is called.
        template: what it is made of.
        context: what that shows.
        data: the same for programs, at the page's address with ``.json``.
        project: the project that it is about, if any.
        count: how much needs the person who looks, where the page has looked it up already.
    """

    title: str
    template: str
    context: dict[str, Any]
    data: object
    project: Project | None = None
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """What an action has done.

    Attributes:
        word: a key of its module's ``SAID``.
        ref: the short id of what it was done to, or empty.
        to: the address to go on at; None is the page that the form stood on.
        undo: what else the action that takes it back must know: fields of its form.
    """

    word: str
    ref: str = ""
    to: str | None = None
    undo: Mapping[str, str | int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Said:
    """How a page says what an action has done.

    Attributes:
        text: in a few words, before the short id.
        undo: the path below the project of the action that takes it back, with ``{ref}`` for the short id; it gets that
            as ``ref`` too, and the fields of :attr:`Done.undo`.
    """

    text: str
    undo: str | None = None


class ChangedMeanwhile(Exception):
    """Another has acted on the same, and nothing was changed.

    Args:
        page: what says so, with a form to do it all the same.
    """

    def __init__(self, page: Page) -> None:
        super().__init__(page.title)
        self.page = page


def changed(asked: Asked, title: str, theirs: Mapping[str, str], path: str, button: str) -> ChangedMeanwhile:
    """Return what says that another has acted on the same, with the form as it was sent.

    Args:
        title: what has happened.
        theirs: what stands there now, by what it is.
        path: where the form goes below the project.
        button: what sends it all the same.
    """
    context = {"theirs": theirs, "path": path, "button": button, "sent": asked.given}
    return ChangedMeanwhile(Page(title, "changed.html", context, None, asked.place))


View = Callable[[Asked], Page]
Action = Callable[[Asked], Done]


def as_text(value: object) -> str:
    """Return a value of an item as a person reads it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
