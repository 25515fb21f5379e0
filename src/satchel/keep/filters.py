"""Filters shared by the lists of several kinds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from satchel.base.errors import InvalidInput, unknown_name
from satchel.base.paging import MATCHES
from satchel.base.text import check_name, fold
from satchel.base.vocabulary import LIVENESS, priority_number
from satchel.find.kind import Kind
from satchel.keep import names
from satchel.keep.listing import Filter, View
from satchel.keep.projects import Workplace
from satchel.store.transaction import set_of

Check = Callable[[Any, Workplace], Any]
Sightings = Callable[[View, str, Sequence[object]], str]


def name_check(field: str) -> Check:
    """Return a check for names."""
    return lambda value, _: check_name(value, field)


def choice_check(field: str, choices: Sequence[str]) -> Check:
    """Return a check for one of some names."""

    def check(value: object, _: Workplace) -> object:
        if value not in choices:
            raise unknown_name(field, value, choices)
        return value

    return check


def compared(field: str, condition: str, check: Check | None = None, *, scope: str | None = None) -> Filter:
    """Return a filter that compares one value.

    ``condition`` is SQL with ``{}`` for the value; ``check`` None checks a name; ``scope`` is the equivalent field of a
    search's scope.
    """

    def apply(view: View, value: object) -> None:
        view.where(condition, value, **({} if scope is None else {scope: value}))

    return Filter(field, check or name_check(field), apply)


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


def author(column: str, field: str = "author", said_as: str = "", sightings: Sightings | None = None) -> Filter:
    """Return the filter by an agent, all agents of a client, or the caller.

    ``said_as`` is the filter's name for agents; ``sightings`` returns SQL for items such agents wrote again.
    """

    def apply(view: View, name: str) -> None:
        from satchel.keep.sessions.actors import ME, find_authors

        project = 0 if view.project_id is None else view.project_id
        numbers = find_authors(view.transaction, view.workplace, project, name, me=view.me)
        also = sightings(view, "agent_id", numbers) if sightings is not None and numbers else ""
        if also:
            view.where_or_seen(also, f"{column} IN {set_of(numbers)}")
        elif len(numbers) == 1:
            view.where(f"{column} = {{}}", numbers[0], agent_id=numbers[0])
        elif numbers:
            view.where(f"{column} IN {set_of(numbers)}")
        else:
            view.is_empty = True
            if fold(name) != ME:
                view.notes.append(names.unknown_agent(view.transaction, view.project_id, name))

    return Filter(field, name_check(said_as or field), apply, said_as=said_as)


def by_name(field: str, table: str, column: str) -> Filter:
    """Return a filter by a registered name, such as a category."""

    def apply(view: View, name: str) -> None:
        number = view.number(table, field, name)
        if number is not None:
            view.where(f"{column} = {{}}", number)

    return Filter(field, name_check(field), apply)


def layer(column: str) -> Filter:
    """Return the filter by layer; an unknown one is an error, since layers are fixed."""

    def apply(view: View, name: str) -> None:
        number = names.find_layer(view.transaction, view.project_id, name)
        assert number is not None
        view.numbers["layer"] = (number,)
        view.where(f"{column} = {{}}", number)

    return Filter("layer", name_check("layer"), apply)


def types(column: str, kind: Kind, what: str, example: str, number: Callable[[object], int]) -> Filter:
    """Return the filter by several types of a kind.

    ``what`` and ``example`` are for errors; ``number`` maps a type's name to its number.
    """

    def check(value: Sequence[str], _: Workplace) -> tuple[int, ...]:
        if isinstance(value, str) or not value:
            raise InvalidInput(
                f"types is no list of {what} types", f'Give at least one, as in ["{example}"], or leave it out'
            )
        return tuple(dict.fromkeys(map(number, value)))

    def apply(view: View, numbers: tuple[int, ...]) -> None:
        # numbers from our own table are safe in SQL
        view.where(f"{column} IN ({', '.join(map(str, numbers))})", types=tuple((kind, one) for one in numbers))

    return Filter("types", check, apply)


def least_priority(column: str) -> Filter:
    """Return the filter by a minimum priority."""
    return compared("priority", f"{column} >= {{}}", lambda value, _: priority_number(value))


def liveness(column: str) -> Filter:
    """Return the filter by live or superseded items, given the column with the replacement."""

    def apply(view: View, status: str) -> None:
        if status != "all":
            view.where(f"{column} IS {'NULL' if status == 'live' else 'NOT NULL'}", status=status)

    return Filter("status", choice_check("status", LIVENESS), apply, "live")


def several(field: str, of_item: str, link: str, *, may_need_all: bool = False) -> Filter:
    """Return a filter by several names, such as tags.

    ``link`` has the linking table and its item and name columns, as in ``constraint_tags constraint_id tag_id``;
    ``may_need_all`` lets :data:`MATCH` require all names.
    """
    links, item, name_of = link.split()

    def check(value: object, _: Workplace) -> tuple[str, ...]:
        checked = names.check_names(value, field)
        if not checked:
            raise InvalidInput(f"{field} is empty", f"Give at least one, or leave {field} out")
        return checked

    def apply(view: View, wanted: tuple[str, ...]) -> None:
        needs_all = may_need_all and view.request.chosen["match"] == "all"
        was_empty = view.is_empty
        numbers = {number for name in wanted if (number := view.number(field, field[:-1], name)) is not None}
        view.is_empty = was_empty or not numbers or (needs_all and len(numbers) < len(wanted))
        if numbers:
            every = f" GROUP BY {item} HAVING count(*) = {len(numbers)}" if needs_all else ""
            of_these = f"{name_of} IN {set_of(sorted(numbers))}{every}"
            view.where(f"{of_item} IN (SELECT {item} FROM {links} WHERE {of_these})")

    return Filter(field, check, apply)


MATCH = Filter("match", choice_check("match", MATCHES), None, "any", hides=False)
"""Whether an item needs any or all of the tags; used by the filter by tags."""
