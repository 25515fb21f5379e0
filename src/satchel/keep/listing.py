"""Declaration of a kind's list for :mod:`satchel.keep.lists`, and filters that several kinds share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Generic, TypeVar

from satchel.base.errors import InvalidInput, unknown_name
from satchel.base.paging import MATCHES
from satchel.base.records import NamedTuple, dataclass, field
from satchel.base.text import check_name, fold, shortened
from satchel.base.vocabulary import LIVENESS, priority_number
from satchel.find.kind import Kind
from satchel.keep import names
from satchel.keep.common_filters import ListFilters
from satchel.keep.projects import Workplace
from satchel.store.transaction import Row, Transaction, of_these, set_of

Item = TypeVar("Item")

_MAX_KNOWN = 2_000  # maximum number of names searched for the nearest to an unknown one


class RunFilters(ListFilters, total=False):
    """Filters of lists of kinds with runs.

    Keys:
        run_id: only this run; None takes the default, and without one, or with ``*``, all runs of the project.
    """

    run_id: str | None


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter of a kind's list.

    Attributes:
        check: converts an argument or refuses it.
        apply: adds conditions for the result of ``check``; None if other filters use it.
        default: the value without an argument; None is no filter.
        hides: whether an empty list reports how many items it hides.
        parameter: its name for agents, if different.
        known_sql: SQL for the existing values, so that an empty list can report an unknown one.
    """

    name: str
    check: Callable[[Any, Workplace], Any]
    apply: Callable[[View, Any], None] | None
    default: object = None
    known_sql: str | None = None
    hides: bool = True
    parameter: str = ""


class Order(NamedTuple):
    name: str
    sql: str


@dataclass(frozen=True, slots=True)
class Listing(Generic[Item]):
    """Declaration of a kind's list.

    Attributes:
        table: the kind's table with its alias, as in ``constraints c``; the alias is neither d nor documents.
        columns: the columns for ``make``, the number first.
        make: builds records from rows of ``columns``, in order.
        usual: the order without a search; None is newest first.
        begin: looks up what the conditions need, and may add conditions and fields of the page.
        plan: a special way to list: returns the numbers of the page and the total, or None to list as usual.
        sink: returns the function that ranks some results of a search lower.
        finish: adds fields to the page; receives the condition of all pages.
    """

    kind: Kind
    table: str
    columns: str
    source: str
    make: Callable[[View, Sequence[Row]], tuple[Item, ...]]
    filters: tuple[Filter, ...]
    usual: Order | None = None
    changed: tuple[str, ...] = ("created_at",)
    expires: bool = False
    in_run: bool = False
    begin: Callable[[View], None] | None = None
    plan: Callable[[View], tuple[Sequence[int], int] | None] | None = None
    sink: Callable[[View], Callable[[Sequence[int]], Collection[int]]] | None = None
    finish: Callable[[View, str], None] | None = None
    alias: str = field(init=False)
    argument_names: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        # cached for each kind
        common = RunFilters if self.in_run else ListFilters
        object.__setattr__(self, "alias", self.table.rpartition(" ")[2])
        object.__setattr__(
            self, "argument_names", frozenset(common.__annotations__) | {one.name for one in self.filters}
        )

    def order(self, request: ListRequest) -> Order:
        alias = self.alias
        if request.after_seq is not None:
            return Order("seq", f"{alias}.seq")
        if request.order is not None:
            way = "ASC" if request.order == "asc" else "DESC"
            return Order("oldest" if way == "ASC" else "newest", f"{alias}.created_at {way}, {alias}.id {way}")
        if request.query is not None:
            return Order("relevance", "")
        return self.usual or Order("newest", f"{alias}.created_at DESC, {alias}.id DESC")


@dataclass(frozen=True, slots=True)
class ListRequest:
    """A checked request for a list."""

    query: str | None
    after_seq: int | None
    order: str | None
    limit: int
    offset: int
    run_id: str | None
    common: Mapping[str, Any]
    filters: Mapping[str, Any]
    now: int


