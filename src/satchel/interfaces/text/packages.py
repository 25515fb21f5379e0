"""Packages and what they hold as compact text.

A package's line is its id, then what differs from what the head or the heading says: its ``run:`` if it is another
than ``main``, type, priority, ``task:``, ``by`` agent; then its ``file:`` or the ``bytes:`` of its text, the roles it
is ``for:``, when it was saved, when it ``changed`` and what it is ``superseded-by:``. Its summary stands
below in one line; where contents were asked for, what it holds stands below that, and a note says why where there is
none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from satchel.base.clock import moment_text, year_of
from satchel.base.vocabulary import MAIN_RUN
from satchel.find.kind import Kind
from satchel.interfaces.text.lists import (
    NO_AGENT,
    Line,
    agent_cell,
    list_text,
    names_text,
    note_lines,
)
from satchel.interfaces.text.parts import content_lines, place_text, value_text
from satchel.keep.packages import Package, PackageContent, PackagePage

_NO_TASK = "task:-"
_BLANKS = (None, None, _NO_TASK, NO_AGENT)


def packages_text(page: PackagePage) -> str:
    """Render a page of packages for an agent; all is there but uid, own seq and score."""
    year = year_of(page.packages[0].created_at) if page.packages else ""
    more = "" if page.run_id is None else f" of run {value_text(page.run_id)}"
    if page.by_priority:
        more += f" ({', '.join(f'{count} {priority}' for priority, count in page.by_priority)})"
    lines = [
        _line(package, (_run_cell(package, page.run_id), *_cells(package)), year, content_lines(package.summary))
        for package in page
    ]
    return list_text("package", page, lines, _RUN_BLANKS, more)


def content_line(package: Package, text: str | None, year: str) -> Line:
    """Return the line of a package, with its summary and what it holds below."""
    below = [*content_lines(package.summary), *([] if text is None else content_lines(text))]
    return _line(package, (_run_cell(package), *_cells(package)), year, below)


def content_notes(contents: Sequence[PackageContent]) -> list[str]:
    """Return why packages have no text, and what was done to those that have one."""
    said = [(one.ref, note) for one in contents for note in (one.reason, *one.notes)]
    return [f"{ref}: {note}" for ref, note in said if note is not None]


def saved_text(package: Package) -> str:
    """Say that a package was saved, in which run but for ``main``, and what its producer should know."""
    known = [cell for cell in (*_cells(package), *_own(package), _run_cell(package)) if cell is not None]
    line = " ".join([f"saved {package.ref}", *known])
    return "\n".join([line, *note_lines(package.notes)])


def changed_text(package: Package) -> str:
    """Say how urgent a package is now."""
    return "\n".join([f"{package.ref} is {package.priority}", *note_lines(package.notes)])


_RUN_BLANKS = (f"run:{MAIN_RUN}", *_BLANKS)


def _line(package: Package, cells: tuple[str | None, ...], year: str, below: Sequence[str]) -> Line:
    after = [] if package.updated_at == package.created_at else [f"changed {moment_text(package.updated_at, year)}"]
    if package.superseded_by is not None:
        after.append(f"superseded-by:{Kind.PACKAGE.ref(package.superseded_by)}")
    return Line(
        start=package.ref,
        cells=cells,
        own=_own(package),
        moment=package.created_at,
        after=tuple(after),
        below=tuple(below),
    )


def _run_cell(package: Package, named: str | None = None) -> str | None:
    """Return the run of a package where it is not the one that is named, else ``main``."""
    return None if package.run_id in {named, MAIN_RUN} else f"run:{value_text(package.run_id)}"


def _cells(package: Package) -> tuple[str | None, ...]:
    task = None if package.task_id is None else f"task:{value_text(package.task_id)}"
    return package.type, package.priority, task, agent_cell(package.agent)


def _own(package: Package) -> tuple[str, ...]:
    where = f"bytes:{package.content_bytes}" if package.path is None else place_text(package.path, None)
    return where, *names_text("for:", package.consumers)


def contents_fields(contents: Sequence[PackageContent]) -> dict[str, object]:
    """Return what packages hold as JSON fields; one without a text has a reason."""
    return {"packages": [content_fields(one) for one in contents]}


def content_fields(content: PackageContent) -> dict[str, object]:
    """Return a package with what it holds as JSON fields."""
    from satchel.interfaces.text.json import fields_of

    fields: dict[str, object] = fields_of(content)
    package: Any = fields.pop("package", None) or {}
    return {**package, **fields}
