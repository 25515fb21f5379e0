"""What the pages of lists share: their filters, and the way to what follows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from satchel.base.paging import Page as Part
from satchel.base.records import NamedTuple
from satchel.interfaces.http.room.asking import Asked, Page

PER_PAGE = 50


class Field(NamedTuple):
    """A filter of a list, as its form shows it.

    Attributes:
        name: in the address.
        label: what people call it.
        choices: what may be chosen, with what people call each; none is any text.
        passed_as: what the service calls it, where that is not its name.
    """

    name: str
    label: str
    choices: tuple[tuple[str, str], ...] = ()
    passed_as: str = ""


QUERY = Field("q", "Words", passed_as="query")


def choices(names: Iterable[str], everything: str = "") -> tuple[tuple[str, str], ...]:
    """Return the choices of some names.

    Args:
        everything: what choosing none is called; without it one of them is always chosen.
    """
    return (*((("", everything),) if everything else ()), *((name, name.replace("_", " ")) for name in names))


def given(asked: Asked, fields: Sequence[Field]) -> dict[str, str]:
    """Return the filters that the address gives, by their names in the address."""
    found = {field.name: asked.given.get(field.name, "").strip() for field in fields}
    return {name: value for name, value in found.items() if value}


def passed(fields: Sequence[Field], chosen: Mapping[str, str], **lists: str) -> dict[str, Any]:
    """Return filters as a service takes them.

    Args:
        lists: by the name of a filter, what the service calls it where it takes several values.
    """
    names = {field.name: field.passed_as or field.name for field in fields}
    return {lists.get(name, names[name]): [value] if name in lists else value for name, value in chosen.items()}


def shown(
    asked: Asked,
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
        data: what programs get; None is the part.
        more: what its template needs beside.
    """
    chosen, here = given(asked, fields), f"{asked.here}{path}"

    def at(offset: int | None) -> str | None:
        if offset is None:
            return None
        query = urlencode(chosen | ({"offset": str(offset)} if offset else {}))
        return f"{here}?{query}" if query else here

    context = {
        "part": part,
        "path": path,
        "fields": fields,
        "chosen": chosen,
        "newer": at(max(0, part.offset - part.limit)) if part.offset else None,
        "older": at(part.next_offset),
        "now": now(asked),
        **more,
    }
    return Page(f"{title} in {asked.place.name}", template, context, part if data is None else data, asked.place)


def now(asked: Asked) -> int:
    """Return the time, in milliseconds UTC."""
    return asked.looking.workplace.clock()