@dataclass(slots=True)
class View:
    """A list's conditions within one snapshot, collected filter by filter.

    Attributes:
        base: the condition that finds the list's items; a filter may narrow it.
        alternatives: conditions that an item or one of its repetitions meets, as SQL for item numbers.
        unsearchable: conditions that the search documents do not know.
        scope: conditions that they know, as arguments of :class:`satchel.find.scopes.Scope`.
        numbers: the numbers of compared names, by filter.
        begun: the result of the kind's ``begin``.
        me: the number of the calling agent, if ``begin`` determined it.
        fields: further fields of the page.
    """

    transaction: Transaction
    workplace: Workplace
    request: ListRequest
    project_id: int
    seq: int
    alias: str
    base: str
    conditions: list[str] = field(default_factory=list)
    alternatives: list[tuple[str, str]] = field(default_factory=list)
    unsearchable: list[str] = field(default_factory=list)
    scope: dict[str, Any] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    numbers: dict[str, tuple[int, ...]] = field(default_factory=dict)
    begun: Any = None
    me: int | None = None
    is_empty: bool = False
    fields: dict[str, Any] = field(default_factory=dict)
    scores: Mapping[int, float] = field(default_factory=dict)

    def where(self, condition: str, *values: object, **scope: object) -> None:
        """Add a condition, with ``{}`` for each value. ``scope`` is its equivalent in a search's scope."""
        text = self._bound(condition, values)
        self.conditions.append(text)
        self.scope |= scope
        if not scope:
            self.unsearchable.append(text)

    def where_or_sighted(self, numbers: str, condition: str, *values: object) -> None:
        """Add a condition that items whose number ``numbers`` selects pass as well."""
        text = self._bound(condition, values)
        self.alternatives.append((text, numbers))
        self.unsearchable.append(self._either(text, numbers))

    def _bound(self, condition: str, values: Sequence[object]) -> str:
        names = [f"v{len(self.values) + place}" for place in range(len(values))]
        self.values |= dict(zip(names, values, strict=True))
        return condition.format(*(f":{name}" for name in names)) if names else condition

    def number(self, table: str, what: str, name: str) -> int | None:
        """Return a name's number; for an unknown one nothing matches, and a note suggests the nearest."""
        number = names.find_name(self.transaction, table, self.project_id, name)
        if number is None:
            self.is_empty = True
            self.note_unknown(what, name, f"SELECT name FROM {table} WHERE project_id = :project")
        else:
            self.numbers[what] = (*self.numbers.get(what, ()), number)
        return number

    def note_unknown(self, what: str, name: str, known_sql: str) -> None:
        """Note that a name is unknown, with the nearest of the names that ``known_sql`` selects."""
        rows = self.transaction.all(
            f"{known_sql} LIMIT :max_known",
            {"project": self.project_id, "now": self.request.now, "max_known": _MAX_KNOWN},
        )
        known_names = [row[0] for row in rows]
        if name not in known_names:
            self.notes.append(names.unknown_note(what, name, known_names))

    @property
    def arms(self) -> tuple[str, ...]:
        """Return alternative SQL conditions, each with its own index; a listed item meets one of them."""
        plain = [text for text, _ in self.alternatives]
        own = " AND ".join((self.base, *self.conditions, *plain))
        if not plain:
            return (own,)
        either = [self._either(text, numbers) for text, numbers in self.alternatives]
        others = " AND ".join((self.base, *self.conditions, *either, f"({' AND '.join(plain)}) IS NOT TRUE"))
        return own, of_these(others, self.alias, f"({' UNION '.join(numbers for _, numbers in self.alternatives)})")

    def _either(self, condition: str, numbers: str) -> str:
        return f"({condition} OR {self.alias}.id IN ({numbers}))"


NO_MATCH = "no match for"


def hidden_note(filters: Mapping[str, object], total: int) -> str:
    """Return a note on the filters that leave nothing, and the total without them; it begins with NO_MATCH."""
    listed = ", ".join(f"{name}={shortened(str(value), 60)}" for name, value in filters.items())
    return f"{NO_MATCH} {listed} ({total} without {'that filter' if len(filters) == 1 else 'those filters'})"


Check = Callable[[Any, Workplace], Any]
Sightings = Callable[[View, str, Sequence[object]], str]


def name_check(field: str) -> Check:
    return lambda value, _: check_name(value, field)


def choice_check(field: str, choices: Sequence[str]) -> Check:
    def check(value: object, _: Workplace) -> object:
        if value not in choices:
            raise unknown_name(field, value, choices)
        return value

    return check


def compared(field: str, condition: str, check: Check | None = None, *, scope: str | None = None) -> Filter:
    """Return a filter that compares one value; ``scope`` is the equivalent field of a search's scope."""

    def apply(view: View, value: object) -> None:
        view.where(condition, value, **({} if scope is None else {scope: value}))

    return Filter(field, check or name_check(field), apply)


def metadata(column: str) -> Filter:
    def check(value: object, _: Workplace) -> tuple[str, ...]:
        from satchel.keep.texts import metadata_parts

        return metadata_parts(check_name(value, "metadata"))

    def apply(view: View, parts: tuple[str, ...]) -> None:
        # LIKE ignores case in SQLite, and only there
        holds = f"replace({column}, {{}}, '') <> {column}"
        view.where(f"({' OR '.join([holds] * len(parts))})", *parts)

    return Filter("metadata", check, apply)


def file(column: str) -> Filter:
    """Return the filter by a file, by a place in it, or by a folder with its content."""

    def check(value: object, workplace: Workplace) -> str:
        from satchel.keep.paths import check_place

        return check_place(value, workplace.files_root)[0]

    def apply(view: View, path: str) -> None:
        from satchel.keep.paths import inside, is_folder

        if is_folder(path):
            condition, values = inside(path, column)
            view.values |= values
            view.where(condition)
        else:
            view.where(f"{column} = {{}}", path, file=path)

    return Filter("file", check, apply)


