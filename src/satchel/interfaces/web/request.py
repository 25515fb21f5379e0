"""A request for a page or an action, and their results."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, cast

from satchel.base.errors import InvalidInput
from satchel.base.records import NamedTuple, dataclass, replace
from satchel.client import Satchel
from satchel.interfaces.web.logins import Login
from satchel.interfaces.web.projects import Project, Projects
from satchel.keep.housekeeping.usage import NameUse
from satchel.keep.messages.records import Message
from satchel.store.engine import Engine
from satchel.store.transaction import Transaction

_COMPLETED = {"tags": "tag", "scopes": "scope", "category": "category"}
_MOST_COMPLETED = 100
NO_FIELDS: Mapping[str, str | int] = MappingProxyType({})


class _Snapshot:
    """An engine whose reads all see one state of the store."""

    def __init__(self, engine: Engine, transaction: Transaction) -> None:
        self._engine = engine
        self._transaction = transaction

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        yield self._transaction

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A request for a page or an action.

    Attributes:
        projects: the projects of the server.
        login: the login of the browser.
        selected: the project in the address; None on pages of no project.
        values: the fields of the query or form.
        path: the variable parts of the path.
        moment: the state of the store and the time that a page shows; None for an action.
    """

    projects: Projects
    login: Login
    selected: Project | None
    values: Mapping[str, str]
    path: Mapping[str, str]
    moment: tuple[Engine, int] | None = None

    @contextmanager
    def of_one_moment(self) -> Iterator[PageRequest]:
        """Yield the request with one state of the store and one time, so that nothing in a page is read twice."""
        if self.selected is None:
            yield self
            return
        work = self.satchel.workplace
        with work.engine.read() as transaction:
            engine = cast("Engine", _Snapshot(work.engine, transaction))
            yield replace(self, moment=(engine, work.clock()))

    @property
    def project(self) -> Project:
        """The project; only for requests that have one."""
        assert self.selected is not None
        return self.selected

    @property
    def here(self) -> str:
        """The address of the project, without a slash at its end."""
        return f"/p/{self.project.address}"

    @property
    def satchel(self) -> Satchel:
        """The project's store, opened as the person."""
        return self._open(is_reader=False)

    @property
    def reader(self) -> Satchel:
        """The project's store, opened as nobody, so that nothing counts as read."""
        return self._open(is_reader=True)

    def _open(self, *, is_reader: bool) -> Satchel:
        satchel = self.projects.satchel(self.project, self.login, is_reader=is_reader)
        if self.moment is not None:
            engine, now = self.moment
            satchel.workplace = replace(satchel.workplace, engine=engine, clock=lambda: now)
        return satchel

    def record(self, ref: str) -> Any:
        """Return the record of an item, without marking anything as read."""
        return self.reader.items.read([ref]).items[0].record

    def item_page(self, ref: str) -> str:
        return f"{self.here}/items/{ref}"

    def done(self, ref: str, undo: Mapping[str, str | int] = NO_FIELDS, *, is_other: bool = False) -> Done:
        """Return the result of an action that leads to the page of an item."""
        return Done(ref, self.item_page(ref), undo, is_other)

    def text(self, field: str, problem: str, remedy: str) -> str:
        """Return a field of the form, stripped.

        Raises:
            InvalidInput: the field is empty; with this problem and remedy.
        """
        text = self.values.get(field, "").strip()
        if not text:
            raise InvalidInput(problem, remedy)
        return text

    def optional(self, field: str) -> str | None:
        """Return a field of the form, stripped; None where it is empty."""
        return self.values.get(field, "").strip() or None

    def names(self, field: str, before: Sequence[str] = ()) -> Sequence[str]:
        """Return a field with names separated by commas; a missing or unchanged one is what was there before."""
        text = self.values.get(field)
        if text is None or text == ", ".join(before):
            return before
        return [name for one in text.split(",") if (name := one.strip())]

    def number(self, field: str, default: int | None = None) -> int:
        """Return a field that is a whole number from 0.

        Raises:
            InvalidInput: it is not.
        """
        text = self.values.get(field, "")
        if not text and default is not None:
            return default
        if not (text.isascii() and text.isdigit() and len(text) <= 18):
            raise InvalidInput(f"{field}={text[:40]!r} is not a number", "Give a whole number from 0")
        return int(text)


