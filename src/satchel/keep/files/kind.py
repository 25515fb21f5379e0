"""Declaration of file changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from satchel.find.kind import Kind
from satchel.keep import fields, paths
from satchel.keep import listing as filters
from satchel.keep.common_filters import ListFilters
from satchel.keep.fields import Field
from satchel.keep.files import changes
from satchel.keep.files.changes import COLUMNS, SOURCE, change_number, change_of, is_about
from satchel.keep.files.records import CHANGES
from satchel.keep.kind import ItemKind
from satchel.keep.listing import Filter, Listing, View

if TYPE_CHECKING:
    from satchel.keep.moving.reading import Reading


def _change_derived(reading: Reading, row: dict[str, Any]) -> None:
    retention = reading.workplace.retention
    row["expires_at"] = retention.expires_at(reading.now, retention.file_changes_hours)


FILE_CHANGE: ItemKind[Any] = ItemKind(
    "a recorded edit",
    (
        fields.CREATED,
        fields.name_field("file", fields.FILE_NUMBER, "files", "file_id", "path", required=True),
        Field("change", fields.one_of(CHANGES), required=True),
        fields.AUTHOR,
        fields.SESSION,
        fields.name_field("layer", fields.LAYER, "layers", "layer_id"),
        Field("description", fields.TEXT),
    ),
    documents=Kind.FILE_CHANGE,
    expires=True,
    derive=_change_derived,
    types=CHANGES,
    source=changes.DOCUMENTS,
    open=lambda transaction, reader, number: changes.load(transaction, reader.project_id, number, reader.now),
)


class ChangeFilters(ListFilters, total=False):
    """Filters of recorded edits.

    Keys:
        file: only this file, or files in this folder (``src/auth/`` or ``src/auth/**``).
        change: created, modified or deleted.
        author, layer: only edits by this agent, in this layer.
    """

    file: str | None
    change: str | None
    author: str | None
    layer: str | None


def _about(view: View, file: str) -> None:
    view.base, bounds = is_about(file)
    view.values |= bounds
    if paths.is_folder(file):
        view.unsearchable.append(view.base)
    else:
        view.scope["file"] = file


LISTING = Listing(
    kind=Kind.FILE_CHANGE,
    table="file_changes c",
    columns=COLUMNS,
    source=SOURCE,
    make=lambda view, rows: tuple(change_of(row, view.scores.get(row[0])) for row in rows),
    filters=(
        Filter("file", lambda value, work: paths.check_place(value, work.files_root)[0], _about),
        Filter(
            "change",
            lambda value, _: change_number(value),
            lambda view, change: view.where(f"c.change = {change}", types=((Kind.FILE_CHANGE, change),)),
        ),
        filters.author("c.agent_id"),
        filters.layer("c.layer_id"),
    ),
    expires=True,
)
