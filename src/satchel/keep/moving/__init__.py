"""Export and import: moving items between stores as JSON lines."""

from satchel.keep.moving.records import (
    Exported,
    ImportConflict,
    Imported,
    ImportedAsWritten,
    KindImported,
    KindLines,
    Trouble,
)

__all__ = ["Exported", "ImportConflict", "Imported", "ImportedAsWritten", "KindImported", "KindLines", "Trouble"]
