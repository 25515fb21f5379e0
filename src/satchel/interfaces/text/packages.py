"""Packages and their contents as text: lists, and the confirmations of saving and of a new priority.

A package's line has the id, a ``run:`` other than ``main``, type, priority, ``task:``, ``by`` agent, its ``file:`` or
the ``bytes:`` of its text, the roles it is ``for:``, the times when it was saved and ``changed``, and
``superseded-by:``. Its summary follows below in one line, then its contents if they were requested; a note gives the
reason if there are none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from satchel.base.clock import moment_text, year_of
from satchel.base.vocabulary import MAIN_RUN
from satchel.find.kind import Kind
from satchel.interfaces.text import lists
from satchel.interfaces.text.parts import content_lines, place_text, value_text
from satchel.keep.packages.records import Consumption, Package, PackageContent, PackagePage

_BLANKS = (f"run:{MAIN_RUN}", None, None, "task:-", lists.NO_AGENT)


def packages_text(page: PackagePage) -> str:
    more = "" if page.run_id is None else f" of run {value_text(page.run_id)}"
    if page.by_priority:
        more += f" ({', '.join(f'{count} {priority}' for priority, count in page.by_priority)})"
    return lists.list_text(
        "package", page, [package_line(package, None, page.run_id) for package in page], _BLANKS, more
    )


def package_line(package: Package, text: str | None, run_id: str | None = None) -> lists.Line:
    """Return the line of a package, with its summary and contents below."""
    after: list[str | tuple[str, int]] = []
    if package.updated_at != package.created_at:
        after.append(("changed", package.updated_at))
    if package.superseded_by is not None:
        after.append(f"superseded-by:{Kind.PACKAGE.ref(package.superseded_by)}")
    return lists.Line(
        start=package.ref,
        cells=(_run_cell(package, run_id), *_cells(package)),
        own=_own(package),
        moment=package.created_at,
        after=tuple(after),
        below=(*content_lines(package.summary), *(() if text is None else content_lines(text))),
    )


def show_packages(page: PackagePage) -> None:
    from satchel.interfaces.operations.declaration import Table

    columns = Table(
        "id=ref, priority, type, summary, file=path, bytes=content_bytes, task=task_id, for=consumers, run=run_id, "
        "by=agent, saved=created_at, changed, superseded by",
        {
            "changed": lambda one: None if one.updated_at == one.created_at else lists.local_time(one.updated_at),
            "superseded by": lambda one: None if one.superseded_by is None else Kind.PACKAGE.ref(one.superseded_by),
        },
        usual={"run": page.run_id or MAIN_RUN},
    )
    counts = ", ".join(f"{count} {priority}" for priority, count in page.by_priority)
    lists.show_list(page, f"packages ({counts})" if counts else "packages", columns)


def content_notes(contents: Sequence[PackageContent]) -> list[str]:
    """Return the notes of packages, and the reason for each without contents."""
    return [
        f"{one.ref}: {note}"
        for one in contents
        for note in (one.reason, *one.notes, _consumed_note(one.consumed))
        if note is not None
    ]


def _consumed_note(consumed: Sequence[Consumption]) -> str | None:
    values = [
        " ".join(
            (
                value_text(one.agent) if one.agent else "an agent without a name",
                *((f"as {value_text(one.role)}",) if one.role else ()),
                *((f"for {value_text(one.task_id)}",) if one.task_id else ()),
                *((f"in iteration {one.iteration}",) if one.iteration else ()),
                f"on {moment_text(one.at, year_of(consumed[0].at))}",
            )
        )
        for one in consumed
    ]
    return f"briefed to {', '.join(values)} UTC" if values else None


def saved_text(package: Package) -> str:
    cells = [cell for cell in (*_cells(package), *_own(package), _run_cell(package)) if cell is not None]
    line = " ".join([f"saved {package.ref}", *cells])
    return "\n".join([line, *lists.note_lines(package.notes)])


def changed_text(package: Package) -> str:
    return "\n".join([f"{package.ref} is {package.priority}", *lists.note_lines(package.notes)])


def _run_cell(package: Package, run_id: str | None = None) -> str | None:
    return None if package.run_id in {run_id, MAIN_RUN} else f"run:{value_text(package.run_id)}"


def _cells(package: Package) -> tuple[str | None, ...]:
    task = None if package.task_id is None else f"task:{value_text(package.task_id)}"
    return package.type, package.priority, task, lists.agent_cell(package.agent)


def _own(package: Package) -> tuple[str, ...]:
    where = f"bytes:{package.content_bytes}" if package.path is None else place_text(package.path, None)
    return where, *lists.names_text("for:", package.consumers)


def contents_fields(contents: Sequence[PackageContent]) -> dict[str, object]:
    return {"packages": [content_fields(one) for one in contents]}


def content_fields(content: PackageContent) -> dict[str, object]:
    from satchel.interfaces.text.json import fields_of

    fields: dict[str, object] = fields_of(content)
    package: Any = fields.pop("package", None) or {}
    return {**package, **fields}


def show_contents(contents: Sequence[PackageContent]) -> None:
    import click

    from satchel.interfaces.cli.common import warn_notes

    for one in contents:
        if one.package is not None and one.text is not None:
            who = "" if one.package.agent is None else f" by {one.package.agent}"
            click.echo(f"{one.ref} {one.package.type}{who}: {one.package.summary}", err=True)
            click.echo(one.text)
    warn_notes(content_notes(contents))
