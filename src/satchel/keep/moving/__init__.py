"""Export and import: moving items between stores as JSON lines."""

from satchel.keep.moving.records import Exported, ImportConflict, Imported, KindImported, Trouble

__all__ = ["Exported", "ImportConflict", "Imported", "KindImported", "Trouble"]