@dataclass(frozen=True, slots=True)
class Page:
    """A page.

    Attributes:
        title: the title.
        template: the name of its template.
        context: the variables of the template.
        data: the JSON of the page, at its address with ``.json``, or a function that returns it.
        place: the path of its entry in the navigation.
        messages: the messages that it shows in full, which then count as read.
    """

    title: str
    template: str
    context: dict[str, Any]
    data: object
    place: str = ""
    messages: Sequence[Message] = ()


@dataclass(frozen=True, slots=True)
class Done:
    """The result of an action.

    Attributes:
        ref: the short id of the item that was acted on, or empty.
        to: the address of the next page; None is the page of the form.
        undo: additional fields for the form that undoes the action.
        is_other: whether the other of the action's notices applies.
    """

    ref: str = ""
    to: str | None = None
    undo: Mapping[str, str | int] = NO_FIELDS
    is_other: bool = False


# The fields for the form that retracts what an action has added.
WITHDRAWN: Mapping[str, str | int] = {"reason": "withdrawn"}


class EditConflict(Exception):
    """Someone else has changed the item since the form was made; nothing was saved.

    Args:
        page: shows the change, with a form to save anyway.
    """

    def __init__(self, page: Page) -> None:
        super().__init__(page.title)
        self.page = page


def edit_conflict(
    request: PageRequest, title: str, theirs: Mapping[str, str], path: str, button: str, **changes: str
) -> EditConflict:
    """Return a conflict with the form as it was sent.

    Args:
        theirs: the current texts, by a title for each.
        path: the action of the form, below the project.
        button: the label that sends it anyway.
        changes: fields of the form that are replaced.
    """
    fields = {**request.values, **changes}
    texts = [(what, text) for what, text in theirs.items()]
    page = form_page(request, title, path, button, fields, explained=("Nothing was saved or sent.",), texts=texts)
    return EditConflict(page)


def form_page(
    request: PageRequest,
    title: str,
    path: str,
    button: str,
    fields: Mapping[str, object],
    *,
    explained: Sequence[str] = (),
    texts: Sequence[tuple[str, str]] = (),
    labels: Mapping[str, str] = MappingProxyType({}),
    back: str = "/",
    data: object = None,
) -> Page:
    """Return a page with one form.

    Args:
        path: the action of the form, below the project.
        fields: its fields with their values.
        explained: paragraphs above it.
        texts: headings with texts above it.
        labels: of fields, where they are not the usual ones.
        back: the path of the page for those who cancel; a form of an item belongs to the memory.
        data: the JSON; None is the fields.
    """
    form = {"path": path, "button": button, "fields": fields, "labels": labels, "choices": _in_use(request, fields)}
    context = {"form": form, "explained": explained, "texts": texts, "back": back}
    data = {"path": path, "fields": [*fields]} if data is None else data
    return Page(title, "form.html", context, data, "/memory" if back.startswith("/items/") else "")


def _in_use(request: PageRequest, fields: Mapping[str, object]) -> dict[str, Sequence[NameUse]]:
    """Return the used names of the fields that have such, the most used first."""
    names_in_use = request.reader.housekeeping.names_in_use
    return {field: names_in_use(kind).names[:_MOST_COMPLETED] for field, kind in _COMPLETED.items() if field in fields}


View = Callable[[PageRequest], Page]
Act = Callable[[PageRequest], Done]


class Action(NamedTuple):
    """An action, with what its confirmation says.

    Attributes:
        notice, other: a few words, before the short id, and those where :attr:`Done.is_other`.
        undo, undo_other: the path, below the project, of the action that undoes it, with ``{ref}`` for the short id.
            Its form has ``ref`` and the fields of :attr:`Done.undo`.
    """

    act: Act
    notice: str
    undo: str | None
    other: str
    undo_other: str | None


# The pages by their path below ``/p/PROJECT``; each has its JSON at the path with ``.json``.
PAGES: dict[str, View] = {}

# The actions by their path below ``/p/PROJECT``.
ACTIONS: dict[str, Action] = {}


def page(path: str) -> Callable[[View], View]:
    """Return a decorator that puts a page at a path."""

    def register(view: View) -> View:
        PAGES[path] = view
        return view

    return register


def action(
    path: str, notice: str, undo: str | None = None, *, other: str = "", undo_other: str | None = None
) -> Callable[[Act], Act]:
    """Return a decorator that puts an action at a path, with what its confirmation says."""

    def register(act: Act) -> Act:
        ACTIONS[path] = Action(act, notice, undo, other, undo_other)
        return act

    return register


def as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
