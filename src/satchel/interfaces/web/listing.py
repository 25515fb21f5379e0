"""Filters and paging of the pages that list items."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import urlencode

from satchel.base.paging import Page as Part
from satchel.base.records import NamedTuple
from satchel.base.vocabulary import LIVENESS
from satchel.interfaces.web.request import Page, PageRequest

PER_PAGE = 50


class Field(NamedTuple):
    """A filter of a list.

    Attributes:
        name: in the address.
        label: in the form.
        choices: the values with their labels; without any the filter takes a text.
        argument: the name of the argument of the service, if it differs.
    """

    name: str
    label: str
    choices: tuple[tuple[str, str], ...] = ()
    argument: str = ""


def choices(names: Iterable[str], everything: str = "") -> tuple[tuple[str, str], ...]:
    """Return the choices for some names.

    Args:
        everything: the label of no choice; without it one of the names is always chosen.
    """
    return (*((("", everything),) if everything else ()), *((name, name.replace("_", " ")) for name in names))


QUERY = Field("q", "Words", argument="query")
LIVE = Field("status", "State", (("", "live"), *choices(LIVENESS[1:])))


def chosen_filters(request: PageRequest, fields: Sequence[Field]) -> dict[str, str]:
    """Return the filters in the address, by name."""
    values = {field.name: request.values.get(field.name, "").strip() for field in fields}
    return {name: value for name, value in values.items() if value}


def arguments(request: PageRequest, fields: Sequence[Field], **lists: str) -> dict[str, Any]:
    """Return the filters in the address as arguments of a service.

    Args:
        lists: for each filter of which the service takes several values, the name of that argument.
    """
    names = {field.name: field.argument or field.name for field in fields}
    return {
        lists.get(name, names[name]): [value] if name in lists else value
        for name, value in chosen_filters(request, fields).items()
    }


def offset(request: PageRequest) -> int:
    """Return the number of items to skip."""
    return request.number("offset", 0)


def list_page(
    request: PageRequest,
    title: str,
    template: str,
    path: str,
    fields: Sequence[Field],
    part: Part[Any],
    data: object = None,
    **more: object,
) -> Page:
    """Return the page of a part of a list.

    Args:
        path: of the page, below the project.
        fields: its filters.
        data: the JSON; None is the part.
        more: additional variables of the template.
    """
    filters, here = chosen_filters(request, fields), f"{request.here}{path}"

    def at(offset: int | None) -> str | None:
        if offset is None:
            return None
        query = urlencode(filters | ({"offset": str(offset)} if offset else {}))
        return f"{here}?{query}" if query else here

    context = {
        "part": part,
        "path": path,
        "fields": fields,
        "chosen": filters,
        "newer": at(max(0, part.offset - part.limit)) if part.offset else None,
        "older": at(part.next_offset),
        "now": now(request),
        **more,
    }
    return Page(
        f"{title} in {request.project.name}", template, context, part if data is None else data, request.project
    )


def now(request: PageRequest) -> int:
    """Return the time, in milliseconds UTC."""
    return request.reader.workplace.clock()