def author(column: str, field: str = "author", parameter: str = "", sightings: Sightings | None = None) -> Filter:
    """Return the filter by an agent, a client, or the caller; ``sightings`` selects items written again."""

    def apply(view: View, name: str) -> None:
        from satchel.keep.sessions.actors import ME, find_authors

        project = view.project_id
        numbers = find_authors(view.transaction, view.workplace, project, name, me=view.me)
        also = sightings(view, "agent_id", numbers) if sightings is not None and numbers else ""
        if also:
            view.where_or_sighted(also, f"{column} IN {set_of(numbers)}")
        elif len(numbers) == 1:
            view.where(f"{column} = {{}}", numbers[0], agent_id=numbers[0])
        elif numbers:
            view.where(f"{column} IN {set_of(numbers)}")
        else:
            view.is_empty = True
            if fold(name) != ME:
                view.notes.append(names.unknown_agent(view.transaction, view.project_id, name))

    return Filter(field, name_check(parameter or field), apply, parameter=parameter)


def by_name(field: str, table: str, column: str) -> Filter:
    def apply(view: View, name: str) -> None:
        number = view.number(table, field, name)
        if number is not None:
            view.where(f"{column} = {{}}", number)

    return Filter(field, name_check(field), apply)


def layer(column: str) -> Filter:
    def apply(view: View, name: str) -> None:
        number = names.find_layer(view.transaction, view.project_id, name)
        assert number is not None
        view.numbers["layer"] = (number,)
        view.where(f"{column} = {{}}", number)

    return Filter("layer", name_check("layer"), apply)


def types(column: str, kind: Kind, what: str, example: str, number: Callable[[object], int]) -> Filter:
    """Return the filter by several types of a kind; ``number`` maps a type's name to its number."""

    def check(value: Sequence[str], _: Workplace) -> tuple[int, ...]:
        if isinstance(value, str) or not value:
            raise InvalidInput(
                f"types is no list of {what} types", f'Give at least one, as in ["{example}"], or leave it out'
            )
        return tuple(dict.fromkeys(map(number, value)))

    def apply(view: View, numbers: tuple[int, ...]) -> None:
        # numbers from our own table are safe in SQL
        view.where(
            f"{column} IN ({', '.join(map(str, numbers))})", types=tuple((kind, type_number) for type_number in numbers)
        )

    return Filter("types", check, apply)


def least_priority(column: str) -> Filter:
    return compared("priority", f"{column} >= {{}}", lambda value, _: priority_number(value))


def liveness(column: str) -> Filter:
    def apply(view: View, status: str) -> None:
        if status != "all":
            view.where(f"{column} IS {'NULL' if status == 'live' else 'NOT NULL'}", status=status)

    return Filter("status", choice_check("status", LIVENESS), apply, "live")


def several(field: str, of_item: str, link: str) -> Filter:
    """Return a filter by several names, such as tags; :data:`MATCH` may require all of them.

    ``link`` has the linking table and its item and name columns, as in ``constraint_tags constraint_id tag_id``. A tag
    stands also for those below it, as ``auth`` for ``auth/login``.
    """
    links, item, name_of = link.split()

    def check(value: object, _: Workplace) -> tuple[str, ...]:
        checked = names.check_names(value, field)
        if not checked:
            raise InvalidInput(f"{field} is empty", f"Give at least one, or leave {field} out")
        return checked

    def apply(view: View, wanted: tuple[str, ...]) -> None:
        needs_all = view.request.filters["match"] == "all"
        was_empty = view.is_empty
        groups = [_tags(view, name) if field == "tags" else _numbers_of(view, field, name) for name in wanted]
        every = set().union(*groups)
        view.is_empty = was_empty or not every or (needs_all and not all(groups))
        for numbers in groups if needs_all else [every]:
            if numbers:
                view.where(f"{of_item} IN (SELECT {item} FROM {links} WHERE {name_of} IN {set_of(sorted(numbers))})")

    return Filter(field, check, apply)


def _numbers_of(view: View, table: str, name: str) -> set[int]:
    number = view.number(table, table[:-1], name)
    return set() if number is None else {number}


def _tags(view: View, name: str) -> set[int]:
    folded = fold(name)
    rows = view.transaction.all(
        "SELECT id FROM tags WHERE project_id = :project AND (folded = :name OR folded > :first AND folded < :end)",
        # 0 comes next after the slash
        {"project": view.project_id, "name": folded, "first": f"{folded}/", "end": f"{folded}0"},
    )
    if not rows:
        return _numbers_of(view, "tags", name)
    numbers = {number for (number,) in rows}
    view.numbers["tag"] = (*view.numbers.get("tag", ()), *numbers)
    return numbers


# whether an item needs any or all of the tags, and of the scopes; used by their filters
MATCH = Filter("match", choice_check("match", MATCHES), None, "any", hides=False)
