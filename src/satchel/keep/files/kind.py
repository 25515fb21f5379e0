"""Declaration of file changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from satchel.find.kind import Kind
from satchel.keep import fields
from satchel.keep.fields import Field
from satchel.keep.files import changes
from satchel.keep.files.records import CHANGES
from satchel.keep.kind import ItemKind

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
